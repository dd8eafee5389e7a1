//! Trying again: what may be sent twice, how often, and what is told in the end.

use std::time::Duration;

use tokio::time::Instant;

use super::fault::{Fault, FaultKind};
use super::links::Links;
use crate::StoreError;

/// How long to wait before a server is asked again that only takes reading: a fail-over is under way.
const PAUSE: Duration = Duration::from_millis(100);

/// How often a statement is tried again that was rolled back because of others.
const COLLISIONS: u8 = 8;

/// How often something was tried, and what is known of that.
#[derive(Debug, Default)]
pub(super) struct Tries {
    lost: u8,
    collisions: u8,
    /// It changes nothing, so it does not matter whether a try that got no answer was done.
    reads: bool,
    /// Why a try that may have been done got no answer.
    open: Option<StoreError>,
    /// When the server was first found to take only reading.
    away: Option<Instant>,
}

impl Tries {
    /// Returns the tries of what changes nothing.
    pub(super) fn reading() -> Self {
        Tries { reads: true, ..Tries::default() }
    }

    /// Returns the tries of what is not sent again if it may have been done.
    pub(super) fn once() -> Self {
        Tries { lost: u8::MAX, ..Tries::default() }
    }

    /// Returns the tries of what may have been done before, if that try got an error instead of an answer.
    pub(super) fn going_on(open: Option<StoreError>) -> Self {
        Tries { open, ..Tries::default() }
    }

    /// Whether an earlier try may have been done.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Agrees to try again after a fault, and waits as long as that should, or returns the error to end with.
    pub(super) async fn after(&mut self, fault: Fault, links: &Links) -> Result<(), StoreError> {
        let Fault { error, kind } = fault;
        match kind {
            FaultKind::Lost => {
                links.distrust();
                if self.lost >= 4 {
                    return Err(self.end(error));
                }
                self.lost += 1;
                if !self.reads {
                    self.open.get_or_insert(error);
                }
            }
            FaultKind::Collision if self.collisions < COLLISIONS => {
                self.collisions += 1;
                // Those who collided do not come back in step: each has another wait.
                let spread = u64::from(std::process::id()) % 7 + u64::from(self.collisions);
                tokio::time::sleep(Duration::from_millis(spread * u64::from(self.collisions))).await;
            }
            FaultKind::ReadOnly => {
                links.distrust();
                let since = *self.away.get_or_insert_with(Instant::now);
                if since.elapsed() + PAUSE >= links.patience() {
                    return Err(self.end(error));
                }
                tokio::time::sleep(PAUSE).await;
            }
            FaultKind::Silent => {
                // What rests may have died in the same silence.
                links.distrust();
                return Err(self.end(error));
            }
            _ => return Err(self.end(error)),
        }
        Ok(())
    }

    /// Returns the error to end with. One that promises that nothing was changed is not told of what may have been done.
    pub(super) fn end(&mut self, error: StoreError) -> StoreError {
        match (self.open.take(), error) {
            (Some(StoreError::Io { place, reason }), StoreError::Busy { .. }) => {
                let reason =
                    format!("{reason}; since then the server could not be asked whether it was done");
                StoreError::Io { place, reason }
            }
            (Some(StoreError::Io { place, reason }), StoreError::Full { .. }) => {
                StoreError::Io { place, reason: format!("{reason}; then there was no room left") }
            }
            (Some(StoreError::Io { place, reason }), StoreError::Database { reason: then, .. }) => {
                StoreError::Io { place, reason: format!("{reason}; then: {then}") }
            }
            (_, error) => error,
        }
    }
}

/// Tries something that may be done twice, each time on a connection of its own. `$work` is
/// `Result<Result<T, StoreError>, Fault>`: refusals of ours leave the connection in order, faults do not. `$again` tells
/// it whether an earlier try may have been done; `reading` says that it changes nothing.
macro_rules! attempt {
    (reading $links:expr, |$link:ident| $work:expr) => {
        attempt!($links, $crate::postgres::tries::Tries::reading(), |$link, _again| $work)
    };
    ($links:expr, |$link:ident| $work:expr) => {
        attempt!($links, $crate::postgres::tries::Tries::default(), |$link, _again| $work)
    };
    ($links:expr, |$link:ident, $again:ident| $work:expr) => {
        attempt!($links, $crate::postgres::tries::Tries::default(), |$link, $again| $work)
    };
    ($links:expr, $tries:expr, |$link:ident, $again:ident| $work:expr) => {{
        let mut tries = $tries;
        loop {
            let mut $link = match $links.take().await {
                Ok(link) => link,
                Err(fault) => break Err(tries.end(fault.error)),
            };
            let $again = tries.is_open();
            match $work.await {
                Ok(result) => {
                    $link.keep();
                    break result;
                }
                Err(fault) => {
                    // Before the next try, which may need the place of this connection.
                    drop($link);
                    match tries.after(fault, &$links).await {
                        Ok(()) => {}
                        Err(error) => break Err(error),
                    }
                }
            }
        }
    }};
}
pub(super) use attempt;
