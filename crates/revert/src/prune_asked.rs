//! Leaves results out of later requests because the model asks for it.
//!
//! The tree keeps every byte, and so does each call: a record beside it says from where on its result is shown as one line.
//! What was refused, and what is about a decision, stays before the model's eyes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Author, MessageTree, Node, NodeId, Role, ToolCall};

use crate::boundary::message_at;
use crate::price::grouped;
use crate::prune::{bytes, left_out};
use crate::refusal::LISTED;
use crate::request::Fields;
use crate::{ArgumentError, CallPlace, Price, Pruned, RECALL_TOOL_NAME, Rates};

/// A result of fewer bytes is not worth the line that would stand in its place.
const LEAST_BYTES: usize = 400;

/// At how many results of the trunk, the newest, a refusal looks to name some that could be left out.
const MOST_LOOKED_AT: usize = 512;

/// A wish to leave results out of later requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneRequest {
    /// The nodes that hold them, as they were named, each once.
    pub results: Vec<NodeId>,
    /// The call that asked.
    pub call: CallPlace,
}

impl PruneRequest {
    /// Reads the arguments of a call to `prune_result`: `results` names nodes as marks show them, in a list or a single one.
    ///
    /// # Errors
    ///
    /// Any [`ArgumentError`]; its text is meant for the model.
    pub fn parse(arguments: &str, call: CallPlace) -> Result<Self, ArgumentError> {
        Ok(PruneRequest { results: Fields::parse(arguments)?.nodes("results")?, call })
    }
}

/// Reads the arguments of a call to `merge_left_branch`: `branches` names them, in a list or a single one.
///
/// # Errors
///
/// Any [`ArgumentError`]; its text is meant for the model.
pub fn parse_branches(arguments: &str) -> Result<Vec<NodeId>, ArgumentError> {
    Fields::parse(arguments)?.nodes("branches")
}

/// What a request to leave results out would do. Nothing has happened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunePlan {
    /// What was asked for.
    pub request: PruneRequest,
    /// The results, in the order in which they were named.
    pub results: Vec<Pruned>,
    /// What it costs, together with all that the same turn leaves out before it; not stated unless set.
    pub price: Option<Price>,
}

/// What became of a request to leave results out, for the log and for observers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PruneRecord {
    /// The results that are left out from now on; empty if the request was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Pruned>,
    /// The head when it was recorded: requests from then on are without them. `None` if the request was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<NodeId>,
    /// The refusal as the model read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The call that asked.
    pub call: CallPlace,
    /// What it costs and saves in prompt tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl PruneRecord {
    /// Returns the record of a request that was refused, with the words that the model read.
    pub fn refused(call: CallPlace, reason: String) -> Self {
        PruneRecord { results: Vec::new(), since: None, reason: Some(reason), call, price: None }
    }
}

impl PrunePlan {
    /// Returns what the call's own result says.
    pub fn result_text(&self) -> String {
        let named = |one: &Pruned| {
            let node = one.node.map(|node| node.to_string()).unwrap_or_default();
            format!("{node} ({} bytes of {})", grouped(one.bytes as u64), one.tool)
        };
        let named: Vec<String> = self.results.iter().map(named).collect();
        let price = self.price.as_ref().map(|price| format!("; {}", price.text())).unwrap_or_default();
        format!("left out from now on: {}; {RECALL_TOOL_NAME} returns one again{price}", named.join(", "))
    }

    /// Returns what to record. `since` is the head once the results of the turn stand.
    pub fn record(self, since: NodeId, price: Option<Price>) -> PruneRecord {
        let PrunePlan { request, results, .. } = self;
        PruneRecord { results, since: Some(since), reason: None, call: request.call, price }
    }
}

/// The results that models have asked to leave out: a fold of what is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prunings {
    // Where the head was when each was left out.
    since: BTreeMap<NodeId, NodeId>,
}

impl Prunings {
    /// Takes in what was recorded.
    pub fn record(&mut self, record: &PruneRecord) {
        let Some(since) = record.since else { return };
        for node in record.results.iter().filter_map(|one| one.node) {
            self.since.entry(node).or_insert(since);
        }
    }

    /// Returns whether the result in a node is left out.
    pub fn contains(&self, node: NodeId) -> bool {
        self.since.contains_key(&node)
    }

    /// Returns where the head was when the result in a node was left out; `None` if it is not.
    pub fn since(&self, node: NodeId) -> Option<NodeId> {
        self.since.get(&node).copied()
    }

    /// Returns the nodes whose results are left out, each with the head when that was recorded.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.since.iter().map(|(node, since)| (*node, *since))
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.since.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// Returns how many were left out before a node came.
    pub(crate) fn count_before(&self, node: NodeId) -> usize {
        self.since.values().filter(|since| **since < node).count()
    }

    /// Returns those that were left out before a node came.
    pub(crate) fn before(&self, node: NodeId) -> Prunings {
        let before = self.since.iter().filter(|(_, since)| **since < node);
        Prunings { since: before.map(|(node, since)| (*node, *since)).collect() }
    }
}

/// A request to leave results out that was not carried out: nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pruning refused: {reason}{}", cure(reason, works))]
#[non_exhaustive]
pub struct PruneRefusal {
    /// Why.
    pub reason: PruneReason,
    /// The longest results that could be left out, at most eight, oldest first, with their bytes.
    pub works: Vec<(NodeId, usize)>,
}

impl PruneRefusal {
    /// Returns the refusal of a request whose turn has left the branch.
    pub fn other_move() -> Self {
        PruneRefusal { reason: PruneReason::OtherMove, works: Vec::new() }
    }
}

/// Why the result of a call stays before the model's eyes, whoever asks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stays {
    /// It tells of something that was proposed or decided.
    Decision,
    /// Its tool is not there any more, so what it did is not known.
    ToolGone,
}

/// Why a result is not left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PruneReason {
    /// There is no such node.
    NotFound {
        /// The node that was named.
        node: NodeId,
    },
    /// The node is not on the trunk, so it is not sent.
    OffTrunk {
        /// The node that was named.
        node: NodeId,
    },
    /// The node holds no result of a tool.
    NotAResult {
        /// The node that was named.
        node: NodeId,
    },
    /// No tool gave it: it says that a call was refused, was not run, or was cut off.
    ByHarness {
        /// The node that was named.
        node: NodeId,
    },
    /// It tells of something that was proposed or decided.
    Decision {
        /// The node that was named.
        node: NodeId,
    },
    /// Its tool is not there any more.
    ToolGone {
        /// The node that was named.
        node: NodeId,
    },
    /// It is left out already.
    LeftOut {
        /// The node that was named.
        node: NodeId,
    },
    /// A summary stands in its place.
    Covered {
        /// The node that was named.
        node: NodeId,
        /// The summary.
        by: NodeId,
    },
    /// It is so short that nothing would be saved.
    Short {
        /// The node that was named.
        node: NodeId,
        /// How many bytes it has.
        bytes: usize,
    },
    /// Another request of the same turn left the branch.
    OtherMove,
}

impl fmt::Display for PruneReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PruneReason::NotFound { node } => write!(f, "{node} not found"),
            PruneReason::OffTrunk { node } => write!(f, "{node} is not on the current branch"),
            PruneReason::NotAResult { node } => write!(f, "{node} is no result of a tool"),
            PruneReason::ByHarness { node } => {
                write!(
                    f,
                    "{node} reports a call that was refused or did not run; such results cannot be left out"
                )
            }
            PruneReason::Decision { node } => {
                write!(f, "{node} belongs to a proposal or a decision; such results cannot be left out")
            }
            PruneReason::ToolGone { node } => {
                write!(
                    f,
                    "{node} cannot be left out: its tool is no longer available, so it is not known what it did"
                )
            }
            PruneReason::LeftOut { node } => write!(f, "{node} is left out already"),
            PruneReason::Covered { node, by } => write!(f, "the summary {by} stands in place of {node}"),
            PruneReason::Short { node, bytes } => {
                write!(f, "{node} has only {bytes} bytes, so nothing would be saved")
            }
            PruneReason::OtherMove => f.write_str("another request of this turn left this branch first"),
        }
    }
}

/// Returns the second half of a refusal: what to name instead.
fn cure(reason: &PruneReason, works: &[(NodeId, usize)]) -> String {
    let named = |(node, bytes): &(NodeId, usize)| format!("{node} ({} bytes)", grouped(*bytes as u64));
    match works {
        _ if *reason == PruneReason::OtherMove => String::new(),
        [] => "; there is no result that could be left out now".to_owned(),
        _ => {
            let named: Vec<String> = works.iter().map(named).collect();
            format!("; results that could be left out: {}", named.join(", "))
        }
    }
}

/// Decides what leaving results out would do. All that are named go, or none.
///
/// Only what a tool returned can go, and what was recalled; `stays` names the calls whose results tell of a proposal or a
/// decision, which stay. Works before the results of the turn are appended: those of the turn itself are no target.
///
/// # Errors
///
/// A [`PruneRefusal`] with its [`PruneReason`] and results that would work.
///
/// ```
/// use trunkline_message_tree::notation;
/// use trunkline_revert::{CallPlace, PruneRequest, Prunings, plan_pruning};
///
/// let long = "x".repeat(5_000);
/// let tree = notation::parse_tree(&format!(
///     "n0 system: be brief
///      n1 user: read a
///      n2 assistant:
///         + call c1 read_file {{\"path\":\"a\"}}
///      n3 result c1: {long}
///      n4 assistant:
///         + call c2 prune_result {{\"results\":[\"n3\"]}}",
/// ))?;
/// let call = CallPlace { node: "n4".parse()?, index: 0, call_id: "c2".to_owned() };
/// let asked = PruneRequest::parse(r#"{"results":["[n3]"]}"#, call.clone())?;
/// let plan = plan_pruning(&tree, &Prunings::default(), &asked, |_, _| None)?;
/// assert_eq!(
///     plan.result_text(),
///     "left out from now on: n3 (5,000 bytes of read_file); recall_result returns one again"
/// );
///
/// // The prompt of a person is no result of a tool, and stays.
/// let asked = PruneRequest::parse(r#"{"results":["n1"]}"#, call)?;
/// let refused = plan_pruning(&tree, &Prunings::default(), &asked, |_, _| None).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "pruning refused: n1 is no result of a tool; results that could be left out: n3 (5,000 bytes)"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_pruning(
    tree: &MessageTree,
    prunings: &Prunings,
    request: &PruneRequest,
    stays: impl Fn(NodeId, &ToolCall) -> Option<Stays>,
) -> Result<PrunePlan, PruneRefusal> {
    let covers = tree.trunk().covers();
    let covered = |depth: usize| covers.iter().find(|cover| cover.first <= depth && depth <= cover.last);
    let one = |node: NodeId| prunable(tree, prunings, node, &covered, &stays);
    let mut results = Vec::new();
    for node in &request.results {
        match one(*node) {
            Ok(_) => results.extend(pruned(tree, *node).unwrap_or_default()),
            Err(reason) => return Err(PruneRefusal { reason, works: working(tree, one) }),
        }
    }
    Ok(PrunePlan { request: request.clone(), results, price: None })
}

fn prunable<'c>(
    tree: &MessageTree,
    prunings: &Prunings,
    id: NodeId,
    covered: &impl Fn(usize) -> Option<&'c trunkline_message_tree::Covered>,
    stays: &impl Fn(NodeId, &ToolCall) -> Option<Stays>,
) -> Result<usize, PruneReason> {
    let node = tree.node(id).map_err(|_| PruneReason::NotFound { node: id })?;
    let message = node.message();
    if !tree.is_on_trunk(id) {
        return Err(PruneReason::OffTrunk { node: id });
    }
    if !message.brings_results() || matches!(message.role, Role::Assistant | Role::System) {
        return Err(PruneReason::NotAResult { node: id });
    }
    if let Some(cover) = covered(node.depth()) {
        return Err(PruneReason::Covered { node: id, by: cover.by });
    }
    if prunings.contains(id) {
        return Err(PruneReason::LeftOut { node: id });
    }
    let asked_at = asked_at(tree, node);
    let calls: Vec<&ToolCall> = asked_at
        .and_then(|depth| message_at(tree, depth))
        .into_iter()
        .flat_map(|asked| asked.calls())
        .collect();
    let call_of = |call_id: &str| calls.iter().find(|call| call.id == call_id);
    // What a call recalled is a result as it was returned once, and the largest thing that a model adds by itself.
    let recalled = |call_id: &str| call_of(call_id).is_some_and(|call| call.name == RECALL_TOOL_NAME);
    let by_tool = message.author == Author::Tool
        || message.results().all(|result| recalled(&result.call_id) && !result.is_error);
    if !by_tool {
        return Err(PruneReason::ByHarness { node: id });
    }
    let asked_by = asked_at.and_then(|depth| tree.trunk().ids().get(depth).copied());
    for result in message.results() {
        // Of what no call asked for nothing is known.
        let why = call_of(&result.call_id).map_or(Some(Stays::Decision), |call| stays(asked_by?, call));
        match why {
            Some(Stays::Decision) => return Err(PruneReason::Decision { node: id }),
            Some(Stays::ToolGone) => return Err(PruneReason::ToolGone { node: id }),
            None => {}
        }
    }
    let all: usize = message.results().map(bytes).sum();
    if all < LEAST_BYTES {
        return Err(PruneReason::Short { node: id, bytes: all });
    }
    Ok(all)
}

/// Returns what is left out where all results of a node are.
fn pruned(tree: &MessageTree, id: NodeId) -> Option<Vec<Pruned>> {
    let node = tree.node(id).ok()?;
    let asked = asked_at(tree, node).and_then(|depth| message_at(tree, depth));
    let calls: Vec<&ToolCall> = asked.into_iter().flat_map(|asked| asked.calls()).collect();
    Some(left_out(node.message(), &calls, |_| true)?.1)
}

/// Returns the depth of the message whose calls a result answers: only other results stand between.
pub(crate) fn asked_at(tree: &MessageTree, result: &Node) -> Option<usize> {
    let mut depth = result.depth();
    loop {
        depth = depth.checked_sub(1)?;
        let message = message_at(tree, depth)?;
        if message.role == Role::Assistant {
            return Some(depth);
        }
        if !message.brings_results() {
            return None;
        }
    }
}

/// Returns the longest results among the newest that could be left out, oldest first.
fn working(tree: &MessageTree, one: impl Fn(NodeId) -> Result<usize, PruneReason>) -> Vec<(NodeId, usize)> {
    let newest = tree.trunk().nodes().rev().filter(|(_, node)| node.message().brings_results());
    let sizes = newest.take(MOST_LOOKED_AT).map(|(id, node)| (id, node.message().results().map(bytes).sum()));
    let mut found: Vec<(NodeId, usize)> = sizes.filter(|(_, bytes)| *bytes >= LEAST_BYTES).collect();
    // The longest first: whether one may go is the dear question, and few answers are needed.
    found.sort_by_key(|(id, bytes)| (std::cmp::Reverse(*bytes), *id));
    let mut found: Vec<(NodeId, usize)> =
        found.into_iter().filter(|(id, _)| one(*id).is_ok()).take(LISTED).collect();
    found.sort_unstable();
    found
}

impl Price {
    /// Returns the price of leaving these results out together: all that stands behind the first of them is read anew.
    ///
    /// What [`Price::of`] says of counts and estimates holds here as well.
    pub fn of_pruning(tree: &MessageTree, results: &[Pruned], rates: &Rates) -> Price {
        Price::without(tree, &results.iter().filter_map(|one| one.node).collect::<Vec<_>>(), rates)
    }
}
