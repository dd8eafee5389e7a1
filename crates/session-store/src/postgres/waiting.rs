//! Waiting for what others do: the server tells of changes on one connection, which is open while somebody waits.
//!
//! What is told is only that something happened in a session; what it was is read. So a message that came twice, or for
//! nothing, does no harm, and after the connection broke everybody looks again. Where the server cannot tell, everybody
//! looks each second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Inner;
use super::links::Links;
use super::rows::Bind;
use crate::bell::Bell;
use crate::{Activity, SessionId, StoreError};

/// How often one looks while the server cannot tell.
const POLL: Duration = Duration::from_secs(1);

/// How often the server is asked to say something, so that a connection that died in silence is noticed.
const PING: Duration = Duration::from_secs(10);

/// Those who wait, and the connection that serves them.
pub(super) struct Waiting {
    links: Arc<Links>,
    channel: String,
    inner: Mutex<Waiters>,
    /// What the listener does, as far as it is known.
    hearing: watch::Sender<Hearing>,
}

#[derive(Default)]
struct Waiters {
    bells: HashMap<SessionId, Weak<Bell>>,
    listener: Option<tokio::task::AbortHandle>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Hearing {
    /// There is no listener, or it has not tried yet.
    Unknown,
    /// The server tells us.
    Yes,
    /// It does not.
    No,
}

impl Waiting {
    pub(super) fn new(links: Arc<Links>, channel: String) -> Self {
        Waiting { links, channel, inner: Mutex::default(), hearing: watch::Sender::new(Hearing::Unknown) }
    }

    /// Stops listening; whoever waits looks again.
    pub(super) fn close(&self) {
        let listener = self.open().listener.take();
        if let Some(listener) = listener {
            listener.abort();
        }
        self.hearing.send_replace(Hearing::No);
        self.ring_all();
    }

    /// Returns what rings when something happens in a session, and sees to it that somebody listens.
    fn bell(self: &Arc<Self>, session: &SessionId, runtime: &tokio::runtime::Handle) -> Arc<Bell> {
        let mut waiters = self.open();
        if waiters.listener.as_ref().is_none_or(tokio::task::AbortHandle::is_finished) {
            self.hearing.send_replace(Hearing::Unknown);
            waiters.listener = Some(runtime.spawn(listen(Arc::downgrade(self))).abort_handle());
        }
        if let Some(bell) = waiters.bells.get(session).and_then(Weak::upgrade) {
            return bell;
        }
        let bell = Arc::new(Bell::default());
        waiters.bells.insert(session.clone(), Arc::downgrade(&bell));
        bell
    }

    /// Returns whether the server tells us of changes, once that is known.
    async fn is_heard(&self) -> bool {
        let mut hearing = self.hearing.subscribe();
        // The sender is ours: it cannot be gone.
        let known = hearing.wait_for(|hearing| *hearing != Hearing::Unknown).await;
        known.is_ok_and(|hearing| *hearing == Hearing::Yes)
    }

    fn ring(&self, session: &SessionId) {
        let bell = self.open().bells.get(session).and_then(Weak::upgrade);
        if let Some(bell) = bell {
            bell.ring();
        }
    }

    fn ring_all(&self) {
        let bells: Vec<Arc<Bell>> = self.open().bells.values().filter_map(Weak::upgrade).collect();
        for bell in bells {
            bell.ring();
        }
    }

    /// Forgets bells that nobody waits for. If none is left for the second time in a row, the listener is told to end,
    /// and whoever waits next starts another.
    fn ends(&self, idle: &mut bool) -> bool {
        let mut waiters = self.open();
        waiters.bells.retain(|_, bell| bell.strong_count() > 0);
        let was_idle = std::mem::replace(idle, waiters.bells.is_empty());
        let ends = *idle && was_idle;
        if ends {
            waiters.listener = None;
        }
        ends
    }

    fn open(&self) -> MutexGuard<'_, Waiters> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    pub(super) async fn changed(
        self: &Arc<Self>,
        session: &SessionId,
        seen: Activity,
    ) -> Result<Activity, StoreError> {
        let look = || {
            let (store, session) = (Arc::clone(self), session.clone());
            self.spawned(async move { store.activity(&session).await })
        };
        let now = look().await?;
        if now != seen {
            return Ok(now);
        }
        loop {
            let bell = self.waiting.bell(session, &self.runtime);
            // First, so that nothing that changes below is missed.
            let rings = bell.listen();
            let heard = self.waiting.is_heard().await;
            let now = look().await?;
            if now != seen {
                return Ok(now);
            }
            match heard {
                true => rings.await,
                // Also ends when the server tells again.
                false => drop(tokio::time::timeout(POLL, rings).await),
            }
        }
    }
}

/// Listens until nobody waits any more.
async fn listen(waiting: Weak<Waiting>) {
    let mut idle = false;
    loop {
        let Some(here) = waiting.upgrade() else { return };
        let listener = connect(&here).await;
        let hears = if listener.is_some() { Hearing::Yes } else { Hearing::No };
        here.hearing.send_replace(hears);
        // What happened before we heard is seen by looking.
        here.ring_all();
        drop(here);
        match listener {
            Some(listener) => {
                if hear(&waiting, listener, &mut idle).await {
                    return;
                }
                if let Some(here) = waiting.upgrade() {
                    here.hearing.send_replace(Hearing::No);
                    here.ring_all();
                }
            }
            None => {
                tokio::time::sleep(POLL).await;
                let Some(here) = waiting.upgrade() else { return };
                if here.ends(&mut idle) {
                    return;
                }
            }
        }
    }
}

async fn connect(waiting: &Waiting) -> Option<PgListener> {
    // The listener wants a pool for its one connection.
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(5));
    let pool = pool.idle_timeout(None).max_lifetime(None).connect_lazy_with(waiting.links.options().clone());
    let mut listener = PgListener::connect_with(&pool).await.ok()?;
    listener.eager_reconnect(false);
    listener.listen(&waiting.channel).await.ok()?;
    Some(listener)
}

/// Passes on what the server tells, until the connection breaks (`false`) or nobody waits any more (`true`).
async fn hear(waiting: &Weak<Waiting>, mut listener: PgListener, idle: &mut bool) -> bool {
    let mut silent = 0;
    let mut looked = Instant::now();
    loop {
        // A call that is given up takes nothing out of the stream that is not a whole message.
        let told = tokio::time::timeout(PING, listener.try_recv()).await;
        let Some(here) = waiting.upgrade() else { return true };
        // Others may never cease to talk, so silence is not waited for.
        if looked.elapsed() >= PING {
            looked = Instant::now();
            if here.ends(idle) {
                return true;
            }
        }
        match told {
            Ok(Ok(Some(notification))) => {
                silent = 0;
                if let Ok(session) = SessionId::parse(notification.payload()) {
                    here.ring(&session);
                }
            }
            Ok(Ok(None) | Err(_)) => return false,
            Err(_) if silent >= 2 => return false,
            Err(_) => {
                silent += 1;
                ping(&here).await;
            }
        }
    }
}

/// Asks the server to say something to everybody.
async fn ping(waiting: &Arc<Waiting>) {
    if let Ok(mut link) = waiting.links.take().await
        && link.rows("SELECT pg_notify($1, '')", Bind::new().with(&waiting.channel)).await.is_ok()
    {
        link.keep();
    }
}
