//! The tables, and how an older database becomes a current one.
//!
//! A file is looked at before anything is changed in it: another program's database must not even be switched to
//! write-ahead logging by being named by mistake.

use std::path::Path;

use sqlx::{Connection, Row, SqliteConnection};

use super::fault::store_error;
use crate::StoreError;

/// Marks the file as ours in bytes 68 to 71 of its header: `TRKL`.
const APPLICATION_ID: i64 = 0x5452_4b4c;

/// What brings a database from each version to the next; the first makes version 1 out of an empty file.
///
/// Never edit one that was released: databases of every past version must still open.
const MIGRATIONS: &[&str] = &[VERSION_1];

// `records` is the spine: narrow rows in the order of a log, so that listing and walking never touch the bodies.
// `bodies` grows at its end only and is named by number, so that one body can later serve many records, and be erased
// while its records stay.
const VERSION_1: &str = "
CREATE TABLE sessions (
    session    INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    title      TEXT    NOT NULL,
    workspace  TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    head       INTEGER NOT NULL,
    records    INTEGER NOT NULL,
    nodes      INTEGER NOT NULL,
    letters    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE bodies (
    body INTEGER PRIMARY KEY,
    json TEXT    NOT NULL
) STRICT;
CREATE TABLE records (
    session INTEGER NOT NULL REFERENCES sessions (session),
    seq     INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    node    INTEGER,
    parent  INTEGER,
    at      INTEGER NOT NULL,
    layer   TEXT,
    name    TEXT,
    body    INTEGER NOT NULL REFERENCES bodies (body),
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE letters (
    session  INTEGER NOT NULL REFERENCES sessions (session),
    letter   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    consumed INTEGER,
    PRIMARY KEY (session, letter)
) STRICT, WITHOUT ROWID;
";

/// Makes the database current, or says why it cannot be used.
pub(super) async fn prepare(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    if version(connection, path).await? == MIGRATIONS.len() {
        return Ok(());
    }
    // Kept in the file; all later connections find it so.
    sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut *connection).await.map_err(fault)?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(fault)?;
    // Somebody else may have done it while we waited.
    let found = version(&mut transaction, path).await?;
    for migration in MIGRATIONS.get(found..).unwrap_or_default() {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await.map_err(fault)?;
    }
    let marks =
        format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", MIGRATIONS.len());
    sqlx::raw_sql(sqlx::AssertSqlSafe(marks)).execute(&mut *transaction).await.map_err(fault)?;
    transaction.commit().await.map_err(fault)
}

/// Returns the version of the schema, at most the newest that is known; 0 for an empty file.
async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<usize, StoreError> {
    let query = "SELECT (SELECT application_id FROM pragma_application_id),
                        (SELECT user_version FROM pragma_user_version),
                        (SELECT count(*) FROM sqlite_schema)";
    let row = sqlx::query(query).fetch_one(connection).await.map_err(|error| store_error(path, error))?;
    let number = |column: usize| row.try_get::<i64, _>(column).map_err(|error| store_error(path, error));
    let (application, found, tables) = (number(0)?, number(1)?, number(2)?);
    match (application, usize::try_from(found)) {
        (APPLICATION_ID, Ok(version @ 1..)) if version <= MIGRATIONS.len() => Ok(version),
        (APPLICATION_ID, Ok(1..)) => {
            Err(StoreError::Newer { path: path.to_owned(), found, known: MIGRATIONS.len() as i64 })
        }
        (APPLICATION_ID, _) => Err(StoreError::Corrupt {
            path: path.to_owned(),
            reason: format!("it claims schema version {found}"),
        }),
        (0, Ok(0)) if tables == 0 => Ok(0),
        _ => Err(StoreError::NotAStore {
            path: path.to_owned(),
            reason: "it is a database of another program".to_owned(),
        }),
    }
}
