//! How an intent shall be reached, step by step.
//!
//! Steps keep their names from one revision of a plan to the next, so that what happened to a step is not lost when the
//! plan around it changes.

use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::sealed::{Faults, sealed};
use crate::{FrameId, IntentId, JsonText, NonBlank, PlanId, StepId};

/// One step of a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// Its name, the same in every revision.
    pub id: StepId,
    /// What is to be done.
    pub description: NonBlank,
    /// What it starts from.
    pub inputs: Option<JsonText>,
    /// How one sees that it is done.
    pub checks: Option<JsonText>,
}

/// What a [`Plan`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanContent {
    /// What the plan is for.
    pub intent: IntentId,
    /// The plans that it revises; none twice, not itself, and all of the same intent (which a set of objects shows).
    pub parents: Vec<PlanId>,
    /// What was known when it was made; none twice.
    pub frames: Vec<FrameId>,
    /// What is to be done, in order; no step twice.
    pub steps: Vec<PlanStep>,
}

sealed! {
    /// One revision of a plan, sealed.
    Plan(PlanId, PlanContent) is "plan";
    /// Seals a plan.
    ///
    /// # Errors
    ///
    /// [`Invalid::Twice`](crate::Invalid::Twice) and [`Invalid::OfItself`](crate::Invalid::OfItself).
    new
}

impl PlanContent {
    /// Says what the plan is for, without steps; the other fields are there to be filled.
    #[must_use]
    pub const fn new(intent: IntentId) -> Self {
        Self { intent, parents: Vec::new(), frames: Vec::new(), steps: Vec::new() }
    }

    fn faults(&self, id: PlanId) -> Faults {
        let mut faults = Faults::default();
        faults.not_itself(&["id", "parents"], "parent", self.parents.iter().copied(), id);
        faults.unique(&["parents"], "parent", &self.parents);
        faults.unique(&["frames"], "frame", &self.frames);
        let steps: Vec<StepId> = self.steps.iter().map(|step| step.id).collect();
        faults.unique(&["steps"], "step", &steps);
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("intent", &self.intent)
            .ids("parents", &self.parents)
            .ids("frames", &self.frames)
            .list("steps", self.steps.iter().map(|step| step.print().finish()))
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            intent: fields.required("intent", read::canonical)?,
            parents: fields.required("parents", |raw| read::distinct_list(raw, "parent"))?,
            frames: fields.required("frames", |raw| read::distinct_list(raw, "frame"))?,
            steps: fields.required("steps", |raw| read::list(raw, PlanStep::read))?,
        })
    }
}

impl PlanStep {
    fn print(&self) -> Object {
        Object::new()
            .show("id", &self.id)
            .text("description", self.description.as_str())
            .maybe_text("inputs", self.inputs.as_ref().map(JsonText::as_str))
            .maybe_text("checks", self.checks.as_ref().map(JsonText::as_str))
    }

    fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let step = Self {
            id: fields.required("id", read::canonical)?,
            description: fields.required("description", read::canonical)?,
            inputs: fields.optional("inputs", read::canonical)?,
            checks: fields.optional("checks", read::canonical)?,
        };
        fields.close()?;
        Ok(step)
    }
}
