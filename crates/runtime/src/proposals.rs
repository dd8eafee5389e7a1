//! Who decides: a person here, a person elsewhere. What the model decides is in [`resolving`](crate::resolving).
//!
//! Deciding writes nothing to any file. What was decided is recorded first, and what it leads to comes after.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    Answer, Entry, Event as QueueEvent, Judgement, ProposalId, Queue, QueueError, Rule, RuleError, RuleEvent,
    Rules, Ruling, Verdict,
};
use trunkline_session_store::{InboxId, Letter, Record};

use crate::layers::resolve::{note, rules};
use crate::state::State;
use crate::{RuntimeError, letters};

/// Returns the letter that voids everything that waits or was approved, as
/// [`Request::Distrust`](crate::letters::Request::Distrust) posts it: an import carries it in with the session, so that
/// nobody can open that before.
pub fn distrust(at: Timestamp) -> Letter {
    Letter { id: InboxId(1), at, kind: letters::DISTRUST.to_owned(), body: "{}".to_owned() }
}

/// Asks a person.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Returns what the person said; `None` to decide later.
    ///
    /// Dropped when somebody else decides first, or the turn is cancelled.
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said>;
}

/// What a person said to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// Apply or drop.
    pub verdict: Verdict,
    /// Why; may be empty. It changes nothing in what is done.
    #[serde(default)]
    pub reason: String,
    /// Who they are; may be empty. The name of the actor in the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What of a divisible proposal is approved; empty for all of it. The rest counts as discarded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub only: BTreeSet<String>,
    /// What they decided ahead with it, as in "apply, and always for `src/**`". Recorded in one batch with the decision,
    /// or not at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

impl Said {
    /// Says this of all of a proposal; the reason may be empty.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Said { verdict, reason: reason.into(), name: String::new(), only: BTreeSet::new(), rules: Vec::new() }
    }

    /// Decides the same ahead. A rule that names nobody is given by who says this.
    #[must_use]
    pub fn giving(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Do these parts, and not the others.
    #[must_use]
    pub fn only(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.only.extend(parts);
        self
    }
}

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
        self.records.push(rules::note(&event));
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
