//! Sessions on their way out.
//!
//! Nothing of a deleted session can be had again, so what would be lost with it is said beside it.

use std::collections::BTreeSet;
use std::path::Path;

use trunkline_git_binding::{Checkpoint, Repository};
use trunkline_runtime::across;
use trunkline_runtime::decision_objects::GitOid;
use trunkline_session_store::{Collected, ExpiryReason, Retention, SessionInfo, SessionStore, StoreError};

use crate::desk::clock::now;
use crate::desk::standing::unsettled;
use crate::reading::session::Reading;
use crate::shown::checkpoint::{kept_by, removal};
use crate::shown::session::short;
use crate::shown::time::ago;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::{tell, tell_command, tell_page};
use crate::term::text::{count, one_line};

/// How many refs are told of.
const REFS: usize = 20;

/// Returns whether a session was kept, or is gone, because somebody else was there meanwhile.
pub(crate) fn has_come_back(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Locked { .. } | StoreError::Changed { .. } | StoreError::UnknownSession { .. }
    )
}

/// A session before it goes.
pub(crate) struct Leaving {
    /// What would be cut off.
    pub(crate) waits: Option<String>,
    /// What takes away the refs that keep the files of its checkpoints: git is another's, and nothing of it goes with a session.
    pub(crate) refs: Vec<String>,
}

/// Tells what would be cut off if a session were gone, and what it leaves elsewhere: on this machine, so `is_ours` says whether
/// its folder can be here.
pub(crate) async fn leaving(
    store: &dyn SessionStore,
    info: &SessionInfo,
    is_ours: bool,
) -> Result<Leaving, Fault> {
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
    let waits = (!told.is_empty()).then(|| told.join("; "));
    let refs = if is_ours { refs_of(&reading) } else { Vec::new() };
    Ok(Leaving { waits, refs })
}

/// The commands that take its refs away, of those that are there still, as far as that can be seen.
fn refs_of(reading: &Reading) -> Vec<String> {
    let kept: Vec<_> = reading.verdicts().iter().filter_map(|(_, decision)| kept_by(decision)).collect();
    // A session without a checkpoint starts no git.
    if kept.is_empty() {
        return Vec::new();
    }
    let folder = reading.info.workspace.as_deref();
    let there = folder.and_then(|folder| Repository::open(Path::new(folder)).ok()?);
    let there = there.and_then(|repository| repository.checkpoints().ok());
    let is_there = |(reference, commit): &(&str, GitOid)| {
        let holds = |one: &Checkpoint| one.reference == *reference && one.commit == *commit;
        there.as_ref().is_none_or(|there| there.iter().any(holds))
    };
    kept.into_iter().filter(is_there).map(|kept| removal(kept, folder)).collect()
}

/// Says which refs are left behind.
pub(crate) fn tell_refs(refs: &[String]) {
    if refs.is_empty() {
        return;
    }
    tell_page(&format!(
        "git keeps the files of {} still; what takes them away:\n",
        count(refs.len(), "checkpoint")
    ));
    for command in refs.iter().take(REFS) {
        tell_command("  ", command);
    }
    if refs.len() > REFS {
        tell_page(&format!(
            "  … and {} more: `git for-each-ref refs/trunkline/checkpoints` lists them\n",
            refs.len() - REFS
        ));
    }
}

/// The sessions that have had their time.
#[derive(Default)]
pub(crate) struct Expiry {
    /// Those that go, each with what it leaves elsewhere.
    pub(crate) going: Vec<(SessionInfo, Vec<String>)>,
    /// How many stay because something in them is open, or because they cannot be read.
    pub(crate) staying: usize,
    /// Those that go, in lines.
    pub(crate) list: String,
}

/// Returns which sessions have had their time. Where a decision is open, nothing goes.
pub(crate) async fn expired(
    store: &dyn SessionStore,
    mut retention: Retention,
    is_ours: bool,
) -> Result<Expiry, Fault> {
    retention.keep_notes = unsettled().chain([across::open_runs()]).collect();
    let plan = retention.plan(store, now()).await?;
    let all = store.sessions().await?;
    let mut expiry = Expiry::default();
    for expired in plan {
        // What older versions wrote has no keys to be found by, and what is not readable is not thrown away unasked.
        match leaving(store, &expired.info, is_ours).await {
            Ok(Leaving { waits: None, refs }) => {
                let why = match expired.reason {
                    ExpiryReason::Age => None,
                    _ => Some("there is too much"),
                };
                expiry.list.push_str(&line(&expired.info, &all, why));
                expiry.going.push((expired.info, refs));
            }
            Ok(_) => expiry.staying += 1,
            Err(fault) => {
                expiry.staying += 1;
                tell(&format!("{} {}\n", paint(YELLOW, "kept:"), fault.as_line()));
            }
        }
    }
    Ok(expiry)
}

/// What was deleted, and what it left elsewhere.
#[derive(Default)]
pub(crate) struct Gone {
    pub(crate) sessions: Vec<SessionInfo>,
    pub(crate) refs: Vec<String>,
}

/// Deletes sessions that are still as they were shown. `gone` is told of each, also if one fails.
pub(crate) async fn delete_shown(
    store: &dyn SessionStore,
    going: Vec<(SessionInfo, Vec<String>)>,
    gone: &mut Gone,
) -> Result<(), StoreError> {
    for (info, refs) in going {
        match store.delete_idle(&info).await {
            Ok(()) => {
                gone.sessions.push(info);
                gone.refs.extend(refs);
            }
            Err(error) if has_come_back(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
