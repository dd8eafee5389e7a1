//! What is asked of a model, in our words.
//!
//! The message list must already be legal for the wire: encoding maps, it never repairs. What a wire has and we have no
//! word for goes through [`Request::extra`].

use serde_json::{Map, Value};
use trunkline_message_tree::{Message, ToolChoice, ToolSpec};

/// One request to a model, independent of the wire that carries it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The model as the provider names it.
    pub model: String,
    /// The conversation; system messages lead it, results directly follow the message with their calls.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
    /// Whether and which of them must be used.
    pub tool_choice: ToolChoice,
    /// The most that the model may write, reasoning included.
    pub max_output_tokens: u32,
    /// The sampling temperature; `None` for the provider's own.
    pub temperature: Option<f32>,
    /// Whether the model reasons before it answers.
    pub thinking: Thinking,
    /// Whether prompt-cache breakpoints are placed, on wires that have them.
    pub cache: bool,
    /// Whether the answer comes piece by piece. Decoders read both kinds, whatever was asked for.
    pub stream: bool,
    /// Fields of the provider that we have no word for; they win over fields of the same name.
    pub extra: Map<String, Value>,
}

/// Whether a model reasons before it answers.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// Nothing is said about reasoning; most models then do not, some always do.
    #[default]
    Off,
    /// It reasons for at most about so many tokens.
    Budget(u32),
}

/// Returns OpenAI's word for a budget: low up to 2048 tokens, medium up to 8192, else high.
pub(crate) fn effort(budget: u32) -> &'static str {
    match budget {
        0..=2048 => "low",
        2049..=8192 => "medium",
        _ => "high",
    }
}

impl Request {
    /// Returns a streamed request for up to 8192 tokens, with the cache on, without tools and reasoning.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Request {
            model: model.into(),
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: 8192,
            temperature: None,
            thinking: Thinking::Off,
            cache: true,
            stream: true,
            extra: Map::new(),
        }
    }
}
