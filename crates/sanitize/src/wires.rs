//! The rule sets of the wires that are known here.
//!
//! Where a comment gives no other source, a rule was read in error texts that users quote or in recorded requests, 2026-11.

use std::borrow::Cow;

use crate::{
    Alternate, BlankText, CallSignatures, Head, IdAlphabet, IdRule, IdScope, MediaAddresses, MediaTypes,
    NameRule, Reasoning, ResultPlace, SystemPlace, Tail, TakenFields, TakenMedia, WireRules,
};

impl WireRules {
    /// The names that [`WireRules::named`] knows.
    pub const NAMES: &[&str] = &[
        "anthropic",
        "anthropic-prefill",
        "anthropic-strict",
        "anthropic-mid-system",
        "openai-chat",
        "deepseek",
        "mistral",
        "mistral-strict",
        "groq",
        "cerebras",
        "openrouter",
        "vllm",
        "llama-cpp",
        "strict-template",
        "openai-responses",
        "gemini-2",
        "gemini-3",
        "bedrock-claude",
        "bedrock",
        "ollama",
    ];

    /// Returns the rule set of that name, one of [`WireRules::NAMES`].
    ///
    /// ```
    /// use trunkline_sanitize::WireRules;
    ///
    /// assert_eq!(WireRules::named("mistral"), Some(WireRules::mistral()));
    /// assert_eq!(WireRules::named("fortran"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "anthropic" => Self::anthropic(),
            "anthropic-prefill" => Self::anthropic_prefill(),
            "anthropic-strict" => Self::anthropic_strict(),
            "anthropic-mid-system" => Self::anthropic_mid_system(),
            "openai-chat" => Self::openai_chat(),
            "deepseek" => Self::deepseek(),
            "mistral" => Self::mistral(),
            "mistral-strict" => Self::mistral_strict(),
            "groq" => Self::groq(),
            "cerebras" => Self::cerebras(),
            "openrouter" => Self::openrouter(),
            "vllm" => Self::vllm(),
            "llama-cpp" => Self::llama_cpp(),
            "strict-template" => Self::strict_template(),
            "openai-responses" => Self::openai_responses(),
            "gemini-2" => Self::gemini_2(),
            "gemini-3" => Self::gemini_3(),
            "bedrock-claude" => Self::bedrock_claude(),
            "bedrock" => Self::bedrock(),
            "ollama" => Self::ollama(),
            _ => return None,
        })
    }

    /// Returns the rules of Anthropic Messages, for models that refuse an assistant message in the last place.
    pub fn anthropic() -> Self {
        WireRules {
            head: Head::User,
            tail: Tail::User,
            final_white_space_refused: true,
            // Some newer models take the role in the list as well (recorded: opus 4.8); most refuse it.
            system: SystemPlace::Leading,
            // A blank text beside a call was accepted (recorded: claude-haiku-4-5, 2026); alone it is refused.
            blank_text: BlankText::BesideCall,
            // A7: every text that users quote names a second or later block (`messages.1.content.1`, `messages.43.content.2`, of
            // nine threads read 2026-11), and lists in which a later turn uses an id again were accepted (by report, 2026-11). Results
            // are paired by place, so nothing is gained by another id.
            ids_unique_in: IdScope::Message,
            // C11: the pattern is in the error text. No limit of length is known.
            ids: IdRule { alphabet: IdAlphabet::Word, max_length: None, exact_length: None },
            // `^[a-zA-Z0-9_-]{1,128}$`; older deployments say 64, of tools that are offered.
            names: NameRule::word(128),
            // `Tool reference '…' not found in available tools`.
            references_need_tools: true,
            media_types: MediaTypes::Messages,
            fields: TakenFields::Messages,
            reasoning: Reasoning::Signed,
            thinking_may_end_turn: false,
            thinking_leads_tool_loop: true,
            final_thinking_needs_thinking: true,
            forced_choice_stops_thinking: true,
            ..WireRules::open("anthropic")
        }
    }

    /// Returns the rules of Anthropic Messages, for older models, which continue an assistant message in the last place.
    pub fn anthropic_prefill() -> Self {
        WireRules { name: Cow::Borrowed("anthropic-prefill"), tail: Tail::Any, ..WireRules::anthropic() }
    }

    /// Returns the rules of Anthropic Messages where roles must alternate: old deployments and proxies (B1).
    pub fn anthropic_strict() -> Self {
        WireRules {
            name: Cow::Borrowed("anthropic-strict"),
            alternate: Alternate::Strict,
            // A validator of such a service wants results directly behind the calls, and refused every list with words in
            // between.
            words_after_calls: false,
            // Clients and gateways of that wire pair by id over the whole list and run in circles on one that comes again
            // (quoted by users of one, 2026-09).
            ids_unique_in: IdScope::History,
            ..WireRules::anthropic()
        }
    }

    /// Returns the rules of Anthropic Messages for models that take instructions anywhere in the list.
    ///
    /// Recorded: claude-opus-4-8, between turns, after results, and in the last place. Between a call and its results they are
    /// refused (the service's own documents as quoted by client libraries, 2026-06), so they are moved behind these.
    pub fn anthropic_mid_system() -> Self {
        WireRules {
            name: Cow::Borrowed("anthropic-mid-system"),
            system: SystemPlace::Anywhere,
            ..WireRules::anthropic()
        }
    }

    /// Returns the rules of OpenAI Chat Completions, and of servers that follow it closely.
    pub fn openai_chat() -> Self {
        WireRules {
            results: ResultPlace::ToolMessage,
            // A file is given by its bytes or by an id (OpenAI's specification, read 2026-11).
            media_addresses: MediaAddresses::Images,
            media_types: MediaTypes::Web,
            media_in_results: false,
            // C12: "maximum length 40"; newer deployments say 64, the smaller one satisfies both.
            ids: IdRule { alphabet: IdAlphabet::Any, max_length: Some(40), exact_length: None },
            // `^[a-zA-Z0-9_-]+$`, at most 64 (its specification). Mistral says the same.
            names: NameRule::word(64),
            // Services behind gateways refuse a call without the reasoning that they gave beside it (quoted by users, 2026);
            // OpenAI gives none here.
            reasoning: Reasoning::Returned,
            // `reasoning_details`, with signatures inside.
            reasoning_items: true,
            // Google's models behind gateways.
            call_signatures: CallSignatures::Own,
            server_tools: false,
            ..WireRules::open("openai-chat")
        }
    }

    /// Returns the rules of DeepSeek's Chat Completions.
    pub fn deepseek() -> Self {
        WireRules {
            name: Cow::Borrowed("deepseek"),
            // Recorded: no image parts.
            media: TakenMedia::None,
            // Recorded: `reasoning_content` goes back in tool turns. It is not signed.
            reasoning: Reasoning::Plain,
            reasoning_beside_calls: true,
            // Recorded: `Thinking mode does not support this tool_choice`.
            forced_choice_stops_thinking: true,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of Mistral's Chat Completions.
    ///
    /// Current models take a user message right after results, and a list that begins with the assistant (recorded:
    /// mistral-small-latest).
    pub fn mistral() -> Self {
        WireRules {
            name: Cow::Borrowed("mistral"),
            // B3, and `Expected last role User or Tool` (read in Mistral's tokenizer library).
            alternate: Alternate::Strict,
            tail: Tail::User,
            system: SystemPlace::One,
            // Its reasoning has no field of a message of its own, and fields that it does not know are refused.
            reasoning: Reasoning::Absent,
            // C13.
            ids: IdRule { alphabet: IdAlphabet::Alphanumeric, max_length: None, exact_length: Some(9) },
            fields: TakenFields::Mistral,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of Mistral's older models, where the assistant must speak between results and the user (B5).
    pub fn mistral_strict() -> Self {
        WireRules {
            name: Cow::Borrowed("mistral-strict"),
            head: Head::User,
            // B5: code 3230.
            words_after_results: false,
            ..WireRules::mistral()
        }
    }

    /// Returns the rules of Groq's Chat Completions.
    pub fn groq() -> Self {
        WireRules {
            name: Cow::Borrowed("groq"),
            // Its client library knows no file of a message (read 2026-11).
            media: TakenMedia::Images,
            // Recorded: what its models write for no arguments goes back as it is.
            null_arguments: true,
            fields: TakenFields::Groq,
            reasoning: Reasoning::Absent,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of Cerebras' Chat Completions.
    pub fn cerebras() -> Self {
        WireRules {
            name: Cow::Borrowed("cerebras"),
            // Its client library knows no file of a message.
            media: TakenMedia::Images,
            fields: TakenFields::Cerebras,
            reasoning: Reasoning::Absent,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of OpenRouter's Chat Completions.
    pub fn openrouter() -> Self {
        WireRules {
            name: Cow::Borrowed("openrouter"),
            // It fetches files for the models behind it (its documents, read 2026-11).
            media_addresses: MediaAddresses::Any,
            media_types: MediaTypes::Any,
            // Recorded: `reasoning_details` go back verbatim, to the same model.
            reasoning: Reasoning::Plain,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of the vLLM server with a template that takes any order.
    pub fn vllm() -> Self {
        WireRules {
            name: Cow::Borrowed("vllm"),
            media_types: MediaTypes::Any,
            // Recorded: unsigned `reasoning_content` in a running loop.
            reasoning: Reasoning::Plain,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of the llama.cpp server with a template that takes any order.
    pub fn llama_cpp() -> Self {
        WireRules {
            name: Cow::Borrowed("llama-cpp"),
            // Recorded: a picture in a tool message. It has no field for files.
            media: TakenMedia::Images,
            media_types: MediaTypes::Any,
            media_in_results: true,
            reasoning: Reasoning::Plain,
            ..WireRules::openai_chat()
        }
    }

    /// Returns rules that strict chat templates take, as vLLM and the llama.cpp server run them.
    ///
    /// Templates differ from model to model; these are the rules of the strictest that are known.
    pub fn strict_template() -> Self {
        WireRules {
            name: Cow::Borrowed("strict-template"),
            // B3: `After the optional system message, conversation roles must alternate user/assistant/…`.
            alternate: Alternate::Strict,
            head: Head::User,
            system: SystemPlace::One,
            // Such a template skips calls and results and then sees two users in a row.
            words_after_results: false,
            ..WireRules::openai_chat()
        }
    }

    /// Returns the rules of OpenAI Responses, where nothing is stored at the provider.
    pub fn openai_responses() -> Self {
        WireRules {
            // Words of the user between a call and its result are taken (by report of recorded exchanges, 2026-11).
            results: ResultPlace::AfterTurn,
            media_types: MediaTypes::Web,
            // `call_id` is free; only the empty one is refused (A18). 64 is the limit in OpenAI's schema.
            ids: IdRule { alphabet: IdAlphabet::Any, max_length: Some(64), exact_length: None },
            // The pattern of Chat Completions. Its specification gives an offered tool 64, or 128; longer ones nobody.
            names: NameRule::word(128),
            reasoning: Reasoning::Absent,
            reasoning_items: true,
            // What the provider runs itself are items of the wire, carried as they are.
            server_tools: false,
            ..WireRules::open("openai-responses")
        }
    }

    /// Returns the rules of Gemini up to 2.5, where signatures are optional.
    pub fn gemini_2() -> Self {
        WireRules {
            name: Cow::Borrowed("gemini-2"),
            // A20: a turn that calls must follow the user or results. Two user turns in a row are taken (recorded).
            alternate: Alternate::NoCalls,
            head: Head::User,
            // B9.
            tail: Tail::User,
            system: SystemPlace::Leading,
            // A19.
            results_in_call_order: true,
            media_in_results: false,
            media_types: MediaTypes::Gemini,
            // "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons
            // (:), or dashes (-), with a maximum length of 64."
            names: NameRule {
                alphabet: IdAlphabet::WordDotColon,
                leads_with_letter: true,
                max_length: Some(64),
            },
            // Blank parts are accepted (by report of recorded exchanges, 2026-11). Vertex AI refuses a text without a character (`it has an empty text
            // parameter`, quoted by users up to 2026-02), and has no rule set of its own here.
            blank_text: BlankText::Allowed,
            // A signed thought goes back as a part of its own; the encoder leaves out the others, which say nothing to
            // the service. Nothing is encrypted whole.
            reasoning: Reasoning::Plain,
            call_signatures: CallSignatures::Own,
            // What the provider runs itself are parts of the wire, carried as they are.
            server_tools: false,
            ..WireRules::open("gemini")
        }
    }

    /// Returns the rules of Gemini 3, which wants to see its signature on the first call of every step.
    pub fn gemini_3() -> Self {
        WireRules {
            name: Cow::Borrowed("gemini-3"),
            // Recorded: results hold pictures beside their words.
            media_in_results: true,
            call_signatures: CallSignatures::Leading,
            ..WireRules::gemini_2()
        }
    }

    /// Returns the rules of Bedrock Converse for Claude models.
    pub fn bedrock_claude() -> Self {
        WireRules {
            name: Cow::Borrowed("bedrock-claude"),
            words_after_results: true,
            reasoning: Reasoning::Signed,
            thinking_may_end_turn: false,
            thinking_leads_tool_loop: true,
            final_thinking_needs_thinking: true,
            forced_choice_stops_thinking: true,
            final_white_space_refused: true,
            ..WireRules::bedrock()
        }
    }

    /// Returns the rules of Bedrock Converse for models that are not Claude.
    pub fn bedrock() -> Self {
        WireRules {
            // B2. Lists that begin with the assistant are taken (recorded, 2026); B4 was quoted of older deployments.
            alternate: Alternate::Strict,
            head: Head::Any,
            tail: Tail::User,
            system: SystemPlace::Leading,
            // A13.
            words_after_results: false,
            // From the service's own model (botocore 1.44.5).
            media_addresses: MediaAddresses::S3,
            media_types: MediaTypes::Converse,
            // C6 and C14. Converse knows no result that is a string.
            results_are_blocks: true,
            tool_blocks_need_tools: true,
            // `The text field in the ContentBlock object at … is blank`; beside a call it was taken (recorded, 2026).
            blank_text: BlankText::BesideCall,
            // From the service's own model (botocore 1.44.5).
            ids: IdRule { alphabet: IdAlphabet::WordDotColon, max_length: Some(64), exact_length: None },
            names: NameRule::word(64),
            reasoning: Reasoning::Own,
            // Nothing of the kind is in the service's model.
            server_tools: false,
            ..WireRules::open("bedrock")
        }
    }

    /// Returns the rules of Ollama's native chat.
    ///
    /// No check of pairs is known there; results are paired by name and order.
    pub fn ollama() -> Self {
        WireRules {
            results: ResultPlace::ToolMessage,
            results_in_call_order: true,
            media: TakenMedia::Images,
            media_addresses: MediaAddresses::None,
            media_in_results: false,
            reasoning: Reasoning::Plain,
            server_tools: false,
            ..WireRules::open("ollama")
        }
    }

    /// Returns rules that forbid nothing but what no wire takes, to describe a wire that is not known here.
    ///
    /// What no wire takes: calls and results that do not pair up, calls without a name, arguments that are not an object
    /// (C9, C10), blocks in a message of the wrong role (A9), messages without content (C3), a list without messages.
    pub fn open(name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        WireRules {
            wire: name.clone(),
            name,
            alternate: Alternate::Free,
            head: Head::Any,
            tail: Tail::Any,
            final_white_space_refused: false,
            system: SystemPlace::Anywhere,
            results: ResultPlace::UserMessage,
            results_in_call_order: false,
            words_after_results: true,
            media: TakenMedia::All,
            media_addresses: MediaAddresses::Any,
            media_types: MediaTypes::Any,
            media_in_results: true,
            results_are_blocks: false,
            tool_blocks_need_tools: false,
            blank_text: BlankText::Allowed,
            ids_unique_in: IdScope::Message,
            ids: IdRule { alphabet: IdAlphabet::Any, max_length: None, exact_length: None },
            names: NameRule::ANY,
            references_need_tools: false,
            words_after_calls: true,
            reasoning: Reasoning::Any,
            thinking_may_end_turn: true,
            reasoning_bound: false,
            reasoning_items: false,
            reasoning_beside_calls: false,
            call_signatures: CallSignatures::Ignored,
            thinking_leads_tool_loop: false,
            final_thinking_needs_thinking: false,
            null_arguments: false,
            forced_choice_stops_thinking: false,
            fields: TakenFields::Any,
            server_tools: true,
        }
    }
}
