//! Why a revert is refused, in words that help to ask again.
//!
//! The model reads the refusal as the result of its own call, so every refusal that another target would cure names
//! targets that would work.

use std::fmt;

use trunkline_message_tree::NodeId;

/// How many nodes a refusal lists at most.
pub(crate) const LISTED: usize = 8;

/// A request that was not carried out; the tree stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", cure(reason, works))]
#[non_exhaustive]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The newest targets that would have worked, at most eight, oldest first.
    pub works: Vec<NodeId>,
}

/// Why a revert is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is no such node.
    NotFound {
        /// The node that was named.
        target: NodeId,
    },
    /// The node exists, but not between the root and the head: it was left, or filed beside.
    OffTrunk {
        /// The node that was named.
        target: NodeId,
    },
    /// The node is the call's own message, one of its results, or came later.
    NotOlder {
        /// The node that was named.
        target: NodeId,
    },
    /// Nothing comes after the target, so there is nothing to leave.
    NothingToLeave {
        /// The node that was named.
        target: NodeId,
    },
    /// All that comes after the target are words of a person, whose copies would follow it.
    AllComesBack {
        /// The node that was named.
        target: NodeId,
    },
    /// Words of a person would be left behind, and this mover may not do that.
    CrossesPrompt {
        /// The node that was named.
        target: NodeId,
        /// The messages in the way, oldest first.
        prompts: Vec<NodeId>,
    },
    /// Words of a person would be left behind, and that person has to be asked first.
    NeedsPerson {
        /// The node that was named.
        target: NodeId,
        /// The messages in the way, oldest first.
        prompts: Vec<NodeId>,
    },
    /// The call that asked is no longer on the trunk, so what it asked for is out of date.
    CallLeft {
        /// The message that holds the call.
        call: NodeId,
    },
    /// Another request of the same turn was carried out.
    OtherApplied {
        /// Where that one went.
        target: NodeId,
    },
    /// Another request of the same turn changed the conversation: the model went back to a branch, or merged one.
    OtherMove,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotFound { target } => write!(f, "revert target {target} not found"),
            Reason::OffTrunk { target } => write!(f, "revert target {target} is not on the current branch"),
            Reason::NotOlder { target } => {
                write!(f, "revert target {target} is not older than the call that names it")
            }
            Reason::NothingToLeave { target } => write!(f, "revert refused: nothing comes after {target}"),
            Reason::AllComesBack { target } => {
                write!(
                    f,
                    "revert refused: after {target} there are only words of the user, which would follow it again"
                )
            }
            Reason::CrossesPrompt { prompts, .. } => {
                write!(f, "revert refused: abandoned span contains a user message ({})", listed(prompts))
            }
            Reason::NeedsPerson { target, prompts } => {
                let words = listed(prompts);
                write!(
                    f,
                    "revert to {target} not made yet: it would leave words of the user ({words}), who is asked first"
                )
            }
            Reason::CallLeft { call } => {
                write!(f, "revert refused: {call}, whose call asked for it, is not on the current branch")
            }
            Reason::OtherApplied { target } => {
                write!(f, "revert refused: another revert of this turn was applied first, to {target}")
            }
            Reason::OtherMove => {
                f.write_str("revert refused: another request of this turn changed the conversation first")
            }
        }
    }
}

/// Returns the second half of a refusal: what to ask for instead.
fn cure(reason: &Reason, works: &[NodeId]) -> String {
    match reason {
        Reason::CallLeft { .. } | Reason::OtherApplied { .. } | Reason::OtherMove => String::new(),
        _ if works.is_empty() => "; no target would work now".to_owned(),
        _ => format!("; targets that would work: {} (newest last)", listed(works)),
    }
}

/// Returns the newest of the nodes, separated by commas.
pub(crate) fn listed(nodes: &[NodeId]) -> String {
    let shown = &nodes[nodes.len().saturating_sub(LISTED)..];
    let names: Vec<String> = shown.iter().map(NodeId::to_string).collect();
    let more = if shown.len() < nodes.len() { "…, " } else { "" };
    format!("{more}{}", names.join(", "))
}
