//! Snapshots as rows, each under a seal.
//!
//! They can be made again, so whatever is wrong with one is answered as if there were none, and a new one takes its place.

use std::path::Path;
use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Executor, Sqlite, SqliteConnection};

use super::answer::Ask;
use super::append;
use super::fault::store_error;
use super::leases::Held;
use super::rows::{self, get, read, stored};
use crate::{Digest, SessionId, Snapshot, StoreError};

/// Puts a snapshot in the place of the one before, if the lease has not ended and the log has the record that it goes up to.
pub(super) async fn keep(
    connection: &mut SqliteConnection,
    path: &Path,
    held: Arc<Held>,
    snapshot: Snapshot,
) -> Result<(), StoreError> {
    append::under(connection, path, &held).await?;
    let fault = |error| store_error(path, error);
    if digest_of(&mut *connection, held.key, snapshot.seq).await.map_err(fault)? != Some(snapshot.digest) {
        return Err(snapshot.of_another(held.session()));
    }
    let seal = snapshot.seal(held.session());
    let Snapshot { seq, digest, form, bytes } = snapshot;
    let query = "INSERT INTO snapshots (session, seq, digest, form, seal, bytes) VALUES (?, ?, ?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET seq = excluded.seq, digest = excluded.digest, form = excluded.form,
                     seal = excluded.seal, bytes = excluded.bytes";
    let query = sqlx::query(query).bind(held.key).bind(stored(seq)).bind(digest.as_bytes().to_vec());
    let query = query.bind(form).bind(seal.as_bytes().to_vec()).bind(bytes);
    query.execute(connection).await.map(drop).map_err(fault)
}

/// Returns the snapshot of a session, if it is what was kept and was made of its log.
pub(super) async fn kept<'c>(
    connection: impl Executor<'c, Database = Sqlite>,
    (key, session): (i64, &SessionId),
) -> sqlx::Result<Option<Snapshot>> {
    // One moment for both.
    let query = "SELECT seq, snapshots.digest, form, seal, bytes FROM snapshots
                 JOIN records USING (session, seq, digest) WHERE session = ?";
    let row = sqlx::query(query).bind(key).maybe_row(connection).await?;
    Ok(row.and_then(|row| sound(&row, session)))
}

/// Returns the snapshot that a row has, if it is what was kept.
fn sound(row: &SqliteRow, session: &SessionId) -> Option<Snapshot> {
    let (seq, form) = (read(get(row, "seq").ok()?), get(row, "form").ok()?);
    let digest = rows::digest(get(row, "digest").ok()?).ok()?;
    let snapshot = Snapshot { seq, digest, form, bytes: get(row, "bytes").ok()? };
    let seal: Vec<u8> = get(row, "seal").ok()?;
    (seal == snapshot.seal(session).as_bytes()).then_some(snapshot)
}

/// Returns the digest of a record, if there is one with that number.
async fn digest_of(connection: &mut SqliteConnection, key: i64, seq: u64) -> sqlx::Result<Option<Digest>> {
    let query = sqlx::query("SELECT digest FROM records WHERE session = ? AND seq = ?");
    let found: Option<Vec<u8>> = query.bind(key).bind(stored(seq)).maybe_value(connection).await?;
    Ok(found.and_then(|bytes| rows::digest(bytes).ok()))
}

/// Returns whether what a session has for a snapshot, if it has one, would be given back.
pub(super) async fn is_sound(
    connection: &mut SqliteConnection,
    (key, session): (i64, &SessionId),
) -> sqlx::Result<bool> {
    let query = sqlx::query("SELECT count(*) FROM snapshots WHERE session = ?").bind(key);
    let count: i64 = query.value(&mut *connection).await?;
    Ok(count == 0 || kept(connection, (key, session)).await?.is_some())
}

/// Removes the snapshot of a session if it would not be given back.
pub(super) async fn mend(
    connection: &mut SqliteConnection,
    path: &Path,
    (key, session): (i64, &SessionId),
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    if is_sound(connection, (key, session)).await.map_err(fault)? {
        return Ok(());
    }
    let query = sqlx::query("DELETE FROM snapshots WHERE session = ?").bind(key);
    query.execute(connection).await.map(drop).map_err(fault)
}

/// Returns how many snapshots there are of sessions that are gone.
pub(super) async fn count_left(connection: &mut SqliteConnection) -> sqlx::Result<i64> {
    let query = "SELECT count(*) FROM snapshots WHERE session NOT IN (SELECT session FROM sessions)";
    sqlx::query(query).value(connection).await
}

/// Removes them.
pub(super) async fn remove_left(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let query = "DELETE FROM snapshots WHERE session NOT IN (SELECT session FROM sessions)";
    let query = sqlx::query(query).execute(connection).await;
    query.map(drop).map_err(|error| store_error(path, error))
}
