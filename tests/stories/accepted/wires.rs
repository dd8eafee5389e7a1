//! The wires that were recorded: who reads them, and which rules were in force.

use serde_json::Value;
use trunkline_providers::{Anthropic, Dialect, Ollama, OpenAiChat, OpenAiResponses, Wire};
use trunkline_sanitize::{Thinking, WireRules};

use super::history::History;
use super::recordings::Exchange;
use super::{anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};
use crate::validators::{self, Verdict};

/// One wire: its folder, what the path of a request for words contains, its reader, and the rules that were in force.
pub(super) struct Recorded {
    pub(super) folder: &'static str,
    pub(super) path: &'static str,
    pub(super) read: fn(&Value) -> Option<History>,
    pub(super) rules: fn(&Exchange) -> Vec<WireRules>,
    /// The independent opinion, which must not be stricter than the service.
    pub(super) validate: fn(&Exchange, &History) -> Verdict,
    /// The encoder, where we have one.
    pub(super) wire: fn(&Exchange) -> Option<Box<dyn Wire>>,
}

/// All of them.
pub(super) const ALL: [Recorded; 6] = [ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, GEMINI, BEDROCK, OLLAMA];

pub(super) const ANTHROPIC: Recorded = Recorded {
    folder: "anthropic",
    path: "/v1/messages",
    read: |body| Some(anthropic::read(body)),
    rules: |exchange| match exchange.model() {
        // This model takes instructions anywhere in the list; others were not seen to.
        "claude-opus-4-8" => named(&["anthropic-mid-system"]),
        _ => named(&["anthropic", "anthropic-prefill", "anthropic-strict", "anthropic-mid-system"]),
    },
    validate: |exchange, _| {
        let system_in_list = exchange.model() == "claude-opus-4-8";
        let taste = validators::anthropic::Taste { alternate: true, prefill: false, system_in_list };
        validators::anthropic::check(&exchange.body, taste)
    },
    wire: |_| Some(Box::new(Anthropic::new())),
};

pub(super) const OPENAI_CHAT: Recorded = Recorded {
    folder: "openai-chat",
    path: "completions",
    read: |body| Some(openai_chat::read(&with_short_ids(body))),
    rules: |exchange| match exchange.dialect.as_str() {
        "deepseek" | "api.deepseek.com" => named(&["deepseek"]),
        "mistral" | "api.mistral.ai" => named(&["mistral"]),
        "groq" | "api.groq.com" => named(&["groq"]),
        "openrouter" | "openrouter.ai" => named(&["openrouter"]),
        "llamacpp" => named(&["llama-cpp"]),
        "doubleword" => named(&["vllm"]),
        _ => named(&["openai-chat"]),
    },
    validate: |exchange, history| {
        use validators::openai_chat::{Ids, Order, Taste};
        let plain = Taste::default();
        let taste = match exchange.dialect.as_str() {
            "deepseek" | "api.deepseek.com" => {
                let thinks = history.facts.thinking == Thinking::On;
                Taste { pictures: false, reasoning_beside_calls: thinks, ..plain }
            }
            "mistral" | "api.mistral.ai" => {
                Taste { ids: Ids::Nine, order: Order::Mistral { user_after_tool: true }, ..plain }
            }
            "groq" | "api.groq.com" => Taste { null_arguments: true, ..plain },
            "llamacpp" => Taste { pictures_in_results: true, ..plain },
            _ => plain,
        };
        validators::openai_chat::check(&with_short_ids(&exchange.body), taste)
    },
    wire: |exchange| {
        let mut dialect = Dialect::for_host(&exchange.dialect);
        dialect.images_in_results |= exchange.dialect == "llamacpp";
        Some(Box::new(OpenAiChat::new(dialect)))
    },
};

pub(super) const OPENAI_RESPONSES: Recorded = Recorded {
    folder: "openai-responses",
    path: "/responses",
    read: openai_responses::read,
    rules: |_| named(&["openai-responses"]),
    validate: |exchange, _| validators::openai_responses::check(&exchange.body),
    wire: |_| Some(Box::new(OpenAiResponses::new())),
};

pub(super) const GEMINI: Recorded = Recorded {
    folder: "gemini",
    path: "enerateContent",
    read: |body| Some(gemini::read(body)),
    rules: |exchange| {
        named(if exchange.model().contains("gemini-3") { &["gemini-3"] } else { &["gemini-2"] })
    },
    validate: |exchange, history| {
        let newer = exchange.model().contains("gemini-3");
        let taste = validators::gemini::Taste { signed: newer, pictures_in_results: newer };
        validators::gemini::check(&history.messages, taste)
    },
    wire: |_| None,
};

pub(super) const BEDROCK: Recorded = Recorded {
    folder: "bedrock-converse",
    path: "/converse",
    read: |body| Some(bedrock::read(body)),
    rules: |exchange| {
        named(if exchange.model().contains("anthropic.claude") { &["bedrock-claude"] } else { &["bedrock"] })
    },
    validate: |exchange, history| {
        let claude = exchange.model().contains("anthropic.claude");
        validators::bedrock::check(&history.messages, &history.facts, claude)
    },
    wire: |_| None,
};

pub(super) const OLLAMA: Recorded = Recorded {
    folder: "ollama",
    path: "/api/chat",
    read: |body| Some(ollama::read(body)),
    rules: |_| named(&["ollama"]),
    validate: |_, history| validators::ollama::check(&history.messages),
    wire: |_| Some(Box::new(Ollama::new())),
};

fn named(names: &[&str]) -> Vec<WireRules> {
    let known =
        |name: &&str| WireRules::named(name).unwrap_or_else(|| panic!("no rules of that name: {name}"));
    names.iter().map(known).collect()
}

/// The recorder replaced ids by longer ones; Mistral had given ids of nine characters, and so have these.
fn with_short_ids(body: &Value) -> Value {
    let text = body.to_string().replace("call_REDACTED_", "callRED0");
    serde_json::from_str(&text).expect("an id for an id")
}
