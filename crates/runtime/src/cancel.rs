//! A signal that says stop, once.
//!
//! Whoever holds a clone can give it and everybody can wait for it; it is never taken back.

use tokio::sync::watch;

/// A signal to stop. Clones share it.
#[derive(Clone, Debug)]
pub struct Cancel {
    signal: watch::Sender<bool>,
}

impl Cancel {
    /// Returns a signal that was not given yet.
    pub fn new() -> Self {
        Cancel { signal: watch::Sender::new(false) }
    }

    /// Gives the signal; giving it again changes nothing.
    pub fn cancel(&self) {
        self.signal.send_replace(true);
    }

    /// Returns whether the signal was given.
    pub fn is_cancelled(&self) -> bool {
        *self.signal.borrow()
    }

    /// Waits until the signal is given; returns at once if it was. Cancel safe.
    pub async fn cancelled(&self) {
        let mut signal = self.signal.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = signal.wait_for(|given| *given).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Cancel::new()
    }
}
