//! The run around the turns: opened with a prompt, closed with one verdict.
//!
//! The order of writes at the end is what makes it safe: first a note of what is about to be committed, then the commit,
//! then the decision that names it. A kill in between is mended by looking for what the note names.

mod closing;
mod opening;
mod patch;

use trunkline_decision_objects::{Actor, ActorKind, Timestamp as RunTime};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::{NoteQuery, SessionId};

use crate::notes::decision::{DECIDED, LAYER, unfit};
use crate::words::error::RuntimeError;

pub(crate) use self::closing::{Ending, How, Outcome, Stands, Unseen, close, digest, give_up};
pub use self::opening::open;
pub(crate) use self::patch::{announce, path as relative_path};

fn time(at: Timestamp) -> Result<RunTime, RuntimeError> {
    i64::try_from(at.0)
        .ok()
        .and_then(|at| RunTime::from_milliseconds(at).ok())
        .ok_or_else(|| unfit("the clock is off"))
}

fn harness() -> Result<Actor, RuntimeError> {
    Actor::new(ActorKind::System, "trunkline").map_err(unfit)
}

/// Returns the query for the verdict that a run has.
pub fn verdict_of(session: &SessionId, run: &str) -> NoteQuery {
    NoteQuery::of(LAYER, DECIDED).in_session(session.clone()).about(run)
}
