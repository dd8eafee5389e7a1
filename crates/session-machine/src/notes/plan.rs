//! What is recorded of plans: that one is asked for, the plan as it was proposed, and as it was approved.
//!
//! The proposed plan stands in the payload of its proposal, whose events say who decided on it, when and why. An approval has a
//! note of its own beside that event, with the text if a person has changed it. So both texts are kept.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::ProposalId;
use trunkline_session_store::{Note, Record};
use uuid::Uuid;

use crate::notes::record;
use crate::notes::resolve::LAYER;
use crate::words::call::{CallPlace, Proposal};
use crate::words::event::Event;
use crate::words::plan_text::{PlanStepText, PlanText};

/// Nothing but reading is done from here on until a person approves a plan.
pub(crate) const MODE: &str = "plan_mode";
/// A person has approved a plan.
pub(crate) const APPROVED: &str = "plan_approved";

/// What put aside an approval that no person gave, once a plan was asked for.
pub(crate) const ASKED_FOR: &str = "a plan was asked for";

/// The tool whose proposals are plans.
pub(crate) const TOOL: &str = "propose_plan";

/// A plan as it is recorded: what it says, and the names by which others speak of it and of its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanRecord {
    /// Its name, a UUID of version 7.
    pub id: Uuid,
    /// The plan that a person has changed into this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<Uuid>,
    /// What it is for.
    pub title: String,
    /// What is to be done, in order.
    pub steps: Vec<StepRecord>,
}

/// One step of a plan as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepRecord {
    /// Its name, a UUID of version 7; a step that says the same keeps it when a person changes the plan.
    pub id: Uuid,
    /// What is to be done.
    pub text: String,
    /// How one sees that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
}

/// A plan is asked for.
#[derive(Serialize, Deserialize)]
pub(crate) struct ModeNote {
    /// The run for which it is.
    pub(crate) run: String,
}

/// A person has approved a plan, which holds where the call that proposed it stands on the trunk.
#[derive(Serialize, Deserialize)]
pub(crate) struct ApprovedNote {
    pub(crate) proposal: ProposalId,
    pub(crate) call: CallPlace,
    /// The name of the approved plan.
    pub(crate) plan: Uuid,
    /// The plan as the person has changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<PlanRecord>,
}

impl PlanRecord {
    /// How many names a plan of this text needs.
    pub(crate) fn names(text: &PlanText) -> usize {
        text.steps.len() + 1
    }

    /// Returns the plan of a text under these names; `None` if they are too few.
    pub(crate) fn of_text(text: &PlanText, names: &[Uuid]) -> Option<Self> {
        let mut names = names.iter().copied();
        let id = names.next()?;
        let step = |step: &PlanStepText| {
            let PlanStepText { text, done_when } = step.clone();
            Some(StepRecord { id: names.next()?, text, done_when })
        };
        let steps: Option<Vec<StepRecord>> = text.steps.iter().map(step).collect();
        Some(PlanRecord { id, revises: None, title: text.title.clone(), steps: steps? })
    }

    /// Returns the plan that a person has changed this one into; each step that says what one said before has the name of that.
    pub(crate) fn changed_to(&self, text: &PlanText, names: &[Uuid]) -> Option<Self> {
        let mut changed = PlanRecord::of_text(text, names)?;
        changed.revises = Some(self.id);
        let mut before: Vec<&StepRecord> = self.steps.iter().collect();
        for step in &mut changed.steps {
            let same = |one: &&StepRecord| (&one.text, &one.done_when) == (&step.text, &step.done_when);
            if let Some(place) = before.iter().position(same) {
                step.id = before.remove(place).id;
            }
        }
        Some(changed)
    }

    /// Returns what it says.
    pub fn text(&self) -> PlanText {
        let mut text = PlanText::new(&self.title);
        for step in &self.steps {
            text = text.step(&step.text);
            if let Some(done) = &step.done_when {
                text = text.done_when(done);
            }
        }
        text
    }

    /// Reads the plan that a proposal holds; `None` if it holds none. What a tool has staged is none, whatever it looks like.
    pub fn of_proposal(proposal: &Proposal) -> Option<Self> {
        if proposal.source_tool != TOOL || proposal.staged_by.is_some() {
            return None;
        }
        proposal.payload.get("plan").and_then(|plan| PlanRecord::deserialize(plan).ok())
    }

    /// Returns the payload of the proposal of this plan.
    pub(crate) fn payload(&self) -> Value {
        json!({ "tool": TOOL, "plan": self })
    }
}

/// Returns whether a look at a session tells what notes of a kind say.
pub fn is_told(kind: &str) -> bool {
    [MODE, APPROVED].contains(&kind)
}

/// Returns what observers are told of a recorded note.
pub fn event(recorded: &Note) -> Option<Event> {
    ((recorded.layer.as_str(), recorded.kind.as_str()) == (LAYER, MODE)).then_some(Event::PlanAsked)
}

/// Returns the record that a plan is asked for.
pub(crate) fn asked(run: &str, at: Timestamp) -> Record {
    record::note(LAYER, MODE, at, &ModeNote { run: run.to_owned() })
}

/// Returns the record that a person has approved a plan.
pub(crate) fn approved(note: &ApprovedNote, at: Timestamp) -> Record {
    record::note(LAYER, APPROVED, at, note)
}
