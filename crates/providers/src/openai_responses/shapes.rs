//! The JSON of the Responses API: what we write and what we read.
//!
//! An event that is no piece of an item is read in two steps, its type first: the schema has 58 types of events (read
//! 2026-11), and one that we do not know may have any field in any shape.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::beside::Members;
use crate::text::{self, Text};

/// The body without its input.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<Offer<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ReasoningSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<TextForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_retention: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) safety_identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct ReasoningSwitch {
    pub(super) effort: &'static str,
}

#[derive(Serialize)]
pub(super) struct TextForm<'a> {
    pub(super) format: Format<'a>,
}

#[derive(Serialize)]
pub(super) struct Format<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) name: &'a str,
    pub(super) strict: bool,
    pub(super) schema: &'a Value,
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
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) parameters: &'a Value,
    pub(super) strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    Word(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

/// One item of the conversation.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: Words<'a>,
    },
    /// Words of the model with what was said beside them.
    Said(Said<'a>),
    Known(KnownItem<'a>),
    Raw(&'a RawValue),
}

/// Words of the model, and what belongs to the message and to its one part besides.
#[derive(Serialize)]
pub(super) struct Said<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) role: &'static str,
    pub(super) content: [OutputText<'a>; 1],
    #[serde(flatten)]
    pub(super) beside: Members<'a>,
}

#[derive(Serialize)]
pub(super) struct OutputText<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) text: &'a str,
    #[serde(flatten)]
    pub(super) beside: Members<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KnownItem<'a> {
    /// Words of the model. OpenAI needs no type here; llama.cpp's server takes a message of the model for no item
    /// without one (tried with its build of 2026-10).
    Message {
        role: &'static str,
        content: &'a str,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
        #[serde(flatten)]
        beside: Members<'a>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Words<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Words<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<PartShape<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum PartShape<'a> {
    Known(KnownPart<'a>),
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names are the wire's")]
pub(super) enum KnownPart<'a> {
    InputText {
        text: &'a str,
        #[serde(flatten)]
        beside: Members<'a>,
    },
    InputImage {
        image_url: Cow<'a, str>,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
    },
}

/// What an item is.
#[derive(Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
}

/// What an event is, and all of it if it is a piece of an item: nearly every event is one, and is read once.
#[derive(Deserialize)]
pub(super) struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(default, deserialize_with = "text::number")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) item_id: Text<'a>,
    #[serde(default, deserialize_with = "text::number")]
    pub(super) content_index: Option<u64>,
    #[serde(default, deserialize_with = "text::number")]
    pub(super) summary_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) delta: Text<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What a call's arguments were.
#[derive(Deserialize)]
pub(super) struct ArgumentsDone<'a> {
    #[serde(default, deserialize_with = "text::number")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) item_id: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// An event about the response as a whole.
#[derive(Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
}

/// A response, complete or as a stream begins it.
#[derive(Default, Deserialize)]
pub(super) struct ResponseShape<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow, default)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow, default)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
}

/// An event that begins or ends an item.
#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    #[serde(default, deserialize_with = "text::number")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// An item of the output; which fields it has depends on its type.
#[derive(Deserialize)]
pub(super) struct ItemShape<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) phase: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) namespace: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) caller: Option<&'a RawValue>,
}

/// A part of an item's content or summary.
#[derive(Deserialize)]
pub(super) struct PartOfItem<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) logprobs: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct UsageShape {
    pub(super) input_tokens: Option<u64>,
    pub(super) input_tokens_details: Option<InputDetails>,
    pub(super) output_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
    pub(super) cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct OutputDetails {
    pub(super) reasoning_tokens: Option<u64>,
}
