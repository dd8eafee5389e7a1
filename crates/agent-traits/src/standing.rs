//! What resolutions go to while no proposal waits.

use async_trait::async_trait;
use trunkline_resolve_queue::resolve_tool::Resolution;
use trunkline_session_machine::ToolOutput;

use crate::context::ToolContext;

/// What resolutions go to while no proposal waits for the model: the executor of a
/// [`StandingHandler`](trunkline_resolve_queue::StandingHandler), such as the approval of a plan.
#[async_trait]
pub trait Standing: Send + Sync {
    /// Carries a resolution out, and returns what the model is told.
    ///
    /// Runs once for a call: if the process ends in the middle, the model is told that the outcome is unknown. When
    /// `context.cancel` is given it returns soon; one that does not is dropped.
    async fn resolve(&self, resolution: &Resolution, context: &ToolContext) -> ToolOutput;
}
