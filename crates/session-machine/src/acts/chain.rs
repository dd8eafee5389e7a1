//! Events of proposals and rules that follow each other in one batch.

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    Answer, Event as QueueEvent, Judgement, ProposalId, Queue, QueueError, RuleError, RuleEvent, Rules,
    Ruling,
};
use trunkline_session_store::Record;

use crate::notes::resolve::{self, note};
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
}

pub(crate) fn refused(fault: QueueError) -> RuntimeError {
    RuntimeError::Proposal(fault)
}
