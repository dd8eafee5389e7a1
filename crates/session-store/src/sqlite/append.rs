//! Appends: many in one transaction where all goes as expected, each in its own where something does not.
//!
//! What is written was made and chained by the caller, from what the lease knows of the session. The fast way asks nothing
//! of the database: it says where the session must be, and fails if it is elsewhere. Then, and for batches that do more
//! than add records, the slow way asks first and says what is wrong.

use std::fmt::Write;
use std::sync::Arc;

use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, Row, SqliteConnection};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::Ask;
use super::doubt;
use super::fault::store_error;
use super::leases::{Held, Tip};
use super::letters;
use super::line::{Buffered, Seat};
use super::rows::{self, RecordRow, get, stored};
use crate::cut::Cut;
use crate::{
    Batch, Digest, Durability, InboxId, Kept, NoteKey, Receipt, SessionId, Spine, StoreError, Tally,
};

/// How many rows one statement writes. Each number is a statement of its own in the connection's cache.
const SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];
/// A batch with more records does not share a transaction.
const FAST_RECORDS: usize = 64;
/// One batch alone is written by a single statement if it has no more records than this.
const ALONE_RECORDS: usize = 8;

/// An append that stands in line.
pub(super) struct Append {
    pub(super) held: Arc<Held>,
    pub(super) what: What,
    pub(super) consumed: Vec<InboxId>,
    pub(super) level: Durability,
    /// Where the answer goes; nobody waits for what is only buffered.
    pub(super) reply: Option<oneshot::Sender<Result<Receipt, StoreError>>>,
    pub(super) buffered: Option<Buffered>,
    /// Its place in the line, given back with it.
    pub(super) room: OwnedSemaphorePermit,
}

/// What is to be written.
pub(super) enum What {
    /// Records that were chained to where the lease knows the session to be.
    Chained { before: Tally, after: Tally, kept: Vec<Kept> },
    /// A batch, made while the lease did not know.
    Batch(Batch),
}

impl Append {
    /// Returns the records if they can be written without a question.
    fn fast(&self) -> Option<(&Tally, &Tally, &[Kept])> {
        let What::Chained { before, after, kept } = &self.what else { return None };
        let plain = |kept: &Kept| kept.body.len() < crate::cut::CUT_FROM;
        let fits = self.consumed.is_empty() && !kept.is_empty() && kept.len() <= FAST_RECORDS;
        (fits && kept.iter().all(plain) && !is_taken_within(kept)).then_some((before, after, kept.as_slice()))
    }

    fn finish(self, result: Result<(Tally, Durability), StoreError>) {
        let from_batch = matches!(self.what, What::Batch(_));
        let result = match result {
            Ok((after, level)) => {
                self.held.written(from_batch, after);
                if level == Durability::Flushed {
                    self.held.promise(&after);
                }
                Ok(Receipt::new(after.seq, after.digest, level))
            }
            Err(error) => {
                let first = match (&self.what, &self.buffered) {
                    (What::Chained { before, .. }, Some(_)) => Some(before.seq + 1),
                    _ => None,
                };
                self.held.failed(from_batch, first, &error);
                Err(error)
            }
        };
        // Before the answer, so that whoever has it can go on, and reads what was written.
        drop((self.buffered, self.room));
        if let Some(reply) = self.reply {
            // Whoever asked may have gone.
            let _ = reply.send(result);
        }
    }
}

/// A note with a key.
struct Keyed<'a> {
    session: i64,
    layer: &'a str,
    kind: &'a str,
    key: &'a NoteKey,
    seq: u64,
}

impl<'a> Keyed<'a> {
    fn of(session: i64, kept: &'a Kept) -> Option<Self> {
        match &kept.spine {
            Spine::Note { layer, kind, key: Some(key), .. } => {
                Some(Keyed { session, layer, kind, key, seq: kept.seq })
            }
            _ => None,
        }
    }

    fn name(&self) -> (&'a str, &'a str, &'a str) {
        (self.layer, self.kind, &self.key.key)
    }
}

/// Returns whether a key is to be taken once after it was taken by the same batch. Statements that write all such keys before the
/// others would not see that.
fn is_taken_within(kept: &[Kept]) -> bool {
    let mut names = Vec::new();
    kept.iter().filter_map(|kept| Keyed::of(0, kept)).any(|keyed| {
        let is_taken = keyed.key.once && names.contains(&keyed.name());
        names.push(keyed.name());
        is_taken
    })
}

/// Writes a group of appends in their order.
pub(super) async fn group(seat: &mut Seat, group: Vec<Append>) {
    let mut waiting = group.into_iter().peekable();
    while let Some(first) = waiting.next() {
        if first.fast().is_none() {
            slow(seat, first).await;
            continue;
        }
        let mut together = vec![first];
        // Two batches of one session cannot be checked by one statement.
        while let Some(next) = waiting.next_if(|next| {
            next.fast().is_some() && !together.iter().any(|other| Arc::ptr_eq(&other.held, &next.held))
        }) {
            together.push(next);
        }
        fast(seat, together).await;
    }
}

/// Writes batches of different sessions in one transaction.
async fn fast(seat: &mut Seat, group: Vec<Append>) {
    let level = group.iter().map(|append| append.level).max().unwrap_or_default();
    let statements = statements(&group);
    let path = seat.path.clone();
    let written = match seat.connection(level).await {
        Ok(connection) => run(connection, &path, statements).await,
        Err(error) => Err(error),
    };
    let Err(error) = written else {
        seat.bell.ring();
        let reached = level.max(Durability::Committed);
        for append in group {
            match &append.what {
                What::Chained { after, .. } => {
                    let after = *after;
                    append.finish(Ok((after, reached)));
                }
                What::Batch(_) => slow(seat, append).await,
            }
        }
        return;
    };
    seat.failed(&error).await;
    // Once for all: where that fails, each of them would wait as long again.
    let settled = seat.settle(level).await;
    for append in group {
        match &error {
            StoreError::Io { place, reason } if settled.is_err() => {
                append.finish(Err(StoreError::Io { place: place.clone(), reason: reason.clone() }));
            }
            // Each of them would wait as long again, and all others with it.
            StoreError::Busy { place } => append.finish(Err(StoreError::Busy { place: place.clone() })),
            // One of them is not where it should be, or the disk refuses: each hears its own reason.
            _ => slow(seat, append).await,
        }
    }
}

async fn run(
    connection: &mut SqliteConnection,
    path: &std::path::Path,
    statements: Vec<(String, SqliteArguments)>,
) -> Result<(), StoreError> {
    for (sql, arguments) in statements {
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
        query.execute(&mut *connection).await.map_err(|error| store_error(path, error))?;
    }
    Ok(())
}

/// Returns the statements of a whole transaction.
fn statements(group: &[Append]) -> Vec<(String, SqliteArguments)> {
    let batches: Vec<(&Held, &Tally, &Tally, &[Kept])> = group
        .iter()
        .filter_map(|append| {
            append.fast().map(|(before, after, kept)| (append.held.as_ref(), before, after, kept))
        })
        .collect();
    let records: Vec<(i64, Digest, &Kept)> = batches
        .iter()
        .flat_map(|(held, _, after, kept)| kept.iter().map(move |kept| (held.key, after.digest, kept)))
        .collect();
    let keyed = records.iter().filter_map(|(session, _, kept)| Keyed::of(*session, kept));
    let (once, again): (Vec<Keyed<'_>>, Vec<Keyed<'_>>) = keyed.partition(|keyed| keyed.key.once);
    if batches.len() == 1 && records.len() <= ALONE_RECORDS {
        let mut arguments = SqliteArguments::default();
        let mut sql = format!("BEGIN IMMEDIATE; {}; {}", move_sql(1), insert_sql(records.len(), true));
        bind_moves(&mut arguments, &batches);
        bind_records(&mut arguments, &records);
        for (keys, once) in [(&once, true), (&again, false)].into_iter().filter(|(keys, _)| !keys.is_empty())
        {
            sql.push_str("; ");
            sql.push_str(&key_sql(keys.len(), once));
            bind_keys(&mut arguments, keys);
        }
        sql.push_str("; COMMIT");
        return vec![(sql, arguments)];
    }
    let mut statements = vec![("BEGIN IMMEDIATE".to_owned(), SqliteArguments::default())];
    statements.extend(in_chunks(&batches, move_sql, bind_moves));
    statements.extend(in_chunks(&records, |records| insert_sql(records, true), bind_records));
    statements.extend(in_chunks(&once, |keys| key_sql(keys, true), bind_keys));
    statements.extend(in_chunks(&again, |keys| key_sql(keys, false), bind_keys));
    statements.push(("COMMIT".to_owned(), SqliteArguments::default()));
    statements
}

/// Returns the statements for all rows, each for as many as one takes.
fn in_chunks<T>(
    mut rows: &[T],
    sql: impl Fn(usize) -> String,
    bind: impl Fn(&mut SqliteArguments, &[T]),
) -> Vec<(String, SqliteArguments)> {
    let mut statements = Vec::new();
    while let Some(size) = SIZES.into_iter().find(|size| *size <= rows.len()) {
        let (chunk, left) = rows.split_at(size);
        let mut arguments = SqliteArguments::default();
        bind(&mut arguments, chunk);
        statements.push((sql(size), arguments));
        rows = left;
    }
    statements
}

/// Returns the statements that move sessions on, each from where it must be.
fn move_sql(sessions: usize) -> String {
    let one = "UPDATE sessions SET head = ?, records = ?, nodes = ?, bytes = ?, updated_at = ?, digest = ?
               WHERE session = ? AND token = ? AND digest = ? AND whole";
    vec![one; sessions].join(";")
}

fn bind_moves(arguments: &mut SqliteArguments, batches: &[(&Held, &Tally, &Tally, &[Kept])]) {
    for (held, before, after, _) in batches {
        bind(arguments, after.head.index() as i64);
        bind(arguments, stored(after.seq));
        bind(arguments, stored(after.nodes));
        bind(arguments, stored(after.bytes));
        bind(arguments, stored(after.updated_at.0));
        bind(arguments, after.digest.as_bytes().to_vec());
        bind(arguments, held.key);
        bind(arguments, stored(held.token));
        bind(arguments, before.digest.as_bytes().to_vec());
    }
}

/// Returns the statements that insert bodies and then their records.
///
/// Bodies are numbered by the database, one after the other. With `guarded`, a record whose session is not where it was
/// to be moved has no session, which the table refuses.
fn insert_sql(records: usize, guarded: bool) -> String {
    let mut sql = "INSERT INTO bodies (json) VALUES (?)".to_owned();
    sql.push_str(&", (?)".repeat(records - 1));
    sql.push_str(
        "; INSERT INTO records (session, seq, kind, node, parent, at, body, digest, layer, name, key, state, once, cuts) VALUES ",
    );
    for place in 0..records {
        let comma = if place == 0 { "" } else { ", " };
        let session =
            if guarded { "(SELECT session FROM sessions WHERE session = ? AND digest = ?)" } else { "?" };
        // Where the greatest number is taken already, SQLite picks some: then none of those before the last is there,
        // which the table refuses.
        let body = match records - 1 - place {
            0 => "last_insert_rowid()".to_owned(),
            back => format!("(SELECT body FROM bodies WHERE body = last_insert_rowid() - {back})"),
        };
        // Writing to a string cannot fail.
        let _ = write!(sql, "{comma}({session}, ?, ?, ?, ?, ?, {body}, ?, ?, ?, ?, ?, ?, NULL)");
    }
    sql
}

fn bind_records(arguments: &mut SqliteArguments, records: &[(i64, Digest, &Kept)]) {
    for (_, _, kept) in records {
        bind(arguments, kept.body.clone());
    }
    for (session, after, kept) in records {
        bind(arguments, *session);
        bind(arguments, after.as_bytes().to_vec());
        bind_row(arguments, kept);
    }
}

/// Binds what a record is, without its session and its body.
fn bind_row(arguments: &mut SqliteArguments, kept: &Kept) {
    let row = RecordRow::of(kept);
    bind(arguments, stored(kept.seq));
    bind(arguments, row.kind);
    bind(arguments, row.node);
    bind(arguments, row.parent);
    bind(arguments, row.at);
    bind(arguments, kept.digest.as_bytes().to_vec());
    bind(arguments, row.layer);
    bind(arguments, row.name);
    bind(arguments, row.key);
    bind(arguments, row.state);
    bind(arguments, row.once);
}

/// Returns the statement that writes keys: such as must not be there yet, or such as move on.
fn key_sql(keys: usize, once: bool) -> String {
    let mut sql =
        "INSERT INTO keys (session, layer, kind, key, state, first, seq) VALUES (?, ?, ?, ?, ?, ?, ?)"
            .to_owned();
    sql.push_str(&", (?, ?, ?, ?, ?, ?, ?)".repeat(keys - 1));
    if !once {
        sql.push_str(" ON CONFLICT DO UPDATE SET state = excluded.state, seq = excluded.seq");
    }
    sql
}

fn bind_keys(arguments: &mut SqliteArguments, keys: &[Keyed<'_>]) {
    for Keyed { session, layer, kind, key, seq } in keys {
        bind(arguments, *session);
        bind(arguments, (*layer).to_owned());
        bind(arguments, (*kind).to_owned());
        bind(arguments, key.key.clone());
        bind(arguments, key.state.clone());
        bind(arguments, stored(*seq));
        bind(arguments, stored(*seq));
    }
}

fn bind<'q, T: sqlx::Encode<'q, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite> + 'q>(
    arguments: &mut SqliteArguments,
    value: T,
) {
    arguments.add(value).expect("numbers, texts and bytes can be bound");
}

/// Writes one batch in a transaction of its own and says what is wrong with it.
async fn slow(seat: &mut Seat, append: Append) {
    let level = append.level;
    let path = seat.path.clone();
    let result = match seat.begin(level).await {
        Ok(connection) => {
            let result = check_and_write(connection, &path, &append).await;
            seat.end(result).await
        }
        Err(error) => Err(error),
    };
    append.finish(result.map(|after| (after, level.max(Durability::Committed))));
}

async fn check_and_write(
    connection: &mut SqliteConnection,
    path: &std::path::Path,
    append: &Append,
) -> Result<Tally, StoreError> {
    let session = append.held.session();
    let found = under(connection, path, &append.held).await?;
    let made;
    let (kept, after) = match &append.what {
        What::Chained { before, after, kept } if before.digest == found.digest => (kept, *after),
        // An attempt before this one was kept although it was said to have failed.
        What::Chained { after, kept, .. } if after.digest == found.digest && !kept.is_empty() => {
            if append.level == Durability::Flushed {
                doubt::flush(connection, path).await?;
            }
            return Ok(found);
        }
        What::Chained { before, .. } => {
            return Err(StoreError::Conflict {
                session: session.clone(),
                expected: before.position(),
                actual: found.position(),
            });
        }
        What::Batch(batch) => {
            let (kept, after) = batch.check(session, found)?;
            made = kept;
            (&made, after)
        }
    };
    for letter in &append.consumed {
        letters::consume(connection, path, (append.held.key, session), *letter, after.seq).await?;
    }
    write_records(connection, path, session, append.held.key, kept).await?;
    let query = "UPDATE sessions SET head = ?, records = ?, nodes = ?, bytes = ?, updated_at = ?, digest = ?,
                     consumed = consumed + ? WHERE session = ?";
    let query = sqlx::query(query)
        .bind(after.head.index() as i64)
        .bind(stored(after.seq))
        .bind(stored(after.nodes))
        .bind(stored(after.bytes))
        .bind(stored(after.updated_at.0))
        .bind(after.digest.as_bytes().as_slice())
        .bind(append.consumed.len() as i64)
        .bind(append.held.key);
    query.execute(connection).await.map_err(|error| store_error(path, error))?;
    Ok(after)
}

/// Returns where a session is, if the lease on it has not ended.
pub(super) async fn under(
    connection: &mut SqliteConnection,
    path: &std::path::Path,
    held: &Held,
) -> Result<Tally, StoreError> {
    let session = held.session();
    let query = sqlx::query("SELECT * FROM sessions WHERE session = ? AND id = ? AND whole");
    let row = query.bind(held.key).bind(session.as_str()).maybe_row(connection).await;
    let row = row.map_err(|error| store_error(path, error))?;
    let row = row.ok_or_else(|| StoreError::UnknownSession { session: session.clone() })?;
    let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
    let token: i64 = get(&row, "token").map_err(corrupt)?;
    if rows::read(token) != held.token {
        let owner: Option<String> = get(&row, "owner").map_err(corrupt)?;
        let holder = owner.as_deref().and_then(super::leases::name_of);
        return Err(StoreError::Fenced { session: session.clone(), token: held.token, holder });
    }
    Ok(Tally::of(&rows::info(&row).map_err(corrupt)?))
}

/// Writes records with all that belongs to them: large strings and keys.
pub(super) async fn write_records(
    connection: &mut SqliteConnection,
    path: &std::path::Path,
    session: &SessionId,
    key: i64,
    kept: &[Kept],
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let newest: Option<i64> =
        sqlx::query("SELECT max(body) FROM bodies").value(&mut *connection).await.map_err(fault)?;
    let left = i64::MAX.saturating_sub(newest.unwrap_or_default());
    if left < kept.len() as i64 {
        let reason =
            format!("{left} numbers are left for bodies, and nothing can be added; export its sessions");
        return Err(StoreError::Corrupt { place: path.display().to_string(), reason });
    }
    let mut rest = kept;
    while !rest.is_empty() {
        // As many as one statement takes, up to the first that has to be cut.
        let whole = rest.iter().position(|kept| Cut::of(&kept.body).is_some()).unwrap_or(rest.len());
        let (chunk, left) = match whole {
            0 => rest.split_at(1),
            whole => {
                let size = SIZES.into_iter().find(|size| *size <= whole).unwrap_or(1);
                rest.split_at(size)
            }
        };
        let cut = chunk.first().filter(|_| whole == 0).and_then(|kept| Cut::of(&kept.body));
        for (_, part) in cut.iter().flat_map(|cut| &cut.parts) {
            let query = "INSERT INTO parts (digest, text) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING";
            let query = sqlx::query(query).bind(Digest::of(part.as_bytes()).as_bytes().to_vec()).bind(part);
            query.execute(&mut *connection).await.map_err(fault)?;
        }
        let mut arguments = SqliteArguments::default();
        for kept in chunk {
            let body = cut.as_ref().map_or(&kept.body, |cut| &cut.rest);
            bind(&mut arguments, body.clone());
        }
        for kept in chunk {
            bind(&mut arguments, key);
            bind_row(&mut arguments, kept);
        }
        let sql = insert_sql(chunk.len(), false);
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
        query.execute(&mut *connection).await.map_err(fault)?;
        if let (Some(cut), Some(kept)) = (&cut, chunk.first()) {
            write_cuts(connection, path, key, kept, cut).await?;
        }
        for kept in chunk {
            write_key(connection, path, session, key, kept).await?;
        }
        rest = left;
    }
    Ok(())
}

async fn write_cuts(
    connection: &mut SqliteConnection,
    path: &std::path::Path,
    key: i64,
    kept: &Kept,
    cut: &Cut,
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let marked = sqlx::query("UPDATE records SET cuts = ? WHERE session = ? AND seq = ? RETURNING body");
    let marked = marked.bind(cut.parts.len() as i64).bind(key).bind(stored(kept.seq));
    let row = marked.one_row(&mut *connection).await.map_err(fault)?;
    let body: i64 = row.try_get(0).map_err(fault)?;
    for (place, part) in &cut.parts {
        let query = "INSERT INTO cuts (body, place, part) SELECT ?, ?, part FROM parts WHERE digest = ?";
        let query = sqlx::query(query).bind(body).bind(*place as i64);
        let query = query.bind(Digest::of(part.as_bytes()).as_bytes().to_vec());
        let done = query.execute(&mut *connection).await.map_err(fault)?;
        if done.rows_affected() != 1 {
            let reason = format!("a part of record {} cannot be found after it was written", kept.seq);
            return Err(StoreError::Corrupt { place: path.display().to_string(), reason });
        }
    }
    Ok(())
}

async fn write_key(
    connection: &mut SqliteConnection,
    path: &std::path::Path,
    session: &SessionId,
    key: i64,
    kept: &Kept,
) -> Result<(), StoreError> {
    let fault = |error| store_error(path, error);
    let Spine::Note { layer, kind, key: Some(note), .. } = &kept.spine else { return Ok(()) };
    let query = "INSERT INTO keys (session, layer, kind, key, state, first, seq) VALUES (?, ?, ?, ?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET state = excluded.state, seq = excluded.seq RETURNING first";
    let query = sqlx::query(query).bind(key).bind(layer).bind(kind).bind(&note.key).bind(&note.state);
    let query = query.bind(stored(kept.seq)).bind(stored(kept.seq));
    let row = query.one_row(connection).await.map_err(fault)?;
    let first = rows::read(row.try_get(0).map_err(fault)?);
    if note.once && first != kept.seq {
        let (kind, key) = (kind.clone(), note.key.clone());
        return Err(StoreError::KeyTaken { session: session.clone(), kind, key, seq: first });
    }
    Ok(())
}

impl Tip {
    /// Returns what is to be written for a batch, from what is known of the session.
    pub(super) fn prepare(&mut self, session: &SessionId, batch: Batch) -> What {
        match self {
            Tip::Known(before) => {
                let before = *before;
                // What does not fit may be judged by something that is no longer true: the lease may have ended.
                let Ok((kept, after)) = batch.check(session, before) else { return What::Batch(batch) };
                *self = Tip::Known(after);
                What::Chained { before, after, kept }
            }
            Tip::Unknown { in_line } => {
                *in_line += 1;
                What::Batch(batch)
            }
        }
    }
}
