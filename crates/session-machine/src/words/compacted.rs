//! A compaction that was made.

use trunkline_message_tree::NodeId;
use trunkline_revert::CompactPlan;

/// A compaction that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The node that stands for the span.
    pub node: NodeId,
    /// What was planned.
    pub plan: CompactPlan,
    /// Tokens of the summary in a prompt, by estimate.
    pub summary_tokens: u64,
}
