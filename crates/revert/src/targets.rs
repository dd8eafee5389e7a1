//! Where one could go back to.
//!
//! The same walk feeds the outline and every refusal, so a refusal never names a target that would be refused.

use serde::Serialize;
use trunkline_message_tree::{Author, MessageTree, NodeId, Role};

use crate::boundary::{is_boundary, is_prompt, message_at};
use crate::mark::disarm;
use crate::one_line::one_line;
use crate::{CallPlace, Mover, Note, OwnBranches, Prompts};

/// A node that a revert could go back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// The node that would be the last one.
    pub node: NodeId,
    /// What part it plays.
    pub role: Role,
    /// Who wrote it.
    pub author: Author,
    /// How many nodes are after it on the trunk now.
    pub leaves: usize,
    /// How its text begins, on one line of at most 80 characters; for a message of calls their names.
    pub preview: String,
}

/// Returns every target that [`plan`](crate::plan) would accept from this mover, oldest first.
///
/// Nodes inside a group of calls and results are accepted too, but stand for the last one of the group and are not
/// listed. Give the call if a model asks: targets must be older than it.
pub fn targets(tree: &MessageTree, mover: Mover, call: Option<&CallPlace>) -> Vec<Target> {
    let mut targets: Vec<Target> =
        working_depths(tree, mover, call).filter_map(|depth| target_at(tree, depth)).collect();
    targets.reverse();
    targets
}

fn target_at(tree: &MessageTree, depth: usize) -> Option<Target> {
    let message = message_at(tree, depth)?;
    let leaves = tree.trunk().ids().len() - depth - 1;
    Some(Target {
        node: *tree.trunk().ids().get(depth)?,
        role: message.role,
        author: message.author,
        leaves,
        preview: preview(message),
    })
}

/// Returns the newest targets that would work, at most `limit`, oldest first.
pub(crate) fn newest_working(
    tree: &MessageTree,
    mover: Mover,
    call: Option<&CallPlace>,
    limit: usize,
) -> Vec<NodeId> {
    let ids = tree.trunk().ids();
    let depths = working_depths(tree, mover, call).take(limit);
    let mut nodes: Vec<NodeId> = depths.filter_map(|depth| ids.get(depth).copied()).collect();
    nodes.reverse();
    nodes
}

/// Returns the depths that would work, newest first. Stops at the first prompt that may not leave.
fn working_depths(tree: &MessageTree, mover: Mover, call: Option<&CallPlace>) -> impl Iterator<Item = usize> {
    let head = tree.trunk().ids().len() - 1;
    let oldest_unfit = match call {
        Some(place) if tree.is_on_trunk(place.node) => tree.node(place.node).map_or(0, |node| node.depth()),
        // The call was left itself: nothing that it asks for would work.
        Some(_) => 0,
        None => head,
    };
    let may_leave =
        move |depth: &usize| mover.prompts.may_leave() || !message_at(tree, depth + 1).is_some_and(is_prompt);
    let mut newest = if oldest_unfit == 0 { 0 } else { head };
    // Where only words follow that would be copied, all of it would come back.
    while mover.prompts == Prompts::Rebase && newest > 0 && message_at(tree, newest).is_some_and(is_prompt) {
        newest -= 1;
    }
    (0..newest)
        .rev()
        .take_while(may_leave)
        .filter(move |depth| *depth < oldest_unfit && is_boundary(tree, *depth))
}

/// How many targets an outline lists at most.
const OUTLINED: usize = 40;

/// Returns what a model reads that asks where it could go back to: one line for each of the newest 40 targets, oldest first,
/// with its node, who speaks there, how its text begins, and how many messages a revert to it would leave.
///
/// The texts are quoted from the conversation, so what looks like a mark or a note in them is made harmless.
pub fn outline(tree: &MessageTree, mover: Mover, call: Option<&CallPlace>) -> String {
    // The older ones are only counted: their texts are long.
    let mut depths = working_depths(tree, mover, call);
    let mut newest: Vec<Target> =
        depths.by_ref().take(OUTLINED).filter_map(|depth| target_at(tree, depth)).collect();
    newest.reverse();
    if newest.is_empty() {
        return "there is no node to go back to now".to_owned();
    }
    let older = depths.count();
    let mut lines = vec!["nodes that you can go back to, with what each would leave:".to_owned()];
    if older > 0 {
        lines.push(format!("… {older} older ones"));
    }
    for target in &newest {
        let who = match (target.role, target.author) {
            (Role::System, _) => "instructions",
            (Role::Tool, _) => "results",
            (Role::Assistant, _) => "you",
            (Role::User, Author::Person) => "user",
            (Role::User, _) => "harness",
        };
        let left =
            if target.leaves == 1 { "1 message".to_owned() } else { format!("{} messages", target.leaves) };
        lines.push(format!("{} {who}: {} (leaves {left})", target.node, disarm(&target.preview)));
    }
    lines.join("\n")
}

/// Returns what a model reads that asks which branches it has left: one line for each of the newest 40, oldest first, with its last
/// node, how many messages it has, and what it took along from there.
///
/// It may name branches that cannot be gone back to or merged now; a refusal says why.
pub fn outline_branches(own: &OwnBranches<'_>, notes: &[Note]) -> String {
    let mut tips = own.newest();
    if tips.is_empty() {
        return "there is no branch that you left".to_owned();
    }
    tips.truncate(OUTLINED);
    tips.reverse();
    let mut lines = vec!["branches that you left, each by its last node:".to_owned()];
    for tip in tips {
        let span = own.span(tip);
        let left = if span.len() == 1 { "1 message".to_owned() } else { format!("{} messages", span.len()) };
        let said = notes.iter().rev().find(|note| note.abandoned.last() == Some(&tip));
        let said = said.and_then(|note| note.summary.as_deref()).map(|text| one_line(text, 80));
        let said = said.map(|text| format!(": {}", disarm(&text))).unwrap_or_default();
        lines.push(format!("{tip} ({left} after {}){said}", own.fork(tip)));
    }
    lines.join("\n")
}

fn preview(message: &trunkline_message_tree::Message) -> String {
    let mut text = message.text();
    for result in message.results() {
        text.push_str(&result.text());
    }
    if text.trim().is_empty() {
        let names: Vec<&str> = message.calls().map(|call| call.name.as_str()).collect();
        text = names.join(", ");
    }
    one_line(&text, 80)
}
