//! `trunkline prune`: the sessions that have had their time go, and are shown first.

use trunkline_session_store::{Retention, SessionStore};

use crate::args::Prune;
use crate::desk::place::Place;
use crate::desk::removal::{
    Expiry, Gone, delete_shown, deleted, expired, nothing_deleted, question, tell_refs,
};
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out;
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
    let Expiry { going, staying, list } = expired(store.as_ref(), retention, true).await?;
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
    let mut gone = Gone::default();
    if let Err(error) = delete_shown(store.as_ref(), going, &mut gone).await {
        tell(&deleted(&gone.sessions, None));
        tell_refs(&gone.refs);
        return Err(error.into());
    }
    let freed = store.collect(false).await;
    tell(&deleted(&gone.sessions, freed.as_ref().ok()));
    tell_refs(&gone.refs);
    freed?;
    acts.end()?;
    Ok(Exit::Done)
}
