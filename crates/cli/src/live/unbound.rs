//! Decisions that were not bound, each told once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use trunkline_runtime::Event;

/// What was not bound, as far as it was told: to try again is no news.
#[derive(Default)]
pub(crate) struct ToldUnbound(Mutex<BTreeSet<(String, String)>>);

impl ToldUnbound {
    /// Returns whether an event is worth telling: of what is not bound only the first of a kind.
    pub(crate) fn is_news(&self, event: &Event) -> bool {
        let Event::NotBound { run, why } = event else { return true };
        // A set is whole after any panic.
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert((run.clone(), why.clone()))
    }
}
