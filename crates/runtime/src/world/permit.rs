//! Leave to write files: it ends when its time is over, or when the session was taken over.
//!
//! It is asked by whoever writes, right before each file: a process that was stopped and goes on later finds its time over
//! before anybody can tell it so.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Leave to write the files of a session; see [`Workspace::restore`](crate::Workspace::restore). Clones share it.
#[derive(Clone)]
pub struct Permit {
    may: Arc<dyn Fn() -> bool + Send + Sync>,
    over: Arc<AtomicBool>,
}

impl Permit {
    /// Returns one that stands as long as `may` says so and nobody takes it back.
    pub fn new(may: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Permit { may: Arc::new(may), over: Arc::default() }
    }

    /// Takes it back, for good.
    pub fn revoke(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Returns whether files may be written now. Once it was not so, it never is again.
    pub fn stands(&self) -> bool {
        if !self.over.load(Ordering::SeqCst) && !(self.may)() {
            self.revoke();
        }
        !self.over.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nobody is asked: that could end it.
        let over = self.over.load(Ordering::SeqCst);
        f.debug_struct("Permit").field("over", &over).finish()
    }
}
