//! The tool with which a model asks for the end of its run.

use serde_json::json;
use trunkline_message_tree::ToolSpec;

use crate::notes::close_request::TOOL;

/// The name of the tool on the wire.
pub const NAME: &str = TOOL;

/// The name of the tool for people.
pub const LABEL: &str = "Request Decision";

const DESCRIPTION: &str = "\
Asks the person you work for to end this run otherwise than by your answer. `checkpoint`: what is done so far is put down, and the \
work goes on from there later. `retry`: this way has failed, and another run of the same task tries again with your words about what \
to do otherwise; files stay as they are. `abandon`: the task cannot or should not be done; it counts as failed. It is only a request: \
they approve it, perhaps in other words, or refuse it with a reason, and then you go on. Settle what you have proposed first. Do not \
use it for work that is done: answer in words.";

/// Returns the tool as the model is offered it.
pub fn spec() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "enum": ["checkpoint", "retry", "abandon"] },
            "words": {
                "type": "string",
                "description": "What the decision will say: what to go on from, what to do otherwise, or why it is given up."
            }
        },
        "required": ["decision", "words"],
        "additionalProperties": false
    });
    ToolSpec::new(NAME, DESCRIPTION, schema)
}
