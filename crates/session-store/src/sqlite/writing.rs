//! The one connection that writes.
//!
//! Transactions begin with `BEGIN IMMEDIATE`: a deferred one that writes later is refused at once where this one waits
//! its turn.
//!
//! Every write runs in a task of its own, so whoever waits for it may go away without cutting it in half. After a fault
//! the connection is thrown away: SQLite may have rolled back by itself, and a connection that believes otherwise would
//! refuse every later write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, QueryBuilder, Row, Sqlite, SqliteConnection};
use tokio::sync::{Mutex, MutexGuard};
use trunkline_message_tree::Timestamp;

use super::fault::store_error;
use super::lock::Held;
use super::rows::{self, RecordRow, stored};
use crate::tally::Tally;
use crate::{Batch, InboxId, Log, Receipt, Record, SessionId, StoreError};

/// How many records one statement inserts. Each number is a statement of its own in the connection's cache.
const RECORDS_PER_STATEMENT: usize = 64;

/// The writing side of a database.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    seat: Mutex<Seat>,
}

#[derive(Debug)]
struct Seat {
    options: SqliteConnectOptions,
    // `None` while a write is under way, after a fault, and after closing.
    connection: Option<SqliteConnection>,
}

/// A transaction, once its first statement begins it. Dropped before its end it rolls back, because its connection goes with it.
struct Writing<'a> {
    path: &'a Path,
    seat: MutexGuard<'a, Seat>,
    connection: SqliteConnection,
}

impl Writer {
    /// Returns a writer that begins with an open connection and makes others like it.
    pub(super) fn new(path: PathBuf, options: SqliteConnectOptions, first: SqliteConnection) -> Self {
        Writer { path, seat: Mutex::new(Seat { options, connection: Some(first) }) }
    }

    /// Changes how large the database may become; takes effect with a new connection.
    pub(super) async fn set_size_limit(&self, bytes: Option<u64>) {
        // 4096 is the page size of databases that this crate makes; 4294967294 the most that SQLite allows.
        let pages = bytes.map_or(4_294_967_294, |bytes| (bytes / 4096).clamp(1, 4_294_967_294));
        let mut seat = self.seat.lock().await;
        seat.options = seat.options.clone().pragma("max_page_count", pages.to_string());
        discard(seat.connection.take()).await;
    }

    /// Closes the connection after the write that is under way.
    pub(super) async fn close(&self) {
        let mut seat = self.seat.lock().await;
        discard(seat.connection.take()).await;
    }

    /// Writes a whole session.
    pub(super) async fn restore(self: &Arc<Self>, log: Log) -> Result<(), StoreError> {
        let writer = Arc::clone(self);
        self.to_the_end(async move {
            let mut writing = writer.begin().await?;
            let result = insert_session(&mut writing, &log).await;
            writing.end(result).await
        })
        .await
    }

    /// Writes a batch; `guard` keeps the session's lock until it is done.
    pub(super) async fn append(
        self: &Arc<Self>,
        session: SessionId,
        guard: Arc<Held>,
        batch: Batch,
    ) -> Result<Receipt, StoreError> {
        let writer = Arc::clone(self);
        self.to_the_end(async move {
            let mut writing = writer.begin().await?;
            let result = insert_batch(&mut writing, &session, &batch).await;
            let receipt = writing.end(result).await;
            drop(guard);
            receipt
        })
        .await
    }

    /// Writes a title.
    pub(super) async fn set_title(
        self: &Arc<Self>,
        session: SessionId,
        title: String,
    ) -> Result<(), StoreError> {
        let writer = Arc::clone(self);
        self.to_the_end(async move {
            let mut writing = writer.begin().await?;
            let result = update_title(&mut writing, session, &title).await;
            writing.end(result).await
        })
        .await
    }

    /// Writes a letter.
    pub(super) async fn post(
        self: &Arc<Self>,
        session: SessionId,
        kind: String,
        body: String,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        let writer = Arc::clone(self);
        self.to_the_end(async move {
            let mut writing = writer.begin().await?;
            let result = insert_letter(&mut writing, session, &kind, &body, at).await;
            writing.end(result).await
        })
        .await
    }

    /// Waits for its turn. The transaction begins with the first statement: `BEGIN` in a message of its own to the
    /// connection's thread would cost a tenth of the whole append.
    async fn begin(&self) -> Result<Writing<'_>, StoreError> {
        let mut seat = self.seat.lock().await;
        let connection = match seat.connection.take() {
            Some(connection) => connection,
            None => SqliteConnection::connect_with(&seat.options).await.map_err(|error| self.fault(error))?,
        };
        Ok(Writing { path: &self.path, seat, connection })
    }

    /// Runs a write in a task that nobody can cancel.
    async fn to_the_end<T: Send + 'static>(
        &self,
        write: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let ended = tokio::spawn(write).await;
        // Only the end of the whole runtime leads here.
        ended.unwrap_or_else(|error| {
            Err(StoreError::Database {
                path: self.path.clone(),
                reason: format!("the write did not end: {error}"),
            })
        })
    }

    fn fault(&self, error: sqlx::Error) -> StoreError {
        store_error(&self.path, error)
    }
}

impl Writing<'_> {
    /// Commits what succeeded and rolls back what did not.
    async fn end<T>(mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let statement = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        match sqlx::query(statement).execute(&mut self.connection).await {
            Ok(_) => {
                self.seat.connection = Some(self.connection);
                result
            }
            Err(error) => {
                let fault = self.fault(error);
                discard(Some(self.connection)).await;
                // A failed rollback says nothing new: the transaction is gone, with its connection if not before.
                Err(result.err().unwrap_or(fault))
            }
        }
    }

    fn fault(&self, error: sqlx::Error) -> StoreError {
        store_error(self.path, error)
    }
}

async fn discard(connection: Option<SqliteConnection>) {
    if let Some(connection) = connection {
        // It is gone whether it says so or not.
        let _ = connection.close().await;
    }
}

async fn insert_session(writing: &mut Writing<'_>, log: &Log) -> Result<(), StoreError> {
    let info = &log.info;
    let query = "BEGIN IMMEDIATE; INSERT INTO sessions (id, title, workspace, created_at, updated_at, head, records, nodes)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING session";
    let inserted = sqlx::query(query)
        .bind(info.id.as_str())
        .bind(&info.title)
        .bind(&info.workspace)
        .bind(stored(info.created_at.0))
        .bind(stored(info.updated_at.0))
        .bind(info.head.index() as i64)
        .bind(stored(info.records))
        .bind(stored(info.nodes))
        .fetch_optional(&mut writing.connection)
        .await
        .map_err(|error| writing.fault(error))?;
    let row = inserted.ok_or_else(|| StoreError::SessionExists { session: info.id.clone() })?;
    let key: i64 = row.try_get(0).map_err(|error| writing.fault(error))?;
    let last_body = sqlx::query_scalar("SELECT coalesce(max(body), 0) FROM bodies");
    let last_body: i64 =
        last_body.fetch_one(&mut writing.connection).await.map_err(|error| writing.fault(error))?;
    let numbered: Vec<(u64, &Record)> = log.records.iter().map(|(seq, record)| (*seq, record)).collect();
    insert_records(writing, &info.id, key, last_body, &numbered, Tally::of(info)).await
}

async fn insert_batch(
    writing: &mut Writing<'_>,
    session: &SessionId,
    batch: &Batch,
) -> Result<Receipt, StoreError> {
    let query = "BEGIN IMMEDIATE;
         SELECT *, (SELECT coalesce(max(body), 0) FROM bodies) AS last_body FROM sessions WHERE id = ?";
    let row = sqlx::query(query).bind(session.as_str()).fetch_optional(&mut writing.connection).await;
    let row = row.map_err(|error| writing.fault(error))?;
    let row = row.ok_or_else(|| StoreError::UnknownSession { session: session.clone() })?;
    let corrupt = |reason| StoreError::Corrupt { path: writing.path.to_owned(), reason };
    let info = rows::info(&row).map_err(corrupt)?;
    let key: i64 = rows::get(&row, "session").map_err(corrupt)?;
    let last_body: i64 = rows::get(&row, "last_body").map_err(corrupt)?;
    let tally = batch.check(session, Tally::of(&info))?;
    for letter in &batch.consumed {
        let query = "UPDATE letters SET consumed = ? WHERE session = ? AND letter = ? AND consumed IS NULL";
        let query = sqlx::query(query).bind(stored(tally.seq)).bind(key).bind(stored(letter.0));
        let done = query.execute(&mut writing.connection).await.map_err(|error| writing.fault(error))?;
        if done.rows_affected() == 0 {
            return Err(StoreError::NoSuchLetter { session: session.clone(), letter: *letter });
        }
    }
    let numbered: Vec<(u64, &Record)> = (info.records + 1..).zip(&batch.records).collect();
    insert_records(writing, session, key, last_body, &numbered, tally).await?;
    Ok(Receipt::new(tally.seq))
}

/// Writes records and where the session is after them.
async fn insert_records(
    writing: &mut Writing<'_>,
    session: &SessionId,
    key: i64,
    last_body: i64,
    records: &[(u64, &Record)],
    after: Tally,
) -> Result<(), StoreError> {
    let mut body = last_body;
    for chunk in records.chunks(RECORDS_PER_STATEMENT) {
        let mut prepared = Vec::with_capacity(chunk.len());
        for (seq, record) in chunk {
            body += 1;
            let unfit = |error: serde_json::Error| StoreError::BadRecord {
                session: session.clone(),
                seq: *seq,
                reason: error.to_string(),
            };
            prepared.push((*seq, body, RecordRow::of(record).map_err(unfit)?));
        }
        // All statements in one go: a trip to the connection's thread costs more than a statement.
        let mut insert: QueryBuilder<Sqlite> = QueryBuilder::new("INSERT INTO bodies (body, json) ");
        insert.push_values(&mut prepared, |mut values, (_, body, row)| {
            values.push_bind(*body).push_bind(std::mem::take(&mut row.json));
        });
        insert.push("; INSERT INTO records (session, seq, kind, node, parent, at, layer, name, body) ");
        insert.push_values(&prepared, |mut values, (seq, body, row)| {
            values.push_bind(key).push_bind(stored(*seq)).push_bind(row.kind).push_bind(row.node);
            values.push_bind(row.parent).push_bind(row.at);
            values
                .push_bind(row.layer.map(str::to_owned))
                .push_bind(row.name.map(str::to_owned))
                .push_bind(*body);
        });
        insert.push("; UPDATE sessions SET updated_at = ").push_bind(stored(after.updated_at.0));
        insert.push(", head = ").push_bind(after.head.index() as i64);
        insert.push(", records = ").push_bind(stored(after.seq));
        insert.push(", nodes = ").push_bind(stored(after.nodes));
        insert.push(" WHERE session = ").push_bind(key);
        insert.build().execute(&mut writing.connection).await.map_err(|error| writing.fault(error))?;
    }
    Ok(())
}

async fn update_title(writing: &mut Writing<'_>, session: SessionId, title: &str) -> Result<(), StoreError> {
    let query = "BEGIN IMMEDIATE; UPDATE sessions SET title = ? WHERE id = ? RETURNING session";
    let query = sqlx::query(query).bind(title).bind(session.as_str());
    let row = query.fetch_optional(&mut writing.connection).await.map_err(|error| writing.fault(error))?;
    row.map(drop).ok_or(StoreError::UnknownSession { session })
}

async fn insert_letter(
    writing: &mut Writing<'_>,
    session: SessionId,
    kind: &str,
    body: &str,
    at: Timestamp,
) -> Result<InboxId, StoreError> {
    let query =
        "BEGIN IMMEDIATE; UPDATE sessions SET letters = letters + 1 WHERE id = ? RETURNING session, letters";
    let query = sqlx::query(query).bind(session.as_str());
    let row = query.fetch_optional(&mut writing.connection).await.map_err(|error| writing.fault(error))?;
    let row = row.ok_or(StoreError::UnknownSession { session })?;
    let number = |column: usize| row.try_get::<i64, _>(column).map_err(|error| writing.fault(error));
    let (key, letter) = (number(0)?, number(1)?);
    sqlx::query("INSERT INTO letters (session, letter, at, kind, body) VALUES (?, ?, ?, ?, ?)")
        .bind(key)
        .bind(letter)
        .bind(stored(at.0))
        .bind(kind)
        .bind(body)
        .execute(&mut writing.connection)
        .await
        .map_err(|error| writing.fault(error))?;
    Ok(InboxId(rows::read(letter)))
}
