//! What is asked of a model, in our words.
//!
//! The message list must already be legal for the wire: encoding maps, it never repairs. What a wire has and we have no
//! word for goes through [`Request::extra`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_message_tree::{Message, MessageList, ToolChoice, ToolSpec};

use crate::claude::{claude_version, fitting};
use crate::{EncodeError, Feature, Support, Traits, anthropic, bedrock, feature, traits};

/// Sent where a limit is demanded and none is given.
pub(crate) const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 8192;

/// One request to a model, independent of the wire that carries it.
///
/// What a wire does with each field stands in the [table of features](crate#features); a field that a wire has no place
/// for is refused with [`EncodeError::Unsupported`](crate::EncodeError::Unsupported) and never dropped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The model as the provider names it.
    pub model: String,
    /// The conversation; system messages lead it, results directly follow the message with their calls.
    ///
    /// Shared, so that a copy of the list is cheap and copies no message, and what was encoded for this one is known again by its
    /// address: see [`Memo`](crate::Memo).
    pub messages: MessageList,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
    /// Tools that the provider runs itself, such as a web search, offered beside ours; each is the provider's own JSON.
    pub provider_tools: Vec<Value>,
    /// Whether and which of them must be used.
    pub tool_choice: ToolChoice,
    /// What happens to a forced choice that the wire cannot force here, such as beside reasoning on Anthropic:
    /// `true` asks for it in words at the end of the last user message and says so in
    /// [`HttpRequest::softened`](crate::HttpRequest::softened), `false` refuses the request.
    pub soft_choice: bool,
    /// Whether the model may call several tools at once; `None` for the provider's own, which is yes almost everywhere.
    pub parallel_calls: Option<bool>,
    /// The most that the model may write, reasoning included; `None` for the provider's own limit.
    ///
    /// Where the wire demands a limit (Anthropic), 8192 is sent for `None`.
    pub max_output_tokens: Option<u32>,
    /// Strings at which the model stops; they are not part of the answer.
    pub stop: Vec<String>,
    /// The sampling temperature; `None` for the provider's own, here as below.
    pub temperature: Option<f32>,
    /// Only the most likely tokens that together have this probability.
    pub top_p: Option<f32>,
    /// Only this many of the most likely tokens.
    pub top_k: Option<u32>,
    /// Against saying what was said often.
    pub frequency_penalty: Option<f32>,
    /// Against saying what was said at all.
    pub presence_penalty: Option<f32>,
    /// For answers that can be had again, as far as the provider goes.
    pub seed: Option<u64>,
    /// Whether and how much the model reasons before it answers.
    pub thinking: Thinking,
    /// The schema that the answer must follow; `None` for words.
    pub output: Option<OutputSchema>,
    /// What is done for the provider's prompt cache. A hint: wires whose cache works by itself ignore it.
    pub cache: Cache,
    /// Requests that share a beginning share this key, so that they reach the machine that has it cached.
    pub cache_key: Option<String>,
    /// Who the request is for: an opaque name, so that a provider can stop one abuser and not all.
    pub user: Option<String>,
    /// Labels that the provider stores beside the request.
    pub metadata: BTreeMap<String, String>,
    /// The provider's word for how quickly and at what price it answers.
    pub service_tier: Option<String>,
    /// Whether the answer comes piece by piece. Decoders read both kinds, whatever was asked for.
    pub stream: bool,
    /// What is known of what this one service wants otherwise than others of its wire.
    ///
    /// Where it says that a setting is not taken, the setting is left out.
    pub traits: Traits,
    /// Fields of the provider that we have no word for; they win over fields of the same name.
    ///
    /// Where both are objects (`reasoning`, `text`, `generationConfig`, `options`, …) the members win one by one, unless
    /// the caller's object has a `type`: then it is whole.
    pub extra: Map<String, Value>,
}

/// Whether and how much a model reasons before it answers.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// Nothing is said about reasoning; most models then do not, some always do.
    #[default]
    Unsaid,
    /// It is asked not to reason.
    Off,
    /// It reasons for at most about so many tokens.
    Budget(u32),
    /// It reasons about so hard.
    Effort(Effort),
}

/// How hard a model reasons.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Effort {
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// As its makers mean it.
    Medium,
    /// Long.
    High,
    /// Longer, where a service has a step between long and as long as it can.
    XHigh,
    /// As long as it can.
    Max,
}

impl Effort {
    /// Returns the word that most services use; `xhigh` and `max` are not known to all of their models.
    pub fn word(self) -> &'static str {
        match self {
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// Returns the effort that comes nearest to a budget: low up to 2048 tokens, medium up to 8192, else high.
    pub fn of_budget(budget: u32) -> Self {
        match budget {
            0..=2048 => Effort::Low,
            2049..=8192 => Effort::Medium,
            _ => Effort::High,
        }
    }

    /// Returns the budget in tokens that comes nearest: 1024, 2048, 8192, 24576, 28672 or 32768.
    ///
    /// 24576 is the largest that every Gemini 2.5 model takes (Google's documents, read 2026-11).
    pub fn budget(self) -> u32 {
        match self {
            Effort::Minimal => 1024,
            Effort::Low => 2048,
            Effort::Medium => 8192,
            Effort::High => 24_576,
            Effort::XHigh => 28_672,
            Effort::Max => 32_768,
        }
    }
}

/// The form that an answer must have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputSchema {
    /// What the form is called; letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON schema.
    pub schema: Value,
    /// Whether the provider must hold the model to it; providers then take a part of JSON Schema only.
    pub strict: bool,
}

impl OutputSchema {
    /// Returns a strict form.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        OutputSchema { name: name.into(), schema, strict: true }
    }
}

/// What is done for the provider's prompt cache.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cache {
    /// Nothing.
    Off,
    /// Breakpoints are placed where the wire has them; what they mark lives as long as the provider's default.
    #[default]
    Short,
    /// The same, for the longest time that the provider offers.
    Long,
}

impl Request {
    /// Refuses what the wire has no place for, its messages aside; for wires of your own, before they write anything.
    ///
    /// # Errors
    ///
    /// [`EncodeError::Unsupported`] with the first feature that is asked for and that `support` says is not there.
    pub fn check_features(
        &self,
        wire: &'static str,
        support: impl Fn(Feature) -> Support,
    ) -> Result<(), EncodeError> {
        feature::check(self, wire, support)
    }

    /// Returns what becomes of [`thinking`](Request::thinking) on a wire: services that know no budget are asked for an effort,
    /// and the other way round. Rules for legal histories depend on it.
    pub fn thinking_on(&self, wire: &str) -> Thinking {
        let fitted = traits::fitted(self);
        let version = claude_version(&self.model).filter(|_| self.model.contains("claude"));
        match version {
            Some(version) if matches!(wire, anthropic::NAME | bedrock::NAME) => {
                let limit = fitted.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS);
                fitting(fitted.thinking, version, limit)
            }
            _ => fitted.thinking,
        }
    }

    /// Whether any tool is on offer.
    pub(crate) fn offers_tools(&self) -> bool {
        !(self.tools.is_empty() && self.provider_tools.is_empty())
    }

    /// Returns a streamed request for up to 8192 tokens, with the cache on, without tools and reasoning.
    pub fn new(
        model: impl Into<String>,
        messages: impl IntoIterator<Item = impl Into<Arc<Message>>>,
    ) -> Self {
        Request {
            model: model.into(),
            messages: messages.into_iter().map(Into::into).collect(),
            tools: Vec::new(),
            provider_tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            soft_choice: true,
            parallel_calls: None,
            max_output_tokens: Some(DEFAULT_MAX_OUTPUT_TOKENS),
            stop: Vec::new(),
            temperature: None,
            top_p: None,
            top_k: None,
            frequency_penalty: None,
            presence_penalty: None,
            seed: None,
            thinking: Thinking::Unsaid,
            output: None,
            cache: Cache::Short,
            cache_key: None,
            user: None,
            metadata: BTreeMap::new(),
            service_tier: None,
            stream: true,
            traits: Traits::default(),
            extra: Map::new(),
        }
    }
}
