//! How the discard hook of a tool has ended.

use serde::{Deserialize, Serialize};

/// How a discard hook has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HookEnded {
    /// What its tool said, shortened; none if it said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Why it did not do what it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}
