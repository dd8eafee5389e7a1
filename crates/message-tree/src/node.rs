//! A message in its place.

use std::sync::Arc;

use crate::{Link, Message, NodeId, Timestamp};

static NEXT: Link = Link::Next;

/// A message in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    // `u32::MAX` for the root's: a node of that number can be no parent, because a child has a greater one.
    parent: u32,
    depth: u32,
    at: Timestamp,
    // `None` is `Link::Next`, as almost always.
    link: Option<Box<Link>>,
    message: Arc<Message>,
}

impl Node {
    pub(crate) fn new(
        parent: Option<NodeId>,
        depth: u32,
        at: Timestamp,
        link: Link,
        mut message: Message,
    ) -> Self {
        message.shrink_to_fit();
        Node {
            parent: parent.map_or(u32::MAX, |parent| parent.index() as u32),
            depth,
            at,
            link: (link != Link::Next).then(|| Box::new(link)),
            message: Arc::new(message),
        }
    }

    /// Returns the node that this one continues; `None` only for the root.
    pub fn parent(&self) -> Option<NodeId> {
        (self.parent != u32::MAX).then_some(NodeId::new(self.parent))
    }

    /// Returns the number of steps to the root.
    pub fn depth(&self) -> usize {
        self.depth as usize
    }

    /// Returns when the message arrived. Order comes from ids, never from this.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns how it hangs on its parent, and its further parents if it merges branches.
    pub fn link(&self) -> &Link {
        self.link.as_deref().unwrap_or(&NEXT)
    }

    /// Returns whether it was only filed under its parent when it came, without becoming the head.
    pub fn is_filed(&self) -> bool {
        self.link().is_filed()
    }

    /// Returns the message; its `node` is always set.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the message for a holder that may outlive the tree: the same allocation, so that it can be recognised by its
    /// address.
    pub fn shared(&self) -> &Arc<Message> {
        &self.message
    }
}
