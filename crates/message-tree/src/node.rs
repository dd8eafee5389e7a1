//! A message in its place.

use std::sync::{Arc, LazyLock};

use crate::{Author, Link, Message, NodeId, Role, Timestamp};

static NEXT: Link = Link::Next;

const ROLES: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];
const AUTHORS: [Author; 4] = [Author::Person, Author::Model, Author::Tool, Author::Harness];

/// What all nodes without their message share, by role and author.
static BARE: LazyLock<Vec<Arc<Message>>> = LazyLock::new(|| {
    let of = |role| AUTHORS.into_iter().map(move |author| Arc::new(Message::new(role, author, Vec::new())));
    ROLES.into_iter().flat_map(of).collect()
});

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
        message: Arc<Message>,
    ) -> Self {
        Node {
            parent: parent.map_or(u32::MAX, |parent| parent.index() as u32),
            depth,
            at,
            link: (link != Link::Next).then(|| Box::new(link)),
            message,
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

    /// Returns the message; its `node` is always set, unless the node [is bare](Node::is_bare): then it has the role and the
    /// author, and nothing else.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns whether the message was left out when the tree was made ([`MessageTree::record_bare`]), and is not there since
    /// ([`MessageTree::fill`]).
    ///
    /// [`MessageTree::record_bare`]: crate::MessageTree::record_bare
    /// [`MessageTree::fill`]: crate::MessageTree::fill
    pub fn is_bare(&self) -> bool {
        self.message.node.is_none()
    }

    pub(crate) fn fill(&mut self, message: Arc<Message>) {
        self.message = message;
    }

    /// Returns the message for a holder that may outlive the tree: the same allocation, so that it can be recognised by its
    /// address.
    pub fn shared(&self) -> &Arc<Message> {
        &self.message
    }
}

/// A node whose message is left out: of long conversations what stands beside the trunk is seldom read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a store or a snapshot writes it as a literal")]
pub struct BareNode {
    /// Its name: the next free one.
    pub id: NodeId,
    /// The node it continues or is filed under.
    pub parent: NodeId,
    /// When it came.
    pub at: Timestamp,
    /// How it hangs on its parent.
    pub link: Link,
    /// The role of its message, as far as it is known.
    pub role: Role,
    /// Who wrote it, likewise.
    pub author: Author,
}

impl BareNode {
    pub(crate) fn message(&self) -> Arc<Message> {
        Arc::clone(&BARE[self.role as usize * AUTHORS.len() + self.author as usize])
    }
}
