//! How servers of one wire differ.
//!
//! The default suits a server that nobody has heard of: it sends what the oldest of them understand, and gives back what
//! came from there. What one server wants otherwise is known from its [`Traits`].

use std::borrow::Cow;

use crate::{Trait, Traits};

/// How a server of Chat Completions differs from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// The field that limits the output.
    pub max_tokens: MaxTokensField,
    /// How reasoning is asked for.
    pub reasoning: ReasoningField,
    /// Whether `stream_options` is understood; without it no usage comes with a stream from some servers.
    pub stream_options: bool,
    /// Which of the model's reasoning goes back to it. Whose that is, [`Traits`] and rules for legal histories say; what
    /// stands in the request and does not go back is left out.
    pub echo_reasoning: Echo,
    /// In which field it does.
    pub reasoning_in: ReasoningPlace,
    /// Whether `reasoning_details` go back as they came; signatures and encrypted reasoning are inside (OpenRouter's
    /// documents, read 2026-11). Elsewhere they are left out.
    pub echo_reasoning_details: bool,
    /// Whether signatures of calls go back as they came, in `extra_content`: Google's models refuse a call without, also
    /// behind gateways (Google's documents, and quoted by users of several agents, 2026).
    pub call_signatures: bool,
    /// The role of instructions: `system`, unless a service wants another.
    pub instructions: &'static str,
    /// Whether the words of a result are always a list of parts, and never a string.
    pub results_as_parts: bool,
    /// Whether a user message may hold pictures.
    pub images: bool,
    /// How a document is put into a user message.
    pub documents: DocumentPart,
    /// Whether a document may be given by its address; routers take it, OpenAI does not.
    pub document_urls: bool,
    /// Whether a tool message may hold pictures. The llama.cpp server takes them (recorded, 2026), OpenAI refuses them.
    pub images_in_results: bool,
    /// The most stop sequences; `None` for no known limit.
    pub stop_limit: Option<usize>,
    /// The most characters of a call's id; `None` for no known limit.
    pub call_id_limit: Option<usize>,
    /// Whether the name of a tool may only be of 1 to 64 letters, digits, `_` and `-` (OpenAI's specification and Mistral's
    /// validator, read 2026-11). Servers of open models mostly do not look.
    pub strict_names: bool,
    /// What of a forced tool choice is understood.
    pub forced_choice: ForcedChoice,
    /// Whether an answer can be held to a JSON schema.
    pub output_schema: bool,
    /// Whether `top_k` is understood; OpenAI refuses fields that it does not know.
    pub top_k: bool,
    /// What the field for a seed is called; `None` if there is none.
    pub seed: Option<&'static str>,
    /// Whether content parts may carry `cache_control`, as OpenRouter passes it on to Anthropic and others.
    pub cache_breakpoints: bool,
    /// Whether `prompt_cache_key` and `prompt_cache_retention` are understood.
    pub cache_key: bool,
    /// What the field for the end user is called; `None` if there is none.
    pub user: Option<&'static str>,
    /// Whether `metadata` is understood.
    pub metadata: bool,
    /// Whether `service_tier` is understood.
    pub service_tier: bool,
    /// Which fields of a message, besides its role, words, calls and reasoning, are sent as they came; the others stay with
    /// us. Many services refuse a message with a field that they do not know.
    pub message_fields: &'static [&'static str],
    /// Which fields of a call, besides its id, name and arguments, go back as they came. In `extra_content` gateways to Gemini
    /// keep the signature that they want to see again (recorded, 2026).
    pub call_fields: &'static [&'static str],
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

/// Which of the model's reasoning goes back to it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Echo {
    /// None.
    None,
    /// What stands in the request.
    Given,
    /// The same, and beside each call that has none an empty one.
    BesideCalls,
}

/// The field of a message in which reasoning goes back.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningPlace {
    /// `reasoning_content`, as most have it.
    Content,
    /// `reasoning`, as newer vLLM, OpenRouter, Groq and Cerebras have it.
    Reasoning,
    /// `reasoning_details`, in a list with one text.
    Details,
}

/// How reasoning is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning_effort`: a budget becomes low (up to 2048 tokens), medium (up to 8192) or high; `none` is off.
    Effort,
    /// OpenRouter's `reasoning` object, which takes the budget itself, an effort, or `enabled: false`.
    Budget,
    /// DeepSeek's `thinking` switch beside `reasoning_effort`.
    Switch,
}

/// How a server takes documents.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentPart {
    /// `file` with its bytes, as OpenAI has it.
    File,
    /// `document_url` with an address or a data URL, as Mistral has it.
    Url,
    /// Not at all.
    None,
}

/// What of a forced tool choice a server understands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForcedChoice {
    /// All of it.
    Full,
    /// `required`, but no name: llama.cpp's server reads an object as `auto` (its source, read 2026-11). For a tool by
    /// name, `required` is sent and the model is told the name.
    Required,
    /// All of it while the model does not reason: "Thinking mode does not support this tool_choice" (DeepSeek, recorded).
    Unthinking,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            max_tokens: MaxTokensField::MaxTokens,
            reasoning: ReasoningField::Effort,
            stream_options: true,
            echo_reasoning: Echo::Given,
            reasoning_in: ReasoningPlace::Content,
            echo_reasoning_details: true,
            call_signatures: true,
            instructions: "system",
            results_as_parts: false,
            images: true,
            documents: DocumentPart::File,
            document_urls: true,
            images_in_results: false,
            stop_limit: None,
            call_id_limit: None,
            strict_names: false,
            forced_choice: ForcedChoice::Full,
            output_schema: true,
            top_k: true,
            seed: Some("seed"),
            cache_breakpoints: false,
            cache_key: false,
            user: Some("user"),
            metadata: false,
            service_tier: false,
            message_fields: &["name"],
            call_fields: &["extra_content"],
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
    /// assert_ne!(Dialect::for_host("api.deepseek.com"), Dialect::default());
    /// ```
    pub fn for_host(host: &str) -> Self {
        let at = |domain: &str| {
            host.eq_ignore_ascii_case(domain) || host.to_ascii_lowercase().ends_with(&format!(".{domain}"))
        };
        if at("openai.com") || at("openai.azure.com") {
            Dialect::openai()
        } else if at("openrouter.ai") {
            Dialect::openrouter()
        } else if at("deepseek.com") {
            Dialect::deepseek()
        } else if at("mistral.ai") {
            Dialect::mistral()
        } else if at("groq.com") {
            Dialect::groq()
        } else {
            Dialect::default()
        }
    }

    /// Returns the dialect as the service behind it wants it, as far as that is known.
    pub(super) fn with(&self, traits: &Traits) -> Cow<'_, Dialect> {
        let mut fitted = Cow::Borrowed(self);
        for one in traits.iter() {
            match one {
                Trait::MaxTokens => fitted.to_mut().max_tokens = MaxTokensField::MaxTokens,
                Trait::MaxCompletionTokens => {
                    fitted.to_mut().max_tokens = MaxTokensField::MaxCompletionTokens;
                }
                Trait::NoStreamOptions => fitted.to_mut().stream_options = false,
                Trait::InstructionsOfDeveloper => fitted.to_mut().instructions = "developer",
                Trait::InstructionsOfUser => fitted.to_mut().instructions = "user",
                Trait::ResultsAsParts => fitted.to_mut().results_as_parts = true,
                Trait::ReasoningBesideCalls => fitted.to_mut().echo_reasoning = Echo::BesideCalls,
                Trait::NoReasoningBack => {
                    let fitted = fitted.to_mut();
                    (fitted.echo_reasoning, fitted.echo_reasoning_details) = (Echo::None, false);
                }
                Trait::ReasoningInReasoning => fitted.to_mut().reasoning_in = ReasoningPlace::Reasoning,
                Trait::ReasoningInDetails => fitted.to_mut().reasoning_in = ReasoningPlace::Details,
                _ => {}
            }
        }
        fitted
    }

    /// Returns what OpenAI itself speaks.
    pub fn openai() -> Self {
        Dialect {
            echo_reasoning: Echo::None,
            echo_reasoning_details: false,
            call_signatures: false,
            max_tokens: MaxTokensField::MaxCompletionTokens,
            document_urls: false,
            // "Up to 4 sequences" (OpenAI's specification, read 2026-11).
            stop_limit: Some(4),
            // "Expected a string with maximum length 40" (quoted by users, 2026).
            call_id_limit: Some(40),
            strict_names: true,
            top_k: false,
            cache_key: true,
            // `user` is on its way out (OpenAI's specification, read 2026-11).
            user: Some("safety_identifier"),
            metadata: true,
            service_tier: true,
            // Of its own sound only the id goes back (OpenAI's specification, read 2026-11).
            message_fields: &["name", "audio"],
            call_fields: &[],
            ..Dialect::default()
        }
    }

    /// Returns what OpenRouter speaks.
    pub fn openrouter() -> Self {
        Dialect {
            reasoning: ReasoningField::Budget,
            strict_names: true,
            reasoning_in: ReasoningPlace::Reasoning,
            cache_breakpoints: true,
            // What it read in a file comes as an annotation, and spares it from reading it again (its documents, read 2026-11).
            message_fields: &["name", "annotations"],
            ..Dialect::default()
        }
    }

    /// Returns what DeepSeek speaks; in thinking mode it refuses tool turns whose reasoning does not come back.
    pub fn deepseek() -> Self {
        Dialect {
            reasoning: ReasoningField::Switch,
            strict_names: true,
            echo_reasoning: Echo::BesideCalls,
            echo_reasoning_details: false,
            call_signatures: false,
            // "unknown variant `image_url`, expected `text`" (recorded, 2026).
            images: false,
            documents: DocumentPart::None,
            forced_choice: ForcedChoice::Unthinking,
            output_schema: false,
            top_k: false,
            seed: None,
            user: None,
            // The beginning of an answer that it is to go on from (its documents, read 2026-11).
            message_fields: &["name", "prefix"],
            call_fields: &[],
            ..Dialect::default()
        }
    }

    /// Returns what Mistral speaks; it refuses fields that it does not know, and sends usage unasked.
    pub fn mistral() -> Self {
        Dialect {
            echo_reasoning: Echo::None,
            echo_reasoning_details: false,
            call_signatures: false,
            stream_options: false,
            strict_names: true,
            top_k: false,
            documents: DocumentPart::Url,
            seed: Some("random_seed"),
            user: None,
            message_fields: &["prefix"],
            call_fields: &[],
            ..Dialect::default()
        }
    }

    /// Returns what Groq speaks.
    pub fn groq() -> Self {
        Dialect {
            echo_reasoning: Echo::None,
            echo_reasoning_details: false,
            call_signatures: false,
            top_k: false,
            service_tier: true,
            strict_names: true,
            documents: DocumentPart::None,
            call_fields: &[],
            ..Dialect::default()
        }
    }

    /// Returns what the llama.cpp server speaks. It lives at no host of its own, so it must be named.
    pub fn llama_cpp() -> Self {
        Dialect {
            images_in_results: true,
            forced_choice: ForcedChoice::Required,
            call_fields: &[],
            ..Dialect::default()
        }
    }
}
