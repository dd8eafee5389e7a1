//! What became of a run.

use super::states::{moves, sealed, words};
use crate::json::{Canonical, Fields, Object, ParseError, read};
use crate::{EventId, Header, Invalid, NonBlank, PatchSetId, RunId};

words! {
    /// How a run stands.
    RunState, "created, patching, validating, completed, failed or checkpointed",
    reason = "a new state must be given its place in the table",
    /// It is open, and nothing was changed yet.
    Created = "created",
    /// It changes something.
    Patching = "patching",
    /// It looks at what it has changed.
    Validating = "validating",
    /// It came to its end.
    Completed = "completed",
    /// It did not reach its goal.
    Failed = "failed",
    /// It was put down, to be continued by another run.
    Checkpointed = "checkpointed",
}

// A checkpoint ends its run: whoever takes the work up opens a run that continues it (record 0003).
moves! {
    RunState, first [Created],
    Created -> [Patching, Validating, Completed, Failed, Checkpointed],
    Patching -> [Patching, Validating, Completed, Failed, Checkpointed],
    Validating -> [Patching, Validating, Completed, Failed, Checkpointed],
    Completed -> [],
    Failed -> [],
    Checkpointed -> [],
}

/// What a [`RunEvent`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEventContent {
    /// The run.
    pub run: RunId,
    /// How it stands from then on.
    pub state: RunState,
    /// Why.
    pub reason: Option<NonBlank>,
    /// What went wrong, in the words of what failed; only with [`RunState::Failed`].
    pub error: Option<NonBlank>,
    /// What was measured, as text in a form of the caller's own.
    pub metrics: Option<String>,
    /// The changes that the event is about.
    pub patch_set: Option<PatchSetId>,
}

/// Something that happened to a run, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvent {
    header: Header<EventId>,
    content: RunEventContent,
}

sealed!(RunEvent, EventId, RunEventContent);

impl RunEvent {
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::OnlyWith`] if there is an error and the run did not fail.
    pub fn new(header: Header<EventId>, content: RunEventContent) -> Result<Self, Invalid> {
        if content.error.is_some() && content.state != RunState::Failed {
            return Err(Invalid::OnlyWith { field: "error", only: "failed", state: content.state.as_str() });
        }
        Ok(Self { header, content })
    }
}

impl Canonical for RunEvent {
    const TYPE: &'static str = "run_event";

    fn print_fields(&self, object: Object) -> Object {
        let content = &self.content;
        self.header
            .print_fields(object)
            .show("run", &content.run)
            .text("state", content.state.as_str())
            .maybe_text("reason", content.reason.as_ref().map(NonBlank::as_str))
            .maybe_text("error", content.error.as_ref().map(NonBlank::as_str))
            .maybe_text("metrics", content.metrics.as_deref())
            .maybe_show("patch_set", content.patch_set.as_ref())
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let header = Header::read_fields(fields)?;
        let content = RunEventContent {
            run: fields.required("run", read::canonical)?,
            state: fields.required("state", |raw| read::word(raw, RunState::EXPECTED, RunState::of_word))?,
            reason: fields.optional("reason", read::canonical)?,
            error: fields.optional("error", read::canonical)?,
            metrics: fields.optional("metrics", read::text)?,
            patch_set: fields.optional("patch_set", read::canonical)?,
        };
        Ok(Self::new(header, content)?)
    }
}
