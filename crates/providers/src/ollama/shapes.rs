//! The JSON of Ollama's chat: what we write and what we read.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::text::{self, Text};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) think: Option<Think>,
    #[serde(skip_serializing_if = "Options::is_empty")]
    pub(super) options: Options<'a>,
    // Always said: the service streams unless told otherwise.
    pub(super) stream: bool,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Think {
    Switch(bool),
    Level(&'static str),
}

#[derive(PartialEq, Serialize, Default)]
pub(super) struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) num_predict: Option<u32>,
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
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) stop: &'a [String],
}

impl Options<'_> {
    fn is_empty(&self) -> bool {
        *self == Options::default()
    }
}

/// What follows role and content in a message.
#[derive(Default, Serialize)]
pub(super) struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<&'a str>,
    // Objects whose members are added as they are.
    #[serde(skip)]
    pub(super) raw: Vec<&'a RawValue>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) function: CallFunction<'a>,
}

#[derive(Serialize)]
pub(super) struct CallFunction<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a RawValue,
}

/// One line of a stream, or a whole answer.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text::truth")]
    pub(super) done: Option<bool>,
    #[serde(borrow, default)]
    pub(super) done_reason: Text<'a>,
    #[serde(default, deserialize_with = "text::number")]
    pub(super) prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "text::number")]
    pub(super) eval_count: Option<u64>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct MessageShape<'a> {
    #[serde(borrow, default)]
    pub(super) content: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Text<'a>,
    /// A list; some that imitate the service write the only call itself.
    #[serde(borrow)]
    pub(super) tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) images: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct CallShape<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionShape<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionShape<'a> {
    #[serde(default, deserialize_with = "text::number")]
    pub(super) index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}
