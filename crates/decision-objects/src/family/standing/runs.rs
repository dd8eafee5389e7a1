//! How runs stand, and which of their candidates was chosen.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU32;

use super::{Family, RunStanding};
use crate::{
    Choice, Decision, DecisionId, Object, ObjectName, PatchSetId, RunId, RunState, Verdict, VerdictKind,
};

/// What the events of a run say: the first end, or else the last of them.
type Said = (RunState, ObjectName);

impl Family {
    pub(super) fn runs_standing(
        &self,
        decisions: &HashMap<RunId, &Decision>,
        undone: &HashMap<DecisionId, DecisionId>,
    ) -> BTreeMap<RunId, RunStanding> {
        let mut said: BTreeMap<RunId, Said> = BTreeMap::new();
        let mut selected: HashMap<RunId, PatchSetId> = HashMap::new();
        let mut candidates: HashMap<RunId, BTreeSet<(Option<NonZeroU32>, PatchSetId)>> = HashMap::new();
        let mut followers: HashMap<RunId, Vec<RunId>> = HashMap::new();
        for object in self.iter() {
            match object {
                Object::RunEvent(event) => {
                    let content = event.content();
                    let this = (content.state, object.name());
                    match said.entry(content.run) {
                        Entry::Occupied(ended) if ended.get().0.is_terminal() => {}
                        entry => *entry.or_insert(this) = this,
                    }
                }
                Object::Selection(selection) => {
                    if let Choice::PatchSet { run, patch_set } = selection.content().choice
                        && self.is_of(patch_set, run)
                    {
                        selected.insert(run, patch_set);
                    }
                }
                Object::PatchSet(patch_set) => {
                    let of_run = candidates.entry(patch_set.run()).or_default();
                    of_run.insert((patch_set.sequence(), patch_set.id()));
                }
                Object::Run(run) => {
                    if let Some(before) = run.opening().predecessor {
                        followers.entry(before.run()).or_default().push(run.id());
                    }
                }
                _ => {}
            }
        }
        let runs = self.iter().filter_map(|object| match object {
            Object::Run(run) => Some(run),
            _ => None,
        });
        let standing = runs.map(|run| {
            let id = run.id();
            let decision = decisions.get(&id).copied();
            let (state, by) = match (decision, said.get(&id)) {
                (Some(decision), said) => (ended(decision, said), Some(decision.id().into())),
                (None, Some(&(state, by))) => (state, Some(by)),
                (None, None) => (RunState::Created, None),
            };
            let candidates: Vec<PatchSetId> = candidates
                .remove(&id)
                .unwrap_or_default()
                .into_iter()
                .map(|(_, patch_set)| patch_set)
                .collect();
            let chosen = decision.and_then(|decision| decision.verdict().patch_set());
            let chosen = chosen.filter(|&chosen| self.is_of(chosen, id));
            let mut followed_by = followers.remove(&id).unwrap_or_default();
            followed_by.sort_unstable();
            let standing = RunStanding {
                state,
                by,
                decision: decision.map(Decision::id),
                undone_by: decision.and_then(|decision| undone.get(&decision.id()).copied()),
                intent: self.intent_of(run),
                patch_set: chosen
                    .or_else(|| selected.get(&id).copied())
                    .or_else(|| only_one(&candidates, decision)),
                candidates,
                followed_by,
            };
            (id, standing)
        });
        standing.collect()
    }

    /// Whether a patch set is of that run, or not here to say otherwise.
    fn is_of(&self, patch_set: PatchSetId, run: RunId) -> bool {
        self.patch_set(patch_set).is_none_or(|known| known.run() == run)
    }
}

fn ended(decision: &Decision, said: Option<&Said>) -> RunState {
    match decision.verdict() {
        Verdict::Checkpoint { .. } => RunState::Checkpointed,
        Verdict::Abandon { .. } | Verdict::Retry { .. } => RunState::Failed,
        Verdict::Commit { .. } | Verdict::Rollback { .. } => RunState::Completed,
        Verdict::Other { .. } => match said {
            Some((RunState::Failed, _)) => RunState::Failed,
            _ => RunState::Completed,
        },
    }
}

/// The only candidate that was not rejected.
fn only_one(candidates: &[PatchSetId], decision: Option<&Decision>) -> Option<PatchSetId> {
    let considered = decision.map(Decision::considered).unwrap_or_default();
    let rejected: BTreeSet<PatchSetId> =
        considered.iter().filter_map(|considered| considered.alternative.patch_set()).collect();
    let mut left = candidates.iter().filter(|candidate| !rejected.contains(candidate));
    // What was put down, given up or is tried again chose nothing.
    let chose = decision.is_none_or(|decision| {
        !matches!(
            decision.verdict().kind(),
            VerdictKind::Checkpoint | VerdictKind::Abandon | VerdictKind::Retry
        )
    });
    match (left.next(), left.next()) {
        (Some(&one), None) if chose => Some(one),
        _ => None,
    }
}
