//! Whether and how the model may leave a branch.

use trunkline_message_tree::ToolSpec;

use crate::words::reverts::Reverts;

/// Whether and how an agent's model may revert.
pub(crate) type Setting = Option<Box<Reverts>>;

/// Returns the tools that the model is offered.
pub fn specs(setting: &Setting) -> Vec<ToolSpec> {
    let specs = setting.as_ref().map(|reverts| {
        vec![trunkline_revert::tool_spec_for(reverts.prompts), trunkline_revert::outline_tool_spec()]
    });
    specs.unwrap_or_default()
}
