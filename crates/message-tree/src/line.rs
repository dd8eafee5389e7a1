//! How the nodes of a tree hang together, apart from what they say.
//!
//! Whoever walks a tree needs twelve bytes of each node. Kept next to each other they stay in the processor's caches, while
//! messages lie all over the memory.

use crate::{MoveId, NodeId};

/// What stands for no node and no move. A node of that number can be no parent, because a child has a greater one.
const NONE: u32 = u32::MAX;

/// The places of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    // Invariant: a parent is older than its child, so walks end and cycles cannot exist.
    parents: Vec<u32>,
    depths: Vec<u32>,
    left: Vec<u32>,
}

impl Lines {
    pub(crate) fn with_root() -> Self {
        Lines { parents: vec![NONE], depths: vec![0], left: vec![NONE] }
    }

    /// Adds the next node.
    pub(crate) fn push(&mut self, parent: NodeId, depth: u32) {
        self.parents.push(parent.index() as u32);
        self.depths.push(depth);
        self.left.push(NONE);
    }

    pub(crate) fn set_left(&mut self, node: NodeId, by: MoveId) {
        self.left[node.index()] = by.0;
    }

    /// Returns the number of steps to the root; `None` if there is no such node.
    pub(crate) fn depth(&self, node: NodeId) -> Option<u32> {
        self.depths.get(node.index()).copied()
    }

    /// Returns the move by which a node last left the trunk.
    pub(crate) fn left_by(&self, node: NodeId) -> Option<MoveId> {
        self.left.get(node.index()).filter(|left| **left != NONE).copied().map(MoveId)
    }

    /// Returns a node that is known to exist and everything above it, up to the root.
    pub(crate) fn up_from(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let mut next = node.index() as u32;
        std::iter::from_fn(move || {
            let at = next;
            // The root's parent is out of reach, and so is the parent of what does not exist.
            next = *self.parents.get(at as usize)?;
            Some(NodeId::new(at))
        })
    }
}
