//! Since when a session has its writer, and for how long what an earlier one began is left to that one.
//!
//! Whoever is taken over may be in the middle of writing files, and hears of it a moment later. So what it has begun has a
//! lease, and whoever has the session now leaves it alone until that is over.

use std::time::{Duration, Instant};
use trunkline_session_machine::APPLY_LEASE;

use trunkline_session_store::{Claim, SessionStore};

/// How often it is looked whether a lease has to be renewed, or is over: a machine may have slept meanwhile.
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// How long a renewal may take. What it is for is not given time meanwhile.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(5);

/// Since when a session has its writer, and how that came to be.
pub(crate) struct Tenure {
    since: Instant,
    /// Whether whoever wrote it before is gone for certain.
    alone: bool,
}

impl Tenure {
    pub(crate) fn new(claim: Claim, store: &dyn SessionStore) -> Self {
        Tenure { since: Instant::now(), alone: claim == Claim::IfFree && store.free_means_gone() }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns whether no lease of an earlier writer can stand any more, whatever their clock or ours says: nobody has
    /// renewed one since this one writes.
    pub(crate) fn is_settled(&self) -> bool {
        self.since.elapsed() >= APPLY_LEASE
    }
}
