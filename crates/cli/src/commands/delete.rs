//! `trunkline delete`: what goes is shown first, and has to be agreed to.

use std::collections::HashMap;

use trunkline_session_store::StoreError;

use crate::args::Delete;
use crate::desk::place::Place;
use crate::desk::removal::{deleted, has_come_back, leaving, line, nothing_deleted, question, tell_refs};
use crate::desk::store;
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;

/// `trunkline delete`.
pub(crate) async fn run(args: &Delete, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let sessions = store::find_all(store.as_ref(), &args.sessions).await?;
    let all = store.sessions().await?;
    let (mut list, mut refs) = (String::new(), HashMap::new());
    for info in &sessions {
        // Before anything is deleted, and not in the middle of it.
        if let Some(holder) = store.holder(&info.id).await? {
            return Err(StoreError::Locked { session: info.id.clone(), holder: holder.name }.into());
        }
        let holds = match leaving(store.as_ref(), info, true).await {
            Ok(leaving) => {
                refs.insert(info.id.clone(), leaving.refs);
                leaving.waits
            }
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
    let left: Vec<String> = gone.iter().filter_map(|info| refs.remove(&info.id)).flatten().collect();
    tell_refs(&left);
    match fault {
        Some(error) => Err(error.into()),
        None => freed.map(|_| if kept > 0 { Exit::Failure } else { Exit::Done }).map_err(Fault::from),
    }
}
