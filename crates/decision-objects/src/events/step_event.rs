//! What became of a step of a plan, in one run.

use super::states::moves;
use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::closed_vocabulary;
use crate::{EventId, FrameId, NonBlank, PlanId, RunId, StepId, TaskId};

closed_vocabulary! {
    /// How a step stands in a run.
    StepState, "pending, progressing, completed, failed or skipped",
    "a new state must be given its place in the table" {
        /// The run will come to it.
        Pending = "pending",
        /// The run is at it.
        Progressing = "progressing",
        /// It is done.
        Completed = "completed",
        /// It could not be done.
        Failed = "failed",
        /// It was not wanted after all.
        Skipped = "skipped",
    }
}

// Of a step that failed, another run begins anew: the table is for one step of one plan in one run.
moves! {
    StepState, first [Pending, Progressing, Skipped],
    Pending -> [Progressing, Skipped],
    Progressing -> [Progressing, Completed, Failed, Skipped],
    Completed -> [],
    Failed -> [],
    Skipped -> [],
}

/// What a [`StepEvent`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEventContent {
    /// The plan.
    pub plan: PlanId,
    /// Its step.
    pub step: StepId,
    /// The run that works on it.
    pub run: RunId,
    /// How the step stands from then on.
    pub state: StepState,
    /// Why.
    pub reason: Option<NonBlank>,
    /// The context that it used, in its order; no frame twice.
    pub consumed: Vec<FrameId>,
    /// The context that it made, in its order; no frame twice.
    pub produced: Vec<FrameId>,
    /// The task that it gave to somebody.
    pub spawned_task: Option<TaskId>,
    /// What came out of it, as text in a form of the caller's own.
    pub outputs: Option<String>,
}

sealed! {
    /// Something that happened to a step of a plan, sealed.
    StepEvent(EventId, StepEventContent) is "step_event";
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::Twice`](crate::Invalid::Twice) if a frame is consumed twice, or produced twice.
    new
}

impl StepEventContent {
    fn faults(&self, _id: EventId) -> Faults {
        let mut faults = Faults::default();
        faults.unique(&["consumed"], "consumed frame", &self.consumed);
        faults.unique(&["produced"], "produced frame", &self.produced);
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("plan", &self.plan)
            .show("step", &self.step)
            .show("run", &self.run)
            .text("state", self.state.as_str())
            .maybe_text("reason", self.reason.as_ref().map(NonBlank::as_str))
            .ids("consumed", &self.consumed)
            .ids("produced", &self.produced)
            .maybe_show("spawned_task", self.spawned_task.as_ref())
            .maybe_text("outputs", self.outputs.as_deref())
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            plan: fields.required("plan", read::canonical)?,
            step: fields.required("step", read::canonical)?,
            run: fields.required("run", read::canonical)?,
            state: fields
                .required("state", |raw| read::word(raw, StepState::EXPECTED, StepState::of_word))?,
            reason: fields.optional("reason", read::canonical)?,
            consumed: fields.required("consumed", read::canonical_list)?,
            produced: fields.required("produced", read::canonical_list)?,
            spawned_task: fields.optional("spawned_task", read::canonical)?,
            outputs: fields.optional("outputs", read::text)?,
        })
    }
}
