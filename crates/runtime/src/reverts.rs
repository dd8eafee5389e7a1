//! How an agent's model may leave a branch.

use trunkline_revert::{Prompts, RenderPolicy, StallPolicy};

/// How a model may leave a branch, and what it is told. The default is [`AgentBuilder::with_revert`](crate::AgentBuilder::with_revert).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverts {
    /// How long notes are shown.
    pub render: RenderPolicy,
    /// What happens if the model wants to leave words of a person behind. It is refused unless told.
    pub prompts: Prompts,
    /// When a run counts as getting nowhere. On unless told.
    pub stall: StallPolicy,
    /// Who is asked then.
    pub on_stall: OnStall,
}

/// Who decides on a step back that is proposed because a run gets nowhere. In no case is anything stopped.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnStall {
    /// The model is told once, in a message of the harness after the results of the turn, and may go on as it likes.
    #[default]
    TellModel,
    /// A person: [`Event::StepBack`](crate::Event::StepBack) tells of it, the run goes on meanwhile, and
    /// [`Session::accept_revert`](crate::Session::accept_revert) or a letter carries it out.
    TellPerson,
    /// Nobody: it is carried out at once, and the model finds the note. Where there is no step to take it is told.
    Accept,
}

impl Default for Reverts {
    fn default() -> Self {
        Reverts {
            render: RenderPolicy::default(),
            prompts: Prompts::Refuse,
            stall: StallPolicy::default(),
            on_stall: OnStall::default(),
        }
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

    /// Sets when a run counts as getting nowhere.
    #[must_use]
    pub fn stall(mut self, policy: StallPolicy) -> Self {
        self.stall = policy;
        self
    }

    /// Sets who decides on a step back that is proposed then.
    #[must_use]
    pub fn on_stall(mut self, who: OnStall) -> Self {
        self.on_stall = who;
        self
    }
}
