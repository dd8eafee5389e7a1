//! What every tool does with a call: read its arguments, and work on a thread that may block.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::ToolOutput;
use trunkline_agent_traits::message_tree::ToolSpec;

/// Describes a tool. Its description is part of a cached prompt: it never changes.
pub(crate) fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        strict: None,
    }
}

/// Reads arguments. They were checked against the schema, but a tool can be called by others too.
pub(crate) fn arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("wrong arguments: {error}"))
}

/// Returns an argument that is text, whatever the others are.
pub(crate) fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// Runs work that blocks; an `Err` is what the model is told of a failure.
pub(crate) async fn blocking(
    work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(output)) => output,
        Ok(Err(reason)) => ToolOutput::error(reason),
        Err(error) => ToolOutput::error(format!("the tool broke: {error}")),
    }
}
