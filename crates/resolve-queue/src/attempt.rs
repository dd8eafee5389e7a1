//! Attempts: how something that was approved is done once, and how it is found out whether it was.
//!
//! An attempt is announced in the log before its first byte and reported after its last. Between the two it belongs to
//! whoever began it: nobody begins a second one, whatever the clock says.

use crate::{
    Actor, Attempt, Change, Difference, Effect, Entry, Event, Fingerprint, Lease, Observation, Outcome,
    Proposal, ProposalId, Queue, QueueError, State, differences,
};

/// What to do about a proposal that should be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a caller that overlooks one of these applies what must not be applied"
)]
pub enum Step<P> {
    /// Store and record the event, then apply the payload, then [`finish`](Queue::finish).
    Apply {
        /// The attempt, whose printed form is its idempotency key.
        attempt: Attempt,
        /// What to record before the first byte is written.
        event: Event<P>,
    },
    /// The world has changed: store and record the event, and write nothing.
    Stale {
        /// What to record.
        event: Event<P>,
        /// What is not as it was.
        differing: Vec<Difference>,
    },
}

/// What goes with the start of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Start {
    /// Who applies it, and until when nobody else looks after it. `None`: until somebody knows that it is gone.
    pub lease: Option<Lease>,
    /// What is there now, of what will be written, as far as the caller keeps the bytes for an undo.
    pub preimages: Vec<Fingerprint>,
}

impl Start {
    /// A start under a lease.
    pub fn leased(holder: impl Into<String>, until: u64) -> Self {
        Start { lease: Some(Lease { holder: holder.into(), until }), preimages: Vec::new() }
    }

    /// The same, with pre-images of which the caller keeps the bytes.
    #[must_use]
    pub fn keeping(mut self, preimages: Vec<Fingerprint>) -> Self {
        self.preimages = preimages;
        self
    }
}

/// Attempts. Times are milliseconds since the Unix epoch.
impl<P> Queue<P> {
    /// Starts an attempt to apply, without a lease and without pre-images; see [`begin_with`](Queue::begin_with).
    ///
    /// # Errors
    ///
    /// Those of [`begin_with`](Queue::begin_with).
    pub fn begin(&self, id: ProposalId, observed: &[Fingerprint], at: u64) -> Result<Step<P>, QueueError> {
        self.begin_with(id, observed, Start::default(), at)
    }

    /// Starts an attempt to apply, unless the world has changed.
    ///
    /// `observed` is read by the caller as late as it can, and holds a fingerprint for each subject of the proposal.
    /// Nothing may be written before the event of [`Step::Apply`] is stored and recorded, and then exactly
    /// [`Entry::part`] of the payload.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is approved; [`QueueError::Expired`];
    /// [`QueueError::Leased`] and [`QueueError::Lapsed`] if an attempt has begun under a lease that stands or is over;
    /// [`QueueError::LeaseOver`] and [`QueueError::WrongPreimage`] for a start that makes no sense.
    pub fn begin_with(
        &self,
        id: ProposalId,
        observed: &[Fingerprint],
        start: Start,
        at: u64,
    ) -> Result<Step<P>, QueueError> {
        let entry = self.known(id)?;
        if let Some(lease) = entry.lease.clone() {
            let attempt = entry.attempt();
            return Err(match lease.stands(at) {
                true => QueueError::Leased { attempt, lease },
                false => QueueError::Lapsed { attempt, lease },
            });
        }
        let attempt = entry.next_attempt()?;
        let Start { lease: leased, preimages } = start;
        let differing = differences(&entry.compared(), observed);
        let unkept = differences(&preimages, observed);
        // What is kept of a changed world is not what will be replaced; that it has changed is the news then.
        let preimages = if differing.is_empty() { preimages } else { Vec::new() };
        // Judged first, so that what is not approved is told so, and not that it is stale.
        let change = Change::Began { attempt: attempt.number, leased, preimages };
        let event = self.admitted(Event { proposal: id, at, change })?;
        match (differing.is_empty(), unkept.into_iter().next()) {
            (true, None) => Ok(Step::Apply { attempt, event }),
            (true, Some(wrong)) => Err(QueueError::WrongPreimage { id, subject: wrong.subject }),
            (false, _) => Ok(Step::Stale { event: self.went_stale(id, &differing, at)?, differing }),
        }
    }

    /// Gives the attempt at hand more time. Whoever asks must be its holder, which the queue cannot tell.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying; [`QueueError::WrongAttempt`];
    /// [`QueueError::NoLease`]; [`QueueError::LeaseOver`] unless it gets longer.
    pub fn renew(&self, attempt: Attempt, until: u64, at: u64) -> Result<Event<P>, QueueError> {
        let change = Change::Renewed { attempt: attempt.number, until };
        self.admitted(Event { proposal: attempt.proposal, at, change })
    }

    /// Ends an attempt with what its executor reports.
    ///
    /// A report counts however late it comes, as long as nobody has recovered the attempt.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying;
    /// [`QueueError::WrongAttempt`] for a report that comes from an earlier attempt.
    pub fn finish(&self, attempt: Attempt, outcome: Outcome, at: u64) -> Result<Event<P>, QueueError> {
        let change = Change::Finished { attempt: attempt.number, outcome };
        self.admitted(Event { proposal: attempt.proposal, at, change })
    }

    /// Says what an attempt left behind that never reported its end.
    ///
    /// While it is applying: before means approved again if fingerprints show all of the effect and unknown if not,
    /// after means applied, unclear means unknown. While it is unknown, this is how somebody who looked closer settles it:
    /// before means failed, after means applied, unclear means stale, without its approval.
    /// [`Entry::observe`] finds the observation from fingerprints.
    ///
    /// Only for an attempt whose executor is known to be gone, or it goes on writing behind the queue's back. Under a
    /// lease that means that the lease is over; who knows better says so with [`recover_fenced`](Queue::recover_fenced).
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying or unknown;
    /// [`QueueError::Leased`].
    pub fn recover(
        &self,
        id: ProposalId,
        observation: Observation,
        by: Actor,
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        self.recovered(id, observation, by, false, at)
    }

    /// Does what [`recover`](Queue::recover) does although the lease stands, because its holder can write no more.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying or unknown.
    pub fn recover_fenced(
        &self,
        id: ProposalId,
        observation: Observation,
        by: Actor,
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        self.recovered(id, observation, by, true, at)
    }

    /// Takes over an attempt whose holder is gone, to put back what it left half done, and to [`recover`](Queue::recover)
    /// it as before.
    ///
    /// While the new lease stands, others keep away, and whatever the old holder still reports is refused: its attempt is
    /// not the one at hand any more. Nothing may be written before the event is stored and recorded.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying; [`QueueError::Leased`];
    /// [`QueueError::LeaseOver`].
    pub fn take_over(&self, id: ProposalId, lease: Lease, at: u64) -> Result<Event<P>, QueueError> {
        self.taken_over(id, lease, false, at)
    }

    /// Does what [`take_over`](Queue::take_over) does although the old lease stands, because its holder can write no more.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying; [`QueueError::LeaseOver`].
    pub fn take_over_fenced(&self, id: ProposalId, lease: Lease, at: u64) -> Result<Event<P>, QueueError> {
        self.taken_over(id, lease, true, at)
    }

    fn taken_over(
        &self,
        id: ProposalId,
        leased: Lease,
        fenced: bool,
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        let attempt = self.known(id)?.next_attempt()?.number;
        self.admitted(Event { proposal: id, at, change: Change::TakenOver { attempt, leased, fenced } })
    }

    fn recovered(
        &self,
        id: ProposalId,
        observation: Observation,
        by: Actor,
        fenced: bool,
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        let change = Change::Recovered { attempt: self.known(id)?.attempts, observation, by, fenced };
        self.admitted(Event { proposal: id, at, change })
    }

    /// Makes the proposal that takes back what an applied one did.
    ///
    /// It is an ordinary proposal: it is offered, shown, decided by whoever may decide on the first, and begins only if
    /// everything is still as that left it. `payload` is the caller's, from the pre-images it kept; the label and the
    /// preview can be changed before it is offered.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::NoUndo`] if it was not applied, did more than fingerprints show, or
    /// began without keeping all of what it replaced.
    pub fn undo(&self, id: ProposalId, payload: P) -> Result<Proposal<P>, QueueError> {
        let entry = self.known(id)?;
        let no = |why: String| QueueError::NoUndo { id, why };
        if entry.state != State::Applied {
            return Err(no(format!("it is {}", entry.state)));
        }
        if entry.proposal.effect != Effect::Reversible {
            return Err(no(format!("its effect is {}", entry.proposal.effect)));
        }
        if let Some(subject) = unkept(entry) {
            return Err(no(format!("no pre-image of {subject} was kept")));
        }
        let done = &entry.proposal;
        let mut undo = Proposal::new(format!("undo {id}: {}", done.label), done.source_tool.clone(), payload);
        undo.staged_by.clone_from(&done.staged_by);
        undo.fingerprints = entry.kept(&done.after);
        undo.after = entry.preimages.clone();
        undo.effect = Effect::Reversible;
        undo.deciders = done.deciders.clone();
        undo.divisible = done.divisible;
        undo.undo_of = Some(id);
        Ok(undo)
    }
}

/// Finds a subject that was written and whose earlier state, or later one, nobody kept.
fn unkept<P>(entry: &Entry<P>) -> Option<&str> {
    let named = |list: &[Fingerprint], subject: &str| list.iter().any(|one| one.subject == subject);
    let kept = |subject: &&str| named(&entry.preimages, subject) && named(&entry.proposal.after, subject);
    entry.part().find(|subject| !kept(subject))
}
