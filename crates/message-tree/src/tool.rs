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
