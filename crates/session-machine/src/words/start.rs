//! How the files are when a run begins.

use serde::{Deserialize, Serialize};

use crate::words::files::Base;

/// How the files are when a run begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Start {
    /// How the files are.
    pub base: Base,
    /// Whether they can be looked at again while it goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looks: bool,
}
