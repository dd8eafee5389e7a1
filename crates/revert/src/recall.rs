//! Returns results again that are left out of requests.
//!
//! Nothing is run for that: what a tool returned then is in the tree, and comes at the end of the conversation, so the
//! provider's cache keeps everything before it.

use std::fmt;

use trunkline_message_tree::{MessageTree, NodeId, Part, Role};

use crate::boundary::message_at;
use crate::one_line::one_line;
use crate::prune_asked::asked_at;
use crate::refusal::LISTED;
use crate::request::Fields;
use crate::{ArgumentError, Prunings};

/// Reads the arguments of a call to `recall_result`.
///
/// # Errors
///
/// Any [`ArgumentError`]; its text is meant for the model.
pub fn parse_recalled(arguments: &str) -> Result<NodeId, ArgumentError> {
    Fields::parse(arguments)?.node("result")
}

/// Why a result is not returned again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recall refused: {reason}{}", recall_cure(works))]
#[non_exhaustive]
pub struct RecallRefusal {
    /// Why.
    pub reason: RecallReason,
    /// The newest results that are left out, at most eight, oldest first.
    pub works: Vec<NodeId>,
}

/// Why a result is not returned again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecallReason {
    /// There is no such node.
    NotFound {
        /// The node that was named.
        node: NodeId,
    },
    /// The node is not on the trunk.
    OffTrunk {
        /// The node that was named.
        node: NodeId,
    },
    /// The node holds no result of a tool.
    NotAResult {
        /// The node that was named.
        node: NodeId,
    },
    /// The conversation has it.
    Shown {
        /// The node that was named.
        node: NodeId,
    },
}

impl fmt::Display for RecallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecallReason::NotFound { node } => write!(f, "{node} not found"),
            RecallReason::OffTrunk { node } => write!(f, "{node} is not on the current branch"),
            RecallReason::NotAResult { node } => write!(f, "{node} is no result of a tool"),
            RecallReason::Shown { node } => {
                write!(f, "{node} was never left out; its full text is still in the conversation")
            }
        }
    }
}

fn recall_cure(works: &[NodeId]) -> String {
    match works {
        [] => "; nothing is left out now".to_owned(),
        _ => format!("; results that are left out: {}", crate::merge_refusal::names(works)),
    }
}

/// Returns a result again that is left out, by request, by a rule (`by_rule`), or behind a summary: what it is, and then its
/// parts as they were returned.
///
/// # Errors
///
/// A [`RecallRefusal`] with its [`RecallReason`] and results that are left out.
pub fn recall(
    tree: &MessageTree,
    prunings: &Prunings,
    by_rule: &[NodeId],
    node: NodeId,
) -> Result<Vec<Part>, RecallRefusal> {
    let refuse = |reason| {
        let asked = prunings.iter().map(|(node, _)| node).filter(|node| tree.is_on_trunk(*node));
        let mut works: Vec<NodeId> = asked.chain(by_rule.iter().copied()).collect();
        works.sort_unstable();
        works.dedup();
        works.drain(..works.len().saturating_sub(LISTED));
        Err(RecallRefusal { reason, works })
    };
    let Ok(found) = tree.node(node) else { return refuse(RecallReason::NotFound { node }) };
    let message = found.message();
    if !tree.is_on_trunk(node) {
        return refuse(RecallReason::OffTrunk { node });
    }
    if !message.brings_results() || matches!(message.role, Role::Assistant | Role::System) {
        return refuse(RecallReason::NotAResult { node });
    }
    let depth = found.depth();
    let covered = || tree.trunk().covers().iter().any(|cover| cover.first <= depth && depth <= cover.last);
    if !prunings.contains(node) && !by_rule.contains(&node) && !covered() {
        return refuse(RecallReason::Shown { node });
    }
    let asked = asked_at(tree, found).and_then(|depth| message_at(tree, depth));
    let mut parts = Vec::new();
    for result in message.results() {
        let call = asked.and_then(|asked| asked.calls().find(|call| call.id == result.call_id));
        let tool = call.map_or_else(|| "a tool".to_owned(), |call| one_line(&call.name, 64));
        let failed = if result.is_error { ", which failed" } else { "" };
        parts.push(Part::text(format!("what {tool} returned then{failed}:")));
        parts.extend(result.content.iter().cloned());
    }
    Ok(parts)
}
