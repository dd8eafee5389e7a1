//! Databases of past versions become current ones, in the transaction that `schema` has begun.
//!
//! Never change how an old version is read: databases of every past version must still open.

use std::path::Path;

use sqlx::{Row, SqliteConnection};
use trunkline_message_tree::{Link, NodeId, Timestamp};

use super::answer::Ask;
use super::fault::store_error;
use super::rows::{self, RecordRow, get, stored};
use super::{letters, restore};
use crate::{Kept, SessionId, Spine, StoreError, Tally};

/// How many records are read at once.
const PAGE: i64 = 512;

/// Moves the tables of version 1 out of the way of the current ones. Its indices go with them.
pub(super) const SET_ASIDE_1: &str = "
ALTER TABLE sessions RENAME TO sessions_1;
ALTER TABLE records RENAME TO records_1;
ALTER TABLE bodies RENAME TO bodies_1;
ALTER TABLE letters RENAME TO letters_1;
";

// Version 1 has no digests; the bodies are the same and their numbers stay.
const COPY_1: &str = "
INSERT INTO bodies (body, json) SELECT body, json FROM bodies_1;
INSERT INTO letters (session, letter, at, kind, body, consumed)
    SELECT session, letter, at, kind, body, consumed FROM letters_1;
INSERT INTO sessions (session, id, title, workspace, created_at, updated_at, head, records, nodes, bytes, digest,
                      letters, consumed)
    SELECT session, id, title, workspace, created_at, updated_at, head, records, nodes, 0, zeroblob(32), letters,
           (SELECT count(*) FROM letters_1 AS gone
            WHERE gone.session = sessions_1.session AND gone.consumed IS NOT NULL)
    FROM sessions_1;
";

const DROP_1: &str = "
DROP TABLE records_1;
DROP TABLE bodies_1;
DROP TABLE letters_1;
DROP TABLE sessions_1;
";

/// Fills the current tables from those of version 1 and chains their records.
pub(super) async fn from_1(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    sqlx::raw_sql(COPY_1).execute(&mut *connection).await.map_err(fault)?;
    let sessions =
        sqlx::query("SELECT session, id, created_at FROM sessions").all_rows(&mut *connection).await;
    let sessions = sessions.map_err(fault)?;
    for row in sessions {
        let key: i64 = row.try_get(0).map_err(fault)?;
        let id: String = row.try_get(1).map_err(fault)?;
        let corrupt = |reason: String| StoreError::Corrupt { place: path.display().to_string(), reason };
        let id = SessionId::parse(&id).map_err(|error| corrupt(error.to_string()))?;
        let created_at: i64 = row.try_get(2).map_err(fault)?;
        chain(connection, path, key, Tally::new(&id, Timestamp(rows::read(created_at))), &id).await?;
    }
    sqlx::raw_sql(DROP_1).execute(&mut *connection).await.map_err(fault)?;
    Ok(())
}

/// Seals what the rows of all sessions say: before version 3 nothing proved it, so it is taken as it stands.
pub(super) async fn seal(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let rows = sqlx::query("SELECT * FROM sessions WHERE whole").all_rows(&mut *connection).await;
    for row in rows.map_err(|error| store_error(path, error))? {
        let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
        let key = get(&row, "session").map_err(corrupt)?;
        restore::seal(connection, path, key, &rows::info(&row).map_err(corrupt)?).await?;
    }
    Ok(())
}

/// Seals the letters of all sessions that wait.
pub(super) async fn seal_letters(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    sqlx::raw_sql("DELETE FROM letter_seals").execute(&mut *connection).await.map_err(fault)?;
    // Whatever else of a row cannot be read is told when the session is.
    let rows = sqlx::query("SELECT session, id FROM sessions").all_rows(&mut *connection);
    for row in rows.await.map_err(fault)? {
        let (key, id) = (row.try_get::<i64, _>(0), row.try_get::<String, _>(1));
        if let (Ok(key), Ok(Ok(id))) = (key, id.map(|id| SessionId::parse(&id))) {
            letters::seal_waiting(connection, path, (key, &id)).await?;
        }
    }
    Ok(())
}

/// Chains the records of one session. A record that cannot be read stops it: nothing is skipped.
async fn chain(
    connection: &mut SqliteConnection,
    path: &Path,
    key: i64,
    mut tally: Tally,
    id: &SessionId,
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let query = "SELECT seq, kind, node, parent, at, layer, name, body, json
                 FROM records_1 LEFT JOIN bodies_1 USING (body)
                 WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?";
    loop {
        let page = sqlx::query(query).bind(key).bind(stored(tally.seq)).bind(PAGE);
        let page = page.all_rows(&mut *connection).await.map_err(fault)?;
        if page.is_empty() {
            break;
        }
        for row in &page {
            let seq = tally.seq + 1;
            let bad = |reason| StoreError::BadRecord { session: id.clone(), seq, reason };
            let (spine, json) = record_1(row, seq).map_err(bad)?;
            let body: i64 = get(row, "body").map_err(bad)?;
            let kept = Kept::chained(seq, spine, json, tally.digest);
            // A chain must not prove what was damaged before it was made.
            tally.add_kept(id, &kept)?;
            let row = RecordRow::of(&kept);
            sqlx::query(
                "INSERT INTO records (session, seq, kind, node, parent, at, body, digest, layer, name)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(key)
            .bind(stored(seq))
            .bind(row.kind)
            .bind(row.node)
            .bind(row.parent)
            .bind(row.at)
            .bind(body)
            .bind(kept.digest.as_bytes().as_slice())
            .bind(row.layer)
            .bind(row.name)
            .execute(&mut *connection)
            .await
            .map_err(fault)?;
        }
    }
    let query = "UPDATE sessions SET bytes = ?, digest = ?, updated_at = ? WHERE session = ?
                 RETURNING records, nodes, head";
    let query = sqlx::query(query).bind(stored(tally.bytes)).bind(tally.digest.as_bytes().as_slice());
    let query = query.bind(stored(tally.updated_at.0)).bind(key);
    let row = query.one_row(&mut *connection).await.map_err(fault)?;
    let (records, nodes): (i64, i64) = (row.try_get(0).map_err(fault)?, row.try_get(1).map_err(fault)?);
    let head: i64 = row.try_get(2).map_err(fault)?;
    if (records, nodes, head) == (stored(tally.seq), stored(tally.nodes), tally.head.index() as i64) {
        return Ok(());
    }
    let reason = format!(
        "the log ends at {} with {} nodes, the session says record {records} with head n{head} and {nodes} nodes",
        tally.position(),
        tally.nodes
    );
    Err(StoreError::BadRecord { session: id.clone(), seq: tally.seq + 1, reason })
}

pub(super) fn record_1(row: &sqlx::sqlite::SqliteRow, seq: u64) -> Result<(Spine, String), String> {
    let found: i64 = get(row, "seq")?;
    if found != stored(seq) {
        return Err(format!("record {found} stands in its place"));
    }
    let json: Option<String> = get(row, "json")?;
    let json = json.ok_or("its body is missing")?;
    let at = Timestamp(rows::read(get(row, "at")?));
    let node = |column| -> Result<Option<NodeId>, String> {
        get::<Option<i64>>(row, column)?.map(|number| rows::node(column, number)).transpose()
    };
    let name = |column| -> Result<String, String> {
        get::<Option<String>>(row, column)?.ok_or_else(|| format!("its {column} is missing"))
    };
    let kind: String = get(row, "kind")?;
    let spine = match kind.as_str() {
        "node" | "filed" => Spine::Node {
            id: node("node")?.ok_or("its node is missing")?,
            parent: node("parent")?,
            at,
            link: if kind == "filed" { Link::Filed } else { Link::Next },
        },
        "move" => Spine::Move {
            from: node("parent")?.ok_or("the start of the move is missing")?,
            to: node("node")?.ok_or("the end of the move is missing")?,
            at,
        },
        "note" => Spine::Note { layer: name("layer")?, kind: name("name")?, at, key: None },
        _ => return Err(format!("its kind is {kind:?}")),
    };
    Ok((spine, json))
}
