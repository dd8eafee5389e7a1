//! What calls may do to the world, by what their tools declare.

use trunkline_message_tree::ToolCall;

use crate::setup::Setup;
use crate::state::{CallStatus, State};
use crate::words::call::{Access, CallPlace};
use crate::words::runnable::Runnable;

/// What is said of a call that had begun in a process that is gone.
pub(crate) const OUTCOME_UNKNOWN: &str = "outcome unknown: this call had begun when the program ended, and no result was recorded; \
     it may have done all, some or nothing of its work. Look before you repeat it.";

/// Returns whether a call had begun in a process that is gone, and may have changed something there. Of a tool that is not
/// there any more nobody knows what it does.
pub(crate) fn may_have_worked(state: &State, setup: &Setup, place: &CallPlace, call: &ToolCall) -> bool {
    matches!(state.call(place), Some(CallStatus::Started)) && may_change(setup, &call.name)
}

/// Returns whether a call may change something.
pub fn is_exclusive(setup: &Setup, call: &Runnable) -> bool {
    may_change(setup, &call.tool)
}

/// Returns whether calls of a tool may change something.
pub(crate) fn may_change(setup: &Setup, tool: &str) -> bool {
    setup.catalogue.access(tool).is_none_or(|access| access == Access::Exclusive)
}

/// Returns whether a call only looks.
pub(crate) fn only_looks(setup: &Setup, call: &Runnable) -> bool {
    setup.catalogue.access(&call.tool) == Some(Access::ReadOnly)
}
