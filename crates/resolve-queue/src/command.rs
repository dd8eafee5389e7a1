//! Commands: what somebody wants, turned into the event that would make it so.
//!
//! None of them changes the queue. The caller stores the event and gives it to [`Queue::record`];
//! an event that was not stored has not happened, which is what makes a crash at any point harmless.

use crate::{
    Actor, Attempt, Change, Decision, Difference, Event, Fingerprint, Observation, Outcome, Proposal,
    ProposalId, Queue, QueueError, State, Supersession, Verdict, differences,
};

/// What to do about a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a caller that overlooks one of these decides twice or not at all"
)]
pub enum Answer<P> {
    /// It is new: store and record this.
    New(Event<P>),
    /// The same was decided before; nothing is left to do.
    Already(Decision),
}

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

/// What a look at the world says of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "two of these ask for an event and two do not")]
pub enum Check<P> {
    /// All is as it was; nothing to record.
    Holds,
    /// It was stale and is no longer: store and record this.
    Returns(Event<P>),
    /// It has become stale.
    Stale {
        /// What to record.
        event: Event<P>,
        /// What is not as it was.
        differing: Vec<Difference>,
    },
    /// It was stale and still is; nothing to record.
    StillStale {
        /// What is not as it was.
        differing: Vec<Difference>,
    },
}

/// Commands. Times are milliseconds since the Unix epoch.
impl<P> Queue<P> {
    /// Puts a proposal into the queue, under the next free id.
    ///
    /// Ask [`overlapping`](Queue::overlapping) before, and [`supersede`](Queue::supersede) what it returns in the same batch.
    ///
    /// # Errors
    ///
    /// [`QueueError::NobodyMayDecide`], [`QueueError::Contradiction`], [`QueueError::SupersedesItself`] for a proposal
    /// that makes no sense; [`QueueError::NumbersExhausted`] after four thousand million of them.
    pub fn stage(&self, proposal: Proposal<P>, at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: self.next_id()?, at, change: Change::Staged(Box::new(proposal)) })
    }

    /// Approves or discards.
    ///
    /// Deciding the same again is no error and asks for no event, so a message that is delivered twice does no harm.
    /// Approving what has failed asks for another attempt.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::DecidedOtherwise`] if the opposite was decided first;
    /// [`QueueError::IllegalMove`] if it is stale, superseded or otherwise out of reach; [`QueueError::NotPermitted`].
    pub fn decide(
        &self,
        id: ProposalId,
        verdict: Verdict,
        by: Actor,
        reason: impl Into<String>,
        at: u64,
    ) -> Result<Answer<P>, QueueError> {
        let entry = self.known(id)?;
        let same = entry.decision.as_ref().filter(|decision| decision.verdict == verdict);
        match (entry.state, same) {
            // A stale approval may come to nothing, and a failed one asks for another: neither is "done already".
            (State::Stale | State::Failed, _) | (_, None) => self
                .admitted(Event {
                    proposal: id,
                    at,
                    change: Change::Decided { verdict, by, reason: reason.into() },
                })
                .map(Answer::New),
            (_, Some(decision)) => Ok(Answer::Already(decision.clone())),
        }
    }

    /// Compares the world with what the proposal was computed from, without starting anything.
    ///
    /// This is also the way back from stale: to approved if an approval stands, else to proposed.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is proposed, approved or stale.
    pub fn check(&self, id: ProposalId, observed: &[Fingerprint], at: u64) -> Result<Check<P>, QueueError> {
        let entry = self.known(id)?;
        let differing = differences(&entry.proposal.fingerprints, observed);
        match (entry.state, differing.is_empty()) {
            (State::Proposed | State::Approved, true) => Ok(Check::Holds),
            (State::Stale, false) => Ok(Check::StillStale { differing }),
            (_, true) => {
                self.admitted(Event { proposal: id, at, change: Change::Rechecked }).map(Check::Returns)
            }
            (_, false) => Ok(Check::Stale { event: self.went_stale(id, &differing, at)?, differing }),
        }
    }

    /// Starts an attempt to apply, unless the world has changed.
    ///
    /// `observed` is read by the caller as late as it can, and holds a fingerprint for each subject of the proposal.
    /// Nothing may be written before the event of [`Step::Apply`] is stored and recorded.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is approved.
    pub fn begin(&self, id: ProposalId, observed: &[Fingerprint], at: u64) -> Result<Step<P>, QueueError> {
        let entry = self.known(id)?;
        let attempt = entry.next_attempt()?;
        // Judged first, so that what is not approved is told so, and not that it is stale.
        let event =
            self.admitted(Event { proposal: id, at, change: Change::Began { attempt: attempt.number } })?;
        let differing = differences(&entry.proposal.fingerprints, observed);
        if differing.is_empty() {
            return Ok(Step::Apply { attempt, event });
        }
        Ok(Step::Stale { event: self.went_stale(id, &differing, at)?, differing })
    }

    /// Ends an attempt with what its executor reports.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying;
    /// [`QueueError::WrongAttempt`] for a report that comes from an earlier attempt.
    pub fn finish(&self, attempt: Attempt, outcome: Outcome, at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event {
            proposal: attempt.proposal,
            at,
            change: Change::Finished { attempt: attempt.number, outcome },
        })
    }

    /// Says what an attempt left behind that never reported its end.
    ///
    /// While it is applying: before means approved again if fingerprints show all of the effect and unknown if not,
    /// after means applied, unclear means unknown. While it is unknown, this is how somebody who looked closer settles it:
    /// before means failed, after means applied, unclear means stale, without its approval.
    /// [`observe`](crate::observe) finds the observation from fingerprints.
    ///
    /// Only for an attempt whose executor is known to be gone, or it goes on writing behind the queue's back.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is applying or unknown.
    pub fn recover(
        &self,
        id: ProposalId,
        observation: Observation,
        by: Actor,
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        self.admitted(Event {
            proposal: id,
            at,
            change: Change::Recovered { attempt: self.known(id)?.attempts, observation, by },
        })
    }

    /// Puts a proposal aside because another took its place or its branch was left.
    ///
    /// The proposal that takes its place need not be recorded yet: both events can travel in one batch.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] if it is applying, unknown or settled;
    /// [`QueueError::SupersedesItself`].
    pub fn supersede(&self, id: ProposalId, cause: Supersession, at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: id, at, change: Change::Superseded { cause } })
    }

    /// Brings a superseded proposal back, as stale; [`check`](Queue::check) it before anything else.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is superseded.
    pub fn restore(&self, id: ProposalId, at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: id, at, change: Change::Restored })
    }

    fn went_stale(&self, id: ProposalId, differing: &[Difference], at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: id, at, change: Change::WentStale { differing: differing.to_vec() } })
    }
}
