//! The queue: what became of every proposal, folded from events.
//!
//! Nothing changes it but [`Queue::record`], and that refuses whatever the table of moves does not list.
//! A caller stores an event first and records it afterwards, so memory is never ahead of the log.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::fingerprint::contradiction;
use crate::{
    Actor, ActorKind, Attempt, Change, Decision, Difference, Event, Observation, Outcome, Proposal,
    ProposalId, QueueError, ReplayError, State, Supersession, Verb, Verdict,
};

/// Proposals and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue<P> {
    // Ids only grow (`admit` sees to it), so the order of keys is the order of staging.
    entries: BTreeMap<ProposalId, Entry<P>>,
}

/// One proposal and where it stands.
///
/// The queue only lends entries, so nobody else can change one that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry<P> {
    /// Its name.
    pub id: ProposalId,
    /// When it was staged, in milliseconds since the Unix epoch.
    pub staged_at: u64,
    /// When its state last changed, in milliseconds since the Unix epoch.
    pub changed_at: u64,
    /// Where it stands.
    pub state: State,
    /// The decision that stands; superseding makes it void, and so does an unknown outcome that turned stale.
    pub decision: Option<Decision>,
    /// How many attempts have begun.
    pub attempts: u32,
    /// What differed, while it is stale because of that.
    pub differing: Vec<Difference>,
    /// What went wrong, while it is failed or unknown because an attempt said so.
    pub trouble: Option<String>,
    /// Why it was put aside, while it is superseded.
    pub superseded: Option<Supersession>,
    /// What is proposed.
    pub proposal: Proposal<P>,
}

impl<P> Queue<P> {
    /// A queue to which nothing has happened yet.
    pub fn new() -> Self {
        Queue { entries: BTreeMap::new() }
    }

    /// Folds a whole log.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] names the first event that could not have happened.
    pub fn replay(events: impl IntoIterator<Item = Event<P>>) -> Result<Self, ReplayError> {
        let mut queue = Queue::new();
        for (index, event) in events.into_iter().enumerate() {
            queue.record(event).map_err(|source| ReplayError { index, source })?;
        }
        Ok(queue)
    }

    /// Folds one event that the caller's log has accepted, and returns the new state.
    ///
    /// # Errors
    ///
    /// Any [`QueueError`] but `NothingPending`, if the event could not have happened here; then nothing has changed.
    /// A log that holds such an event was not written from this queue.
    pub fn record(&mut self, event: Event<P>) -> Result<State, QueueError> {
        let to = self.admit(&event)?;
        let Event { proposal: id, at, change } = event;
        if let Change::Staged(proposal) = change {
            self.entries.insert(id, Entry::staged(id, at, *proposal));
        } else if let Some(entry) = self.entries.get_mut(&id) {
            entry.fold(change, to, at);
        }
        Ok(to)
    }

    /// Looks a proposal up.
    pub fn get(&self, id: ProposalId) -> Option<&Entry<P>> {
        self.entries.get(&id)
    }

    /// All proposals, in the order they were staged.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.entries.values()
    }

    /// Proposals that wait for a decision, oldest first.
    pub fn pending(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.iter().filter(|entry| entry.state == State::Proposed)
    }

    /// Proposals that something is still expected of, oldest first; a verdict on the work has to wait for them.
    ///
    /// That is every state but applied, discarded and superseded: see [`State::is_settled`].
    pub fn unsettled(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.iter().filter(|entry| !entry.state.is_settled())
    }

    /// Proposals whose attempt began and has not ended, oldest first.
    ///
    /// After a restart these are the ones to [`recover`](Queue::recover) before anything else.
    pub fn interrupted(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.iter().filter(|entry| entry.state == State::Applying)
    }

    /// The proposal that is meant when nobody says which: the oldest that waits for a decision.
    ///
    /// # Errors
    ///
    /// [`QueueError::NothingPending`] if none waits.
    pub fn default_target(&self) -> Result<ProposalId, QueueError> {
        self.pending().next().map(|entry| entry.id).ok_or(QueueError::NothingPending)
    }

    /// Proposals that would write a subject which `proposal` would write too and that can be superseded, oldest first.
    ///
    /// A proposal writes what its `after` names, or what its `fingerprints` name if `after` is empty.
    pub fn overlapping(&self, proposal: &Proposal<P>) -> Vec<ProposalId> {
        let written: BTreeSet<&str> = proposal.written().collect();
        self.iter()
            .filter(|entry| entry.state.allows(Verb::Supersede, State::Superseded))
            .filter(|entry| entry.proposal.written().any(|subject| written.contains(subject)))
            .map(|entry| entry.id)
            .collect()
    }

    /// Looks a proposal up, or says which ones are open.
    pub(crate) fn known(&self, id: ProposalId) -> Result<&Entry<P>, QueueError> {
        self.get(id).ok_or_else(|| QueueError::UnknownProposal {
            id,
            open: self.unsettled().map(|entry| entry.id).collect(),
        })
    }

    /// The id that the next proposal gets.
    pub(crate) fn next_id(&self) -> Result<ProposalId, QueueError> {
        let last = self.last_id().map_or(0, |ProposalId(last)| last);
        last.checked_add(1).map(ProposalId).ok_or(QueueError::NumbersExhausted)
    }

    /// Hands an event back if it could happen now.
    pub(crate) fn admitted(&self, event: Event<P>) -> Result<Event<P>, QueueError> {
        self.admit(&event).map(|_| event)
    }

    /// Says where the event leads, or why it cannot happen. The one judge, for commands and replay alike.
    fn admit(&self, event: &Event<P>) -> Result<State, QueueError> {
        let id = event.proposal;
        if let Change::Staged(proposal) = &event.change {
            return self.admit_staged(id, proposal);
        }
        let entry = self.known(id)?;
        let (verb, to) = entry.leads_to(&event.change);
        if !entry.state.allows(verb, to) {
            return Err(entry.refused(verb));
        }
        match &event.change {
            Change::Decided { verdict, by, .. } => entry.permit(*verdict, verb, by)?,
            Change::Began { .. } => entry.expect_attempt(event, entry.next_attempt()?)?,
            // A report on an earlier attempt says nothing of this one.
            Change::Finished { .. } | Change::Recovered { .. } => {
                entry.expect_attempt(event, entry.attempt())?;
            }
            Change::Superseded { cause: Supersession::Replaced { by } } if *by == id => {
                return Err(QueueError::SupersedesItself { id });
            }
            _ => {}
        }
        Ok(to)
    }

    fn admit_staged(&self, id: ProposalId, proposal: &Proposal<P>) -> Result<State, QueueError> {
        if let Some(last) = self.last_id().filter(|last| *last >= id) {
            return Err(QueueError::NotNew { id, last });
        }
        if proposal.supersedes.contains(&id) {
            return Err(QueueError::SupersedesItself { id });
        }
        if approvers(proposal).next().is_none() {
            return Err(QueueError::NobodyMayDecide);
        }
        let contradicted = contradiction(&proposal.fingerprints).or_else(|| contradiction(&proposal.after));
        if let Some(subject) = contradicted {
            return Err(QueueError::Contradiction { subject: subject.to_owned() });
        }
        Ok(State::Proposed)
    }

    fn last_id(&self) -> Option<ProposalId> {
        self.entries.last_key_value().map(|(id, _)| *id)
    }
}

impl<P> Default for Queue<P> {
    fn default() -> Self {
        Queue::new()
    }
}

impl<P> Entry<P> {
    /// The attempt that began last. Its number is 0 as long as none has.
    pub fn attempt(&self) -> Attempt {
        Attempt { proposal: self.id, number: self.attempts }
    }

    pub(crate) fn next_attempt(&self) -> Result<Attempt, QueueError> {
        let number = self.attempts.checked_add(1).ok_or(QueueError::NumbersExhausted)?;
        Ok(Attempt { proposal: self.id, number })
    }

    fn staged(id: ProposalId, at: u64, proposal: Proposal<P>) -> Self {
        Entry {
            id,
            staged_at: at,
            changed_at: at,
            state: State::Proposed,
            decision: None,
            attempts: 0,
            differing: Vec::new(),
            trouble: None,
            superseded: None,
            proposal,
        }
    }

    /// Which move a change is from here, legal or not.
    fn leads_to(&self, change: &Change<P>) -> (Verb, State) {
        match change {
            Change::Staged(_) => (Verb::Stage, State::Proposed),
            Change::Decided { verdict, .. } => match verdict {
                Verdict::Approve => (Verb::Approve, State::Approved),
                Verdict::Discard => (Verb::Discard, State::Discarded),
            },
            Change::WentStale { .. } => (Verb::Check, State::Stale),
            Change::Rechecked => match self.approval() {
                Some(_) => (Verb::Check, State::Approved),
                None => (Verb::Check, State::Proposed),
            },
            Change::Began { .. } => (Verb::Begin, State::Applying),
            Change::Finished { outcome, .. } => match outcome {
                Outcome::Applied => (Verb::Finish, State::Applied),
                Outcome::Failed { .. } => (Verb::Finish, State::Failed),
                Outcome::Unknown { .. } => (Verb::Finish, State::Unknown),
            },
            Change::Recovered { observation, .. } => (Verb::Recover, self.found(*observation)),
            Change::Superseded { .. } => (Verb::Supersede, State::Superseded),
            Change::Restored => (Verb::Restore, State::Stale),
        }
    }

    /// What an observation means for an attempt that never ended.
    fn found(&self, observation: Observation) -> State {
        match (self.state, observation) {
            (_, Observation::After) => State::Applied,
            // Unchanged files prove that nothing happened only if files are all that would have changed.
            (State::Applying, Observation::Before) if self.proposal.effect.shows_in_fingerprints() => {
                State::Approved
            }
            (State::Applying, _) => State::Unknown,
            // Once it was unknown, it takes a new decision to try again.
            (_, Observation::Before) => State::Failed,
            (_, Observation::Unclear) => State::Stale,
        }
    }

    fn fold(&mut self, change: Change<P>, to: State, at: u64) {
        let from = self.state;
        self.state = to;
        self.changed_at = at;
        self.differing.clear();
        self.trouble = None;
        self.superseded = None;
        match change {
            Change::Decided { verdict, by, reason } => {
                self.decision = Some(Decision { verdict, by, reason, at });
            }
            Change::WentStale { differing } => self.differing = differing,
            Change::Began { attempt } => self.attempts = attempt,
            Change::Finished {
                outcome: Outcome::Failed { reason } | Outcome::Unknown { reason }, ..
            } => self.trouble = Some(reason),
            // Half of it may have been done under the old approval, so nobody may go on under it.
            Change::Recovered { .. } if from == State::Unknown && to == State::Stale => {
                self.decision = None;
            }
            // Whoever approved it saw it in a conversation that has moved on.
            Change::Superseded { cause } => {
                self.superseded = Some(cause);
                self.decision = None;
            }
            Change::Staged(_)
            | Change::Finished { .. }
            | Change::Recovered { .. }
            | Change::Rechecked
            | Change::Restored => {}
        }
    }

    fn approval(&self) -> Option<&Decision> {
        self.decision.as_ref().filter(|decision| decision.verdict == Verdict::Approve)
    }

    fn refused(&self, verb: Verb) -> QueueError {
        let opposite = match verb {
            Verb::Approve => Some(Verdict::Discard),
            Verb::Discard => Some(Verdict::Approve),
            _ => None,
        };
        match &self.decision {
            Some(first) if Some(first.verdict) == opposite => {
                QueueError::DecidedOtherwise { id: self.id, state: self.state, first: first.clone() }
            }
            _ => {
                QueueError::IllegalMove { id: self.id, state: self.state, verb, possible: self.state.verbs() }
            }
        }
    }

    fn permit(&self, verdict: Verdict, verb: Verb, by: &Actor) -> Result<(), QueueError> {
        // Taking back what one proposed, or cleaning up, does nothing to the world.
        let withdraws = verdict == Verdict::Discard
            && (by.kind == ActorKind::Harness || by.kind == self.proposal.proposed_by.kind);
        let mut may = approvers(&self.proposal);
        if withdraws || may.any(|kind| kind == by.kind) {
            return Ok(());
        }
        Err(QueueError::NotPermitted {
            id: self.id,
            by: by.clone(),
            verb,
            may: approvers(&self.proposal).collect(),
        })
    }

    fn expect_attempt(&self, event: &Event<P>, expected: Attempt) -> Result<(), QueueError> {
        match event.attempt() {
            Some(found) if found != expected => Err(QueueError::WrongAttempt { found, expected }),
            _ => Ok(()),
        }
    }
}

/// Who may approve. Never the harness, whatever the proposal says.
fn approvers<P>(proposal: &Proposal<P>) -> impl Iterator<Item = ActorKind> {
    proposal.deciders.iter().copied().filter(|kind| *kind != ActorKind::Harness)
}
