//! A model's requests to end its run: which are proposed, who decides on them, and what is due once one is approved.
//!
//! A person decides, or a rule that names the tool itself. What approves edits and commands says nothing here: a model that could
//! decide on its own request would be the judge of its own work.

use serde_json::{Map, Value};
use trunkline_decision_objects::Predecessor;
use trunkline_message_tree::{Author, CallOutcome, Role, Timestamp, ToolCall};
use trunkline_resolve_queue::{ActorKind, Entry, NextDecision, State as At};

use crate::notes::close_request::{ApprovedNote, CloseRequest};
use crate::rules::staged::because;
use crate::rules::{judging, spending, waiting};
use crate::setup::Setup;
use crate::setup::close_request::NAME;
use crate::state::State;
use crate::words::call::CallPlace;
use crate::words::close_as::CloseAs;
use crate::words::error::RuntimeError;
use crate::words::work::Id;

/// The most bytes of the words of a request: as much as a verdict keeps of one.
const LONGEST: usize = 4000;

/// How many runs in a row may try again because their model asked for it, where no task says how many.
const RETRIES_IN_A_ROW: u32 = 5;

/// What is said of a call behind another one of its turn that asks for the end of the run.
pub(crate) const ONE_AT_A_TIME: &str =
    "not asked: another request of this turn comes first; a run has one end";

/// What is said of a call that did not begin because its run was ended first.
pub(crate) const CLOSED_FIRST: &str = "not run: the run was ended first, as you asked";

/// What a call that asks for the end of its run comes to.
pub(crate) enum Requested {
    /// It is put before no one; the text says why, or what was decided.
    Answer(String),
    /// It waits for a decision.
    Propose(CloseAs),
    /// It was, and waits.
    Waiting(Id),
    /// Rules decide it.
    Rule(Id),
}

/// Returns whether a call asks for the end of its run: the model has the tool, or had it when the request was made.
pub(crate) fn is_call(state: &State, setup: &Setup, place: &CallPlace, name: &str) -> bool {
    // A tool of the agent's own that is called so keeps its name.
    name == NAME
        && (setup.offers_close_requests() || request_of(state, place).is_some())
        && !setup.catalogue.has(NAME)
}

/// Returns the proposal that a call stands for, if it asked for the end of its run.
fn request_of(state: &State, place: &CallPlace) -> Option<Id> {
    let part = &state.resolve;
    part.gates.get(&(place.node, place.index)).copied().filter(|id| part.close_requests.is_request(*id))
}

/// Decides what becomes of a call that asks for the end of its run and has no result.
pub(crate) fn judge(
    state: &State,
    setup: &Setup,
    outcome: CallOutcome,
    (place, call): (&CallPlace, &ToolCall),
    at: Timestamp,
) -> Requested {
    let part = &state.resolve;
    if let Some(id) = part.gates.get(&(place.node, place.index)) {
        return match part.queue.get(*id) {
            Some(entry) => requested(state, setup, entry, at),
            None => {
                Requested::Answer(format!("not done: {id} is not known; ask again if it is still wanted"))
            }
        };
    }
    let close = match setup.catalogue.read_arguments(call, outcome).and_then(|read| close_of(&read)) {
        Ok(close) => close,
        Err(text) => return Requested::Answer(text),
    };
    match refused(state, None, &close).or_else(|| unsettled(state, None)) {
        Some(fault) => Requested::Answer(format!("not asked: {fault}")),
        None => Requested::Propose(close),
    }
}

/// Returns what becomes of a call whose request was made; one that was approved has its result with that.
fn requested(state: &State, setup: &Setup, entry: &Entry<Value>, at: Timestamp) -> Requested {
    let told = match entry.state {
        At::Proposed => return pending(state, setup, entry, at),
        At::Discarded => match &entry.decision {
            Some(decision) if decision.by.kind == ActorKind::Person => {
                format!("refused: a person does not want that{}", because(&decision.reason))
            }
            Some(decision) => format!("refused{}", because(&decision.reason)),
            None => "refused".to_owned(),
        },
        At::Expired => "not done: it was not decided in time".to_owned(),
        _ => "not done: it was put aside before it was decided".to_owned(),
    };
    Requested::Answer(format!("{told}\nThe run goes on: work on, or say in words how it stands."))
}

fn pending(state: &State, setup: &Setup, entry: &Entry<Value>, at: Timestamp) -> Requested {
    let id = entry.id;
    let Some(CloseRequest { run, close, .. }) = CloseRequest::of_proposal(&entry.proposal) else {
        return Requested::Answer(format!("not done: what {id} asks for cannot be read"));
    };
    // Its task may have got another bound since.
    if let Some(fault) = refused(state, Some(&run), &close) {
        return Requested::Answer(format!("not done: {fault}"));
    }
    let by_rule = match judging::next_decision(&setup.resolve, &state.resolve, entry, at) {
        NextDecision::Approve => unsettled(state, Some(id)).is_none(),
        NextDecision::Forbid => true,
        NextDecision::Person | NextDecision::Model | NextDecision::GiveUp => false,
    };
    if by_rule { Requested::Rule(id) } else { Requested::Waiting(id) }
}

/// Reads what is asked for.
fn close_of(arguments: &Map<String, Value>) -> Result<CloseAs, String> {
    let unread = |what: &str| Err(format!("not asked: {what}"));
    if let Some(other) = arguments.keys().find(|key| !["decision", "words"].contains(&key.as_str())) {
        let other: String = other.chars().take(60).collect();
        return unread(&format!("there is no argument {other:?}; there are decision and words"));
    }
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let Some(decision) = text("decision") else {
        return unread("`decision` is one of checkpoint, retry, abandon");
    };
    let words = text("words").map(str::trim).unwrap_or_default();
    let (wanted, close) = match decision {
        "checkpoint" => ("what to go on from", CloseAs::Checkpoint { words: words.to_owned() }),
        "retry" => ("what to do otherwise", CloseAs::Retry { reason: words.to_owned() }),
        "abandon" => ("why it is given up", CloseAs::Abandon { reason: words.to_owned() }),
        _ => return unread("`decision` is one of checkpoint, retry, abandon"),
    };
    match fault_of(words) {
        Some(_) if words.is_empty() => unread(&format!("`words` says {wanted}")),
        Some(fault) => unread(&fault),
        None => Ok(close),
    }
}

/// Says why these cannot be the words of a request.
pub(crate) fn fault_of(words: &str) -> Option<String> {
    match words.trim() {
        "" => Some("a verdict needs words, and these are blank".to_owned()),
        words if words.len() > LONGEST => {
            Some(format!("the words have {} bytes, and {LONGEST} are the most", words.len()))
        }
        _ => None,
    }
}

/// Says why a run cannot be ended so, approved or not; `run` is the one that was meant when it was asked for.
pub(crate) fn refused(state: &State, run: Option<&str>, close: &CloseAs) -> Option<String> {
    let Some(open) = &state.decision.run else { return Some(RuntimeError::NoOpenRun.to_string()) };
    if open.restoring.is_some() {
        return Some("this run puts files back, and ends by itself".to_owned());
    }
    if run.is_some_and(|run| run != open.record.id().to_string()) {
        return Some("the run that it was about is over, and another one is open".to_owned());
    }
    let CloseAs::Retry { .. } = close else { return None };
    if let Err(fault) = spending::may_try_again(state) {
        return Some(fault.to_string());
    }
    let is_bounded = spending::task_of_run(state).is_some_and(|task| task.bounds.retries.is_some());
    (!is_bounded && retries_in_a_row(state) >= RETRIES_IN_A_ROW).then(|| {
        format!(
            "the run was tried again {RETRIES_IN_A_ROW} times in a row because its model asked for it, which is as often as it \
             may be; say in words what stands in the way, or ask to abandon it"
        )
    })
}

/// Says what else has to be settled before a run is ended.
pub(crate) fn unsettled(state: &State, besides: Option<Id>) -> Option<String> {
    let besides = besides.map(|id| id.to_string());
    let mut proposals = waiting::unsettled(&state.resolve);
    proposals.retain(|id| Some(id) != besides.as_ref());
    (!proposals.is_empty()).then(|| RuntimeError::Unsettled { proposals }.to_string())
}

/// Returns how many runs that end in the open one tried again because their model asked for it.
pub(crate) fn retries_in_a_row(state: &State) -> u32 {
    let predecessor = state.decision.run.as_ref().and_then(|run| run.record.opening().predecessor);
    match (&state.resolve.close_requests.row, predecessor) {
        (Some((run, count)), Some(Predecessor::RetryOf(last))) if *run == last.to_string() => *count,
        _ => 0,
    }
}

/// Returns the approved request that the open run is to end by now: the call stands on the trunk, a person has said nothing since, and
/// nothing else is under way.
pub(crate) fn due(state: &State) -> Option<&ApprovedNote> {
    let run = state.decision.run.as_ref()?.record.id();
    let approved = approved_for(state, &run.to_string()).next_back()?;
    let since = state.tree.trunk();
    let mut since = since.ids().iter().zip(since.messages()).rev();
    let mut since = since.by_ref().take_while(|(id, _)| **id > approved.call.node);
    let is_word = since.any(|(_, message)| message.role == Role::User && message.author == Author::Person);
    (!is_word && waiting::unsettled(&state.resolve).is_empty()).then_some(approved)
}

fn approved_for<'a>(state: &'a State, run: &str) -> impl DoubleEndedIterator<Item = &'a ApprovedNote> {
    let approved = state.resolve.close_requests.approved.iter();
    approved.filter(move |one| one.run == run && state.tree.is_on_trunk(one.call.node))
}

/// Returns whether a call has asked for the end of the open run, and that was approved.
pub(crate) fn is_approved(state: &State, place: &CallPlace) -> bool {
    let Some(run) = state.decision.run.as_ref() else { return false };
    approved_for(state, &run.record.id().to_string()).any(|one| one.call == *place)
}

/// Returns what the model is told whose request was approved.
pub(crate) fn approved(close: &CloseAs, edited: bool, by: ActorKind, reason: &str) -> String {
    let by = if by == ActorKind::Person { "A person" } else { "A rule of the person you work for" };
    let then = match close {
        CloseAs::Checkpoint { .. } => "the run is put down here",
        CloseAs::Abandon { .. } => "the run is given up",
        CloseAs::Retry { .. } => "another run tries again",
    };
    let says = if reason.is_empty() { String::new() } else { format!("\nThey say: {reason}") };
    match edited {
        false => format!("{by} approved it: {then}.{says}"),
        true => {
            format!("{by} approved it in other words, which count: {then}.{says}\n\n{}", close.words())
        }
    }
}

/// Returns what a run begins with that tries again because its model asked for it.
pub(crate) fn tries_again(approved: &ApprovedNote) -> String {
    let by = match approved.by.kind {
        ActorKind::Person => "a person approved that",
        _ => "a rule of the person you work for allows that",
    };
    let whose = if approved.edited {
        "Their words on what to do otherwise"
    } else {
        "Your words on what to do otherwise"
    };
    let quoted: Vec<String> = approved.close.words().lines().map(|line| format!("> {line}")).collect();
    format!("Try again from here: you asked for it, and {by}. {whose}:\n{}", quoted.join("\n"))
}
