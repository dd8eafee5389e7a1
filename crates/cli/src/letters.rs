//! Commands on a session that another process may be writing.
//!
//! With no writer alive the command becomes the writer. Otherwise it leaves a note in the session's inbox, which the
//! writer reads between two turns.

use std::sync::Arc;

use trunkline_runtime::letters::{Request, post};
use trunkline_runtime::{Agent, RuntimeError, Session};
use trunkline_session_store::{SessionInfo, SessionStore, StoreError};

use crate::args::Named;
use crate::fault::{Exit, Fault};
use crate::paint::tell;
use crate::store::{self, Place, Store, now};
use crate::text::one_line;

/// Who writes the session now.
pub(crate) enum Entrance {
    /// This process.
    Mine(Box<Session>),
    /// Somebody else; the words say who.
    Theirs(String),
}

/// Becomes the writer of a session if nobody is.
pub(crate) async fn enter(agent: &Agent, store: &Store, info: &SessionInfo) -> Result<Entrance, Fault> {
    match agent.open(Arc::clone(store), &info.id).await {
        Ok(session) => Ok(Entrance::Mine(Box::new(session))),
        Err(RuntimeError::Store(StoreError::Locked { holder, .. })) => Ok(Entrance::Theirs(
            holder.map_or_else(|| "another process".to_owned(), |holder| one_line(&holder, 40)),
        )),
        Err(fault) => Err(fault.into()),
    }
}

/// Leaves a request for whoever writes the session, and says so.
pub(crate) async fn leave(
    store: &dyn SessionStore,
    info: &SessionInfo,
    holder: &str,
    request: &Request,
) -> Result<Exit, Fault> {
    post(store, &info.id, request, now()).await?;
    let name = store::short_name(store, &info.id).await;
    let when = match request {
        Request::Cancel => "it is read within a second",
        _ => "it will be read before its next step",
    };
    tell(&format!("session {name} is being written by {holder}; left a note, {when}\n"));
    Ok(Exit::Done)
}

/// `trunkline cancel`.
pub(crate) async fn cancel(args: &Named, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    if store.holder(&info.id).await?.is_none() {
        let name = store::short_name(store.as_ref(), &info.id).await;
        return Err(Fault::new(format!("nothing to cancel: no process writes session {name}")));
    }
    leave(store.as_ref(), &info, "another process", &Request::Cancel).await
}
