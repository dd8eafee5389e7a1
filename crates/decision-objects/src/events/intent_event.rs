//! What became of an intent.

use super::states::moves;
use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::{closed_vocabulary, no_slip};
use crate::{EventId, GitOid, IntentId, Label, NonBlank};

closed_vocabulary! {
    /// How an intent stands.
    IntentState, "analyzed, completed or cancelled",
    "a new state must be given its place in the table" {
        /// Somebody has looked at what it asks for; that may happen again.
        Analyzed = "analyzed",
        /// What it asks for is there.
        Completed = "completed",
        /// Nobody works on it any more.
        Cancelled = "cancelled",
    }
}

moves! {
    IntentState, first [Analyzed, Completed, Cancelled],
    Analyzed -> [Analyzed, Completed, Cancelled],
    Completed -> [],
    Cancelled -> [],
}

/// What happened to an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new state must be given its place in the table; `Other` takes the rest"
)]
pub enum IntentEventKind {
    /// Somebody has looked at what it asks for.
    Analyzed,
    /// What it asks for is there.
    Completed {
        /// The commit that holds it, if it stands in one.
        result_commit: Option<GitOid>,
    },
    /// Nobody works on it any more.
    Cancelled,
    /// Something that changes no state, such as `reworded`.
    Other(Label),
}

impl IntentEventKind {
    /// The state that the intent has from then on; `None` if it keeps the one that it had.
    #[must_use]
    pub const fn state(&self) -> Option<IntentState> {
        match self {
            Self::Analyzed => Some(IntentState::Analyzed),
            Self::Completed { .. } => Some(IntentState::Completed),
            Self::Cancelled => Some(IntentState::Cancelled),
            Self::Other(_) => None,
        }
    }
}

/// What an [`IntentEvent`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentEventContent {
    /// The intent.
    pub intent: IntentId,
    /// What happened to it.
    pub kind: IntentEventKind,
    /// Why.
    pub reason: Option<NonBlank>,
    /// The intent that comes next.
    pub next_intent: Option<IntentId>,
}

sealed! {
    /// Something that happened to an intent, sealed.
    IntentEvent(EventId, IntentEventContent) is "intent_event";
    /// Seals what happened.
    ///
    /// # Errors
    ///
    /// [`Invalid::ReservedLabel`](crate::Invalid::ReservedLabel) if the word of [`IntentEventKind::Other`]
    /// reads like one of the states, [`Invalid::NilGitOid`](crate::Invalid::NilGitOid).
    new
}

impl IntentEventContent {
    fn faults(&self, _id: EventId) -> Faults {
        let mut faults = Faults::default();
        match &self.kind {
            IntentEventKind::Other(label) => {
                let words = ["analyzed", "completed", "cancelled"];
                faults.check(&["kind", "label"], no_slip(&words, label.as_str()));
            }
            IntentEventKind::Completed { result_commit: Some(commit) } => {
                faults.check(&["result_commit"], commit.checked());
            }
            _ => {}
        }
        faults
    }

    fn print(&self, object: Object) -> Object {
        let object = object.show("intent", &self.intent);
        let object = match (&self.kind, self.kind.state()) {
            (IntentEventKind::Other(label), _) => object.text("kind", "other").text("label", label.as_str()),
            (_, Some(state)) => object.text("kind", state.as_str()),
            (_, None) => object,
        };
        let object = object.maybe_text("reason", self.reason.as_ref().map(NonBlank::as_str));
        let object = match &self.kind {
            IntentEventKind::Completed { result_commit } => {
                object.maybe_show("result_commit", result_commit.as_ref())
            }
            _ => object,
        };
        object.maybe_show("next_intent", self.next_intent.as_ref())
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let intent = fields.required("intent", read::canonical)?;
        let state = fields.required("kind", |raw| {
            read::word(raw, "analyzed, completed, cancelled or other", |word| match word {
                "other" => Some(None),
                word => IntentState::of_word(word).map(Some),
            })
        })?;
        let kind = match state {
            Some(IntentState::Analyzed) => IntentEventKind::Analyzed,
            Some(IntentState::Completed) => IntentEventKind::Completed {
                result_commit: fields.optional("result_commit", read::canonical)?,
            },
            Some(IntentState::Cancelled) => IntentEventKind::Cancelled,
            None => IntentEventKind::Other(fields.required("label", read::canonical)?),
        };
        Ok(Self {
            intent,
            kind,
            reason: fields.optional("reason", read::canonical)?,
            next_intent: fields.optional("next_intent", read::canonical)?,
        })
    }
}
