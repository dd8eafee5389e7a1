//! `trunkline delete` and `trunkline prune`: what goes is shown first, and somebody has to agree.
//!
//! Nothing of a deleted session can be had again, so what would be lost with it is said beside it.

use std::collections::BTreeSet;

use trunkline_runtime::across;
use trunkline_session_store::{Collected, ExpiryReason, Retention, SessionInfo, SessionStore, StoreError};

use crate::args::{Delete, Prune};
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::desk::standing::unsettled;
use crate::desk::store;
use crate::reading::session::Reading;
use crate::shown::session::short;
use crate::shown::time::ago;
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

/// `trunkline delete`.
pub(crate) async fn delete(args: &Delete, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let sessions = store::find_all(store.as_ref(), &args.sessions).await?;
    let all = store.sessions().await?;
    let mut list = String::new();
    for info in &sessions {
        // Before anything is deleted, and not in the middle of it.
        if let Some(holder) = store.holder(&info.id).await? {
            return Err(StoreError::Locked { session: info.id.clone(), holder: holder.name }.into());
        }
        let holds = match what_waits(store.as_ref(), info).await {
            Ok(waits) => waits,
            Err(fault) => Some(format!("cannot be read: {}", fault.as_line())),
        };
        list.push_str(&line(info, &all, holds.as_deref()));
    }
    tell(&list);
    match agreed(args.yes, &question(sessions.len())) {
        Answer::Yes => {}
        Answer::No => return Ok(nothing_deleted()),
        Answer::Nobody => {
            return Err(Fault::usage("nothing was deleted: say --yes where nobody can be asked"));
        }
    }
    let mut gone = Vec::new();
    let (mut kept, mut fault) = (0, None);
    for info in sessions {
        // What somebody wrote while the question stood was not agreed to.
        let deleted = match store.info(&info.id).await {
            Ok(now) => match now.check_idle(&info, 0) {
                Ok(()) => store.delete(&info.id).await,
                changed => changed,
            },
            Err(error) => Err(error),
        };
        match deleted {
            Ok(()) => gone.push(info),
            Err(error) if has_come_back(&error) => {
                kept += 1;
                tell(&format!("{} {}\n", paint(YELLOW, "kept:"), Fault::from(error).as_line()));
            }
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    // Whatever ends it, it is told what is gone for good.
    let freed = store.collect(false).await;
    tell(&deleted(&gone, freed.as_ref().ok()));
    match fault {
        Some(error) => Err(error.into()),
        None => freed.map(|_| if kept > 0 { Exit::Failure } else { Exit::Done }).map_err(Fault::from),
    }
}

/// Returns whether a session was kept, or is gone, because somebody else was there meanwhile.
fn has_come_back(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Locked { .. } | StoreError::Changed { .. } | StoreError::UnknownSession { .. }
    )
}

/// `trunkline prune`.
pub(crate) async fn prune(args: &Prune, place: &Place) -> Result<Exit, Fault> {
    if args.older_than.is_none() && args.max_size.is_none() {
        let fault = Fault::usage("which sessions have had their time?");
        return Err(fault.hint("say --older-than TIME, --max-size SIZE, or both"));
    }
    let store = place.open_existing().await?;
    let mut retention = Retention::default();
    retention.older_than = args.older_than;
    retention.bytes = args.max_size;
    retention.only_archived = args.archived;
    retention.keep_tags = args.keep_tag.iter().cloned().collect();
    retention.keep_notes = unsettled().chain([across::open_runs()]).collect();
    let plan = retention.plan(store.as_ref(), now()).await?;
    let all = store.sessions().await?;

    let (mut list, mut going, mut staying) = (String::new(), Vec::new(), 0);
    for expired in plan {
        // What older versions wrote has no keys to be found by, and what is not readable is not thrown away unasked.
        match what_waits(store.as_ref(), &expired.info).await {
            Ok(None) => {
                let why = match expired.reason {
                    ExpiryReason::Age => None,
                    _ => Some("there is too much"),
                };
                list.push_str(&line(&expired.info, &all, why));
                going.push(expired.info);
            }
            Ok(Some(_)) => staying += 1,
            Err(fault) => {
                staying += 1;
                tell(&format!("{} {}\n", paint(YELLOW, "kept:"), fault.as_line()));
            }
        }
    }
    // Somebody who agreed beforehand need not be there to read it.
    let mut acts = out::Acts::default();
    if args.yes {
        acts.print(&list)
    } else {
        out::print(&list)?
    }
    if staying > 0 {
        tell(&format!(
            "{} kept: something in them is open, or they cannot be read\n",
            count(staying, "session")
        ));
    }
    if going.is_empty() {
        tell("nothing has had its time\n");
        return Ok(Exit::Done);
    }
    if args.dry_run {
        let bytes = going.iter().fold(0_u64, |sum, info| sum.saturating_add(info.bytes));
        tell(&format!("{} with {} would be deleted\n", count(going.len(), "session"), size(bytes)));
        return Ok(Exit::Done);
    }
    match agreed(args.yes, &question(going.len())) {
        Answer::Yes => {}
        Answer::No => return Ok(nothing_deleted()),
        Answer::Nobody => {
            return Err(Fault::usage(
                "nothing was deleted: say --yes where nobody can be asked, or --dry-run",
            ));
        }
    }
    let mut deleted_ones = Vec::new();
    for info in going {
        match store.delete_idle(&info).await {
            Ok(()) => deleted_ones.push(info),
            Err(error) if has_come_back(&error) => {}
            Err(error) => {
                tell(&deleted(&deleted_ones, None));
                return Err(error.into());
            }
        }
    }
    let freed = store.collect(false).await;
    tell(&deleted(&deleted_ones, freed.as_ref().ok()));
    freed?;
    acts.end()?;
    Ok(Exit::Done)
}

/// Tells what would be cut off if a session were gone.
async fn what_waits(store: &dyn SessionStore, info: &SessionInfo) -> Result<Option<String>, Fault> {
    let reading = Reading::load(store, info).await?;
    let letters = store.inbox(&info.id).await?.len();
    let waiting: BTreeSet<String> = reading.waiting().map(|entry| entry.id.to_string()).collect();
    Ok(match (waiting.is_empty(), reading.has_open_run()) {
        (false, _) => {
            Some(format!("waits for a decision: {}", waiting.into_iter().collect::<Vec<_>>().join(", ")))
        }
        (true, true) => Some("its run is open".to_owned()),
        (true, false) if letters > 0 => Some(format!("{} unread", count(letters, "note"))),
        (true, false) => None,
    })
}

fn line(info: &SessionInfo, all: &[SessionInfo], about: Option<&str>) -> String {
    let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
    let about = about.map(|about| paint(YELLOW, &format!("  {about}"))).unwrap_or_default();
    format!(
        "{}  {:<12}  {:>9}  {title}{about}\n",
        paint(BOLD, short(&info.id, all)),
        ago(info.updated_at, now()),
        size(info.bytes),
    )
}

fn question(sessions: usize) -> String {
    format!("delete {} for good?", if sessions == 1 { "it".to_owned() } else { format!("these {sessions}") })
}

fn nothing_deleted() -> Exit {
    tell("nothing was deleted\n");
    Exit::Failure
}

fn deleted(sessions: &[SessionInfo], freed: Option<&Collected>) -> String {
    let records = sessions.iter().fold(0_u64, |sum, info| sum.saturating_add(info.records));
    let bytes = sessions.iter().fold(0_u64, |sum, info| sum.saturating_add(info.bytes));
    let about = format!("{records} records with {}", size(bytes));
    let freed = freed.filter(|freed| freed.parts > 0);
    let parts =
        freed.map(|freed| format!("; {} of large parts given back", size(freed.bytes))).unwrap_or_default();
    format!("{} deleted, {}\n", count(sessions.len(), "session"), paint(DIM, &format!("{about}{parts}")))
}
