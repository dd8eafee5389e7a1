//! Whole sessions come and go: imports, deletions, and the room that they leave.
//!
//! An import writes chunk by chunk into a session that nobody sees until its last chunk is committed. What a killed import
//! leaves belongs to a dead owner; the next import of the same session, or a collection, removes it.

use std::path::Path;
use std::sync::{Arc, Weak};

use sqlx::{Row, SqliteConnection};

use super::answer::Ask;
use super::append::write_records;
use super::ended::Ending;
use super::fault::store_error;
use super::leases::Owner;
use super::line::Line;
use super::rows::{get, stored};
use crate::{Collected, Header, Kept, Letter, SessionId, SessionInfo, StoreError};

/// An import whose row is committed, and not whole. Dropped before its end, it removes what it wrote.
pub(super) struct Importing {
    pub(super) key: i64,
    session: SessionId,
    owner: Arc<Owner>,
    line: Weak<Line>,
    done: bool,
}

impl Importing {
    pub(super) fn new(key: i64, session: SessionId, owner: Arc<Owner>, line: Weak<Line>) -> Self {
        owner.begin(key);
        Importing { key, session, owner, line, done: false }
    }

    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Importing {
    fn drop(&mut self) {
        self.owner.end(self.key);
        if let Some(line) = self.line.upgrade().filter(|_| !self.done)
            && let Some(owner) = self.owner.given()
        {
            let (key, session) = (self.key, self.session.clone());
            self.owner.ended.add(Ending::Import { key, session, owner });
            line.nudge();
        }
    }
}

/// Makes the row of a session that is taken in, seen by nobody unless it is `whole` at once.
pub(super) async fn begin(
    connection: &mut SqliteConnection,
    path: &Path,
    owner: &Owner,
    info: &SessionInfo,
    whole: bool,
) -> Result<i64, StoreError> {
    let fault = |error| store_error(path, error);
    let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
    let query = "SELECT session, owner, whole OR session IN (SELECT session FROM seals) AS whole FROM sessions WHERE id = ?";
    let row = sqlx::query(query).bind(info.id.as_str());
    if let Some(row) = row.maybe_row(&mut *connection).await.map_err(fault)? {
        let key: i64 = get(&row, "session").map_err(corrupt)?;
        let rest: Option<String> = get(&row, "owner").map_err(corrupt)?;
        if get::<bool>(&row, "whole").map_err(corrupt)? || owner.holds(rest.as_deref(), key)? {
            return Err(StoreError::SessionExists { session: info.id.clone() });
        }
        remove(connection, path, key).await?;
    }
    let owner_name = if whole { None } else { Some(owner.own_name()?) };
    let tags = serde_json::to_string(&info.tags).expect("words are JSON");
    let query =
        "INSERT INTO sessions (id, title, tags, archived, workspace, created_at, updated_at, head, records,
                     nodes, bytes, digest, owner, whole)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING session";
    let row = sqlx::query(query)
        .bind(info.id.as_str())
        .bind(&info.title)
        .bind(tags)
        .bind(info.archived)
        .bind(&info.workspace)
        .bind(stored(info.created_at.0))
        .bind(stored(info.updated_at.0))
        .bind(info.head.index() as i64)
        .bind(stored(info.records))
        .bind(stored(info.nodes))
        .bind(stored(info.bytes))
        .bind(info.digest.as_bytes().as_slice())
        .bind(owner_name)
        .bind(whole)
        .one_row(&mut *connection)
        .await
        .map_err(fault)?;
    let key = row.try_get(0).map_err(fault)?;
    if whole {
        seal(connection, path, key, info).await?;
    }
    Ok(key)
}

/// Seals what the row of a session says of it.
pub(super) async fn seal(
    connection: &mut SqliteConnection,
    path: &Path,
    key: i64,
    info: &SessionInfo,
) -> Result<(), StoreError> {
    let query = "INSERT INTO seals (session, digest) VALUES (?, ?) ON CONFLICT DO UPDATE SET digest = excluded.digest";
    let query = sqlx::query(query).bind(key).bind(Header::of(info).seal().as_bytes().to_vec());
    query.execute(connection).await.map(drop).map_err(|error| store_error(path, error))
}

/// Returns whether a session is still being taken in by that owner, and is the one that is meant.
pub(super) async fn is_under_way(
    connection: &mut SqliteConnection,
    path: &Path,
    key: i64,
    session: &SessionId,
    owner: &str,
) -> Result<bool, StoreError> {
    let query = "SELECT 1 FROM sessions WHERE session = ? AND id = ? AND owner = ? AND NOT whole";
    let query = sqlx::query(query).bind(key).bind(session.as_str()).bind(owner);
    let found = query.maybe_row(connection).await.map_err(|error| store_error(path, error))?;
    Ok(found.is_some())
}

/// Writes a chunk of a session that is taken in.
pub(super) async fn add(
    connection: &mut SqliteConnection,
    path: &Path,
    session: &SessionId,
    key: i64,
    chunk: &[Kept],
) -> Result<(), StoreError> {
    write_records(connection, path, session, key, chunk).await
}

/// Puts the letters that a session comes with into its inbox.
pub(super) async fn post(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
    letters: &[Letter],
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    for letter in letters {
        super::letters::post(connection, path, (key, session), letter).await?;
        let query = sqlx::query("UPDATE sessions SET letters = ? WHERE session = ?");
        query.bind(stored(letter.id.0)).bind(key).execute(&mut *connection).await.map_err(fault)?;
    }
    Ok(())
}

/// The same in a transaction of its own, if that owner is still taking it in.
pub(super) async fn go_on(
    connection: &mut SqliteConnection,
    path: &Path,
    session: &SessionId,
    (key, owner): (i64, &Owner),
    chunk: &[Kept],
) -> Result<(), StoreError> {
    if !is_under_way(connection, path, key, session, &owner.own_name()?).await? {
        return Err(removed(path, session));
    }
    add(connection, path, session, key, chunk).await
}

/// Shows a session that was taken in by that owner.
pub(super) async fn finish(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, owner): (i64, &Owner),
    info: &SessionInfo,
) -> Result<(), StoreError> {
    let query = "UPDATE sessions SET whole = 1, owner = NULL, updated_at = ?, head = ?, records = ?, nodes = ?, bytes = ?,
                     digest = ? WHERE session = ? AND id = ? AND owner = ? AND NOT whole";
    let query = sqlx::query(query)
        .bind(stored(info.updated_at.0))
        .bind(info.head.index() as i64)
        .bind(stored(info.records))
        .bind(stored(info.nodes))
        .bind(stored(info.bytes))
        .bind(info.digest.as_bytes().as_slice())
        .bind(key)
        .bind(info.id.as_str())
        .bind(owner.own_name()?);
    let done = query.execute(&mut *connection).await.map_err(|error| store_error(path, error))?;
    if done.rows_affected() != 1 {
        return Err(removed(path, &info.id));
    }
    seal(connection, path, key, info).await
}

fn removed(path: &Path, session: &SessionId) -> StoreError {
    let reason = format!("session {session} was removed while it was imported; import it again");
    StoreError::Database { place: path.display().to_string(), reason }
}

/// Removes all rows of a session, but for parts that others may have.
pub(super) async fn remove(
    connection: &mut SqliteConnection,
    path: &Path,
    key: i64,
) -> Result<(), StoreError> {
    for query in [
        "DELETE FROM cuts WHERE body IN (SELECT body FROM records WHERE session = ? AND cuts IS NOT NULL)",
        "DELETE FROM bodies WHERE body IN (SELECT body FROM records WHERE session = ?)",
        "DELETE FROM records WHERE session = ?",
        "DELETE FROM keys WHERE session = ?",
        "DELETE FROM letters WHERE session = ?",
        "DELETE FROM letter_seals WHERE session = ?",
        "DELETE FROM seals WHERE session = ?",
        "DELETE FROM snapshots WHERE session = ?",
        "DELETE FROM sessions WHERE session = ?",
    ] {
        let done = sqlx::query(query).bind(key).execute(&mut *connection).await;
        done.map_err(|error| store_error(path, error))?;
    }
    Ok(())
}

/// Removes what nothing needs, and says what that was.
pub(super) async fn collect(
    connection: &mut SqliteConnection,
    path: &Path,
    owner: &Owner,
) -> Result<Collected, StoreError> {
    let fault = |error| store_error(path, error);
    let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
    let rests =
        "SELECT session, owner FROM sessions WHERE NOT whole AND session NOT IN (SELECT session FROM seals)";
    let rests = sqlx::query(rests);
    let mut imports = 0;
    for row in rests.all_rows(&mut *connection).await.map_err(fault)? {
        let key: i64 = get(&row, "session").map_err(corrupt)?;
        let rest: Option<String> = get(&row, "owner").map_err(corrupt)?;
        if !owner.holds(rest.as_deref(), key)? {
            remove(connection, path, key).await?;
            imports += 1;
        }
    }
    let gone = "DELETE FROM parts WHERE NOT EXISTS (SELECT 1 FROM cuts WHERE cuts.part = parts.part)
                RETURNING length(CAST(text AS BLOB))";
    let gone: Vec<i64> = sqlx::query(gone).values(connection).await.map_err(fault)?;
    let bytes = gone.iter().map(|bytes| bytes.unsigned_abs()).sum();
    Ok(Collected::new(gone.len() as u64, bytes, imports))
}
