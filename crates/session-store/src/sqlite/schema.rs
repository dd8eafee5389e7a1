//! The tables, and how an older database becomes a current one.
//!
//! A file is looked at before anything is changed in it: another program's database must not even be switched to
//! write-ahead logging by being named by mistake.

use std::path::Path;

use sqlx::{Connection, Row, SqliteConnection};

use super::answer::Ask;
use super::fault::store_error;
use super::migrate;
use super::shape::Shape;
use crate::StoreError;

/// Marks the file as ours in bytes 68 to 71 of its header: `TRKL`.
const APPLICATION_ID: i64 = 0x5452_4b4c;

/// The version that this program writes.
pub(super) const VERSION: usize = 5;
/// The first version in which what sessions' rows say is sealed.
pub(super) const SEALED: usize = 3;
/// The first version in which letters that wait are sealed.
pub(super) const LETTERS_SEALED: usize = 4;

// `records` is the spine: narrow rows in the order of a log, so that listing and walking never touch the bodies.
// `bodies` grows at its end only. Large strings of bodies are cut out of them and stored once, as `parts`.
//
// A session's number is never given again, so that a lease that outlives its session names nothing, and what was promised
// about a session is not held against another.
//
// In a linear conversation the parent of each node is the node before it; the index `branches` has the others, so the
// shape of a tree is read without reading its spine.
const TABLES: &str = "
CREATE TABLE sessions (
    session    INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT    NOT NULL UNIQUE,
    title      TEXT    NOT NULL,
    tags       TEXT    NOT NULL DEFAULT '[]',
    archived   INTEGER NOT NULL DEFAULT 0,
    workspace  TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    head       INTEGER NOT NULL,
    records    INTEGER NOT NULL,
    nodes      INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    digest     BLOB    NOT NULL,
    letters    INTEGER NOT NULL DEFAULT 0,
    consumed   INTEGER NOT NULL DEFAULT 0,
    token      INTEGER NOT NULL DEFAULT 0,
    owner      TEXT,
    whole      INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE TABLE bodies (
    body INTEGER PRIMARY KEY,
    json TEXT    NOT NULL
) STRICT;
CREATE TABLE records (
    session INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    node    INTEGER,
    parent  INTEGER,
    at      INTEGER NOT NULL,
    body    INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    layer   TEXT,
    name    TEXT,
    key     TEXT,
    state   TEXT,
    once    INTEGER,
    cuts    INTEGER,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX branches ON records (session, node, parent, kind) WHERE kind < 2 AND parent <> node - 1;
CREATE INDEX blobs ON records (session, key) WHERE kind = 4;
CREATE TABLE parts (
    part   INTEGER PRIMARY KEY,
    digest BLOB    NOT NULL UNIQUE,
    text   TEXT    NOT NULL
) STRICT;
CREATE TABLE cuts (
    body  INTEGER NOT NULL,
    place INTEGER NOT NULL,
    part  INTEGER NOT NULL,
    PRIMARY KEY (body, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX cuts_of ON cuts (part);
CREATE TABLE keys (
    session INTEGER NOT NULL,
    layer   TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    first   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (session, layer, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_state ON keys (layer, kind, state);
CREATE TABLE letters (
    session  INTEGER NOT NULL,
    letter   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    consumed INTEGER,
    PRIMARY KEY (session, letter)
) STRICT, WITHOUT ROWID;
";

// What a session's row says and no record does is sealed by a digest, which only those have that are whole. Since version 3.
const SEALS: &str = "
CREATE TABLE seals (
    session INTEGER PRIMARY KEY,
    digest  BLOB    NOT NULL
) STRICT;
";

// A letter is sealed by a digest as long as it waits. Since version 4.
const LETTER_SEALS: &str = "
CREATE TABLE letter_seals (
    session INTEGER NOT NULL,
    letter  INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    PRIMARY KEY (session, letter)
) STRICT, WITHOUT ROWID;
";

// What was made of the beginning of a log, and can be made again. The bytes come last: what stands before them is on the first
// page of the row. Since version 5.
const SNAPSHOTS: &str = "
CREATE TABLE snapshots (
    session INTEGER PRIMARY KEY,
    seq     INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    form    INTEGER NOT NULL,
    seal    BLOB    NOT NULL,
    bytes   BLOB    NOT NULL
) STRICT;
";

/// Makes the database current, or says why it cannot be used. Returns the version that it had, if it was older.
///
/// An older one that others have open stays as it is: those of that version would go on writing it without what was added, and
/// what they write would look damaged.
pub(super) async fn prepare(
    connection: &mut SqliteConnection,
    path: &Path,
    is_shared: bool,
) -> Result<Option<usize>, StoreError> {
    let fault = |error| store_error(path, error);
    let found = version(connection, path).await?;
    check(connection, path, found).await?;
    if found == VERSION {
        return Ok(None);
    }
    if found > 0 && is_shared {
        return Err(StoreError::InUse { place: path.display().to_string() });
    }
    // Kept in the file; all later connections find it so.
    sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut *connection).await.map_err(fault)?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(fault)?;
    // Somebody else may have done it while we waited.
    let found = version(&mut transaction, path).await?;
    check(&mut transaction, path, found).await?;
    match found {
        VERSION => return Ok(None),
        1 => {
            sqlx::raw_sql(migrate::SET_ASIDE_1).execute(&mut *transaction).await.map_err(fault)?;
            sqlx::raw_sql(TABLES).execute(&mut *transaction).await.map_err(fault)?;
            migrate::from_1(&mut transaction, path).await?;
        }
        2..VERSION => {}
        _ => {
            sqlx::raw_sql(TABLES).execute(&mut *transaction).await.map_err(fault)?;
        }
    }
    // A process of an older version may have marked it as its own again.
    for later in [SEALS, LETTER_SEALS, SNAPSHOTS] {
        let later = later.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS");
        sqlx::raw_sql(sqlx::AssertSqlSafe(later)).execute(&mut *transaction).await.map_err(fault)?;
    }
    if found < SEALED {
        migrate::seal(&mut transaction, path).await?;
    }
    migrate::seal_letters(&mut transaction, path).await?;
    // It does not remove them with their sessions.
    sqlx::raw_sql("DELETE FROM snapshots").execute(&mut *transaction).await.map_err(fault)?;
    let marks = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(marks)).execute(&mut *transaction).await.map_err(fault)?;
    transaction.commit().await.map_err(fault)?;
    Ok((found > 0).then_some(found))
}

/// Returns the statements that make the tables of a version; none where it is not known to the byte how they were made.
pub(super) fn statements(version: usize) -> &'static [&'static str] {
    match version {
        VERSION => &[TABLES, SEALS, LETTER_SEALS, SNAPSHOTS],
        LETTERS_SEALED => &[TABLES, SEALS, LETTER_SEALS],
        SEALED => &[TABLES, SEALS],
        2 => &[TABLES],
        _ => &[],
    }
}

/// Makes sure that the tables are those of a version, before anybody reads from them.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    path: &Path,
    version: usize,
) -> Result<(), StoreError> {
    let shape = Shape::read(connection).await.map_err(|error| store_error(path, error))?;
    match shape.damage(statements(version)) {
        Some(reason) => Err(StoreError::Corrupt { place: path.display().to_string(), reason }),
        None => Ok(()),
    }
}

/// Returns the version that the first bytes of a database say, as [`version`] would.
pub(super) fn version_in(first_page: &[u8], path: &Path) -> Result<usize, StoreError> {
    let number = |at: usize| {
        let bytes = first_page.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
        bytes.copied().map(i32::from_be_bytes).map(i64::from).unwrap_or_default()
    };
    // Offsets from sqlite.org/fileformat2.html#the_database_header and, for the number of tables, #b_tree_pages, read
    // 2026-11.
    let tables = first_page.get(103..).and_then(|bytes| bytes.first_chunk::<2>());
    let tables = tables.copied().map(u16::from_be_bytes).unwrap_or_default();
    judge(number(68), number(60), i64::from(tables), path)
}

/// Returns the version of the schema, at most the newest that is known; 0 for an empty file.
pub(super) async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<usize, StoreError> {
    let query = "SELECT (SELECT application_id FROM pragma_application_id),
                        (SELECT user_version FROM pragma_user_version),
                        (SELECT count(*) FROM sqlite_schema)";
    let row = sqlx::query(query).one_row(connection).await.map_err(|error| store_error(path, error))?;
    let number = |column: usize| row.try_get::<i64, _>(column).map_err(|error| store_error(path, error));
    judge(number(0)?, number(1)?, number(2)?, path)
}

fn judge(application: i64, found: i64, tables: i64, path: &Path) -> Result<usize, StoreError> {
    let place = || path.display().to_string();
    match (application, usize::try_from(found)) {
        (APPLICATION_ID, Ok(version @ 1..=VERSION)) => Ok(version),
        (APPLICATION_ID, Ok(1..)) => Err(StoreError::Newer { place: place(), found, known: VERSION as i64 }),
        (APPLICATION_ID, _) => {
            Err(StoreError::Corrupt { place: place(), reason: format!("it claims schema version {found}") })
        }
        (0, Ok(0)) if tables == 0 => Ok(0),
        _ => Err(StoreError::NotAStore {
            place: place(),
            reason: "it is a database of another program".to_owned(),
        }),
    }
}
