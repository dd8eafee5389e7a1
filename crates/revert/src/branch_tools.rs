//! The tools with which a model may do more with its branches than leave them, as it sees them.
//!
//! Each of them is offered for itself, and only where somebody asked for it: to bring back what a branch came to, to go back
//! to one, and to leave a result of a tool out of later requests. Their words teach when *not* to use them as well, since each
//! costs something.

use serde_json::{Value, json};
use trunkline_message_tree::ToolSpec;

use crate::{Category, OUTLINE_TOOL_NAME, Prompts, TOOL_NAME, outline_tool_spec};

/// The name under which a model brings back what branches came to that it left.
pub const MERGE_TOOL_NAME: &str = "merge_left_branch";
/// The name that people are shown.
pub const MERGE_TOOL_LABEL: &str = "Merge Left Branch";

/// The name under which a model goes back to a branch that it left.
pub const RETURN_TOOL_NAME: &str = "return_to_branch";
/// The name that people are shown.
pub const RETURN_TOOL_LABEL: &str = "Return to Branch";

/// The name under which a model leaves results out of later requests.
pub const PRUNE_TOOL_NAME: &str = "prune_result";
/// The name that people are shown.
pub const PRUNE_TOOL_LABEL: &str = "Prune Result";

/// The name under which a model asks for a result again that is left out.
pub const RECALL_TOOL_NAME: &str = "recall_result";
/// The name that people are shown.
pub const RECALL_TOOL_LABEL: &str = "Recall Result";

/// Returns whether calls of this name are about the conversation and not about the work: what they answer is no progress, and
/// nothing that a branch did.
pub fn is_conversation_tool(name: &str) -> bool {
    [TOOL_NAME, OUTLINE_TOOL_NAME, MERGE_TOOL_NAME, RETURN_TOOL_NAME, PRUNE_TOOL_NAME, RECALL_TOOL_NAME]
        .contains(&name)
}

/// Returns the tool with which a model brings back what came of branches that it left; see [`merge_own`](crate::merge_own).
pub fn merge_tool_spec() -> ToolSpec {
    spec(
        MERGE_TOOL_NAME,
        format!(
            "Bring back what came of branches that you left yourself, such as with {TOOL_NAME}, without going there: the \
             lessons, the other notes and your last words of each branch follow as one message, each line with the nodes \
             that it comes from. Use it when you work on one way and need what you found out on another. It does not bring \
             back what tools returned there, and it changes no file. {OUTLINE_TOOL_NAME} lists your branches, each by its \
             last node. Branches that the user left are not yours to merge. A branch is merged once."
        ),
        json!({
            "branches": {
                "type": "array",
                "items": { "type": ["string", "integer"] },
                "description": "The branches to merge, each by any node of it, for example [\"n12\"]."
            }
        }),
        &["branches"],
    )
}

/// Returns the tool with which a model goes back to a branch that it left; see [`plan_return`](crate::plan_return). `prompts` is
/// the rule on words of a person.
pub fn return_tool_spec(prompts: Prompts) -> ToolSpec {
    let rule = match prompts {
        Prompts::Leave => "Messages of the user that came since leave with the rest",
        _ => "You cannot leave a message of the user behind",
    };
    spec(
        RETURN_TOOL_NAME,
        format!(
            "Go back to a branch that you left yourself, such as with {TOOL_NAME}, and go on from its end. All its messages \
             stand again; what you did since leaves the conversation, and your summary stands there instead. Use it when the \
             way that you gave up turns out to be the better one. If you need only its findings and \
             `{MERGE_TOOL_NAME}` is offered, use that: it costs less. The move is made between turns. {OUTLINE_TOOL_NAME} lists \
             your branches, each by its last node. Branches that the user left are not yours to go back to. {rule}, and \
             files or anything else that tools changed stay as they are now. Do not go to and fro between two branches."
        ),
        json!({
            "category": {
                "type": "string",
                "enum": Category::ALL.map(Category::name),
                "description": "Why you leave what you did since."
            },
            "branch": {
                "type": ["string", "integer"],
                "description": "The branch to go back to, by any node of it, for example \"n12\"."
            },
            "summary": {
                "type": "string",
                "description": "One line to take along: what you learned or what was done since."
            }
        }),
        &["category", "branch"],
    )
}

/// Returns the tool with which a model leaves results out of later requests; see [`plan_pruning`](crate::plan_pruning).
pub fn prune_tool_spec() -> ToolSpec {
    spec(
        PRUNE_TOOL_NAME,
        format!(
            "Leave results of tools that you no longer need out of the conversation: one line stands in their place, with how \
             many bytes there were. Use it for long results that you are done with, such as a file that you have read or the \
             output of a build, and name them together: each call loses the provider's cache from the first named result \
             on; do not use it for short results or for results far back. Nothing is deleted: {RECALL_TOOL_NAME} returns one again. Answers to \
             what you proposed, refusals, and results of this turn cannot be left out."
        ),
        json!({
            "results": {
                "type": "array",
                "items": { "type": ["string", "integer"] },
                "description": "The results to leave out, each by its mark, for example [\"n12\", \"n15\"]."
            }
        }),
        &["results"],
    )
}

/// Returns the tool with which a model asks for a result again that is left out; see [`recall`](crate::recall).
pub fn recall_tool_spec() -> ToolSpec {
    spec(
        RECALL_TOOL_NAME,
        "Return a result of a tool again that was left out of the conversation, as it was returned then. No tool is run: a \
         file may have changed since, and then reading it again is better."
            .to_owned(),
        json!({
            "result": {
                "type": ["string", "integer"],
                "description": "The result, by its mark, for example \"n12\"."
            }
        }),
        &["result"],
    )
}

/// Returns the tool that lists targets, for a model that can also do something with its branches: they are listed as well.
pub fn outline_tool_spec_with_branches() -> ToolSpec {
    let mut outline = outline_tool_spec();
    outline.description.push_str(" Lists the branches that you left as well, each by its last node.");
    outline
}

fn spec(name: &str, description: String, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description,
        input_schema: json!({ "type": "object", "properties": properties, "required": required }),
        strict: None,
    }
}
