//! How a run begins: what it is to do, how the files are, and what it goes on from.

use trunkline_decision_objects::{
    Actor, ActorKind, Base as RunBase, Decision, GitOid, IntentId, NonBlank, Opening, Predecessor, Run,
    RunId, TaskId, Timestamp as RunTime, Verdict,
};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::Record;
use uuid::Uuid;

use crate::notes::decision::{opened, unfit};
use crate::words::error::RuntimeError;
use crate::words::start::Start;

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// What is wanted.
    pub intent: Option<IntentId>,
    /// The piece of work.
    pub task: Option<TaskId>,
}

impl Purpose {
    /// Returns what a run is for that was opened so.
    pub fn of(opening: &Opening) -> Self {
        Purpose { intent: opening.intent, task: opening.task }
    }
}

/// Returns the records that open a run that is for nothing that was recorded. It follows `last` if that was decided to be tried again
/// or continued.
///
/// # Errors
///
/// [`RuntimeError`] if that does not fit.
pub fn open(
    last: Option<&Decision>,
    id: Uuid,
    goal: &str,
    prompt: NodeId,
    start: Start,
    at: Timestamp,
) -> Result<[Record; 2], RuntimeError> {
    open_for(Purpose::default(), last, id, goal, prompt, start, at)
}

/// Like [`open`], for something that was recorded.
///
/// # Errors
///
/// [`RuntimeError`] if that does not fit.
pub fn open_for(
    purpose: Purpose,
    last: Option<&Decision>,
    id: Uuid,
    goal: &str,
    prompt: NodeId,
    start: Start,
    at: Timestamp,
) -> Result<[Record; 2], RuntimeError> {
    let base = &start.base;
    let predecessor = last.and_then(|last| match last.verdict() {
        Verdict::Retry { .. } => Some(Predecessor::RetryOf(last.run())),
        Verdict::Checkpoint { .. } => Some(Predecessor::Continues(last.run())),
        _ => None,
    });
    let run_base = RunBase {
        commit: base.commit.as_deref().map(str::parse::<GitOid>).transpose().map_err(unfit)?,
        tree: base.tree.as_deref().map(NonBlank::new).transpose().map_err(unfit)?,
    };
    let id = RunId::new(id).map_err(unfit)?;
    let actor = person()?;
    // A clock may have gone back; what follows a verdict is not older than the verdict.
    let since = last.filter(|_| predecessor.is_some()).map(Decision::at);
    let opened_at = time(at)?;
    let opened_at = since.map_or(opened_at, |since| opened_at.max(since));
    let Purpose { intent, task } = purpose;
    let opening =
        Opening { base: run_base, predecessor, intent, task, ..Opening::new(id, opened_at, actor, goal) };
    let run = Run::open(opening).map_err(unfit)?;
    Ok(opened(run.record(), prompt, start, at))
}

/// Returns who gives orders.
pub(crate) fn person() -> Result<Actor, RuntimeError> {
    Actor::new(ActorKind::Human, "user").map_err(unfit)
}

/// Returns a time as decisions have it.
pub(crate) fn time(at: Timestamp) -> Result<RunTime, RuntimeError> {
    i64::try_from(at.0)
        .ok()
        .and_then(|at| RunTime::from_milliseconds(at).ok())
        .ok_or_else(|| unfit("the clock is off"))
}
