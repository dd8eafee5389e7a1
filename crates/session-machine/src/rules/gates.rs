//! Calls that need a decision before they may run: such a call is a proposal, and stays open until somebody has decided.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    ActorKind, Approval, Effect, Entry, Event as QueueEvent, NextDecision, Preview, QueueError, RuleVerdict,
    State as At, Supersession,
};
use trunkline_session_store::Record;

use crate::notes;
use crate::notes::record;
use crate::notes::resolve::{WaitsFor, note};
use crate::rules::guarded;
use crate::rules::judging::{judge_call, next_decision};
use crate::rules::staged::{because, call_ref};
use crate::setup::resolve::Setting;
use crate::state::resolve::Part;
use crate::words::call::{Access, CallPlace, Gate, Proposal};
use crate::words::runnable::Asked;
use crate::words::work::Id;

/// Whether a call may run.
pub(crate) enum Gated {
    /// It may; the id is that of the proposal that was approved for it.
    Free(Option<Id>),
    /// Somebody has to be asked first.
    Ask(Box<Asked>),
    /// Somebody was asked.
    Waiting(Id),
    /// Somebody was asked, and by now it is decided without them: by the rules, or by another policy.
    Approve(Id),
    /// It may not; the text says why.
    Refused(String),
}

/// Decides whether a call may run, from what the rules and the policy say and what was decided. The tool is named with what it
/// does and what it says has to be approved.
pub(crate) fn gate(
    setting: &Setting,
    part: &Part,
    tool: (&str, Access, Option<&Gate>),
    arguments: &Map<String, Value>,
    place: &CallPlace,
    at: Timestamp,
) -> Gated {
    let Some(id) = part.gates.get(&(place.node, place.index)) else {
        return gate_new(setting, part, tool, arguments, at);
    };
    let Some(entry) = part.queue.get(*id) else {
        return Gated::Refused(format!("not run: {id} is not known"));
    };
    match entry.state {
        At::Proposed => match next_decision(setting, part, entry, at) {
            NextDecision::Approve | NextDecision::Forbid => Gated::Approve(*id),
            NextDecision::Person | NextDecision::Model | NextDecision::GiveUp => Gated::Waiting(*id),
        },
        // What a tool means by a call may be another thing by now, as when a project has declared it again.
        At::Approved if is_another(approved_command(entry), tool.2) => Gated::Refused(
            "not run: what it would run is not what was approved any more; call it again, so that this is decided on"
                .to_owned(),
        ),
        At::Approved => Gated::Free(Some(*id)),
        At::Discarded => {
            let (by, reason) = match &entry.decision {
                // Its reason names the rules.
                Some(decision) if decision.by.kind == ActorKind::Policy => {
                    return Gated::Refused(format!("not run: {}", decision.reason));
                }
                // Its kind alone: what a person is called is for the log, and a replay has to send the same.
                Some(decision) => (decision.by.kind.to_string(), decision.reason.clone()),
                None => ("somebody".to_owned(), String::new()),
            };
            Gated::Refused(format!("not run: the {by} declined it{}", because(&reason)))
        }
        At::Expired => Gated::Refused("not run: nobody decided on it in time".to_owned()),
        At::Superseded | At::Stale => {
            Gated::Refused("not run: it was put aside before it was decided".to_owned())
        }
        _ => Gated::Refused(
            "outcome unknown: the program ended while this ran; look before you repeat it".to_owned(),
        ),
    }
}

/// Returns whether it counts what a call's tool says has to be approved: it was not asked about yet, and may have to be; or a command
/// was approved, and has to be the one that runs.
pub(crate) fn asks_the_tool(
    setting: &Setting,
    part: &Part,
    (access, arguments): (Access, &Map<String, Value>),
    place: &CallPlace,
    at: Timestamp,
) -> bool {
    let id = part.gates.get(&(place.node, place.index));
    let is_new = id.is_none();
    let approved = id.and_then(|id| part.queue.get(*id)).filter(|entry| entry.state == At::Approved);
    if approved.and_then(approved_command).is_some() {
        return true;
    }
    let may_matter = || {
        setting.approval == Approval::Person || rules_count(part, at) || guarded::is_named(access, arguments)
    };
    is_new && may_matter()
}

/// Returns the command that was shown to who approved a call. Calls of earlier versions have none.
fn approved_command(entry: &Entry<Value>) -> Option<&str> {
    entry.proposal.payload.get("command").and_then(Value::as_str)
}

/// Whether a tool says by now that it runs another command than this one.
fn is_another(approved: Option<&str>, gate: Option<&Gate>) -> bool {
    let now = gate.and_then(|gate| gate.command.as_deref());
    approved.zip(now).is_some_and(|(approved, now)| approved != now)
}

fn rules_count(part: &Part, at: Timestamp) -> bool {
    part.rules.iter().any(|standing| standing.counts(at.0))
}

/// Decides whether a call that nobody was asked about may run.
fn gate_new(
    setting: &Setting,
    part: &Part,
    (name, access, gate): (&str, Access, Option<&Gate>),
    arguments: &Map<String, Value>,
    at: Timestamp,
) -> Gated {
    let guarded = guarded::is_named(access, arguments);
    if setting.approval != Approval::Person && !guarded && !rules_count(part, at) {
        return Gated::Free(None);
    }
    let asked = |gate| Box::new(Asked { tool: name.to_owned(), arguments: arguments.clone(), gate });
    let Some(gate) = gate else {
        // What needs no decision is not asked about, but what is forbidden is forbidden, and what is guarded is guarded.
        let effect = match access {
            Access::ReadOnly => Effect::Pure,
            // What it proposes is judged when it is staged.
            Access::Proposes => return Gated::Free(None),
            Access::Exclusive => Effect::Irreversible,
        };
        let preview = if guarded { record::json(arguments) } else { String::new() };
        let mut gate = Gate::new(format!("call {name}"), preview);
        gate.effect = effect;
        let asked = asked(gate);
        let forbidden = judge_call(&part.rules, &asked, at).verdict == RuleVerdict::Deny;
        return if guarded || forbidden { Gated::Ask(asked) } else { Gated::Free(None) };
    };
    let asked = asked(gate.clone());
    let judged = judge_call(&part.rules, &asked, at);
    let is_free = match gate.runs_unasked {
        true => judged.verdict != RuleVerdict::Deny,
        false => judged.rules.is_empty() && setting.approval != Approval::Person,
    };
    if is_free && !guarded { Gated::Free(None) } else { Gated::Ask(asked) }
}

/// Returns the proposal for a call that needs a decision, and the note that ties the two together.
pub(crate) fn stage_gate(
    part: &Part,
    asked: &Asked,
    place: &CallPlace,
    at: Timestamp,
) -> Result<(QueueEvent<Value>, Record), QueueError> {
    let mut payload = json!({ "tool": asked.tool, "arguments": asked.arguments });
    if let Some(command) = &asked.gate.command {
        payload["command"] = json!(command);
    }
    let mut proposal = Proposal::new(asked.gate.label.clone(), asked.tool.clone(), payload);
    proposal.preview = Preview { text: asked.gate.preview.clone(), diff: None };
    proposal.call = Some(call_ref(place));
    proposal.deciders = BTreeSet::from([ActorKind::Person]);
    if !guarded::is_named(Access::Exclusive, &asked.arguments) {
        proposal.deciders.insert(ActorKind::Policy);
    }
    proposal.effect = asked.gate.effect;
    let event = part.queue.stage(proposal, at.0)?;
    let note = notes::resolve::gated(place, event.proposal, WaitsFor::Permission, at);
    Ok((event, note))
}

/// Puts aside what waits for a decision on a call that is answered without having run.
pub(crate) fn drop_gate(part: &Part, place: &CallPlace, at: Timestamp) -> Option<Record> {
    let id = part.gates.get(&(place.node, place.index))?;
    let cause = Supersession::BranchLeft { by: "an answer that did not wait".to_owned() };
    // What was decided against is settled already.
    part.queue.supersede(*id, cause, at.0).ok().map(|event| note(&event))
}
