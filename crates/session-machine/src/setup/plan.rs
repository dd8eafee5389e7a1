//! The tool with which a model proposes a plan.

use serde_json::json;
use trunkline_message_tree::ToolSpec;

use crate::notes::plan::TOOL;

/// The name of the tool on the wire.
pub const NAME: &str = TOOL;

/// The name of the tool for people.
pub const LABEL: &str = "Propose Plan";

const DESCRIPTION: &str = "\
Proposes a plan to the person who asked for one. Until they approve it, only tools that read can run: every call that may change \
something is refused, and so are edits. Read what the task touches, then call this with the whole plan, alone or beside calls \
that read. They approve it, change it, or refuse it with a reason; what counts is the text that this call returns. An approved \
plan permits no call by itself: commands and edits are decided on as always.";

/// Returns the tool as the model is offered it.
pub fn spec() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "description": "What the plan is for, on one line." },
            "steps": {
                "type": "array",
                "description": "What will be done, in order: each step one thing that can be checked.",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": { "type": "string", "description": "What is done, and to which files." },
                        "done_when": {
                            "type": "string",
                            "description": "How one sees that it is done, such as a command that succeeds."
                        }
                    },
                    "required": ["text"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["title", "steps"],
        "additionalProperties": false
    });
    ToolSpec::new(NAME, DESCRIPTION, schema)
}
