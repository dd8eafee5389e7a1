//! What rollbacks have made of decisions: taken back, or applied again by the rollback of a rollback.
//!
//! A log can say anything. Only a rollback that was recorded after what it undoes counts, so that nothing goes in circles,
//! and of several the first.

use std::collections::HashMap;

use trunkline_runtime::DecidedRuns;
use trunkline_runtime::decision_objects::{DecisionId, RunId, Verdict};

/// What became of a decision after it was rolled back.
#[derive(Clone, Copy)]
pub(super) struct Since {
    /// The run that rolled it back.
    pub(super) first: RunId,
    /// The last of those that rolled back one another: what it did holds.
    pub(super) last: RunId,
    /// The decision of that one.
    pub(super) by: DecisionId,
    /// Whether what was decided is there again.
    pub(super) is_applied: bool,
}

/// Returns of each decision that was rolled back how it stands now.
pub(super) fn undone(decided: &DecidedRuns) -> HashMap<DecisionId, Since> {
    let mut seq = HashMap::new();
    let mut rollbacks = Vec::new();
    for (run, given) in decided.runs.iter().filter_map(|run| Some((run.id, run.verdict.as_ref()?))) {
        seq.entry(given.decision.id()).or_insert(given.seq);
        if let Verdict::Rollback { of, .. } = *given.decision.verdict() {
            rollbacks.push((given.seq, run, given.decision.id(), of));
        }
    }
    // The newest first: what became of a rollback is known by the time that it is asked for.
    rollbacks.sort_unstable_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let mut undone: HashMap<DecisionId, Since> = HashMap::new();
    for (at, run, by, of) in rollbacks {
        if seq.get(&of).is_none_or(|undone| *undone >= at) {
            continue;
        }
        let since = match undone.get(&by) {
            Some(later) => Since { first: run, is_applied: !later.is_applied, ..*later },
            None => Since { first: run, last: run, by, is_applied: false },
        };
        undone.insert(of, since);
    }
    undone
}
