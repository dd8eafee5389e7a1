//! How tasks stand.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::{Family, RunStanding, TaskStanding};
use crate::{Decision, DecisionId, GitOid, Object, ObjectName, RunId, TaskId, TaskState, Timestamp, Verdict};

/// What the events of a task say: the first end, or else the last of them, with the run that it names.
type Said = (TaskState, ObjectName, Option<RunId>);

/// What the runs at a task say, while one looks at them.
#[derive(Default)]
struct Work {
    runs: Vec<RunId>,
    open: Option<RunId>,
    /// The earliest decision that gave it up.
    abandoned: Option<(Timestamp, ObjectName)>,
    /// The latest decision that holds and names a commit.
    committed: Option<(Timestamp, DecisionId, GitOid)>,
}

impl Family {
    pub(super) fn tasks_standing(
        &self,
        runs: &BTreeMap<RunId, RunStanding>,
        decisions: &HashMap<RunId, &Decision>,
    ) -> BTreeMap<TaskId, TaskStanding> {
        let mut said: BTreeMap<TaskId, Said> = BTreeMap::new();
        let mut work: HashMap<TaskId, Work> = HashMap::new();
        for object in self.iter() {
            match object {
                Object::TaskEvent(event) => {
                    let content = event.content();
                    let this = (content.state, object.name(), content.run);
                    match said.entry(content.task) {
                        Entry::Occupied(ended) if ended.get().0.is_terminal() => {}
                        entry => *entry.or_insert(this) = this,
                    }
                }
                Object::Run(run) => {
                    if let Some(task) = run.opening().task {
                        work.entry(task).or_default().runs.push(run.id());
                    }
                }
                _ => {}
            }
        }
        for work in work.values_mut() {
            work.look(runs, decisions);
        }
        let tasks = self.iter().filter_map(|object| match object {
            Object::Task(task) => Some(task.id()),
            _ => None,
        });
        let standing = tasks.map(|task| {
            let work = work.remove(&task).unwrap_or_default();
            let (state, by) = stands(said.get(&task), &work, runs);
            let committed = work.committed.map(|(_, by, commit)| (commit, by));
            (task, TaskStanding { state, by, committed, runs: work.runs })
        });
        standing.collect()
    }
}

impl Work {
    fn look(&mut self, runs: &BTreeMap<RunId, RunStanding>, decisions: &HashMap<RunId, &Decision>) {
        self.runs.sort_unstable();
        for id in &self.runs {
            let Some(run) = runs.get(id) else { continue };
            if run.is_open() {
                self.open = self.open.max(Some(*id));
            }
            let Some(decision) = decisions.get(id) else { continue };
            if decision.consequences().task_fails() {
                let this = (decision.at(), decision.id().into());
                self.abandoned = Some(self.abandoned.map_or(this, |known| known.min(this)));
            }
            if let (Verdict::Commit { commit, .. }, None) = (decision.verdict(), run.undone_by) {
                self.committed = self.committed.max(Some((decision.at(), decision.id(), *commit)));
            }
        }
    }
}

fn stands(
    said: Option<&Said>,
    work: &Work,
    runs: &BTreeMap<RunId, RunStanding>,
) -> (TaskState, Option<ObjectName>) {
    match said {
        Some(&(state, by, _)) if state.is_terminal() => return (state, Some(by)),
        _ => {}
    }
    if let Some((_, by)) = work.abandoned {
        return (TaskState::Failed, Some(by));
    }
    if let Some(open) = work.open {
        return match said {
            Some(&(TaskState::Blocked, by, _)) => (TaskState::Blocked, Some(by)),
            _ => (TaskState::Running, Some(open.into())),
        };
    }
    match said {
        Some(&(TaskState::Running, by, run)) => {
            let has_ended = match run {
                Some(run) => runs.get(&run).is_some_and(|run| !run.is_open()),
                // One that names no run is about those that are here.
                None => !work.runs.is_empty(),
            };
            (if has_ended { TaskState::Created } else { TaskState::Running }, Some(by))
        }
        Some(&(state, by, _)) => (state, Some(by)),
        None => (TaskState::Created, None),
    }
}
