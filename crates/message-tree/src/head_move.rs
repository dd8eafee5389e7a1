//! Moves of the head, kept like everything else.
//!
//! A move is data with both ends, so undo is one more move and nothing is ever taken back from the log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{NodeId, Timestamp};

/// The name of a head move in one tree, printed `m3`, counted from 0 in order of arrival.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MoveId(pub u32);

impl MoveId {
    /// Returns the position of the move in order of arrival, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for MoveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

/// A jump of the head, other than growing by one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadMove {
    /// Where the head was.
    pub from: NodeId,
    /// Where it went.
    pub to: NodeId,
    /// Who moved it, and why.
    pub kind: MoveKind,
    /// When.
    pub at: Timestamp,
}

/// Who moved the head, and why.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MoveKind {
    /// A model left a branch.
    ModelRevert,
    /// A person left a branch.
    PersonRevert,
    /// A person put the head on some node to go on from there, and had nothing to say about what was left.
    Fork,
    /// The head was put where it had been in the program that a conversation was taken over from.
    Import,
    /// The head went where the node that comes next merges branches. The only move that may end where it starts: then it
    /// marks what an undo of the merge returns to.
    Merge,
    /// A move was taken back.
    Undo {
        /// The move that was taken back.
        of: MoveId,
    },
    /// A move that had been taken back was made again.
    Redo {
        /// The undo that was taken back.
        of: MoveId,
    },
}
