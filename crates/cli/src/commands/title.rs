//! `trunkline title`: how a session is called.

use trunkline_session_store::Amend;

use crate::args::Title;
use crate::desk::place::Place;
use crate::desk::store;
use crate::term::fault::{Exit, Fault};
use crate::term::tell::tell;
use crate::term::text::one_line;

/// `trunkline title`.
pub(crate) async fn run(args: &Title, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    store.amend(&info.id, Amend::title(args.title.trim())).await?;
    let name = store::short_name(store.as_ref(), &info.id).await;
    tell(&format!("session {name} is called {:?} now\n", one_line(args.title.trim(), 80)));
    Ok(Exit::Done)
}
