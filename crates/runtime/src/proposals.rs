//! Who decides: a person here, a person elsewhere. What the model decides is in [`resolving`](crate::resolving).
//!
//! Deciding writes nothing to any file. What was decided is recorded first, and what it leads to comes after.

use trunkline_session_machine::Said;

use async_trait::async_trait;
use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::Entry;
use trunkline_session_store::{InboxId, Letter};

use crate::letters;

/// Returns the letter that voids everything that waits or was approved, as
/// [`Request::Distrust`](crate::letters::Request::Distrust) posts it: an import carries it in with the session, so that
/// nobody can open that before.
pub fn distrust(at: Timestamp) -> Letter {
    Letter { id: InboxId(1), at, kind: letters::DISTRUST.to_owned(), body: "{}".to_owned() }
}

/// Asks a person.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Returns what the person said; `None` to decide later.
    ///
    /// Dropped when somebody else decides first, or the turn is cancelled.
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said>;
}
