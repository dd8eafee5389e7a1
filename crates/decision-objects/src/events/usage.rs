//! What a run used of a model.
//!
//! The four counts are apart from each other: what was read from a cache is not counted as input again.

use super::states::sealed;
use crate::json::{Canonical, Fields, Object, ParseError, Raw, read};
use crate::{EventId, Header, Invalid, RunId};

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

/// What a run used of a model, sealed; the usages of a run add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    header: Header<EventId>,
    content: UsageContent,
    /// The four counts together.
    total: u64,
}

sealed!(Usage, EventId, UsageContent);

impl Usage {
    /// Seals what was used.
    ///
    /// # Errors
    ///
    /// [`Invalid::TokenSum`] if the four counts together are more than a `u64` holds.
    pub fn new(header: Header<EventId>, content: UsageContent) -> Result<Self, Invalid> {
        let total = content
            .input_tokens
            .checked_add(content.output_tokens)
            .and_then(|sum| sum.checked_add(content.cache_read_tokens))
            .and_then(|sum| sum.checked_add(content.cache_write_tokens))
            .ok_or(Invalid::TokenSum)?;
        Ok(Self { header, content, total })
    }

    /// The four counts together.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.total
    }
}

impl Canonical for Usage {
    const TYPE: &'static str = "usage";

    fn print_fields(&self, object: Object) -> Object {
        let content = &self.content;
        self.header
            .print_fields(object)
            .show("run", &content.run)
            .show_bare("input_tokens", content.input_tokens)
            .show_bare("output_tokens", content.output_tokens)
            .show_bare("cache_read_tokens", content.cache_read_tokens)
            .show_bare("cache_write_tokens", content.cache_write_tokens)
            .maybe_bare("microdollars", content.microdollars)
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let header = Header::read_fields(fields)?;
        let content = UsageContent {
            run: fields.required("run", read::canonical)?,
            input_tokens: fields.required("input_tokens", count)?,
            output_tokens: fields.required("output_tokens", count)?,
            cache_read_tokens: fields.required("cache_read_tokens", count)?,
            cache_write_tokens: fields.required("cache_write_tokens", count)?,
            microdollars: fields.optional("microdollars", count)?,
        };
        Ok(Self::new(header, content)?)
    }
}

pub(super) fn count(raw: Raw<'_>) -> Result<u64, ParseError> {
    read::number(raw, "a whole number from 0 to 18446744073709551615")
}
