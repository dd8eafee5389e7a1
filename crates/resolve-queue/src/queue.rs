//! The queue: what became of every proposal, folded from events.
//!
//! Nothing changes it but [`Queue::record`], and that refuses whatever the table of moves does not list.
//! A caller stores an event first and records it afterwards, so memory is never ahead of the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::approvers;
use crate::fingerprint::contradiction;
use crate::{Change, Entry, Event, Proposal, ProposalId, QueueError, ReplayError, State, Supersession, Verb};

/// Proposals and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue<P> {
    // In the order of staging, which is that of their ids: those only grow (`admit` sees to it). Shared, so that a copy on
    // which somebody tries events before they are stored costs no payload.
    entries: Vec<(ProposalId, Arc<Entry<P>>)>,
    // The places of those that are not settled: what is asked all the time must not walk over what was done long ago.
    open: BTreeSet<usize>,
}

impl<P> Queue<P> {
    /// A queue to which nothing has happened yet.
    pub fn new() -> Self {
        Queue { entries: Vec::new(), open: BTreeSet::new() }
    }

    /// Folds a whole log.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] names the first event that could not have happened.
    pub fn replay(events: impl IntoIterator<Item = Event<P>>) -> Result<Self, ReplayError>
    where
        P: Clone,
    {
        let mut queue = Queue::new();
        for (index, event) in events.into_iter().enumerate() {
            queue.record(event).map_err(|source| ReplayError { index, source })?;
        }
        Ok(queue)
    }

    /// Folds one event that the caller's log has accepted, and returns the new state.
    ///
    /// Where a copy of the queue was made before, the one proposal is copied that it is about.
    ///
    /// # Errors
    ///
    /// Any [`QueueError`] but `NothingPending`, if the event could not have happened here; then nothing has changed.
    /// A log that holds such an event was not written from this queue.
    pub fn record(&mut self, event: Event<P>) -> Result<State, QueueError>
    where
        P: Clone,
    {
        let to = self.admit(&event)?;
        let Event { proposal: id, at, change } = event;
        if let Change::Staged(proposal) = change {
            self.open.insert(self.entries.len());
            self.entries.push((id, Arc::new(Entry::staged(id, at, *proposal))));
        } else if let Some(place) = self.place(id) {
            Arc::make_mut(&mut self.entries[place].1).fold(change, to, at);
            match to.is_settled() {
                true => self.open.remove(&place),
                false => self.open.insert(place),
            };
        }
        Ok(to)
    }

    /// Looks a proposal up.
    pub fn get(&self, id: ProposalId) -> Option<&Entry<P>> {
        self.place(id).map(|place| self.entries[place].1.as_ref())
    }

    /// All proposals, in the order they were staged.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.entries.iter().map(|(_, entry)| entry.as_ref())
    }

    /// Proposals that wait for a decision, oldest first.
    pub fn pending(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.unsettled().filter(|entry| entry.state == State::Proposed)
    }

    /// Proposals that something is still expected of, oldest first; a verdict on the work has to wait for them.
    ///
    /// That is every state but applied, discarded, expired and superseded: see [`State::is_settled`].
    pub fn unsettled(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.open.iter().map(|place| self.entries[*place].1.as_ref())
    }

    /// Proposals whose attempt began and has not ended, oldest first.
    ///
    /// After a restart these are the ones to [`recover`](Queue::recover) before anything else.
    pub fn interrupted(&self) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.unsettled().filter(|entry| entry.state == State::Applying)
    }

    /// Proposals whose time has passed and that can [`expire`](Queue::expire), oldest first.
    pub fn due(&self, at: u64) -> impl DoubleEndedIterator<Item = &Entry<P>> {
        self.unsettled()
            .filter(move |entry| entry.is_past(at) && entry.state.allows(Verb::Expire, State::Expired))
    }

    /// The proposal that is meant when nobody says which: the oldest that waits for a decision.
    ///
    /// [`target`](Queue::target) knows the whole order that the `resolve` tool promises.
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
        self.unsettled()
            .filter(|entry| entry.state.allows(Verb::Supersede, State::Superseded))
            .filter(|entry| entry.part().any(|subject| written.contains(subject)))
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
            Change::Decided { verdict, by, only, .. } => {
                entry.permit(*verdict, verb, by)?;
                entry.in_time(event.at)?;
                entry.may_choose(*verdict, only)?;
            }
            Change::Rechecked => entry.in_time(event.at)?,
            Change::Expired => entry.past_its_time(event.at)?,
            Change::Began { leased, preimages, .. } => {
                entry.expect_attempt(event, entry.next_attempt()?)?;
                entry.in_time(event.at)?;
                entry.may_lease(leased.as_ref(), event.at)?;
                entry.may_keep(preimages)?;
            }
            // A report on an earlier attempt says nothing of this one.
            Change::Finished { .. } => entry.expect_attempt(event, entry.attempt())?,
            Change::Renewed { until, .. } => {
                entry.expect_attempt(event, entry.attempt())?;
                entry.may_renew(*until)?;
            }
            Change::TakenOver { leased, fenced, .. } => {
                entry.expect_attempt(event, entry.next_attempt()?)?;
                entry.may_lease(Some(leased), event.at)?;
                if !fenced {
                    entry.nobody_holds(event.at)?;
                }
            }
            Change::Recovered { fenced, .. } => {
                entry.expect_attempt(event, entry.attempt())?;
                if !fenced {
                    entry.nobody_holds(event.at)?;
                }
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
        if proposal.supersedes.contains(&id) || proposal.undo_of == Some(id) {
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
        self.entries.last().map(|(id, _)| *id)
    }

    fn place(&self, id: ProposalId) -> Option<usize> {
        self.entries.binary_search_by_key(&id, |(id, _)| *id).ok()
    }
}

impl<P> Default for Queue<P> {
    fn default() -> Self {
        Queue::new()
    }
}
