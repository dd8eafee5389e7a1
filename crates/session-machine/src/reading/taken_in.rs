//! The objects that a session holds of another system's runs, for programs that look at them.

use trunkline_session_store::{Log, Record};

use crate::notes::family::{LAYER, TAKEN_IN};

/// Returns the texts of the objects that were made elsewhere, each with the number of its record, byte for byte as they came:
/// in our form, or in git-internal's.
pub fn objects_taken_in(log: &Log) -> impl Iterator<Item = (u64, &str)> {
    log.records.iter().filter_map(|(seq, record)| match record {
        Record::Note(note) if note.layer == LAYER && note.kind == TAKEN_IN => {
            Some((*seq, note.body.as_str()))
        }
        _ => None,
    })
}
