//! Notices what other processes write.
//!
//! SQLite counts changes of a database for each connection, and looking at the counter costs next to nothing. It is looked
//! at only while somebody waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::answer::{self, Ask};
use crate::bell::Bell;

/// How often the counter is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// Rings the bell of a store when its database changes, as long as there are [`Waiter`]s.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    options: SqliteConnectOptions,
    bell: Arc<Bell>,
    watching: Arc<Watching>,
}

#[derive(Debug, Default)]
struct Watching {
    state: Mutex<State>,
    closing: Notify,
}

/// Whether somebody waits and whether somebody watches are decided together, so that there is one who watches.
#[derive(Debug, Default)]
struct State {
    waiters: usize,
    /// Whether the task has not decided to end.
    watched: bool,
    closed: bool,
    task: Option<JoinHandle<()>>,
}

/// Somebody who waits.
pub(super) struct Waiter(Arc<Watching>);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.open().waiters -= 1;
    }
}

impl Watch {
    pub(super) fn new(options: SqliteConnectOptions, bell: Arc<Bell>) -> Self {
        Watch { options, bell, watching: Arc::default() }
    }

    /// Watches until the waiter is dropped.
    pub(super) fn wait(&self) -> Waiter {
        let mut state = self.watching.open();
        state.waiters += 1;
        // The first one starts the watching, and it ends with the last; or with its runtime.
        let is_watched = state.watched && state.task.as_ref().is_some_and(|task| !task.is_finished());
        if !is_watched && !state.closed {
            state.watched = true;
            let before = state.task.take();
            let (options, bell) = (self.options.clone(), Arc::clone(&self.bell));
            let watching = Arc::clone(&self.watching);
            state.task = Some(tokio::spawn(async move {
                if let Some(before) = before {
                    // It has still to close its connection.
                    let _ = before.await;
                }
                watch(options, &bell, &watching).await;
            }));
        }
        Waiter(Arc::clone(&self.watching))
    }

    /// Ends the watching, and tells those who wait. While its connection is open nobody is the last to close the
    /// database, and so its write-ahead log would stay beside it.
    pub(super) async fn close(&self) {
        let task = {
            let mut state = self.watching.open();
            state.closed = true;
            state.task.take()
        };
        self.watching.closing.notify_one();
        if let Some(task) = task {
            let _ = task.await;
        }
        self.bell.ring();
    }
}

impl Watching {
    /// Returns whether watching goes on.
    fn goes_on(&self) -> bool {
        let mut state = self.open();
        state.watched = state.waiters > 0 && !state.closed;
        state.watched
    }

    // Nothing here panics while holding the mutex, so a poisoned value is still whole.
    fn open(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch(options: SqliteConnectOptions, bell: &Bell, watching: &Watching) {
    let mut connection: Option<SqliteConnection> = None;
    let mut seen = None;
    // Most that is waited for is written here, or is over soon, and a connection is a thread that has to be made. What came
    // before the first look is not missed: everybody looks again after it.
    pause(watching).await;
    while watching.goes_on() {
        let found = match &mut connection {
            Some(connection) => {
                let version = sqlx::query("PRAGMA data_version");
                version.value::<i64>(connection).await.ok()
            }
            None => None,
        };
        if found.is_none() {
            connection = SqliteConnection::connect_with(&options).await.ok();
        }
        // Without an answer everybody looks for himself.
        if found != seen || found.is_none() {
            seen = found;
            bell.ring();
        }
        pause(watching).await;
    }
    if let Some(connection) = connection {
        let _ = answer::close(connection).await;
    }
}

/// Waits until it is time to look again.
async fn pause(watching: &Watching) {
    tokio::select! {
        () = tokio::time::sleep(EVERY) => {}
        () = watching.closing.notified() => {}
    }
}
