//! Where sessions stand, without reading them: from the keys of their notes. What was said is never read.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use trunkline_runtime::PlanRecord;
use trunkline_runtime::across;
use trunkline_runtime::decision_objects::{Decision, Task};
use trunkline_runtime::resolve_queue::{Change, Event, State};
use trunkline_session_store::{FoundNote, NoteQuery, SessionId, SessionInfo, SessionStore, StoreError};

use crate::reading::session::Reading;
use crate::shown::session::{OPEN, PLAN_WAITS, WAITS, state};
use crate::shown::verdict::outcome;
use crate::term::fault::Fault;

/// The state of a session that somebody writes.
pub(crate) const RUNNING: &str = "running";
/// The state of a session that cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

/// What finds the sessions with a proposal that is not settled: one query for each state.
pub(crate) fn unsettled() -> impl Iterator<Item = NoteQuery> {
    let other = [State::Approved, State::Applying, State::Failed, State::Unknown, State::Stale];
    let other = other.into_iter().map(|state| across::pending_proposals().in_state(state.to_string()));
    std::iter::once(across::pending_proposals()).chain(other)
}

/// The sessions of a store in which something is open.
pub(crate) struct Standing {
    waiting: HashSet<SessionId>,
    /// Those of them in which a plan waits, and those of which that is not known.
    plans: HashSet<SessionId>,
    unsure: HashSet<SessionId>,
    open: HashSet<SessionId>,
    /// The newest task of each session that has one, if no person has ended it: its number and its title.
    tasks: HashMap<SessionId, Option<(u64, String)>>,
}

impl Standing {
    /// Asks the store, a few times for all sessions together.
    pub(crate) async fn of(store: &dyn SessionStore) -> Result<Self, StoreError> {
        let (mut waiting, mut plans, mut unsure) = (HashSet::new(), HashSet::new(), HashSet::new());
        for query in unsettled() {
            for found in store.notes(&query).await? {
                match serde_json::from_str::<Event<Value>>(&found.body).map(|event| event.change) {
                    Ok(Change::Staged(proposal)) if PlanRecord::of_proposal(&proposal).is_some() => {
                        plans.insert(found.session.clone());
                    }
                    // Somebody was asked since it was staged: what it was is not said again.
                    Ok(Change::Cancelled { .. }) => drop(unsure.insert(found.session.clone())),
                    _ => {}
                }
                waiting.insert(found.session);
            }
        }
        let open = store.notes(&across::open_runs()).await?.into_iter().map(|found| found.session);
        let ended: HashSet<String> =
            store.notes(&across::ended_tasks()).await?.into_iter().map(|found| found.key.key).collect();
        let mut given = store.notes(&across::tasks()).await?;
        given.sort_by_key(|found| found.seq);
        let title = |found: &FoundNote| Some((found.seq, title_of(found).unwrap_or_default()));
        let tasks = given.into_iter().map(|found| {
            let open = if ended.contains(&found.key.key) { None } else { title(&found) };
            (found.session, open)
        });
        Ok(Standing { waiting, plans, unsure, open: open.collect(), tasks: tasks.collect() })
    }

    /// Returns the title of the task that a session is to work on.
    pub(crate) async fn open_task(
        &self,
        store: &dyn SessionStore,
        info: &SessionInfo,
    ) -> Result<Option<String>, StoreError> {
        let Some(Some((seq, title))) = self.tasks.get(&info.id) else { return Ok(None) };
        // A run that was given up fails its task: then the rest of the session has to be asked.
        let abandoned = verdicts().in_state("abandon").in_session(info.id.clone());
        if store.notes(&abandoned).await?.iter().all(|found| found.seq < *seq) {
            return Ok(Some(title.clone()));
        }
        let reading = Reading::outline(store, info).await.ok();
        Ok(reading.and_then(|reading| Some(reading.task().filter(|task| !task.has_ended())?.title.clone())))
    }

    /// Says in a word or two where a session stands. One that cannot be read does not hide the others.
    pub(crate) async fn state(&self, store: &dyn SessionStore, info: &SessionInfo) -> Result<String, Fault> {
        if store.holder(&info.id).await?.is_some() {
            return Ok(RUNNING.to_owned());
        }
        if self.plans.contains(&info.id) {
            return Ok(PLAN_WAITS.to_owned());
        }
        if self.unsure.contains(&info.id)
            && let Ok(reading) = Reading::outline(store, info).await
        {
            return Ok(state(&reading));
        }
        if self.waiting.contains(&info.id) {
            return Ok(WAITS.to_owned());
        }
        if self.open.contains(&info.id) {
            return Ok(OPEN.to_owned());
        }
        let verdicts = store.notes(&verdicts().in_session(info.id.clone())).await?;
        let last = verdicts.last().and_then(|found| Decision::parse(found.body.as_bytes()).ok());
        if let Some(decision) = last {
            return Ok(outcome(&decision));
        }
        // It has no notes, as one that was imported and not gone on with.
        if info.records == info.nodes {
            return Ok(OPEN.to_owned());
        }
        // Nothing was decided in it, or before notes had keys.
        let reading = Reading::outline(store, info).await;
        Ok(reading.map_or_else(|_| UNREADABLE.to_owned(), |reading| state(&reading)))
    }
}

/// Reads what a task is called.
fn title_of(found: &FoundNote) -> Option<String> {
    let body: Value = serde_json::from_str(&found.body).ok()?;
    let task = Task::parse(body.get("task")?.as_str()?.as_bytes()).ok()?;
    Some(task.content().title.as_str().to_owned())
}

/// What finds the verdicts on runs.
fn verdicts() -> NoteQuery {
    NoteQuery::of("decision", "decided")
}
