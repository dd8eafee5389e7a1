//! A session in a list: by what name, where it stands.

use serde_json::{Value, json};
use trunkline_session_store::{SessionId, SessionInfo};

use crate::reading::session::Reading;
use crate::shown::plan;
use crate::shown::verdict::outcome;

/// The state of a session that a proposal holds up.
pub(crate) const WAITS: &str = "waits for you";
/// The state of a session in which a plan waits.
pub(crate) const PLAN_WAITS: &str = "a plan waits";
/// The state of a session without a verdict on its latest run.
pub(crate) const OPEN: &str = "open";
/// Fewer characters of an id are never shown: the milliseconds of version 7 (RFC 9562, 5.7) and the dash in them, so that
/// a name that was printed stays good when other sessions begin.
const SHORTEST_ID: usize = 13;

/// Returns the shortest beginning of an id that no other session has.
pub(crate) fn short<'a>(id: &'a SessionId, all: &[SessionInfo]) -> &'a str {
    let id = id.as_str();
    let same = |other: &SessionInfo| {
        let shared = id.bytes().zip(other.id.as_str().bytes()).take_while(|(one, two)| one == two).count();
        if shared == id.len() { 0 } else { shared + 1 }
    };
    let length = all.iter().map(same).max().unwrap_or(0).clamp(SHORTEST_ID, id.len());
    // Not in the middle of nowhere: a beginning that ends in a dash looks cut off.
    let beginning = id.get(..length).unwrap_or(id);
    if beginning.ends_with('-') { id.get(..length + 1).unwrap_or(id) } else { beginning }
}

/// Says in a word or two where a session stands.
pub(crate) fn state(reading: &Reading) -> String {
    if plan::waiting(reading.proposals()).is_some() {
        return PLAN_WAITS.to_owned();
    }
    if reading.waiting().next().is_some() {
        return WAITS.to_owned();
    }
    match reading.verdicts().last() {
        Some((_, decision)) if reading.open_run().is_none() => outcome(decision),
        _ => OPEN.to_owned(),
    }
}

/// Returns what a list shows of a session, for programs.
pub(crate) fn as_json(info: &SessionInfo) -> Value {
    json!({
        "id": info.id,
        "title": info.title,
        "tags": info.tags,
        "archived": info.archived,
        "workspace": info.workspace,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "head": info.head,
        "records": info.records,
        "nodes": info.nodes,
        "bytes": info.bytes,
        "digest": info.digest,
    })
}
