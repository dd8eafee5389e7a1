//! How servers of one wire differ.
//!
//! The default suits a server that nobody has heard of: it sends what the oldest of them understand.

/// How a server of Chat Completions differs from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// The field that limits the output.
    pub max_tokens: MaxTokensField,
    /// The field that asks for reasoning.
    pub reasoning: ReasoningField,
    /// Whether `stream_options` is understood; without it no usage comes with a stream from some servers.
    pub stream_options: bool,
    /// Whether the model's reasoning goes back to it as `reasoning_content`. Elsewhere it is left out.
    pub echo_reasoning: bool,
    /// Whether a tool message may hold pictures. The llama.cpp server takes them (recorded, 2026), OpenAI refuses them.
    pub images_in_results: bool,
}

/// The field that limits the output.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_tokens`: everyone but OpenAI's reasoning models.
    MaxTokens,
    /// `max_completion_tokens`: OpenAI, its old models included.
    MaxCompletionTokens,
}

/// The field that asks for reasoning.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning_effort`: a budget becomes low (up to 2048 tokens), medium (up to 8192) or high.
    Effort,
    /// OpenRouter's `reasoning` object, which takes the budget itself.
    Budget,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            max_tokens: MaxTokensField::MaxTokens,
            reasoning: ReasoningField::Effort,
            stream_options: true,
            echo_reasoning: false,
            images_in_results: false,
        }
    }
}

impl Dialect {
    /// Returns the dialect that is spoken at a host; the default for hosts that we know nothing of.
    ///
    /// ```
    /// use trunkline_providers::Dialect;
    ///
    /// assert_eq!(Dialect::for_host("localhost"), Dialect::default());
    /// assert!(Dialect::for_host("api.deepseek.com").echo_reasoning);
    /// ```
    pub fn for_host(host: &str) -> Self {
        let at = |domain: &str| {
            host.eq_ignore_ascii_case(domain) || host.to_ascii_lowercase().ends_with(&format!(".{domain}"))
        };
        let base = Dialect::default();
        if at("openai.com") || at("openai.azure.com") {
            Dialect { max_tokens: MaxTokensField::MaxCompletionTokens, ..base }
        } else if at("openrouter.ai") {
            Dialect { reasoning: ReasoningField::Budget, ..base }
        } else if at("deepseek.com") {
            // In thinking mode it refuses tool turns whose reasoning does not come back.
            Dialect { echo_reasoning: true, ..base }
        } else if at("mistral.ai") {
            // Refuses fields that it does not know, and sends usage unasked.
            Dialect { stream_options: false, ..base }
        } else {
            base
        }
    }
}
