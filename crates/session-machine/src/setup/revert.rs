//! Whether and how the model may leave a branch, and what else it may do with its branches and results.

use trunkline_message_tree::ToolSpec;
use trunkline_revert::{
    MERGE_TOOL_NAME, OUTLINE_TOOL_NAME, PRUNE_TOOL_NAME, RECALL_TOOL_NAME, RETURN_TOOL_NAME, TOOL_NAME,
};

use crate::setup::close_request;
use crate::words::reverts::Reverts;

/// Whether and how an agent's model may revert.
pub(crate) type Setting = Option<Box<Reverts>>;

/// Returns the tools that the model is offered.
pub fn specs(setting: &Setting) -> Vec<ToolSpec> {
    let Some(reverts) = setting else { return Vec::new() };
    let outline = match reverts.merge || reverts.go {
        true => trunkline_revert::outline_tool_spec_with_branches(),
        false => trunkline_revert::outline_tool_spec(),
    };
    let mut specs = vec![trunkline_revert::tool_spec_for(reverts.prompts), outline];
    specs.extend(reverts.merge.then(trunkline_revert::merge_tool_spec));
    specs.extend(reverts.go.then(|| trunkline_revert::return_tool_spec(reverts.prompts)));
    if reverts.prune {
        specs.extend([trunkline_revert::prune_tool_spec(), trunkline_revert::recall_tool_spec()]);
    }
    specs.extend(reverts.decide.then(close_request::spec));
    specs
}

/// Returns whether calls of this name are answered at the end of their turn and never run.
pub(crate) fn is_offered(setting: &Setting, name: &str) -> bool {
    let Some(reverts) = setting else { return false };
    match name {
        TOOL_NAME | OUTLINE_TOOL_NAME => true,
        MERGE_TOOL_NAME => reverts.merge,
        RETURN_TOOL_NAME => reverts.go,
        PRUNE_TOOL_NAME | RECALL_TOOL_NAME => reverts.prune,
        _ => false,
    }
}
