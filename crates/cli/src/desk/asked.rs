//! Who is asked, by name: the name that is written on replies, and the wire and dialect that follow from it.
//!
//! The runtime chooses the rules for legal histories by this name, and a recording is encoded by it when it is played.
//! So a name stands for one way to write a request, wherever the service is: two that differ have two names.

use trunkline_message_tree::Origin;
use trunkline_providers::{
    Anthropic, Bedrock, Dialect, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire, openai_chat,
    openai_responses,
};
use trunkline_sanitize::WireRules;

use crate::args::model::Api;

/// Services that speak Chat in a way of their own.
const SERVICES: [Service; 6] = [
    Service { name: "openai", domain: "openai.com", key: "OPENAI_API_KEY" },
    Service { name: "openai", domain: "openai.azure.com", key: "AZURE_OPENAI_API_KEY" },
    Service { name: "openrouter", domain: "openrouter.ai", key: "OPENROUTER_API_KEY" },
    Service { name: "deepseek", domain: "deepseek.com", key: "DEEPSEEK_API_KEY" },
    Service { name: "mistral", domain: "mistral.ai", key: "MISTRAL_API_KEY" },
    Service { name: "groq", domain: "groq.com", key: "GROQ_API_KEY" },
];

/// A service at a domain of its own.
pub(crate) struct Service {
    name: &'static str,
    domain: &'static str,
    /// The variable that holds its key.
    pub(crate) key: &'static str,
}

/// Returns whether a host is this domain or within it.
pub(crate) fn is_at(host: &str, domain: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the service that speaks Chat at a host, if it is known.
pub(crate) fn service_at(host: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| is_at(host, service.domain))
}

/// Returns the name of whom an API asks at a host.
pub(crate) fn name_of(api: Api, host: &str, model: &str) -> &'static str {
    match api {
        Api::Anthropic => "anthropic",
        Api::Openai => service_at(host).map_or(openai_chat::NAME, |service| service.name),
        Api::Responses => openai_responses::NAME,
        Api::Gemini => match model.rsplit_once("gemini-") {
            Some((_, generation)) if generation.starts_with(['1', '2']) => "gemini-2",
            // A name without a number is that of a newer model.
            _ => "gemini-3",
        },
        Api::Bedrock if model.contains("anthropic.") => "bedrock-claude",
        Api::Bedrock => "bedrock",
        Api::Ollama => "ollama",
    }
}

/// Returns the API that is spoken with whoever has this name.
pub(crate) fn api_of(name: &str) -> Option<Api> {
    let rules = match name {
        // Everyone who spoke Chat was written down as `openai` once.
        "openai" => WireRules::openai_chat(),
        name => WireRules::named(name)?,
    };
    Some(match rules.wire.as_ref() {
        "anthropic" => Api::Anthropic,
        openai_chat::NAME => Api::Openai,
        openai_responses::NAME => Api::Responses,
        "gemini" => Api::Gemini,
        "bedrock" => Api::Bedrock,
        "ollama" => Api::Ollama,
        _ => return None,
    })
}

/// Returns the wire that is spoken with someone, if the name is one of ours.
pub(crate) fn wire_of(asked: &Origin) -> Option<Box<dyn Wire>> {
    Some(match api_of(&asked.provider)? {
        Api::Anthropic => Box::new(Anthropic::new()),
        Api::Openai => Box::new(OpenAiChat::new(match asked.provider.as_str() {
            "openai" => Dialect::openai(),
            "openrouter" => Dialect::openrouter(),
            "deepseek" => Dialect::deepseek(),
            "mistral" | "mistral-strict" => Dialect::mistral(),
            "groq" => Dialect::groq(),
            "llama-cpp" => Dialect::llama_cpp(),
            _ => Dialect::default(),
        })),
        Api::Responses if reasons(&asked.model) => Box::new(OpenAiResponses::new()),
        Api::Responses => Box::new(OpenAiResponses::without_reasoning()),
        Api::Gemini => Box::new(Gemini::new()),
        Api::Bedrock => Box::new(Bedrock::new()),
        Api::Ollama => Box::new(Ollama::new()),
    })
}

/// Whether a model of OpenAI's can be asked for its reasoning; those that cannot refuse the question.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|old| name.starts_with(old))
}
