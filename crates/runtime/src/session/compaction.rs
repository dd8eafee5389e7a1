//! When prompts are compacted, and who writes the summaries.

use std::fmt;
use std::sync::Arc;

use trunkline_agent_traits::Compactor;
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
