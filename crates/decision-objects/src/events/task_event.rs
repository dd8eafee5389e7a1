//! What became of a task.

use super::states::{moves, sealed, words};
use crate::json::{Canonical, Fields, Object, ParseError, read};
use crate::{EventId, Header, Invalid, NonBlank, RunId, TaskId};

words! {
    /// How a task stands.
    TaskState, "created, running, blocked, done, failed or cancelled",
    reason = "a new state must be given its place in the table",
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

/// Something that happened to a task, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEvent {
    header: Header<EventId>,
    content: TaskEventContent,
}

sealed!(TaskEvent, EventId, TaskEventContent);

impl TaskEvent {
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::ReasonMissing`] if the task is blocked, failed or cancelled and nobody says why.
    pub fn new(header: Header<EventId>, content: TaskEventContent) -> Result<Self, Invalid> {
        if content.state.needs_reason() && content.reason.is_none() {
            return Err(Invalid::ReasonMissing { state: content.state.as_str() });
        }
        Ok(Self { header, content })
    }
}

impl Canonical for TaskEvent {
    const TYPE: &'static str = "task_event";

    fn print_fields(&self, object: Object) -> Object {
        let content = &self.content;
        self.header
            .print_fields(object)
            .show("task", &content.task)
            .text("state", content.state.as_str())
            .maybe_text("reason", content.reason.as_ref().map(NonBlank::as_str))
            .maybe_show("run", content.run.as_ref())
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let header = Header::read_fields(fields)?;
        let content = TaskEventContent {
            task: fields.required("task", read::canonical)?,
            state: fields
                .required("state", |raw| read::word(raw, TaskState::EXPECTED, TaskState::of_word))?,
            reason: fields.optional("reason", read::canonical)?,
            run: fields.optional("run", read::canonical)?,
        };
        Ok(Self::new(header, content)?)
    }
}
