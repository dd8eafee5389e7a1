//! OpenAI Chat Completions: `POST /v1/chat/completions`, and everyone who offers the same.
//!
//! The dialects differ in small ways that a server refuses or silently ignores; they are data here, see [`Dialect`].
//! Facts from OpenAI's specification, several servers' sources and recorded exchanges, read 2026-11.

mod calls;
mod decode;
mod details;
mod dialect;
mod encode;
mod shapes;

pub use dialect::{
    Dialect, DocumentPart, Echo, ForcedChoice, MaxTokensField, ReasoningField, ReasoningPlace,
};

use crate::front::Front;
use crate::{
    Decode, EncodeError, Feature, HttpRequest, Memo, ProviderError, Request, Secret, Support, Wire, api_error,
};

/// The wire's name, as rules know it.
pub const NAME: &str = "openai-chat";

/// The Chat Completions API in one of its dialects.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenAiChat {
    /// How this server differs.
    pub dialect: Dialect,
}

impl OpenAiChat {
    /// Returns the wire in the given dialect; [`Dialect::for_host`] chooses one.
    pub fn new(dialect: Dialect) -> Self {
        OpenAiChat { dialect }
    }
}

impl Wire for OpenAiChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn support(&self, feature: Feature) -> Support {
        support(&self.dialect, feature)
    }

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        self.encode_next(request, &mut Memo::new())
    }

    fn encode_next(&self, request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
        encode::request(request, &self.dialect, memo)
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

fn support(dialect: &Dialect, feature: Feature) -> Support {
    let only_if = |has: bool| if has { Support::Native } else { Support::None };
    match feature {
        Feature::ChoiceNamed if dialect.forced_choice == ForcedChoice::Required => {
            Support::Near("required, and the name in words")
        }
        Feature::Image | Feature::ImageUrl => only_if(dialect.images),
        Feature::Document => only_if(dialect.documents != DocumentPart::None),
        Feature::DocumentUrl => only_if(dialect.documents != DocumentPart::None && dialect.document_urls),
        Feature::ResultImage => only_if(dialect.images_in_results),
        Feature::ResultDocument => Support::None,
        Feature::TopK => only_if(dialect.top_k),
        Feature::Seed => only_if(dialect.seed.is_some()),
        Feature::ThinkingBudget if dialect.reasoning != ReasoningField::Budget => Support::Near("as effort"),
        Feature::OutputSchema => only_if(dialect.output_schema),
        Feature::CacheBreakpoints if !dialect.cache_breakpoints => Support::Near("automatic"),
        Feature::CacheKey => only_if(dialect.cache_key),
        Feature::User => only_if(dialect.user.is_some()),
        Feature::Metadata => only_if(dialect.metadata),
        Feature::ServiceTier => only_if(dialect.service_tier),
        _ => Support::Native,
    }
}
