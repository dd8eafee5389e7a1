//! What is done when a write to the disk has failed, before anything is called kept again.
//!
//! After a sync that failed, nobody knows what is on the disk. What was written stands in the system's cache, where we and
//! SQLite see it, and may never come any further: Linux drops what it could not write, and says so once. So nothing that
//! is found there counts before the whole log was moved into the database, which writes all of it again and syncs that.

use std::path::Path;

use sqlx::{Row, SqliteConnection};

use super::answer::Ask;
use super::fault::store_error;
use crate::StoreError;

/// Why it is not known what of the write-ahead log is on the disk.
#[derive(Clone, Debug)]
pub(super) enum Doubt {
    /// A write or a sync has failed, and this is what was said.
    Failed(String),
    /// Whoever wrote it died, and may have heard of a failure or have been about to sync.
    Inherited,
}

/// Takes what an error says about the disk into account.
pub(super) fn after(error: &StoreError, doubt: &mut Option<Doubt>) {
    if let StoreError::Io { reason, .. } = error {
        *doubt = Some(Doubt::Failed(reason.clone()));
    }
}

/// Writes all of the log once more, into the database, and syncs that.
pub(super) async fn settle(
    connection: &mut SqliteConnection,
    path: &Path,
    doubt: &Doubt,
) -> Result<(), StoreError> {
    // SQLite answers with a row: whether somebody was in the way, and how much is left to do.
    let moved = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").one_row(connection).await;
    let moved = moved.and_then(|row| row.try_get::<i64, _>(0));
    match (moved, doubt) {
        (Ok(0), _) => Ok(()),
        (_, Doubt::Failed(reason)) => {
            Err(StoreError::Io { place: path.display().to_string(), reason: reason.clone() })
        }
        (Ok(_), Doubt::Inherited) => Err(StoreError::Busy { place: path.display().to_string() }),
        (Err(error), Doubt::Inherited) => Err(store_error(path, error)),
    }
}

/// Returns whether an error says that something is there already, so that whoever asked will take it for kept.
pub(super) fn is_there(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Conflict { .. }
            | StoreError::SessionExists { .. }
            | StoreError::KeyTaken { .. }
            | StoreError::NoSuchLetter { .. }
    )
}

/// Makes what others have committed hold, whoever they were: the commit of any change syncs the log up to there.
///
/// It may have been written by somebody who died before the sync.
pub(super) async fn flush(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let version = format!("PRAGMA user_version = {}", super::schema::VERSION);
    let query = sqlx::raw_sql(sqlx::AssertSqlSafe(version)).execute(connection).await;
    query.map(drop).map_err(|error| store_error(path, error))
}
