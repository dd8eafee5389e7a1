//! Ollama's native chat: `POST /api/chat`.
//!
//! Results find their calls by the tool's name and by order here. Ids came later and may be missing: a call without one
//! gets `call_0`, `call_1`, … by its place in the answer, and an id of that form never goes back to the service.
//! Facts from the service's own API description and clients and from recorded exchanges, read 2026-11.

mod decode;
mod encode;
mod objects;
mod shapes;

use crate::front::Front;
use crate::{
    Decode, EncodeError, Feature, HttpRequest, Memo, ProviderError, Request, Secret, Support, Wire, api_error,
};

/// The wire's name, as rules know it.
pub const NAME: &str = "ollama";

/// The chat of an Ollama server, or of ollama.com.
///
/// A server of one's own needs no key; ollama.com takes one. How long a model stays in memory (`keep_alive`) and how
/// much it can read (`num_ctx` in `options`) are set with [`Request::extra`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ollama;

impl Ollama {
    /// Returns the wire.
    pub fn new() -> Self {
        Ollama
    }
}

impl Wire for Ollama {
    fn name(&self) -> &'static str {
        NAME
    }

    fn support(&self, feature: Feature) -> Support {
        support(feature)
    }

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        self.encode_next(request, &mut Memo::new())
    }

    fn encode_next(&self, request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
        encode::request(request, memo)
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        ("authorization".to_owned(), format!("Bearer {}", key.expose()))
    }

    fn decoder(&self, _request: &Request) -> Box<dyn Decode> {
        Box::new(Front::new(decode::Decoder::default()))
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        api_error::of_response(status, headers, body)
    }
}

fn support(feature: Feature) -> Support {
    match feature {
        Feature::ChoiceAny | Feature::ChoiceNamed => Support::Near("asked for in words"),
        // What leads both this request and the one before is kept while the model stays in memory.
        Feature::CacheBreakpoints => Support::Near("automatic"),
        Feature::ThinkingBudget => Support::Near("on, without a limit"),
        Feature::ThinkingEffort => Support::Near("low, medium, high"),
        Feature::ProviderTools
        | Feature::ParallelCalls
        | Feature::ImageUrl
        | Feature::Document
        | Feature::DocumentUrl
        | Feature::ResultImage
        | Feature::ResultDocument
        | Feature::CacheKey
        | Feature::User
        | Feature::Metadata
        | Feature::ServiceTier => Support::None,
        _ => Support::Native,
    }
}

// Up to four digits: the service's own ids are `call_` and eight letters and digits.
const MADE_UP_DIGITS: usize = 4;

/// Returns the id of a call that came without one.
fn made_up_id(number: usize) -> String {
    format!("call_{number}")
}

/// Returns an id if the service may know it.
fn known_id(id: &str) -> Option<&str> {
    let number = id.strip_prefix("call_").unwrap_or_default();
    let made_up =
        (1..=MADE_UP_DIGITS).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    Some(id).filter(|id| !id.is_empty() && !made_up)
}
