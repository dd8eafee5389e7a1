//! Makes anew, in one transaction, what follows from the logs. No record is touched.

use std::path::Path;

use sqlx::{Connection, SqliteConnection};

use super::source::{self, Found, Keys, Walk};
use crate::StoreError;
use crate::sqlite::doctor::examine::wrong_parts;
use crate::sqlite::fault::store_error;
use crate::sqlite::rows::stored;
use crate::sqlite::{letters, restore, schema, snapshots};

/// Mends what can be mended in place.
pub(super) async fn mend(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let version = schema::version(connection, path).await?;
    let is_sealed = version >= schema::SEALED;
    let are_letters_sealed = letters::are_sealed(connection).await;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(fault)?;
    // Before anything is looked up in an index.
    sqlx::query("REINDEX").execute(&mut *transaction).await.map_err(fault)?;
    for (part, digest) in wrong_parts(&mut transaction).await {
        let query = sqlx::query("UPDATE parts SET digest = ? WHERE part = ?");
        let query = query.bind(digest.as_bytes().as_slice()).bind(part);
        query.execute(&mut *transaction).await.map_err(fault)?;
    }
    for found in source::sessions(&mut transaction).await.found.iter().filter(|found| found.is_session()) {
        session(&mut transaction, path, found, (is_sealed, are_letters_sealed)).await?;
        if version == schema::VERSION {
            snapshots::mend(&mut transaction, path, (found.key, &found.id)).await?;
        }
    }
    if version == schema::VERSION {
        snapshots::remove_left(&mut transaction, path).await?;
    }
    transaction.commit().await.map_err(fault)
}

async fn session(
    connection: &mut SqliteConnection,
    path: &Path,
    found: &Found,
    (is_sealed, are_letters_sealed): (bool, bool),
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let mut keys = Keys::new();
    let mut walk = Walk::new(connection, found);
    while let Some(kept) = walk.next().await {
        source::count_key(&mut keys, &kept);
    }
    if let Some(reason) = walk.stopped {
        return Err(StoreError::BadRecord { session: found.id.clone(), seq: walk.tally.seq + 1, reason });
    }
    let tally = walk.tally;
    let inbox = letters::all(connection, found.key, &found.id, are_letters_sealed).await;
    if let Some(reason) = inbox.faults().into_iter().next() {
        return Err(StoreError::Corrupt { place: path.display().to_string(), reason });
    }
    let last = inbox.letters.last().map_or(0, |row| stored(row.letter.id.0));
    let consumed = inbox.letters.iter().filter(|row| row.consumed.is_some()).count();
    let query = "UPDATE sessions SET head = ?, records = ?, nodes = ?, bytes = ?, updated_at = ?, digest = ?,
                     letters = max(letters, ?), consumed = ?, whole = 1 WHERE session = ?";
    sqlx::query(query)
        .bind(tally.head.index() as i64)
        .bind(stored(tally.seq))
        .bind(stored(tally.nodes))
        .bind(stored(tally.bytes))
        .bind(stored(tally.updated_at.0))
        .bind(tally.digest.as_bytes().as_slice())
        .bind(last)
        .bind(consumed as i64)
        .bind(found.key)
        .execute(&mut *connection)
        .await
        .map_err(fault)?;
    if is_sealed {
        restore::seal(connection, path, found.key, &source::info(found, &tally)).await?;
    }
    let clear = sqlx::query("DELETE FROM keys WHERE session = ?").bind(found.key);
    clear.execute(&mut *connection).await.map_err(fault)?;
    for ((layer, kind, key), (state, first, seq)) in &keys {
        let query =
            "INSERT INTO keys (session, layer, kind, key, state, first, seq) VALUES (?, ?, ?, ?, ?, ?, ?)";
        let query = sqlx::query(query).bind(found.key).bind(layer).bind(kind).bind(key).bind(state);
        let query = query.bind(stored(*first)).bind(stored(*seq));
        query.execute(&mut *connection).await.map_err(fault)?;
    }
    Ok(())
}
