//! `trunkline archive` and `trunkline unarchive`: whether a session is listed.

use trunkline_session_store::Amend;

use crate::args::Several;
use crate::desk::place::Place;
use crate::desk::store;
use crate::term::fault::{Exit, Fault};
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::count;

/// `trunkline archive` and `trunkline unarchive`.
pub(crate) async fn run(args: &Several, archived: bool, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let mut names = Vec::new();
    for info in store::find_all(store.as_ref(), &args.sessions).await? {
        store.amend(&info.id, Amend::archived(archived)).await?;
        names.push(store::short_name(store.as_ref(), &info.id).await);
    }
    let told = count(names.len(), "session");
    let (told, back) = match archived {
        true => (format!("{told} archived: left out by `sessions`, and never meant by `last`"), "unarchive"),
        false => (format!("{told} on the list again"), "archive"),
    };
    tell(&format!("{told}\n"));
    let back = place.command(&format!("{back} {}", names.join(" ")));
    tell(&paint(DIM, &format!("  take it back {back}\n")));
    Ok(Exit::Done)
}
