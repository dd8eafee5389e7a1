//! Waits for what others do with the session: letters that end a turn, and its being taken over.

use std::future::Future;

use trunkline_session_machine::RuntimeError;
use trunkline_session_store::{Activity, Letter};

use super::Writer;
use super::inbox::watch;
use super::renewal::TICK;
use crate::orders::{CANCEL, closes_run};

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

/// Waits for a tick. Returns whether the drive goes on.
pub(crate) async fn wait_a_while(writer: &mut Writer) -> Result<bool, RuntimeError> {
    let cancel = writer.signal();
    let asked = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(false),
        asked = asked_to_end(writer) => asked,
        () = tokio::time::sleep(TICK) => return Ok(true),
    };
    asked.map_err(|by| writer.lost(by))?;
    cancel.cancel();
    Ok(false)
}

/// Returns whether a letter ends the turn at hand, which belongs to that run. One that means another run is put aside
/// between two steps, and disturbs nobody.
fn ends_turn(letter: &Letter, run: Option<&str>) -> bool {
    letter.kind == CANCEL || closes_run(letter).is_some_and(|closed| Some(closed.as_str()) == run)
}
