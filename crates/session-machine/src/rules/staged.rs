//! Staged actions: where they come from, who may decide on them, and what becomes of them when a branch is left.
//!
//! A command that needs approval is a proposal like an edit is; its call stays open until somebody has decided.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::{MessageTree, NodeId, Timestamp};
use trunkline_resolve_queue::{
    Actor, ActorKind, Approval, CallRef, Entry, Judgement, Queue, RuleVerdict, State as At, Supersession,
    discard_text,
};
use trunkline_session_store::Record;

use crate::notes::resolve::{IMPORT, note};
use crate::rules::guarded;
use crate::setup::resolve::Setting;
use crate::state::resolve::Part;
use crate::words::call::{CallPlace, Proposal};

/// Who the program is when it decides something itself.
pub(crate) fn harness() -> Actor {
    Actor::new(ActorKind::Harness, "")
}

pub(crate) fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Completes what a tool proposed: where it comes from, and who may decide. What the tool says of that does not count.
pub(crate) fn prepared(
    setting: &Setting,
    mut proposal: Proposal,
    judgement: &Judgement,
    place: &CallPlace,
) -> Proposal {
    proposal.call = Some(call_ref(place));
    proposal.proposed_by = Actor::new(ActorKind::Model, "");
    // What it takes the place of shows in what it writes, and a person alone takes anything back.
    (proposal.supersedes, proposal.undo_of) = (Vec::new(), None);
    // A person may hand the decision to a rule or a policy later, never to the model that proposed it under another one.
    if guarded::is_written(&proposal) {
        proposal.deciders = BTreeSet::from([ActorKind::Person]);
        return proposal;
    }
    proposal.deciders = BTreeSet::from([ActorKind::Person, ActorKind::Policy]);
    let asked = judgement.verdict == RuleVerdict::Ask && !judgement.rules.is_empty();
    let model = match asked {
        true => judgement.deciders.contains(&ActorKind::Model) && setting.model_decides(),
        false => setting.approval == Approval::Model,
    };
    if model {
        proposal.deciders.insert(ActorKind::Model);
    }
    proposal
}

/// Returns what the model is told of a discard. `entry` holds the decision.
pub(crate) fn discard_words(entry: &Entry<Value>) -> String {
    let reason = entry.decision.as_ref().map(|decision| decision.reason.as_str()).unwrap_or_default();
    discard_text(&entry.proposal.label, reason)
}

pub(crate) fn call_ref(place: &CallPlace) -> CallRef {
    CallRef { node: place.node.to_string(), call_id: place.id.clone() }
}

/// Returns the place of the call that staged a proposal, as well as it is known.
pub fn place_of(proposal: &Proposal) -> CallPlace {
    let call = proposal.call.as_ref();
    CallPlace {
        node: call.and_then(|call| call.node.parse().ok()).unwrap_or(NodeId::ROOT),
        index: 0,
        id: call.map(|call| call.call_id.clone()).unwrap_or_default(),
    }
}

/// Returns whether the conversation has left what a proposal belongs to.
pub(crate) fn is_left(tree: &MessageTree, proposal: &Proposal) -> bool {
    let node = proposal.call.as_ref().and_then(|call| call.node.parse().ok());
    node.is_some_and(|node| !tree.is_on_trunk(node))
}

/// Returns whether a call has staged something, whatever became of it. What a call needed to be allowed to run is none of that.
pub(crate) fn has_staged(part: &Part, node: NodeId, call_id: &str) -> bool {
    part.queue.iter().any(|entry| {
        let call = entry.proposal.call.as_ref();
        let of_call = call.is_some_and(|call| call.call_id == call_id && call.node == node.to_string());
        of_call && part.gated_call(entry.id).is_none()
    })
}

/// Puts aside everything that was staged by calls in these nodes and is not done.
pub(crate) fn supersede_left(queue: &Queue<Value>, left: &[NodeId], by: &str, at: Timestamp) -> Vec<Record> {
    let mut records = Vec::new();
    for entry in queue.unsettled() {
        let node = entry.proposal.call.as_ref().and_then(|call| call.node.parse::<NodeId>().ok());
        if !node.is_some_and(|node| left.contains(&node)) {
            continue;
        }
        let cause = Supersession::BranchLeft { by: by.to_owned() };
        // An attempt in flight cannot be put aside; it is once it is settled, unless it was applied.
        if let Ok(event) = queue.supersede(entry.id, cause, at.0) {
            records.push(note(&event));
        }
    }
    records
}

/// Brings back, as stale, what was put aside only because its branch was left, now that the branch is back.
pub(crate) fn restore_back(part: &Part, back: &[NodeId], at: Timestamp) -> Vec<Record> {
    let mut records = Vec::new();
    let made_here = part.queue.iter().filter(|entry| part.foreign.is_none_or(|foreign| entry.id > foreign));
    for entry in made_here.filter(|entry| entry.state == At::Superseded) {
        // The cause is what logs of earlier versions have.
        let left = matches!(&entry.superseded, Some(Supersession::BranchLeft { by }) if by != IMPORT);
        let node = entry.proposal.call.as_ref().and_then(|call| call.node.parse::<NodeId>().ok());
        // The call of a gate has its result by now, so there is nothing left to decide.
        let edit = part.gated_call(entry.id).is_none();
        let comes_back = left && edit && node.is_some_and(|node| back.contains(&node));
        if comes_back && let Ok(event) = part.queue.restore(entry.id, at.0) {
            records.push(note(&event));
        }
    }
    records
}
