//! Snapshots as rows, each under a seal.
//!
//! They can be made again, so whatever is wrong with one is answered as if there were none, and a new one takes its place.

use std::sync::Arc;

use tokio_postgres::Row;

use super::Inner;
use super::bind::{Bind, get};
use super::fault::Fault;
use super::line::Held;
use super::link::{Level, Link};
use super::rows::{self, stored};
use super::tries::attempt;
use super::writing::look;
use crate::{SessionId, Snapshot, StoreError};

impl Inner {
    pub(super) async fn snapshot(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.must_exist(session).await?;
        // One moment for both.
        let sql = "SELECT s.seq, s.digest, s.form, s.seal, s.bytes FROM @snapshots s
                   JOIN @records r ON r.session = s.session AND r.seq = s.seq AND r.digest = s.digest
                   WHERE s.session = $1::uuid";
        match self.query(sql, || Bind::new().session(session)).await {
            Ok(found) => Ok(found.first().and_then(|row| sound(row, session))),
            // The server is away, which has nothing to do with what it keeps.
            Err(error @ (StoreError::Busy { .. } | StoreError::Io { .. })) => Err(error),
            Err(_) => Ok(None),
        }
    }

    pub(super) async fn keep_snapshot(
        self: &Arc<Self>,
        held: &Held,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        // It may have been made of what stands in line.
        held.settle().await;
        attempt!(self.links, |link| keep(&mut link, held, snapshot))
    }
}

/// Puts a snapshot in the place of the one before, if the lease has not ended and the log has the record that it goes up to.
///
/// The row of the session is shared with appends; only a deletion waits for it, and then takes the snapshot along.
async fn keep(link: &mut Link, held: &Held, snapshot: &Snapshot) -> Result<Result<(), StoreError>, Fault> {
    let session = &held.session;
    let sql = "WITH held AS (
                   SELECT s.session FROM @sessions s WHERE s.session = $1::uuid AND s.complete AND s.token = $2
                       AND s.owner = $3::uuid AND s.claim = $4 FOR KEY SHARE
               )
               INSERT INTO @snapshots AS k (session, seq, digest, form, seal, bytes)
               SELECT held.session, $5, $6, $7, $8, $9 FROM held
               JOIN @records r ON r.session = held.session AND r.seq = $5 AND r.digest = $6
               ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, digest = excluded.digest,
                   form = excluded.form, seal = excluded.seal, bytes = excluded.bytes
               RETURNING 1";
    let bind = Bind::new().session(session).with(stored(held.grant.token)).with(&held.grant.owner);
    let bind = bind.with(held.grant.claim).with(stored(snapshot.seq));
    let bind = bind.with(snapshot.digest.as_bytes().as_slice()).with(i64::from(snapshot.form));
    let bind = bind.with(snapshot.seal(session).as_bytes().as_slice()).with(&snapshot.bytes);
    if !link.write(Level::Committed, sql, bind).await?.is_empty() {
        return Ok(Ok(()));
    }
    Ok(match look(link, session, &held.grant).await? {
        Ok(_) => Err(snapshot.of_another(session)),
        Err(error) => Err(error),
    })
}

/// Returns the snapshot that a row has, if it is what was kept.
fn sound(row: &Row, session: &SessionId) -> Option<Snapshot> {
    let seq = rows::read(get(row, "seq").ok()?);
    let form = u32::try_from(get::<i64>(row, "form").ok()?).ok()?;
    let digest = rows::digest_of(&get::<Vec<u8>>(row, "digest").ok()?).ok()?;
    let snapshot = Snapshot { seq, digest, form, bytes: get(row, "bytes").ok()? };
    let seal: Vec<u8> = get(row, "seal").ok()?;
    (seal == snapshot.seal(session).as_bytes()).then_some(snapshot)
}
