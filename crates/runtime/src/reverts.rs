//! How an agent's model may leave a branch.

use trunkline_revert::{Prompts, RenderPolicy};

/// How a model may leave a branch, and what it is told. The default is [`AgentBuilder::with_revert`](crate::AgentBuilder::with_revert).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverts {
    /// How long notes are shown.
    pub render: RenderPolicy,
    /// What happens if the model wants to leave words of a person behind. It is refused unless told.
    pub prompts: Prompts,
}

impl Default for Reverts {
    fn default() -> Self {
        Reverts { render: RenderPolicy::default(), prompts: Prompts::Refuse }
    }
}

impl Reverts {
    /// Sets how long notes are shown.
    #[must_use]
    pub fn render(mut self, policy: RenderPolicy) -> Self {
        self.render = policy;
        self
    }

    /// Sets what happens if the model wants to leave words of a person behind.
    #[must_use]
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }
}
