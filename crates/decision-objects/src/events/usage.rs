//! What a run used of a model.
//!
//! The four counts are apart from each other: what was read from a cache is not counted as input again.

use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::{EventId, Invalid, RunId};

/// What a [`Usage`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageContent {
    /// The run.
    pub run: RunId,
    /// Tokens that the model read anew.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Tokens that were read from a cache.
    pub cache_read_tokens: u64,
    /// Tokens that were written to a cache.
    pub cache_write_tokens: u64,
    /// What it cost, in millionths of a US dollar; `None` if nobody knows.
    pub microdollars: Option<u64>,
}

sealed! {
    /// What a run used of a model, sealed; the usages of a run add up.
    Usage(EventId, UsageContent) is "usage";
    /// Seals what was used.
    ///
    /// # Errors
    ///
    /// [`Invalid::TokenSum`] if the four counts together are more than a `u64` holds.
    new
}

impl UsageContent {
    fn faults(&self, _id: EventId) -> Faults {
        // Checked once, so that nobody who adds them up afterwards has to.
        let sum = self
            .input_tokens
            .checked_add(self.output_tokens)
            .and_then(|sum| sum.checked_add(self.cache_read_tokens))
            .and_then(|sum| sum.checked_add(self.cache_write_tokens));
        let mut faults = Faults::default();
        let counts = &["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];
        faults.check(counts, sum.ok_or(Invalid::TokenSum));
        faults
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("run", &self.run)
            .whole("input_tokens", self.input_tokens)
            .whole("output_tokens", self.output_tokens)
            .whole("cache_read_tokens", self.cache_read_tokens)
            .whole("cache_write_tokens", self.cache_write_tokens)
            .maybe_whole("microdollars", self.microdollars)
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            run: fields.required("run", read::canonical)?,
            input_tokens: fields.required("input_tokens", read::whole)?,
            output_tokens: fields.required("output_tokens", read::whole)?,
            cache_read_tokens: fields.required("cache_read_tokens", read::whole)?,
            cache_write_tokens: fields.required("cache_write_tokens", read::whole)?,
            microdollars: fields.optional("microdollars", read::whole)?,
        })
    }
}

impl Usage {
    /// The four counts together.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        let UsageContent { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } =
            self.content;
        input_tokens + output_tokens + cache_read_tokens + cache_write_tokens
    }
}
