//! Which model wrote what a run produced, and how it was set.
//!
//! There are no fractions in the canonical form, because two programs print them in two ways: a temperature is counted
//! in thousandths.

use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::{JsonText, NonBlank, ProvenanceId, RunId};

/// What a [`Provenance`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenanceContent {
    /// The run.
    pub run: RunId,
    /// Who serves the model, such as `anthropic`.
    pub provider: NonBlank,
    /// The model, by its name at that provider.
    pub model: NonBlank,
    /// How it was set, in the provider's own form.
    pub parameters: Option<JsonText>,
    /// Its temperature in thousandths: 700 is 0.7.
    pub temperature_milli: Option<u32>,
    /// How many tokens it might write in one answer.
    pub max_tokens: Option<u64>,
}

sealed! {
    /// Which model a run worked with, sealed.
    Provenance(ProvenanceId, ProvenanceContent) is "provenance";
    /// Seals where the work of a run came from.
    ///
    /// # Errors
    ///
    /// None yet: what must hold of each field is held by its type.
    new
}

impl ProvenanceContent {
    /// Says which model it was and nothing more; the other fields are there to be filled.
    #[must_use]
    pub const fn new(run: RunId, provider: NonBlank, model: NonBlank) -> Self {
        Self { run, provider, model, parameters: None, temperature_milli: None, max_tokens: None }
    }

    fn faults(&self, _id: ProvenanceId) -> Faults {
        Faults::default()
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("run", &self.run)
            .text("provider", self.provider.as_str())
            .text("model", self.model.as_str())
            .maybe_text("parameters", self.parameters.as_ref().map(JsonText::as_str))
            .maybe_bare("temperature_milli", self.temperature_milli)
            .maybe_whole("max_tokens", self.max_tokens)
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            run: fields.required("run", read::canonical)?,
            provider: fields.required("provider", read::canonical)?,
            model: fields.required("model", read::canonical)?,
            parameters: fields.optional("parameters", read::canonical)?,
            temperature_milli: fields.optional("temperature_milli", read::unsigned)?,
            max_tokens: fields.optional("max_tokens", read::whole)?,
        })
    }
}
