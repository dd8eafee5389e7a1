//! `trunkline prune`: the sessions that have had their time go, and are shown first.

use trunkline_runtime::across;
use trunkline_session_store::{ExpiryReason, Retention, SessionStore};

use crate::args::Prune;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::desk::removal::{
    Leaving, deleted, has_come_back, leaving, line, nothing_deleted, question, tell_refs,
};
use crate::desk::standing::unsettled;
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out;
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::count;

/// `trunkline prune`.
pub(crate) async fn run(args: &Prune, place: &Place) -> Result<Exit, Fault> {
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
        match leaving(store.as_ref(), &expired.info).await {
            Ok(Leaving { waits: None, refs }) => {
                let why = match expired.reason {
                    ExpiryReason::Age => None,
                    _ => Some("there is too much"),
                };
                list.push_str(&line(&expired.info, &all, why));
                going.push((expired.info, refs));
            }
            Ok(_) => staying += 1,
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
        let bytes = going.iter().fold(0_u64, |sum, (info, _)| sum.saturating_add(info.bytes));
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
    let (mut deleted_ones, mut left) = (Vec::new(), Vec::new());
    for (info, refs) in going {
        match store.delete_idle(&info).await {
            Ok(()) => {
                deleted_ones.push(info);
                left.extend(refs);
            }
            Err(error) if has_come_back(&error) => {}
            Err(error) => {
                tell(&deleted(&deleted_ones, None));
                tell_refs(&left);
                return Err(error.into());
            }
        }
    }
    let freed = store.collect(false).await;
    tell(&deleted(&deleted_ones, freed.as_ref().ok()));
    tell_refs(&left);
    freed?;
    acts.end()?;
    Ok(Exit::Done)
}
