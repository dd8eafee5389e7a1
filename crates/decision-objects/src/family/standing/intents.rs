//! How intents stand, by which plan they are worked, and which commit holds what was made for them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Family, IntentStanding, Standing};
use crate::{
    Choice, Decision, DecisionId, GitOid, IntentEventKind, IntentId, IntentState, Object, ObjectName, PlanId,
    RunId, TaskState, Timestamp, Verdict,
};

/// What the events of an intent say: the first end, or else the last of them; and the commit in it.
type Said = (IntentState, ObjectName, Option<GitOid>);

/// What stands for each intent, before it is put together.
#[derive(Default)]
struct Work {
    runs: Vec<RunId>,
    /// Whether a run or a task for it has not ended.
    is_busy: bool,
    /// What ended the last of its tasks.
    ended: Option<(Timestamp, ObjectName)>,
    /// Whether one of them is done.
    is_fulfilled: bool,
    /// The latest decision that holds and names a commit.
    committed: Option<(Timestamp, DecisionId, GitOid)>,
    /// The commits of its runs that were rolled back.
    gone: BTreeSet<GitOid>,
    /// The plan of its latest run that names one.
    plan: Option<(Timestamp, RunId, PlanId)>,
}

impl Family {
    pub(super) fn intents_standing(
        &self,
        standing: &Standing,
        decisions: &HashMap<RunId, &Decision>,
        undone: &HashMap<DecisionId, DecisionId>,
    ) -> BTreeMap<IntentId, IntentStanding> {
        let mut said: BTreeMap<IntentId, Said> = BTreeMap::new();
        let mut selected: HashMap<IntentId, PlanId> = HashMap::new();
        let mut heads: HashMap<IntentId, Vec<PlanId>> = HashMap::new();
        let mut revisions: HashMap<IntentId, Vec<IntentId>> = HashMap::new();
        for object in self.iter() {
            match object {
                Object::IntentEvent(event) => {
                    let content = event.content();
                    let Some(state) = content.kind.state() else { continue };
                    let commit = match content.kind {
                        IntentEventKind::Completed { result_commit } => result_commit,
                        _ => None,
                    };
                    let this = (state, object.name(), commit);
                    match said.entry(content.intent) {
                        Entry::Occupied(ended) if ended.get().0.is_terminal() => {}
                        entry => *entry.or_insert(this) = this,
                    }
                }
                Object::Selection(selection) => {
                    if let Choice::Plan { intent, plan } = selection.content().choice
                        && self.plan(plan).is_none_or(|known| known.content().intent == intent)
                    {
                        selected.insert(intent, plan);
                    }
                }
                Object::Plan(plan) if standing.is_current(plan.id()) => {
                    heads.entry(plan.content().intent).or_default().push(plan.id());
                }
                Object::Intent(intent) => {
                    for &parent in &intent.content().parents {
                        revisions.entry(parent).or_default().push(intent.id());
                    }
                }
                _ => {}
            }
        }
        let mut work = self.work(standing, decisions, undone);
        let intents = self.iter().filter_map(|object| match object {
            Object::Intent(intent) => Some(intent.id()),
            _ => None,
        });
        let standing = intents.map(|intent| {
            let mut work = work.remove(&intent).unwrap_or_default();
            let said = said.get(&intent).copied();
            let (state, by) = work.stands(said).unzip();
            let heads = heads.remove(&intent).unwrap_or_default();
            let head = match heads.as_slice() {
                [one] => Some(*one),
                _ => None,
            };
            let mut revised_by = revisions.remove(&intent).unwrap_or_default();
            revised_by.sort_unstable();
            work.runs.sort_unstable();
            let plan = selected.get(&intent).copied().or(work.plan.map(|(_, _, plan)| plan)).or(head);
            let release = work.release(said);
            (intent, IntentStanding { state, by, plan, release, runs: work.runs, revised_by })
        });
        standing.collect()
    }

    fn work(
        &self,
        standing: &Standing,
        decisions: &HashMap<RunId, &Decision>,
        undone: &HashMap<DecisionId, DecisionId>,
    ) -> HashMap<IntentId, Work> {
        let mut all: HashMap<IntentId, Work> = HashMap::new();
        for object in self.iter() {
            match object {
                Object::Run(run) => {
                    let Some(stands) = standing.runs.get(&run.id()) else { continue };
                    let Some(intent) = stands.intent else { continue };
                    let work = all.entry(intent).or_default();
                    work.runs.push(run.id());
                    work.is_busy |= stands.is_open();
                    let opening = run.opening();
                    if let Some(plan) = opening.plan
                        && self.plan(plan).is_none_or(|known| known.content().intent == intent)
                    {
                        work.plan = work.plan.max(Some((opening.at, run.id(), plan)));
                    }
                    if let Some(&decision) = decisions.get(&run.id()) {
                        work.decided(decision, undone.contains_key(&decision.id()));
                    }
                }
                Object::Task(task) => {
                    let (Some(stands), Some(intent)) =
                        (standing.tasks.get(&task.id()), task.content().intent)
                    else {
                        continue;
                    };
                    let work = all.entry(intent).or_default();
                    work.is_busy |= !stands.state.is_terminal();
                    work.is_fulfilled |= stands.state == TaskState::Done;
                    work.ended = work.ended.max(stands.by.and_then(|by| Some((self.time_of(by)?, by))));
                }
                _ => {}
            }
        }
        all
    }

    /// When what ends a task was said.
    fn time_of(&self, by: ObjectName) -> Option<Timestamp> {
        match self.get(by)? {
            Object::TaskEvent(event) => Some(event.header().at),
            Object::Decision(decision) => Some(decision.at()),
            _ => None,
        }
    }
}

impl Work {
    fn decided(&mut self, decision: &Decision, is_undone: bool) {
        let Verdict::Commit { commit, .. } = *decision.verdict() else { return };
        if is_undone {
            self.gone.insert(commit);
        } else {
            self.committed = self.committed.max(Some((decision.at(), decision.id(), commit)));
        }
    }

    fn stands(&self, said: Option<Said>) -> Option<(IntentState, ObjectName)> {
        let said = said.map(|(state, by, _)| (state, by));
        if said.is_some_and(|(state, _)| state.is_terminal()) || self.is_busy {
            return said;
        }
        let state = if self.is_fulfilled { IntentState::Completed } else { IntentState::Cancelled };
        self.ended.map(|(_, by)| (state, by)).or(said)
    }

    fn release(&self, said: Option<Said>) -> Option<(GitOid, ObjectName)> {
        let committed = self.committed.map(|(_, by, commit)| (commit, by.into()));
        let told = said.and_then(|(_, by, commit)| Some((commit?, by)));
        committed.or(told.filter(|(commit, _)| !self.gone.contains(commit)))
    }
}

/// The commit that the latest decision of all leaves.
pub(super) fn release_of_all(
    decisions: &HashMap<RunId, &Decision>,
    undone: &HashMap<DecisionId, DecisionId>,
) -> Option<(GitOid, DecisionId)> {
    let standing = decisions.values().filter(|decision| !undone.contains_key(&decision.id()));
    let named = standing.filter_map(|decision| match *decision.verdict() {
        Verdict::Commit { commit, .. } | Verdict::Rollback { reverted_to: Some(commit), .. } => {
            Some((decision.at(), decision.id(), commit))
        }
        _ => None,
    });
    named.max().map(|(_, by, commit)| (commit, by))
}
