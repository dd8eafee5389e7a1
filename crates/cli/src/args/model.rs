//! What can be typed about the model: which one, where it is asked, and how.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use serde_json::Value;
use trunkline_providers::Bounds;
use trunkline_sanitize::WireRules;

use crate::term::limits;

/// What a reply may cost unless told, in tokens.
pub(crate) const MAX_OUTPUT_TOKENS: u32 = 8192;
/// What Trunkline itself writes into a body, on whatever wire: nobody may write it over.
const OURS: [&str; 22] = [
    "messages",
    "model",
    "tools",
    "tool_choice",
    "toolConfig",
    "tool_config",
    "stream",
    "stream_options",
    "input",
    "instructions",
    "contents",
    "system",
    "systemInstruction",
    "system_instruction",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "maxTokens",
    "num_predict",
    "store",
    "include",
];

/// Which model to use.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct Model {
    /// Which API to speak; else TRUNKLINE_PROVIDER, else what the other variables suggest
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<Api>,
    /// The model, as the provider calls it; else TRUNKLINE_MODEL
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Where the API is, for example http://localhost:11434/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Whose way of speaking to use, and whose rules for what may be sent, whatever the address says
    #[arg(long, value_name = "NAME", value_parser = dialects())]
    pub(crate) dialect: Option<String>,
    /// Add a field to the body of each request, with a value in JSON or else as text, such as top_k=40; several may be given
    #[arg(long, value_name = "KEY=VALUE", value_parser = field)]
    pub(crate) set: Vec<(String, Value)>,
    /// The most that the model may write in one reply, in tokens
    #[arg(long, value_name = "N", default_value_t = MAX_OUTPUT_TOKENS)]
    pub(crate) max_output_tokens: u32,
    /// Ask again at most N times when the connection breaks or the service is busy; 0 for never [default: 8]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// The most time that this may take for one request, such as 30s or 20m; a service that asks for more is given up on
    /// [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = limits::of_wait)]
    pub(crate) retry_for: Option<u64>,
    /// The most that is taken of one reply, whatever the service sends, in bytes [default: 8388608]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_answer: Option<u64>,
    /// Also write what the service answers to this file, without keys; what is in it stays
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Let such a file answer in place of the service: no key, no network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["provider", "model", "base_url", "dialect", "record"])]
    pub(crate) replay: Option<PathBuf>,
    /// Whom to ask where nobody says otherwise.
    #[arg(skip)]
    pub(crate) usual: Usual,
}

/// Whom a file of settings says to ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usual {
    pub(crate) provider: Option<Api>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) dialect: Option<String>,
}

impl Model {
    /// Returns it with whom to ask usually, where neither a flag nor a variable says it.
    ///
    /// Who it is and where hold together: an address is never asked with the key of another service. A model is that of its
    /// service.
    pub(crate) fn or_usual(&self, env: impl Fn(&str) -> Option<String>) -> Model {
        let is_set = |name: &str| env(name).is_some_and(|value| !value.trim().is_empty());
        let usual = &self.usual;
        let is_named = self.provider.is_some() || self.base_url.is_some() || self.dialect.is_some();
        let is_named = is_named || is_set("TRUNKLINE_PROVIDER");
        let mut model = self.clone();
        if !is_named {
            model.provider = usual.provider;
            model.base_url.clone_from(&usual.base_url);
            model.dialect.clone_from(&usual.dialect);
        }
        let of_a_service = usual.provider.is_some() || usual.base_url.is_some() || usual.dialect.is_some();
        if (!is_named || !of_a_service) && model.model.is_none() && !is_set("TRUNKLINE_MODEL") {
            model.model.clone_from(&usual.model);
        }
        model
    }

    /// Returns how much is taken of one reply.
    pub(crate) fn bounds(&self) -> Bounds {
        let words = self.max_answer.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        words.map_or_else(Bounds::default, Bounds::of_answer)
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Chat Completions, also as llama.cpp, vLLM, LM Studio, OpenRouter and many others offer it
    Openai,
    /// OpenAI Responses
    Responses,
    /// Google Gemini
    Gemini,
    /// AWS Bedrock Converse
    Bedrock,
    /// Ollama's own API
    Ollama,
}

/// The names that `--dialect` takes: those of the rules, each of which has a way to write requests.
pub(crate) fn dialects() -> PossibleValuesParser {
    PossibleValuesParser::new(WireRules::NAMES.iter().copied().chain(["openai"]))
}

/// Reads a field of `--set`.
pub(crate) fn field(typed: &str) -> Result<(String, Value), String> {
    let (name, value) = typed.split_once('=').ok_or("write it like top_k=40, with a name and a value")?;
    let name = name.trim();
    if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("a field needs a name without white space, like top_k=40".to_owned());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    // Limits of output also stand inside of objects, which are merged member by member.
    let inner = value.as_object().into_iter().flat_map(|members| members.keys());
    let ours = std::iter::once(name).chain(inner.map(String::as_str)).find(|name| OURS.contains(name));
    match ours {
        None => Ok((name.to_owned(), value)),
        Some(ours) => {
            Err(format!("{ours} is written by trunkline itself, and cannot be set: {}", instead(ours)))
        }
    }
}

/// Says what can be typed in the place of a field that is ours.
fn instead(ours: &str) -> &'static str {
    match ours {
        "model" => "name the model with --model",
        "max_tokens"
        | "max_completion_tokens"
        | "max_output_tokens"
        | "maxOutputTokens"
        | "maxTokens"
        | "num_predict" => "--max-output-tokens limits the output, and --dialect says in which field",
        "system" | "systemInstruction" | "system_instruction" | "instructions" => {
            "`trunkline run --system FILE` gives instructions"
        }
        "stream" | "stream_options" | "store" | "include" => "--dialect chooses the way to speak",
        _ => "it carries the conversation and its tools",
    }
}
