//! Every move of the head, with what came of it.

use crate::{HeadMove, MessageTree, MoveId, MoveKind, NodeId};

/// The moves of a tree's head, oldest first, borrowed.
#[derive(Clone, Debug)]
pub struct Reflog<'a> {
    tree: &'a MessageTree,
    moved_at: &'a [u32],
    next: usize,
}

/// One move of the head.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReflogEntry<'a> {
    /// Its name.
    pub id: MoveId,
    /// The move.
    pub head_move: &'a HeadMove,
    /// The newest node there was when the head moved.
    pub newest: NodeId,
    /// Whether it still holds: it was not taken back, or it was made again. An undo or redo always holds.
    pub in_force: bool,
}

impl<'a> Reflog<'a> {
    pub(crate) fn new(tree: &'a MessageTree, moved_at: &'a [u32]) -> Self {
        Reflog { tree, moved_at, next: 0 }
    }
}

impl<'a> Iterator for Reflog<'a> {
    type Item = ReflogEntry<'a>;

    fn next(&mut self) -> Option<ReflogEntry<'a>> {
        let head_move = self.tree.moves().get(self.next)?;
        let nodes = *self.moved_at.get(self.next)?;
        let id = MoveId(self.next as u32);
        self.next += 1;
        let takes_back = matches!(head_move.kind, MoveKind::Undo { .. } | MoveKind::Redo { .. });
        let in_force = takes_back || self.tree.is_in_force(id);
        Some(ReflogEntry { id, head_move, newest: NodeId::new(nodes.saturating_sub(1)), in_force })
    }

    /// Costs one step, however far it is.
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.next = self.next.saturating_add(n).min(self.moved_at.len());
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.moved_at.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Reflog<'_> {}
