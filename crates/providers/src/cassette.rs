//! Recorded exchanges with a service, as text.
//!
//! A cassette is lines of JSON: the first says what it is, each further one is an exchange, whole, so that a process
//! that is killed loses at most the one that was under way. What was asked is there as a digest only; keys and cookies
//! are not there at all. Recording is [`Recording`](crate::Recording), playing is [`Replay`](crate::Replay).

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use trunkline_message_tree::Origin;

use crate::error::one_line;
use crate::{HttpRequest, Secret, Waiting};

const VERSION: u64 = 1;
// What a decoder or an error needs, and what a person needs to ask the service about an answer. `date` is what a
// `retry-after` date is measured against.
const KEPT_HEADERS: [&str; 12] = [
    "content-type",
    "content-encoding",
    "date",
    "location",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "x-amzn-errortype",
    "x-goog-request-id",
];
// Shorter ones are words such as `none` that local servers are given in place of a key.
const SHORTEST_KEY: usize = 8;
const REDACTED: &str = "***";

/// Recorded exchanges, in the order in which they ended.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_providers::{Anthropic, Cassette, Exchange, Request, Wire};
///
/// let request = Anthropic::new().encode(&Request::new("m", [Message::user("hi")]))?;
/// let mut cassette = Cassette::default();
/// cassette.exchanges.push(Exchange::new("anthropic", &request));
/// assert_eq!(Cassette::parse(&cassette.print())?, cassette);
/// // What was asked is not in it.
/// assert!(!cassette.print().contains("hi\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cassette {
    /// The exchanges.
    pub exchanges: Vec<Exchange>,
    /// Whether a last line was left out that somebody did not write to its end.
    pub torn: bool,
}

/// One request to a service and what came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Exchange {
    /// The name of the wire.
    pub wire: String,
    /// Who was asked, if the recorder said so; [`Replay`](crate::Replay) does not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The method.
    pub method: String,
    /// The path below the base URL.
    pub path: String,
    /// What was asked, see [`Exchange::digest_of`].
    pub digest: String,
    /// The status; `None` if no response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers of the response that matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body of the response, in the pieces in which it came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<Chunk>,
    /// How it ended.
    pub ending: Ending,
    /// When it ended, counted from the request; in milliseconds in the text, like all times.
    #[serde(with = "millis")]
    pub ended: Duration,
    /// How long was waited before the same request was sent again; `None` if it was not.
    #[serde(default, with = "some_millis", skip_serializing_if = "Option::is_none")]
    pub retried: Option<Duration>,
}

/// A piece of a body: `[milliseconds, "text"]`, or `[milliseconds, {"base64": "…"}]` where it is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// When it came, counted from the request.
    pub at: Duration,
    /// The bytes.
    pub bytes: Bytes,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The body came to its end.
    Complete,
    /// The connection broke, or the body was larger than what [`Recording`](crate::Recording) keeps.
    Cut,
    /// No connection could be made.
    Unreached {
        /// The transport's words.
        cause: String,
    },
    /// We waited too long.
    TimedOut {
        /// What we waited for.
        #[serde(with = "waiting")]
        waiting: Waiting,
        /// For how long.
        #[serde(with = "millis")]
        after: Duration,
    },
    /// We wanted no more of it.
    Cancelled,
}

/// Why a text is no cassette.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The first line is another one.
    #[error("not a cassette: the first line is not {{\"trunkline_cassette\":{VERSION}}}")]
    NotACassette,
    /// It was written by a newer program.
    #[error("the cassette has version {version}, this program reads version {VERSION}")]
    Version {
        /// Its version.
        version: u64,
    },
    /// A line is not an exchange.
    #[error("line {line} of the cassette: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    trunkline_cassette: u64,
}

impl Cassette {
    /// Returns the first line of every cassette, with its line break.
    pub fn head() -> String {
        line_of(&Head { trunkline_cassette: VERSION })
    }

    /// Reads a cassette. A last line without a line break counts if it is whole, and is left out if it is not.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] with the number of the line.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n').zip(1..);
        let head = lines.next().and_then(|(head, _)| serde_json::from_str::<Head>(head).ok());
        match head.ok_or(CassetteError::NotACassette)?.trunkline_cassette {
            VERSION => {}
            version => return Err(CassetteError::Version { version }),
        }
        let mut cassette = Cassette::default();
        for (text, line) in lines.filter(|(text, _)| !text.trim().is_empty()) {
            match exchange(text) {
                Ok(exchange) => cassette.exchanges.push(exchange),
                // Only the last line can be without an end.
                Err(_) if !text.ends_with('\n') => cassette.torn = true,
                Err(reason) => return Err(CassetteError::Line { line, reason }),
            }
        }
        Ok(cassette)
    }

    /// Returns the cassette as text.
    pub fn print(&self) -> String {
        let lines = self.exchanges.iter().map(Exchange::line);
        std::iter::once(Cassette::head()).chain(lines).collect()
    }
}

fn exchange(line: &str) -> Result<Exchange, String> {
    let exchange: Exchange = serde_json::from_str(line.trim_end()).map_err(|fault| {
        // It counts lines too, and for it there is one.
        let words = fault.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        format!("{} at column {}", one_line(words, 200), fault.column())
    })?;
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if exchange.digest.len() != 64 || !exchange.digest.bytes().all(is_hex) {
        return Err("the digest is not 64 hexadecimal digits".to_owned());
    }
    if exchange.status.is_some_and(|status| !(100..=599).contains(&status)) {
        return Err("there is no such status".to_owned());
    }
    if exchange.status.is_none() && (!exchange.body.is_empty() || exchange.ending == Ending::Complete) {
        return Err("there is an answer without a status".to_owned());
    }
    let times = exchange.body.iter().map(|chunk| chunk.at).chain([exchange.ended]);
    if !times.is_sorted() {
        return Err("the times run backwards".to_owned());
    }
    Ok(exchange)
}

impl Exchange {
    /// Returns an exchange of which only the request is known: cancelled, until something else is said.
    pub fn new(wire: &str, request: &HttpRequest) -> Self {
        Exchange {
            wire: wire.to_owned(),
            origin: None,
            method: request.method.to_owned(),
            path: request.path.clone(),
            digest: Exchange::digest_of(request),
            status: None,
            headers: Vec::new(),
            body: Vec::new(),
            ending: Ending::Cancelled,
            ended: Duration::ZERO,
            retried: None,
        }
    }

    /// Returns the SHA-256 of `METHOD path`, a line break, and the body, in hexadecimal digits.
    ///
    /// Hashes the whole body. Neither headers nor the address are in it: the key and the machine may be others.
    pub fn digest_of(request: &HttpRequest) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{} {}\n", request.method, request.path));
        request.body.chunks().iter().for_each(|chunk| hash.update(chunk));
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Takes in the head of the response. Of its headers those are kept that matter; none can hold a key or a cookie.
    pub fn answered<'a>(&mut self, status: u16, headers: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.status = Some(status);
        let kept = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        self.headers = kept.filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str())).collect();
    }

    /// Takes in the next piece of the body, which came so long after the request.
    pub fn received(&mut self, at: Duration, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return;
        }
        let at = whole_millis(at).max(self.body.last().map(|chunk| chunk.at).unwrap_or_default());
        self.body.push(Chunk { at, bytes });
    }

    /// Says how it ended, so long after the request, and after what wait the same request is sent again, if it is.
    pub fn end(&mut self, at: Duration, ending: Ending, retried: Option<Duration>) {
        self.retried = retried.map(whole_millis);
        self.ended = whole_millis(at).max(self.body.last().map(|chunk| chunk.at).unwrap_or_default());
        self.ending = match ending {
            Ending::TimedOut { waiting, after } => Ending::TimedOut { waiting, after: whole_millis(after) },
            other => other,
        };
    }

    /// Replaces the key by `***` wherever the service quoted it, across pieces of the body too.
    ///
    /// Keys of less than eight bytes stay: they are words in place of a key, and may stand in any answer.
    pub fn without(mut self, key: &Secret) -> Self {
        let key = key.expose();
        if key.len() < SHORTEST_KEY {
            return self;
        }
        let quoted = serde_json::Value::from(key).to_string();
        let quoted = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(key);
        // As it is, as JSON has it, and as those write JSON who escape slashes.
        let mut forms = vec![key.to_owned(), quoted.to_owned(), quoted.replace('/', "\\/")];
        forms.dedup();
        for form in &forms {
            let texts = self.headers.iter_mut().map(|(_, value)| value).chain([&mut self.path]);
            texts.for_each(|text| *text = text.replace(form.as_str(), REDACTED));
            if let Ending::Unreached { cause } = &mut self.ending {
                *cause = cause.replace(form.as_str(), REDACTED);
            }
            redact(&mut self.body, form.as_bytes());
        }
        self
    }

    /// Returns the line of a cassette that holds it, with its line break.
    pub fn line(&self) -> String {
        line_of(self)
    }
}

/// Replaces a key in a body: what is between its first and its last byte goes, wherever the pieces were cut.
fn redact(body: &mut Vec<Chunk>, key: &[u8]) {
    let whole: Vec<u8> = body.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect();
    let mut found: Vec<usize> = Vec::new();
    let mut from = 0;
    while let Some(at) = find(whole.get(from..).unwrap_or_default(), key) {
        found.push(from + at);
        from += at + key.len();
    }
    if found.is_empty() {
        return;
    }
    let mut keys = found.into_iter().peekable();
    let mut position = 0;
    for chunk in body.iter_mut() {
        let mut kept = Vec::with_capacity(chunk.bytes.len());
        for byte in &chunk.bytes {
            while keys.next_if(|at| at + key.len() <= position).is_some() {}
            match keys.peek() {
                Some(at) if position == *at => kept.extend_from_slice(REDACTED.as_bytes()),
                Some(at) if position > *at => {}
                _ => kept.push(*byte),
            }
            position += 1;
        }
        chunk.bytes = kept.into();
    }
    body.retain(|chunk| !chunk.bytes.is_empty());
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn line_of(value: &impl Serialize) -> String {
    let mut line =
        serde_json::to_string(value).expect("texts and numbers are JSON, and no map has other keys");
    line.push('\n');
    line
}

/// Times are whole milliseconds, so that what was printed is what is read.
fn whole_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ChunkShape<'a> {
    Text(u64, Cow<'a, str>),
    Binary(u64, Binary),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Binary {
    base64: String,
}

impl Serialize for Chunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX);
        let shape = match str::from_utf8(&self.bytes) {
            Ok(text) => ChunkShape::Text(at, Cow::Borrowed(text)),
            Err(_) => ChunkShape::Binary(at, Binary { base64: STANDARD.encode(&self.bytes) }),
        };
        shape.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        let fault = "a piece of a body is [milliseconds, \"text\"] or [milliseconds, {\"base64\": \"…\"}]";
        match ChunkShape::deserialize(deserializer).map_err(|_| D::Error::custom(fault))? {
            ChunkShape::Text(at, text) => {
                Ok(Chunk { at: Duration::from_millis(at), bytes: text.into_owned().into() })
            }
            ChunkShape::Binary(at, Binary { base64 }) => {
                let bytes = STANDARD.decode(base64).map_err(|_| D::Error::custom("not base64"))?;
                Ok(Chunk { at: Duration::from_millis(at), bytes: bytes.into() })
            }
        }
    }
}

mod millis {
    //! A time as a number.

    use super::*;

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

mod some_millis {
    //! A time as a number, if there is one.

    use super::*;

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => millis::serialize(time, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

mod waiting {
    //! What a timeout waited for, as a word.

    use super::*;

    const WORDS: [(Waiting, &str); 4] = [
        (Waiting::Connection, "connection"),
        (Waiting::Response, "response"),
        (Waiting::NextBytes, "next_bytes"),
        (Waiting::WholeAnswer, "whole_answer"),
    ];

    pub(super) fn serialize<S: Serializer>(waiting: &Waiting, serializer: S) -> Result<S::Ok, S::Error> {
        let word = WORDS.iter().find(|(known, _)| known == waiting).map_or("response", |(_, word)| word);
        serializer.serialize_str(word)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Waiting, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = WORDS.iter().find(|(_, known)| *known == word).map(|(waiting, _)| *waiting);
        known.ok_or_else(|| serde::de::Error::custom(format!("nobody waits for {word:?}")))
    }
}
