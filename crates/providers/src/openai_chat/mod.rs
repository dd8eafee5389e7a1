//! OpenAI Chat Completions: `POST /v1/chat/completions`, and everyone who offers the same.
//!
//! The dialects differ in small ways that a server refuses or silently ignores; they are data here, see [`Dialect`].
//! Facts from OpenAI's specification, several servers' sources and recorded exchanges, read 2026-11.

mod calls;
mod decode;
mod dialect;
mod encode;
mod shapes;

pub use dialect::{Dialect, MaxTokensField, ReasoningField};

use crate::{Decode, EncodeError, HttpRequest, ProviderError, Request, Secret, Wire, api_error};

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

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        Ok(HttpRequest {
            method: "POST",
            path: "/v1/chat/completions".to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: encode::body(request, &self.dialect)?,
        })
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        ("authorization".to_owned(), format!("Bearer {}", key.expose()))
    }

    fn decoder(&self, _request: &Request) -> Box<dyn Decode> {
        Box::new(decode::Decoder::default())
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        api_error::of_response(status, headers, body)
    }
}
