//! Where in a request something is: what errors of encoders point at.

use std::fmt;

use trunkline_message_tree::{Message, NodeId};

/// The message that an encoder stumbled over: its node if it has one, else its position in the request.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Place {
    /// The node that the message was read from.
    pub node: Option<NodeId>,
    /// The message's position in the request, from 0.
    pub index: usize,
}

impl Place {
    /// Returns the place of the message at this position of a request.
    pub fn of(index: usize, message: &Message) -> Self {
        Place { node: message.node, index }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "{node}"),
            None => write!(f, "message {}", self.index),
        }
    }
}
