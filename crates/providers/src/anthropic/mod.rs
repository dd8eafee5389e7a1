//! Anthropic Messages: `POST /v1/messages`.
//!
//! Results travel inside user messages here: a run of tool messages and the user message after it become one wire
//! message, results first. Facts from Anthropic's documents, its Python client and recorded exchanges, read 2026-11.

mod decode;
mod encode;
mod shapes;

use crate::front::Front;
use crate::{
    Decode, EncodeError, Feature, HttpRequest, Memo, ProviderError, Request, Secret, Support, Wire, api_error,
};

/// The wire's name, as rules and raw blocks know it.
pub const NAME: &str = "anthropic";

/// The Messages API, also as local servers and gateways offer it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Anthropic {
    /// Names of beta features to ask for; sent as one `anthropic-beta` header.
    pub betas: Vec<String>,
}

impl Anthropic {
    /// Returns the wire without beta features.
    pub fn new() -> Self {
        Anthropic::default()
    }
}

impl Wire for Anthropic {
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
        let http = encode::request(request, memo)?.with_header("anthropic-version", "2023-06-01");
        Ok(match self.betas.as_slice() {
            [] => http,
            betas => http.with_header("anthropic-beta", betas.join(",")),
        })
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        ("x-api-key".to_owned(), key.expose().to_owned())
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
        Feature::ThinkingBudget => Support::Near("as effort from Claude 4.7 on"),
        Feature::ThinkingEffort => Support::Near("as budget before Claude 4.6"),
        Feature::Temperature | Feature::TopP | Feature::TopK => Support::Near("refused by the newest models"),
        Feature::Penalties | Feature::Seed | Feature::CacheKey | Feature::Metadata => Support::None,
        _ => Support::Native,
    }
}
