//! Sessions on their way out.
//!
//! Nothing of a deleted session can be had again, so what would be lost with it is said beside it.

use std::collections::BTreeSet;

use trunkline_session_store::{Collected, SessionInfo, SessionStore, StoreError};

use crate::desk::clock::now;
use crate::reading::session::Reading;
use crate::shown::session::short;
use crate::shown::time::ago;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

/// Returns whether a session was kept, or is gone, because somebody else was there meanwhile.
pub(crate) fn has_come_back(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Locked { .. } | StoreError::Changed { .. } | StoreError::UnknownSession { .. }
    )
}

/// Tells what would be cut off if a session were gone.
pub(crate) async fn what_waits(
    store: &dyn SessionStore,
    info: &SessionInfo,
) -> Result<Option<String>, Fault> {
    let reading = Reading::load(store, info).await?;
    let letters = store.inbox(&info.id).await?.len();
    let waiting: BTreeSet<String> = reading.waiting().map(|entry| entry.id.to_string()).collect();
    let waits = match (waiting.is_empty(), reading.open_run().is_some()) {
        (false, _) => {
            Some(format!("waits for a decision: {}", waiting.into_iter().collect::<Vec<_>>().join(", ")))
        }
        (true, true) => Some("its run is open".to_owned()),
        (true, false) if letters > 0 => Some(format!("{} unread", count(letters, "note"))),
        (true, false) => None,
    };
    // No tool is told of a session that goes: whoever deletes it cleans up.
    let left: Vec<String> = reading.not_cleaned_up().iter().map(ToString::to_string).collect();
    let left = (!left.is_empty()).then(|| format!("not cleaned up by its tool: {}", left.join(", ")));
    let told: Vec<String> = waits.into_iter().chain(left).collect();
    Ok((!told.is_empty()).then(|| told.join("; ")))
}

pub(crate) fn line(info: &SessionInfo, all: &[SessionInfo], about: Option<&str>) -> String {
    let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
    let about = about.map(|about| paint(YELLOW, &format!("  {about}"))).unwrap_or_default();
    format!(
        "{}  {:<12}  {:>9}  {title}{about}\n",
        paint(BOLD, short(&info.id, all)),
        ago(info.updated_at, now()),
        size(info.bytes),
    )
}

pub(crate) fn question(sessions: usize) -> String {
    format!("delete {} for good?", if sessions == 1 { "it".to_owned() } else { format!("these {sessions}") })
}

pub(crate) fn nothing_deleted() -> Exit {
    tell("nothing was deleted\n");
    Exit::Failure
}

pub(crate) fn deleted(sessions: &[SessionInfo], freed: Option<&Collected>) -> String {
    let records = sessions.iter().fold(0_u64, |sum, info| sum.saturating_add(info.records));
    let bytes = sessions.iter().fold(0_u64, |sum, info| sum.saturating_add(info.bytes));
    let about = format!("{records} records with {}", size(bytes));
    let freed = freed.filter(|freed| freed.parts > 0);
    let parts =
        freed.map(|freed| format!("; {} of large parts given back", size(freed.bytes))).unwrap_or_default();
    format!("{} deleted, {}\n", count(sessions.len(), "session"), paint(DIM, &format!("{about}{parts}")))
}
