//! Two ledgers as one.
//!
//! A branch may have left branches of its own. Their notes go when it is left, but what was done there still stands.

use std::collections::HashMap;

use super::{Ledger, LedgerEntry, Listed, MOST_ENTRIES, MOST_TOLD};
use crate::EffectClass;

impl Ledger {
    /// Returns it together with what was done on a branch that had been left from this one before.
    ///
    /// Bounded like any other: of each list the newest stay, the others are counted.
    #[must_use]
    pub fn including(self, earlier: &Ledger) -> Ledger {
        let mut told = Listed {
            newest: [self.told.newest, earlier.told.newest.clone()].concat(),
            earlier: self.told.earlier.saturating_add(earlier.told.earlier),
        };
        told.newest.sort_by_key(|told| told.node);
        told.newest.dedup_by_key(|told| told.node);
        let last_error = match (self.last_error, &earlier.last_error) {
            (Some(ours), Some(theirs)) if theirs.node > ours.node => Some(theirs.clone()),
            (ours, theirs) => ours.or_else(|| theirs.clone()),
        };
        Ledger {
            told: bounded(told, MOST_TOLD),
            lasting: joined(self.lasting, &earlier.lasting, |entry| Some(entry.class)),
            written: joined(self.written, &earlier.written, |_| None),
            ran: joined(self.ran, &earlier.ran, |_| None),
            read: joined(self.read, &earlier.read, |_| None),
            others: joined(self.others, &earlier.others, |entry| Some(entry.class)),
            tools: joined(self.tools, &earlier.tools, |_| None),
            last_error,
        }
    }
}

/// Joins two lists; what they have in common is counted together.
fn joined(
    ours: Listed<LedgerEntry>,
    theirs: &Listed<LedgerEntry>,
    class: fn(&LedgerEntry) -> Option<EffectClass>,
) -> Listed<LedgerEntry> {
    let earlier = ours.earlier.saturating_add(theirs.earlier);
    let mut newest: Vec<LedgerEntry> = ours.newest;
    let mut places: HashMap<(String, Option<EffectClass>), usize> = HashMap::new();
    for (place, entry) in newest.iter().enumerate() {
        places.insert((entry.what.clone(), class(entry)), place);
    }
    for entry in &theirs.newest {
        match places.get(&(entry.what.clone(), class(entry))) {
            Some(place) => newest[*place].add(entry),
            None => newest.push(entry.clone()),
        }
    }
    newest.sort_by_key(|entry| entry.node);
    bounded(Listed { newest, earlier }, MOST_ENTRIES)
}

fn bounded<T>(listed: Listed<T>, most: usize) -> Listed<T> {
    let kept = Listed::of(listed.newest, most);
    Listed { earlier: kept.earlier.saturating_add(listed.earlier), ..kept }
}

impl LedgerEntry {
    fn add(&mut self, other: &LedgerEntry) {
        if other.node > self.node {
            self.node = other.node;
            self.class = other.class;
            self.last_failed = other.last_failed;
        }
        self.calls = self.calls.saturating_add(other.calls);
        self.failed = self.failed.saturating_add(other.failed);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
    }
}
