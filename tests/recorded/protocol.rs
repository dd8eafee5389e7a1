//! Which of the wires an exchange speaks, told by its path: folders and hosts say less.

use serde_json::Value;

use super::exchange::Exchange;

/// A wire as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and its dialects.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Gemini.
    Gemini,
    /// Bedrock Converse.
    Bedrock,
    /// Ollama's own chat.
    Ollama,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 6] = [
        Protocol::Anthropic,
        Protocol::OpenAiChat,
        Protocol::OpenAiResponses,
        Protocol::Gemini,
        Protocol::Bedrock,
        Protocol::Ollama,
    ];

    /// Returns the name of the folder that the corpora have for it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Anthropic => "anthropic",
            Protocol::OpenAiChat => "openai-chat",
            Protocol::OpenAiResponses => "openai-responses",
            Protocol::Gemini => "gemini",
            Protocol::Bedrock => "bedrock-converse",
            Protocol::Ollama => "ollama",
        }
    }

    /// Returns the wire of an exchange that asks a model to answer a conversation, or what else it is.
    ///
    /// # Errors
    ///
    /// The method and the shape of the path, or what is wrong with the request.
    pub fn of(exchange: &Exchange) -> Result<Protocol, String> {
        let path = exchange.path.trim_end_matches('/');
        let ends = |end: &str| path.ends_with(end);
        // Claude on Vertex AI has an address of its own.
        let vertex = path.contains("/publishers/anthropic/") && path.to_lowercase().ends_with("rawpredict");
        let (protocol, list) = if ends("/messages") && !path.contains("/threads/") || vertex {
            (Protocol::Anthropic, "messages")
        } else if ends("/chat/completions") {
            (Protocol::OpenAiChat, "messages")
        } else if ends("/responses") {
            (Protocol::OpenAiResponses, "input")
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            (Protocol::Gemini, "contents")
        } else if ends("/converse") || ends("/converse-stream") {
            (Protocol::Bedrock, "messages")
        } else if ends("/api/chat") {
            (Protocol::Ollama, "messages")
        } else {
            return Err(shape(exchange));
        };
        let asked = &exchange.body()[list];
        // Without an input of its own, a Responses request goes on from what the service keeps.
        let goes_on = protocol == Protocol::OpenAiResponses && exchange.body().is_object();
        match asked {
            _ if exchange.method != "POST" => Err(shape(exchange)),
            Value::Array(_) => Ok(protocol),
            Value::String(_) if protocol == Protocol::OpenAiResponses => Ok(protocol),
            _ if goes_on => Ok(protocol),
            _ if exchange.request.is_none() => Err(format!("{} (its body is no JSON)", shape(exchange))),
            _ => Err(format!("{} (without a list of {list})", shape(exchange))),
        }
    }
}

/// The method and the path, with names and ids left out.
fn shape(exchange: &Exchange) -> String {
    let is_id = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.contains("REDACTED") || digits > 3 || (digits > 0 && part.len() > 24)
    };
    let short = |part: &str| match part.split_once(':') {
        // What is done with it is no part of its name.
        Some((id, act)) if is_id(id) => format!("…:{act}"),
        _ if is_id(part) => "…".to_owned(),
        _ => part.to_owned(),
    };
    let parts: Vec<String> = exchange.path.split('/').map(short).collect();
    let host = if exchange.host.is_empty() { "" } else { exchange.host.as_str() };
    format!("{} {host}{}", exchange.method, parts.join("/"))
}
