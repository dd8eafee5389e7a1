//! What applies have written so far, in one number: equal where the same files were left in the same state.

use std::collections::HashMap;

use trunkline_resolve_queue::{Entry, Fingerprint, SubjectState};
use trunkline_revert::Digest;

/// What was written until some moment. Of two moments tells whether what was written between them comes to the same.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written(u64);

impl Written {
    /// Returns what was written since an earlier moment.
    pub(crate) fn since(self, earlier: Written) -> Digest {
        Digest(self.0 ^ earlier.0)
    }
}

/// The files that applies have written, each with how it was left.
#[derive(Default)]
pub(crate) struct Writes {
    states: HashMap<String, u64>,
    now: Written,
}

impl Writes {
    /// Takes in that a proposal was applied.
    pub(crate) fn applied<P>(&mut self, entry: &Entry<P>) {
        for subject in entry.part() {
            let after = entry.proposal.after.iter().find(|after| after.subject == subject);
            if let Some(after) = after {
                let state = state(after);
                // What it was before goes out of the number, so that the way to a state does not count.
                let before = self.states.insert(subject.to_owned(), state).unwrap_or_default();
                self.now = Written(self.now.0 ^ before ^ state);
            }
        }
    }

    /// Returns what was written until now.
    pub(crate) fn now(&self) -> Written {
        self.now
    }
}

fn state(file: &Fingerprint) -> u64 {
    let state = match &file.state {
        SubjectState::Absent => Digest(0),
        SubjectState::Digest(digest) => Digest::of(digest),
    };
    Digest::of_all([Digest::of(&file.subject), state]).0
}
