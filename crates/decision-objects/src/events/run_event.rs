//! What became of a run.

use super::states::moves;
use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::closed_vocabulary;
use crate::{EventId, Invalid, NonBlank, PatchSetId, RunId};

closed_vocabulary! {
    /// How a run stands.
    RunState, "created, patching, validating, completed, failed or checkpointed",
    "a new state must be given its place in the table" {
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

sealed! {
    /// Something that happened to a run, sealed.
    RunEvent(EventId, RunEventContent) is "run_event";
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::OnlyWith`] if there is an error and the run did not fail.
    new
}

impl RunEventContent {
    fn faults(&self, _id: EventId) -> Faults {
        let mut faults = Faults::default();
        if self.error.is_some() && self.state != RunState::Failed {
            let why = Invalid::OnlyWith { field: "error", only: "failed", state: self.state.as_str() };
            faults.add(&["error", "state"], why);
        }
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("run", &self.run)
            .text("state", self.state.as_str())
            .maybe_text("reason", self.reason.as_ref().map(NonBlank::as_str))
            .maybe_text("error", self.error.as_ref().map(NonBlank::as_str))
            .maybe_text("metrics", self.metrics.as_deref())
            .maybe_show("patch_set", self.patch_set.as_ref())
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            run: fields.required("run", read::canonical)?,
            state: fields.required("state", |raw| read::word(raw, RunState::EXPECTED, RunState::of_word))?,
            reason: fields.optional("reason", read::canonical)?,
            error: fields.optional("error", read::canonical)?,
            metrics: fields.optional("metrics", read::text)?,
            patch_set: fields.optional("patch_set", read::canonical)?,
        })
    }
}
