//! Watches the inbox of a session, and whether it is taken over.

use std::time::Duration;

use trunkline_session_store::{Activity, Holder, InboxId, Letter, SessionId, SessionStore, StoreError};

/// How long to wait after an inbox could not be read.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Says who has taken a session over.
pub(crate) fn by(holder: Option<String>) -> String {
    holder.unwrap_or_else(|| "somebody else".to_owned())
}

/// Waits until there is a letter after `seen`, or, as [`Session::asked_to_end`], until the session is taken over.
///
/// A letter that was seen and has to wait must not disturb whoever is asked meanwhile.
pub(crate) async fn arrived(
    store: &dyn SessionStore,
    session: &SessionId,
    token: u64,
    seen: Option<InboxId>,
) -> Result<(), String> {
    watch(store, session, (token, Activity::default()), |inbox| newest(inbox) > seen).await
}

/// Looks into the inbox whenever something has happened in the session since its activity was what was seen, until it is as
/// `wanted`. Never returns if that cannot be read: the next write finds it out.
pub(crate) async fn watch(
    store: &dyn SessionStore,
    session: &SessionId,
    (token, mut seen): (u64, Activity),
    wanted: impl Fn(&[Letter]) -> bool + Send,
) -> Result<(), String> {
    loop {
        match look(store, session, token, seen).await {
            Ok((_, Found::Other(holder))) => return Err(by(holder.and_then(|holder| holder.name))),
            Ok((_, Found::Inbox(inbox))) if wanted(&inbox) => return Ok(()),
            Ok((now, _)) => seen = now,
            Err(_) => tokio::time::sleep(LOOK_AGAIN_AFTER).await,
        }
    }
}

/// What is found in a session in which something has happened.
enum Found {
    Inbox(Vec<Letter>),
    /// It was taken over, maybe by a process that has ended since.
    Other(Option<Holder>),
}

async fn look(
    store: &dyn SessionStore,
    session: &SessionId,
    token: u64,
    seen: Activity,
) -> Result<(Activity, Found), StoreError> {
    // The counters first, so that what comes while the rest is read is not missed.
    let now = store.changed(session, seen).await?;
    let found = match now.token == token {
        true => Found::Inbox(store.inbox(session).await?),
        false => Found::Other(store.holder(session).await?),
    };
    Ok((now, found))
}

pub(crate) fn newest(inbox: &[Letter]) -> Option<InboxId> {
    inbox.iter().map(|letter| letter.id).max()
}
