//! How a value becomes the body of a note, and how it is read back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use trunkline_message_tree::{Draft, Timestamp};
use trunkline_session_store::{Note, Record};

use crate::words::error::RuntimeError;

/// Returns the entries of a draft as records.
pub(crate) fn entries(draft: Draft<'_>) -> Vec<Record> {
    draft.into_entries().into_iter().map(Record::Entry).collect()
}

/// Makes a record of a note.
pub fn note(layer: &str, kind: &str, at: Timestamp, body: &impl Serialize) -> Record {
    Record::Note(Note::new(layer, kind, at, json(body)))
}

/// Returns the body of a note.
pub fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("a note is plain data with text keys")
}

/// Reads a note's body.
///
/// # Errors
///
/// [`RuntimeError`] if that does not fit.
pub fn read<T: DeserializeOwned>(note: &Note) -> Result<T, RuntimeError> {
    serde_json::from_str(&note.body).map_err(|source| bad(note, source))
}

/// Says that a note cannot be read.
pub(crate) fn bad(note: &Note, fault: impl ToString) -> RuntimeError {
    RuntimeError::BadNote { layer: note.layer.clone(), kind: note.kind.clone(), fault: fault.to_string() }
}
