//! The store's operations on SQLite.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use trunkline_message_tree::{Entry, Message, NodeId, Timestamp, TreeError};

use super::answer::Ask;
use super::leases::{self, Held};
use super::line::Line;
use super::reading::MORE;
use super::rows::{self, get, read, stored};
use super::{SqliteStore, append, letters, restore, snapshots};
use crate::record::check_body;
use crate::tally::check_name;
use crate::{
    Activity, Amend, Batch, Claim, Collected, Digest, Durability, FoundNote, Holder, ImportError, InboxId,
    Kept, Lease, Letter, LetterState, Log, NoteKey, NoteQuery, Outline, Receipt, Record, Restoring,
    SessionId, SessionInfo, SessionStore, Snapshot, Spine, StoreError, reading,
};

/// A page ends with the record that brings it to so many bytes.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// A node needs at least so many bytes of the database: its digest alone has 32.
const NODE_BYTES: u64 = 32;

#[async_trait]
impl SessionStore for SqliteStore {
    async fn restore(&self, mut restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        let first = restoring.next_chunk()?;
        // Most sessions come in one chunk, and then in one transaction.
        let second = restoring.next_chunk()?;
        let (owner, line) = (Arc::clone(&self.owner), Arc::downgrade(&self.line));
        let info = restoring.info();
        if second.is_empty() {
            let (shown, letters) = (info.clone(), restoring.take_letters()?);
            let write = self.line.write(Durability::Flushed, move |connection, path| {
                Box::pin(async move {
                    let key = restore::begin(connection, path, &owner, &shown, true).await?;
                    restore::add(connection, path, &shown.id, key, &first).await?;
                    restore::post(connection, path, (key, &shown.id), &letters).await
                })
            });
            write.await?;
            return Ok(info);
        }
        let session = info.id.clone();
        let (beginning, id) = (Arc::clone(&owner), session.clone());
        let begin = self.line.write_and(
            Durability::Committed,
            move |connection, path| {
                Box::pin(async move { restore::begin(connection, path, &beginning, &info, false).await })
            },
            move |key| restore::Importing::new(key, id, owner, line),
        );
        let importing = begin.await?;
        let key = importing.key;
        let mut chunks = [first, second].into_iter();
        loop {
            let chunk = match chunks.next() {
                Some(chunk) => chunk,
                None => restoring.next_chunk()?,
            };
            if chunk.is_empty() {
                break;
            }
            let (session, owner) = (session.clone(), Arc::clone(&self.owner));
            let add = self.line.write(Durability::Committed, move |connection, path| {
                Box::pin(
                    async move { restore::go_on(connection, path, &session, (key, &owner), &chunk).await },
                )
            });
            add.await?;
        }
        let (info, letters) = (restoring.info(), restoring.take_letters()?);
        let (shown, owner) = (info.clone(), Arc::clone(&self.owner));
        let finish = self.line.write(Durability::Flushed, move |connection, path| {
            Box::pin(async move {
                restore::post(connection, path, (key, &shown.id), &letters).await?;
                restore::finish(connection, path, (key, &owner), &shown).await
            })
        });
        finish.await?;
        importing.done();
        Ok(info)
    }

    // Its lock goes with the process, or with the lease.
    fn free_means_gone(&self) -> bool {
        true
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        let (owner, line) = (Arc::clone(&self.owner), Arc::downgrade(&self.line));
        let (wanted, claiming, id) = (session.clone(), Arc::clone(&owner), session.clone());
        let taken = self.line.write_and(
            Durability::Committed,
            move |connection, path| {
                Box::pin(async move { leases::claim(connection, path, &claiming, &wanted, claim).await })
            },
            move |claimed| claimed.held(owner, line, id),
        );
        let held = taken.await?;
        Ok(Lease::new(session.clone(), held.token, held))
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        let row = self.row(session).await?;
        leases::holder(&row, &self.owner, &self.path)
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        let held = self.held(lease)?;
        let room = self.line.room().await?;
        let level = batch.durability;
        let consumed = batch.consumed.clone();
        let (reply, answer) = tokio::sync::oneshot::channel();
        // What only the database can judge is not acknowledged before it has.
        let judged = !consumed.is_empty() || batch.records.iter().any(has_key) || !held.is_newest();
        let waits = level > Durability::Buffered || judged;
        let receipt = held.hand_in(batch, |what| {
            // What is checked only later cannot be acknowledged yet.
            let acknowledged = match &what {
                append::What::Chained { after, .. } if !waits => {
                    Some(Receipt::new(after.seq, after.digest, Durability::Buffered))
                }
                _ => None,
            };
            let buffered = acknowledged.map(|_| self.line.buffer());
            let reply = acknowledged.is_none().then_some(reply);
            let held = Arc::clone(&held);
            self.line.append(append::Append { held, what, consumed, level, reply, buffered, room })?;
            Ok(acknowledged)
        })?;
        if let Some(receipt) = receipt {
            return Ok(receipt);
        }
        let mut waiting = Waiting { line: &self.line, answered: false };
        let result = answer.await;
        waiting.answered = true;
        result.map_err(|_| self.line.closed())?.map_err(|error| held.cause(error))
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let (key, info) = self.found(session).await?;
        let after = after.min(info.records);
        let until = info.records.min(after.saturating_add(limit as u64));
        let (mut page, mut bytes) = (Vec::new(), 0);
        self.visit(session, key, (after, until), true, |seq, spine, digest, body| {
            page.push(kept(session, seq, spine, digest, body)?);
            bytes += body.len();
            Ok(if bytes < PAGE_BYTES { MORE } else { ControlFlow::Break(()) })
        })
        .await?;
        Ok(page)
    }

    async fn spine(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        let (key, info) = self.found(session).await?;
        let after = after.min(info.records);
        let until = info.records.min(after.saturating_add(limit as u64));
        let mut page = Vec::new();
        self.visit_spines(session, key, (after, until), |seq, spine| page.push((seq, spine))).await?;
        Ok(page)
    }

    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        let (key, info) = self.found(session).await?;
        // One text for all of them; see `reading`.
        let query = "SELECT group_concat(node || ' ' || parent, ' '),
                            (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size)
                     FROM records INDEXED BY branches
                     WHERE session = ? AND kind < 2 AND parent <> node - 1 AND node < ?";
        let query = sqlx::query(query).bind(key).bind(stored(info.nodes));
        let row = query.one_row(self.readers.pool()).await.map_err(|error| self.fault(error))?;
        let joined: Option<String> = row.try_get(0).map_err(|error| self.fault(error))?;
        let joined = joined.unwrap_or_default();
        let bad = |reason| self.corrupt(format!("the tree of session {session}: {reason}"));
        let size = |column| row.try_get::<i64, _>(column).map(read).map_err(|error| self.fault(error));
        // An outline has room for every node, so a row is not believed that says more than there can be.
        if info.nodes > size(1)?.saturating_mul(size(2)?) / NODE_BYTES {
            return Err(bad(format!("its row says {} nodes, for which the file is too small", info.nodes)));
        }
        let mut numbers = joined.split(' ').filter(|word| !word.is_empty()).map(|word| {
            let number = word.parse().map_err(|_| format!("{word:?} is not a node"))?;
            rows::node("branch", number)
        });
        let mut branches = Vec::new();
        while let Some(node) = numbers.next() {
            let parent = numbers.next().unwrap_or_else(|| Err("a parent is missing".to_owned()));
            branches.push((node.map_err(bad)?, parent.map_err(bad)?));
        }
        Outline::new(info.nodes, info.head, branches).map_err(bad)
    }

    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        let (key, info) = self.found(session).await?;
        let newest = u32::try_from(info.nodes.saturating_sub(1)).map(NodeId::new).unwrap_or(NodeId::ROOT);
        let mut found: HashMap<NodeId, Option<Message>> = nodes.iter().map(|node| (*node, None)).collect();
        let numbers = self.numbers_of(key, &found).await?;
        self.visit_numbers(session, key, &numbers, false, |seq, spine, _, body| {
            if let Record::Entry(Entry::Node { id, message, .. }) = spine
                .record(body)
                .map_err(|reason| StoreError::BadRecord { session: session.clone(), seq, reason })?
            {
                found.insert(id, Some(message));
            }
            Ok(MORE)
        })
        .await?;
        let missing = |node: NodeId| StoreError::Misfit {
            session: session.clone(),
            seq: info.records,
            source: TreeError::UnknownNode { node, newest },
        };
        nodes.iter().map(|node| found.get(node).cloned().flatten().ok_or_else(|| missing(*node))).collect()
    }

    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let (key, _) = self.found(session).await?;
        let query =
            "SELECT min(seq) FROM records INDEXED BY blobs WHERE session = ? AND key = ? AND kind = 4";
        let query = sqlx::query(query).bind(key).bind(digest.to_string());
        let seq: Option<i64> = query.value(self.readers.pool()).await.map_err(|error| self.fault(error))?;
        let Some(seq) = seq.map(read) else { return Ok(None) };
        let mut bytes = None;
        self.visit(session, key, (seq.saturating_sub(1), seq), false, |seq, spine, _, body| {
            let record = spine.record(body);
            let record =
                record.map_err(|reason| StoreError::BadRecord { session: session.clone(), seq, reason });
            if let Record::Blob(blob) = record? {
                bytes = Some(blob.bytes);
            }
            Ok(MORE)
        })
        .await?;
        Ok(bytes)
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        Ok(self.found(session).await?.1)
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.line.settle().await?;
        // One moment for the list and its index, which says how many there are.
        let (columns, seals) = match self.is_sealed {
            true => ("sessions.*, seals.digest AS seal", "LEFT JOIN seals USING (session)"),
            false => ("sessions.*, NULL AS seal, 1 AS unsealed", ""),
        };
        let query = format!(
            "SELECT {columns}, (
                 SELECT count(*) FROM sessions AS entry INDEXED BY sqlite_autoindex_sessions_1 WHERE id > ''
                 AND id = (SELECT listed.id FROM sessions AS listed NOT INDEXED WHERE listed.session = entry.session)
             ) AS named
             FROM sessions NOT INDEXED {seals}"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(query));
        let found = query.all_rows(self.readers.pool()).await;
        let found = found.map_err(|error| self.fault(error))?;
        let named = match found.first() {
            Some(row) => get(row, "named").map_err(|reason| self.corrupt(reason))?,
            None => self.unlisted().await?,
        };
        if named != found.len() as i64 {
            let reason = format!("its list of sessions has {}, and the index of it {named}", found.len());
            return Err(self.corrupt(reason));
        }
        let mut list = Vec::with_capacity(found.len());
        for row in &found {
            list.extend(rows::sealed(row).map_err(|reason| self.corrupt(reason))?);
        }
        list.sort_by(SessionInfo::newest_first);
        Ok(list)
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        amend.check(session)?;
        let session = session.clone();
        let write = self.line.write(Durability::Flushed, move |connection, path| {
            Box::pin(async move {
                let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
                let fault = |error| super::store_error(path, error);
                let query = format!("{} WHERE id = ?", rows::session(true));
                let row = sqlx::query(sqlx::AssertSqlSafe(query)).bind(session.as_str());
                let row = row.maybe_row(&mut *connection).await.map_err(fault)?;
                let info = row.as_ref().map(rows::sealed).transpose().map_err(corrupt)?.flatten();
                let Some((row, mut info)) = row.zip(info) else {
                    return Err(StoreError::UnknownSession { session });
                };
                let key: i64 = get(&row, "session").map_err(corrupt)?;
                amend.apply(&mut info);
                let tags = serde_json::to_string(&info.tags).expect("words are JSON");
                let query = "UPDATE sessions SET title = ?, archived = ?, tags = ? WHERE session = ?";
                let query = sqlx::query(query).bind(&info.title).bind(info.archived).bind(tags).bind(key);
                query.execute(&mut *connection).await.map_err(fault)?;
                restore::seal(connection, path, key, &info).await
            })
        });
        write.await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.remove(session, None).await
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        self.remove(&seen.id, Some(seen.clone())).await
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        let checked = check_name(kind).and_then(|()| check_body(body).map(drop));
        checked.map_err(|reason| StoreError::body(session, kind, reason))?;
        let (session, kind, body) = (session.clone(), kind.to_owned(), body.to_owned());
        let write = self.line.write(Durability::Flushed, move |connection, path| {
            Box::pin(async move {
                let fault = |error| super::store_error(path, error);
                let query = "UPDATE sessions SET letters = letters + 1 WHERE id = ? AND whole
                             RETURNING session, letters";
                let row = sqlx::query(query).bind(session.as_str()).maybe_row(&mut *connection).await;
                let unknown = || StoreError::UnknownSession { session: session.clone() };
                let row = row.map_err(fault)?.ok_or_else(unknown)?;
                let (key, letter): (i64, i64) =
                    (row.try_get(0).map_err(fault)?, row.try_get(1).map_err(fault)?);
                let letter = Letter { id: InboxId(read(letter)), at, kind, body };
                letters::post(connection, path, (key, &session), &letter).await?;
                Ok(letter.id)
            })
        });
        write.await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        let (key, _) = self.found(session).await?;
        self.waiting(session, key).await
    }

    async fn look(&self, session: &SessionId) -> Result<(Activity, Vec<Letter>), StoreError> {
        let number = |row: &SqliteRow, column| get::<i64>(row, column).map_err(|reason| self.corrupt(reason));
        let (row, sealed) = match self.are_letters_sealed {
            true => {
                let row = self.row_by(session, rows::WITH_SEALED_LETTERS).await?;
                let sealed = number(&row, "sealed_letters")?;
                (row, sealed)
            }
            false => (self.row(session).await?, 0),
        };
        let now = self.activity(&row)?;
        // Where the seals and the row say that nothing waits, nothing is looked for among all letters that there ever were.
        if sealed == 0 && now.posted == now.consumed {
            return Ok((now, Vec::new()));
        }
        Ok((now, self.waiting(session, number(&row, "session")?).await?))
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        let (key, _) = self.found(session).await?;
        let (pool, is_sealed) = (self.readers.pool(), self.are_letters_sealed);
        let found = letters::state(pool, &self.path, (key, session), letter, is_sealed).await;
        let state = found.map_err(|error| self.fault(error))??;
        state.ok_or_else(|| StoreError::NoSuchLetter { session: session.clone(), letter })
    }

    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        let session = match &query.session {
            Some(session) => Some(self.found(session).await?.0),
            None => {
                self.line.settle().await?;
                None
            }
        };
        let sql = "SELECT sessions.id, keys.seq, keys.layer, keys.kind, records.at, keys.key, keys.state, records.once,
                          keys.session
                   FROM keys JOIN sessions USING (session) JOIN records USING (session, seq)
                   WHERE whole AND (?1 IS NULL OR keys.session = ?1) AND (?2 IS NULL OR keys.layer = ?2)
                     AND (?3 IS NULL OR keys.kind = ?3) AND (?4 IS NULL OR keys.key = ?4)
                     AND (?5 IS NULL OR keys.state = ?5)
                   ORDER BY sessions.id, keys.seq";
        let bound = sqlx::query(sql).bind(session).bind(&query.layer).bind(&query.kind);
        let bound = bound.bind(&query.key).bind(&query.state);
        let rows = bound.all_rows(self.readers.pool()).await.map_err(|error| self.fault(error))?;
        let (mut list, mut sessions) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for row in &rows {
            list.push(found_note(row).map_err(|reason| self.corrupt(format!("a key: {reason}")))?);
            sessions.push(get::<i64>(row, "session").map_err(|reason| self.corrupt(reason))?);
        }
        self.read_bodies(&mut list, &sessions).await?;
        Ok(list)
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        let mut waiter = None;
        loop {
            let rings = self.bell.listen();
            let row = self.row(session).await?;
            let now = self.activity(&row)?;
            if now != seen {
                return Ok(now);
            }
            waiter.get_or_insert_with(|| self.watch.wait());
            rings.await;
        }
    }

    async fn collect(&self, dry_run: bool) -> Result<Collected, StoreError> {
        let owner = Arc::clone(&self.owner);
        let (told, hears) = std::sync::mpsc::channel();
        let write = self.line.write(Durability::Flushed, move |connection, path| {
            Box::pin(async move {
                let collected = restore::collect(connection, path, &owner).await?;
                if dry_run {
                    // What an error leaves undone is exactly what a dry run leaves undone.
                    let _ = told.send(collected);
                    let reason = "a dry run".to_owned();
                    return Err(StoreError::Database { place: String::new(), reason });
                }
                Ok(collected)
            })
        });
        match (write.await, hears.try_recv()) {
            (Err(_), Ok(would)) => Ok(would),
            (result, _) => result,
        }
    }

    async fn records(&self, session: &SessionId, numbers: &[u64]) -> Result<Vec<Kept>, StoreError> {
        let (key, info) = self.found(session).await?;
        let numbers = reading::in_order(session, numbers, info.records)?;
        let mut records = Vec::with_capacity(numbers.len());
        self.visit_numbers(session, key, &numbers, true, |seq, spine, digest, body| {
            records.push(kept(session, seq, spine, digest, body)?);
            Ok(MORE)
        })
        .await?;
        Ok(records)
    }

    async fn snapshot(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        let (key, _) = self.found(session).await?;
        if !self.has_snapshots {
            return Ok(None);
        }
        // An error counts only where what cannot be made again is read.
        let kept = snapshots::kept(self.readers.pool(), (key, session)).await;
        Ok(kept.map_err(|error| self.fault(error)).unwrap_or_default())
    }

    async fn keep_snapshot(&self, lease: &Lease, snapshot: Snapshot) -> Result<(), StoreError> {
        let held = self.held(lease)?;
        snapshot.check(lease.session())?;
        let write = self.line.write(Durability::Committed, move |connection, path| {
            Box::pin(async move { snapshots::keep(connection, path, held, snapshot).await })
        });
        write.await
    }

    async fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        let (key, info) = self.found(session).await?;
        let mut records = Vec::with_capacity(usize::try_from(info.records).unwrap_or_default().min(1 << 20));
        self.visit(session, key, (0, info.records), false, |seq, spine, _, body| {
            let record = spine.record(body);
            let bad = |reason| StoreError::BadRecord { session: session.clone(), seq, reason };
            records.push((seq, record.map_err(bad)?));
            Ok(MORE)
        })
        .await?;
        Ok(Log::new(info, records))
    }
}

impl SqliteStore {
    fn activity(&self, row: &SqliteRow) -> Result<Activity, StoreError> {
        let count = |column| get(row, column).map(read).map_err(|reason| self.corrupt(reason));
        let now = Activity::new(count("records")?, count("letters")?, count("consumed")?);
        Ok(now.under(count("token")?))
    }

    async fn waiting(&self, session: &SessionId, key: i64) -> Result<Vec<Letter>, StoreError> {
        let (pool, is_sealed) = (self.readers.pool(), self.are_letters_sealed);
        let found = letters::waiting(pool, &self.path, (key, session), is_sealed).await;
        found.map_err(|error| self.fault(error))?
    }

    /// Returns what a lease of this store holds.
    fn held(&self, lease: &Lease) -> Result<Arc<Held>, StoreError> {
        let held = lease.guard::<Held>().filter(|held| held.is_of(&self.owner));
        held.ok_or_else(|| StoreError::ForeignLease { session: lease.session().clone() })
    }

    /// Returns how many sessions there seem to be although the list of them is empty.
    async fn unlisted(&self) -> Result<i64, StoreError> {
        let query = "SELECT count(*) + (NOT EXISTS (SELECT 1 FROM sessions NOT INDEXED)
                                        AND EXISTS (SELECT 1 FROM records))
                     FROM sessions INDEXED BY sqlite_autoindex_sessions_1
                     WHERE id > '' AND NOT EXISTS (SELECT 1 FROM sessions NOT INDEXED)";
        sqlx::query(query).value(self.readers.pool()).await.map_err(|error| self.fault(error))
    }

    /// Removes a session that nobody holds, if it still is as it was seen.
    async fn remove(&self, session: &SessionId, seen: Option<SessionInfo>) -> Result<(), StoreError> {
        let (owner, session) = (Arc::clone(&self.owner), session.clone());
        let write = self.line.write(Durability::Flushed, move |connection, path| {
            Box::pin(async move {
                let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
                let query =
                    sqlx::query("SELECT * FROM sessions WHERE id = ? AND whole").bind(session.as_str());
                let row = query.maybe_row(&mut *connection).await;
                let row = row.map_err(|error| super::store_error(path, error))?;
                let row = row.ok_or_else(|| StoreError::UnknownSession { session: session.clone() })?;
                if let Some(holder) = leases::holder(&row, &owner, path)? {
                    return Err(StoreError::Locked { session, holder: holder.name });
                }
                let key: i64 = get(&row, "session").map_err(corrupt)?;
                if let Some(seen) = seen {
                    let waiting = letters::count_waiting(connection, path, key).await?;
                    rows::info(&row).map_err(corrupt)?.check_idle(&seen, waiting)?;
                }
                restore::remove(connection, path, key).await
            })
        });
        write.await
    }
}

fn kept(
    session: &SessionId,
    seq: u64,
    spine: Spine,
    digest: Option<Digest>,
    body: &str,
) -> Result<Kept, StoreError> {
    let missing = || StoreError::BadRecord {
        session: session.clone(),
        seq,
        reason: "its digest is missing".to_owned(),
    };
    Ok(Kept { seq, spine, body: body.to_owned(), digest: digest.ok_or_else(missing)? })
}

fn has_key(record: &Record) -> bool {
    matches!(record, Record::Note(note) if note.key.is_some())
}

/// Somebody who waits for a write. If he goes away, whoever reads afterwards waits for it instead.
struct Waiting<'a> {
    line: &'a Line,
    answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.line.mark();
        }
    }
}

fn found_note(row: &SqliteRow) -> Result<FoundNote, String> {
    let id: String = get(row, "id")?;
    Ok(FoundNote {
        session: SessionId::parse(&id).map_err(|error| error.to_string())?,
        seq: read(get(row, "seq")?),
        layer: get(row, "layer")?,
        kind: get(row, "kind")?,
        at: Timestamp(read(get(row, "at")?)),
        key: NoteKey {
            key: get(row, "key")?,
            state: get(row, "state")?,
            once: get::<Option<bool>>(row, "once")?.unwrap_or_default(),
        },
        body: String::new(),
    })
}
