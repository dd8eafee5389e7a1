//! How a proposal came to its end without having been applied.
//!
//! Folded like everything else, so whoever tells a tool that its proposal is over can say why, also after a restart, and name the
//! end by a key that is the same each time.

use std::fmt;

use serde::Serialize;

use crate::{ActorKind, Change, ProposalId, State, Supersession, Verdict};

/// The end of a proposal that was not applied. Printed, such as `p3-end-1`, it is the idempotency key of that end inside its queue.
///
/// What was put aside because its branch was left can come back, and then end once more: that is another end, with another key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct End {
    /// Of which proposal.
    pub proposal: ProposalId,
    /// Which end of this proposal it is, counting from 1.
    pub number: u32,
    /// Why it came.
    pub cause: EndCause,
    /// Whether it had been approved by then.
    pub approved: bool,
}

/// Why a proposal ended without having been applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndCause {
    /// A person or a model decided against it.
    Discarded,
    /// Rules forbid it, or the program dropped what nobody had decided on. A harness that discards in the name of rules has their name.
    Denied,
    /// The world it was computed from has changed, or nobody could look at it.
    Stale,
    /// It could not be applied, as often as that was tried.
    GaveUp,
    /// An attempt was cut off, and what that has done is not known: nothing, some of it or all.
    Unclear,
    /// Its time passed.
    Expired,
    /// Another proposal took its place.
    Replaced {
        /// Which.
        by: ProposalId,
    },
    /// Its branch was left. It comes back if that is undone, unless the caller keeps it from that.
    BranchLeft {
        /// The move that left it, as text that means something to the caller.
        by: String,
    },
}

impl EndCause {
    /// Returns why a change ends a proposal; `None` if it does not. `unclear` tells that what its last attempt has done is not known.
    pub(crate) fn of<P>(from: State, change: &Change<P>, unclear: bool) -> Option<Self> {
        Some(match change {
            Change::Decided { verdict: Verdict::Discard, by, .. } => match (by.kind, from) {
                (ActorKind::Person | ActorKind::Model, _) => EndCause::Discarded,
                (ActorKind::Harness, State::Stale) if unclear => EndCause::Unclear,
                (ActorKind::Harness, State::Stale) => EndCause::Stale,
                (ActorKind::Harness, State::Failed) if by.name.is_empty() => EndCause::GaveUp,
                _ => EndCause::Denied,
            },
            Change::Expired if unclear => EndCause::Unclear,
            Change::Expired => EndCause::Expired,
            Change::Superseded { cause: Supersession::Replaced { by } } => EndCause::Replaced { by: *by },
            Change::Superseded { cause: Supersession::BranchLeft { by } } => {
                EndCause::BranchLeft { by: by.clone() }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-end-{}", self.proposal, self.number)
    }
}

impl fmt::Display for EndCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndCause::Discarded => f.write_str("discarded"),
            EndCause::Denied => f.write_str("denied"),
            EndCause::Stale => f.write_str("stale"),
            EndCause::GaveUp => f.write_str("given up"),
            EndCause::Unclear => f.write_str("unclear"),
            EndCause::Expired => f.write_str("expired"),
            EndCause::Replaced { by } => write!(f, "replaced by {by}"),
            EndCause::BranchLeft { .. } => f.write_str("branch left"),
        }
    }
}
