//! Waiting for what others do: all sessions that somebody waits for are looked at in one statement, each second.
//!
//! Where the server tells of changes on a connection of ours, they are seen at once and looked at less often. What is told
//! is only that something happened in a session; what it was is read. So a message that came twice, or for nothing, or
//! never, does no harm.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Inner;
use super::bind::{Bind, Uuid};
use super::channel::Channel;
use super::fault::{Fault, FaultKind};
use super::link::{Level, Link};
use super::links::Links;
use super::rows;
use super::telling::NOTIFY;
use super::tries::attempt;
use crate::bell::Bell;
use crate::{Activity, SessionId, StoreError};

/// How often one looks while nothing is heard.
const POLL: Duration = Duration::from_secs(1);

/// How often one looks while notifications arrive.
const POLL_HEARING: Duration = Duration::from_secs(5);

/// How often the server is asked to say something, so that a connection that died in silence is noticed.
const PING: Duration = Duration::from_secs(10);

/// How long a notification of our own may take.
const ARRIVES: Duration = Duration::from_secs(2);

/// How many sessions one statement looks at.
const MOST: usize = 1024;

/// Those who wait, and what serves them.
pub(super) struct Waiting {
    links: Arc<Links>,
    channel: Channel,
    inner: Mutex<Waiters>,
    /// Whether notifications arrive.
    hears: AtomicBool,
}

#[derive(Default)]
struct Waiters {
    /// By the word that the server tells.
    watched: HashMap<String, Watched>,
    tasks: Vec<AbortHandle>,
}

struct Watched {
    session: SessionId,
    bell: Weak<Bell>,
    /// What the last look saw, or whoever began to wait before that; nothing if the session is gone.
    seen: Option<Activity>,
}

impl Waiting {
    pub(super) fn new(links: Arc<Links>, channel: Channel) -> Self {
        Waiting { links, channel, inner: Mutex::default(), hears: AtomicBool::new(false) }
    }

    /// Looks and listens no more; whoever waits looks again.
    pub(super) fn close(&self) {
        let tasks = std::mem::take(&mut self.open().tasks);
        for task in tasks {
            task.abort();
        }
        self.ring_all();
    }

    /// Returns what rings when a session is no longer as it was seen, and sees to it that somebody looks.
    fn bell(
        self: &Arc<Self>,
        session: &SessionId,
        seen: Activity,
        runtime: &tokio::runtime::Handle,
    ) -> Arc<Bell> {
        let word = self.channel.word_of(session);
        let mut waiters = self.open();
        if waiters.tasks.is_empty() {
            waiters.tasks.push(runtime.spawn(look(Arc::downgrade(self))).abort_handle());
            if self.links.notify() != Some(false) {
                waiters.tasks.push(runtime.spawn(listen(Arc::downgrade(self))).abort_handle());
            }
        }
        if let Some(bell) = waiters.watched.get(&word).and_then(|one| one.bell.upgrade()) {
            return bell;
        }
        let bell = Arc::new(Bell::default());
        let watched = Watched { session: session.clone(), bell: Arc::downgrade(&bell), seen: Some(seen) };
        waiters.watched.insert(word, watched);
        bell
    }

    /// Wakes those who wait for the session of that word.
    pub(super) fn ring(&self, word: &str) {
        let bell = self.open().watched.get(word).and_then(|one| one.bell.upgrade());
        if let Some(bell) = bell {
            bell.ring();
        }
    }

    fn ring_all(&self) {
        let bells: Vec<Arc<Bell>> =
            self.open().watched.values().filter_map(|one| one.bell.upgrade()).collect();
        for bell in bells {
            bell.ring();
        }
    }

    /// Returns the sessions that somebody waits for. If there is none for the second time in a row, everything ends, and
    /// whoever waits next starts it again.
    fn waited_for(&self, idle: &mut bool) -> Option<Vec<SessionId>> {
        let mut waiters = self.open();
        waiters.watched.retain(|_, one| one.bell.strong_count() > 0);
        let was_idle = std::mem::replace(idle, waiters.watched.is_empty());
        if *idle && was_idle {
            for task in std::mem::take(&mut waiters.tasks) {
                task.abort();
            }
            self.hears.store(false, Ordering::Release);
            return None;
        }
        Some(waiters.watched.values().map(|one| one.session.clone()).collect())
    }

    /// Wakes those whose sessions are not as they were at the last look.
    fn compare(&self, looked_at: &[SessionId], found: &HashMap<String, Activity>) {
        let mut changed = Vec::new();
        let mut waiters = self.open();
        for session in looked_at {
            let Some(one) = waiters.watched.get_mut(&self.channel.word_of(session)) else { continue };
            let now = found.get(session.as_str()).copied();
            if std::mem::replace(&mut one.seen, now) != now {
                changed.extend(one.bell.upgrade());
            }
        }
        drop(waiters);
        for bell in changed {
            bell.ring();
        }
    }

    /// Reads how far sessions are, in one statement.
    async fn activities(&self, sessions: &[SessionId]) -> Result<HashMap<String, Activity>, StoreError> {
        let sql = "SELECT session::text AS session, records, letters, consumed, token FROM @sessions
                   WHERE session = ANY ($1) AND complete";
        let found = attempt!(reading self.links, |link| async {
            let wanted: Vec<Uuid> = sessions.iter().map(Uuid::of).collect();
            link.rows(sql, Bind::new().with(wanted)).await.map(Ok)
        })?;
        let corrupt = |reason| StoreError::Corrupt { place: self.links.place().to_owned(), reason };
        found.iter().map(rows::activity).collect::<Result<_, String>>().map_err(corrupt)
    }

    /// Makes a connection on which the server tells us, and proves that it does.
    async fn hear(&self) -> Result<(Link, mpsc::UnboundedReceiver<String>), StoreError> {
        let refused = |reason: &str| StoreError::Database {
            place: self.links.place().to_owned(),
            reason: format!("{reason}; leave `notify` out of the URL, or say notify=off"),
        };
        let (told, mut hears) = mpsc::unbounded_channel();
        let mut link = self.links.listener(told).await.map_err(|fault| fault.error)?;
        if !link.is_direct() && self.links.notify() != Some(true) {
            return Err(refused("a pooler, or something like it, stands between us and the server"));
        }
        if !link.is_direct() && !self.is_pinned(&mut link).await.map_err(|fault| fault.error)? {
            // To listen would leave something on a connection that others share.
            return Err(refused(
                "a pooler gives each transaction another connection to the server, and none of them could \
                                listen for us",
            ));
        }
        let listen = format!("LISTEN \"{}\"", self.channel.name);
        if let Err(Fault { error, kind }) = link.run(&listen).await {
            // What broke at it may be there next time.
            return Err(match kind {
                FaultKind::Refused | FaultKind::Unsupported => {
                    refused(&format!("notifications cannot be had: {error}"))
                }
                _ => error,
            });
        }
        self.ping().await.map_err(|fault| fault.error)?;
        match tokio::time::timeout(ARRIVES, hears.recv()).await {
            Ok(Some(_)) => Ok((link, hears)),
            // Nothing stands between: it is slow, or has just gone.
            _ if link.is_direct() => {
                let reason = "a notification of our own does not arrive".to_owned();
                Err(StoreError::Io { place: self.links.place().to_owned(), reason })
            }
            _ => Err(refused("a notification of our own does not arrive: a pooler gives it to others")),
        }
    }

    /// Whether the same process of the server answers a connection for as long as it lasts, also when another transaction
    /// could have come in between.
    async fn is_pinned(&self, link: &mut Link) -> Result<bool, Fault> {
        for _ in 0..3 {
            let before = link.process().await?;
            let mut other = self.links.make(self.links.patience()).await?;
            other.begin(Level::Committed, Vec::new()).await?;
            let taken = other.process().await?;
            let after = link.process().await?;
            let _ = other.end(Ok(())).await?;
            if taken == before || after != before {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks the server to say something to everybody.
    async fn ping(&self) -> Result<(), Fault> {
        let mut link = self.links.take().await?;
        let nothing = vec![String::new()];
        link.write(Level::Committed, NOTIFY, Bind::new().with(&self.channel.name).with(nothing)).await?;
        link.keep();
        Ok(())
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
        let mut bell = self.waiting.bell(session, seen, &self.runtime);
        loop {
            // First, so that nothing that changes below is missed.
            let rings = bell.listen();
            let now = look().await?;
            if now != seen {
                return Ok(now);
            }
            rings.await;
            // While the last one is there this is the same, and what was seen is not forgotten: otherwise the next look would
            // ring although nothing has changed, and each who waits would look for himself.
            bell = self.waiting.bell(session, seen, &self.runtime);
        }
    }

    /// Proves that notifications arrive, where the URL asks for them.
    pub(super) async fn must_hear(self: &Arc<Self>) -> Result<(), StoreError> {
        match self.links.notify() {
            Some(true) => {
                let waiting = Arc::clone(&self.waiting);
                self.spawned(async move { waiting.hear().await.map(drop) }).await
            }
            _ => Ok(()),
        }
    }
}

/// Looks at everything that is waited for, again and again, until nobody waits any more.
async fn look(waiting: Weak<Waiting>) {
    let mut idle = false;
    loop {
        let Some(here) = waiting.upgrade() else { return };
        let Some(sessions) = here.waited_for(&mut idle) else { return };
        for some in sessions.chunks(MOST) {
            // What fails now is looked at again soon.
            if let Ok(found) = here.activities(some).await {
                here.compare(some, &found);
            }
        }
        let pause = if here.hears.load(Ordering::Acquire) { POLL_HEARING } else { POLL };
        drop(here);
        tokio::time::sleep(spread(pause)).await;
    }
}

/// Returns a time that differs by up to a fifth, so that stores do not all look at once.
fn spread(pause: Duration) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    pause.mul_f64(0.9 + f64::from(now.subsec_micros() % 1000) / 5000.0)
}

/// Listens for as long as anybody waits, which the one who looks finds out.
async fn listen(waiting: Weak<Waiting>) {
    loop {
        let Some(here) = waiting.upgrade() else { return };
        let heard = here.hear().await;
        match heard {
            Ok((link, told)) => {
                here.hears.store(true, Ordering::Release);
                // What happened before we heard is seen by looking.
                here.ring_all();
                drop(here);
                pass_on(&waiting, told).await;
                drop(link);
                let Some(here) = waiting.upgrade() else { return };
                here.hears.store(false, Ordering::Release);
                here.ring_all();
            }
            // It will not be otherwise as long as somebody waits.
            Err(StoreError::Database { .. }) => return,
            Err(_) => {}
        }
        tokio::time::sleep(spread(POLL)).await;
    }
}

/// Passes on what the server tells, until the connection breaks or falls silent.
async fn pass_on(waiting: &Weak<Waiting>, mut told: mpsc::UnboundedReceiver<String>) {
    let mut silent_since: Option<Instant> = None;
    loop {
        match tokio::time::timeout(PING, told.recv()).await {
            Ok(Some(word)) => {
                silent_since = None;
                let Some(here) = waiting.upgrade() else { return };
                here.ring(&word);
            }
            Ok(None) => return,
            Err(_) if silent_since.is_some_and(|since| since.elapsed() >= PING) => return,
            Err(_) => {
                silent_since.get_or_insert_with(Instant::now);
                let Some(here) = waiting.upgrade() else { return };
                // If it fails, the next silence tells.
                let _ = here.ping().await;
            }
        }
    }
}
