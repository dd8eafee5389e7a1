//! Finding what is unsettled, and what was decided, across all sessions of a store, without reading them.
//!
//! Give the query to `SessionStore::notes`. Each note that is found names
//! its session; `View` tells the rest. What was written before notes had keys is found from its next step on.

use trunkline_session_store::{NoteQuery, SessionId};

use crate::notes::binding::BOUND;
use crate::notes::decision::{self, DECIDED, OPEN, RUN};
use crate::notes::resolve::{self, EVENT, PENDING};
use crate::notes::task::{ENDED, INTENT, TASK};

/// Returns the query for proposals that wait for a decision; the key is the proposal, such as `p1`.
///
/// With [`NoteQuery::in_state`] it finds others: `approved`, `applying`, `applied`, `failed`, `unknown`, `discarded`,
/// `superseded`, `stale`.
pub fn pending_proposals() -> NoteQuery {
    NoteQuery::of(resolve::LAYER, EVENT).in_state(PENDING)
}

/// Returns the query for runs that have no verdict yet; the key is the run's id.
///
/// With [`NoteQuery::in_state`] it finds those that ended in a verdict, such as `commit` or `other: answered`.
pub fn open_runs() -> NoteQuery {
    NoteQuery::of(decision::LAYER, RUN).in_state(OPEN)
}

/// Returns the query for how runs stand with a repository; the key is the run's id.
///
/// With [`NoteQuery::in_state`] it finds those that are `to_bind`, which is decided and not bound yet, or `bound`. Of a run
/// that is `wanted` nothing more is known than that whoever began it wants its decision bound.
pub fn bindings() -> NoteQuery {
    NoteQuery::of(decision::LAYER, BOUND)
}

/// Returns the query for the verdicts of a store; the key is the run's id, the body the decision.
///
/// With [`NoteQuery::in_state`] it finds those of one kind, such as `commit` or `other: answered`.
pub fn verdicts() -> NoteQuery {
    NoteQuery::of(decision::LAYER, DECIDED)
}

/// Returns the query for what sessions are for; the body is the intent.
pub fn intents() -> NoteQuery {
    NoteQuery::of(decision::LAYER, INTENT)
}

/// Returns the query for the tasks of sessions; the key is the task's id. Of one session the newest counts.
pub fn tasks() -> NoteQuery {
    NoteQuery::of(decision::LAYER, TASK)
}

/// Returns the query for the tasks that a person has ended; the key is the task's id. One also ends when a run of it is given up.
pub fn ended_tasks() -> NoteQuery {
    NoteQuery::of(decision::LAYER, ENDED)
}

/// Returns the query for the verdict that a run has.
pub fn verdict_of(session: &SessionId, run: &str) -> NoteQuery {
    NoteQuery::of(decision::LAYER, DECIDED).in_session(session.clone()).about(run)
}
