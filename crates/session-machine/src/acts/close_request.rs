//! A model's request to end its run: the proposal of it, the approval, which is the result of the call in the same batch, and the end.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_decision_objects::Decision;
use trunkline_resolve_queue::{Actor, ActorKind, Effect, Entry, Event as QueueEvent, Preview, ProposalId};

use crate::acts::asked::Asked;
use crate::acts::chain::Chain;
use crate::acts::close::close_for;
use crate::acts::expire::limit_time;
use crate::acts::plan::Plan;
use crate::acts::propose::{Approved, waiting_call};
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes;
use crate::notes::close_request::{ApprovedNote, CloseRequest};
use crate::notes::resolve::{WaitsFor, note};
use crate::rules::close_requests;
use crate::rules::staged::call_ref;
use crate::setup::close_request::NAME;
use crate::words::call::{CallPlace, Proposal};
use crate::words::close_as::CloseAs;
use crate::words::error::RuntimeError;
use crate::words::files::WorkspaceFault;
use crate::words::said::Said;

/// How many signs of the words stand in the line that names a request.
const LABEL_CHARS: usize = 80;

/// Stages a request to end the run. Its call waits for the decision.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn ask_to_close(view: &View<'_>, place: &CallPlace, close: &CloseAs) -> Result<Plan, Pause> {
    let run = view.state.decision.run.as_ref().ok_or(RuntimeError::NoOpenRun)?.record.id().to_string();
    let request = CloseRequest::new(run, close.clone());
    let mut proposal = Proposal::new(label(close), NAME, request.payload());
    proposal.preview = Preview { text: preview(view, close), diff: None };
    proposal.call = Some(call_ref(place));
    // A rule has to name the tool; see `judging`.
    proposal.deciders = BTreeSet::from([ActorKind::Person, ActorKind::Policy]);
    proposal.effect = Effect::Pure;
    limit_time(&mut proposal, view.at, view.setup.expire_after);
    let event = view.state.resolve.queue.stage(proposal, view.at.0)?;
    let tie = notes::resolve::gated(place, event.proposal, WaitsFor::Close, view.at);
    Ok(Plan::of(vec![note(&event), tie]))
}

/// Names a request on one line, with the first of the model's words.
fn label(close: &CloseAs) -> String {
    let line = close.words().split_whitespace().collect::<Vec<_>>().join(" ");
    let said: String = line.chars().take(LABEL_CHARS).collect();
    let more = if said.len() < line.len() { "…" } else { "" };
    let what = match close {
        CloseAs::Checkpoint { .. } => "put the run down",
        CloseAs::Abandon { .. } => "give the run up",
        CloseAs::Retry { .. } => "try the run again",
    };
    format!("{what}: “{said}{more}”")
}

/// Says all that a person needs to decide; the model's words are quoted.
fn preview(view: &View<'_>, close: &CloseAs) -> String {
    let has_task = view.state.tasks.open_task().is_some();
    let (asks, then) = match close {
        CloseAs::Checkpoint { .. } => (
            "The model asks to put the run down. It says what to go on from:",
            "If you approve it, the run ends as a checkpoint, and the next one continues it.",
        ),
        CloseAs::Abandon { .. } if has_task => (
            "The model asks to give the run up. It says why:",
            "If you approve it, the run ends as abandoned, and its task has failed. Files stay as they are.",
        ),
        CloseAs::Abandon { .. } => (
            "The model asks to give the run up. It says why:",
            "If you approve it, the run ends as abandoned. Files stay as they are.",
        ),
        CloseAs::Retry { .. } => (
            "The model asks to try the run again. It says what to do otherwise:",
            "If you approve it, this run ends, and another one begins with these words. Files stay as they are.",
        ),
    };
    let quoted: Vec<String> = close.words().lines().map(|line| format!("> {line}")).collect();
    format!("{asks}\n{}\n{then}", quoted.join("\n"))
}

/// Completes an approval by a person that is about to be recorded.
pub(super) fn approve(
    view: &View<'_>,
    chain: &mut Chain,
    (entry, event): (&Entry<Value>, QueueEvent<Value>),
    said: &Said,
) -> Result<Approved, Pause> {
    let proposed = proposed(entry)?;
    let words = said.words.as_deref().map(str::trim);
    let words = words.filter(|words| *words != proposed.close.words());
    if let Some(fault) = words.and_then(close_requests::fault_of) {
        return Err(RuntimeError::Refused { reason: fault }.into());
    }
    chain.push(Ok(event))?;
    let by = Actor::new(ActorKind::Person, said.name.clone());
    complete(view, chain, (entry.id, proposed), (words, by), &said.reason)
}

/// Completes an approval by rules, whose decision is in the chain.
pub(super) fn approve_ruled(
    view: &View<'_>,
    chain: &mut Chain,
    entry: &Entry<Value>,
) -> Result<Approved, Pause> {
    let decision = chain.queue.get(entry.id).and_then(|entry| entry.decision.as_ref());
    let by = decision.map_or_else(|| Actor::new(ActorKind::Policy, ""), |decision| decision.by.clone());
    complete(view, chain, (entry.id, proposed(entry)?), (None, by), "")
}

fn complete(
    view: &View<'_>,
    chain: &mut Chain,
    (id, CloseRequest { run, close, .. }): (ProposalId, CloseRequest),
    (words, by): (Option<&str>, Actor),
    reason: &str,
) -> Result<Approved, Pause> {
    let state = view.state;
    let fault = close_requests::refused(state, Some(&run), &close);
    if let Some(reason) = fault.or_else(|| close_requests::unsettled(state, Some(id))) {
        return Err(RuntimeError::Refused { reason }.into());
    }
    let place = waiting_call(view, id)?;
    let close = words.map_or_else(|| close.clone(), |words| close.with_words(words));
    let text = close_requests::approved(&close, words.is_some(), by.kind, reason);
    let is_retry = matches!(close, CloseAs::Retry { .. });
    let in_a_row = is_retry.then(|| close_requests::retries_in_a_row(state).saturating_add(1));
    let (call, edited) = (place.clone(), words.is_some());
    let note = ApprovedNote { proposal: id, call, run, close, edited, by, in_a_row };
    Approved::of(view, chain, (id, place), notes::close_request::approved(&note, view.began), text)
}

/// Refuses to take an approval with other words than were approved before: the person would believe that theirs count.
pub(super) fn check_approved(
    view: &View<'_>,
    entry: &Entry<Value>,
    words: Option<&str>,
) -> Result<(), RuntimeError> {
    let proposed = proposed(entry)?;
    let approved = view.state.resolve.close_requests.edited(entry.id).unwrap_or(proposed.close.words());
    match words.map_or(proposed.close.words(), str::trim) == approved {
        true => Ok(()),
        false => Err(RuntimeError::Refused {
            reason: format!("{} was approved already, in other words", entry.id),
        }),
    }
}

fn proposed(entry: &Entry<Value>) -> Result<CloseRequest, RuntimeError> {
    let reason = || format!("what {} asks for cannot be read", entry.id);
    CloseRequest::of_proposal(&entry.proposal).ok_or_else(|| RuntimeError::Refused { reason: reason() })
}

/// Ends the open run as its model asked and as was approved. Returns the verdict, and what was found.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done. The approval stands, so that the next drive tries it again.
pub fn close_as_asked(
    view: &View<'_>,
    asked: &mut Asked<'_>,
) -> Result<Plan<(Decision, Vec<String>)>, Pause> {
    let approved = close_requests::due(view.state).ok_or(RuntimeError::NoOpenRun)?;
    close_for(view, asked, &approved.close, Some(approved)).map_err(|pause| match pause {
        Pause::Refused(RuntimeError::Workspace(WorkspaceFault { message })) => {
            let id = approved.proposal;
            let message = format!(
                "{message}; the run stays open: once that is mended, a resume ends it as {id} says, or abandon it"
            );
            RuntimeError::Workspace(WorkspaceFault { message }).into()
        }
        pause => pause,
    })
}
