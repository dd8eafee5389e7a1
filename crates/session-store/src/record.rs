//! What a log is made of, and how it grows.
//!
//! Records are counted from 1, so the number of the last record is also how many there are.

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Entry, NodeId, Timestamp};

use crate::tally::Tally;
use crate::{SessionId, SessionInfo, StoreError};

/// One thing that was written to a session's log, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a reader that skipped a kind of record would lose it")]
pub enum Record {
    /// A node came or the head moved.
    Entry(Entry),
    /// An upper layer wrote something down.
    Note(Note),
}

impl Record {
    /// Returns when it was made, as its maker says.
    pub fn at(&self) -> Timestamp {
        match self {
            Record::Entry(Entry::Node { at, .. }) => *at,
            Record::Entry(Entry::Move(head_move)) => head_move.at,
            Record::Note(note) => note.at,
        }
    }
}

/// What an upper layer wrote down. The store keeps it and never reads the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The layer that owns it, such as `revert`.
    pub layer: String,
    /// What the layer calls it.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// JSON on one line without white space around it, kept byte for byte.
    pub body: String,
}

/// How far a log has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the last record.
    pub seq: u64,
    /// The end of the trunk.
    pub head: NodeId,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} with head {}", self.seq, self.head)
    }
}

/// Records that are written together or not at all.
///
/// What a batch consumes leaves the inbox in the same step, so that a letter's effect happens exactly once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Where the writer believes the head is.
    pub expected_head: NodeId,
    /// How many records the writer believes there are.
    pub expected_seq: u64,
    /// What is added, in order.
    pub records: Vec<Record>,
    /// The letters whose effect the records are.
    pub consumed: Vec<InboxId>,
}

impl Batch {
    /// Checks a batch against where its session is and returns where it will be.
    pub(crate) fn check(&self, session: &SessionId, mut tally: Tally) -> Result<Tally, StoreError> {
        let expected = Position { seq: self.expected_seq, head: self.expected_head };
        let actual = tally.position();
        if expected != actual {
            return Err(StoreError::Conflict { session: session.clone(), expected, actual });
        }
        for record in &self.records {
            let seq = tally.seq + 1;
            tally.add(record).map_err(|misfit| StoreError::misfit(session, seq, misfit))?;
        }
        Ok(tally)
    }
}

/// The store's word that a batch is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The number of the last record there now is.
    pub seq: u64,
}

impl Receipt {
    /// Returns the receipt of a store that has kept everything up to `seq`.
    pub fn new(seq: u64) -> Self {
        Receipt { seq }
    }
}

/// The name of a letter in one session's inbox, counted from 1 and never given twice.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub u64);

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A message to whoever holds the session, from somebody who does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its name.
    pub id: InboxId,
    /// When it was posted, as its sender says.
    pub at: Timestamp,
    /// What it asks for, such as `prompt`.
    pub kind: String,
    /// JSON on one line without white space around it, kept byte for byte.
    pub body: String,
}

/// A session with everything that was ever written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What a list would show of it.
    pub info: SessionInfo,
    /// All records with their numbers, oldest first.
    pub records: Vec<(u64, Record)>,
}

impl Log {
    /// Returns the entries without the notes, as
    /// [`MessageTree::replay`](trunkline_message_tree::MessageTree::replay) reads them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.records.iter().filter_map(|(_, record)| match record {
            Record::Entry(entry) => Some(entry),
            Record::Note(_) => None,
        })
    }

    /// Returns how far it has come.
    pub fn position(&self) -> Position {
        Position { seq: self.info.records, head: self.info.head }
    }

    /// Checks that the records are numbered from 1, fit each other, and come to what the info says.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let session = &self.info.id;
        let bad = |seq, reason| StoreError::BadRecord { session: session.clone(), seq, reason };
        let mut tally = Tally::new(self.info.created_at);
        for (found, record) in &self.records {
            let seq = tally.seq + 1;
            if *found != seq {
                return Err(bad(seq, format!("record {found} stands in its place")));
            }
            tally.add(record).map_err(|misfit| StoreError::misfit(session, seq, misfit))?;
        }
        let claimed = Tally::of(&self.info);
        // Times are what their makers say; numbers and head must come from the records.
        if tally.nodes == 0
            || (tally.seq, tally.nodes, tally.head) != (claimed.seq, claimed.nodes, claimed.head)
        {
            let position = tally.position();
            return Err(bad(
                tally.seq,
                format!(
                    "the log ends at {position} with {} nodes, its info says {} with {}",
                    tally.nodes,
                    claimed.position(),
                    claimed.nodes
                ),
            ));
        }
        Ok(())
    }
}
