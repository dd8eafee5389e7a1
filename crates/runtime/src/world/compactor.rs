//! When prompts are compacted, and who writes the summaries.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::{Message, Usage};
use trunkline_revert::CompactPolicy;

/// When prompts are compacted, and who writes the summaries.
#[derive(Clone)]
#[non_exhaustive]
pub struct Compaction {
    /// When, and how much of the end stays as it is.
    pub policy: CompactPolicy,
    pub(crate) compactor: Option<Arc<dyn Compactor>>,
}

impl Compaction {
    /// Returns the compaction whose summaries the agent's own model writes.
    pub fn new(policy: CompactPolicy) -> Self {
        Compaction { policy, compactor: None }
    }

    /// Sets who writes the summaries.
    #[must_use]
    pub fn by(mut self, compactor: Arc<dyn Compactor>) -> Self {
        self.compactor = Some(compactor);
        self
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Writes the summary that stands for a span of the conversation.
#[async_trait]
pub trait Compactor: Send + Sync {
    /// Returns the summary. `ask` is an instruction and the span, quoted; see [`CompactPlan::prompt`](trunkline_revert::CompactPlan::prompt).
    ///
    /// It may be dropped at any time, when somebody cancels.
    ///
    /// # Errors
    ///
    /// Why there is none, on one line. Then nothing is compacted, and it is tried again when the prompt has grown.
    async fn summarize(&self, ask: Vec<Message>) -> Result<CompactionSummary, String>;
}

/// A summary and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionSummary {
    /// The summary.
    pub text: String,
    /// What the provider counted for it. It is kept with the node and counts towards the limits of a drive.
    pub usage: Option<Usage>,
}

impl CompactionSummary {
    /// Returns a summary of which nobody counted what it cost.
    pub fn new(text: impl Into<String>) -> Self {
        CompactionSummary { text: text.into(), usage: None }
    }
}
