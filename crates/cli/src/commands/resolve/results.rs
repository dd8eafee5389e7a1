//! How wishes are carried out, and how their results are told.

use serde_json::{Value, json};
use trunkline_runtime::resolve_queue::State;
use trunkline_session_store::SessionInfo;

use crate::args::resolve::Resolve;
use crate::commands::resolve::decision::{Came, How, Wish};
use crate::desk::place::Place;
use crate::term::fault::Exit;

/// Where it is carried out, and what to type if that is not there.
pub(super) fn places<'a>(args: &'a Resolve, place: &Place, again: &str) -> How<'a> {
    How { folder: args.cwd.as_deref(), wait: args.wait, again: place.command(&format!("{again} -C DIR")) }
}

/// Returns whether a wish has come true.
pub(super) fn is_done(wish: &Wish, came: &Came) -> bool {
    matches!(came, Came::Stands(state, _) if *state == wish.wanted())
}

pub(super) fn exit_of(wish: &Wish, came: &Came, in_person: bool) -> Exit {
    match came {
        // Whoever writes the session does it in its own time.
        Came::Left => Exit::Done,
        Came::Stands(State::Approved | State::Applying, _) if !in_person => Exit::Done,
        _ if is_done(wish, came) => Exit::Done,
        _ => Exit::Failure,
    }
}

pub(super) fn as_json(info: &SessionInfo, wish: &Wish, came: &Came) -> Value {
    let (state, error) = match came {
        Came::Stands(state, why) => (Some(*state), Some(why).filter(|why| !why.is_empty())),
        Came::Refused(reason) => (None, Some(reason)),
        Came::Left => (None, None),
    };
    json!({ "session": info.id, "proposal": wish.id, "state": state, "error": error })
}
