//! One proposal in its queue: where it stands, what may happen to it next, and what an event makes of it.
//!
//! The checks here are asked by commands and by replay alike, so a log cannot hold what a command would have refused.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::fingerprint::{contradiction, told};
use crate::{
    Actor, ActorKind, Attempt, Change, Decision, Difference, End, EndCause, Event, Fingerprint, Lease,
    Observation, Outcome, Proposal, ProposalId, QueueError, State, Supersession, Unanswered, Verb, Verdict,
};

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
    /// The number of the last attempt.
    pub attempts: u32,
    /// How often it was begun. Taking an attempt over to tidy up makes a new attempt, but is no new try.
    #[serde(skip)]
    pub begun: u32,
    /// What differed, while it is stale because of that.
    pub differing: Vec<Difference>,
    /// What went wrong, while it is failed or unknown because an attempt said so.
    pub trouble: Option<String>,
    /// Why it was put aside, while it is superseded.
    pub superseded: Option<Supersession>,
    /// What partial approvals left out. It counts as discarded, for good.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub left_out: BTreeSet<String>,
    /// Who applies it and until when, while it is applying under a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// What was there before the last attempt, of what that writes, as far as whoever began it kept it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preimages: Vec<Fingerprint>,
    /// How often it was put aside. An answer that saw another number was given to another question.
    #[serde(skip_serializing_if = "is_zero")]
    pub put_aside: u32,
    /// The last question about it that was closed without an answer, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
    /// How it ended, while it is discarded, expired or superseded.
    #[serde(skip)]
    pub end: Option<End>,
    /// How often it ended, also before it came back.
    #[serde(skip)]
    pub ends: u32,
    /// Whether it is not known what its last attempt has done, while it is stale because of that.
    #[serde(skip)]
    pub(crate) unclear: bool,
    /// What is proposed.
    pub proposal: Proposal<P>,
}

/// What an attempt left of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// The subject.
    pub subject: String,
    /// As before, as after, or neither.
    pub found: Observation,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl<P> Entry<P> {
    /// A proposal in its first attempt, approved by a person: what an executor is handed, for its own tests. It is in no
    /// queue.
    pub fn in_attempt(proposal: Proposal<P>) -> Self {
        let by = Actor::new(ActorKind::Person, "");
        let approve = Change::Decided {
            verdict: Verdict::Approve,
            by,
            reason: String::new(),
            only: BTreeSet::new(),
            extra: None,
        };
        let mut entry = Entry::staged(ProposalId(1), 0, proposal);
        entry.fold(approve, State::Approved, 0);
        entry.fold(Change::Began { attempt: 1, leased: None, preimages: Vec::new() }, State::Applying, 0);
        entry
    }

    /// A proposal that a person has discarded for this reason, with its [`end`](Entry::end): what a tool that cleans up is handed, for
    /// its own tests. It is in no queue.
    pub fn discarded(proposal: Proposal<P>, reason: impl Into<String>) -> Self {
        let discard = Change::Decided {
            verdict: Verdict::Discard,
            by: Actor::new(ActorKind::Person, ""),
            reason: reason.into(),
            only: BTreeSet::new(),
            extra: None,
        };
        let mut entry = Entry::staged(ProposalId(1), 0, proposal);
        entry.fold(discard, State::Discarded, 0);
        entry
    }

    /// The attempt that began last. Its number is 0 as long as none has.
    pub fn attempt(&self) -> Attempt {
        Attempt { proposal: self.id, number: self.attempts }
    }

    /// The subjects that an apply writes: all that the proposal writes but what was left out.
    ///
    /// An executor of divisible proposals goes by this list.
    pub fn part(&self) -> impl Iterator<Item = &str> {
        self.proposal.written().filter(|subject| !self.left_out.contains(*subject))
    }

    /// What is compared before an apply: everything that it was computed from but what was left out.
    pub fn compared(&self) -> Vec<Fingerprint> {
        self.kept(&self.proposal.fingerprints)
    }

    /// Tells from fingerprints whether the last attempt took place, as far as the part that was approved goes.
    ///
    /// Knows more than [`observe`](crate::observe), which takes a proposal for undivided and without kept pre-images.
    pub fn observe(&self, observed: &[Fingerprint]) -> Observation {
        told(&self.before(), &self.kept(&self.proposal.after), observed)
    }

    /// Tells from fingerprints what the last attempt left of each subject that it writes and that can tell.
    ///
    /// If some are as before and the others as after, it was cut off in between: put the pre-images of the others back,
    /// and [`observe`](Entry::observe) finds it as before. Whoever is cut off in that can do it again.
    pub fn traces(&self, observed: &[Fingerprint]) -> Vec<Trace> {
        let before = self.before();
        let after = self.kept(&self.proposal.after);
        let changed = after.iter().filter(|after| !before.contains(after));
        let trace = |after: &Fingerprint| Trace {
            subject: after.subject.clone(),
            found: told(&before, std::slice::from_ref(after), observed),
        };
        changed.map(trace).collect()
    }

    /// How everything was before the last attempt, as far as that is known.
    fn before(&self) -> Vec<Fingerprint> {
        let mut before = self.compared();
        // What is written without having been read is known from its pre-image alone.
        let known: BTreeSet<String> = before.iter().map(|one| one.subject.clone()).collect();
        before.extend(self.preimages.iter().filter(|kept| !known.contains(&kept.subject)).cloned());
        before
    }

    /// Whether its time has passed.
    pub fn is_past(&self, at: u64) -> bool {
        self.proposal.expires_at.is_some_and(|end| at >= end)
    }

    /// Whether somebody may decide on it now: it is proposed, or an attempt failed.
    pub fn awaits_decision(&self) -> bool {
        matches!(self.state, State::Proposed | State::Failed)
    }

    /// Whether actors of this kind may approve it. The harness never may.
    pub fn may_approve(&self, kind: ActorKind) -> bool {
        approvers(&self.proposal).any(|approver| approver == kind)
    }

    pub(crate) fn next_attempt(&self) -> Result<Attempt, QueueError> {
        let number = self.attempts.checked_add(1).ok_or(QueueError::NumbersExhausted)?;
        Ok(Attempt { proposal: self.id, number })
    }

    pub(crate) fn kept(&self, fingerprints: &[Fingerprint]) -> Vec<Fingerprint> {
        fingerprints.iter().filter(|one| !self.left_out.contains(&one.subject)).cloned().collect()
    }

    pub(crate) fn staged(id: ProposalId, at: u64, proposal: Proposal<P>) -> Self {
        Entry {
            id,
            staged_at: at,
            changed_at: at,
            state: State::Proposed,
            decision: None,
            attempts: 0,
            begun: 0,
            differing: Vec::new(),
            trouble: None,
            superseded: None,
            left_out: BTreeSet::new(),
            lease: None,
            preimages: Vec::new(),
            put_aside: 0,
            unanswered: None,
            end: None,
            ends: 0,
            unclear: false,
            proposal,
        }
    }
}

/// Where changes lead, and what they leave behind.
impl<P> Entry<P> {
    /// Which move a change is from here, legal or not.
    pub(crate) fn leads_to(&self, change: &Change<P>) -> (Verb, State) {
        match change {
            Change::Staged(_) => (Verb::Stage, State::Proposed),
            Change::Decided { verdict, .. } => match verdict {
                Verdict::Approve => (Verb::Approve, State::Approved),
                Verdict::Discard => (Verb::Discard, State::Discarded),
            },
            Change::Cancelled { .. } => (Verb::Cancel, self.state),
            Change::Expired => (Verb::Expire, State::Expired),
            Change::WentStale { .. } => (Verb::Check, State::Stale),
            Change::Rechecked => match self.approval() {
                Some(_) => (Verb::Check, State::Approved),
                None => (Verb::Check, State::Proposed),
            },
            Change::Began { .. } => (Verb::Begin, State::Applying),
            Change::Renewed { .. } => (Verb::Renew, State::Applying),
            Change::TakenOver { .. } => (Verb::TakeOver, State::Applying),
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

    pub(crate) fn fold(&mut self, change: Change<P>, to: State, at: u64) {
        match change {
            // Neither moves it, so nothing that is known of it goes.
            Change::Cancelled { by, reason } => {
                self.unanswered = Some(Unanswered { by, reason, at });
                return;
            }
            Change::Renewed { until, .. } => {
                if let Some(lease) = &mut self.lease {
                    lease.until = until;
                }
                return;
            }
            _ => {}
        }
        let from = self.state;
        self.ended(from, &change);
        self.state = to;
        self.changed_at = at;
        self.differing.clear();
        self.trouble = None;
        self.superseded = None;
        self.lease = None;
        self.unanswered = None;
        match change {
            Change::Decided { verdict, by, reason, only, extra } => {
                if !only.is_empty() {
                    let left: Vec<String> =
                        self.part().filter(|subject| !only.contains(*subject)).map(String::from).collect();
                    self.left_out.extend(left);
                }
                self.decision = Some(Decision { verdict, by, reason, at, only, extra });
            }
            Change::WentStale { differing } => self.differing = differing,
            Change::Began { attempt, leased, preimages } => {
                self.attempts = attempt;
                self.begun = self.begun.saturating_add(1);
                self.lease = leased;
                self.preimages = preimages;
            }
            // What was there before the first byte is what it was.
            Change::TakenOver { attempt, leased, .. } => {
                self.attempts = attempt;
                self.lease = Some(leased);
            }
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
                self.put_aside = self.put_aside.saturating_add(1);
            }
            Change::Staged(_)
            | Change::Finished { .. }
            | Change::Recovered { .. }
            | Change::Cancelled { .. }
            | Change::Renewed { .. }
            | Change::Expired
            | Change::Rechecked
            | Change::Restored => {}
        }
    }

    /// Takes in whether a change ends it, before anything that is known of it goes.
    fn ended<Q>(&mut self, from: State, change: &Change<Q>) {
        self.end = EndCause::of(from, change, self.unclear).map(|cause| {
            self.ends = self.ends.saturating_add(1);
            let (proposal, approved) = (self.id, self.approval().is_some());
            End { proposal, number: self.ends, cause, approved }
        });
        // A check that finds everything as it was says nothing of an attempt.
        self.unclear = match change {
            Change::Recovered { observation: Observation::Unclear, .. } => from == State::Unknown,
            Change::WentStale { .. } | Change::Restored | Change::Superseded { .. } => self.unclear,
            _ => false,
        };
    }

    fn approval(&self) -> Option<&Decision> {
        self.decision.as_ref().filter(|decision| decision.verdict == Verdict::Approve)
    }
}

/// What may not happen, and what whoever tried is told.
impl<P> Entry<P> {
    pub(crate) fn refused(&self, verb: Verb) -> QueueError {
        let opposite = match verb {
            Verb::Approve => Some(Verdict::Discard),
            Verb::Discard => Some(Verdict::Approve),
            _ => None,
        };
        match &self.decision {
            Some(first) if Some(first.verdict) == opposite => QueueError::DecidedOtherwise {
                id: self.id,
                state: self.state,
                first: Box::new(first.clone()),
            },
            _ => {
                QueueError::IllegalMove { id: self.id, state: self.state, verb, possible: self.state.verbs() }
            }
        }
    }

    pub(crate) fn permit(&self, verdict: Verdict, verb: Verb, by: &Actor) -> Result<(), QueueError> {
        // Taking back what one proposed, or cleaning up, does nothing to the world.
        let withdraws = verdict == Verdict::Discard
            && (by.kind == ActorKind::Harness || by.kind == self.proposal.proposed_by.kind);
        if withdraws || self.may_approve(by.kind) {
            return Ok(());
        }
        let may = approvers(&self.proposal).collect();
        Err(QueueError::NotPermitted { id: self.id, by: by.clone(), verb, may })
    }

    pub(crate) fn in_time(&self, at: u64) -> Result<(), QueueError> {
        match self.proposal.expires_at {
            Some(end) if at >= end => Err(QueueError::Expired { id: self.id, end }),
            _ => Ok(()),
        }
    }

    pub(crate) fn past_its_time(&self, at: u64) -> Result<(), QueueError> {
        match self.proposal.expires_at {
            Some(end) if at >= end => Ok(()),
            end => Err(QueueError::NotDue { id: self.id, end }),
        }
    }

    /// Whether `only` names a part of what is left, of something that has parts.
    pub(crate) fn may_choose(&self, verdict: Verdict, only: &BTreeSet<String>) -> Result<(), QueueError> {
        if only.is_empty() {
            return Ok(());
        }
        if !self.proposal.divisible {
            return Err(QueueError::NotDivisible { id: self.id });
        }
        let mut parts: Vec<String> = self.part().map(String::from).collect();
        if verdict == Verdict::Discard {
            parts.retain(|part| !only.contains(part));
            return Err(QueueError::PartOfADiscard { id: self.id, parts });
        }
        match only.iter().find(|subject| !parts.contains(subject)) {
            Some(subject) => Err(QueueError::NotAPart { id: self.id, subject: subject.clone(), parts }),
            None => Ok(()),
        }
    }

    pub(crate) fn may_lease(&self, lease: Option<&Lease>, at: u64) -> Result<(), QueueError> {
        match lease {
            Some(lease) if !lease.stands(at) => {
                Err(QueueError::LeaseOver { id: self.id, until: lease.until, at })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn may_renew(&self, until: u64) -> Result<(), QueueError> {
        match &self.lease {
            Some(lease) if until > lease.until => Ok(()),
            Some(lease) => Err(QueueError::LeaseOver { id: self.id, until, at: lease.until }),
            None => Err(QueueError::NoLease { attempt: self.attempt() }),
        }
    }

    /// Whether pre-images are of what will be written, and are what was expected there.
    pub(crate) fn may_keep(&self, preimages: &[Fingerprint]) -> Result<(), QueueError> {
        let differs = |kept: &&Fingerprint| {
            let expected = self.proposal.fingerprints.iter().find(|one| one.subject == kept.subject);
            !self.part().any(|subject| subject == kept.subject) || expected.is_some_and(|one| one != *kept)
        };
        let wrong = preimages.iter().find(differs).map(|kept| kept.subject.as_str());
        match wrong.or_else(|| contradiction(preimages)) {
            Some(subject) => Err(QueueError::WrongPreimage { id: self.id, subject: subject.to_owned() }),
            None => Ok(()),
        }
    }

    pub(crate) fn nobody_holds(&self, at: u64) -> Result<(), QueueError> {
        match &self.lease {
            Some(lease) if lease.stands(at) => {
                Err(QueueError::Leased { attempt: self.attempt(), lease: lease.clone() })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn expect_attempt(&self, event: &Event<P>, expected: Attempt) -> Result<(), QueueError> {
        match event.attempt() {
            Some(found) if found != expected => Err(QueueError::WrongAttempt { found, expected }),
            _ => Ok(()),
        }
    }
}

/// Who may approve. Never the harness, whatever the proposal says.
pub(crate) fn approvers<P>(proposal: &Proposal<P>) -> impl Iterator<Item = ActorKind> {
    proposal.deciders.iter().copied().filter(|kind| *kind != ActorKind::Harness)
}
