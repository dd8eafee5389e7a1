//! What somebody wants, in their words.
//!
//! An intent is not changed: a new wording is a new intent with the old one as parent, and two that were found to be
//! one are the parents of a third.

use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::{FrameId, IntentId, JsonText, NonBlank};

/// What an [`Intent`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentContent {
    /// The intents that it revises or joins; none twice, and not itself.
    pub parents: Vec<IntentId>,
    /// What is wanted, as it was asked for.
    pub prompt: NonBlank,
    /// The same in a form that a program can check.
    pub spec: Option<JsonText>,
    /// What was learned while it was worked out; none twice.
    pub analysis_frames: Vec<FrameId>,
}

sealed! {
    /// What somebody wants, sealed.
    Intent(IntentId, IntentContent) is "intent";
    /// Seals an intent.
    ///
    /// # Errors
    ///
    /// [`Invalid::Twice`](crate::Invalid::Twice) and [`Invalid::OfItself`](crate::Invalid::OfItself).
    new
}

impl IntentContent {
    /// Says what is wanted and nothing more; the other fields are there to be filled.
    #[must_use]
    pub const fn new(prompt: NonBlank) -> Self {
        Self { parents: Vec::new(), prompt, spec: None, analysis_frames: Vec::new() }
    }

    fn faults(&self, id: IntentId) -> Faults {
        let mut faults = Faults::default();
        faults.not_itself(&["id", "parents"], "parent", self.parents.iter().copied(), id);
        faults.unique(&["parents"], "parent", &self.parents);
        faults.unique(&["analysis_frames"], "analysis frame", &self.analysis_frames);
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .ids("parents", &self.parents)
            .text("prompt", self.prompt.as_str())
            .maybe_text("spec", self.spec.as_ref().map(JsonText::as_str))
            .ids("analysis_frames", &self.analysis_frames)
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            parents: fields.required("parents", |raw| read::distinct_list(raw, "parent"))?,
            prompt: fields.required("prompt", read::canonical)?,
            spec: fields.optional("spec", read::canonical)?,
            analysis_frames: fields
                .required("analysis_frames", |raw| read::distinct_list(raw, "analysis frame"))?,
        })
    }
}
