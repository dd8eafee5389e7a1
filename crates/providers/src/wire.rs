//! What a wire is: bytes out, bytes in, and nothing that waits.
//!
//! A wire is a value without state. Everything that a reply needs to remember lives in its decoder, so one wire serves
//! any number of requests at once.

use crate::{
    Body, Bounds, DecodeError, EncodeError, Event, Feature, Memo, ProviderError, Request, Secret, Support,
    Trait, Traits, learn,
};

/// A provider's protocol as two pure functions.
pub trait Wire: Send + Sync {
    /// Returns the name of the wire, such as `anthropic`; rules for legal histories go by it.
    fn name(&self) -> &'static str;

    /// Returns what the wire makes of a feature. [`Wire::encode`] refuses a request that asks for one it has not.
    fn support(&self, feature: Feature) -> Support;

    /// Writes the request as this wire wants it. The key is not in it.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if the wire would refuse the request, or has no place for something in it.
    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError>;

    /// The same, without encoding again what `memo` knows from the request before: the bytes are those of
    /// [`Wire::encode`].
    ///
    /// # Errors
    ///
    /// As [`Wire::encode`]; the memo is then empty.
    fn encode_next(&self, request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
        memo.clear();
        self.encode(request)
    }

    /// Returns what fetches the answer of that id, if the service makes the answer to `request` in the background and keeps it: then
    /// the request need not be sent again where its answer is late or its connection broke. `None` on wires that know no such
    /// answers; the same [decoder](Wire::decoder) reads what comes.
    fn fetch(&self, request: &Request, id: &str) -> Option<HttpRequest> {
        let _ = (request, id);
        None
    }

    /// Returns the header that carries the key.
    fn key_header(&self, key: &Secret) -> (String, String);

    /// Returns a decoder for the body of a successful response to `request`.
    fn decoder(&self, request: &Request) -> Box<dyn Decode>;

    /// Reads a response whose status is not a success. Never fails; what cannot be read is quoted.
    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError;

    /// Reads in a refusal what the service wants otherwise than it was sent; `sent` is what the request took into account.
    ///
    /// Only the fields of an error are believed, and words only where they begin as the services' own do: what they quote
    /// chooses nothing. Wires of other names than ours learn what all have in common.
    fn learn(&self, sent: &Traits, status: u16, body: &[u8]) -> Option<Trait> {
        learn::of_refusal(self.name(), sent, status, body)
    }
}

/// Reads the body of one response, in pieces of any size.
///
/// The events do not depend on where the pieces were cut.
pub trait Decode: Send {
    /// Takes in the next bytes and appends what they complete.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]; what was appended before it stands, and the decoder must not be fed again.
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError>;

    /// Says that the body has ended.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Cut`] if the message had not; anything else as in [`Decode::push`].
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError>;

    /// Sets how much it may hold, of one event above all; said before the first byte.
    ///
    /// Who does not care is bounded all the same in what it gives out, see [`Bounds::around`].
    fn bound(&mut self, bounds: &Bounds) {
        let _ = bounds;
    }
}

/// A request as plain data, for any HTTP client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method.
    pub method: &'static str,
    /// The path below the base URL, such as `/v1/messages`, with its query.
    pub path: String,
    /// The headers, without a key.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// What was asked for in words because the wire cannot force it here; empty almost always.
    pub softened: Vec<Feature>,
}

impl HttpRequest {
    /// Returns a request that posts JSON.
    pub fn post_json(path: impl Into<String>, body: impl Into<Body>) -> Self {
        HttpRequest {
            method: "POST",
            path: path.into(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.into(),
            softened: Vec::new(),
        }
    }

    /// Returns a request that gets something and has no body.
    pub fn get(path: impl Into<String>) -> Self {
        HttpRequest {
            method: "GET",
            path: path.into(),
            headers: Vec::new(),
            body: Body::default(),
            softened: Vec::new(),
        }
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}
