//! Commands on a session that another process may be writing.
//!
//! With no writer alive the command becomes the writer. Otherwise it leaves a note in the session's inbox, which the
//! writer reads between two turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::{Agent, RuntimeError, Session};
use trunkline_session_store::{Claim, InboxId, LetterState, SessionInfo, SessionStore, StoreError};

use crate::desk::clock::now;
use crate::desk::place::{Place, Store};
use crate::desk::store;
use crate::term::fault::{Exit, Fault};
use crate::term::tell::tell_page;
use crate::term::text::one_line;

/// How often somebody who waits for a writer looks whether it is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a writer is given to do what it is asked, if nobody said to wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Who writes the session now.
pub(crate) enum Entrance {
    /// This process.
    Mine(Box<Session>),
    /// Somebody else; the words say who.
    Theirs(String),
}

/// Becomes the writer of a session: if nobody is, or in any case.
pub(crate) async fn enter(
    agent: &Agent,
    store: &Store,
    info: &SessionInfo,
    claim: Claim,
) -> Result<Entrance, Fault> {
    let opened = match claim {
        Claim::TakeOver => agent.take_over(Arc::clone(store), &info.id).await,
        _ => agent.open(Arc::clone(store), &info.id).await,
    };
    match opened {
        Ok(session) => Ok(Entrance::Mine(Box::new(session))),
        Err(RuntimeError::Store(StoreError::Locked { holder, .. })) => Ok(Entrance::Theirs(called(holder))),
        Err(fault) => Err(fault.into()),
    }
}

/// Becomes the writer of a session for an act, unless another process is: the one fork between an act and a letter.
///
/// `agent` is made only where the session is free: its folder may be on the machine of the writer.
pub(crate) async fn enter_free(
    store: &Store,
    info: &SessionInfo,
    agent: impl Future<Output = Result<Agent, Fault>>,
) -> Result<Entrance, Fault> {
    match writer(store.as_ref(), info).await? {
        Some(holder) => Ok(Entrance::Theirs(holder)),
        // One may come in the meantime.
        None => enter(&agent.await?, store, info, Claim::IfFree).await,
    }
}

/// Says who writes a session, if anybody does.
///
/// Asked before anything is looked for that only a writer needs: its folder may be on the machine of whoever writes.
pub(crate) async fn writer(store: &dyn SessionStore, info: &SessionInfo) -> Result<Option<String>, Fault> {
    Ok(store.holder(&info.id).await?.map(|holder| called(holder.name)))
}

/// As [`writer`], of one that stays: who only writes a word, and would read no note, is given the time for it.
pub(crate) async fn lasting_writer(
    store: &dyn SessionStore,
    info: &SessionInfo,
) -> Result<Option<String>, Fault> {
    let since = Instant::now();
    loop {
        match writer(store, info).await? {
            Some(_) if since.elapsed() < PATIENCE => tokio::time::sleep(LOOK_EVERY / 10).await,
            found => return Ok(found),
        }
    }
}

fn called(holder: Option<String>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |holder| one_line(&holder, 40))
}

/// Leaves a request for whoever writes the session, and says so.
pub(crate) async fn leave(
    place: &Place,
    store: &dyn SessionStore,
    info: &SessionInfo,
    holder: &str,
    request: &Order,
    wait: bool,
) -> Result<Exit, Fault> {
    let letter = post(store, &info.id, request, now()).await?;
    let name = store::short_name(store, &info.id).await;
    let when = match request {
        Order::Cancel => WITHIN_A_SECOND,
        _ => SOON,
    };
    tell_of_note(&name, holder, when);
    match wait {
        true => told(outcome(place, store, info, letter, &name).await?),
        false => Ok(Exit::Done),
    }
}

/// When a note is read that ends a turn.
pub(crate) const WITHIN_A_SECOND: &str = "it is read within a second";

/// When a note is read.
pub(crate) const SOON: &str = "it will be read before its next step";

/// Says that a note was left, and when it is read.
pub(crate) fn tell_of_note(name: &str, holder: &str, when: &str) {
    tell_page(&format!("session {name} is being written by {holder}; left a note, {when}\n"));
}

/// Leaves a request, and returns what became of it: with `wait` in any case, else if that is soon.
///
/// `None` says that it was not read yet; that was told.
pub(crate) async fn ask(
    place: &Place,
    store: &dyn SessionStore,
    info: &SessionInfo,
    holder: &str,
    request: &Order,
    wait: bool,
) -> Result<Option<Settled>, Fault> {
    let letter = post(store, &info.id, request, now()).await?;
    let name = store::short_name(store, &info.id).await;
    tell_of_note(&name, holder, SOON);
    if wait {
        return outcome(place, store, info, letter, &name).await.map(Some);
    }
    match tokio::time::timeout(PATIENCE, settled(store, &info.id, letter)).await {
        Ok(settled) => Ok(Some(settled?)),
        Err(_) => {
            tell_page("not read yet\n");
            Ok(None)
        }
    }
}

/// Says what became of a letter.
pub(crate) fn told(settled: Settled) -> Result<Exit, Fault> {
    match settled {
        Settled::Done { seq } => {
            tell_page(&format!("it has taken effect, in record {seq}\n"));
            Ok(Exit::Done)
        }
        Settled::Refused { reason } => Err(Fault::new(one_line(&reason, 300))),
        _ => Ok(Exit::Done),
    }
}

/// Waits until the writer has settled a letter, as long as there is a writer.
async fn outcome(
    place: &Place,
    store: &dyn SessionStore,
    info: &SessionInfo,
    letter: InboxId,
    name: &str,
) -> Result<Settled, Fault> {
    loop {
        match hear(store, info, letter).await? {
            Heard::Settled(settled) => return Ok(settled),
            Heard::NotYet => {}
            Heard::Gone => {
                let fault = Fault::new("the writer has ended without reading the note");
                let resume = place.command(&format!("resume {name}"));
                return Err(fault.hint(format!("the next one reads it: `{resume}`")));
            }
        }
    }
}

/// What is heard of a letter in a while.
pub(crate) enum Heard {
    Settled(Settled),
    NotYet,
    /// Whoever wrote the session has ended without reading it.
    Gone,
}

/// Waits a while for what becomes of a letter.
pub(crate) async fn hear(
    store: &dyn SessionStore,
    info: &SessionInfo,
    letter: InboxId,
) -> Result<Heard, Fault> {
    if let Ok(settled) = tokio::time::timeout(LOOK_EVERY, settled(store, &info.id, letter)).await {
        return Ok(Heard::Settled(settled?));
    }
    // It may have read the letter in its last moment: then the next look finds that.
    let gone = store.holder(&info.id).await?.is_none();
    Ok(match gone && store.letter(&info.id, letter).await? == LetterState::Waiting {
        true => Heard::Gone,
        false => Heard::NotYet,
    })
}
