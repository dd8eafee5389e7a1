//! Why a merge is refused, in words that help to ask again.
//!
//! Whoever names a branch may have an id from an older listing, so every refusal names branches that could be merged.

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{MOST_MERGED, NodeId};

use crate::returning::why_not_own;
use crate::{CallPlace, NotOwn};

/// A merge that was not made; the tree stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("merge refused: {reason}{}", cure(reason, works))]
#[non_exhaustive]
pub struct MergeRefusal {
    /// Why.
    pub reason: MergeReason,
    /// The ends of the newest branches each of which could be merged, at most eight, oldest first.
    pub works: Vec<NodeId>,
}

/// What is kept of a model's merge that was refused, for the log and for observers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MergeRefused {
    /// The branches as they were named; none if that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<NodeId>,
    /// The refusal as the model read it.
    pub reason: String,
    /// The call that asked.
    pub call: CallPlace,
}

impl MergeRefused {
    /// Returns what is kept of a merge that was refused with these words.
    pub fn new(branches: Vec<NodeId>, reason: String, call: CallPlace) -> Self {
        MergeRefused { branches, reason, call }
    }
}

/// Why a merge is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeReason {
    /// No branch was named.
    NoBranch,
    /// More branches were named than one node can merge.
    TooMany {
        /// How many were named.
        named: usize,
    },
    /// There is no such node.
    NotFound {
        /// The node that was named.
        tip: NodeId,
    },
    /// The node is on the trunk, so there is nothing to bring there.
    OnTrunk {
        /// The node that was named.
        tip: NodeId,
    },
    /// The node lies on another branch that was named, or was named twice.
    SameBranch {
        /// The node that was named.
        tip: NodeId,
        /// The end of the branch that it lies on.
        within: NodeId,
    },
    /// The branch was merged into the trunk before, up to this node or further.
    AlreadyMerged {
        /// The node that was named.
        tip: NodeId,
        /// The node that merged it.
        by: NodeId,
    },
    /// A model named a node of no branch that it left itself.
    NotOwn {
        /// The node that was named.
        node: NodeId,
        /// Why.
        why: NotOwn,
    },
    /// Another request of the same turn changed the conversation.
    OtherMove,
    /// Nothing came of the branch, or nothing that is not said already.
    NothingToSay {
        /// The node that was named.
        tip: NodeId,
        /// Where the note stands that says it.
        stands_at: Option<NodeId>,
    },
}

impl fmt::Display for MergeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeReason::NoBranch => f.write_str("no branch was named"),
            MergeReason::TooMany { named } => {
                write!(f, "{named} branches were named, {MOST_MERGED} can be merged at once")
            }
            MergeReason::NotFound { tip } => write!(f, "{tip} not found"),
            MergeReason::OnTrunk { tip } => write!(f, "{tip} is on the current branch"),
            MergeReason::SameBranch { tip, within } if tip == within => write!(f, "{tip} was named twice"),
            MergeReason::SameBranch { tip, within } => {
                write!(f, "{tip} lies on the branch that ends in {within}; name {within} alone")
            }
            MergeReason::AlreadyMerged { tip, by } => write!(f, "{tip} was merged before, by {by}"),
            MergeReason::NotOwn { node, why } => why_not_own(f, *node, *why),
            MergeReason::OtherMove => {
                f.write_str("another request of this turn changed the conversation first")
            }
            MergeReason::NothingToSay { tip, stands_at: None } => {
                write!(f, "nothing came of {tip}: it has no note with a summary and no words of a model")
            }
            MergeReason::NothingToSay { tip, stands_at: Some(anchor) } => {
                write!(f, "what came of {tip} already stands in a note after {anchor}")
            }
        }
    }
}

/// Returns the second half of a refusal: what to name instead.
fn cure(reason: &MergeReason, works: &[NodeId]) -> String {
    match works {
        _ if *reason == MergeReason::OtherMove => String::new(),
        [] => "; there is no branch that could be merged now".to_owned(),
        _ => format!("; branches that could be merged: {} (newest last)", names(works)),
    }
}

/// Returns the names, separated by commas.
pub(crate) fn names(nodes: &[NodeId]) -> String {
    nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(", ")
}
