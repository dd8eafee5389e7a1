//! What became of a step of a plan, in one run.

use std::collections::BTreeSet;

use super::states::{moves, sealed, words};
use crate::json::{Canonical, Fields, Object, ParseError, read};
use crate::{EventId, FrameId, Header, Invalid, NonBlank, PlanId, RunId, StepId, TaskId};

words! {
    /// How a step stands in a run.
    StepState, "pending, progressing, completed, failed or skipped",
    reason = "a new state must be given its place in the table",
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

/// Something that happened to a step of a plan, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEvent {
    header: Header<EventId>,
    content: StepEventContent,
}

sealed!(StepEvent, EventId, StepEventContent);

impl StepEvent {
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::FrameTwice`] if a frame is consumed twice, or produced twice.
    pub fn new(header: Header<EventId>, content: StepEventContent) -> Result<Self, Invalid> {
        for frames in [&content.consumed, &content.produced] {
            let mut seen = BTreeSet::new();
            if let Some(&frame) = frames.iter().find(|frame| !seen.insert(**frame)) {
                return Err(Invalid::FrameTwice { frame });
            }
        }
        Ok(Self { header, content })
    }
}

impl Canonical for StepEvent {
    const TYPE: &'static str = "step_event";

    fn print_fields(&self, object: Object) -> Object {
        let content = &self.content;
        let frames = |frames: &[FrameId]| -> Vec<String> {
            frames.iter().map(|frame| format!("\"{frame}\"")).collect()
        };
        self.header
            .print_fields(object)
            .show("plan", &content.plan)
            .show("step", &content.step)
            .show("run", &content.run)
            .text("state", content.state.as_str())
            .maybe_text("reason", content.reason.as_ref().map(NonBlank::as_str))
            .list("consumed", frames(&content.consumed))
            .list("produced", frames(&content.produced))
            .maybe_show("spawned_task", content.spawned_task.as_ref())
            .maybe_text("outputs", content.outputs.as_deref())
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let header = Header::read_fields(fields)?;
        let content = StepEventContent {
            plan: fields.required("plan", read::canonical)?,
            step: fields.required("step", read::canonical)?,
            run: fields.required("run", read::canonical)?,
            state: fields
                .required("state", |raw| read::word(raw, StepState::EXPECTED, StepState::of_word))?,
            reason: fields.optional("reason", read::canonical)?,
            consumed: fields.required("consumed", |raw| read::list(raw, read::canonical))?,
            produced: fields.required("produced", |raw| read::list(raw, read::canonical))?,
            spawned_task: fields.optional("spawned_task", read::canonical)?,
            outputs: fields.optional("outputs", read::text)?,
        };
        Ok(Self::new(header, content)?)
    }
}
