//! Notices what other processes write.
//!
//! SQLite counts changes of a database for each connection, and looking at the counter costs next to nothing. It is looked
//! at only while somebody waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::bell::Bell;

/// How often the counter is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// Rings the bell of a store when its database changes, as long as there are [`Waiter`]s.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    options: SqliteConnectOptions,
    bell: Arc<Bell>,
    waiters: Arc<AtomicUsize>,
    closing: Arc<Notify>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// Somebody who waits.
pub(super) struct Waiter(Arc<AtomicUsize>);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Watch {
    pub(super) fn new(options: SqliteConnectOptions, bell: Arc<Bell>) -> Self {
        Watch { options, bell, waiters: Arc::default(), closing: Arc::default(), task: Arc::default() }
    }

    /// Watches until the waiter is dropped.
    pub(super) fn wait(&self) -> Waiter {
        let waiter = Waiter(Arc::clone(&self.waiters));
        // The first one starts the watching, and it ends with the last.
        if self.waiters.fetch_add(1, Ordering::AcqRel) == 0 {
            let watching = watch(
                self.options.clone(),
                Arc::clone(&self.bell),
                Arc::clone(&self.waiters),
                Arc::clone(&self.closing),
            );
            *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::spawn(watching));
        }
        waiter
    }

    /// Ends the watching. While its connection is open nobody is the last to close the database, and so its write-ahead
    /// log would stay beside it.
    pub(super) async fn close(&self) {
        self.closing.notify_one();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

async fn watch(
    options: SqliteConnectOptions,
    bell: Arc<Bell>,
    waiters: Arc<AtomicUsize>,
    closing: Arc<Notify>,
) {
    let mut connection: Option<SqliteConnection> = None;
    let mut seen = None;
    while waiters.load(Ordering::Acquire) > 0 {
        let found = match &mut connection {
            Some(connection) => {
                let version = sqlx::query_scalar::<_, i64>("PRAGMA data_version");
                version.fetch_one(connection).await.ok()
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
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = closing.notified() => break,
        }
    }
    if let Some(connection) = connection {
        let _ = connection.close().await;
    }
}
