//! The JSON of Gemini: what we write and what we read.
//!
//! Parts are read as lists of members, because what stands beside the words of a part must go back with it. Fields of
//! Google's own client (google-genai 3.4.0) and recorded exchanges, read 2026-11. Gateways write the names in snake case too,
//! as the service's own definition has them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::beside::Members;
use crate::text::{self, Text};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Instructions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<Tools<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_config: Option<ToolConfig<'a>>,
    pub(super) generation_config: GenerationConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct Instructions<'a> {
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Tools<'a> {
    #[serde(rename_all = "camelCase")]
    Ours {
        function_declarations: Vec<Function<'a>>,
    },
    Theirs(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    // `parameters` takes a part of JSON Schema only and refuses the rest.
    pub(super) parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolConfig<'a> {
    pub(super) function_calling_config: Choice<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Choice<'a> {
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_sequences: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_json_schema: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) include_thoughts: Option<bool>,
}

/// A turn.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: &'static str,
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Text {
        text: &'a str,
    },
    /// Words with what stood beside them.
    Signed {
        text: &'a str,
        #[serde(flatten)]
        beside: Members<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Thought {
        text: &'a str,
        thought: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
        #[serde(flatten)]
        beside: Members<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: ResultOfCall<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Inline {
        inline_data: Inline<'a>,
    },
    #[serde(rename_all = "camelCase")]
    File {
        file_data: File<'a>,
    },
    Raw(&'a RawValue),
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: &'a RawValue,
}

#[derive(Serialize)]
pub(super) struct ResultOfCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) response: Answer<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part<'a>>,
}

/// What a tool answered; always an object.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Answer<'a> {
    Output { output: Cow<'a, str> },
    Error { error: Cow<'a, str> },
    Data(&'a RawValue),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inline<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) mime_type: &'a str,
    pub(super) file_uri: &'a str,
}

/// One response; a stream is a row of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseShape<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, alias = "prompt_feedback")]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow, alias = "usage_metadata")]
    pub(super) usage_metadata: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "model_version")]
    pub(super) model_version: Text<'a>,
    #[serde(borrow, default, alias = "response_id")]
    pub(super) response_id: Text<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default, deserialize_with = "text::number")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) content: Option<ContentShape<'a>>,
    #[serde(borrow, default, alias = "finish_reason")]
    pub(super) finish_reason: Text<'a>,
    #[serde(borrow, alias = "finish_message")]
    pub(super) finish_message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ContentShape<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow, default, alias = "block_reason")]
    pub(super) block_reason: Text<'a>,
    #[serde(borrow, alias = "block_reason_message")]
    pub(super) block_reason_message: Option<&'a RawValue>,
}

/// Only what was sent is there: later reports replace field by field.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageShape {
    #[serde(default, alias = "prompt_token_count", deserialize_with = "text::number")]
    pub(super) prompt_token_count: Option<u64>,
    #[serde(default, alias = "tool_use_prompt_token_count", deserialize_with = "text::number")]
    pub(super) tool_use_prompt_token_count: Option<u64>,
    #[serde(default, alias = "cached_content_token_count", deserialize_with = "text::number")]
    pub(super) cached_content_token_count: Option<u64>,
    #[serde(default, alias = "candidates_token_count", deserialize_with = "text::number")]
    pub(super) candidates_token_count: Option<u64>,
    #[serde(default, alias = "thoughts_token_count", deserialize_with = "text::number")]
    pub(super) thoughts_token_count: Option<u64>,
}

/// A call of a function.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallOfPart<'a> {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow, alias = "partial_args")]
    pub(super) partial_args: Option<&'a RawValue>,
    #[serde(alias = "will_continue")]
    pub(super) will_continue: Option<bool>,
}

/// What we keep of a text part besides its words: which bytes of the text block before it are its words, and its other
/// members as they came. A form of our own, never sent as it is.
#[derive(Serialize, Deserialize)]
pub(super) struct BesideText<'a> {
    #[serde(rename = "textBytes")]
    pub(super) range: (usize, usize),
    #[serde(borrow, rename = "part")]
    pub(super) members: Members<'a>,
}
