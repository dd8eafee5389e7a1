//! What is recorded of staged actions and of rules: events, calls that wait for a decision, and words that wait for a place.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline_message_tree::{Part, Timestamp};
use trunkline_resolve_queue::{
    Attempt, Event as QueueEvent, ProposalId, QueueError, RuleError, RuleEvent, State as At,
};
use trunkline_session_store::{InboxId, Note, Record};

use crate::notes::record;
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;
use crate::words::event::Event;

/// The layer of the notes in this module.
pub const LAYER: &str = "resolve";
pub(crate) const EVENT: &str = "event";
/// The state of proposals that wait for a decision.
pub(crate) const PENDING: &str = "pending";
pub(crate) const GATED: &str = "gated";
pub(crate) const DISTRUSTED: &str = "distrusted";
pub(crate) const STANDING: &str = "standing";
pub(crate) const UNTOLD: &str = "untold";
pub(crate) const TOLD: &str = "told";
pub(crate) const RULE: &str = "rule";
pub(crate) const DISCARD_HOOK: &str = "discard_hook";

/// What put aside what an import brought along.
pub(crate) const IMPORT: &str = "an import";

/// An attempt was under way when its session was taken over from somebody who may be alive.
#[derive(Serialize, Deserialize)]
pub(crate) struct StandingNote {
    pub(crate) proposal: ProposalId,
    pub(crate) attempt: u32,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct GatedNote {
    pub(crate) call: CallPlace,
    pub(crate) proposal: ProposalId,
    /// Whether the call proposes a plan. Said here and not by the proposal, which a tool could have made look like one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) plan: bool,
    /// Likewise, whether it asks for the end of its run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) close: bool,
}

/// What a call waits for that stands for a proposal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// That it may run.
    Permission,
    /// A decision on the plan that it proposes.
    Plan,
    /// A decision on the end of its run.
    Close,
}

/// Words for the model that came while its turn was open.
#[derive(Serialize, Deserialize)]
pub(crate) struct UntoldNote {
    pub(crate) text: String,
    /// What is shown with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
}

/// Returns whether a look at a session tells what notes of a kind say; the others are for the writer.
pub fn is_told(kind: &str) -> bool {
    [EVENT, GATED, RULE, DISTRUSTED, DISCARD_HOOK].contains(&kind)
}

/// Returns how a state is called in the key of a note.
pub(crate) fn word(state: At) -> String {
    match state {
        At::Proposed => PENDING.to_owned(),
        other => other.to_string(),
    }
}

/// Returns the record of what happened to a proposal.
pub(crate) fn note(event: &QueueEvent<Value>) -> Record {
    record::note(LAYER, EVENT, Timestamp(event.at), event)
}

/// Returns the record of what happened to a rule.
pub(crate) fn rule(event: &RuleEvent) -> Record {
    record::note(LAYER, RULE, Timestamp(event.at), event)
}

/// Returns the record that ties a call to the proposal that stands for it.
pub(crate) fn gated(call: &CallPlace, proposal: ProposalId, waits: WaitsFor, at: Timestamp) -> Record {
    let (plan, close) = (waits == WaitsFor::Plan, waits == WaitsFor::Close);
    record::note(LAYER, GATED, at, &GatedNote { call: call.clone(), proposal, plan, close })
}

/// Returns the record that an attempt was under way when the session was taken over from its holder.
pub fn standing(attempt: Attempt, at: Timestamp) -> Record {
    let note = StandingNote { proposal: attempt.proposal, attempt: attempt.number };
    record::note(LAYER, STANDING, at, &note)
}

/// Returns the record after which nothing that was staged before it comes back.
pub(crate) fn distrusted(letter: InboxId, at: Timestamp) -> Record {
    record::note(LAYER, DISTRUSTED, at, &json!({ "letter": letter.0 }))
}

/// Returns the record of words that are told when the turn is over, and of what is shown with them.
pub(crate) fn untold_with(text: &str, parts: Vec<Part>, at: Timestamp) -> Record {
    record::note(LAYER, UNTOLD, at, &UntoldNote { text: text.to_owned(), parts })
}

/// Returns the record after which nothing is untold; it travels with the words.
pub(crate) fn told(at: Timestamp) -> Record {
    record::note(LAYER, TOLD, at, &json!({}))
}

/// Returns what observers are told of a recorded note.
pub fn event(recorded: &Note) -> Option<Event> {
    match (recorded.layer.as_str(), recorded.kind.as_str()) {
        (LAYER, EVENT) => serde_json::from_str(&recorded.body).ok().map(Event::Proposal),
        (LAYER, RULE) => serde_json::from_str(&recorded.body).ok().map(Event::Rule),
        _ => None,
    }
}

/// Says that an event does not fit the proposals before it.
pub(crate) fn unfit_event(source: &QueueError) -> RuntimeError {
    unfit(EVENT, source)
}

/// Says that an event does not fit the rules before it.
pub(crate) fn unfit_rule(source: &RuleError) -> RuntimeError {
    unfit(RULE, source)
}

fn unfit(kind: &str, fault: impl ToString) -> RuntimeError {
    RuntimeError::BadNote { layer: LAYER.to_owned(), kind: kind.to_owned(), fault: fault.to_string() }
}
