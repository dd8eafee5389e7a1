//! Who writes the summary that stands for a span of the conversation.

use async_trait::async_trait;
use trunkline_message_tree::{Message, Usage};

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
