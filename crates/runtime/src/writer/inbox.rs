//! Watches the inbox of a session, and whether it is taken over.

use std::time::Duration;

use trunkline_session_store::{Activity, Arrived, InboxId, Letter, SessionId, SessionStore};

/// How long to wait after an inbox could not be read.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Says who has taken a session over.
pub(crate) fn by(holder: Option<String>) -> String {
    holder.unwrap_or_else(|| "somebody else".to_owned())
}

/// Waits until there is a letter after `seen`, or until the session is taken over: then the error says who did.
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
    wanted: impl Fn(&[Letter]) -> bool + Send + Sync,
) -> Result<(), String> {
    loop {
        match trunkline_session_store::arrived(store, session, token, &mut seen, &wanted).await {
            Ok(Arrived::Letters(_)) => return Ok(()),
            Ok(Arrived::TakenOver(holder)) => return Err(by(holder.and_then(|holder| holder.name))),
            Err(_) => tokio::time::sleep(LOOK_AGAIN_AFTER).await,
        }
    }
}

pub(crate) fn newest(inbox: &[Letter]) -> Option<InboxId> {
    inbox.iter().map(|letter| letter.id).max()
}
