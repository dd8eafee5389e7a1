//! What becomes of an attempt to ask the model that came to nothing: it is recorded, waited after, and made again.
//!
//! Nothing here loops over attempts of the conversation's own requests: each is a step of the turn machine, so a kill
//! between two of them changes nothing.

use crate::writer::Writer;
use crate::writer::inbox::arrived;
use std::time::Duration;
use trunkline_agent_traits::Cancel;

use tokio::time::{Instant, sleep, sleep_until};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::InboxId;

use trunkline_session_machine::{Event, RuntimeError};

/// How often everything else is looked after while the model is waited for: proposals whose time is over, summaries.
const TEND_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked what time it is: a machine that slept has a clock that went on.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// A wait before the model is asked again, in one drive.
pub(crate) struct Waiting {
    until: Timestamp,
    /// The same where no clock can be set.
    deadline: Instant,
    over: bool,
}

impl Waiting {
    /// Returns the end of the wait if this drive has waited for it.
    pub(crate) fn waited(waiting: Option<&Waiting>) -> Option<Timestamp> {
        waiting.filter(|waiting| waiting.over).map(|waiting| waiting.until)
    }
}

/// Waits until the model may be asked again, or something else has to be done first: a letter came after `seen`,
/// somebody cancelled, the time of the drive is over at `end`.
pub(crate) async fn wait_to_ask(
    writer: &mut Writer,
    until: Timestamp,
    waiting: &mut Option<Waiting>,
    end: Option<Instant>,
    seen: Option<InboxId>,
    cancel: &Cancel,
) -> Result<(), RuntimeError> {
    if waiting.as_ref().is_none_or(|waiting| waiting.until != until) {
        let left = Duration::from_millis(until.0.saturating_sub(writer.settings().now().0));
        // The log may come from anywhere, and from a clock that was set wrong.
        let left = left.min(writer.settings().setup.asking.retries.time);
        writer.tell(&Event::AwaitingModel { wait: left });
        *waiting = Some(Waiting { until, deadline: Instant::now() + left, over: false });
    }
    let Some(deadline) = waiting.as_ref().map(|waiting| waiting.deadline) else { return Ok(()) };
    let over = async {
        while Instant::now() < deadline && writer.settings().now() < until {
            sleep_until(deadline.min(Instant::now() + LOOK_AGAIN_AFTER)).await;
        }
    };
    let out_of_time = async {
        match end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    };
    let is_over = tokio::select! {
        biased;
        () = cancel.cancelled() => false,
        arrived = arrived(writer.store.as_ref(), writer.lease.session(), writer.lease.token(), seen) => {
            arrived.map_err(|by| writer.lost(by))?;
            false
        }
        () = over => true,
        () = out_of_time => false,
        () = sleep(TEND_EVERY) => false,
    };
    if let Some(waiting) = waiting.as_mut().filter(|_| is_over) {
        waiting.over = true;
    }
    Ok(())
}
