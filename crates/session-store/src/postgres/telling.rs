//! Telling others of changes: after the commit and apart from it.
//!
//! PostgreSQL lets transactions that notify commit one after the other in the whole cluster. So what is told is told by a
//! transaction of its own that waits for no disk, for all sessions that changed since the last one. Who waits looks now and
//! then all the same, so what is never told is only seen later.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Inner;
use super::bind::Bind;
use super::channel::Channel;
use super::fault::{Fault, FaultKind};
use super::link::Level;
use crate::SessionId;

/// How long changes are gathered after some were told.
const PAUSE: Duration = Duration::from_millis(10);

/// For how long nothing is told after the server has refused it: its queue may be full, or a setting of the role too small.
const REFUSED: Duration = Duration::from_secs(60);

/// How many sessions one statement tells of.
const MOST: usize = 1024;

/// The statement that tells: `$1` is the channel and `$2` has the words.
pub(super) const NOTIFY: &str = "SELECT pg_notify($1, told.word) FROM unnest($2::text[]) AS told (word)";

/// What is to be told.
#[derive(Default)]
pub(super) struct Telling {
    inner: Mutex<Untold>,
}

#[derive(Default)]
struct Untold {
    sessions: BTreeSet<SessionId>,
    /// Whether somebody tells.
    busy: bool,
    /// The server has no notifications, or they are not wanted.
    off: bool,
    /// Until when nothing is told, because the server refused it.
    until: Option<Instant>,
}

impl Telling {
    /// Tells nobody any more.
    pub(super) fn turn_off(&self) {
        let mut untold = self.open();
        untold.off = true;
        untold.sessions.clear();
    }

    fn next(&self, channel: &Channel) -> Vec<String> {
        let mut untold = self.open();
        let mut words = Vec::new();
        while words.len() < MOST {
            let Some(session) = untold.sessions.pop_first() else { break };
            words.push(channel.word_of(&session));
        }
        untold.busy = !words.is_empty();
        words
    }

    fn open(&self) -> MutexGuard<'_, Untold> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Tells everybody that something has changed in a session: those in this store at once, others soon.
    pub(super) fn tell(self: &Arc<Self>, session: &SessionId) {
        self.waiting.ring(&self.channel.word_of(session));
        let mut untold = self.telling.open();
        if untold.off || untold.until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        untold.sessions.insert(session.clone());
        if !std::mem::replace(&mut untold.busy, true) {
            drop(untold);
            let store = Arc::clone(self);
            self.runtime.spawn(async move {
                while store.tell_some().await {
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
    }

    /// Tells what is to be told; returns whether there was anything.
    pub(super) async fn tell_some(self: &Arc<Self>) -> bool {
        let words = self.telling.next(&self.channel);
        if words.is_empty() {
            return false;
        }
        let told = async {
            let mut link = self.links.take().await?;
            link.write(Level::Committed, NOTIFY, Bind::new().with(&self.channel.name).with(words)).await?;
            link.keep();
            Ok::<(), Fault>(())
        };
        match told.await.map_err(|fault| fault.kind) {
            // An engine without them.
            Err(FaultKind::Unsupported) => self.telling.turn_off(),
            Err(FaultKind::Refused) => self.telling.open().until = Some(Instant::now() + REFUSED),
            _ => {}
        }
        true
    }
}
