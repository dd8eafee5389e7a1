//! Changes to a tree that a store can accept before the tree does.

use crate::{
    Entry, HeadMove, Link, MOST_MERGED, Message, MessageTree, MoveKind, NodeId, Timestamp, TreeError,
};

/// Entries that would fit a tree one after the other.
///
/// Only an undo or redo behind another move of the same draft is not checked before it is recorded.
///
/// ```
/// use trunkline_message_tree::{Message, MessageTree, Timestamp};
///
/// let mut tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
/// let mut draft = tree.draft();
/// let hello = draft.append(Message::user("hello"), Timestamp(1))?;
/// let entries = draft.into_entries();
/// // … a store accepts `entries` here …
/// assert_eq!(tree.len(), 1); // the draft has changed nothing yet
/// for entry in entries {
///     tree.record(entry)?;
/// }
/// assert_eq!(tree.head(), hello);
/// # Ok::<(), trunkline_message_tree::TreeError>(())
/// ```
#[derive(Debug)]
pub struct Draft<'a> {
    tree: &'a MessageTree,
    head: NodeId,
    next: Option<NodeId>,
    entries: Vec<Entry>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(tree: &'a MessageTree) -> Self {
        Draft { tree, head: tree.head(), next: tree.next_id(), entries: Vec::new() }
    }

    /// Returns where the head will be.
    pub fn head(&self) -> NodeId {
        self.head
    }

    /// Adds a message after the head and moves the head on to it.
    ///
    /// # Errors
    ///
    /// [`TreeError::Full`] if there is no id left.
    pub fn append(&mut self, message: Message, at: Timestamp) -> Result<NodeId, TreeError> {
        let parent = self.head;
        let id = self.push(parent, message, at, Link::Next)?;
        self.head = id;
        Ok(id)
    }

    /// Files a message under any node and leaves the head where it is, as for a result that came too late.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if there is no such parent; [`TreeError::Full`] if there is no id left.
    pub fn file(&mut self, parent: NodeId, message: Message, at: Timestamp) -> Result<NodeId, TreeError> {
        self.check(parent)?;
        self.push(parent, message, at, Link::Filed)
    }

    /// Adds a message after the head that carries on what other branches came to, and moves the head on to it.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if one of them does not exist; [`TreeError::NotMergeable`] if there are none or more than
    /// [`MOST_MERGED`], if one is there twice, or is on the line to the head; [`TreeError::Full`] if there is no id left.
    pub fn merge(&mut self, with: Vec<NodeId>, message: Message, at: Timestamp) -> Result<NodeId, TreeError> {
        with.iter().try_for_each(|node| self.check(*node))?;
        if with.is_empty() || with.len() > MOST_MERGED {
            let node = with.first().copied().unwrap_or(self.head);
            return Err(TreeError::NotMergeable { node });
        }
        for (place, node) in with.iter().enumerate() {
            if with[..place].contains(node) || self.is_above(*node, self.head) {
                return Err(TreeError::NotMergeable { node: *node });
            }
        }
        let id = self.push(self.head, message, at, Link::Merge { with })?;
        self.head = id;
        Ok(id)
    }

    /// Files a message under `to` that stands for everything from `from` to there, and leaves the head where it is.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if one of them does not exist; [`TreeError::NotASpan`] if `from` is the root or not on the
    /// line to `to`; [`TreeError::Full`] if there is no id left.
    pub fn cover(
        &mut self,
        from: NodeId,
        to: NodeId,
        message: Message,
        at: Timestamp,
    ) -> Result<NodeId, TreeError> {
        self.check(from)?;
        self.check(to)?;
        if from == NodeId::ROOT || !self.is_above(from, to) {
            return Err(TreeError::NotASpan { from, to });
        }
        self.push(to, message, at, Link::Cover { from })
    }

    /// Moves the head to any node.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if there is no such node; [`TreeError::HeadMoved`] if the move starts elsewhere;
    /// [`TreeError::NotTheLatest`] if it takes back a move that is not the latest.
    pub fn move_head(&mut self, head_move: HeadMove) -> Result<(), TreeError> {
        if head_move.from != self.head {
            return Err(TreeError::HeadMoved { expected: head_move.from, actual: self.head });
        }
        self.check(head_move.to)?;
        if !self.entries.iter().any(|entry| matches!(entry, Entry::Move(_))) {
            let planned = match head_move.kind {
                MoveKind::Undo { of } => Some((of, self.tree.plan_undo(head_move.at))),
                MoveKind::Redo { of } => Some((of, self.tree.plan_redo(head_move.at))),
                _ => None,
            };
            if let Some((of, planned)) = planned
                && planned.is_none_or(|planned| (planned.kind, planned.to) != (head_move.kind, head_move.to))
            {
                return Err(TreeError::NotTheLatest { of });
            }
        }
        self.head = head_move.to;
        self.entries.push(Entry::Move(head_move));
        Ok(())
    }

    /// Returns the entries so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entries, in the order in which they must be recorded.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    fn check(&self, node: NodeId) -> Result<(), TreeError> {
        if self.next.is_none_or(|next| node < next) {
            return Ok(());
        }
        Err(TreeError::UnknownNode { node, newest: self.tree.newest() })
    }

    /// Returns whether a node is on the line from the root to another, or is that one. Costs nothing for a node of the tree
    /// and a line that ends on the trunk, elsewhere one step per node between.
    fn is_above(&self, node: NodeId, mut end: NodeId) -> bool {
        // Parents are older than their children, so nothing below is met any more.
        while end > node {
            let Some(place) = end.index().checked_sub(self.tree.len()) else { break };
            let mut parents = self.entries.iter().filter_map(|entry| match entry {
                Entry::Node { parent, .. } => *parent,
                Entry::Move(_) => None,
            });
            let Some(parent) = parents.nth(place) else { return false };
            end = parent;
        }
        if end <= node {
            return end == node;
        }
        if self.tree.is_on_trunk(end) {
            return self.tree.is_on_trunk(node);
        }
        let mut line = self.tree.ancestry(end).into_iter().flatten().map(|(id, _)| id);
        line.find(|id| *id <= node || self.tree.is_on_trunk(*id))
            .is_some_and(|id| id == node || (id > node && self.tree.is_on_trunk(node)))
    }

    fn push(
        &mut self,
        parent: NodeId,
        mut message: Message,
        at: Timestamp,
        link: Link,
    ) -> Result<NodeId, TreeError> {
        let id = self.next.ok_or(TreeError::Full)?;
        self.next = (id != NodeId::new(u32::MAX)).then(|| id.next());
        message.node = Some(id);
        self.entries.push(Entry::Node { id, parent: Some(parent), at, link, message });
        Ok(id)
    }
}
