//! Waits for something, but not for ever, under any executor: the clock is a thread.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// Returns what `what` gives, or `None` if it takes longer.
pub(super) async fn within<T>(patience: Duration, what: impl Future<Output = T>) -> Option<T> {
    let mut alarm = Alarm::after(patience);
    let mut what = pin!(what);
    std::future::poll_fn(|context| match what.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Pin::new(&mut alarm).poll(context).map(|()| None),
    })
    .await
}

/// Lets time go by.
pub(super) async fn pause(duration: Duration) {
    Alarm::after(duration).await;
}

/// Polls once; what was not ready then is dropped.
pub(super) async fn poll_once<T>(what: impl Future<Output = T>) -> Option<T> {
    let mut what = pin!(what);
    std::future::poll_fn(|context| match what.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Becomes ready after a while; its thread ends when it is dropped.
struct Alarm {
    shared: Arc<(Mutex<Bell>, Condvar)>,
}

#[derive(Default)]
struct Bell {
    rung: bool,
    dropped: bool,
    waker: Option<Waker>,
}

impl Alarm {
    fn after(duration: Duration) -> Self {
        let shared = Arc::new((Mutex::new(Bell::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let until = Instant::now() + duration;
        let ring = move || {
            let (bell, changed) = &*theirs;
            let mut bell = bell.lock().unwrap_or_else(PoisonError::into_inner);
            while !bell.dropped {
                let rest = until.saturating_duration_since(Instant::now());
                if rest.is_zero() {
                    break;
                }
                bell = changed.wait_timeout(bell, rest).unwrap_or_else(PoisonError::into_inner).0;
            }
            bell.rung = true;
            if let Some(waker) = bell.waker.take() {
                waker.wake();
            }
        };
        thread::spawn(ring);
        Alarm { shared }
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut bell = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bell.rung {
            return Poll::Ready(());
        }
        bell.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).dropped = true;
        self.shared.1.notify_all();
    }
}
