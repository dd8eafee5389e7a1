//! A signal that says stop, once.
//!
//! Each clone can give it and wait for it; it is never taken back. What is begun on behalf of something else has a signal of its
//! own below that one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// A signal to stop. Clones share it.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Signal>);

#[derive(Debug)]
struct Signal {
    given: watch::Sender<bool>,
    above: Option<Cancel>,
    deadline: Option<Instant>,
}

impl Cancel {
    /// Returns a signal that was not given yet.
    pub fn new() -> Self {
        Cancel::below(None, None)
    }

    /// Returns a signal that counts as given once this one is. Giving it does not give this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Cancel::below(Some(self.clone()), None)
    }

    /// Returns a signal that counts as given once this one is, or once this time has passed from now on. Giving it does not
    /// give this one. A time that is too long to be counted is none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trunkline_agent_traits::Cancel;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let all = Cancel::new();
    /// let one = all.child_within(Duration::from_millis(5));
    /// one.cancelled().await;
    /// assert!(one.is_cancelled() && !all.is_cancelled());
    /// # });
    /// ```
    #[must_use]
    pub fn child_within(&self, time: Duration) -> Self {
        Cancel::below(Some(self.clone()), Instant::now().checked_add(time))
    }

    fn below(above: Option<Cancel>, deadline: Option<Instant>) -> Self {
        Cancel(Arc::new(Signal { given: watch::Sender::new(false), above, deadline }))
    }

    /// Gives the signal; giving it again changes nothing.
    pub fn cancel(&self) {
        self.0.given.send_replace(true);
    }

    /// Returns whether the signal was given, or one above it, or its time is over.
    pub fn is_cancelled(&self) -> bool {
        let is_over = |signal: &Signal| {
            *signal.given.borrow() || signal.deadline.is_some_and(|deadline| deadline <= Instant::now())
        };
        self.line().any(is_over)
    }

    /// Waits until the signal is given, or one above it, or its time is over; returns at once if that is so. Cancel safe.
    pub async fn cancelled(&self) {
        let Signal { given, above, deadline } = self.0.as_ref();
        let mut given = given.subscribe();
        let above = async {
            match above {
                // A line of signals is as long as what was begun on behalf of each other.
                Some(above) => Box::pin(above.cancelled()).await,
                None => std::future::pending().await,
            }
        };
        let over = async {
            match deadline {
                Some(deadline) => sleep_until(*deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // The sender lives in `self`, so waiting cannot fail.
            _ = given.wait_for(|given| *given) => {}
            () = above => {}
            () = over => {}
        }
    }

    /// Returns this signal and those above it.
    fn line(&self) -> impl Iterator<Item = &Signal> {
        std::iter::successors(Some(self.0.as_ref()), |signal| {
            signal.above.as_ref().map(|above| above.0.as_ref())
        })
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Cancel::new()
    }
}
