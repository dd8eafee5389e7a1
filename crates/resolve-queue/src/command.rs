//! Commands: what somebody wants, turned into the event that would make it so.
//!
//! None of them changes the queue. The caller stores the event and gives it to [`Queue::record`];
//! an event that was not stored has not happened, which is what makes a crash at any point harmless.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::resolve_tool::Resolution;
use crate::{
    Actor, Change, Decision, Difference, Event, Fingerprint, Proposal, ProposalId, Queue, QueueError, State,
    Supersession, Verdict, differences,
};

/// What to do about a preview that a tool offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a tool has to say which of the two it was")]
pub enum Offer<P> {
    /// Store and record these together, in this order: it is staged, and what it takes the place of is put aside.
    Staged {
        /// The id that it gets.
        id: ProposalId,
        /// What to record.
        events: Vec<Event<P>>,
    },
    /// Everything is as it would be afterwards. Nothing is staged and no id is used.
    NothingToDo {
        /// What would have been done.
        label: String,
    },
}

/// What somebody decides, with all that can go with it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruling {
    /// Apply or drop.
    pub verdict: Verdict,
    /// Who decides.
    pub by: Actor,
    /// Why; may be empty. It changes nothing in what is done.
    pub reason: String,
    /// What of a divisible proposal is approved; the rest counts as discarded. Empty: all that is left of it.
    pub only: BTreeSet<String>,
    /// Whatever the decider hands to the executor. It belongs to this decision alone: none of it reaches an attempt that another
    /// decision let begin.
    pub extra: Option<Map<String, Value>>,
    /// [`Entry::put_aside`](crate::Entry::put_aside) as the decider saw it. `None`: the decider looks at this very queue.
    ///
    /// An answer that comes from another process, or waited in an inbox, must say it: the proposal may have been put
    /// aside and have come back since, on another branch of the talk.
    pub seen: Option<u32>,
}

impl Ruling {
    /// A decision on all of a proposal, by somebody who looks at this very queue.
    pub fn new(verdict: Verdict, by: Actor, reason: impl Into<String>) -> Self {
        let (only, extra, seen) = (BTreeSet::new(), None, None);
        Ruling { verdict, by, reason: reason.into(), only, extra, seen }
    }

    /// What a call of the `resolve` tool decides, with all that it hands over.
    pub fn of(resolution: Resolution, by: Actor) -> Self {
        let ruling = Ruling::new(resolution.action.into(), by, resolution.reason);
        Ruling { extra: resolution.extra, ..ruling }
    }
}

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
    /// Takes a preview as a tool offers it: stages it, and puts aside whatever waits and would write the same.
    ///
    /// # Errors
    ///
    /// Those of [`stage`](Queue::stage).
    pub fn offer(&self, mut proposal: Proposal<P>, at: u64) -> Result<Offer<P>, QueueError> {
        if proposal.changes_nothing() {
            return Ok(Offer::NothingToDo { label: proposal.label });
        }
        let replaced = self.overlapping(&proposal);
        let named = proposal.supersedes.iter().copied().collect::<BTreeSet<_>>();
        proposal.supersedes.extend(replaced.iter().copied().filter(|id| !named.contains(id)));
        let staged = self.stage(proposal, at)?;
        let id = staged.proposal;
        let mut events = vec![staged];
        for older in replaced {
            events.push(self.supersede(older, Supersession::Replaced { by: id }, at)?);
        }
        Ok(Offer::Staged { id, events })
    }

    /// Puts a proposal into the queue, under the next free id, and does no more than that.
    ///
    /// What a tool previews goes through [`offer`](Queue::offer).
    ///
    /// # Errors
    ///
    /// [`QueueError::NobodyMayDecide`], [`QueueError::Contradiction`], [`QueueError::SupersedesItself`] for a proposal
    /// that makes no sense; [`QueueError::NumbersExhausted`] after four thousand million of them.
    pub fn stage(&self, proposal: Proposal<P>, at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: self.next_id()?, at, change: Change::Staged(Box::new(proposal)) })
    }

    /// Approves or discards, as [`decide_with`](Queue::decide_with) does, all that is left of a proposal.
    ///
    /// # Errors
    ///
    /// Those of [`decide_with`](Queue::decide_with).
    pub fn decide(
        &self,
        id: ProposalId,
        verdict: Verdict,
        by: Actor,
        reason: impl Into<String>,
        at: u64,
    ) -> Result<Answer<P>, QueueError> {
        self.decide_with(id, Ruling::new(verdict, by, reason), at)
    }

    /// Approves or discards.
    ///
    /// Deciding the same again is no error and asks for no event, so a message that is delivered twice does no harm.
    /// Approving what has failed asks for another attempt, at no more than was approved before. All of what was approved in
    /// part is another decision, and refused: whoever made it would believe that all of it is done. So is one that hands over
    /// something else; one that hands over nothing is the same.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::DecidedOtherwise`] if the opposite was decided first, another
    /// part, or with something else handed over; [`QueueError::IllegalMove`] if it is stale, superseded or otherwise out of reach;
    /// [`QueueError::NotPermitted`]; [`QueueError::Expired`]; [`QueueError::AnswerTooOld`]; [`QueueError::NotDivisible`]
    /// and [`QueueError::NotAPart`] for a part that there is not.
    pub fn decide_with(&self, id: ProposalId, ruling: Ruling, at: u64) -> Result<Answer<P>, QueueError> {
        let entry = self.known(id)?;
        let Ruling { verdict, by, reason, only, extra, seen } = ruling;
        if let Some(seen) = seen.filter(|seen| *seen != entry.put_aside) {
            return Err(QueueError::AnswerTooOld { id, seen, put_aside: entry.put_aside });
        }
        // All parts by name is all of it, also of something that has no parts.
        let whole = entry.part().collect::<BTreeSet<_>>() == only.iter().map(String::as_str).collect();
        match &entry.decision {
            // A stale approval may come to nothing, a failed one asks for another, and an expired one did come to
            // nothing: none of these is "done already".
            Some(first) if !matches!(entry.state, State::Stale | State::Failed | State::Expired) => {
                // Who names nothing means all that there was, and of that a part is left out for good. What is handed over is
                // part of what was decided: whoever hands over something else would believe that it is done with that.
                let handed = extra.is_none() || extra == first.extra;
                match first.verdict == verdict && (first.only == only || whole) && handed {
                    true => Ok(Answer::Already(first.clone())),
                    false => Err(QueueError::DecidedOtherwise {
                        id,
                        state: entry.state,
                        first: Box::new(first.clone()),
                    }),
                }
            }
            _ => {
                let only = if whole { BTreeSet::new() } else { only };
                let change = Change::Decided { verdict, by, reason, only, extra };
                self.admitted(Event { proposal: id, at, change }).map(Answer::New)
            }
        }
    }

    /// Decides the same on several proposals. Each gets its own answer, and no answer depends on another.
    pub fn decide_each(
        &self,
        ids: impl IntoIterator<Item = ProposalId>,
        ruling: &Ruling,
        at: u64,
    ) -> Vec<(ProposalId, Result<Answer<P>, QueueError>)> {
        let once: BTreeSet<ProposalId> = ids.into_iter().collect();
        once.into_iter().map(|id| (id, self.decide_with(id, ruling.clone(), at))).collect()
    }

    /// Notes that somebody was asked and closed the question without an answer. The proposal waits as before.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is proposed or failed.
    pub fn cancel(
        &self,
        id: ProposalId,
        by: Actor,
        reason: impl Into<String>,
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: id, at, change: Change::Cancelled { by, reason: reason.into() } })
    }

    /// Notes that the time of a proposal has passed. Whoever looks may do this; [`due`](Queue::due) lists for whom.
    ///
    /// Not needed for safety: nothing that is past its time can be decided or begun, noted or not.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::NotDue`]; [`QueueError::IllegalMove`] if it is settled or superseded,
    /// or if an attempt is in flight or ended nobody knows how.
    pub fn expire(&self, id: ProposalId, at: u64) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: id, at, change: Change::Expired })
    }

    /// Compares the world with what the proposal was computed from, without starting anything.
    ///
    /// This is also the way back from stale: to approved if an approval stands, else to proposed.
    ///
    /// # Errors
    ///
    /// [`QueueError::UnknownProposal`]; [`QueueError::IllegalMove`] unless it is proposed, approved or stale;
    /// [`QueueError::Expired`].
    pub fn check(&self, id: ProposalId, observed: &[Fingerprint], at: u64) -> Result<Check<P>, QueueError> {
        let entry = self.known(id)?;
        let differing = differences(&entry.compared(), observed);
        entry.in_time(at)?;
        match (entry.state, differing.is_empty()) {
            (State::Proposed | State::Approved, true) => Ok(Check::Holds),
            (State::Stale, false) => Ok(Check::StillStale { differing }),
            (_, true) => {
                self.admitted(Event { proposal: id, at, change: Change::Rechecked }).map(Check::Returns)
            }
            (_, false) => Ok(Check::Stale { event: self.went_stale(id, &differing, at)?, differing }),
        }
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

    pub(crate) fn went_stale(
        &self,
        id: ProposalId,
        differing: &[Difference],
        at: u64,
    ) -> Result<Event<P>, QueueError> {
        self.admitted(Event { proposal: id, at, change: Change::WentStale { differing: differing.to_vec() } })
    }
}
