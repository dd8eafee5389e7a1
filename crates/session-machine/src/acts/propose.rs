//! Plans: the demand for one, the proposal of one, and the approval, which is the result of the call in the same batch.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::Part;
use trunkline_resolve_queue::{
    ActorKind, Effect, Entry, Event as QueueEvent, Outcome, Preview, ProposalId, Step,
};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::chain::{Chain, refused};
use crate::acts::expire::limit_time;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes;
use crate::notes::plan::{ApprovedNote, PlanRecord};
use crate::notes::resolve::{WaitsFor, note};
use crate::rules::plans;
use crate::rules::staged::call_ref;
use crate::setup::plan::NAME;
use crate::words::call::{CallPlace, Proposal};
use crate::words::error::RuntimeError;
use crate::words::plan_text::PlanText;
use crate::words::said::Said;

/// Demands a plan for the open run.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn ask_for_plan(view: &View<'_>) -> Result<Plan, Pause> {
    let run = view.state.decision.run.as_ref().map(|run| run.record.id().to_string());
    Ok(Plan::of(run.into_iter().map(|run| notes::plan::asked(&run, view.at)).collect()))
}

/// Stages a plan for a person to decide on. Its call waits for that.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn propose_plan(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    place: &CallPlace,
    text: &PlanText,
) -> Result<Plan, Pause> {
    let names = asked.ids(PlanRecord::names(text))?;
    let plan = PlanRecord::of_text(text, names).ok_or_else(too_few)?;
    let mut proposal = Proposal::new(format!("plan: {}", text.title), NAME, plan.payload());
    proposal.preview = Preview { text: text.steps_text(), diff: None };
    proposal.call = Some(call_ref(place));
    // Neither the model nor any policy, whatever is set up: a plan that nobody has read is none.
    proposal.deciders = BTreeSet::from([ActorKind::Person]);
    proposal.effect = Effect::Pure;
    limit_time(&mut proposal, view.at, view.setup.expire_after);
    let event = view.state.resolve.queue.stage(proposal, view.at.0)?;
    let tie = notes::resolve::gated(place, event.proposal, WaitsFor::Plan, view.at);
    Ok(Plan::of(vec![note(&event), tie]))
}

/// What comes with an approval that is the result of its call, as that of a plan.
pub(super) struct Approved {
    /// The call that has its result with that.
    place: CallPlace,
    /// The record of the approval.
    note: Record,
    /// What the model is told.
    text: String,
}

/// Completes an approval that is about to be recorded: with it the plan counts as carried out, as far as the queue goes.
pub(super) fn approve(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    chain: &mut Chain,
    (entry, event): (&Entry<Value>, QueueEvent<Value>),
    said: &Said,
) -> Result<Approved, Pause> {
    let id = entry.id;
    let place = waiting_call(view, id)?;
    let proposed = proposed(entry)?;
    let edited = said.plan.as_ref().map(tidied).transpose()?.filter(|text| *text != proposed.text());
    let edited = match edited {
        Some(text) => {
            let names = asked.ids(PlanRecord::names(&text))?;
            Some(proposed.changed_to(&text, names).ok_or_else(too_few)?)
        }
        None => None,
    };
    chain.push(Ok(event))?;
    let text = plans::approved(edited.as_ref().map(PlanRecord::text).as_ref(), &said.reason);
    let plan = edited.as_ref().map_or(proposed.id, |edited| edited.id);
    let note = ApprovedNote { proposal: id, call: place.clone(), plan, edited };
    Approved::of(view, chain, (id, place), notes::plan::approved(&note, view.began), text)
}

/// Returns the call that waits for a decision on a proposal.
pub(super) fn waiting_call(view: &View<'_>, id: ProposalId) -> Result<CallPlace, RuntimeError> {
    let place = view.state.resolve.gated_call(id).filter(|place| {
        let waits = view.state.open_turn().is_some_and(|turn| turn.node == place.node);
        waits && !view.state.is_finished(place)
    });
    let reason = || format!("the call that proposed {id} waits no more");
    place.cloned().ok_or_else(|| RuntimeError::Refused { reason: reason() })
}

/// Refuses to take an approval of another text than was approved before for the same one: whoever gave it would believe that theirs
/// counts.
pub(super) fn check_approved(
    view: &View<'_>,
    entry: &Entry<Value>,
    text: Option<&PlanText>,
) -> Result<(), RuntimeError> {
    let proposed = proposed(entry)?.text();
    let approved = view.state.resolve.plans.edited(entry.id).map(PlanRecord::text);
    let text = text.map(tidied).transpose()?;
    match text.as_ref().unwrap_or(&proposed) == approved.as_ref().unwrap_or(&proposed) {
        true => Ok(()),
        false => {
            let reason = format!("{} was approved already, with another text", entry.id);
            Err(RuntimeError::Refused { reason })
        }
    }
}

impl Approved {
    /// Completes the approval of a proposal, whose decision is in the chain: nothing has to be done for it, so it counts as carried
    /// out.
    pub(super) fn of(
        view: &View<'_>,
        chain: &mut Chain,
        (id, place): (ProposalId, CallPlace),
        note: Record,
        text: String,
    ) -> Result<Self, Pause> {
        let at = view.began;
        let Step::Apply { attempt, event } = chain.queue.begin(id, &[], at.0).map_err(refused)? else {
            return Err(RuntimeError::Refused { reason: format!("{id} cannot be begun") }.into());
        };
        chain.push(Ok(event))?;
        chain.push(chain.queue.finish(attempt, Outcome::Applied, at.0))?;
        Ok(Approved { place, note, text })
    }

    /// Adds what comes with it to the plan of a decision.
    pub(super) fn finish<T>(self, view: &View<'_>, plan: &mut Plan<T>) {
        plan.records.push(self.note);
        let mut finished = Plan::nothing();
        finished.finish(&self.place, (vec![Part::text(self.text)], false), None, view.began);
        plan.records.extend(finished.records);
        plan.events.extend(finished.events);
    }
}

fn proposed(entry: &Entry<Value>) -> Result<PlanRecord, RuntimeError> {
    let reason = || format!("the plan of {} cannot be read", entry.id);
    PlanRecord::of_proposal(&entry.proposal).ok_or_else(|| RuntimeError::Refused { reason: reason() })
}

fn tidied(text: &PlanText) -> Result<PlanText, RuntimeError> {
    text.clone().tidied().map_err(|fault| RuntimeError::Refused { reason: fault.to_string() })
}

fn too_few() -> RuntimeError {
    RuntimeError::Refused { reason: "fewer names were given for a plan than it needs".to_owned() }
}
