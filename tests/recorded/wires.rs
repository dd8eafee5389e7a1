//! Each recorded wire has its reader and its encoder here, and nowhere else.

use serde_json::Value;
use trunkline_providers::{Anthropic, Dialect, OpenAiChat, OpenAiResponses, Wire};

use super::history::{Read, Reading};
use super::protocol::Protocol;
use super::{anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

/// Reads a request of a wire, as the service of that name understands it.
///
/// # Errors
///
/// What in it has no place in our model at all.
pub fn read(protocol: Protocol, service: &str, body: &Value) -> Read<Reading> {
    match protocol {
        Protocol::Anthropic => anthropic::read(body),
        Protocol::OpenAiChat => openai_chat::read(body, &dialect(service)),
        Protocol::OpenAiResponses => openai_responses::read(body),
        Protocol::Gemini => gemini::read(body),
        Protocol::Bedrock => bedrock::read(body),
        Protocol::Ollama => ollama::read(body),
    }
}

/// Returns our wire, set as the request was; `None` if there is none.
pub fn wire(protocol: Protocol, service: &str, body: &Value) -> Option<Box<dyn Wire>> {
    Some(match protocol {
        Protocol::Anthropic => Box::new(Anthropic::new()),
        Protocol::OpenAiChat => Box::new(OpenAiChat::new(dialect(service))),
        Protocol::OpenAiResponses if body["include"].to_string().contains("reasoning.encrypted_content") => {
            Box::new(OpenAiResponses::new())
        }
        Protocol::OpenAiResponses => Box::new(OpenAiResponses::without_reasoning()),
        Protocol::Gemini | Protocol::Bedrock | Protocol::Ollama => return None,
    })
}

/// Returns the dialect of a host, or of a service as a recorder calls it.
fn dialect(service: &str) -> Dialect {
    match service {
        "llamacpp" => Dialect::llama_cpp(),
        "openai" => Dialect::openai(),
        "azure" => Dialect::for_host("openai.azure.com"),
        "openrouter" => Dialect::openrouter(),
        "deepseek" => Dialect::deepseek(),
        "mistral" => Dialect::mistral(),
        "groq" => Dialect::for_host("api.groq.com"),
        host => Dialect::for_host(host),
    }
}
