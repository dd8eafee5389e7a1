//! The tools of an agent by name, and what is wrong with a call before it runs.
//!
//! Everything a model writes is hostile: a call runs only if its tool exists, its arguments are whole, and the schema
//! accepts them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_message_tree::{CallOutcome, ToolCall, ToolSpec};

use crate::{AgentError, Tool};

/// Deeper arguments are refused. They are wrapped into notes before they are stored, and what is stored must be readable
/// within the 128 levels of the JSON parser.
const DEPTH: usize = 64;

/// The longest list of schema faults that a model is told.
const FAULTS_TOLD: usize = 5;

/// What a model is told of a call that its reply did not bring to an end.
pub(crate) const TRUNCATED: &str =
    "not run: the reply ended in the middle of this call; write less at once and call again";

/// The tools of an agent.
#[derive(Default)]
pub(crate) struct Catalogue {
    // By name, so that the list that a model gets is the same on every start.
    tools: BTreeMap<String, Entry>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
    schema: jsonschema::Validator,
}

impl Catalogue {
    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), AgentError> {
        let spec = tool.spec();
        let name = spec.name.clone();
        let schema = jsonschema::validator_for(&spec.input_schema)
            .map_err(|fault| AgentError::Schema { tool: name.clone(), fault: fault.to_string() })?;
        if self.tools.insert(name.clone(), Entry { tool, spec, schema }).is_some() {
            return Err(AgentError::ToolTwice { tool: name });
        }
        Ok(())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| &entry.spec)
    }

    /// Returns the arguments of a call that may run, or what the model is told instead.
    pub(crate) fn check(&self, call: &ToolCall, outcome: CallOutcome) -> Result<Map<String, Value>, String> {
        let Some(entry) = self.tools.get(&call.name) else {
            let known: Vec<&str> = self.tools.keys().map(String::as_str).collect();
            return Err(format!(
                "not run: there is no tool {:?}; there are: {}",
                call.name,
                known.join(", ")
            ));
        };
        let received = || call.arguments.chars().take(500).collect::<String>();
        let arguments = match outcome {
            CallOutcome::Ready(arguments) => arguments,
            CallOutcome::NotJson { reason } => {
                return Err(format!(
                    "not run: the arguments are not a JSON object ({reason}); received: {}",
                    received()
                ));
            }
            CallOutcome::Truncated => return Err(TRUNCATED.to_owned()),
            _ => {
                return Err(format!(
                    "not run: the arguments are not a JSON object; received: {}",
                    received()
                ));
            }
        };
        let value = Value::Object(arguments);
        if !is_within(&value, DEPTH) {
            return Err(format!("not run: the arguments are nested deeper than {DEPTH} levels"));
        }
        let mut faults = entry.schema.iter_errors(&value);
        let told: Vec<String> = faults
            .by_ref()
            .take(FAULTS_TOLD)
            .map(|fault| match fault.instance_path().as_str() {
                "" => clip(&fault.to_string()),
                path => format!("{path}: {}", clip(&fault.to_string())),
            })
            .collect();
        drop(faults);
        if !told.is_empty() {
            return Err(format!("not run: the arguments do not fit the tool: {}", told.join("; ")));
        }
        match value {
            Value::Object(arguments) => Ok(arguments),
            _ => Ok(Map::new()),
        }
    }
}

fn is_within(value: &Value, levels: usize) -> bool {
    match (value, levels) {
        (Value::Array(_) | Value::Object(_), 0) => false,
        (Value::Array(items), _) => items.iter().all(|item| is_within(item, levels - 1)),
        (Value::Object(fields), _) => fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

fn clip(text: &str) -> String {
    text.chars().take(300).collect()
}
