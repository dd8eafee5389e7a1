//! What became of a task.

use super::states::moves;
use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::closed_vocabulary;
use crate::{EventId, Invalid, NonBlank, RunId, TaskId};

closed_vocabulary! {
    /// How a task stands.
    TaskState, "created, running, blocked, done, failed or cancelled",
    "a new state must be given its place in the table" {
        /// It is there, and nobody works on it.
        Created = "created",
        /// A run works on it.
        Running = "running",
        /// It waits for something that it cannot do itself.
        Blocked = "blocked",
        /// It is done.
        Done = "done",
        /// It was given up.
        Failed = "failed",
        /// It is no longer wanted.
        Cancelled = "cancelled",
    }
}

// A second run at the same task says `running` again; a run that is waited for may fail the task it never began.
moves! {
    TaskState, first [Created],
    Created -> [Running, Blocked, Failed, Cancelled],
    Running -> [Running, Blocked, Done, Failed, Cancelled],
    Blocked -> [Running, Failed, Cancelled],
    Done -> [],
    Failed -> [],
    Cancelled -> [],
}

impl TaskState {
    /// Whether an event into this state must say why.
    #[must_use]
    pub const fn needs_reason(self) -> bool {
        matches!(self, Self::Blocked | Self::Failed | Self::Cancelled)
    }
}

/// What a [`TaskEvent`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEventContent {
    /// The task.
    pub task: TaskId,
    /// How it stands from then on.
    pub state: TaskState,
    /// Why; there must be a reason to be blocked, failed or cancelled.
    pub reason: Option<NonBlank>,
    /// The run in which it happened.
    pub run: Option<RunId>,
}

sealed! {
    /// Something that happened to a task, sealed.
    TaskEvent(EventId, TaskEventContent) is "task_event";
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::ReasonMissing`] if the task is blocked, failed or cancelled and nobody says why.
    new
}

impl TaskEventContent {
    fn faults(&self, _id: EventId) -> Faults {
        let mut faults = Faults::default();
        if self.state.needs_reason() && self.reason.is_none() {
            faults.add(&["reason", "state"], Invalid::ReasonMissing { state: self.state.as_str() });
        }
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("task", &self.task)
            .text("state", self.state.as_str())
            .maybe_text("reason", self.reason.as_ref().map(NonBlank::as_str))
            .maybe_show("run", self.run.as_ref())
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            task: fields.required("task", read::canonical)?,
            state: fields
                .required("state", |raw| read::word(raw, TaskState::EXPECTED, TaskState::of_word))?,
            reason: fields.optional("reason", read::canonical)?,
            run: fields.optional("run", read::canonical)?,
        })
    }
}
