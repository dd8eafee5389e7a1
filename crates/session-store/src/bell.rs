//! Tells waiting tasks that something changed, without an async runtime.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Rings for everybody who waits. A [`Listener`] that was made before a ring hears it, also if it waits only later.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    inner: Mutex<Rung>,
}

#[derive(Debug, Default)]
struct Rung {
    times: u64,
    // Wakers of listeners that wait now; all are taken at each ring.
    waiting: Vec<Waker>,
}

/// Ends at the first ring after it was made.
#[derive(Debug)]
pub(crate) struct Listener {
    bell: Arc<Bell>,
    heard: u64,
}

impl Bell {
    /// Wakes everybody.
    pub(crate) fn ring(&self) {
        let waiting = {
            let mut rung = self.open();
            rung.times += 1;
            std::mem::take(&mut rung.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns what ends at the next ring. Make it before looking at what may change.
    pub(crate) fn listen(self: &Arc<Self>) -> Listener {
        Listener { bell: Arc::clone(self), heard: self.open().times }
    }

    // Nothing here panics while holding the mutex, so a poisoned value is still whole.
    fn open(&self) -> MutexGuard<'_, Rung> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for Listener {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut rung = self.bell.open();
        if rung.times != self.heard {
            return Poll::Ready(());
        }
        // A listener that is polled again, or was dropped, leaves a waker that is woken in vain: once at most.
        if !rung.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            rung.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
