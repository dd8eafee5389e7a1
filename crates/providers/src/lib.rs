#![doc = include_str!("../README.md")]

pub mod anthropic;
mod api_error;
mod arguments;
mod assemble;
mod base_url;
pub mod bedrock;
mod beside;
mod body;
mod bound_reasoning;
mod bounds;
mod cassette;
#[cfg(feature = "http")]
mod cassette_file;
mod claude;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod event;
mod feature;
mod framing;
mod front;
pub mod gemini;
mod history;
#[cfg(feature = "http")]
mod http;
mod learn;
#[cfg(feature = "provider")]
mod memos;
mod mend;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
mod percent;
mod place;
#[cfg(feature = "provider")]
mod playback;
#[cfg(feature = "provider")]
mod provider;
mod record;
mod refused_reasoning;
#[cfg(feature = "provider")]
mod replay;
mod request;
mod retry;
#[cfg(feature = "provider")]
mod scripted;
mod secret;
mod shape;
mod sign;
#[cfg(feature = "sigv4")]
mod sigv4;
mod sse;
mod text;
mod traits;
mod wire;

pub use anthropic::Anthropic;
pub use base_url::{BaseUrl, BaseUrlError};
pub use bedrock::Bedrock;
pub use body::Body;
pub use bounds::Bounds;
pub use cassette::{Cassette, CassetteError, Chunk, Ending, Exchange};
#[cfg(feature = "http")]
pub use cassette_file::CassetteFile;
pub use error::{DecodeError, EncodeError, ErrorKind, ProviderError, Waiting};
pub use event::{Event, Fold};
pub use feature::{Feature, Support};
pub use gemini::Gemini;
pub use history::Memo;
#[cfg(feature = "http")]
pub use http::{HttpProvider, Timeouts};
pub use ollama::Ollama;
pub use openai_chat::{Dialect, OpenAiChat};
pub use openai_responses::OpenAiResponses;
pub use place::Place;
#[cfg(feature = "provider")]
pub use provider::{Provider, Reply};
pub use record::{Record, Recording};
#[cfg(feature = "provider")]
pub use replay::Replay;
pub use request::{Cache, Effort, OutputSchema, Request, Thinking};
pub use retry::RetryPolicy;
#[cfg(feature = "provider")]
pub use scripted::{Scripted, Turn};
pub use secret::Secret;
pub use sign::{Sign, SignError};
#[cfg(feature = "sigv4")]
pub use sigv4::SigV4;
pub use sse::{SseEvent, SseParser};
pub use traits::{Trait, Traits};
pub use wire::{Decode, HttpRequest, Wire};
