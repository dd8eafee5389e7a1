//! A whole session.

use trunkline_message_tree::Entry;

use crate::{Position, Record, SessionInfo};

/// A session with everything that was ever written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Log {
    /// What a list would show of it.
    pub info: SessionInfo,
    /// All records with their numbers, oldest first.
    pub records: Vec<(u64, Record)>,
}

impl Log {
    /// Returns a log; for those who write a store.
    pub fn new(info: SessionInfo, records: Vec<(u64, Record)>) -> Self {
        Log { info, records }
    }

    /// Returns the entries without notes and blobs, as
    /// [`MessageTree::replay`](trunkline_message_tree::MessageTree::replay) reads them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.records.iter().filter_map(|(_, record)| match record {
            Record::Entry(entry) => Some(entry),
            Record::Note(_) | Record::Blob(_) => None,
        })
    }

    /// Returns how far it has come.
    pub fn position(&self) -> Position {
        Position { seq: self.info.records, head: self.info.head }
    }
}
