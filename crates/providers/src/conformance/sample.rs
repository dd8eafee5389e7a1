//! What a subject is checked with: answers and refusals of its service, recorded or made up.

use std::time::Duration;

use trunkline_message_tree::{Content, StopReason};

use crate::{ErrorKind, Request, Secret};

/// Everything that a subject is checked with.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Samples {
    /// Answers of the service.
    pub answers: Vec<Answer>,
    /// What the service says when it refuses.
    pub refusals: Vec<Refusal>,
    /// The key that the subject holds, if it holds one; it must be in nothing that the subject writes.
    pub key: Option<Secret>,
    /// Decides which random pieces, damages and conversations are tried; the same seed tries the same.
    pub seed: u64,
}

impl Samples {
    /// Returns answers to check with, without refusals.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Samples { answers: answers.into_iter().collect(), ..Samples::default() }
    }
}

/// The body of a complete and honest answer, and what it says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// What it is called in findings.
    pub name: String,
    /// The request that it answers.
    pub request: Request,
    /// The body, streamed or whole.
    pub body: Vec<u8>,
    /// Its media type; a server that plays it says so.
    pub content_type: String,
    /// The blocks that it says; `None` if nobody knows better than the decoder.
    pub content: Option<Vec<Content>>,
    /// Why the model stopped.
    pub stop: Option<StopReason>,
    /// Whether the next request can hold it; no for an answer whose last call was cut off by the limit.
    pub goes_back: bool,
}

impl Answer {
    /// Returns a sample of which only the body is known.
    pub fn new(name: impl Into<String>, request: Request, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let whole = body.trim_ascii_start().first() == Some(&b'{');
        let content_type = if whole { "application/json" } else { "text/event-stream" };
        Answer {
            name: name.into(),
            request,
            body,
            content_type: content_type.to_owned(),
            content: None,
            stop: None,
            goes_back: true,
        }
    }

    /// Says what the body says.
    pub fn saying(mut self, content: impl IntoIterator<Item = Content>, stop: StopReason) -> Self {
        self.content = Some(content.into_iter().collect());
        self.stop = Some(stop);
        self
    }
}

/// A response whose status is not a success, and what it means.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The kind that it must be told as.
    pub kind: ErrorKind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long the service wants us to wait.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// Returns a refusal that names no wait.
    pub fn new(status: u16, body: impl Into<Vec<u8>>, kind: ErrorKind, retryable: bool) -> Self {
        Refusal { status, headers: Vec::new(), body: body.into(), kind, retryable, retry_after: None }
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Says how long the service wants us to wait, as its headers or its body say.
    pub fn asking_for(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}
