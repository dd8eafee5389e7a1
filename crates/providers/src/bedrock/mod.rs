//! AWS Bedrock Converse: `POST /model/{id}/converse` and `/converse-stream`.
//!
//! One protocol for the models of many makers, who differ in what they take of it. Facts from the service's own model
//! (botocore 1.44.5), recorded exchanges, and what public clients found out about single models, read 2026-11.

mod decode;
mod encode;
mod failure;
mod frames;
mod model;
mod shapes;

use self::model::Model;
use crate::front::Front;
use crate::{Decode, EncodeError, Feature, HttpRequest, Memo, ProviderError, Request, Secret, Support, Wire};

/// The wire's name, as rules and raw blocks know it.
pub const NAME: &str = "bedrock";

/// The Converse API.
///
/// What a model takes besides the common part goes by its id: reasoning, top-k, and where breakpoints of the cache may
/// stand. An id that does not say whose model it is, as those of application inference profiles, gets none of these
/// until [`Bedrock::behind`] tells.
///
/// A document needs a name and words beside it. The name is made of its place in the conversation; where there are no
/// words, a sentence says that there is a document. Pictures and documents by address must lie in S3.
///
/// The key is one of Bedrock's own API keys; for credentials of AWS see [`Sign`](crate::Sign).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bedrock {
    /// The id of the model that answers, if the one in the request does not say.
    pub behind: Option<String>,
}

impl Bedrock {
    /// Returns the wire for models whose ids say whose they are.
    pub fn new() -> Self {
        Bedrock::default()
    }

    /// Returns the wire for an id that stands for this model.
    pub fn behind(model: impl Into<String>) -> Self {
        Bedrock { behind: Some(model.into()) }
    }
}

impl Wire for Bedrock {
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
        let model = Model::of(self.behind.as_deref().unwrap_or(&request.model));
        encode::request(request, model, memo)
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        ("authorization".to_owned(), format!("Bearer {}", key.expose()))
    }

    fn decoder(&self, request: &Request) -> Box<dyn Decode> {
        Box::new(Front::new(decode::Decoder::new(&request.model)))
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        failure::of_response(status, headers, body)
    }
}

fn support(feature: Feature) -> Support {
    match feature {
        Feature::ChoiceNone => Support::Near("Claude; else in words"),
        Feature::TopK => Support::Near("Claude and Nova"),
        Feature::ThinkingOff | Feature::ThinkingEffort => Support::Near("as its maker has it"),
        Feature::ThinkingBudget => Support::Near("Claude before 4.7; else as effort"),
        Feature::CacheBreakpoints => Support::Near("Claude and Nova"),
        // Addresses in S3 are taken.
        Feature::ImageUrl | Feature::DocumentUrl => Support::None,
        Feature::ParallelCalls | Feature::Penalties | Feature::Seed | Feature::CacheKey | Feature::User => {
            Support::None
        }
        _ => Support::Native,
    }
}
