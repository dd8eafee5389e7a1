//! What has ended and whose rows do not say so yet: leases that were dropped, and imports that were given up.
//!
//! Whoever drops one cannot be told that the disk is full or that another process writes. So it is noted here, and the
//! task that writes tries until it is done: as long as this process lives, nobody else may take such a row for free.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::SqliteConnection;

use super::fault::store_error;
use super::restore;
use super::rows::stored;
use crate::{SessionId, StoreError};

/// How soon what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Something that has ended. The owner is part of it: after a write that was rolled back, numbers are given again.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Lease { key: i64, token: u64, owner: String },
    Import { key: i64, session: SessionId, owner: String },
}

impl Ending {
    /// Writes it down, in a transaction.
    pub(super) async fn write(
        &self,
        connection: &mut SqliteConnection,
        path: &Path,
    ) -> Result<(), StoreError> {
        match self {
            Ending::Lease { key, token, owner } => {
                let query = "UPDATE sessions SET owner = NULL WHERE session = ? AND token = ? AND owner = ?";
                let query = sqlx::query(query).bind(key).bind(stored(*token)).bind(owner);
                query.execute(connection).await.map(drop).map_err(|error| store_error(path, error))
            }
            Ending::Import { key, session, owner } => {
                if restore::is_under_way(connection, path, *key, session, owner).await? {
                    restore::remove(connection, path, *key).await?;
                }
                Ok(())
            }
        }
    }
}

/// The list of them, which a store shares with the task that writes.
#[derive(Debug, Default)]
pub(super) struct Ended(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    endings: VecDeque<Ending>,
    /// When those that could not be written are tried again.
    again: Option<Instant>,
}

impl Ended {
    pub(super) fn add(&self, ending: Ending) {
        self.open().endings.push_back(ending);
    }

    /// Returns how long the next one has to wait; nothing if there is none.
    pub(super) fn wait(&self) -> Option<Duration> {
        let list = self.open();
        let again = list.again.map(|again| again.saturating_duration_since(Instant::now()));
        (!list.endings.is_empty()).then(|| again.unwrap_or_default())
    }

    /// Returns the next one, if it need not wait.
    pub(super) fn next(&self) -> Option<Ending> {
        let mut list = self.open();
        if list.again.is_some_and(|again| again > Instant::now()) {
            return None;
        }
        list.endings.pop_front()
    }

    /// Notes what came of the one that was given last. Others come first where it failed, so that none stands in the way.
    pub(super) fn tried(&self, ending: Ending, result: &Result<(), StoreError>) {
        let mut list = self.open();
        list.again = result.is_err().then(|| Instant::now() + AGAIN);
        if result.is_err() {
            list.endings.push_back(ending);
        }
    }

    // Nothing here panics while holding the mutex, so a poisoned value is still whole.
    fn open(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
