//! How long to wait for what.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// How long to wait for what.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For a connection: name, TCP and TLS.
    pub connect: Duration,
    /// From the beginning of an attempt to the first byte of the answer's body. A local model reads the whole prompt in
    /// this time.
    pub response: Duration,
    /// Between two pieces of the body; a comment that keeps the connection alive is one.
    pub next_bytes: Duration,
    /// For everything, attempts and waits included; `None` for no limit.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// 10 s, 10 min, 2 min, no limit.
    fn default() -> Self {
        Timeouts {
            // The official clients wait 5 s (read 2026-11); a home network's server may just be waking up.
            connect: Duration::from_secs(10),
            response: Duration::from_secs(600),
            next_bytes: Duration::from_secs(120),
            total: None,
        }
    }
}

/// The time of one reply.
pub(super) struct Clock {
    began: Instant,
    total: Option<Duration>,
    // When the wait that goes on now ends; survives a dropped future of `next`.
    step: Option<Instant>,
}

pub(super) enum Expired {
    /// The wait for this step.
    Step,
    /// The time for everything, which is this.
    Total(Duration),
}

impl Clock {
    pub(super) fn start(total: Option<Duration>) -> Self {
        Clock { began: Instant::now(), total, step: None }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns whether so long a pause ends before everything must.
    pub(super) fn has_time_for(&self, pause: Duration) -> bool {
        self.total.is_none_or(|total| self.elapsed().saturating_add(pause) < total)
    }

    /// Waits for `what`, but not longer than `most`, which counts from the first time it is waited for.
    pub(super) async fn wait<T>(
        &mut self,
        most: Duration,
        what: impl Future<Output = T>,
    ) -> Result<T, Expired> {
        let now = Instant::now();
        // A time too far away to be named is none.
        let step = match self.step {
            Some(step) => Some(step),
            None => now.checked_add(most),
        };
        self.step = step;
        let whole = self.total.and_then(|total| Some((self.began.checked_add(total)?, total)));
        let (at, expired) = match (whole, step) {
            // What is always ready is never late; only looking at the clock ends it.
            (Some((end, total)), _) if end <= now => return Err(Expired::Total(total)),
            (Some((end, total)), step) if step.is_none_or(|step| end < step) => {
                (Some(end), Expired::Total(total))
            }
            (_, step) => (step, Expired::Step),
        };
        let result = match at {
            Some(at) => timeout_at(at, what).await.map_err(|_| expired),
            None => Ok(what.await),
        };
        self.step = None;
        result
    }
}
