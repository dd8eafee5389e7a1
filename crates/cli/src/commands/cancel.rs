//! `trunkline cancel`: the turn of a session that another process runs is stopped.

use trunkline_runtime::orders::Order;

use crate::args::Sent;
use crate::desk::letters::leave;
use crate::desk::place::Place;
use crate::desk::store;
use crate::term::fault::{Exit, Fault};

/// `trunkline cancel`.
pub(crate) async fn run(args: &Sent, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    if store.holder(&info.id).await?.is_none() {
        let name = store::short_name(store.as_ref(), &info.id).await;
        return Err(Fault::new(format!("nothing to cancel: no process writes session {name}")));
    }
    leave(place, store.as_ref(), &info, "another process", &Order::Cancel, args.wait).await
}
