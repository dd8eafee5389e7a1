//! How a node hangs on the tree.

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::NodeId;

/// The most branches that one node merges.
pub const MOST_MERGED: usize = 64;

/// How a node hangs on its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store that skipped a kind of node would lose it")]
pub enum Link {
    /// It continues the head and becomes it.
    #[default]
    Next,
    /// It was only filed under its parent, leaving the head where it was, as a result that came too late.
    Filed,
    /// It continues the head, becomes it, and carries on what these further parents came to.
    Merge {
        /// The ends of the branches that it merges, in the order in which they were named; none is on the trunk.
        with: Vec<NodeId>,
    },
    /// It is filed under the last node of a span and stands for the whole of it.
    Cover {
        /// The first node of the span, between the root and the parent.
        from: NodeId,
    },
}

impl Link {
    /// Returns the link that the stored fields say; `None` if more than one of them is there.
    pub fn from_fields(filed: bool, merges: Vec<NodeId>, covers: Option<NodeId>) -> Option<Self> {
        match (filed, merges.is_empty(), covers) {
            (false, true, None) => Some(Link::Next),
            (true, true, None) => Some(Link::Filed),
            (false, false, None) => Some(Link::Merge { with: merges }),
            (false, true, Some(from)) => Some(Link::Cover { from }),
            _ => None,
        }
    }

    /// Returns whether the node left the head where it was.
    pub const fn is_filed(&self) -> bool {
        matches!(self, Link::Filed | Link::Cover { .. })
    }

    /// Returns the parents beside the one that the node continues.
    pub fn further_parents(&self) -> &[NodeId] {
        match self {
            Link::Merge { with } => with,
            Link::Next | Link::Filed | Link::Cover { .. } => &[],
        }
    }
}

impl Serialize for Link {
    /// Writes what it adds to the fields of its node: nothing, or one of `filed`, `merges` and `covers`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(usize::from(*self != Link::Next)))?;
        match self {
            Link::Next => {}
            Link::Filed => fields.serialize_entry("filed", &true)?,
            Link::Merge { with } => fields.serialize_entry("merges", with)?,
            Link::Cover { from } => fields.serialize_entry("covers", from)?,
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Link {
    /// Reads `filed`, `merges` and `covers`, of which at most one may be there.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Fields {
            filed: bool,
            merges: Vec<NodeId>,
            covers: Option<NodeId>,
        }
        let Fields { filed, merges, covers } = Fields::deserialize(deserializer)?;
        Link::from_fields(filed, merges, covers)
            .ok_or_else(|| D::Error::custom("a node is either filed, or merges branches, or covers a span"))
    }
}
