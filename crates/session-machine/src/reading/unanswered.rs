//! Calls without a result in the conversation, and how far each came, as the log tells it.

use std::collections::HashSet;

use trunkline_message_tree::{Link, MessageTree, Node, NodeId, ToolResult};

use crate::state::{CallStatus, State};
use crate::words::call::CallPlace;

/// How far a call without a result in the conversation has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Nothing is recorded of it: it never began.
    NotBegun,
    /// It began, and nothing is recorded of its end. It runs in a process that is alive, or its outcome is unknown.
    Begun,
    /// It ended; its result enters the conversation when its turn is over.
    Ended {
        /// The result.
        result: &'a ToolResult,
        /// Whether the tool gave it; otherwise the harness did, in the place of a call that was not run.
        ran: bool,
    },
}

/// Returns how far each call of a message has come, in their order: for messages that no result follows yet.
///
/// All results of a turn enter the conversation together; what was recorded of a call is told here also when they have.
pub fn standings(state: &State, node: NodeId) -> Vec<Standing<'_>> {
    let Ok(node_of_calls) = state.tree.node(node) else { return Vec::new() };
    let calls = node_of_calls.message().calls().zip(0..);
    let places = calls.map(|(call, index)| CallPlace { node, index, id: call.id.clone() });
    places
        .map(|place| match state.call(&place) {
            None => Standing::NotBegun,
            Some(CallStatus::Started) => Standing::Begun,
            Some(CallStatus::Finished { result, ran, .. }) => Standing::Ended { result, ran: *ran },
        })
        .collect()
}

/// Returns the nodes after which the conversation went on: where one of them has calls, they have their results there.
///
/// Takes one step a node. What was only filed, or stands for others, does not go on.
pub fn gone_on(tree: &MessageTree) -> HashSet<NodeId> {
    let goes_on = |node: &Node| !matches!(node.link(), Link::Filed | Link::Cover { .. });
    tree.nodes().filter(|(_, node)| goes_on(node)).filter_map(|(_, node)| node.parent()).collect()
}
