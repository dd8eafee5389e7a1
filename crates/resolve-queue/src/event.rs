//! What happened to a proposal, as records that a log can keep.
//!
//! A queue is nothing but the fold of these. The JSON form is a promise: variants are externally tagged,
//! so that a payload of raw JSON keeps its exact bytes on the way through.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Actor, Attempt, Difference, Fingerprint, Observation, Proposal, ProposalId};

/// One thing that happened to one proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event<P> {
    /// To which proposal.
    pub proposal: ProposalId,
    /// When, in milliseconds since the Unix epoch. Kept, never compared: clocks go backwards.
    pub at: u64,
    /// What.
    pub change: Change<P>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change<P> {
    /// It was put into the queue.
    Staged(Box<Proposal<P>>),
    /// Somebody decided.
    Decided {
        /// What.
        verdict: Verdict,
        /// Who.
        by: Actor,
        /// Why; may be empty.
        reason: String,
        /// What of a divisible proposal is meant, by subject; empty for all that is left of it.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        only: BTreeSet<String>,
        /// Whatever the decider hands to the executor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extra: Option<Map<String, Value>>,
    },
    /// Somebody was asked, and the question was closed without an answer. It waits as before.
    Cancelled {
        /// Who closed it.
        by: Actor,
        /// Why; may be empty.
        reason: String,
    },
    /// Its time has passed.
    Expired,
    /// A check found that the world had changed.
    WentStale {
        /// What differed.
        differing: Vec<Difference>,
    },
    /// A check found the world as it was: back to approved if an approval stands, else to proposed.
    Rechecked,
    /// An attempt to apply it was started.
    Began {
        /// Which attempt, from 1.
        attempt: u32,
        /// Who applies it, and until when nobody else looks after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leased: Option<Lease>,
        /// What was there before, of what it writes; whoever began it keeps the bytes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        preimages: Vec<Fingerprint>,
    },
    /// An attempt got more time.
    Renewed {
        /// Which attempt.
        attempt: u32,
        /// Until when, in milliseconds since the Unix epoch.
        until: u64,
    },
    /// Somebody looks after what an attempt left whose holder is gone. What the holder still reports does not count.
    TakenOver {
        /// The number of this attempt to tidy up, one more than that of the one that was left.
        attempt: u32,
        /// Who, and until when.
        leased: Lease,
        /// Whether the holder was known to be gone before its lease ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fenced: bool,
    },
    /// An attempt reported its end.
    Finished {
        /// Which attempt.
        attempt: u32,
        /// How it ended.
        outcome: Outcome,
    },
    /// Somebody looked at what an attempt left behind that never reported.
    Recovered {
        /// Which attempt.
        attempt: u32,
        /// What was found.
        observation: Observation,
        /// Who looked.
        by: Actor,
        /// Whether the holder was known to be gone before its lease ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fenced: bool,
    },
    /// It was put aside; an approval it had is void.
    Superseded {
        /// Why.
        cause: Supersession,
    },
    /// It came back, as stale.
    Restored,
}

/// A decision's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a decision for and a decision against is all there is")]
pub enum Verdict {
    /// Apply it.
    Approve,
    /// Drop it.
    Discard,
}

/// A decision that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// Who decided.
    pub by: Actor,
    /// Why; may be empty.
    pub reason: String,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What of it was meant; empty for all that was left.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub only: BTreeSet<String>,
    /// Whatever the decider hands to the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// Who applies something, and for how long others keep away from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who, as text that means something to the caller, such as a process and its fencing token.
    pub holder: String,
    /// Until when, in milliseconds since the Unix epoch. At that moment it has lapsed.
    pub until: u64,
}

/// A question that was closed without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// Who closed it.
    pub by: Actor,
    /// Why; may be empty.
    pub reason: String,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "an executor has to choose one of these, and so has every reader"
)]
pub enum Outcome {
    /// Everything was done.
    Applied,
    /// It was not done.
    Failed {
        /// What went wrong, for people and models.
        reason: String,
    },
    /// Nobody can say, for example because it was cut off in the middle.
    Unknown {
        /// What is known.
        reason: String,
    },
}

/// Why a proposal was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Supersession {
    /// Another proposal does it now.
    Replaced {
        /// Which.
        by: ProposalId,
    },
    /// The branch of its call was left.
    BranchLeft {
        /// The move that left it, as text that means something to the caller; undoing that move restores.
        by: String,
    },
}

impl<P> Event<P> {
    /// The attempt that this event starts, ends or recovers.
    pub fn attempt(&self) -> Option<Attempt> {
        match self.change {
            Change::Began { attempt, .. }
            | Change::Renewed { attempt, .. }
            | Change::TakenOver { attempt, .. }
            | Change::Finished { attempt, .. }
            | Change::Recovered { attempt, .. } => Some(Attempt { proposal: self.proposal, number: attempt }),
            _ => None,
        }
    }
}

impl Lease {
    /// Whether others still keep away.
    pub fn stands(&self, at: u64) -> bool {
        at < self.until
    }
}

/// What a discarded proposal answers when its tool has no words of its own.
pub fn discard_text(label: &str, reason: &str) -> String {
    format!("Discarded: {label}. Reason: {reason}")
}
