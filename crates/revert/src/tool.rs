//! The tool as a model sees it.
//!
//! The words teach one thing above all: name the last node to *keep*. A model that names the first node to discard
//! loses its last good step.

use serde_json::json;
use trunkline_message_tree::ToolSpec;

use crate::{Category, Prompts};

/// The name under which a model calls the tool.
pub const TOOL_NAME: &str = "revert_to_state";

/// The name that people are shown.
pub const TOOL_LABEL: &str = "Revert to State";

/// What a model is told about the tool. At most 1,024 characters (OpenAI's limit for a function, read 2026-11).
pub const TOOL_DESCRIPTION: &str = "Leave a branch of this conversation and go on from an earlier node. The \
conversation is a tree: user messages and tool results begin with a mark of their own such as [n12], their node. You \
name the last node to KEEP; everything after it leaves the conversation, and your summary stands there instead, so \
write into it what you need to know. The move is made between turns, after the other calls of this turn. A node among \
the results of one turn stands for all of them. You cannot go back past a message of the user, and files or anything \
else that tools changed are not restored. Afterwards work forward from there with what you learned. Categories: \
failure (it did not work: say why and what to do instead), tangent (it led away from the task: say what you found), \
completion (it is done: say what came out), step-summary (a step is done: say what the next one needs).";

/// The rule on words of a person, as [`TOOL_DESCRIPTION`] has it.
const REFUSES: &str = "You cannot go back past a message of the user";

/// Returns the tool as it is offered to a model.
///
/// Arguments are checked by [`Request::parse`](crate::Request::parse), which says more than a schema can.
pub fn tool_spec() -> ToolSpec {
    tool_spec_for(Prompts::Refuse)
}

/// Like [`tool_spec`], for other rules on words of a person: the model is told what holds.
pub fn tool_spec_for(prompts: Prompts) -> ToolSpec {
    let rule = match prompts {
        Prompts::Refuse => REFUSES,
        Prompts::Leave => "You may go back past messages of the user; they leave too",
        Prompts::Rebase => "If you go back past messages of the user, copies of them follow the node",
        Prompts::Ask => "To go back past a message of the user needs that person's consent, asked for you",
    };
    ToolSpec {
        name: TOOL_NAME.to_owned(),
        description: TOOL_DESCRIPTION.replacen(REFUSES, rule, 1),
        input_schema: json!({
            "type": "object",
            "properties": {
                "category": {
                    "type": "string",
                    "enum": Category::ALL.map(Category::name),
                    "description": "Why you leave what came after the node."
                },
                "step": {
                    // Models often write the number alone.
                    "type": ["string", "integer"],
                    "description": "The last node to KEEP, as in its mark, for example \"n12\"."
                },
                "summary": {
                    "type": "string",
                    "description": "One line to take along: what you learned or what was done."
                }
            },
            "required": ["category", "step"]
        }),
        strict: None,
    }
}

/// The name under which a model asks where it could go back to.
pub const OUTLINE_TOOL_NAME: &str = "list_revert_targets";

/// Returns the tool with which a model asks where it could go back to; [`outline`](crate::outline) is its answer.
pub fn outline_tool_spec() -> ToolSpec {
    ToolSpec {
        name: OUTLINE_TOOL_NAME.to_owned(),
        description: format!(
            "List the nodes of this conversation that {TOOL_NAME} can go back to now, each with the beginning of its text \
             and how many messages a revert to it would leave. Changes nothing."
        ),
        input_schema: json!({ "type": "object", "properties": {} }),
        strict: None,
    }
}
