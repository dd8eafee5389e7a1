//! Sends requests over HTTP. The only file that names the HTTP client.
//!
//! A reply is a small state machine that owns whatever it waits for, so a future of `next` that is dropped in a
//! `select!` loses neither a connection attempt nor a byte, and dropping the reply itself drops the connection.

use std::collections::VecDeque;
use std::error::Error as _;
use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, Sleep, sleep, timeout_at};
use trunkline_message_tree::Origin;

use crate::error::{Waiting, one_line};
use crate::{
    BaseUrl, Decode, Event, HttpRequest, Provider, ProviderError, Reply, Request, RetryPolicy, Secret, Wire,
};

// What is read of a refusal; the message made of it is far shorter.
const ERROR_BODY_LIMIT: usize = 64 * 1024;
// How long a complete answer may take to close, so that its connection can be used again.
const CLOSING: Duration = Duration::from_millis(100);

// The official clients wait 5 s for a connection (read 2026-11); a home network's server may just be waking up.
const CONNECT: Duration = Duration::from_secs(10);

/// How long to wait for what. A connection has 10 s.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the request to the first byte of the answer. A local model reads the whole prompt in this time.
    pub response: Duration,
    /// Between two pieces of the answer.
    pub next_bytes: Duration,
    /// For everything, attempts and waits included; `None` for no limit.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// 10 min, 2 min, no limit.
    fn default() -> Self {
        Timeouts { response: Duration::from_secs(600), next_bytes: Duration::from_secs(120), total: None }
    }
}

/// A provider at an address. Connections are kept and used again.
///
/// Redirects are not followed: the key would go where nobody meant it to go. Proxies are taken from the usual
/// variables.
pub struct HttpProvider {
    shared: Arc<Shared>,
    headers: HeaderMap,
    retry: RetryPolicy,
    timeouts: Timeouts,
}

struct Shared {
    client: reqwest::Client,
    wire: Box<dyn Wire>,
    base: BaseUrl,
    /// Kept to take it out of errors that quote it.
    key: Option<Secret>,
    origin: Origin,
}

impl HttpProvider {
    /// Returns a provider that speaks `wire` at `base`; local servers need no key.
    ///
    /// `origin` is written on every message: the provider's name, and the model that requests are for by default.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Transport`] if the key cannot stand in a header or TLS cannot be set up.
    pub fn new(
        wire: Box<dyn Wire>,
        base: BaseUrl,
        key: Option<&Secret>,
        origin: Origin,
    ) -> Result<Self, ProviderError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let (name, value) = wire.key_header(key);
            // The value is not quoted: it is the key.
            let fault = || not_sent(&base, "the key has characters that a header cannot have");
            let name = HeaderName::try_from(name).map_err(|_| fault())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| fault())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let client = client(&base)?;
        let shared = Arc::new(Shared { client, wire, base, key: key.cloned(), origin });
        Ok(HttpProvider { shared, headers, retry: RetryPolicy::default(), timeouts: Timeouts::default() })
    }

    /// Tries again as this policy says.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Waits as long as this says.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sends a header with every request; it replaces one of ours with the same name.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Transport`] if name or value cannot stand in a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, ProviderError> {
        let fault = || not_sent(&self.shared.base, &format!("{name:?} cannot be sent as a header"));
        let name = HeaderName::try_from(name).map_err(|_| fault())?;
        let value = HeaderValue::try_from(value).map_err(|_| fault())?;
        self.headers.insert(name, value);
        Ok(self)
    }

    fn http_request(&self, encoded: HttpRequest) -> Result<reqwest::Request, ProviderError> {
        let url = self.shared.base.join(&encoded.path);
        let fault = |reason: &str| not_sent(&self.shared.base, reason);
        let mut headers = HeaderMap::new();
        for (name, value) in encoded.headers {
            let name = HeaderName::try_from(name).map_err(|_| fault("a header has no good name"))?;
            let value = HeaderValue::try_from(value).map_err(|_| fault("a header has no good value"))?;
            headers.insert(name, value);
        }
        headers.extend(self.headers.clone());
        let method = reqwest::Method::from_bytes(encoded.method.as_bytes())
            .map_err(|_| fault("the wire named no good method"))?;
        let request =
            self.shared.client.request(method, url).headers(headers).body(encoded.body.to_vec()).build();
        request.map_err(|error| fault(&words(&error)))
    }
}

#[async_trait]
impl Provider for HttpProvider {
    fn origin(&self) -> &Origin {
        &self.shared.origin
    }

    fn wire(&self) -> &str {
        self.shared.wire.name()
    }

    /// Returns before anything was sent; the first [`Reply::next`] connects.
    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let encoded = self.shared.wire.encode(&request)?;
        let now = Instant::now();
        Ok(Box::new(HttpReply {
            decoder: self.shared.wire.decoder(&request),
            request: self.http_request(encoded)?,
            shared: Arc::clone(&self.shared),
            retry: self.retry,
            timeouts: self.timeouts,
            began: now,
            attempt: 0,
            state: State::Ready,
            deadline: None,
            events: VecDeque::new(),
        }))
    }
}

struct HttpReply {
    shared: Arc<Shared>,
    request: reqwest::Request,
    decoder: Box<dyn Decode>,
    retry: RetryPolicy,
    timeouts: Timeouts,
    began: Instant,
    // The attempt that runs or ran last, from 1.
    attempt: u32,
    state: State,
    // When the wait that goes on now ends; survives a dropped future of `next`.
    deadline: Option<Instant>,
    events: VecDeque<Event>,
}

enum State {
    Ready,
    Sending(Pin<Box<dyn Future<Output = Result<Opened, ProviderError>> + Send>>),
    Pausing(Pin<Box<Sleep>>),
    Streaming(reqwest::Response),
    // The message is complete, the body perhaps not.
    Closing(reqwest::Response),
    Failed(ProviderError),
    Over,
}

/// A good response whose first bytes are here.
struct Opened {
    response: reqwest::Response,
    first: Option<Vec<u8>>,
}

#[async_trait]
impl Reply for HttpReply {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.state {
                State::Ready => {
                    self.attempt += 1;
                    let Some(request) = self.request.try_clone() else {
                        return self.over(not_sent(&self.shared.base, "the body cannot be sent again"));
                    };
                    self.state = State::Sending(Box::pin(open(Arc::clone(&self.shared), request)));
                }
                State::Sending(sending) => {
                    let wait = self.timeouts.response;
                    let result =
                        match until(&mut self.deadline, wait, self.began, self.timeouts.total, sending).await
                        {
                            Ok(result) => result,
                            Err(Expired::Total(after)) => return self.over(whole(after)),
                            Err(Expired::Step) => {
                                Err(ProviderError::Timeout { what: Waiting::Response, after: wait })
                            }
                        };
                    match result {
                        Ok(opened) => self.take_in(opened.response, opened.first),
                        Err(error) => self.pause_or_fail(error),
                    }
                }
                State::Pausing(pause) => {
                    pause.await;
                    self.state = State::Ready;
                }
                State::Streaming(response) => {
                    let wait = self.timeouts.next_bytes;
                    let chunk = response.chunk();
                    match until(&mut self.deadline, wait, self.began, self.timeouts.total, chunk).await {
                        Ok(Ok(bytes)) => {
                            let State::Streaming(response) = std::mem::replace(&mut self.state, State::Over)
                            else {
                                continue;
                            };
                            self.take_in(response, bytes.map(|bytes| bytes.to_vec()));
                        }
                        // Whatever broke it: what was said is said, and the rest will not come.
                        Ok(Err(_)) => return self.over(ProviderError::Cut),
                        Err(Expired::Total(after)) => return self.over(whole(after)),
                        Err(Expired::Step) => {
                            let what = Waiting::NextBytes;
                            return self.over(ProviderError::Timeout { what, after: wait });
                        }
                    }
                }
                State::Closing(response) => {
                    let closing = async { while let Ok(Some(_)) = response.chunk().await {} };
                    // A server that keeps the connection open after the end only loses it.
                    let _late = timeout_at(Instant::now() + CLOSING, closing).await;
                    self.state = State::Over;
                }
                State::Failed(error) => {
                    let error = error.clone();
                    return self.over(error);
                }
                State::Over => return Ok(None),
            }
        }
    }
}

impl HttpReply {
    /// Decodes what came; `None` is the end of the body.
    fn take_in(&mut self, response: reqwest::Response, bytes: Option<Vec<u8>>) {
        let mut events = Vec::new();
        let ended = bytes.is_none();
        let outcome = match bytes {
            Some(bytes) => self.decoder.push(&bytes, &mut events),
            None => self.decoder.finish(&mut events),
        };
        let stopped = events.iter().any(|event| matches!(event, Event::Stopped(_)));
        self.events.extend(events);
        self.state = match outcome {
            Err(error) => State::Failed(self.at_endpoint(error.into())),
            Ok(()) if ended => State::Over,
            Ok(()) if stopped => State::Closing(response),
            Ok(()) => State::Streaming(response),
        };
    }

    fn pause_or_fail(&mut self, error: ProviderError) {
        let error = self.at_endpoint(error);
        let elapsed = self.began.elapsed();
        let in_time = |wait: &Duration| self.timeouts.total.is_none_or(|total| elapsed + *wait < total);
        match self.retry.next(self.attempt, &error, jitter(), elapsed).filter(in_time) {
            Some(wait) => {
                let cause = error.to_string();
                self.events.push_back(Event::Retrying { attempt: self.attempt, wait, cause });
                self.state = State::Pausing(Box::pin(sleep(wait)));
            }
            None => self.state = State::Failed(error),
        }
    }

    /// Names the endpoint in errors of which only we know whom they are about, and takes our key out of all of them.
    fn at_endpoint(&self, error: ProviderError) -> ProviderError {
        let error = match &self.shared.key {
            Some(key) => error.without(key),
            None => error,
        };
        match error {
            ProviderError::Html { status, .. } => {
                ProviderError::Html { endpoint: self.request.url().to_string(), status }
            }
            other => other,
        }
    }

    fn over(&mut self, error: ProviderError) -> Result<Option<Event>, ProviderError> {
        self.state = State::Over;
        Err(error)
    }
}

enum Expired {
    Step,
    Total(Duration),
}

/// Waits for `what`, but not past the deadline, which is set when the wait begins and taken down when it ends.
async fn until<T>(
    deadline: &mut Option<Instant>,
    wait: Duration,
    began: Instant,
    total: Option<Duration>,
    what: impl Future<Output = T>,
) -> Result<T, Expired> {
    let step = *deadline.get_or_insert_with(|| Instant::now() + wait);
    let (at, expired) = match total {
        Some(total) if began + total < step => (began + total, Expired::Total(total)),
        _ => (step, Expired::Step),
    };
    let result = timeout_at(at, what).await.map_err(|_| expired);
    *deadline = None;
    result
}

async fn open(shared: Arc<Shared>, request: reqwest::Request) -> Result<Opened, ProviderError> {
    let lost = |error: reqwest::Error| not_sent(&shared.base, &words(&error));
    let mut response = shared.client.execute(request).await.map_err(lost)?;
    let status = response.status();
    if status.is_success() {
        let first = response.chunk().await.map_err(lost)?.map(|bytes| bytes.to_vec());
        return Ok(Opened { response, first });
    }
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    if status.is_redirection() {
        let to = crate::retry::header(&headers, "location").unwrap_or("nowhere");
        let message = format!("it redirects to {to}: is that the right base URL?");
        return Err(ProviderError::api(status.as_u16(), crate::ErrorKind::NotFound, &message));
    }
    let mut body = Vec::new();
    // A refusal that breaks off is still a refusal.
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() >= ERROR_BODY_LIMIT {
            body.truncate(ERROR_BODY_LIMIT);
            break;
        }
    }
    Err(shared.wire.error(status.as_u16(), &headers, &body))
}

fn client(base: &BaseUrl) -> Result<reqwest::Client, ProviderError> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("trunkline/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| not_sent(base, &words(&error)))
}

fn whole(after: Duration) -> ProviderError {
    ProviderError::Timeout { what: Waiting::WholeAnswer, after }
}

fn not_sent(base: &BaseUrl, message: &str) -> ProviderError {
    ProviderError::Transport { endpoint: base.to_string(), message: one_line(message, 300) }
}

/// The last cause says what happened ("connection refused"); the outer ones only that something did.
fn words(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut last = error.to_string();
    while let Some(inner) = cause {
        last = inner.to_string();
        cause = inner.source();
    }
    last
}

/// Between 0 and 1, different each time: the seeds that hash maps are given are random.
fn jitter() -> f64 {
    let random = std::hash::RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
