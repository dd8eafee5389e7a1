//! Staged actions: who decides on them, and what has to happen to each.
//!
//! A command that needs approval is a proposal like an edit is; its call stays open until somebody has decided.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use trunkline_message_tree::{MessageTree, NodeId, Timestamp};
use trunkline_resolve_queue::{
    Actor, ActorKind, CallRef, Entry, Judgement, RuleVerdict, State as At, Supersession,
};
use trunkline_session_store::Record;

mod gates;
pub mod held;
mod rejected;
pub(crate) use held::{ahead, work_ahead};
pub mod rules;

pub(crate) use gates::{Gated, asks_the_tool, drop_gate, gate, stage_gate};
pub(crate) use rejected::rejected;
use rules::Turn;

use crate::notes::resolve::{IMPORT, note};
use crate::setup::resolve::Setting;
use crate::state::resolve::Part;
use crate::words::approval::Approval;
use crate::words::call::{CallPlace, Proposal};
use crate::words::work::{Id, Work};

/// Who the program is when it decides something itself.
pub(crate) fn harness() -> Actor {
    Actor::new(ActorKind::Harness, "")
}

/// Returns everything that still waits for a decision.
pub(crate) fn undecided(part: &Part) -> Vec<Id> {
    part.queue.pending().map(|entry| entry.id).collect()
}

/// Returns what a verdict on the run has to wait for, as it is shown.
pub(crate) fn unsettled(part: &Part) -> Vec<String> {
    part.queue.unsettled().map(|entry| entry.id.to_string()).collect()
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

fn call_ref(place: &CallPlace) -> CallRef {
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

/// Returns what has to happen to the oldest proposal that is not settled, if anything.
pub(crate) fn work(setting: &Setting, part: &Part, at: Timestamp) -> Option<Work> {
    work_on(setting, part, part.queue.unsettled(), at)
}

fn work_on<'a>(
    setting: &Setting,
    part: &Part,
    entries: impl Iterator<Item = &'a Entry<Value>>,
    at: Timestamp,
) -> Option<Work> {
    let mut asked = Vec::new();
    for entry in entries {
        let id = entry.id;
        match entry.state {
            At::Approved => return Some(Work::Apply(id)),
            At::Stale => return Some(Work::Check(id)),
            At::Unknown | At::Applying => return Some(Work::LookUp(id)),
            _ => match rules::turn_of(setting, part, entry, at) {
                Turn::Approve => return Some(Work::Approve(id)),
                Turn::Forbid => return Some(Work::Forbid(id)),
                Turn::GiveUp => return Some(Work::Drop(id, "it could not be applied".to_owned())),
                Turn::Model => {}
                Turn::Person => asked.push(id),
            },
        }
    }
    (!asked.is_empty()).then_some(Work::Ask(asked))
}

/// Returns whether the conversation has left what a proposal belongs to.
pub(crate) fn is_left(tree: &MessageTree, proposal: &Proposal) -> bool {
    let node = proposal.call.as_ref().and_then(|call| call.node.parse().ok());
    node.is_some_and(|node| !tree.is_on_trunk(node))
}

/// Puts aside everything that was staged by calls in these nodes and is not done.
pub(crate) fn supersede_left(part: &Part, left: &[NodeId], by: &str, at: Timestamp) -> Vec<Record> {
    let mut records = Vec::new();
    for entry in part.queue.unsettled() {
        let node = entry.proposal.call.as_ref().and_then(|call| call.node.parse::<NodeId>().ok());
        if !node.is_some_and(|node| left.contains(&node)) {
            continue;
        }
        let cause = Supersession::BranchLeft { by: by.to_owned() };
        // An attempt in flight cannot be put aside; it is once it is settled, unless it was applied.
        if let Ok(event) = part.queue.supersede(entry.id, cause, at.0) {
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

/// A file that was written, or perhaps was, because somebody approved it.
pub(crate) struct Written {
    pub(crate) subject: String,
    /// The message whose call proposed it.
    pub(crate) staged_by: NodeId,
    pub(crate) reversible: bool,
    /// Whether it was written for certain.
    pub(crate) known: bool,
}

/// Returns the files that were written once a message stood in the log.
pub(crate) fn written_since(part: &Part, since: NodeId) -> Vec<Written> {
    use trunkline_resolve_queue::Effect;
    let mut written = Vec::new();
    let after = |id: &Id| part.came.get(id).is_some_and(|newest| *newest >= since);
    for entry in part.queue.iter().filter(|entry| after(&entry.id)) {
        let known = match entry.state {
            At::Applied => true,
            At::Applying | At::Unknown => false,
            _ => continue,
        };
        let proposal = &entry.proposal;
        let Some(staged_by) = proposal.call.as_ref().and_then(|call| call.node.parse().ok()) else {
            continue;
        };
        written.extend(entry.part().map(|subject| Written {
            subject: subject.to_owned(),
            staged_by,
            reversible: proposal.effect == Effect::Reversible,
            known,
        }));
    }
    written
}

/// Returns what was applied after `since`, in the order in which it was, each with the message whose call asked for it.
pub(crate) fn applied(part: &Part, since: u64) -> Vec<(String, Option<NodeId>)> {
    let mut ours: Vec<(u64, Id)> =
        part.applied.iter().filter(|(_, at)| **at > since).map(|(id, at)| (*at, *id)).collect();
    ours.sort_unstable();
    let told = ours.into_iter().map(|(_, id)| {
        let call = part.queue.get(id).and_then(|entry| entry.proposal.call.as_ref());
        (id.to_string(), call.and_then(|call| call.node.parse().ok()))
    });
    told.collect()
}

/// Returns who approved everything that was applied after `since`; `None` if nothing was, or not all by one and the same.
pub(crate) fn approver(part: &Part, since: u64) -> Option<trunkline_decision_objects::Actor> {
    use trunkline_decision_objects::{Actor, ActorKind as Kind};
    let ours = part.applied.iter().filter(|(_, at)| **at > since);
    let mut by = ours.map(|(id, _)| Some(&part.queue.get(*id)?.decision.as_ref()?.by));
    let first = by.next()??;
    if by.any(|other| other != Some(first)) {
        return None;
    }
    let (kind, unnamed) = match first.kind {
        ActorKind::Person => (Kind::Human, "user"),
        ActorKind::Policy => (Kind::System, "rule"),
        ActorKind::Model => (Kind::Agent, "model"),
        _ => return None,
    };
    let name = if first.name.trim().is_empty() { unnamed } else { &first.name };
    Actor::new(kind, name).ok()
}

/// Returns the first-written state of each path that was applied after `since`, or perhaps was.
pub(crate) fn touched(part: &Part, since: u64) -> Vec<crate::words::files::Touched> {
    use trunkline_resolve_queue::SubjectState;
    let mut touched: Vec<crate::words::files::Touched> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for entry in attempted(part, since) {
        let states: HashMap<&str, &SubjectState> =
            entry.proposal.fingerprints.iter().rev().map(|one| (one.subject.as_str(), &one.state)).collect();
        // What was left out of it somebody else may have changed since.
        for written in entry.part() {
            if let (Some(before), true) = (states.get(written), !known.contains(written)) {
                known.insert(written);
                let before = match before {
                    SubjectState::Absent => None,
                    SubjectState::Digest(digest) => Some(digest.clone()),
                };
                touched.push(crate::words::files::Touched { path: written.to_owned(), before });
            }
        }
    }
    touched
}

/// Returns whether each proposal that was applied after `since`, or perhaps was, names what it writes. A call that waited
/// names nothing, and is looked at when it runs.
pub(crate) fn names_what_it_wrote(part: &Part, since: u64) -> bool {
    attempted(part, since).filter(|entry| part.gated_call(entry.id).is_none()).all(|entry| {
        let known: BTreeSet<&str> =
            entry.proposal.fingerprints.iter().map(|one| one.subject.as_str()).collect();
        let mut written = entry.part().peekable();
        // What does not show in fingerprints may be in other files.
        let shows = entry.proposal.effect.shows_in_fingerprints();
        shows && written.peek().is_some() && written.all(|written| known.contains(written))
    })
}

fn attempted(part: &Part, since: u64) -> impl Iterator<Item = &Entry<Value>> {
    let ours = move |id: &Id| part.attempted.get(id).is_some_and(|at| *at > since);
    part.queue.iter().filter(move |entry| ours(&entry.id))
}
