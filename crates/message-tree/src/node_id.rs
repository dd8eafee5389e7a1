//! The name of a node: a dense index, printed `n12`.
//!
//! Models copy ids the way they saw them, so parsing is lenient where no other reading is possible.

use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a node in one tree, printed `n12`.
///
/// Ids are dense and given in order of arrival: the root is `n0`, and a child's id is always greater than its parent's.
/// An id says nothing about which tree it belongs to.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// The root of every tree.
    pub const ROOT: NodeId = NodeId(0);

    /// Returns the id with the given index.
    pub const fn new(index: u32) -> Self {
        NodeId(index)
    }

    /// Returns the position of the node in order of arrival, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the id that follows this one.
    pub(crate) fn next(self) -> Self {
        NodeId(self.0 + 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// The text is not a node id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a node id: {text:?}; write it like n12")]
pub struct ParseNodeIdError {
    /// What was given.
    pub text: String,
}

impl FromStr for NodeId {
    type Err = ParseNodeIdError;

    /// Reads what a model or a person may write: `n12`, `N12`, `12`, `[n12]`, with white space around.
    ///
    /// # Errors
    ///
    /// [`ParseNodeIdError`] for anything else, also for signs, several letters and numbers above `u32::MAX`.
    fn from_str(text: &str) -> Result<Self, ParseNodeIdError> {
        let fault = || ParseNodeIdError { text: text.chars().take(40).collect() };
        let bare = text.trim();
        let bare = match bare.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').ok_or_else(fault)?.trim(),
            None => bare,
        };
        let digits = bare.strip_prefix(['n', 'N']).unwrap_or(bare);
        // `u32::from_str` alone would accept a leading plus sign.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(fault());
        }
        digits.parse().map(NodeId).map_err(|_| fault())
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NodeId {
    /// Reads `"n12"` and nothing else: what we store is not what a model writes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Stored)
    }
}

/// Reads an id as it is stored. Logs hold many of them, so nothing is allocated for one.
struct Stored;

impl Visitor<'_> for Stored {
    type Value = NodeId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node id such as \"n12\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NodeId, E> {
        let digits = text.strip_prefix('n').filter(|digits| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            plain && (!digits.starts_with('0') || digits.len() == 1)
        });
        let index = digits.and_then(|digits| digits.parse().ok());
        index.map(NodeId).ok_or_else(|| E::custom(format_args!("not a stored node id: {text:?}")))
    }
}
