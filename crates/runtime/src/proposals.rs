//! Who decides: a person here, a person elsewhere. What the model decides is in [`resolving`](crate::resolving).
//!
//! Deciding writes nothing to any file. What was decided is recorded first, and what it leads to comes after.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::{Message, Timestamp};
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Entry, Event as QueueEvent, ProposalId, Queue, QueueError, Ruling, Verdict,
    discard_text,
};
use trunkline_session_store::{InboxId, Letter, Record};

use crate::layers::resolve::note;
use crate::session::entries;
use crate::{Cancel, RuntimeError, Session, Stop, journal, letters};

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
    /// Who they are; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What of a divisible proposal is approved; empty for all of it. The rest counts as discarded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub only: BTreeSet<String>,
}

impl Said {
    /// Says this of all of a proposal; the reason may be empty.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Said { verdict, reason: reason.into(), name: String::new(), only: BTreeSet::new() }
    }

    /// Do these parts, and not the others.
    #[must_use]
    pub fn only(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.only.extend(parts);
        self
    }
}

impl From<Said> for Ruling {
    fn from(said: Said) -> Self {
        let mut ruling = Ruling::new(said.verdict, Actor::new(ActorKind::Person, said.name), said.reason);
        ruling.only = said.only;
        ruling
    }
}

/// Events that follow each other, made before any of them is recorded.
pub(crate) struct Chain {
    pub(crate) queue: Queue<Value>,
    pub(crate) records: Vec<Record>,
}

impl Chain {
    pub(crate) fn new(session: &Session) -> Self {
        Chain { queue: session.state.resolve.queue.clone(), records: Vec::new() }
    }

    pub(crate) fn push(&mut self, event: Result<QueueEvent<Value>, QueueError>) -> Result<(), RuntimeError> {
        let event = event.map_err(refused)?;
        self.records.push(note(&event));
        self.queue.record(event).map_err(refused)?;
        Ok(())
    }
}

pub(crate) fn refused(fault: QueueError) -> RuntimeError {
    RuntimeError::Refused { reason: fault.to_string() }
}

impl Session {
    /// Decides on a proposal as a person. What it leads to happens in the next drive.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such proposal, or it was decided otherwise, or it cannot be decided now;
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn decide(
        &mut self,
        id: ProposalId,
        verdict: Verdict,
        reason: &str,
    ) -> Result<(), RuntimeError> {
        self.decide_with(id, Said::new(verdict, reason)).await
    }

    /// Like [`decide`](Session::decide), with all that a person can say to it.
    ///
    /// # Errors
    ///
    /// Those of [`decide`](Session::decide); [`RuntimeError::Refused`] also for a part that there is not.
    pub async fn decide_with(&mut self, id: ProposalId, said: Said) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.take_verdict(id, said.into(), None).await
    }

    pub(crate) async fn take_verdict(
        &mut self,
        id: ProposalId,
        ruling: Ruling,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        let (verdict, reason) = (ruling.verdict, ruling.reason.clone());
        let gated = self.state.resolve.gated_call(id).is_some();
        if verdict == Verdict::Discard && !gated && self.state.open_turn().is_some() {
            // The model is told of a declined edit by a message, and there is no place for one yet.
            return match letter {
                Some(_) => Ok(()),
                None => Err(RuntimeError::Refused {
                    reason: format!("{id} can be discarded when the turn is over"),
                }),
            };
        }
        let at = self.settings().now();
        let answer = self.state.resolve.queue.decide_with(id, ruling, at.0).map_err(refused)?;
        let mut records = Vec::new();
        if let Answer::New(event) = answer {
            records.push(note(&event));
            if verdict == Verdict::Discard && !gated {
                let label = self.label(id);
                let text = format!("A person declined {id}. {}", discard_text(&label, &reason));
                records.extend(self.telling(&text)?);
            }
        } else if let Some(letter) = letter {
            records.push(journal::letter_taken(letter, letters::VERDICT, at));
        }
        self.commit(records, letter).await
    }

    fn label(&self, id: ProposalId) -> String {
        self.state.resolve.queue.get(id).map(|entry| entry.proposal.label.clone()).unwrap_or_default()
    }

    /// Returns the records of a harness message, if there is a place for one.
    pub(crate) fn telling(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        if self.state.open_turn().is_some() {
            return Ok(Vec::new());
        }
        let mut draft = self.state.tree.draft();
        draft.append(Message::harness(text), self.settings().now())?;
        Ok(entries(draft))
    }

    /// Asks a person about the first of these, unless a letter comes after `seen`. Returns why the drive stops if nothing was
    /// decided.
    pub(crate) async fn ask_person(
        &mut self,
        waiting: Vec<ProposalId>,
        seen: Option<InboxId>,
        cancel: &Cancel,
    ) -> Result<Option<Stop>, RuntimeError> {
        let entry = waiting.first().and_then(|id| self.state.resolve.queue.get(*id)).cloned();
        let (Some(decider), Some(entry)) = (self.settings().decider.clone(), entry) else {
            return Ok(Some(Stop::Waiting(waiting)));
        };
        let decided = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Some(Stop::Cancelled)),
            // Somebody else may decide in another terminal meanwhile; the loop reads the letter.
            arrived = letters::arrived(self.store.as_ref(), self.lease.session(), self.lease.token(), seen) => {
                return arrived.map(|()| None).map_err(|by| self.lost(by));
            }
            decided = decider.decide(&entry) => decided,
        };
        let Some(said) = decided else { return Ok(Some(Stop::Waiting(waiting))) };
        match self.take_verdict(entry.id, said.into(), None).await {
            Ok(()) => Ok(None),
            // It was decided elsewhere in the same moment; what stands is read again.
            Err(RuntimeError::Refused { .. }) if self.is_decided(entry.id) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn is_decided(&self, id: ProposalId) -> bool {
        self.state.resolve.queue.get(id).is_some_and(|entry| entry.decision.is_some())
    }
}
