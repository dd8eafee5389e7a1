//! What can go wrong: while encoding, while decoding, and with the provider.
//!
//! Each message fits on one line and is short, whatever an endpoint answered: it is shown to a person who has to act.

use std::fmt;
use std::time::Duration;

use crate::{Place, SignError};

/// Why a request is not legal on a wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is nothing to answer.
    #[error("the request has no message besides instructions")]
    NoMessages,
    /// A call has no result directly after its message.
    #[error("{node}: call {call} has no result directly after it")]
    UnansweredCall {
        /// The call's id.
        call: String,
        /// The message with the call.
        node: Place,
    },
    /// A result does not answer a call of the message before it.
    #[error("{node}: result {call} answers no call of the message before it")]
    OrphanResult {
        /// The id that the result names.
        call: String,
        /// The message with the result.
        node: Place,
    },
    /// A call is answered twice.
    #[error("{node}: call {call} is answered a second time")]
    DuplicateResult {
        /// The call's id.
        call: String,
        /// The message with the second result.
        node: Place,
    },
    /// Two calls have one id.
    #[error("{node}: the id of call {call} is already taken")]
    DuplicateCall {
        /// The id.
        call: String,
        /// The message with the later call.
        node: Place,
    },
    /// The id of a call has characters or a length that the wire refuses.
    #[error("{node}: the wire refuses {call:?} as the id of a call")]
    CallId {
        /// The id.
        call: String,
        /// The message with the call.
        node: Place,
    },
    /// The name of a called tool has characters or a length that the wire refuses.
    #[error("{node}: the wire refuses {name:?} as the name of a called tool")]
    CalledName {
        /// The name, as the model wrote it.
        name: String,
        /// The message with the call.
        node: Place,
    },
    /// The name of an offered tool has characters or a length that the wire refuses.
    #[error("the wire refuses {name:?} as the name of a tool on offer; give the tool another name")]
    OfferedName {
        /// The tool's name.
        name: String,
    },
    /// The arguments of a call are not a JSON object.
    #[error("{node}: the arguments of call {call} are not a JSON object")]
    ArgumentsNotObject {
        /// The call's id.
        call: String,
        /// The message with the call.
        node: Place,
    },
    /// A text block has nothing but white space in it.
    #[error("{node}: a text block is blank")]
    BlankText {
        /// The message.
        node: Place,
    },
    /// A message has no block.
    #[error("{node}: the message is empty")]
    EmptyMessage {
        /// The message.
        node: Place,
    },
    /// The conversation must begin with a user message.
    #[error("{node}: the conversation does not begin with a user message")]
    FirstNotUser {
        /// The first message.
        node: Place,
    },
    /// The conversation must not end with the model's own words.
    #[error("{node}: the conversation ends with an assistant message, there is nothing to answer")]
    LastIsAssistant {
        /// The last message.
        node: Place,
    },
    /// A system message stands inside the conversation.
    #[error("{node}: a system message does not lead the conversation")]
    SystemNotFirst {
        /// The message.
        node: Place,
    },
    /// Results must come before anything else in a user message.
    #[error("{node}: a result stands after other blocks")]
    ResultsNotFirst {
        /// The message.
        node: Place,
    },
    /// A block cannot be in a message of this role.
    #[error("{node}: {block} cannot be in this message")]
    Misplaced {
        /// The kind of block.
        block: &'static str,
        /// The message.
        node: Place,
    },
    /// Reasoning without the signature that the wire demands.
    #[error("{node}: a reasoning block has no signature")]
    UnsignedThinking {
        /// The message.
        node: Place,
    },
    /// Reasoning that goes back must be followed by what it led to.
    #[error("{node}: a reasoning item has nothing after it that the model wrote")]
    LoneReasoning {
        /// The message with the reasoning.
        node: Place,
    },
    /// A raw block was written by another wire or is not JSON.
    #[error("{node}: a raw block is not one of the {wire} wire")]
    ForeignBlock {
        /// The wire that should carry it.
        wire: &'static str,
        /// The message.
        node: Place,
    },
    /// The wire has no place for a block.
    #[error("{node}: the {wire} wire has no place for {block} here")]
    UnsupportedBlock {
        /// The wire.
        wire: &'static str,
        /// The kind of block.
        block: &'static str,
        /// The message.
        node: Place,
    },
    /// The wire has no place for something in the request, or not in this combination.
    #[error("the {wire} wire does not do {what}")]
    Unsupported {
        /// The wire.
        wire: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// The choice names a tool that is not on offer.
    #[error("tool {name} must be used but is not on offer")]
    NoSuchTool {
        /// The tool's name.
        name: String,
    },
    /// The schema of a tool's arguments does not describe an object.
    #[error("the schema of tool {name} does not describe an object")]
    Schema {
        /// The tool's name.
        name: String,
    },
    /// Reasoning would use up the whole answer.
    #[error("a reasoning budget of {budget} leaves nothing of {max_output_tokens} output tokens")]
    ThinkingBudget {
        /// Tokens for reasoning.
        budget: u32,
        /// Tokens for everything.
        max_output_tokens: u32,
    },
    /// A value could not be written as JSON.
    #[error("the request cannot be written as JSON: {reason}")]
    Json {
        /// The serializer's words.
        reason: String,
    },
}

/// Why the body of a successful response could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The body ended before the message did.
    #[error("the answer was cut off before its end")]
    Cut,
    /// The service makes the answer in the background and is not done: it is fetched by its id, see [`Wire::fetch`](crate::Wire::fetch).
    #[error("the service is still making the answer {id} in the background")]
    Unfinished {
        /// The id of the answer.
        id: String,
    },
    /// The provider reported a failure inside the body.
    #[error("the provider failed while answering: {message}")]
    Reported {
        /// Which failure.
        kind: ErrorKind,
        /// The provider's words, on one line.
        message: String,
        /// How long the provider wants us to wait.
        retry_after: Option<Duration>,
        /// Whether the same request may succeed later.
        retryable: bool,
    },
    /// The body is an HTML page.
    #[error("an HTML page instead of an API response")]
    Html,
    /// The body is not text. The wires of this crate read what is no UTF-8 as U+FFFD.
    #[error("the answer is not UTF-8")]
    NotUtf8,
    /// One event is larger than any honest one, or a body that is no stream: [`Bounds::event`](crate::Bounds::event).
    #[error("one event of the answer is larger than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: usize,
    },
    /// The answer goes on and on: [`Bounds::words`](crate::Bounds::words), [`Bounds::blocks`](crate::Bounds::blocks).
    #[error("the answer is longer than {limit} bytes, the most that is taken of one")]
    TooLong {
        /// The most that is taken.
        limit: usize,
    },
    /// The answer has more parts than any honest one.
    #[error("the answer has more than {limit} {what}")]
    TooMany {
        /// Parts of which kind.
        what: &'static str,
        /// The most that are read.
        limit: usize,
    },
    /// What came contradicts itself, so that a call of it must not run.
    #[error("the answer cannot be read ({reason}): {excerpt}")]
    Doubtful {
        /// What contradicts what.
        reason: String,
        /// How the later one begins, on one line.
        excerpt: String,
    },
    /// The answer came to its end, and one of its calls cannot be understood: it has no name, for example. The model wrote
    /// it so, and may write it so again if it is sent the same request.
    #[error("a call of the answer cannot be read ({reason}): {excerpt}")]
    UnreadCall {
        /// What is wrong with it.
        reason: String,
        /// How it begins, on one line.
        excerpt: String,
    },
    /// An event could not be understood.
    #[error("the answer cannot be read ({reason}): {excerpt}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
        /// How the event begins, on one line.
        excerpt: String,
    },
}

impl DecodeError {
    /// Returns a failure that the provider reported inside the body. Rate limits, overload and failures of the server may
    /// pass, all else does not.
    pub fn reported(kind: ErrorKind, message: &str) -> Self {
        DecodeError::Reported {
            kind,
            message: one_line(message, 500),
            retry_after: None,
            retryable: may_pass(kind),
        }
    }

    pub(crate) fn doubtful(reason: &str, excerpt: &str) -> Self {
        DecodeError::Doubtful { reason: reason.to_owned(), excerpt: one_line(excerpt, 200) }
    }

    /// Returns whether the answer was too large: what came of it is good as far as it goes, and asking again brings the same.
    pub fn is_bound(&self) -> bool {
        match self {
            DecodeError::TooLarge { .. } | DecodeError::TooLong { .. } | DecodeError::TooMany { .. } => true,
            DecodeError::Cut
            | DecodeError::Unfinished { .. }
            | DecodeError::Reported { .. }
            | DecodeError::Html
            | DecodeError::NotUtf8
            | DecodeError::Doubtful { .. }
            | DecodeError::UnreadCall { .. }
            | DecodeError::Malformed { .. } => false,
        }
    }

    pub(crate) fn malformed(reason: impl fmt::Display, event: &str) -> Self {
        DecodeError::Malformed { reason: one_line(&reason.to_string(), 200), excerpt: one_line(event, 200) }
    }
}

/// Which kind of refusal or failure a provider reported.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The key is missing, wrong, or not good for this.
    Auth,
    /// The account has no credit or quota left; waiting does not help.
    Quota,
    /// Too many requests or tokens for now.
    RateLimited,
    /// The service has too much to do.
    Overloaded,
    /// The request is at fault, the history's shape included; the same body fails again.
    InvalidRequest,
    /// The conversation is longer than the model can read.
    ContextTooLong,
    /// No such model or address.
    NotFound,
    /// The service failed.
    Server,
    /// None of these.
    Other,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Auth => "authentication",
            ErrorKind::Quota => "quota exhausted",
            ErrorKind::RateLimited => "rate limit",
            ErrorKind::Overloaded => "overloaded",
            ErrorKind::InvalidRequest => "invalid request",
            ErrorKind::ContextTooLong => "context too long",
            ErrorKind::NotFound => "not found",
            ErrorKind::Server => "server failure",
            ErrorKind::Other => "refused",
        })
    }
}

/// Why a request to a provider failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The service answered with an error.
    #[error("{kind} (status {status}): {message}{}", RetryAfter(*.retry_after))]
    #[non_exhaustive]
    Api {
        /// The status; 200 if the error came inside a body that had begun well.
        status: u16,
        /// Which kind.
        kind: ErrorKind,
        /// The service's words, on one line.
        message: String,
        /// How long the service wants us to wait.
        retry_after: Option<Duration>,
        /// Whether the same request may succeed later.
        retryable: bool,
        /// What the service wants otherwise, if the refusal says so; then the request may be sent again with it.
        wants: Option<crate::Trait>,
    },
    /// Something that is no API answered.
    #[error(
        "{endpoint} answered with an HTML page instead of an API response (status {status}): is the base URL right?"
    )]
    Html {
        /// Who answered.
        endpoint: String,
        /// The status.
        status: u16,
    },
    /// The connection could not be made or broke.
    #[error("cannot reach {endpoint}: {message}")]
    Transport {
        /// Whom we wanted to reach.
        endpoint: String,
        /// What the transport says, on one line.
        message: String,
    },
    /// The connection goes through a proxy that could not be reached, refused, or answered by itself.
    #[error(
        "cannot reach {endpoint} through the proxy {proxy}: {message} (hosts that NO_PROXY names are asked directly)"
    )]
    #[non_exhaustive]
    Proxy {
        /// Whom we wanted to reach.
        endpoint: String,
        /// The proxy, without user and password, and the variable that names it.
        proxy: String,
        /// The status that it answered with, if it did.
        status: Option<u16>,
        /// What happened, on one line.
        message: String,
    },
    /// Nothing came for too long.
    #[error("no {what} within {} s", .after.as_secs_f32())]
    Timeout {
        /// What we waited for.
        what: Waiting,
        /// For how long.
        after: Duration,
    },
    /// The answer ended or the connection broke before the message was complete.
    #[error("the answer was cut off before its end")]
    Cut,
    /// The answer could not be read.
    #[error(transparent)]
    Decode(DecodeError),
    /// The request is not legal on the wire; nothing was sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The request could not be signed; nothing was sent.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// A recording has no answer to the request.
    #[error("request {request} has no recorded answer: {why}")]
    NotRecorded {
        /// Which request to the recording it was, from 1.
        request: usize,
        /// What the recording has instead.
        why: String,
    },
}

impl ProviderError {
    /// Takes keys out of foreign words: a service may quote what it was sent.
    #[cfg(feature = "http")]
    pub(crate) fn without(mut self, keys: &[crate::Secret]) -> Self {
        let texts: Vec<&mut String> = match &mut self {
            ProviderError::Api { message, .. } => vec![message],
            ProviderError::Transport { message, .. } | ProviderError::Proxy { message, .. } => vec![message],
            ProviderError::Decode(DecodeError::Reported { message, .. }) => vec![message],
            ProviderError::Decode(
                DecodeError::Malformed { reason, excerpt }
                | DecodeError::UnreadCall { reason, excerpt }
                | DecodeError::Doubtful { reason, excerpt },
            ) => vec![reason, excerpt],
            _ => Vec::new(),
        };
        for text in texts {
            for key in keys {
                *text = key.hide_in(text);
            }
        }
        self
    }
}

/// What a timeout waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Waiting {
    /// A connection: its name, TCP and TLS.
    Connection,
    /// The response's head and the first byte of its body.
    Response,
    /// The next bytes of the body.
    NextBytes,
    /// The whole answer.
    WholeAnswer,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Waiting::Connection => "connection",
            Waiting::Response => "response",
            Waiting::NextBytes => "further bytes of the answer",
            Waiting::WholeAnswer => "complete answer",
        })
    }
}

impl ProviderError {
    /// Reads a response whose status is not a success, in any of the forms that services and gateways answer in.
    ///
    /// For wires of your own; what cannot be read is quoted.
    pub fn of_response(status: u16, headers: &[(String, String)], body: &[u8]) -> Self {
        crate::api_error::of_response(status, headers, body)
    }

    /// Returns an error of the service, as a script or a test needs it.
    ///
    /// Rate limits, overload and failures of the server are retryable, all else is not.
    pub fn api(status: u16, kind: ErrorKind, message: &str) -> Self {
        let retryable = may_pass(kind);
        let message = one_line(message, 500);
        ProviderError::Api { status, kind, message, retry_after: None, retryable, wants: None }
    }

    /// Adds what the service wants otherwise, where it answered with an error.
    #[must_use]
    pub fn wanting(mut self, one: Option<crate::Trait>) -> Self {
        if let ProviderError::Api { wants, .. } = &mut self {
            *wants = one;
        }
        self
    }

    /// Returns what the service wants otherwise, if its refusal says so.
    pub fn wants(&self) -> Option<crate::Trait> {
        if let ProviderError::Api { wants, .. } = self { *wants } else { None }
    }

    /// Returns the kind, if the service answered with an error.
    pub fn kind(&self) -> Option<ErrorKind> {
        if let ProviderError::Api { kind, .. } = self { Some(*kind) } else { None }
    }

    /// Returns whether the same request may succeed later.
    ///
    /// It does not say that it may be sent again: what was already shown to a person would be repeated.
    pub fn is_retryable(&self) -> bool {
        match self {
            ProviderError::Api { retryable, .. } => *retryable,
            // A gateway's own page in front of a service that is down.
            ProviderError::Html { status, .. } => *status >= 500,
            ProviderError::Transport { .. }
            | ProviderError::Cut
            | ProviderError::Decode(DecodeError::Unfinished { .. }) => true,
            // One that wants to know who we are, or does not let us through, will the next time too.
            ProviderError::Proxy { status, .. } => status.is_none_or(|status| status >= 500),
            ProviderError::Timeout { what, .. } => *what != Waiting::WholeAnswer,
            ProviderError::Decode(_)
            | ProviderError::Encode(_)
            | ProviderError::Sign(_)
            | ProviderError::NotRecorded { .. } => false,
        }
    }

    /// Returns whether the service told the failure inside of an answer: that answer has ended, and is no better the next time that
    /// it is fetched.
    pub fn is_in_answer(&self) -> bool {
        matches!(self, ProviderError::Api { status: 200, .. })
    }

    /// Returns how long the service wants us to wait, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ProviderError::Api { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl From<DecodeError> for ProviderError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Cut => ProviderError::Cut,
            DecodeError::Reported { kind, message, retry_after, retryable } => {
                ProviderError::Api { status: 200, kind, message, retry_after, retryable, wants: None }
            }
            DecodeError::Html => ProviderError::Html { endpoint: "the endpoint".to_owned(), status: 200 },
            other => ProviderError::Decode(other),
        }
    }
}

/// Whether a failure of this kind passes by itself.
pub(crate) fn may_pass(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded | ErrorKind::Server)
}

struct RetryAfter(Option<Duration>);

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, " (it asks to wait {} s)", wait.as_secs_f32()),
            None => Ok(()),
        }
    }
}

/// Puts foreign text on one line of at most `limit` characters; control characters become spaces.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut taken = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
            taken += 1;
        }
        for c in word.chars() {
            if taken >= limit {
                line.push('…');
                return line;
            }
            line.push(c);
            taken += 1;
        }
    }
    line
}
