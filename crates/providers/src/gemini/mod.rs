//! Google Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.
//!
//! A turn is a row of parts here, and a signature belongs to the very part that it came on. On a call it is
//! [`ToolCall::signature`](trunkline_message_tree::ToolCall::signature). Words that are signed stay a text block, so that
//! people can read them; what else was in their parts follows as a raw block, which says which bytes of the text it
//! belongs to, and encoding makes the same parts of both again. Signed parts without words and parts of other kinds are
//! raw blocks as they came.
//!
//! What a tool answered goes back as `{"output": text}`, a failure as `{"error": text}`. An answer that is one JSON object
//! without white space between its tokens is data and goes as that object; any other JSON, such as a file that was read,
//! keeps its bytes as text. Results stand in the order of their calls, apart from the words that follow them.
//!
//! Facts from Google's documents and Python client (google-genai 3.4.0), error texts that users quote and recorded
//! exchanges, read 2026-11.

mod decode;
mod encode;
mod shapes;

use crate::front::Front;
use crate::{
    Decode, EncodeError, Feature, HttpRequest, Memo, ProviderError, Request, Secret, Support, Wire, api_error,
};

/// The wire's name, as rules and raw blocks know it.
pub const NAME: &str = "gemini";

/// The Gemini API, as Google's AI Studio and Vertex AI offer it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Gemini {
    /// Whether calls and results carry their ids.
    ///
    /// Models from Gemini 3 on give ids and want to see them again, and the others take them (recorded); Vertex AI may
    /// refuse them (`Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`). Without ids the
    /// service pairs by count and order.
    pub call_ids: bool,
    /// Whether the key is an access token of Google Cloud, sent as a bearer, and not an API key.
    pub bearer: bool,
}

impl Default for Gemini {
    fn default() -> Self {
        Gemini { call_ids: true, bearer: false }
    }
}

impl Gemini {
    /// Returns the wire as AI Studio speaks it: ids, and an API key.
    pub fn new() -> Self {
        Gemini::default()
    }

    /// Returns the wire as Vertex AI speaks it: no ids, and an access token.
    ///
    /// Its base URL ends with the publisher: `https://aiplatform.googleapis.com/v1/projects/PROJECT/locations/global/publishers/google`.
    pub fn vertex() -> Self {
        Gemini { call_ids: false, bearer: true }
    }
}

impl Wire for Gemini {
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
        encode::request(request, self.call_ids, memo)
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        if self.bearer {
            ("authorization".to_owned(), format!("Bearer {}", key.expose()))
        } else {
            ("x-goog-api-key".to_owned(), key.expose().to_owned())
        }
    }

    fn decoder(&self, request: &Request) -> Box<dyn Decode> {
        Box::new(Front::new(decode::Decoder::new(request)))
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        api_error::of_response(status, headers, body)
    }
}

fn support(feature: Feature) -> Support {
    match feature {
        Feature::ParallelCalls | Feature::CacheKey | Feature::User => Support::None,
        Feature::ThinkingOff => Support::Near("from Gemini 3 on the least"),
        Feature::ThinkingBudget => Support::Near("from Gemini 3 on as effort"),
        Feature::ThinkingEffort => Support::Near("up to Gemini 2.5 as budget"),
        // What is cached by name goes through `extra`.
        Feature::CacheBreakpoints => Support::Near("automatic"),
        _ => Support::Native,
    }
}
