//! Waits for things under any executor: the clock is a thread.

use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Runs a future to its end on this thread.
pub(super) fn block_on<T>(what: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut what = pin!(what);
    loop {
        match what.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

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

/// Runs two futures at once; where both can go on, the first does.
pub(super) async fn both<A, B>(one: impl Future<Output = A>, two: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut two) = (pin!(one), pin!(two));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(move |context| {
        if first.is_none()
            && let Poll::Ready(value) = one.as_mut().poll(context)
        {
            first = Some(value);
        }
        if second.is_none()
            && let Poll::Ready(value) = two.as_mut().poll(context)
        {
            second = Some(value);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (none, some) => {
                (first, second) = (none, some);
                Poll::Pending
            }
        }
    })
    .await
}

/// Polls once; what was not ready then is dropped.
pub(super) async fn poll_once<T>(what: impl Future<Output = T>) -> Option<T> {
    poll_times(1, pin!(what)).await
}

/// Polls so many times, whenever it is woken, and returns what it gives, if it is ready by then.
pub(super) async fn poll_times<T>(times: u32, mut what: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut left = times;
    std::future::poll_fn(|context| {
        let Some(less) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = less;
        match what.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Polls all of them in turn until each has ended, and returns what they gave, in their order.
pub(super) async fn at_once<T>(what: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut rest: Vec<_> = what.into_iter().map(Some).collect();
    let mut ended: Vec<Option<T>> = rest.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (what, end) in rest.iter_mut().zip(&mut ended) {
            if let Some(Poll::Ready(value)) = what.as_mut().map(|what| what.as_mut().poll(context)) {
                (*what, *end) = (None, Some(value));
            }
        }
        if rest.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ended.into_iter().flatten().collect()
}

/// Becomes ready after a while; its thread ends when it is dropped.
struct Alarm {
    shared: Arc<(Mutex<Bell>, Condvar)>,
    until: Instant,
    running: bool,
}

#[derive(Default)]
struct Bell {
    rung: bool,
    dropped: bool,
    waker: Option<Waker>,
}

impl Alarm {
    fn after(duration: Duration) -> Self {
        Alarm { shared: Arc::default(), until: Instant::now() + duration, running: false }
    }

    // Only once somebody really waits: most futures are ready at once.
    fn run(&mut self) {
        let theirs = Arc::clone(&self.shared);
        let until = self.until;
        self.running = true;
        thread::spawn(move || {
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
        });
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.running {
            self.run();
        }
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
