//! Who decides on proposals, in the process that drives.

use async_trait::async_trait;
use serde_json::Value;
use trunkline_resolve_queue::Entry;
use trunkline_session_machine::Said;

/// Asks a person.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Returns what the person said; `None` to decide later.
    ///
    /// Dropped when somebody else decides first, or the turn is cancelled.
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said>;
}
