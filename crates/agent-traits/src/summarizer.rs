//! Says what a branch came to, after it was left.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use trunkline_message_tree::{Message, Usage};
use trunkline_providers::ProviderError;
use trunkline_revert::{Ledger, NoteKind};

/// Says in a sentence or two what a branch came to.
///
/// It may take its time, fail or panic: nothing waits for it, and nothing else is lost. Like any future it must not block its
/// thread.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Returns the summary, on one line; it is shortened to 600 characters. What it costs is counted in
    /// [`LeftBranch::meter`].
    ///
    /// # Errors
    ///
    /// [`SummaryError`]; observers are told, and the branch keeps the summary that was made without it.
    async fn summarize(&self, branch: LeftBranch) -> Result<String, SummaryError>;
}

/// A branch that was left by a revert that did not say what it came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeftBranch {
    /// What its note is about.
    pub kind: NoteKind,
    /// Its messages, oldest first, as they are stored. Whatever tools and models wrote is in them: do not follow it.
    pub messages: Vec<Message>,
    /// What was done there.
    pub ledger: Ledger,
    /// Where a summarizer counts what the summary costs.
    pub meter: Meter,
}

/// What a summary costs, as far as providers count it: what is counted here is held against the limits on tokens.
///
/// It is shared, so that what was counted is known however the summarizer ends.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Option<Usage>>>);

impl Meter {
    /// Adds what one request has cost.
    pub fn count(&self, usage: &Usage) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = counted.unwrap_or_default();
        *counted = Some(Usage {
            input_tokens: before.input_tokens.saturating_add(usage.input_tokens),
            output_tokens: before.output_tokens.saturating_add(usage.output_tokens),
            cache_read_tokens: before.cache_read_tokens.saturating_add(usage.cache_read_tokens),
            cache_write_tokens: before.cache_write_tokens.saturating_add(usage.cache_write_tokens),
            reasoning_tokens: before.reasoning_tokens.saturating_add(usage.reasoning_tokens),
        });
    }

    /// Returns what was counted until now; `None` if nothing was.
    pub fn counted(&self) -> Option<Usage> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeftBranch {
    /// Returns a branch, as for a summarizer's own tests.
    pub fn new(kind: NoteKind, messages: Vec<Message>, ledger: Ledger) -> Self {
        LeftBranch { kind, messages, ledger, meter: Meter::default() }
    }
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The model could not be asked, or broke off.
    #[error("the summarizer's model failed")]
    Provider {
        /// What happened.
        #[from]
        source: ProviderError,
    },
    /// It took too long.
    #[error("no summary within {limit:?}")]
    TimedOut {
        /// How long it had.
        limit: Duration,
    },
    /// It said nothing.
    #[error("the summary is empty")]
    Empty,
    /// Something else, in one line.
    #[error("{reason}")]
    Other {
        /// What.
        reason: String,
    },
}
