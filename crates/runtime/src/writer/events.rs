//! What happens, as a stream: for a reader on a task of its own, while another task drives.
//!
//! An observer runs on the driver's time; a reader does not. So that a slow one neither holds the drive up nor fills the memory,
//! only the latest events wait for it, and each says how many before it are gone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use trunkline_session_machine::Event;
use trunkline_session_store::SessionId;

/// How many events wait for a reader: a reply of a thousand words, none of them read yet.
const WAITING: usize = 1024;

/// What happened in which session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionEvent {
    /// The session.
    pub session: SessionId,
    /// What happened.
    pub event: Event,
    /// How many events right before this one are lost to this reader, because it was more than 1,024 behind. What they told of
    /// the log stands there: [`View`](crate::View) reads it. Pieces of a reply that are lost come again with its
    /// [`Event::Message`].
    pub missed: u64,
}

/// The events of a [`Session`](crate::Session::events) or of an [`Agent`](crate::Agent::events), from when this was made.
///
/// It holds the latest 1,024 events that were not read. The drive never waits for it: of a reader that is further behind the
/// oldest are dropped and [counted](SessionEvent::missed). Once there is nothing more to come it ends, after what waits was
/// read. A reader that is done drops it.
///
/// A [`Stream`]; [`next`](Events::next) does without a crate for streams.
#[derive(Debug)]
pub struct Events(Arc<Mutex<Queue>>);

/// What waits for one reader.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<SessionEvent>,
    missed: u64,
    ended: bool,
    reader: Option<Waker>,
}

/// All readers; their streams end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<Vec<Arc<Mutex<Queue>>>>);

impl Events {
    /// Waits for the next event; `None` once there is nothing more to come. Cancel safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for Events {
    type Item = SessionEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<SessionEvent>> {
        let mut queue = held(&self.0);
        match queue.waiting.pop_front() {
            Some(mut told) => {
                told.missed = std::mem::take(&mut queue.missed);
                Poll::Ready(Some(told))
            }
            None if queue.ended => Poll::Ready(None),
            None => {
                match &mut queue.reader {
                    Some(reader) => reader.clone_from(context.waker()),
                    reader => *reader = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (held(&self.0).waiting.len(), None)
    }
}

impl Readers {
    /// Returns whether there is no reader. One that has gone counts until the next event.
    pub(crate) fn is_empty(&self) -> bool {
        held(&self.0).is_empty()
    }

    /// Tells all readers.
    pub(crate) fn tell(&self, session: &SessionId, event: &Event) {
        let mut readers = held(&self.0);
        // The reader has the other half.
        readers.retain(|queue| Arc::strong_count(queue) > 1);
        for queue in readers.iter() {
            let told = SessionEvent { session: session.clone(), event: event.clone(), missed: 0 };
            let reader = held(queue).push(told);
            if let Some(reader) = reader {
                reader.wake();
            }
        }
    }

    pub(crate) fn add(&self) -> Events {
        let queue = Arc::default();
        held(&self.0).push(Arc::clone(&queue));
        Events(queue)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        for queue in held(&self.0).drain(..) {
            let mut queue = held(&queue);
            queue.ended = true;
            if let Some(reader) = queue.reader.take() {
                drop(queue);
                reader.wake();
            }
        }
    }
}

impl Queue {
    /// Adds an event in place of the oldest if there is no room. Returns whom to wake.
    fn push(&mut self, told: SessionEvent) -> Option<Waker> {
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
            self.missed = self.missed.saturating_add(1);
        }
        self.waiting.push_back(told);
        self.reader.take()
    }
}

/// Nothing is left half done under these locks, so a panic elsewhere poisons nothing.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
