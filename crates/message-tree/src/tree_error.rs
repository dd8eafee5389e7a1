//! Why an entry is refused.
//!
//! A refused entry has changed nothing, so a store that was asked first can be told what does not fit.

use crate::{MoveId, NodeId};

/// Why an entry does not fit a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A tree starts with its root.
    #[error("the first entry is not a root: a tree starts with node n0 that has no parent")]
    NoRoot,
    /// The node does not exist.
    #[error("{node} does not exist; the newest node is {newest}")]
    UnknownNode {
        /// What was named.
        node: NodeId,
        /// The newest node there is.
        newest: NodeId,
    },
    /// Nodes are named in order of arrival.
    #[error("{found} cannot come now: the next node is {expected}")]
    OutOfOrder {
        /// The id in the entry.
        found: NodeId,
        /// The id that would fit.
        expected: NodeId,
    },
    /// The head was elsewhere when the entry was made.
    #[error("the head is {actual}, the entry was made at {expected}")]
    HeadMoved {
        /// Where the entry says the head is.
        expected: NodeId,
        /// Where it is.
        actual: NodeId,
    },
    /// A node stands for a span that is not one.
    #[error(
        "{from} to {to} cannot be covered: a span leads from a node after the root down to the node that is its end"
    )]
    NotASpan {
        /// The first node that was named.
        from: NodeId,
        /// The last one.
        to: NodeId,
    },
    /// A node merges what it cannot.
    #[error(
        "{node} cannot be merged: a node merges 1 to 64 others, each once, none of which is on the trunk"
    )]
    NotMergeable {
        /// The further parent that was named, or the merging node if it names none or too many.
        node: NodeId,
    },
    /// An undo or redo names a move that cannot be taken back now.
    #[error("{of} cannot be taken back now")]
    NotTheLatest {
        /// The move that was named.
        of: MoveId,
    },
    /// No move is left that an undo or redo could take back.
    #[error("there is no move to take back")]
    NothingToTakeBack,
    /// There are as many nodes as ids.
    #[error("the tree is full")]
    Full,
}
