//! Asks a person, until somebody else decides or the time is over.

use std::time::Duration;

use serde_json::Value;
use trunkline_agent_traits::{Cancel, Decider};
use trunkline_resolve_queue::Entry;
use trunkline_session_machine::{RuntimeError, Said};
use trunkline_session_store::InboxId;

use crate::writer::Writer;
use crate::writer::inbox::arrived;

/// What came of asking a person.
pub(crate) enum Answered {
    /// They said this.
    Said(Box<Said>),
    /// They decide later.
    Later,
    /// A letter came, or the time of the proposal is over: it is not theirs to decide any more.
    Overtaken,
    /// The drive was cancelled.
    Cancelled,
}

/// Asks a person about a proposal, unless a letter comes after `seen`.
pub(crate) async fn ask_person(
    writer: &mut Writer,
    decider: &dyn Decider,
    entry: &Entry<Value>,
    seen: Option<InboxId>,
    cancel: &Cancel,
) -> Result<Answered, RuntimeError> {
    let decided = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Answered::Cancelled),
        // Somebody else may decide in another terminal meanwhile; the loop reads the letter.
        arrived = arrived(writer.store.as_ref(), writer.lease.session(), writer.lease.token(), seen) => {
            return arrived.map(|()| Answered::Overtaken).map_err(|by| writer.lost(by));
        }
        // What nobody may decide any more nobody is asked.
        () = until_past(writer, entry) => return Ok(Answered::Overtaken),
        decided = decider.decide(entry) => decided,
    };
    Ok(decided.map_or(Answered::Later, |said| Answered::Said(Box::new(said))))
}

/// Waits until a proposal is past its time; for ever if it has none.
async fn until_past(writer: &Writer, entry: &Entry<Value>) {
    let Some(end) = entry.proposal.expires_at else { return std::future::pending().await };
    while !entry.is_past(writer.settings().now().0) {
        let left = Duration::from_millis(end.saturating_sub(writer.settings().now().0));
        // A machine that slept has a clock that went on.
        tokio::time::sleep(left.clamp(Duration::from_millis(1), LOOK_AGAIN_AFTER)).await;
    }
}

/// How often it is looked what time it is, while somebody is asked.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);
