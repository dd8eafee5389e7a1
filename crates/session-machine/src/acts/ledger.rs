//! What was already done on a branch that is left, from what is recorded of its calls and of staged edits.
//!
//! Tools say what a call does; whether it ran, and whether a staged edit was written, the log knows better.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Draft, Entry, Message, MessageTree, NodeId, ToolCall};
use trunkline_revert::{EffectClass, Effects, Ledger, Note, NoteKind, OUTLINE_TOOL_NAME};

use crate::acts::asked::Asked;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::rules::{close_requests, plans, written};
use crate::setup::Setup;
use crate::state::CallStatus;
use crate::words::call::{Access, CallPlace};

/// Returns what was done in the nodes that leave after `target`, oldest first; the newest may be only in the draft. `back` are
/// those that come back.
///
/// Branches that were left from these nodes belong to it: their notes go with the nodes, and what was done there stands. One
/// that comes back tells of itself.
/// The tree is that of the state, perhaps with the results of the turn already.
pub(super) fn of(
    (view, tree): (&View<'_>, &MessageTree),
    asked: &mut Asked<'_>,
    draft: &Draft<'_>,
    target: NodeId,
    (left, back): (&[NodeId], &[NodeId]),
) -> Result<Ledger, Pause> {
    let (state, setup) = (view.state, view.setup);
    let messages = messages(tree, draft, left);
    let by_node: HashMap<NodeId, &Message> = messages.iter().copied().collect();
    let open = state.open_turn().map(|turn| turn.node);
    let counts = |place: &CallPlace, call: &ToolCall| match state.call(place) {
        Some(CallStatus::Finished { result, ran: false, .. }) if never_began(&result.text()) => false,
        // A move that a person makes closes the turn, and what had not begun never will.
        None if open == Some(place.node) => false,
        // What a decision led to is told of the files.
        _ => {
            let own = setup.is_resolve_call(&call.name)
                || plans::is_plan_call(state, setup, &call.name)
                || close_requests::is_call(state, setup, place, &call.name);
            call.name != OUTLINE_TOOL_NAME && !own
        }
    };
    // What was said when a call ended is what counts; its tool is asked where that is not known, as of logs of earlier versions.
    let mut recorded: HashMap<(NodeId, u32), &Effects> = HashMap::new();
    let mut unknown = Vec::new();
    for (node, message) in &messages {
        for (call, index) in message.calls().zip(0..) {
            let place = CallPlace { node: *node, index, id: call.id.clone() };
            // Of a tool that is gone it is not known whether it only proposed.
            if !counts(&place, call) || !setup.catalogue.has(&call.name) {
                continue;
            }
            if let Some(CallStatus::Finished { effects: Some(effects), .. }) = state.call(&place) {
                recorded.insert((*node, index), effects);
            } else if let Ok(arguments) = call.parse_arguments() {
                unknown.push(((*node, index), (call.name.clone(), arguments)));
            }
        }
    }
    let (places, calls): (Vec<_>, Vec<_>) = unknown.into_iter().unzip();
    let mut declared: HashMap<(NodeId, u32), &Effects> =
        places.into_iter().zip(asked.effects(calls)?).collect();
    declared.extend(recorded);
    // A proposal may be staged by a call that stays, and written by a decision that leaves.
    let mut written = written::written_since(&state.resolve, target);
    // What was staged on branches that were left before is told by their notes.
    written.retain(|written| tree.is_on_trunk(written.staged_by));
    let effects = |node: NodeId, call: &ToolCall| {
        let place = place(node, by_node.get(&node)?, call)?;
        if !counts(&place, call) {
            return None;
        }
        let ours = written.iter().filter(|written| written.known && written.staged_by == node);
        let declared = declared.get(&(node, place.index)).copied();
        Some(of_call(setup, call, declared, ours.map(|written| written.subject.clone())))
    };
    let mut ledger = Ledger::of_messages(messages.iter().copied(), effects);
    let leaves: HashSet<NodeId> = left.iter().copied().collect();
    // Whoever only went to and fro has left nothing that is not told here: its end stands or leaves by itself.
    let notes = state.revert.notes.iter().filter(|note| note.kind != NoteKind::Undone);
    let is_back = |note: &Note| note.abandoned.first().is_some_and(|first| back.contains(first));
    let notes = notes.filter(|note| leaves.contains(&note.anchor) && !is_back(note));
    for earlier in notes.filter(|note| note.is_in_force(tree)) {
        if let Some(earlier) = &earlier.ledger {
            ledger = ledger.including(earlier);
        }
    }
    for written in written {
        let class = if written.reversible { EffectClass::Reversible } else { EffectClass::Unknown };
        ledger = match written.known {
            true => ledger.wrote(&written.subject, written.staged_by, class),
            false => ledger.perhaps_wrote(&written.subject, written.staged_by, class),
        };
    }
    Ok(ledger)
}

/// Returns the messages of nodes, also of those that are only in the draft.
fn messages<'a>(tree: &'a MessageTree, draft: &'a Draft<'_>, nodes: &[NodeId]) -> Vec<(NodeId, &'a Message)> {
    let drafted = drafted(draft);
    let found = |id: &NodeId| {
        let node = tree.node(*id).ok().map(|node| node.message());
        node.or_else(|| drafted.get(id).copied()).map(|message| (*id, message))
    };
    nodes.iter().filter_map(found).collect()
}

/// Returns the messages that a draft adds.
pub(super) fn drafted<'a>(draft: &'a Draft<'_>) -> HashMap<NodeId, &'a Message> {
    let nodes = draft.entries().iter().filter_map(|entry| match entry {
        Entry::Node { id, message, .. } => Some((*id, message)),
        Entry::Move(_) => None,
    });
    nodes.collect()
}

/// Returns the place of a call that was taken from this very message.
fn place(node: NodeId, message: &Message, call: &ToolCall) -> Option<CallPlace> {
    let index = message.calls().position(|other| std::ptr::eq(other, call))?;
    Some(CallPlace { node, index: u32::try_from(index).ok()?, id: call.id.clone() })
}

/// Returns whether the harness answered a call that nobody ran. Its other answers say that the outcome is unknown.
fn never_began(answer: &str) -> bool {
    answer.starts_with("not run") || answer.starts_with("not done")
}

/// Returns what a call did, as its tool says it; of one that proposes, `written` is what came of it. One whose tool is not there any
/// more may have done anything.
fn of_call(
    setup: &Setup,
    call: &ToolCall,
    declared: Option<&Effects>,
    written: impl Iterator<Item = String>,
) -> Effects {
    let Some(declared) = declared else { return Effects::default() };
    let mut effects = declared.clone();
    if setup.catalogue.access(&call.name) == Some(Access::Proposes) {
        // Staging only looks.
        effects.writes = written.collect();
        effects.runs = None;
        effects.class = EffectClass::Pure;
    }
    effects
}
