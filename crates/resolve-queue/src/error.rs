//! Why the queue refuses.
//!
//! Most of these are read by a model that named the wrong id or came too late, so they say what would have worked.

use crate::{Actor, ActorKind, Attempt, Decision, Lease, ProposalId, State, Verb, Verdict};

/// Why a command or an event was refused. The queue is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// No proposal has this id.
    #[error("no proposal {id}; {}", listed("open", .open))]
    UnknownProposal {
        /// The id that was named.
        id: ProposalId,
        /// Ids that are not settled, oldest first.
        open: Vec<ProposalId>,
    },
    /// No proposal waits for a decision.
    // Models know this sentence from the tool's other homes, so it is kept as it is, capital and stops included.
    #[error("No pending action to resolve. Nothing to apply or discard.")]
    NothingPending,
    /// The table of moves has no such move.
    #[error("cannot {verb} {id}: it is {state}; {}", listed("possible now", .possible))]
    IllegalMove {
        /// The proposal.
        id: ProposalId,
        /// Where it stands.
        state: State,
        /// What was tried.
        verb: Verb,
        /// What could be tried.
        possible: Vec<Verb>,
    },
    /// The other decision was made before.
    #[error("{id} was already {} by {}{}; it is {state}", decided(.first), .first.by, because(.first))]
    DecidedOtherwise {
        /// The proposal.
        id: ProposalId,
        /// Where it stands.
        state: State,
        /// The decision that stands.
        first: Box<Decision>,
    },
    /// The proposal does not let this actor make this decision.
    #[error("{by} may not {verb} {id}; {}", listed("may", .may))]
    NotPermitted {
        /// The proposal.
        id: ProposalId,
        /// Who tried.
        by: Actor,
        /// What was tried.
        verb: Verb,
        /// Who may.
        may: Vec<ActorKind>,
    },
    /// The event is about another attempt than the one at hand.
    #[error("{found} is not the attempt at hand; that is {expected}")]
    WrongAttempt {
        /// The attempt that was named.
        found: Attempt,
        /// The attempt that would fit.
        expected: Attempt,
    },
    /// A new proposal's id is not greater than the last one's.
    #[error("{id} is not new; the last proposal is {last}")]
    NotNew {
        /// The id.
        id: ProposalId,
        /// The last id in the queue.
        last: ProposalId,
    },
    /// There is no next number for a proposal or an attempt.
    #[error("no number is left for another proposal or attempt")]
    NumbersExhausted,
    /// Nobody could ever approve the proposal.
    #[error("nobody may approve the proposal; name at least one of model, person, policy")]
    NobodyMayDecide,
    /// The proposal gives one subject two states at one time.
    #[error("the proposal gives {subject} two different fingerprints")]
    Contradiction {
        /// The subject.
        subject: String,
    },
    /// The time of the proposal has passed.
    #[error("the time of {id} is over; propose it again if it is still wanted")]
    Expired {
        /// The proposal.
        id: ProposalId,
        /// When it expired, in milliseconds since the Unix epoch.
        end: u64,
    },
    /// The time of the proposal has not passed.
    #[error("{id} {}", due(*.end))]
    NotDue {
        /// The proposal.
        id: ProposalId,
        /// When it will expire, if ever, in milliseconds since the Unix epoch.
        end: Option<u64>,
    },
    /// Somebody is applying the proposal.
    #[error("{attempt} is being applied by {} until {} ms; wait for its end", .lease.holder, .lease.until)]
    Leased {
        /// The attempt that runs.
        attempt: Attempt,
        /// Who, and until when.
        lease: Lease,
    },
    /// Somebody was applying the proposal, and the lease ended before the attempt did.
    #[error(
        "{attempt} was begun by {} and did not end before its lease did, at {} ms; look at what it left and recover it",
        .lease.holder, .lease.until
    )]
    Lapsed {
        /// The attempt that did not end.
        attempt: Attempt,
        /// Who, and until when.
        lease: Lease,
    },
    /// A lease that is over before it begins, or shorter than it was.
    #[error("a lease of {id} until {until} ms would not hold at {at} ms; give it more time")]
    LeaseOver {
        /// The proposal.
        id: ProposalId,
        /// Until when it would hold.
        until: u64,
        /// When it should begin, or until when it holds already.
        at: u64,
    },
    /// The attempt has no lease that could be renewed.
    #[error("{attempt} was begun without a lease")]
    NoLease {
        /// The attempt.
        attempt: Attempt,
    },
    /// The proposal is applied or dropped as a whole.
    #[error("{id} has no parts: approve or discard all of it")]
    NotDivisible {
        /// The proposal.
        id: ProposalId,
    },
    /// A part was to be discarded by itself.
    #[error("to discard a part of {id}, approve the others: {}", .parts.join(", "))]
    PartOfADiscard {
        /// The proposal.
        id: ProposalId,
        /// What would be left.
        parts: Vec<String>,
    },
    /// The decision names something that the proposal does not write, or that was left out before.
    #[error("{subject} is no part of {id}; {}", listed("parts", .parts))]
    NotAPart {
        /// The proposal.
        id: ProposalId,
        /// What was named.
        subject: String,
        /// What could be named.
        parts: Vec<String>,
    },
    /// The answer was given before the proposal was put aside and came back.
    #[error("{id} was put aside after this answer was given; look at it again and answer anew")]
    AnswerTooOld {
        /// The proposal.
        id: ProposalId,
        /// How often it had been put aside when the answer was given.
        seen: u32,
        /// How often it has been.
        put_aside: u32,
    },
    /// A kept pre-image is not of what is written, or not what was expected there.
    #[error("the pre-image of {subject} is not what {id} replaces; look again before you begin")]
    WrongPreimage {
        /// The proposal.
        id: ProposalId,
        /// Whose pre-image.
        subject: String,
    },
    /// What the proposal did cannot be taken back by putting old bytes in their place.
    #[error("{id} cannot be undone: {why}")]
    NoUndo {
        /// The proposal.
        id: ProposalId,
        /// What is missing.
        why: String,
    },
    /// A proposal cannot take its own place, nor undo itself.
    #[error("{id} cannot supersede itself")]
    SupersedesItself {
        /// The proposal.
        id: ProposalId,
    },
}

/// Why a log could not be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {index} of the log cannot follow those before it")]
pub struct ReplayError {
    /// The place of the event in the log, from 0.
    pub index: usize,
    /// What was wrong with it.
    pub source: QueueError,
}

fn listed<T: ToString>(what: &str, items: &[T]) -> String {
    if items.is_empty() {
        return format!("{what}: nothing");
    }
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("{what}: {}", items.join(", "))
}

fn due(end: Option<u64>) -> String {
    match end {
        Some(end) => format!("does not expire before {end} ms"),
        None => "does not expire".to_owned(),
    }
}

/// How much of what was handed over is shown in an error.
const HANDED: usize = 200;

fn decided(decision: &Decision) -> String {
    let only: Vec<&str> = decision.only.iter().map(String::as_str).collect();
    let decided = match decision.verdict {
        Verdict::Approve if only.is_empty() => "approved".to_owned(),
        Verdict::Approve => format!("approved for {} alone", only.join(", ")),
        Verdict::Discard => "discarded".to_owned(),
    };
    // An object of JSON is on one line.
    match decision.extra.as_ref().and_then(|extra| serde_json::to_string(extra).ok()) {
        Some(extra) => format!("{decided} with {}", extra.chars().take(HANDED).collect::<String>()),
        None => decided,
    }
}

fn because(decision: &Decision) -> String {
    match decision.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    }
}
