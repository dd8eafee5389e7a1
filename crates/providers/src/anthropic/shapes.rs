//! The JSON of the Messages API: what we write and what we read.
//!
//! Whatever must come back unchanged is a `RawValue` here, so that its bytes are never touched.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The body without its messages.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<Vec<System<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<Offer<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_sequences: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Metadata<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<bool>,
}

/// A block of the instructions.
#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
pub(super) struct System<'a> {
    pub(super) text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<&'a RawValue>,
}

/// A tool of ours, or one that the provider runs.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Offer<'a> {
    Ours(Tool<'a>),
    Theirs(&'a Value),
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<&'a RawValue>,
}

#[derive(Serialize)]
pub(super) struct Choice<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct ThinkingSwitch {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget_tokens: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<Format<'a>>,
}

#[derive(Serialize)]
pub(super) struct Format<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) schema: &'a Value,
}

#[derive(Serialize)]
pub(super) struct Metadata<'a> {
    pub(super) user_id: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Known(Known<'a>),
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Known<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<ResultContent<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl Known<'_> {
    /// Whether a breakpoint can stand on it; empty blocks and reasoning are refused with one.
    pub(super) fn takes_mark(&self) -> bool {
        match self {
            Known::Text { text } => !text.trim().is_empty(),
            Known::Image { .. } | Known::Document { .. } => true,
            Known::ToolResult { content: Some(ResultContent::Text(text)), .. } => !text.is_empty(),
            Known::ToolResult { content, .. } => content.is_some(),
            Known::Thinking { .. } | Known::RedactedThinking { .. } | Known::ToolUse { .. } => false,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

/// A block that we only carry, as far as we look at it.
#[derive(Deserialize)]
pub(super) struct Marked {
    pub(super) cache_control: Option<Value>,
}

/// Any event of a stream; which fields it has depends on its type.
#[derive(Deserialize)]
pub(super) struct StreamEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) message: Option<WholeMessage<'a>>,
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) usage: Option<UsageShape>,
}

/// A message, complete or as a stream begins it.
#[derive(Deserialize)]
pub(super) struct WholeMessage<'a> {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) model: String,
    #[serde(borrow, default)]
    pub(super) content: Vec<&'a RawValue>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<UsageShape>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) text: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) partial_json: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) signature: Cow<'a, str>,
    pub(super) stop_reason: Option<String>,
    // Of blocks that we only carry.
    pub(super) content: Option<Value>,
    pub(super) citation: Option<Value>,
}

/// The beginning of a block that we understand; `input` keeps its bytes.
#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) thinking: String,
    #[serde(default)]
    pub(super) signature: String,
    #[serde(default)]
    pub(super) data: String,
    #[serde(default)]
    pub(super) tool_use_id: String,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// Only what was sent is there: later reports replace field by field.
#[derive(Deserialize)]
pub(super) struct UsageShape {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Option<u64>,
}
