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
    /// Tokens that a prompt of the model may have, so that a revert says if what it shows again no longer fits. That of
    /// [`AgentBuilder::with_compaction`](crate::AgentBuilder::with_compaction) unless told.
    pub window_tokens: Option<u64>,
}

impl Default for Reverts {
    fn default() -> Self {
        Reverts { render: RenderPolicy::default(), prompts: Prompts::Refuse, window_tokens: None }
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

    /// Sets how many tokens a prompt of the model may have.
    #[must_use]
    pub fn window_tokens(mut self, tokens: u64) -> Self {
        self.window_tokens = Some(tokens);
        self
    }
}
