//! How a run begins: what it is to do, how the files are, and what it goes on from.

use trunkline_decision_objects::{
    Actor, ActorKind, Base as RunBase, Decision, GitOid, NonBlank, Opening, Predecessor, Run, RunId,
    Timestamp as RunTime, Verdict,
};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::Record;
use uuid::Uuid;

use crate::notes::decision::{opened, unfit};
use crate::words::error::RuntimeError;
use crate::words::start::Start;

/// Returns the records that open a run. It follows `last` if that was decided to be tried again or continued.
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
    let actor = Actor::new(ActorKind::Human, "user").map_err(unfit)?;
    // A clock may have gone back; what follows a verdict is not older than the verdict.
    let since = last.filter(|_| predecessor.is_some()).map(Decision::at);
    let opened_at = time(at)?;
    let opened_at = since.map_or(opened_at, |since| opened_at.max(since));
    let opening = Opening { base: run_base, predecessor, ..Opening::new(id, opened_at, actor, goal) };
    let run = Run::open(opening).map_err(unfit)?;
    Ok(opened(run.record(), prompt, start, at))
}

/// Returns a time as decisions have it.
pub(crate) fn time(at: Timestamp) -> Result<RunTime, RuntimeError> {
    i64::try_from(at.0)
        .ok()
        .and_then(|at| RunTime::from_milliseconds(at).ok())
        .ok_or_else(|| unfit("the clock is off"))
}
