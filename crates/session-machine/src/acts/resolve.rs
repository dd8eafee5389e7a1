//! A call of the `resolve` tool: what it means, and what is done for it.
//!
//! What it means is recorded with the decision, before anything is done. So a call that is carried on after a kill, or that
//! comes twice, never resolves another proposal.

use trunkline_message_tree::Part;
use trunkline_resolve_queue::resolve_tool::{Action, Resolution};
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, NOTHING_TO_DISCARD, ProposalId, QueueError, ResolutionDetails, Ruling,
    State as At, Target, Verdict, discard_text,
};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::decide::ruled;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::stage::stage;
use crate::acts::view::View;
use crate::acts::{calls, look};
use crate::notes::choice;
use crate::notes::resolve::note;
use crate::rules::staged::because;
use crate::rules::{choices, hooks, plans};
use crate::setup::catalogue::can_be_handed;
use crate::words::call::{CallPlace, ToolOutput};
use crate::words::error::RuntimeError;

/// What the model is told of a resolution that was cut off.
pub const OUTCOME_UNKNOWN: &str =
    "outcome unknown: this approval was cut off before its outcome was recorded; look before you repeat it";

/// What follows from a call.
pub enum Next {
    /// It has its result.
    Done,
    /// What it means is recorded, and has to be done.
    CarryOn(ProposalId),
    /// A handler of the application answers.
    Standing(Resolution),
}

/// Records what a call means that was begun in a process that is gone; `None` if none was.
pub fn take_up(view: &View<'_>, place: &CallPlace) -> Option<Plan<Next>> {
    let meant = view.state.resolve.choices.meant(place).cloned()?;
    Some(match meant.proposal {
        Some(id) => Plan::nothing().then(Next::CarryOn(id)),
        None => {
            let mut plan = Plan::nothing();
            plan.finish(place, words(OUTCOME_UNKNOWN, true), Some(meant), view.at);
            plan.then(Next::Done)
        }
    })
}

/// Records what a call means.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn resolve(view: &View<'_>, place: &CallPlace, asked: &Resolution) -> Result<Plan<Next>, Pause> {
    let part = &view.state.resolve;
    let in_flight = part.choices.held(place).filter(|id| choices::may_wait(part, *id));
    let standing = view.setup.choices.standing.as_ref();
    let target = match in_flight.filter(|_| asked.id.is_none()) {
        Some(id) => Ok(Target::Proposal(id)),
        None => part.queue.target(asked, ActorKind::Model, None, standing),
    };
    match target {
        Ok(Target::Proposal(id)) => resolve_proposal(view, id, place, asked),
        // What the application does for it is not known to only read.
        Ok(Target::Standing(_)) if part.plans.is_on() => Ok(answer(view, place, plans::not_decided())),
        Ok(Target::Standing(_)) => Ok(Plan::nothing().then(Next::Standing(asked.clone()))),
        Ok(Target::Nothing) => {
            let mut plan = Plan::nothing();
            plan.finish(place, words(NOTHING_TO_DISCARD, false), None, view.at);
            Ok(plan.then(Next::Done))
        }
        Err(fault) => Ok(answer(view, place, fault.to_string())),
    }
}

fn resolve_proposal(
    view: &View<'_>,
    id: ProposalId,
    place: &CallPlace,
    asked: &Resolution,
) -> Result<Plan<Next>, Pause> {
    let Some(entry) = view.state.resolve.queue.get(id) else {
        return Ok(answer(view, place, format!("there is no {id}")));
    };
    if let Err(why) = can_be_handed(asked.extra.as_ref()) {
        return Ok(answer(view, place, format!("not done: {why}")));
    }
    if view.state.resolve.plans.is_on() && asked.action == Action::Apply {
        return Ok(answer(view, place, plans::not_decided()));
    }
    let details = ResolutionDetails::of(asked, entry);
    // What was approved by somebody else is done with what they handed over, and nothing else.
    let mut unhanded = details.clone();
    unhanded.extra = None;
    let model = Actor::new(ActorKind::Model, "");
    let carry_on = |mut records: Vec<Record>, details| {
        records.push(choice::resolving(place, details, view.at));
        Ok(Plan::of(records).then(Next::CarryOn(id)))
    };
    match view.state.resolve.queue.decide_with(id, Ruling::of(asked.clone(), model), view.at.0) {
        // Approved in part by somebody else: that is done, and its words say what was left out.
        Err(QueueError::DecidedOtherwise { first, .. })
            if entry.state == At::Approved
                && (first.verdict, details.action) == (Verdict::Approve, Action::Apply) =>
        {
            carry_on(Vec::new(), unhanded)
        }
        Err(fault) => Ok(answer(view, place, fault.to_string())),
        // What it may have been allowed when that was staged, a rule may have taken from it since.
        Ok(Answer::New(event)) => match (details.action, ruled(view, id, event.clone())) {
            (Action::Discard, _) => carry_on(vec![note(&event)], details),
            (Action::Apply, Ok(records)) => carry_on(records, details),
            (Action::Apply, Err(fault)) => Ok(answer(view, place, fault.to_string())),
        },
        // Approved by somebody else while this turn was open.
        Ok(Answer::Already(_)) if entry.state == At::Approved => carry_on(Vec::new(), unhanded),
        Ok(Answer::Already(_)) => {
            let mut plan = Plan::nothing();
            plan.finish(place, standing_of(view, id, None), Some(details), view.at);
            Ok(plan.then(Next::Done))
        }
    }
}

/// What has to be done first for a call that was decided.
pub enum Carried {
    /// Nothing: it has its result.
    Done,
    /// What it has approved is applied.
    Apply,
    /// The tool of what it has discarded is told.
    CallHook,
}

/// Records the result of what a call was decided to mean. Returns what has to be done first. In a drive that was `cancelled` no hook is
/// called for it: the next one does that.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn carry_on(
    view: &View<'_>,
    id: ProposalId,
    place: &CallPlace,
    cancelled: bool,
) -> Result<Plan<Carried>, Pause> {
    let entry = view.state.resolve.queue.get(id);
    let meant = view.state.resolve.choices.meant(place).cloned();
    let mut plan = Plan::nothing();
    match (entry, meant) {
        (Some(entry), _) if entry.state == At::Approved => return Ok(plan.then(Carried::Apply)),
        (Some(entry), Some(meant)) if entry.state == At::Discarded && meant.action == Action::Discard => {
            if !cancelled && hooks::can_be_called(view.state, view.setup, id) {
                return Ok(plan.then(Carried::CallHook));
            }
            let told = discard_text(&entry.proposal.label, &meant.reason);
            plan.finish(place, words(told, false), Some(meant), view.at);
        }
        (_, meant) => {
            let told = standing_of(view, id, meant.as_ref().map(|meant| meant.action));
            plan.finish(place, told, meant, view.at);
        }
    }
    Ok(plan.then(Carried::Done))
}

/// Answers a call that means nothing.
pub fn answer(view: &View<'_>, place: &CallPlace, text: String) -> Plan<Next> {
    calls::answer(view, vec![(place.clone(), text)]).then(Next::Done)
}

/// Says where a proposal stands that nothing is left to do for, to a call that wanted `action`.
fn standing_of(view: &View<'_>, id: ProposalId, action: Option<Action>) -> (Vec<Part>, bool) {
    let Some(entry) = view.state.resolve.queue.get(id) else {
        return words(format!("there is no {id}"), true);
    };
    if action == Some(Action::Apply) && entry.state != At::Applied {
        let why = entry.decision.as_ref().map(|decision| decision.reason.as_str()).unwrap_or_default();
        let told = format!("{id} is {} and not applied{}", entry.state, because(why));
        return words(format!("{told}; look at the files before you go on"), true);
    }
    let settled = matches!(entry.state, At::Applied | At::Discarded);
    words(format!("{id} is {}: {}", entry.state, entry.proposal.label), !settled)
}

fn words(text: impl Into<String>, is_error: bool) -> (Vec<Part>, bool) {
    (vec![Part::text(text)], is_error)
}

/// Records that a handler of the application is about to answer a call; it may write files. What follows is what is recorded beside the
/// answer, or nothing if the call has its result: the model may not decide there.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin_standing(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    place: &CallPlace,
    resolution: &Resolution,
) -> Result<Plan<Option<ResolutionDetails>>, Pause> {
    let Some(handler) = view.setup.choices.standing.as_ref() else { return Ok(Plan::nothing().then(None)) };
    if !handler.permits(resolution.action, &Actor::new(ActorKind::Model, "")) {
        let may: Vec<String> = handler.deciders.iter().map(ToString::to_string).collect();
        let text = format!("model may not approve {:?}; may: {}", handler.label, may.join(", "));
        let plan = answer(view, place, text);
        return Ok(Plan { records: plan.records, events: plan.events, then: None });
    }
    let details = ResolutionDetails::of_standing(resolution, handler);
    let (looked, event) = look::before(view, asked)?;
    let meant = choice::resolving(place, details.clone(), view.began);
    let records = std::iter::once(meant).chain(looked).collect();
    Ok(Plan { records, events: event.into_iter().collect(), then: Some(details) })
}

/// Records what the handler answered.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub fn end_standing(
    view: &View<'_>,
    place: &CallPlace,
    details: ResolutionDetails,
    output: ToolOutput,
) -> Result<Plan, RuntimeError> {
    let ToolOutput { mut content, is_error, proposals, .. } = output;
    let (records, told) = stage(view, proposals, place)?;
    content.extend(told.map(Part::text));
    let mut plan = Plan::of(records);
    plan.finish(place, (content, is_error), Some(details), view.at);
    Ok(plan)
}
