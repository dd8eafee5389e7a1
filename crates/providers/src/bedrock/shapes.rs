//! The JSON of Converse: what we write and what we read.
//!
//! Blocks are told apart by the name of their one member, not by a type. Whatever must come back unchanged is a
//! `RawValue` here, so that its bytes are never touched.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::text::{self, Text};
use serde_json::{Map, Value};
use trunkline_message_tree::ToolSpec;

use crate::beside::Members;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<Vec<Block<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inference_config: Option<InferenceConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_config: Option<ToolConfig<'a>>,
    #[serde(rename = "additionalModelRequestFields", skip_serializing_if = "Option::is_none")]
    pub(super) fields: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig<'a>>,
    #[serde(rename = "requestMetadata", skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<ServiceTier<'a>>,
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InferenceConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_sequences: Option<&'a [String]>,
}

#[derive(Serialize)]
pub(super) struct ToolConfig<'a> {
    pub(super) tools: Vec<Tool<'a>>,
    #[serde(rename = "toolChoice", skip_serializing_if = "Option::is_none")]
    pub(super) choice: Option<Choice<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Tool<'a> {
    #[serde(rename = "toolSpec")]
    Ours {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        input_schema: Schema<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    },
    CachePoint(CachePoint),
    /// One that the service runs.
    #[serde(untagged)]
    Theirs(&'a Value),
}

#[derive(Serialize)]
pub(super) struct Schema<'a> {
    json: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Choice<'a> {
    Any {},
    Tool { name: &'a str },
}

#[derive(Copy, Clone, Serialize)]
pub(super) struct CachePoint {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutputConfig<'a> {
    pub(super) text_format: Format<'a>,
}

#[derive(Serialize)]
pub(super) struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    structure: Structure<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Structure<'a> {
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    // JSON in a string.
    schema: String,
}

#[derive(Serialize)]
pub(super) struct ServiceTier<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Known(Known<'a>),
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Known<'a> {
    Text(&'a str),
    Image(MediaBlock<'a>),
    Document(MediaBlock<'a>),
    ReasoningContent(Reasoning<'a>),
    ToolUse {
        tool_use_id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
    CachePoint(CachePoint),
    CitationsContent {
        content: Vec<CitedText<'a>>,
        #[serde(flatten)]
        beside: Members<'a>,
    },
}

/// A piece of words that were taken from somewhere.
#[derive(Serialize, Deserialize)]
pub(super) struct CitedText<'a> {
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct MediaBlock<'a> {
    pub(super) format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) source: Source<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Source<'a> {
    Bytes(&'a str),
    S3Location { uri: &'a str },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reasoning<'a> {
    ReasoningText {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    RedactedContent(&'a str),
}

impl CachePoint {
    pub(super) fn new(ttl: Option<&'static str>) -> Self {
        CachePoint { kind: "default", ttl }
    }
}

impl<'a> Tool<'a> {
    pub(super) fn of(tool: &'a ToolSpec) -> Self {
        Tool::Ours {
            name: &tool.name,
            description: &tool.description,
            input_schema: Schema { json: &tool.input_schema },
            // Models that cannot be held to it refuse to hear of it.
            strict: tool.strict == Some(true),
        }
    }
}

impl<'a> Format<'a> {
    pub(super) fn of(name: &'a str, schema: String) -> Self {
        Format { kind: "json_schema", structure: Structure { json_schema: JsonSchema { name, schema } } }
    }
}

/// A block that we only carry, as far as we look at it.
#[derive(Deserialize)]
pub(super) struct CacheHolder {
    #[serde(rename = "cachePoint")]
    pub(super) cache_point: Option<Map<String, Value>>,
}

/// Any event of a stream; which fields it has depends on its kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamEvent<'a> {
    #[serde(rename = "contentBlockIndex", default, deserialize_with = "text::number")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) start: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct StartShape {
    #[serde(rename = "toolUse")]
    pub(super) call: Option<CallStart>,
}

#[derive(Deserialize)]
pub(super) struct CallStart {
    #[serde(rename = "toolUseId", default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    pub(super) text: Option<String>,
    #[serde(rename = "toolUse", borrow)]
    pub(super) call: Option<CallDelta<'a>>,
    #[serde(rename = "reasoningContent")]
    pub(super) reasoning: Option<ReasoningDelta>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(borrow)]
    pub(super) input: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct ReasoningDelta {
    pub(super) text: Option<String>,
    pub(super) signature: Option<String>,
    #[serde(rename = "redactedContent")]
    pub(super) redacted: Option<String>,
}

/// A body that is one object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WholeAnswer<'a> {
    #[serde(borrow)]
    pub(super) output: Option<Output<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Output<'a> {
    #[serde(borrow)]
    pub(super) message: Option<WholeMessage<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WholeMessage<'a> {
    #[serde(borrow, default)]
    pub(super) content: Vec<&'a RawValue>,
}

/// A block of a whole message, as far as we understand it.
#[derive(Deserialize)]
pub(super) struct BlockShape<'a> {
    pub(super) text: Option<String>,
    #[serde(rename = "toolUse", borrow)]
    pub(super) call: Option<CallShape<'a>>,
    #[serde(rename = "reasoningContent")]
    pub(super) reasoning: Option<ReasoningShape>,
    #[serde(rename = "citationsContent", borrow)]
    cited: Option<CitedShape<'a>>,
}

#[derive(Deserialize)]
pub(super) struct CallShape<'a> {
    #[serde(rename = "toolUseId", default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ReasoningShape {
    #[serde(rename = "reasoningText")]
    pub(super) text: Option<ReasoningText>,
    #[serde(rename = "redactedContent")]
    pub(super) redacted: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct ReasoningText {
    pub(super) text: Option<String>,
    pub(super) signature: Option<String>,
}

#[derive(Deserialize)]
struct CitedShape<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    citations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct UsageShape {
    #[serde(rename = "inputTokens", default, deserialize_with = "text::number")]
    pub(super) input: Option<u64>,
    #[serde(rename = "outputTokens", default, deserialize_with = "text::number")]
    pub(super) output: Option<u64>,
    #[serde(rename = "cacheReadInputTokens", default, deserialize_with = "text::number")]
    pub(super) cache_read: Option<u64>,
    #[serde(rename = "cacheWriteInputTokens", default, deserialize_with = "text::number")]
    pub(super) cache_write: Option<u64>,
}

// `tool_use` is sent for ordinary calls by some models (recorded), though it is not in the service's model.
fn is_of_service(kind: Option<&str>) -> bool {
    kind == Some("server_tool_use")
}

impl CallStart {
    /// Whether the service runs the tool itself.
    pub(super) fn is_of_service(&self) -> bool {
        is_of_service(self.kind.as_deref())
    }
}

impl CallShape<'_> {
    /// Whether the service runs the tool itself.
    pub(super) fn is_of_service(&self) -> bool {
        is_of_service(self.kind.as_deref())
    }
}

impl CitedShape<'_> {
    fn pieces(&self) -> Vec<CitedText<'_>> {
        self.content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default()
    }
}

impl BlockShape<'_> {
    /// Returns the words of a text with citations, as streams give them.
    pub(super) fn cited(&self) -> Option<String> {
        let pieces = self.cited.as_ref()?.pieces();
        let words: String = pieces.iter().map(|part| part.text.as_ref()).collect();
        Some(words).filter(|words| !words.is_empty())
    }

    /// Returns the places that such words were taken from, and the words' pieces if they are several.
    pub(super) fn beside(&self) -> Members<'_> {
        let Some(cited) = &self.cited else { return Members::new() };
        let pieces = cited.content.filter(|_| cited.pieces().len() > 1);
        let members = [("citations", cited.citations), ("content", pieces)];
        members.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect()
    }
}

/// Returns a piece of arguments: a string's text in streams, and what else there is as it is.
pub(super) fn piece(input: &RawValue) -> String {
    match serde_json::from_str(input.get()) {
        Ok(Value::String(text)) => text,
        Ok(Value::Null) => String::new(),
        _ => input.get().to_owned(),
    }
}

/// Returns what an error object in place of an answer calls itself.
pub(super) fn reported_name(text: &str) -> Option<String> {
    let body: Value = serde_json::from_str(text).ok()?;
    let output = body.get("Output").unwrap_or(&body);
    let name = ["__type", "code", "type"].iter().find_map(|field| output.get(field)?.as_str());
    let speaks = ["message", "Message"].iter().any(|field| body.get(field).is_some());
    name.map(str::to_owned).or(speaks.then(|| "an error".to_owned()))
}
