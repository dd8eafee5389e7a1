//! What a model is told about tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`; at most 64 (OpenAI's specification, read 2026-11).
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of the arguments; its root is an object.
    pub input_schema: Value,
    /// Whether the provider must hold the model's arguments to the schema; `None` for its own default.
    ///
    /// Providers then take a part of JSON Schema only. A wire that cannot do it leaves it out: arguments are checked
    /// before a tool runs in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

impl ToolSpec {
    /// Returns a tool whose strictness is left to the provider.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        ToolSpec { name: name.into(), description: description.into(), input_schema, strict: None }
    }
}

/// Returns what people are shown for a tool that says nothing else: `edit_file` is `Edit file`.
///
/// A name that a model made up, with other signs than tools have, comes back as it is; what shows it makes it harmless.
pub fn tool_label(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        return name.to_owned();
    }
    let words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| !word.is_empty()).collect();
    let joined = words.join(" ");
    let mut letters = joined.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => name.to_owned(),
    }
}

/// Whether and which tool the model must use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "every wire must be broken by a new choice")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Any,
    /// This tool.
    Named(String),
}
