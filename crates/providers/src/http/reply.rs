//! An answer on its way.
//!
//! A small state machine that owns whatever it waits for, so a future of `next` that is dropped in a `select!` loses
//! neither a connection attempt nor a byte, and dropping the reply itself drops the connection.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};
use trunkline_message_tree::Timestamp;

use super::client::{Answer, Lost, Url};
use super::tape::Tape;
use super::timeouts::{Clock, Expired};
use super::{Shared, Timeouts, not_sent, secrets_in};
use crate::error::{Waiting, one_line};
use crate::{
    Decode, Ending, Event, HttpRequest, ProviderError, Reply, Request, RetryPolicy, Secret, Traits, provider,
};

// What is read of a refusal; the message made of it is far shorter.
const ERROR_BODY_LIMIT: usize = 64 * 1024;
// How long a complete answer may take to close, so that its connection can be used again.
const CLOSING: Duration = Duration::from_millis(100);

pub(super) struct HttpReply {
    shared: Arc<Shared>,
    // What was asked for: a decoder reads the answer to it.
    asked: Request,
    request: Arc<HttpRequest>,
    url: Url,
    // Whether it fetches an answer by its id.
    fetches: bool,
    decoder: Box<dyn Decode>,
    retry: RetryPolicy,
    timeouts: Timeouts,
    clock: Clock,
    // The attempt that runs or ran last, from 1.
    attempt: u32,
    // Whether the decoder took in anything, and whether anything that the caller got of this attempt says something.
    begun: bool,
    said: bool,
    state: State,
    tape: Tape,
    events: VecDeque<Event>,
}

enum State {
    Ready,
    Sending(Pin<Box<dyn Future<Output = Result<Opened, ProviderError>> + Send>>),
    // After what wait, for the recording.
    Pausing(Pin<Box<Sleep>>, Duration),
    Streaming(Answer),
    // The message is complete, the body perhaps not.
    Closing(Answer, Instant),
    Failed(ProviderError),
    Over,
}

/// A good response whose first bytes are here, if it has any.
struct Opened {
    answer: Answer,
    first: Option<Bytes>,
}

#[async_trait]
impl Reply for HttpReply {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.state {
                State::Ready => self.begin(),
                State::Sending(sending) => {
                    let after = self.timeouts.response;
                    match self.clock.wait(after, sending).await {
                        Ok(Ok(opened)) => self.take_in(opened.answer, opened.first),
                        Ok(Err(error)) => self.pause_or_fail(error),
                        Err(expired) => self.expire(expired, Waiting::Response, after),
                    }
                }
                State::Pausing(pause, wait) => {
                    pause.await;
                    self.tape.close(Some(*wait));
                    self.state = State::Ready;
                }
                State::Streaming(answer) => {
                    let after = self.timeouts.next_bytes;
                    let bytes = self.clock.wait(after, answer.bytes()).await;
                    if let Ok(bytes) = &bytes {
                        self.tape.received(bytes);
                    }
                    match bytes {
                        Ok(Ok(bytes)) => match std::mem::replace(&mut self.state, State::Over) {
                            State::Streaming(answer) => self.take_in(answer, bytes),
                            other => self.state = other,
                        },
                        // Whatever broke it: what was said is said, and the rest will not come.
                        Ok(Err(_)) => self.pause_or_fail(ProviderError::Cut),
                        Err(expired) => self.expire(expired, Waiting::NextBytes, after),
                    }
                }
                State::Closing(answer, until) => {
                    let tape = &self.tape;
                    let closing = async {
                        loop {
                            let bytes = answer.bytes().await;
                            tape.received(&bytes);
                            if !matches!(bytes, Ok(Some(_))) {
                                break;
                            }
                        }
                    };
                    // A server that keeps the connection open after the end only loses it.
                    let _late = timeout_at(*until, closing).await;
                    self.over();
                }
                State::Failed(_) => match std::mem::replace(&mut self.state, State::Over) {
                    State::Failed(error) => return Err(error),
                    other => self.state = other,
                },
                State::Over => return Ok(None),
            }
        }
    }
}

impl HttpReply {
    pub(super) fn new(
        shared: Arc<Shared>,
        asked: Request,
        (request, url): (HttpRequest, Url),
        fetches: bool,
        retry: RetryPolicy,
        timeouts: Timeouts,
    ) -> Self {
        HttpReply {
            decoder: shared.decoder(&asked),
            shared,
            asked,
            request: Arc::new(request),
            url,
            fetches,
            retry,
            timeouts,
            clock: Clock::start(timeouts.total),
            attempt: 0,
            begun: false,
            said: false,
            state: State::Ready,
            tape: Tape::default(),
            events: VecDeque::new(),
        }
    }

    fn begin(&mut self) {
        self.attempt += 1;
        if self.begun {
            // What came in the last attempt is void.
            (self.begun, self.said) = (false, false);
            self.decoder = self.shared.decoder(&self.asked);
        }
        self.tape = Tape::begin(&self.shared, &self.request);
        let attempt = open(
            Arc::clone(&self.shared),
            Arc::clone(&self.request),
            self.url.clone(),
            self.timeouts.next_bytes,
            self.tape.clone(),
            self.asked.traits.clone(),
        );
        self.state = State::Sending(Box::pin(attempt));
    }

    /// Decodes what came; `None` is the end of the body.
    fn take_in(&mut self, answer: Answer, bytes: Option<Bytes>) {
        let mut events = Vec::new();
        let ended = bytes.is_none();
        self.begun = true;
        let outcome = match bytes {
            Some(bytes) => self.decoder.push(&bytes, &mut events),
            None => self.decoder.finish(&mut events),
        };
        // Not by its bytes: a comment that keeps the connection alive says nothing, and neither does an error.
        self.said |= events.iter().any(Event::says);
        events.iter_mut().for_each(|event| self.hide_keys(event));
        let stopped = events.iter().any(|event| matches!(event, Event::Stopped(_)));
        let id = events.iter().find_map(|event| match event {
            Event::Started { id, .. } => id.clone(),
            _ => None,
        });
        if let Some(id) = id {
            self.fetch_next_time(&id);
        }
        self.events.extend(events);
        match outcome {
            Ok(()) if ended => self.over(),
            // The message is complete; what comes after it changes nothing, wherever the bytes were cut.
            _ if stopped => self.state = State::Closing(answer, Instant::now() + CLOSING),
            Ok(()) => self.state = State::Streaming(answer),
            Err(error) => self.pause_or_fail(error.into()),
        }
    }

    /// Lets further attempts fetch the answer by its id, where the service makes it in the background: sent again, it would be made
    /// twice.
    fn fetch_next_time(&mut self, id: &str) {
        if self.fetches {
            return;
        }
        let Some(fetching) = self.shared.fetching(&self.asked, id) else { return };
        if let Ok(url) = self.shared.address(&fetching) {
            (self.request, self.url, self.fetches) = (Arc::new(fetching), url, true);
        }
    }

    fn expire(&mut self, expired: Expired, what: Waiting, after: Duration) {
        let (what, after) = match expired {
            Expired::Step => (what, after),
            Expired::Total(after) => (Waiting::WholeAnswer, after),
        };
        self.tape.end(Ending::TimedOut { waiting: what, after });
        // For the whole answer there is no other attempt.
        self.pause_or_fail(ProviderError::Timeout { what, after });
    }

    fn over(&mut self) {
        self.tape.close(None);
        self.state = State::Over;
    }

    /// Ends the attempt, and its connection with it.
    fn pause_or_fail(&mut self, error: ProviderError) {
        let error = self.at_endpoint(error);
        let elapsed = self.clock.elapsed();
        let wait = match self.said {
            // An answer that has failed is the same each time that it is fetched.
            _ if self.fetches && error.is_in_answer() => None,
            true => self.retry.restart(self.attempt, &error, jitter(), elapsed),
            false => self.retry.next(self.attempt, &error, jitter(), elapsed),
        };
        self.state = match wait.filter(|wait| self.clock.has_time_for(*wait)) {
            Some(wait) => {
                let cause = error.to_string();
                self.events.push_back(Event::Retrying { attempt: self.attempt, wait, cause });
                State::Pausing(Box::pin(sleep(wait)), wait)
            }
            None => {
                self.tape.close(None);
                State::Failed(error)
            }
        };
    }

    /// Takes our keys out of the service's words that are shown to people.
    fn hide_keys(&self, event: &mut Event) {
        let texts = match event {
            Event::Unread { text, cause } => vec![text, cause],
            Event::Remark(words) => vec![words],
            _ => return,
        };
        for text in texts {
            self.shared.secrets.iter().for_each(|key| *text = key.hide_in(text));
        }
    }

    /// Names the endpoint in errors of which only we know whom they are about, and takes our keys out of all of them.
    fn at_endpoint(&self, error: ProviderError) -> ProviderError {
        match error.without(&self.shared.secrets) {
            ProviderError::Html { status, .. } => {
                ProviderError::Html { endpoint: self.shared.base.shown(&self.request.path), status }
            }
            other => other,
        }
    }
}

/// One attempt, up to the first bytes of a good answer.
async fn open(
    shared: Arc<Shared>,
    request: Arc<HttpRequest>,
    url: Url,
    patience: Duration,
    tape: Tape,
    sent: Traits,
) -> Result<Opened, ProviderError> {
    let unsent = |reason: String| {
        let error = not_sent(&shared.base, &reason);
        if let ProviderError::Transport { message, .. } = &error {
            tape.end(Ending::Unreached { cause: message.clone() });
        }
        error
    };
    let lost = |lost: Lost| match lost {
        Lost::Connecting(after) => {
            let what = Waiting::Connection;
            tape.end(Ending::TimedOut { waiting: what, after });
            match &shared.proxy {
                Some(_) => shared.unreached(&format!("no {what} within {} s", after.as_secs_f32())),
                None => ProviderError::Timeout { what, after },
            }
        }
        Lost::Broken(reason) => {
            tape.end(Ending::Unreached { cause: one_line(&reason, 300) });
            shared.unreached(&reason)
        }
    };
    let signature = match &shared.signer {
        Some(signer) => signer.sign(&request, url.as_str(), now()).inspect_err(|error| {
            tape.end(Ending::Unreached { cause: error.to_string() });
        })?,
        None => Vec::new(),
    };
    let sending = shared.client.send(&request, &signature, &url).map_err(unsent)?;
    let mut answer = sending.await.map_err(lost)?;
    tape.answered(&answer);
    if provider::is_answer(answer.status) {
        let first = answer.bytes().await;
        tape.received(&first);
        // Reached it was.
        return Ok(Opened { first: first.map_err(|_| ProviderError::Cut)?, answer });
    }
    let body = refusal(&mut answer, patience, &tape).await;
    let error = provider::refusal(shared.wire.as_ref(), &sent, answer.status, &answer.headers, &body);
    let error = shared.behind_proxy(error, answer.status);
    // Services that sign also quote: the token of temporary credentials, for one.
    let signed: Vec<Secret> = signature.iter().flat_map(|(name, value)| secrets_in(name, value)).collect();
    Err(error.without(&signed))
}

/// Reads the body of a refusal. One that breaks off or never ends is still a refusal.
async fn refusal(answer: &mut Answer, patience: Duration, tape: &Tape) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < ERROR_BODY_LIMIT {
            let bytes = answer.bytes().await;
            tape.received(&bytes);
            let Ok(Some(bytes)) = bytes else { return };
            let room = ERROR_BODY_LIMIT - body.len();
            body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
        }
    };
    let late = timeout(patience, reading).await.is_err();
    tape.end(if late { Ending::Cut } else { Ending::Complete });
    body
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Between 0 and 1, different each time: the seeds that hash maps are given are random.
fn jitter() -> f64 {
    let random = std::hash::RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
