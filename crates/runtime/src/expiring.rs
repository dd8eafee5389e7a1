//! Waits for the time of proposals to be over.

use std::time::Duration;

use serde_json::Value;
use trunkline_resolve_queue::Entry;

use crate::Session;

impl Session {
    /// Waits until a proposal is past its time; for ever if it has none.
    pub(crate) async fn until_past(&self, entry: &Entry<Value>) {
        let Some(end) = entry.proposal.expires_at else { return std::future::pending().await };
        while !entry.is_past(self.settings().now().0) {
            let left = Duration::from_millis(end.saturating_sub(self.settings().now().0));
            // A machine that slept has a clock that went on.
            tokio::time::sleep(left.clamp(Duration::from_millis(1), LOOK_AGAIN_AFTER)).await;
        }
    }
}

/// How often it is looked what time it is, while somebody is asked.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);
