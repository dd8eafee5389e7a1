//! A reply that plays what was written down: the steps of a script, or of a recorded exchange.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Decode, Event, ProviderError, Reply};

/// One step.
pub(crate) enum Step {
    /// Nothing happens until so long after the beginning.
    #[cfg(feature = "http")]
    Until(Duration),
    /// This happens.
    Event(Event),
    /// A body begins.
    Open(Box<dyn Decode>),
    /// More of the body comes.
    Bytes(Bytes),
    /// The body ends.
    Close,
    /// It breaks off.
    Fail(ProviderError),
    /// What failed is tried again after so long.
    Retry(Duration),
    /// Nothing happens any more.
    Hang,
}

/// Plays steps; after the last one, the reply is complete.
pub(crate) struct Playback {
    steps: VecDeque<Step>,
    decoder: Option<Box<dyn Decode>>,
    events: VecDeque<Event>,
    attempt: u32,
    // Survives a dropped future of `next`, as everything here does.
    #[cfg(feature = "http")]
    clock: Clock,
}

#[cfg(feature = "http")]
#[derive(Default)]
struct Clock {
    began: Option<tokio::time::Instant>,
    pause: Option<std::pin::Pin<Box<tokio::time::Sleep>>>,
}

impl Playback {
    /// Returns a reply that plays these steps.
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Playback {
            steps: steps.into_iter().collect(),
            decoder: None,
            events: VecDeque::new(),
            attempt: 1,
            #[cfg(feature = "http")]
            clock: Clock::default(),
        }
    }

    /// Takes in a piece of the body, or its end.
    fn decode(&mut self, bytes: Option<&[u8]>) -> Result<(), ProviderError> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let mut events = Vec::new();
        let outcome = match bytes {
            Some(bytes) => decoder.push(bytes, &mut events),
            None => decoder.finish(&mut events),
        };
        if events.iter().any(|event| matches!(event, Event::Stopped(_))) {
            // The message is complete; how its connection ended does not matter.
            self.steps.clear();
        }
        self.events.extend(events);
        outcome.map_err(ProviderError::from)
    }

    /// Breaks off: the next attempt, if there is one, begins after the events that came before.
    fn fail(&mut self, error: ProviderError) {
        while let Some(step) = self.steps.pop_front() {
            if let Step::Retry(wait) = step {
                let (attempt, cause) = (self.attempt, error.to_string());
                self.attempt += 1;
                self.decoder = None;
                self.events.push_back(Event::Retrying { attempt, wait, cause });
                return;
            }
        }
        self.steps.push_back(Step::Fail(error));
    }
}

#[async_trait]
impl Reply for Playback {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        yield_once().await;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            #[cfg(feature = "http")]
            self.clock.pause().await;
            let Some(step) = self.steps.pop_front() else { return Ok(None) };
            let played = match step {
                #[cfg(feature = "http")]
                Step::Until(time) => {
                    self.clock.wait_until(time);
                    Ok(())
                }
                Step::Event(event) => {
                    self.events.push_back(event);
                    Ok(())
                }
                Step::Open(decoder) => {
                    self.decoder = Some(decoder);
                    Ok(())
                }
                Step::Bytes(bytes) => self.decode(Some(&bytes)),
                Step::Close => self.decode(None),
                // The last step: there is no other attempt.
                Step::Fail(error) if self.steps.is_empty() => return Err(error),
                Step::Fail(error) => Err(error),
                Step::Retry(_) => Ok(()),
                Step::Hang => {
                    self.steps.push_front(Step::Hang);
                    std::future::pending().await
                }
            };
            if let Err(error) = played {
                self.fail(error);
            }
        }
    }
}

#[cfg(feature = "http")]
impl Clock {
    fn wait_until(&mut self, time: Duration) {
        let began = *self.began.get_or_insert_with(tokio::time::Instant::now);
        self.pause = Some(Box::pin(tokio::time::sleep_until(began + time)));
    }

    async fn pause(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.await;
            self.pause = None;
        }
    }
}

/// Lets others run, so that a cancel can come between any two events.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
