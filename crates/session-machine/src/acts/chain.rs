//! Events of proposals and rules that follow each other in one batch.

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Event as QueueEvent, Judgement, ProposalId, Queue, QueueError, RuleError,
    RuleEvent, RuleVerdict, Rules, Ruling, Verdict,
};
use trunkline_session_store::Record;

use crate::notes::resolve::{self, note};
use crate::rules::judging;
use crate::rules::staged::harness;
use crate::state::State;
use crate::words::error::RuntimeError;

/// Events that follow each other, made before any of them is recorded.
pub(crate) struct Chain {
    pub(crate) queue: Queue<Value>,
    pub(crate) rules: Rules,
    pub(crate) records: Vec<Record>,
}

impl Chain {
    pub(crate) fn of(state: &State) -> Self {
        let part = &state.resolve;
        Chain { queue: part.queue.clone(), rules: part.rules.clone(), records: Vec::new() }
    }

    pub(crate) fn push(&mut self, event: Result<QueueEvent<Value>, QueueError>) -> Result<(), RuntimeError> {
        let event = event.map_err(refused)?;
        self.records.push(note(&event));
        self.queue.record(event).map_err(refused)?;
        Ok(())
    }

    /// Returns where it stands, to come [`back to`](Chain::back_to) it.
    pub(crate) fn mark(&self) -> (Queue<Value>, Rules, usize) {
        (self.queue.clone(), self.rules.clone(), self.records.len())
    }

    pub(crate) fn back_to(&mut self, (queue, rules, records): (Queue<Value>, Rules, usize)) {
        (self.queue, self.rules) = (queue, rules);
        self.records.truncate(records);
    }

    pub(crate) fn push_rule(&mut self, event: Result<RuleEvent, RuleError>) -> Result<(), RuntimeError> {
        let event = event?;
        self.records.push(resolve::rule(&event));
        Ok(self.rules.record(event)?)
    }

    /// Decides, unless the same was decided before.
    pub(crate) fn decide(
        &mut self,
        id: ProposalId,
        ruling: Ruling,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        match self.queue.decide_with(id, ruling, at.0).map_err(refused)? {
            Answer::New(event) => self.push(Ok(event)),
            Answer::Already(_) => Ok(()),
        }
    }

    /// Notes that rules decided something, or said who did.
    pub(crate) fn use_rules(
        &mut self,
        id: ProposalId,
        judgement: &Judgement,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        let used = |rule| self.rules.used(rule, id.to_string(), at.0);
        let events: Vec<_> = judgement.rules.iter().map(|rule| used(*rule)).collect();
        events.into_iter().try_for_each(|event| self.push_rule(event))
    }

    /// Notes that a rule which asks was what let somebody decide. What allows has no part in what somebody decides all the
    /// same, and nor has what forbids: it lets nobody approve, and discarding needs no leave.
    pub(crate) fn use_asking(
        &mut self,
        id: ProposalId,
        judgement: &Judgement,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        match judgement.verdict {
            RuleVerdict::Ask => self.use_rules(id, judgement, at),
            RuleVerdict::Allow | RuleVerdict::Deny => Ok(()),
        }
    }

    /// Takes back every rule that came along from elsewhere: whoever gave it did not give it here.
    pub(crate) fn void_rules(&mut self, at: Timestamp) -> Result<(), RuntimeError> {
        let import = Actor::new(ActorKind::Policy, resolve::IMPORT);
        for id in judging::standing(&self.rules) {
            self.push_rule(self.rules.revoke(id, import.clone(), "it was not given here", at.0))?;
        }
        Ok(())
    }

    /// Records what the rules decide on something that was just staged, and that they were used. Returns the reason of
    /// the decision; empty if they leave it to somebody, as they have to where a person alone may approve.
    pub(crate) fn rule_on(
        &mut self,
        id: ProposalId,
        judgement: &Judgement,
        at: Timestamp,
    ) -> Result<String, RuntimeError> {
        let Some(mut ruling) = judging::ruling(&self.rules, judgement) else { return Ok(String::new()) };
        let policy = self.queue.get(id).is_some_and(|entry| entry.may_approve(ActorKind::Policy));
        if ruling.verdict == Verdict::Discard && !policy {
            // What was staged for persons alone is forbidden as well; the program cleans up, in the name of the rules.
            ruling.by.kind = ActorKind::Harness;
        }
        if ruling.verdict == Verdict::Approve && !policy {
            return Ok(String::new());
        }
        let reason = ruling.reason.clone();
        self.decide(id, ruling, at)?;
        self.use_rules(id, judgement, at)?;
        Ok(reason)
    }
}

pub(crate) fn discarded(
    queue: &Queue<Value>,
    id: ProposalId,
    why: &str,
    at: Timestamp,
) -> Result<QueueEvent<Value>, QueueError> {
    match queue.decide(id, Verdict::Discard, harness(), why, at.0)? {
        Answer::New(event) => Ok(event),
        // Discarding is the end, and what is at its end is not asked to end again.
        Answer::Already(_) => Err(QueueError::NothingPending),
    }
}

pub(crate) fn refused(fault: QueueError) -> RuntimeError {
    RuntimeError::Proposal(fault)
}
