//! Says what a branch came to, after it was left.

use std::time::Duration;

use async_trait::async_trait;
use trunkline_message_tree::Message;
use trunkline_providers::ProviderError;
use trunkline_revert::{Ledger, NoteKind};

/// Says in a sentence or two what a branch came to.
///
/// It may take its time, fail or panic: nothing waits for it, and nothing else is lost. Like any future it must not block its
/// thread.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Returns the summary, on one line; it is shortened to 600 characters.
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
}

impl LeftBranch {
    /// Returns a branch, as for a summarizer's own tests.
    pub fn new(kind: NoteKind, messages: Vec<Message>, ledger: Ledger) -> Self {
        LeftBranch { kind, messages, ledger }
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
