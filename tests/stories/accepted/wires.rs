//! The rules and validators of the wires that were recorded.

use trunkline_sanitize::{Thinking, WireRules};
use trunkline_tests::recorded::{Exchange, History, Protocol, read};

use crate::validators::{self, Verdict};

/// One wire: the rules that were in force, and the independent opinion.
pub(super) struct Recorded {
    pub(super) protocol: Protocol,
    pub(super) rules: fn(&Exchange) -> Vec<WireRules>,
    /// The independent opinion, which must not be stricter than the service.
    pub(super) validate: fn(&Exchange, &History) -> Verdict,
}

impl Recorded {
    /// Reads a request; `None` if a part of the history is kept by the provider, so that nobody else can judge it.
    pub(super) fn read(&self, exchange: &Exchange) -> Option<History> {
        let body = match self.protocol {
            Protocol::OpenAiChat => &with_short_ids(exchange.body()),
            _ => exchange.body(),
        };
        match read(self.protocol, exchange, body) {
            Ok(reading) => Some(reading.history).filter(|_| !reading.kept_by_service),
            Err(problem) => panic!("{}: {problem}", exchange.place()),
        }
    }
}

/// All of them.
pub(super) const ALL: [Recorded; 6] = [ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, GEMINI, BEDROCK, OLLAMA];

pub(super) const ANTHROPIC: Recorded = Recorded {
    protocol: Protocol::Anthropic,
    rules: |exchange| match exchange.model() {
        // This model takes instructions anywhere in the list; others were not seen to.
        "claude-opus-4-8" => named(&["anthropic-mid-system"]),
        _ => named(&["anthropic", "anthropic-prefill", "anthropic-strict", "anthropic-mid-system"]),
    },
    validate: |exchange, _| {
        let system_in_list = exchange.model() == "claude-opus-4-8";
        let taste = validators::anthropic::Taste { alternate: true, prefill: false, system_in_list };
        validators::anthropic::check(exchange.body(), taste)
    },
};

pub(super) const OPENAI_CHAT: Recorded = Recorded {
    protocol: Protocol::OpenAiChat,
    rules: |exchange| match exchange.service.as_str() {
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
        let taste = match exchange.service.as_str() {
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
        validators::openai_chat::check(&with_short_ids(exchange.body()), taste)
    },
};

pub(super) const OPENAI_RESPONSES: Recorded = Recorded {
    protocol: Protocol::OpenAiResponses,
    rules: |_| named(&["openai-responses"]),
    validate: |exchange, _| validators::openai_responses::check(exchange.body()),
};

pub(super) const GEMINI: Recorded = Recorded {
    protocol: Protocol::Gemini,
    rules: |exchange| {
        named(if exchange.model().contains("gemini-3") { &["gemini-3"] } else { &["gemini-2"] })
    },
    validate: |exchange, history| {
        let newer = exchange.model().contains("gemini-3");
        let taste = validators::gemini::Taste { signed: newer, pictures_in_results: newer };
        validators::gemini::check(&history.messages, taste)
    },
};

pub(super) const BEDROCK: Recorded = Recorded {
    protocol: Protocol::Bedrock,
    rules: |exchange| {
        named(if exchange.model().contains("anthropic.claude") { &["bedrock-claude"] } else { &["bedrock"] })
    },
    validate: |exchange, history| {
        let claude = exchange.model().contains("anthropic.claude");
        validators::bedrock::check(&history.messages, &history.facts, claude)
    },
};

pub(super) const OLLAMA: Recorded = Recorded {
    protocol: Protocol::Ollama,
    rules: |_| named(&["ollama"]),
    validate: |_, history| validators::ollama::check(&history.messages),
};

fn named(names: &[&str]) -> Vec<WireRules> {
    let known =
        |name: &&str| WireRules::named(name).unwrap_or_else(|| panic!("no rules of that name: {name}"));
    names.iter().map(known).collect()
}

/// The recorder replaced ids by longer ones; Mistral had given ids of nine characters, and so have these.
fn with_short_ids(body: &serde_json::Value) -> serde_json::Value {
    let text = body.to_string().replace("call_REDACTED_", "callRED0");
    serde_json::from_str(&text).expect("an id for an id")
}
