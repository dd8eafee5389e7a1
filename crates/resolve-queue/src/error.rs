//! Why the queue refuses.
//!
//! Most of these are read by a model that named the wrong id or came too late, so they say what would have worked.

use crate::{Actor, ActorKind, Attempt, Decision, ProposalId, State, Verb, Verdict};

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
    #[error("{id} was already {} by {} at {} ms{}; it is {state}", decided(.first), .first.by, .first.at, because(.first))]
    DecidedOtherwise {
        /// The proposal.
        id: ProposalId,
        /// Where it stands.
        state: State,
        /// The decision that stands.
        first: Decision,
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
    /// A proposal cannot take its own place.
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

fn decided(decision: &Decision) -> &'static str {
    match decision.verdict {
        Verdict::Approve => "approved",
        Verdict::Discard => "discarded",
    }
}

fn because(decision: &Decision) -> String {
    match decision.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    }
}
