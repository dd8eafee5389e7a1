//! Objects of the decision family that were made elsewhere and taken in: each in the bytes in which it came.
//!
//! They are no records of this session's own runs: nothing is done by them, none of them can be rolled back, and no fold of
//! a writer looks at them. So they have a layer of their own.

use trunkline_message_tree::Timestamp;
use trunkline_session_store::{Note, Record};

/// The layer of these notes.
pub(crate) const LAYER: &str = "family";
/// One object, whose text is the body.
pub(crate) const TAKEN_IN: &str = "taken_in";

/// Returns the record of an object that was made elsewhere, in our form or in git-internal's.
pub fn taken_in(json: impl Into<String>, at: Timestamp) -> Record {
    Record::Note(Note::new(LAYER, TAKEN_IN, at, json))
}
