//! Who was asked last.

use serde::{Deserialize, Serialize};

/// Who was asked last, where that is a server that was named by its address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Asked {
    /// The provider, as it stands in [`Origin`](trunkline_message_tree::Origin).
    pub provider: String,
    /// The model.
    pub model: String,
    /// The address, without user and password. `None` once somebody was asked who needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
