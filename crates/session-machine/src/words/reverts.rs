//! How an agent's model may leave a branch.

use trunkline_revert::{Decay, Prompts, Rates, RenderPolicy, StallPolicy};

/// How a model may leave a branch, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverts {
    /// How long notes are shown.
    pub render: RenderPolicy,
    /// When notes go that have had their time, for models that take signed reasoning back only behind what it was written behind;
    /// `render` says it for all others. See [`Reverts::bound_decay`].
    pub bound_decay: Decay,
    /// What happens if the model wants to leave words of a person behind. It is refused unless told.
    pub prompts: Prompts,
    /// What cached tokens cost at the provider. Nothing is cached unless told; see [`Reverts::rates`].
    pub rates: Option<Rates>,
    /// When a run counts as getting nowhere. On unless told.
    pub stall: StallPolicy,
    /// Who is asked then.
    pub on_stall: OnStall,
    /// Tokens that a prompt of the model may have, so that a revert says if what it shows again no longer fits. That of
    /// the policy of compaction unless told.
    pub window_tokens: Option<u64>,
    /// Whether the model may bring back what came of branches that it left. Off by default, like all that follows.
    pub merge: bool,
    /// Whether it may go back to them.
    pub go: bool,
    /// Whether it may leave results of tools out of later requests.
    pub prune: bool,
    /// Whether it may ask for the end of its run.
    pub decide: bool,
}

/// Who decides on a step back that is proposed because a run gets nowhere. In no case is anything stopped.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnStall {
    /// The model is told once, in a message of the harness after the results of the turn, and may go on as it likes.
    #[default]
    TellModel,
    /// A person: [`Event::StepBack`](crate::words::event::Event::StepBack) tells of it, the run goes on meanwhile, and their
    /// answer, here or by a letter, carries it out.
    TellPerson,
    /// Nobody: it is carried out at once, and the model finds the note. Where there is no step to take it is told.
    Accept,
}

impl Default for Reverts {
    fn default() -> Self {
        Reverts {
            render: RenderPolicy::default(),
            bound_decay: Decay::CacheMinding,
            prompts: Prompts::Refuse,
            rates: None,
            stall: StallPolicy::default(),
            on_stall: OnStall::default(),
            window_tokens: None,
            merge: false,
            go: false,
            prune: false,
            decide: false,
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

    /// Sets when notes go that have had their time, for models that take signed reasoning back only behind what it was written
    /// behind.
    ///
    /// [`Decay::CacheMinding`] by default: a note whose time is over stays until something else changes the conversation at its
    /// place or before it, such as a step back or a compaction, since a few lines more cost less than the reasoning behind them.
    /// With [`Decay::Exact`] it goes at once, and that reasoning is left out from then on. Either way the change is told as the break of the
    /// cache that it is.
    #[must_use]
    pub fn bound_decay(mut self, decay: Decay) -> Self {
        self.bound_decay = decay;
        self
    }

    /// Returns how long notes are shown to a model; `binds` tells that its reasoning is bound to what stands before it.
    pub fn rendering(&self, binds: bool) -> RenderPolicy {
        let mut policy = self.render;
        if binds {
            policy.decay = self.bound_decay;
        }
        policy
    }

    /// Sets what happens if the model wants to leave words of a person behind.
    ///
    /// A step back with [`Prompts::Leave`] that takes the prompt of the open run along ends the run as abandoned. A new run
    /// is opened for what stands at the head then, and the drive goes on with it; if that is an answer, nothing is left to
    /// do, and the drive stops with nothing to do.
    #[must_use]
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }

    /// Sets what cached tokens cost at the provider that is asked.
    ///
    /// Then the result of an applied revert states its price, and the first reply after it is compared with what should
    /// have come from the cache. Without, every record of a revert has a price all the same, reckoned with
    /// [`Rates::uncached`], and nothing is expected of any cache.
    #[must_use]
    pub fn rates(mut self, rates: Rates) -> Self {
        self.rates = Some(rates);
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

    /// Sets how many tokens a prompt of the model may have.
    #[must_use]
    pub fn window_tokens(mut self, tokens: u64) -> Self {
        self.window_tokens = Some(tokens);
        self
    }

    /// Offers the model `merge_left_branch`: what came of branches that it has left itself follows as a message, with those
    /// branches as further parents.
    #[must_use]
    pub fn offer_merge(mut self) -> Self {
        self.merge = true;
        self
    }

    /// Offers the model `return_to_branch`: it goes on from the end of a branch that it has left itself. What a person, an undo
    /// or a policy has left is out of its reach.
    ///
    /// It never leaves words of a person for that, unless [`prompts`](Reverts::prompts) says [`Prompts::Leave`].
    #[must_use]
    pub fn offer_return(mut self) -> Self {
        self.go = true;
        self
    }

    /// Offers the model `prune_result`, and `recall_result` beside it: results of tools that it no longer needs are shown as one
    /// line from then on. The log keeps them, and what checks a run reads the log.
    #[must_use]
    pub fn offer_pruning(mut self) -> Self {
        self.prune = true;
        self
    }

    /// Offers the model `request_decision`: it asks for its run to be put down as a checkpoint, tried again, or given up.
    ///
    /// A person decides on that, as on a plan, perhaps in [other words](crate::words::said::Said::in_words), or a rule that names the tool itself,
    /// letter for letter. Neither the policy of the agent, nor a rule for all tools, nor the model approves it. What was approved is in the
    /// log, and the run is closed from there: a drive goes on with a retry, and ends with the other two. A run is tried again as often
    /// as its task allows, and five times in a row where no task says how often.
    #[must_use]
    pub fn offer_decisions(mut self) -> Self {
        self.decide = true;
        self
    }
}
