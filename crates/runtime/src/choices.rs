//! Directives of the caller, and what resolutions go to while no proposal waits.

use async_trait::async_trait;
use trunkline_resolve_queue::resolve_tool::Resolution;
use trunkline_resolve_queue::{ChoiceQueue, Directive, Place};

use crate::{Session, ToolContext};
use trunkline_session_machine::acts::hold;
use trunkline_session_machine::{RuntimeError, ToolOutput};

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

impl Session {
    /// Puts a directive of the caller's own into the tool-choice queue: what one of the next turns is held to.
    ///
    /// It is stored, and asked in the next drive, before any proposal is. What became of it is told by
    /// [`Event::Choice`](crate::Event::Choice).
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn direct(&mut self, directive: Directive, place: Place) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        let plan = hold::direct(&self.view(), directive, place);
        self.write(plan, None).await
    }

    /// Returns what the next turns are held to, and what was asked of earlier ones.
    pub fn choices(&self) -> ChoiceQueue {
        hold::queue(&self.view())
    }
}
