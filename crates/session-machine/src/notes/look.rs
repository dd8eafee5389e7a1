//! When calls of a run could change files: a look before them, and one after.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::Record;

use crate::notes::decision::LAYER;
use crate::notes::record::note;
use crate::words::files::Base;

pub(crate) const LOOK: &str = "look";

/// How the files were next to calls that may change some.
#[derive(Serialize, Deserialize)]
pub(crate) struct LookNote {
    pub(crate) when: When,
    /// `None` if it could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Base>,
}

#[derive(Copy, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
    Before,
    After,
    /// After calls whose process died, or that did not stop: when the session goes on.
    Late,
}

/// Returns the record of a look right before calls; `None` if there is none, although there should be.
pub fn before(files: Option<Base>, at: Timestamp) -> Record {
    note(LAYER, LOOK, at, &LookNote { when: When::Before, files })
}

/// Returns the record of a look that comes in the place of the one after calls, when the session goes on.
pub fn late(files: Base, at: Timestamp) -> Record {
    note(LAYER, LOOK, at, &LookNote { when: When::Late, files: Some(files) })
}

/// Returns the record of a look when the last of them had ended.
pub fn after(files: Base, at: Timestamp) -> Record {
    note(LAYER, LOOK, at, &LookNote { when: When::After, files: Some(files) })
}
