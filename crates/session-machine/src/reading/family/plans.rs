//! What follows for plans: each that was proposed is one, and what a person changed it into is its revision. One that is approved is
//! selected, and its steps are what its run will come to; the steps of one that is refused are skipped.
//!
//! That a step is done is said by nothing in a log: who is asked of it is a person, and what they say is that the task is done.
//!
//! A plan is for an intent, so where a run names none its plans are no objects.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use trunkline_decision_objects::{
    Actor, Choice, EventId, IntentId, Invalid, JsonText, NonBlank, Plan, PlanContent, PlanId, PlanStep,
    Selection, SelectionContent, StepEvent, StepEventContent, StepId, StepState,
};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Actor as By, ActorKind, Change, Decision, Event as QueueEvent, ProposalId};
use trunkline_session_store::Note;
use uuid::Uuid;

use super::made::{Made, harness, header, name, not_before, person};
use super::runs::OpenRun;
use crate::notes::plan::{APPROVED, ApprovedNote, PlanRecord, TOOL};
use crate::notes::record::read;
use crate::notes::resolve::EVENT;

/// The plans so far that were proposed, by their proposals.
#[derive(Default)]
pub(super) struct Plans {
    proposed: HashMap<ProposalId, PlanRecord>,
    /// Those that are objects.
    known: HashSet<Uuid>,
}

impl Plans {
    pub(super) fn note(&mut self, made: &mut Made, run: Option<&OpenRun>, note: &Note) {
        let Some((run, intent)) = run.and_then(|run| Some((run, run.intent?))) else { return };
        match note.kind.as_str() {
            // Most proposals are none: they are not read a second time.
            EVENT if note.body.contains(TOOL) => {
                let Ok(QueueEvent { proposal, change: Change::Staged(staged), .. }) =
                    read::<QueueEvent<Value>>(note)
                else {
                    return;
                };
                let Some(said) = PlanRecord::of_proposal(&staged) else { return };
                self.say(made, (run, intent), &said, (note.at, &staged.proposed_by));
                self.proposed.insert(proposal, said);
            }
            APPROVED => {
                let Ok(ApprovedNote { proposal, edited, .. }) = read(note) else { return };
                let by = By::new(ActorKind::Person, "");
                if let Some(edited) = &edited {
                    self.say(made, (run, intent), edited, (note.at, &by));
                }
                let said = edited.as_ref().or_else(|| self.proposed.get(&proposal));
                if let Some(said) = said.filter(|said| self.known.contains(&said.id)) {
                    made.push(selected(made.seq, (run, intent), said.id, note.at));
                    for (step, place) in said.steps.iter().zip(0..) {
                        let pending = (StepState::Pending, None);
                        made.push(step_event(
                            made.seq,
                            run,
                            (said.id, step.id, place),
                            pending,
                            (note.at, harness()),
                        ));
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes in that a proposal was refused, or that its time has passed.
    pub(super) fn refused(
        &mut self,
        made: &mut Made,
        run: Option<&OpenRun>,
        (id, refusal): (ProposalId, Option<&Decision>),
        at: Timestamp,
    ) {
        let (Some(run), Some(said)) = (run, self.proposed.get(&id)) else { return };
        if !self.known.contains(&said.id) {
            return;
        }
        let why = match refusal.map(|refusal| refusal.reason.trim()) {
            Some("") => "the plan was refused".to_owned(),
            Some(reason) => format!("the plan was refused: {reason}"),
            None => "the plan was not approved in time".to_owned(),
        };
        let by_person = refusal.is_some_and(|refusal| refusal.by.kind == ActorKind::Person);
        for (step, place) in said.steps.iter().zip(0..) {
            let skipped = (StepState::Skipped, NonBlank::new(why.as_str()).ok());
            let by = if by_person { person() } else { harness() };
            made.push(step_event(made.seq, run, (said.id, step.id, place), skipped, (at, by)));
        }
    }

    fn say(
        &mut self,
        made: &mut Made,
        (run, intent): (&OpenRun, IntentId),
        said: &PlanRecord,
        (at, by): (Timestamp, &By),
    ) {
        let plan = plan_of(said, &self.known, intent).and_then(|content| {
            let by = match by.kind {
                ActorKind::Model => run.model.clone().map_or_else(harness, Ok)?,
                _ => person()?,
            };
            Plan::new(header(PlanId::new(said.id), not_before(run.at, at), by)?, content)
        });
        if plan.is_ok() && self.known.insert(said.id) {
            made.push(plan);
        }
    }
}

fn plan_of(said: &PlanRecord, known: &HashSet<Uuid>, intent: IntentId) -> Result<PlanContent, Invalid> {
    let mut content = PlanContent::new(intent);
    // A revision of what is no object here would name nothing.
    if let Some(revised) = said.revises.filter(|revised| known.contains(revised)) {
        content.parents.push(PlanId::new(revised)?);
    }
    for step in &said.steps {
        let checks =
            step.done_when.as_ref().map(|text| JsonText::new(Value::from(text.as_str()).to_string()));
        content.steps.push(PlanStep {
            id: StepId::new(step.id)?,
            description: NonBlank::new(step.text.as_str())?,
            inputs: None,
            checks: checks.transpose()?,
        });
    }
    Ok(content)
}

/// Says that a person has chosen a plan, as they do by approving it.
fn selected(
    seq: u64,
    (run, intent): (&OpenRun, IntentId),
    plan: Uuid,
    at: Timestamp,
) -> Result<Selection, Invalid> {
    let choice = Choice::Plan { intent, plan: PlanId::new(plan)? };
    let id = EventId::new(name("selection", plan, seq, 0));
    Selection::new(header(id, not_before(run.at, at), person()?)?, SelectionContent { choice, reason: None })
}

/// Says what is to become of a step of a plan in the run, and why.
fn step_event(
    seq: u64,
    run: &OpenRun,
    (plan, step, place): (Uuid, Uuid, u32),
    (state, reason): (StepState, Option<NonBlank>),
    (at, by): (Timestamp, Result<Actor, Invalid>),
) -> Result<StepEvent, Invalid> {
    let content = StepEventContent {
        plan: PlanId::new(plan)?,
        step: StepId::new(step)?,
        run: run.id,
        state,
        reason,
        consumed: Vec::new(),
        produced: Vec::new(),
        spawned_task: None,
        outputs: None,
    };
    let id = EventId::new(name("step_event", plan, seq, place));
    StepEvent::new(header(id, not_before(run.at, at), by?)?, content)
}
