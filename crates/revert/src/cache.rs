//! Where a request does not continue the one before it, and why.
//!
//! A provider's cache keeps a prompt up to the first byte that differs from the last one. What differs is a function of
//! the tree, the notes and the clock, so a process that takes a session up finds the same break as the one that died.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Entry, Message, MessageTree, NodeId};

use crate::render::{is_reply, placed};
use crate::{Clock, Note, RenderPolicy, Rendered, render_at};

/// A moment at which a provider's cache was lost from some place of the trunk on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Break {
    /// The session's turn clock when it happened.
    pub turn: u32,
    /// The depth of the first message that had to be written to the cache anew; 0 if everything had.
    pub depth: usize,
    /// Why.
    #[serde(default)]
    pub cause: BreakCause,
}

/// Why a request did not continue the one before it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BreakCause {
    /// The head moved.
    HeadMove,
    /// A note decayed.
    Decay,
    /// A summary took the place of older messages.
    Compaction,
    /// Results were left out: old ones by a rule, or those that the model asked for.
    Pruning,
    /// Something else, such as another model or other tools.
    #[default]
    Other,
}

impl Break {
    /// Returns the break that leaves the cache of the first `depth` messages of the trunk whole.
    pub fn new(turn: u32, depth: usize) -> Self {
        Break { turn, depth, cause: BreakCause::Other }
    }

    /// Says why.
    #[must_use]
    pub fn because(self, cause: BreakCause) -> Self {
        Break { cause, ..self }
    }
}

/// Returns where and why the next request does not continue the one before it; `None` if it does, or if it is the first,
/// or if `breaks` tells of it already.
///
/// The request before is the one that the newest assistant message answered, on whatever branch. Give everything as it
/// is just before the next request is made, `breaks` oldest first. Costs one step per node, and where something may
/// differ two renderings.
pub fn cache_break(
    tree: &MessageTree,
    notes: &[Note],
    policy: &RenderPolicy,
    breaks: &[Break],
) -> Option<Break> {
    cache_break_at(tree, notes, policy, &Clock::new(crate::turn(tree)).with_breaks(breaks))
}

/// The same, with all that the next request is rendered with: also what the model asked to leave out.
pub fn cache_break_at(
    tree: &MessageTree,
    notes: &[Note],
    policy: &RenderPolicy,
    clock: &Clock<'_>,
) -> Option<Break> {
    let (reply, _) = tree.nodes().rev().find(|(_, node)| is_reply(node))?;
    cache_break_after(tree, notes, policy, clock, reply)
}

/// The same, where the newest reply is known.
pub(crate) fn cache_break_after(
    tree: &MessageTree,
    notes: &[Note],
    policy: &RenderPolicy,
    clock: &Clock<'_>,
    reply: NodeId,
) -> Option<Break> {
    let (breaks, now_turn) = (clock.breaks, clock.now);
    let found = tree.node(reply).ok()?;
    // It is the newest one that the clock counts.
    let then_turn = now_turn.saturating_sub(1);
    let told_then = breaks.iter().take_while(|lost| lost.turn <= then_turn).count();
    let prunings_then = clock.prunings.map(|prunings| prunings.before(reply)).unwrap_or_default();
    let asked_since = clock.prunings.is_some_and(|prunings| prunings.len() != prunings_then.len());
    let now = *clock;
    let then = Clock::new(then_turn).with_breaks(&breaks[..told_then]).with_prunings(&prunings_then);

    // Later moves are never made at older nodes.
    let latest = tree.moves().len().checked_sub(1).and_then(|latest| tree.reflog().nth(latest));
    let moved = latest.is_some_and(|made| made.newest >= reply);
    // A summary is shown only behind its span, so it may also come with growth.
    let compacted = !moved && !tree.covering().is_empty() && {
        let then = tree.trunk().covers_before(found.depth(), Some(reply));
        then != tree.trunk().covers()
    };
    let cut = |turn| policy.prune.and_then(|prune| prune.pruned_turns(turn));
    if !moved
        && !compacted
        && !asked_since
        && cut(then_turn) == cut(now_turn)
        && (notes.is_empty() || placed(tree, notes, policy, &then) == placed(tree, notes, policy, &now))
    {
        return None;
    }

    let before = as_it_was(tree, reply)?;
    // A note was there if its move was.
    let made = notes.iter().filter(|note| note.made_by.index() < before.moves().len());
    let notes_then: Vec<Note> = made.cloned().collect();
    let sent = render_at(&before, &notes_then, policy, &then);
    let next = render_at(tree, notes, policy, &now);
    let same = sent.messages.iter().zip(&next.messages).take_while(|(sent, next)| sent == next).count();
    if same == sent.messages.len() {
        return None;
    }
    let depth = next.depths.get(same).copied().unwrap_or_else(|| tree.trunk().ids().len());
    if breaks[told_then..].iter().any(|lost| lost.turn == now_turn && lost.depth <= depth) {
        return None;
    }
    let cause =
        cause(tree, (&before, &sent), &next, (same, reply), moved && depth_of_fork(tree, &before) < depth);
    Some(Break { turn: now_turn, depth, cause })
}

/// Returns why the message at `same` is another one than before.
fn cause(
    tree: &MessageTree,
    (before, sent): (&MessageTree, &Rendered),
    next: &Rendered,
    (same, reply): (usize, NodeId),
    left: bool,
) -> BreakCause {
    let item = |tree: &MessageTree, rendered: &Rendered| {
        let depth = *rendered.depths.get(same)?;
        let covers = tree.trunk().items().find(|item| match item {
            trunkline_message_tree::TrunkItem::Cover { span, .. } => span.0 == depth,
            trunkline_message_tree::TrunkItem::Node(..) => false,
        });
        covers.map(trunkline_message_tree::TrunkItem::id)
    };
    let name = |message: Option<&Message>| message.and_then(|message| message.node);
    let node = name(next.messages.get(same));
    let pruned = |rendered: &Rendered| node.is_some() && rendered.pruned.iter().any(|one| one.node == node);
    let pruned_otherwise = pruned(next) != pruned(sent) && node == name(sent.messages.get(same));
    why(&Told { left, was: item(before, sent), is: item(tree, next), reply, pruned_otherwise })
}

/// What is known of a place at which two requests differ.
pub(crate) struct Told {
    /// Whether the head left a node that stands before it.
    pub(crate) left: bool,
    /// What covered the trunk from there on, and what covers it.
    pub(crate) was: Option<NodeId>,
    pub(crate) is: Option<NodeId>,
    /// The reply between the requests.
    pub(crate) reply: NodeId,
    /// Whether a result of the same node was left out in one of them.
    pub(crate) pruned_otherwise: bool,
}

/// Returns why they differ there.
pub(crate) fn why(told: &Told) -> BreakCause {
    match told {
        Told { is: Some(is), reply, .. } if is >= reply => BreakCause::Compaction,
        Told { pruned_otherwise: true, .. } => BreakCause::Pruning,
        // What a compaction stood for is shown again.
        Told { left, was, is, .. } if *left || was.is_some() && was != is => BreakCause::HeadMove,
        Told { was, is, .. } if is != was => BreakCause::Compaction,
        _ => BreakCause::Decay,
    }
}

/// Returns the depth of the last node that both trunks have.
fn depth_of_fork(tree: &MessageTree, before: &MessageTree) -> usize {
    let shared = tree.trunk().ids().iter().zip(before.trunk().ids()).take_while(|(a, b)| a == b).count();
    shared.saturating_sub(1)
}

/// Returns the tree as it was before a node came.
fn as_it_was(tree: &MessageTree, node: NodeId) -> Option<MessageTree> {
    let is_it = |entry: &Entry| matches!(entry, Entry::Node { id, .. } if *id == node);
    MessageTree::replay(tree.entries().take_while(|entry| !is_it(entry))).ok()
}
