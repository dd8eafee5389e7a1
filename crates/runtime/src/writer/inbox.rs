//! Watches the inbox of a session, and whether it is taken over.

use std::time::Duration;

use trunkline_session_machine::RuntimeError;
use trunkline_session_store::{Activity, Holder, InboxId, Letter, SessionId, SessionStore, StoreError};

use super::Writer;
use crate::orders::{CANCEL, closes_run};

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
async fn watch(
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

/// Waits until somebody asks to cancel, or to close the run that is open now, or has taken the session over: then the
/// error says who. Lives apart from the session, which can write meanwhile.
pub(crate) fn asked_to_end(writer: &Writer) -> impl Future<Output = Result<(), String>> + Send + use<> {
    let (store, id, token) = (writer.store.clone(), writer.lease.session().clone(), writer.lease.token());
    let seen = seen_without_letters(writer);
    let run = writer.state.decision.run.as_ref().map(|run| run.record.id().to_string());
    async move {
        let ends = |inbox: &[Letter]| inbox.iter().any(|letter| ends_turn(letter, run.as_deref()));
        watch(store.as_ref(), &id, (token, seen), ends).await
    }
}

/// Waits until somebody has taken the session over, and says who.
pub(crate) fn taken_over(writer: &Writer) -> impl Future<Output = String> + Send + use<> {
    let (store, id, token) = (writer.store.clone(), writer.lease.session().clone(), writer.lease.token());
    let seen = seen_without_letters(writer);
    async move {
        match watch(store.as_ref(), &id, (token, seen), |_| false).await {
            Err(by) => by,
            // Nothing else is waited for.
            Ok(()) => std::future::pending().await,
        }
    }
}

/// Reads the inbox.
pub(crate) async fn read_inbox(writer: &mut Writer) -> Result<Vec<Letter>, RuntimeError> {
    let (now, inbox) = writer.store.look(writer.lease.session()).await?;
    writer.seen = (inbox.is_empty() && now.token == writer.lease.token()).then_some(now);
    Ok(inbox)
}

/// Returns what the activity of the session is as long as only this process does anything in it, if no letter waited when its
/// inbox was read last. Otherwise what it never is, so that to wait for a change is to read the inbox at once.
fn seen_without_letters(writer: &Writer) -> Activity {
    let Some(mut seen) = writer.seen else { return Activity::default() };
    seen.records = writer.state.seq;
    seen
}

/// Returns whether a letter ends the turn at hand, which belongs to that run. One that means another run is put aside
/// between two steps, and disturbs nobody.
fn ends_turn(letter: &Letter, run: Option<&str>) -> bool {
    letter.kind == CANCEL || closes_run(letter).is_some_and(|closed| Some(closed.as_str()) == run)
}
