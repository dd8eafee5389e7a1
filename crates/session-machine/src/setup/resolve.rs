//! Who decides in an agent.

use trunkline_resolve_queue::{Approval, Authority};

/// Who decides in an agent.
#[derive(Copy, Clone, Debug, Default)]
pub struct Setting {
    /// Who decides where no rule says otherwise.
    pub approval: Approval,
    /// Whether the agent was given a rule that lets the model decide.
    pub model_by_rule: bool,
}

impl Setting {
    /// Returns whether the model has the tool to decide with. The same as long as the agent lives: tools are part of
    /// the cached prompt.
    pub(crate) fn model_decides(self) -> bool {
        self.approval == Approval::Model || self.model_by_rule
    }

    /// Returns what a decision on a proposal goes by; `call_waits` for the call of a command that waits for it.
    pub(crate) fn authority(self, call_waits: bool) -> Authority {
        let mut authority = Authority::new(self.approval);
        (authority.model_has_tool, authority.call_waits) = (self.model_decides(), call_waits);
        authority
    }
}
