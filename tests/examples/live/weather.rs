//! The tool: it knows the weather everywhere, and it is always the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_message_tree::ToolSpec;
use trunkline_runtime::{Access, Tool, ToolContext, ToolOutput};

/// Counts how often it was asked. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct Weather {
    asked: Arc<AtomicUsize>,
}

impl Weather {
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(
            "get_weather",
            "Weather for a city",
            // The server holds the model to the schema token by token; a free string it might never end.
            json!({
                "type": "object",
                "properties": {"city": {"type": "string", "enum": ["Paris", "Rome", "Oslo"]}},
                "required": ["city"],
                "additionalProperties": false,
            }),
        )
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let city = arguments.get("city").and_then(Value::as_str).unwrap_or("there");
        ToolOutput::text(format!("18 degrees and sunny in {city}"))
    }
}
