//! What has to happen next to what is not settled.
//!
//! Two questions, asked anew each time: who decides on what waits, which rules, the caller's policy and past failures say;
//! and what its caller has to do for it. Nothing is remembered of either, so a rule that comes later counts at once.

use crate::{
    ActorKind, CUSTOM_TOOL, Entry, FAILED_ATTEMPTS, Judgement, On, Proposal, ProposalId, RuleVerdict, Rules,
    State, Wanted,
};

/// Who decides on what tools want done, where no rule says otherwise.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// A person decides, on edits and on commands.
    #[default]
    Person,
    /// The model decides on its own edits, with the tool `resolve`; commands run without asking.
    Model,
    /// Everything is approved at once.
    Always,
}

/// What a decision on a proposal goes by that neither the proposal nor a rule knows.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Authority {
    /// Who decides where no rule speaks.
    pub approval: Approval,
    /// Whether the model has the tool to decide with.
    pub model_has_tool: bool,
    /// Whether the proposal stands for a call that waits for it to be decided, as that of a command does. The model cannot be
    /// asked then: its own call is open.
    pub call_waits: bool,
}

/// Who decides next on what waits, or how it is decided already.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that overlooks one of these holds up what waits")]
pub enum NextDecision {
    /// Nobody has to be asked: rules allow it, or the policy approves everything.
    Approve,
    /// Rules forbid it.
    Forbid,
    /// The model decides.
    Model,
    /// A person decides.
    Person,
    /// It failed so often that nobody is asked again.
    GiveUp,
}

/// What the caller has to do for proposals that are not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that overlooks one of these goes no further")]
pub enum Work {
    /// Do what was approved: [`Queue::begin_with`](crate::Queue::begin_with).
    Apply(ProposalId),
    /// Look whether the world is again as it needs it: [`Queue::check`](crate::Queue::check).
    Check(ProposalId),
    /// Find out from the world what became of it: [`Queue::recover`](crate::Queue::recover).
    LookUp(ProposalId),
    /// Approve it, because the rules or the policy say so.
    Approve(ProposalId),
    /// Discard it, because the rules say so.
    Forbid(ProposalId),
    /// Discard it, because it failed too often.
    GiveUp(ProposalId),
    /// A person has to decide on these, oldest first; there is at least one, and nothing else is to be done.
    Ask(Vec<ProposalId>),
}

/// Returns what has to happen to the first of these proposals for which the caller can do something.
///
/// If there is none, those are returned on which a person has to decide; `None` if nobody has to, as where the model is to
/// decide. Settled proposals ask for nothing. `decision` is asked of those that are proposed or failed, with
/// [`Entry::next_decision`] as a rule. What is past its time is not treated apart: [`Queue::due`](crate::Queue::due) lists it.
pub fn next_work<'a, P: 'a>(
    entries: impl IntoIterator<Item = &'a Entry<P>>,
    decision: impl Fn(&Entry<P>) -> NextDecision,
) -> Option<Work> {
    let mut asked = Vec::new();
    for entry in entries {
        let id = entry.id;
        match entry.state {
            State::Approved => return Some(Work::Apply(id)),
            State::Stale => return Some(Work::Check(id)),
            State::Unknown | State::Applying => return Some(Work::LookUp(id)),
            State::Applied | State::Discarded | State::Expired | State::Superseded => {}
            State::Proposed | State::Failed => match decision(entry) {
                NextDecision::Approve => return Some(Work::Approve(id)),
                NextDecision::Forbid => return Some(Work::Forbid(id)),
                NextDecision::GiveUp => return Some(Work::GiveUp(id)),
                NextDecision::Model => {}
                NextDecision::Person => asked.push(id),
            },
        }
    }
    (!asked.is_empty()).then_some(Work::Ask(asked))
}

impl Authority {
    /// What it goes by where the model has the tool `resolve` exactly if it decides.
    pub fn new(approval: Approval) -> Self {
        Authority { approval, model_has_tool: approval == Approval::Model, call_waits: false }
    }
}

impl<P> Entry<P> {
    /// Says who decides on something that waits, or failed: the rules if any of them speaks, else the policy.
    ///
    /// `judgement` is what the rules say of it now. What they allow is tried once by their word: after a failure it is as if they
    /// had not spoken, and so it is with what was staged for persons alone. A rule that asks holds under every policy.
    pub fn next_decision(&self, judgement: &Judgement, authority: Authority) -> NextDecision {
        let failed = self.state == State::Failed;
        let policy = self.may_approve(ActorKind::Policy);
        match judgement.verdict {
            RuleVerdict::Deny => return NextDecision::Forbid,
            _ if failed && self.begun >= FAILED_ATTEMPTS => return NextDecision::GiveUp,
            RuleVerdict::Allow if !failed && policy => return NextDecision::Approve,
            _ => {}
        }
        if self.may_ask_model(judgement, authority) {
            return NextDecision::Model;
        }
        match authority.approval {
            _ if judgement.verdict == RuleVerdict::Ask && !judgement.rules.is_empty() => NextDecision::Person,
            Approval::Always if failed => NextDecision::GiveUp,
            Approval::Always if policy => NextDecision::Approve,
            // Somebody was asked about a command under another policy.
            Approval::Model if policy && authority.call_waits => NextDecision::Approve,
            Approval::Always | Approval::Model | Approval::Person => NextDecision::Person,
        }
    }

    /// Whether the model may approve it: it was allowed to when that was staged, and is still, by the rules or the policy.
    pub fn may_ask_model(&self, judgement: &Judgement, authority: Authority) -> bool {
        let now = match judgement.verdict {
            RuleVerdict::Deny => false,
            RuleVerdict::Ask if !judgement.rules.is_empty() => judgement.deciders.contains(&ActorKind::Model),
            RuleVerdict::Ask | RuleVerdict::Allow => authority.approval == Approval::Model,
        };
        now && authority.model_has_tool && !authority.call_waits && self.may_approve(ActorKind::Model)
    }
}

impl Rules {
    /// Says what the rules make of a proposal, as far as it writes these subjects: all of
    /// [`Proposal::written`], or the part that is in question.
    ///
    /// A tool may say that another one does it. Then rules for either hold, or the one could do by the name of the other
    /// what it may not do by its own. A source that names nobody is covered by rules for the tool whose call it was.
    pub fn judge_proposal<P>(&self, proposal: &Proposal<P>, subjects: &[&str], at: u64) -> Judgement {
        let of = |tool: &str| self.judge(&Wanted::new(tool, proposal.effect, On::Paths(subjects)), at);
        let named = of(&proposal.source_tool);
        let Some(staged_by) = &proposal.staged_by else { return named };
        let staged = of(staged_by);
        let nobody = proposal.source_tool == CUSTOM_TOOL;
        match (named.rules.is_empty(), staged.rules.is_empty()) {
            (true, false) if nobody => staged,
            (false, true) if nobody => named,
            _ => named.and(staged),
        }
    }
}
