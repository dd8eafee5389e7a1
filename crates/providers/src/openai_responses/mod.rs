//! OpenAI Responses: `POST /v1/responses`, used without the service's own memory.
//!
//! The conversation is a flat list of items here, so one message of ours may become several. The service is asked to
//! store nothing; reasoning travels encrypted, as an item that we carry and never read. Facts from OpenAI's
//! specification, error texts that users quote and recorded exchanges, read 2026-11.

mod decode;
mod encode;
mod items;
mod said;
mod shapes;

use crate::front::Front;
use crate::{
    Decode, EncodeError, Feature, HttpRequest, Memo, ProviderError, Request, Secret, Support, Wire, api_error,
};

/// The wire's name, as rules and raw blocks know it.
pub const NAME: &str = "openai-responses";

/// The Responses API, also as other services and local servers offer it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiResponses {
    /// Whether the service is asked for encrypted reasoning, so that a model's reasoning can go back to it.
    ///
    /// On by default: a service that stores nothing cannot find reasoning that comes back without it. Models that do not
    /// reason refuse the question (`Encrypted content is not supported with this model.`); turn it off for them.
    pub encrypted_reasoning: bool,
}

impl Default for OpenAiResponses {
    fn default() -> Self {
        OpenAiResponses { encrypted_reasoning: true }
    }
}

impl OpenAiResponses {
    /// Returns the wire for models that reason.
    pub fn new() -> Self {
        OpenAiResponses::default()
    }

    /// Returns the wire for models that do not reason, such as gpt-4o.
    pub fn without_reasoning() -> Self {
        OpenAiResponses { encrypted_reasoning: false }
    }
}

impl Wire for OpenAiResponses {
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
        encode::request(request, self.encrypted_reasoning, memo)
    }

    fn fetch(&self, request: &Request, id: &str) -> Option<HttpRequest> {
        encode::fetch(request, self.encrypted_reasoning, id)
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
        Feature::Stop | Feature::TopK | Feature::Penalties | Feature::Seed => Support::None,
        Feature::ThinkingBudget => Support::Near("as effort"),
        Feature::CacheBreakpoints => Support::Near("automatic"),
        _ => Support::Native,
    }
}
