//! Where in a message list something is.

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, NodeId};

/// A place in the list that was given.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Place {
    /// The message, counted from 0; the length of the list if the place is its end.
    pub message: usize,
    /// The node that the message was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The block in the message, counted from 0, where one block is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
}

impl Place {
    pub(crate) fn message(index: usize, message: &Message) -> Self {
        Place { message: index, node: message.node, block: None }
    }

    pub(crate) fn end(len: usize) -> Self {
        Place { message: len, node: None, block: None }
    }

    pub(crate) fn block(self, block: usize) -> Self {
        Place { block: Some(block), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "{node}")?,
            None => write!(f, "message {}", self.message)?,
        }
        match self.block {
            Some(block) => write!(f, " block {block}"),
            None => Ok(()),
        }
    }
}
