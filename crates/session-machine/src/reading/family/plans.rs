//! What follows for plans: each that was proposed is one, what a person changed it into is its revision, and when one is approved its
//! steps are what its run will come to.
//!
//! A plan is for an intent, so where a run names none its plans are no objects.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use trunkline_decision_objects::{
    EventId, IntentId, Invalid, JsonText, NonBlank, Plan, PlanContent, PlanId, PlanStep, StepEvent,
    StepEventContent, StepId, StepState,
};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Actor as By, ActorKind, Change, Event as QueueEvent, ProposalId};
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
                    said.steps.iter().zip(0..).for_each(|(step, place)| {
                        made.push(pending(made.seq, run, (said.id, step.id, place), note.at));
                    });
                }
            }
            _ => {}
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

/// Says that the run will come to a step of a plan that was approved.
fn pending(
    seq: u64,
    run: &OpenRun,
    (plan, step, place): (Uuid, Uuid, u32),
    at: Timestamp,
) -> Result<StepEvent, Invalid> {
    let content = StepEventContent {
        plan: PlanId::new(plan)?,
        step: StepId::new(step)?,
        run: run.id,
        state: StepState::Pending,
        reason: None,
        consumed: Vec::new(),
        produced: Vec::new(),
        spawned_task: None,
        outputs: None,
    };
    let id = EventId::new(name("step_event", plan, seq, place));
    StepEvent::new(header(id, not_before(run.at, at), harness()?)?, content)
}
