//! Holds the arguments of calls to the schemas of their tools.

use std::sync::Arc;

use serde_json::Value;

use crate::AgentError;
use crate::catalogue::Check;

/// The longest list of schema faults that a model is told.
const FAULTS_TOLD: usize = 5;

/// Returns the check that a schema makes.
pub(crate) fn check_of(tool: &str, schema: &Value) -> Result<Check, AgentError> {
    let schema = jsonschema::validator_for(schema)
        .map_err(|fault| AgentError::Schema { tool: tool.to_owned(), fault: fault.to_string() })?;
    Ok(Arc::new(move |arguments| {
        let told = schema.iter_errors(arguments).take(FAULTS_TOLD);
        let told = told.map(|fault| match fault.instance_path().as_str() {
            "" => clip(&fault.to_string()),
            path => format!("{path}: {}", clip(&fault.to_string())),
        });
        told.collect()
    }))
}

fn clip(text: &str) -> String {
    text.chars().take(300).collect()
}
