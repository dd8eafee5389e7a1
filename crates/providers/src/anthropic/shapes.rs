//! The JSON of the Messages API: what we write and what we read.
//!
//! Whatever must come back unchanged is a `RawValue` here, so that its bytes are never touched.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::text::{self, Text};

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
    Text { media_type: &'static str, data: String },
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
    pub(super) kind: Text<'a>,
    #[serde(default, deserialize_with = "text::number")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A message, complete or as a stream begins it.
#[derive(Deserialize)]
pub(super) struct WholeMessage<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow, default)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// A piece of a block. Read by hand and kept small, because nearly every event has one and is moved several times.
#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) kind: Text<'a>,
    /// The words, under whichever name they came.
    pub(super) words: Text<'a>,
    pub(super) more: Option<Box<More<'a>>>,
}

/// What few pieces have.
#[derive(Default)]
pub(super) struct More<'a> {
    pub(super) stop_reason: Text<'a>,
    pub(super) stop_details: Option<&'a RawValue>,
    // Of blocks that we only carry.
    pub(super) content: Option<&'a RawValue>,
    pub(super) citation: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Delta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Delta<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a piece of a block")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Delta<'de>, A::Error> {
                let mut delta = Delta::default();
                while let Some(field) = fields.next_key()? {
                    match field {
                        DeltaField::Type => delta.kind = fields.next_value()?,
                        // Servers that always write all of them leave all but one empty.
                        DeltaField::Text
                        | DeltaField::PartialJson
                        | DeltaField::Thinking
                        | DeltaField::Signature => {
                            let words: Text<'de> = fields.next_value()?;
                            if !words.is_empty() {
                                delta.words = words;
                            }
                        }
                        DeltaField::StopReason => {
                            delta.more.get_or_insert_default().stop_reason = fields.next_value()?;
                        }
                        DeltaField::StopDetails => {
                            delta.more.get_or_insert_default().stop_details = fields.next_value()?;
                        }
                        DeltaField::Content => {
                            delta.more.get_or_insert_default().content = fields.next_value()?
                        }
                        DeltaField::Citation => {
                            delta.more.get_or_insert_default().citation = fields.next_value()?;
                        }
                        DeltaField::Other => {
                            let _: IgnoredAny = fields.next_value()?;
                        }
                    }
                }
                Ok(delta)
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DeltaField {
    Type,
    Text,
    PartialJson,
    Thinking,
    Signature,
    StopReason,
    StopDetails,
    Content,
    Citation,
    #[serde(other)]
    Other,
}

/// The beginning of a block that we understand; `input` keeps its bytes.
#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow, default)]
    pub(super) signature: Text<'a>,
    #[serde(borrow, default)]
    pub(super) data: Text<'a>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) citations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) caller: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) toolset_name: Option<&'a RawValue>,
}

/// Who made a call.
#[derive(Deserialize)]
pub(super) struct Caller<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Text<'a>,
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
