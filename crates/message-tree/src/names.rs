//! Names that people give to nodes and branches.
//!
//! A bookmark names a node for ever. A branch names a line of the conversation: it grows with the head as long as the
//! head is on that line, and stays where the head left it.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{MessageTree, NodeId};

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// What a name is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NameKind {
    /// A line that goes through the node.
    Branch,
    /// The node itself.
    Bookmark,
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameKind::Branch => "branch",
            NameKind::Bookmark => "bookmark",
        })
    }
}

/// A name as it was checked: 1 to 64 bytes of ASCII letters, digits and `._/-`, beginning with a letter, and nothing that
/// could be taken for a node, such as `n12`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// [`NameError`] says what a name must look like.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let good = (1..=LONGEST).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
            && !looks_like_a_node(text);
        if good {
            Ok(Name(text.to_owned()))
        } else {
            Err(NameError { text: text.chars().take(80).collect() })
        }
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether the text has the shape of a node's name, also with a number that no node can have.
fn looks_like_a_node(text: &str) -> bool {
    let digits = text.strip_prefix(['n', 'N']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Name::parse(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// The text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} cannot be a name: a name begins with a letter, has at most 64 letters, digits and ._/- and is no node like n12"
)]
pub struct NameError {
    /// What was given, shortened.
    pub text: String,
}

/// A name was given, moved or taken away: what upper layers write down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naming {
    /// The name.
    pub name: Name,
    /// What it is for.
    pub kind: NameKind,
    /// The node that it names from now on; `None` takes the name away.
    pub node: Option<NodeId>,
}

/// All names of a tree, as the fold of every [`Naming`] in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    named: BTreeMap<Name, (NameKind, NodeId)>,
}

impl Names {
    /// Adds one thing that happened.
    pub fn record(&mut self, naming: Naming) {
        let Naming { name, kind, node } = naming;
        match node {
            Some(node) => _ = self.named.insert(name, (kind, node)),
            None => _ = self.named.remove(&name),
        }
    }

    /// Returns what a name is for, and the node that it was given to.
    pub fn get(&self, name: &str) -> Option<(NameKind, NodeId)> {
        self.named.get(name).copied()
    }

    /// Returns where a name leads now: the node of a bookmark, the end of a branch. `None` if nothing is called so.
    pub fn find(&self, tree: &MessageTree, name: &str) -> Option<NodeId> {
        self.get(name).map(|(kind, node)| match kind {
            NameKind::Bookmark => node,
            NameKind::Branch => tree.tip(node),
        })
    }

    /// Returns all names in their order, each with what it is for and where it leads now.
    pub fn all<'a>(&'a self, tree: &'a MessageTree) -> impl Iterator<Item = (&'a Name, NameKind, NodeId)> {
        self.named.iter().map(|(name, (kind, node))| {
            let leads_to = if *kind == NameKind::Branch { tree.tip(*node) } else { *node };
            (name, *kind, leads_to)
        })
    }

    /// Returns how many names there are.
    pub fn len(&self) -> usize {
        self.named.len()
    }

    /// Returns whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}
