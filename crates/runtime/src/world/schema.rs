//! Holds the arguments of calls to the schemas of their tools.

use serde_json::{Map, Value};
use trunkline_session_machine::AgentError;

/// The longest list of schema faults that a model is told.
const FAULTS_TOLD: usize = 5;

/// The schema of a tool.
pub(crate) struct Schema(jsonschema::Validator);

impl Schema {
    pub(crate) fn of(tool: &str, schema: &Value) -> Result<Self, AgentError> {
        jsonschema::validator_for(schema)
            .map(Schema)
            .map_err(|fault| AgentError::Schema { tool: tool.to_owned(), fault: fault.to_string() })
    }

    /// Returns what the model is told if arguments do not fit.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let arguments = Value::Object(arguments.clone());
        let told = self.0.iter_errors(&arguments).take(FAULTS_TOLD);
        let told = told.map(|fault| match fault.instance_path().as_str() {
            "" => clip(&fault.to_string()),
            path => format!("{path}: {}", clip(&fault.to_string())),
        });
        let told: Vec<String> = told.collect();
        match told.is_empty() {
            true => Ok(()),
            false => Err(format!("not run: the arguments do not fit the tool: {}", told.join("; "))),
        }
    }
}

fn clip(text: &str) -> String {
    text.chars().take(300).collect()
}
