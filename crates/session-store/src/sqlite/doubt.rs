//! What is done when a write to the disk has failed, before anything is called kept again.
//!
//! After a sync that failed, nobody knows what is on the disk. What was written stands in the system's cache, where we and
//! SQLite see it, and may never come any further: Linux drops what it could not write, and says so once. So nothing that
//! is found there counts before the whole log was moved into the database, which writes all of it again and syncs that.
//!
//! And nothing is moved before the log itself was written once more: a cut in the middle of the move leaves a database
//! that only a whole log can mend.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sqlx::{Row, SqliteConnection};

use super::answer::{self, Ask};
use super::aside::beside;
use super::fault::{io_error, store_error};
use crate::StoreError;

/// Why it is not known what of the write-ahead log is on the disk.
#[derive(Clone, Debug)]
pub(super) enum Doubt {
    /// A write or a sync has failed, and this is what was said.
    Failed(String),
    /// Whoever wrote it died, and may have heard of a failure or have been about to sync.
    Inherited,
}

impl Doubt {
    /// Returns the error of who cannot settle it: what has failed first, as long as that is known.
    fn error(&self, path: &Path, error: StoreError) -> StoreError {
        match self {
            Doubt::Failed(reason) => {
                StoreError::Io { place: path.display().to_string(), reason: reason.clone() }
            }
            Doubt::Inherited => error,
        }
    }
}

/// Takes what an error says about the disk into account.
pub(super) fn after(error: &StoreError, doubt: &mut Option<Doubt>) {
    if let StoreError::Io { reason, .. } = error {
        *doubt = Some(Doubt::Failed(reason.clone()));
    }
}

/// Writes all of the log once more, first where it is and then into the database, and syncs both.
pub(super) async fn settle(
    connection: &mut SqliteConnection,
    path: &Path,
    doubt: &Doubt,
) -> Result<(), StoreError> {
    match renew(connection, path).await {
        Ok(()) => move_log(connection, path, doubt).await,
        Err(error) => Err(doubt.error(path, error)),
    }
}

/// Moves a log that was written again into the database.
pub(super) async fn move_log(
    connection: &mut SqliteConnection,
    path: &Path,
    doubt: &Doubt,
) -> Result<(), StoreError> {
    // SQLite answers with a row: whether somebody was in the way, and how much is left to do.
    let moved = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").one_row(connection).await;
    match moved.and_then(|row| row.try_get::<i64, _>(0)) {
        Ok(0) => Ok(()),
        Ok(_) => Err(doubt.error(path, StoreError::Busy { place: path.display().to_string() })),
        Err(error) => Err(doubt.error(path, store_error(path, error))),
    }
}

/// Writes the log again where it is, through a connection that is in no transaction, and keeps all others from writing to it
/// meanwhile.
///
/// Also before a connection is closed after a fault: the last one moves the log into the database.
pub(super) async fn renew(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    // SQLite itself waits for whoever writes, and says that it was busy.
    let begun = sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await;
    begun.map_err(|error| store_error(path, error))?;
    let written = write_again(path);
    let ended = answer::in_time(sqlx::query("ROLLBACK").execute(connection)).await;
    written.and(ended.map(drop).map_err(|error| store_error(path, error)))
}

/// Writes the bytes of a log over themselves, so that the system takes them for new, and syncs them. Nobody else writes there.
///
/// SQLite has no lock on that file which closing it would end.
pub(super) fn write_again(database: &Path) -> Result<(), StoreError> {
    let log = beside(database, "-wal");
    let write = || -> io::Result<()> {
        let mut file = match OpenOptions::new().read(true).write(true).open(&log) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        let mut buffer = vec![0; 1 << 16];
        loop {
            let at = file.stream_position()?;
            let length = match file.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                length => length?,
            };
            file.seek(SeekFrom::Start(at))?;
            file.write_all(buffer.get(..length).unwrap_or_default())?;
        }
        file.sync_all()
    };
    write().map_err(|error| io_error(&log, &error))
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
