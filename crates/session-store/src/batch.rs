//! How a log grows: batches that are written whole, and the word that a store gives for them.

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::NodeId;

use crate::tally::Tally;
use crate::{Digest, InboxId, Kept, Position, Record, SessionId, StoreError};

/// How much must happen to the machine before an acknowledged batch is lost. Later levels keep more.
///
/// What each means on each backend is on the front page of the crate.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "whoever reads a receipt must know every level")]
pub enum Durability {
    /// It is in line to be written: the death of the process loses what was in line, never anything before or between.
    /// For streams of tokens.
    Buffered,
    /// It survives the death of the process, but not the loss of power.
    Committed,
    /// It survives the loss of power.
    #[default]
    Flushed,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Durability::Buffered => "buffered",
            Durability::Committed => "committed",
            Durability::Flushed => "flushed",
        })
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
    /// What it has to survive once it is acknowledged.
    pub durability: Durability,
}

impl Batch {
    /// Returns a batch that adds records at a position, flushed, and consumes nothing.
    pub fn new(at: Position, records: Vec<Record>) -> Self {
        Batch {
            expected_head: at.head,
            expected_seq: at.seq,
            records,
            consumed: Vec::new(),
            durability: Durability::Flushed,
        }
    }

    /// Returns it as a batch that also consumes letters.
    #[must_use]
    pub fn consuming(mut self, letters: impl IntoIterator<Item = InboxId>) -> Self {
        self.consumed.extend(letters);
        self
    }

    /// Returns it with another durability.
    #[must_use]
    pub fn with(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Checks a batch against where its session is; returns what is to be kept and where the session will be.
    ///
    /// For those who write a store. Keys and letters are the store's to check.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`], [`StoreError::Misfit`], [`StoreError::Body`].
    pub fn check(&self, session: &SessionId, mut tally: Tally) -> Result<(Vec<Kept>, Tally), StoreError> {
        let expected = Position { seq: self.expected_seq, head: self.expected_head };
        let actual = tally.position();
        if expected != actual {
            return Err(StoreError::Conflict { session: session.clone(), expected, actual });
        }
        let kept = self.records.iter().map(|record| tally.add(session, record));
        let kept = kept.collect::<Result<Vec<Kept>, StoreError>>()?;
        Ok((kept, tally))
    }
}

/// The store's word that a batch is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The number of the last record there now is.
    pub seq: u64,
    /// Its digest. Whoever keeps it can later prove what the log was: see
    /// [`SessionStore::verify`](crate::SessionStore::verify).
    pub digest: Digest,
    /// The level that was reached. It may be higher than what was asked for, and is lower only where the store cannot
    /// do better and says so in its documentation.
    pub durability: Durability,
}

impl Receipt {
    /// Returns the receipt of a store that has kept everything up to `seq`.
    pub fn new(seq: u64, digest: Digest, durability: Durability) -> Self {
        Receipt { seq, digest, durability }
    }
}
