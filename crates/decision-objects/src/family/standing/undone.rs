//! Which decisions are undone now.
//!
//! A rollback undoes, and one of a rollback brings back; so what counts is how many rollbacks come one after the other.

use std::collections::{HashMap, HashSet};

use crate::{Decision, DecisionId, RunId, Timestamp, Verdict};

/// The rollback that holds of each decision that is undone.
///
/// Rollbacks that go in a circle undo each other; there is no sense in that, and each counts as undone.
pub(super) fn of(decisions: &HashMap<RunId, &Decision>) -> HashMap<DecisionId, DecisionId> {
    let mut first: HashMap<DecisionId, (Timestamp, DecisionId)> = HashMap::new();
    for decision in decisions.values() {
        if let Verdict::Rollback { of, .. } = *decision.verdict() {
            let this = (decision.at(), decision.id());
            let known = first.entry(of).or_insert(this);
            *known = this.min(*known);
        }
    }
    let next = |of: DecisionId| first.get(&of).map(|&(_, by)| by);
    let mut known: HashMap<DecisionId, bool> = HashMap::new();
    for &start in first.keys() {
        // From one rollback to the rollback of it, as far as nothing is known; then back again.
        let (mut way, mut on_way) = (Vec::new(), HashSet::new());
        let mut at = start;
        let mut is_undone = loop {
            if let Some(&is_undone) = known.get(&at) {
                break is_undone;
            }
            let Some(by) = next(at) else { break false };
            if !on_way.insert(at) {
                // A circle, all of which is on the way: what leads into it is judged by it.
                let members = way.iter().rposition(|&member| member == at).unwrap_or_default();
                for member in way.drain(members..) {
                    known.insert(member, true);
                }
                break true;
            }
            way.push(at);
            at = by;
        };
        for decision in way.into_iter().rev() {
            // Undone by a rollback that is not undone.
            is_undone = !is_undone;
            known.insert(decision, is_undone);
        }
    }
    first.into_iter().filter(|(of, _)| known.get(of) == Some(&true)).map(|(of, (_, by))| (of, by)).collect()
}
