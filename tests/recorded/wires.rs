//! Each recorded wire has its reader and its encoder here, and nowhere else.

use serde_json::Value;
use trunkline_providers::{Anthropic, Bedrock, Dialect, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire};

use super::exchange::Exchange;
use super::history::{Read, Reading};
use super::protocol::Protocol;
use super::{anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

/// Reads the body of a request of a wire, as the service that was asked understands it.
///
/// # Errors
///
/// What in it has no place in our model at all.
pub fn read(protocol: Protocol, exchange: &Exchange, body: &Value) -> Read<Reading> {
    let mut reading = match protocol {
        Protocol::Anthropic => anthropic::read(body),
        Protocol::OpenAiChat => openai_chat::read(body, &dialect(&exchange.service)),
        Protocol::OpenAiResponses => openai_responses::read(body),
        Protocol::Gemini => gemini::read(body),
        Protocol::Bedrock => bedrock::read(body),
        Protocol::Ollama => ollama::read(body),
    }?;
    // On two wires the model, and whether it streams, stand in the path.
    let in_path = match protocol {
        Protocol::Gemini => between(&exchange.path, "/models/", ":"),
        Protocol::Bedrock => between(&exchange.path, "/model/", "/"),
        // Vertex AI's address for Claude.
        Protocol::Anthropic => between(&exchange.path, "/models/", ":"),
        _ => None,
    };
    if let Some((model, how)) = in_path {
        reading.settings.model = unescaped(model);
        reading.settings.stream = how.to_lowercase().contains("stream");
    }
    Ok(reading)
}

/// Returns what stands between two words of a path, and what follows.
fn between<'a>(path: &'a str, before: &str, after: &str) -> Option<(&'a str, &'a str)> {
    path.rsplit_once(before)?.1.split_once(after)
}

/// Returns the model and the act in the path of a request, however they are escaped; empty where the body says it.
pub fn asked_in_path(protocol: Protocol, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    match protocol {
        Protocol::Gemini => {
            path.rsplit_once("/models/").map(|(_, asked)| unescaped(asked)).unwrap_or_default()
        }
        Protocol::Bedrock => {
            path.rsplit_once("/model/").map(|(_, asked)| unescaped(asked)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
        // Vertex AI takes ids (recorded), and does not ask for them.
        Protocol::Gemini if service.contains("aiplatform") && !names_calls(body) => {
            Box::new(Gemini::vertex())
        }
        Protocol::Gemini => Box::new(Gemini::new()),
        Protocol::Ollama => Box::new(Ollama::new()),
        Protocol::Bedrock => Box::new(Bedrock::new()),
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

/// Whether the calls of a request to Gemini carry ids.
fn names_calls(body: &Value) -> bool {
    let turns = body["contents"].as_array().into_iter().flatten();
    let mut parts = turns.filter_map(|turn| turn["parts"].as_array()).flatten();
    parts.any(|part| part["functionCall"]["id"].is_string() || part["function_call"]["id"].is_string())
}
