//! A session that comes as a whole: invisible until it is.
//!
//! What fits one chunk is one statement. More is written chunk by chunk under a row that nobody sees, and shown with the
//! last one; what is left of an import that was cut off belongs to nobody alive and is removed by `collect`, or by the
//! next import of the same session.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Inner;
use super::bind::{Bind, get};
use super::fault::Fault;
use super::keys::{self, KeyColumns, Keys};
use super::leases::{STANDING, Standing};
use super::link::{Level, Link};
use super::moving::add_records;
use super::rows::{self, LETTER_SEAL, Rows, SESSION, stored};
use super::tries::attempt;
use crate::tally::check_name;
use crate::{Header, ImportError, Kept, Letter, Restoring, SessionId, SessionInfo, StoreError};

impl Inner {
    pub(super) async fn restore(
        self: &Arc<Self>,
        mut restoring: Restoring<'_>,
    ) -> Result<SessionInfo, ImportError> {
        let session = restoring.session().clone();
        self.make_room(&session).await?;
        check_words(&restoring.info())?;
        let mut known = BTreeMap::new();
        let chunk = Chunk::next(&mut restoring, &mut known)?;
        let following = Chunk::next(&mut restoring, &mut known)?;
        if following.kept.is_empty() {
            let (store, info) = (Arc::clone(self), restoring.info());
            let letters = Letters::of(restoring.take_letters()?);
            return Ok(self.spawned(async move { store.insert_whole(info, &chunk, &letters).await }).await?);
        }
        let importing = self.begin_import(&restoring.info()).await?;
        match import_chunks(&importing, &mut restoring, &mut known, chunk, following).await {
            Ok((info, letters)) => {
                importing.show(&info, letters).await?;
                Ok(info)
            }
            Err(error) => {
                importing.undo().await;
                Err(error)
            }
        }
    }

    /// Refuses a session that exists, and removes what is left of an import.
    async fn make_room(self: &Arc<Self>, session: &SessionId) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT s.complete OR s.seal IS NOT NULL AS complete, {STANDING} FROM @sessions s LEFT JOIN @owners o USING (owner)
             WHERE s.session = $1::uuid"
        );
        let (store, session) = (Arc::clone(self), session.clone());
        self.spawned(async move {
            let found = store.query(&sql, || Bind::new().session(&session)).await?;
            let Some(row) = found.first() else { return Ok(()) };
            let complete: bool = get(row, "complete").map_err(|reason| store.corrupt(reason))?;
            let standing = Standing::of(row).map_err(|reason| store.corrupt(reason))?;
            if complete || standing.holder().is_some() {
                return Err(StoreError::SessionExists { session });
            }
            store.remove_import(&session).await.map(drop)
        })
        .await
    }

    async fn insert_whole(
        self: &Arc<Self>,
        info: SessionInfo,
        chunk: &Chunk,
        letters: &Letters,
    ) -> Result<SessionInfo, StoreError> {
        let inserted =
            attempt!(self.links, |link, again| { insert_whole(&mut link, &info, (chunk, letters), again) })?;
        match inserted {
            true => {
                self.tell(&info.id);
                Ok(info)
            }
            false => Err(StoreError::SessionExists { session: info.id }),
        }
    }

    async fn begin_import(self: &Arc<Self>, info: &SessionInfo) -> Result<Importing, StoreError> {
        let (store, info) = (Arc::clone(self), info.clone());
        self.spawned(async move {
            let owner = store.owner().await?;
            let claim = store.claims.begin();
            let import = Arc::new(Import { session: info.id.clone(), owner, claim });
            let importing =
                Importing { store: Arc::clone(&store), import: Arc::clone(&import), shown: false };
            match attempt!(store.links, |link| begin(&mut link, &import, &info))? {
                true => Ok(importing),
                false => Err(StoreError::SessionExists { session: info.id }),
            }
        })
        .await
    }
}

async fn import_chunks(
    importing: &Importing,
    restoring: &mut Restoring<'_>,
    known: &mut BTreeMap<Vec<u8>, u64>,
    first: Chunk,
    second: Chunk,
) -> Result<(SessionInfo, Letters), ImportError> {
    importing.add(first).await?;
    let mut chunk = second;
    while !chunk.kept.is_empty() {
        importing.add(chunk).await?;
        chunk = Chunk::next(restoring, known)?;
    }
    Ok((restoring.info(), Letters::of(restoring.take_letters()?)))
}

/// The letters that a session comes with, as columns.
#[derive(Default)]
struct Letters {
    letter: Vec<i64>,
    at: Vec<i64>,
    kind: Vec<String>,
    body: Vec<String>,
}

impl Letters {
    fn of(letters: Vec<Letter>) -> Self {
        let mut columns = Letters::default();
        for letter in letters {
            columns.letter.push(stored(letter.id.0));
            columns.at.push(stored(letter.at.0));
            columns.kind.push(letter.kind);
            columns.body.push(letter.body);
        }
        columns
    }

    /// The part of a statement that posts them to the session that `moved` names, with arguments from `$first` on.
    fn posted(first: usize) -> String {
        format!(
            "posted AS (
                 INSERT INTO @letters (session, letter, at, kind, body, seal)
                 SELECT session, letter, at, kind, body, {LETTER_SEAL} FROM (
                     SELECT * FROM moved, unnest(${}::bigint[], ${}::bigint[], ${}::text[], ${}::text[])
                         AS given (letter, at, kind, body)
                 ) AS l
             )",
            first,
            first + 1,
            first + 2,
            first + 3
        )
    }

    fn bind(&self, bind: Bind) -> Bind {
        let bind = bind.with(self.letter.clone()).with(self.at.clone());
        bind.with(self.kind.clone()).with(self.body.clone())
    }
}

/// Some records of an import.
#[derive(Default)]
struct Chunk {
    kept: Vec<Kept>,
    keys: Keys,
}

impl Chunk {
    /// Reads the next records and holds their keys against those before them.
    fn next(restoring: &mut Restoring<'_>, known: &mut BTreeMap<Vec<u8>, u64>) -> Result<Self, ImportError> {
        let kept = restoring.next_chunk()?;
        let keys = Keys::of(&kept);
        keys.check(restoring.session(), known)?;
        keys.remember(known);
        Ok(Chunk { kept, keys })
    }

    /// Adds what inserts it, for the session that `moved` names, to a statement whose next argument is `$first`.
    fn add_to(&self, session: &SessionId, query: &mut String, bind: Bind, first: usize) -> Bind {
        let (mut bind, mut next) = (bind, first);
        if !self.keys.is_empty() {
            let mut columns = KeyColumns::default();
            columns.push(session, &self.keys);
            *query += &format!(", {}, {}", keys::given_keys(next), keys::INSERT_KEYS);
            bind = columns.bind(bind);
            next += 7;
        }
        let mut rows = Rows::default();
        for kept in &self.kept {
            rows.push(session, kept);
        }
        add_records(query, &mut bind, next, &mut rows);
        bind
    }
}

/// What tells an import from all others of the same session.
struct Import {
    session: SessionId,
    owner: String,
    claim: i64,
}

impl Import {
    fn bind(&self) -> Bind {
        Bind::new().session(&self.session).with(&self.owner).with(self.claim)
    }
}

/// An import under way. Dropped before it is shown, it is removed.
struct Importing {
    store: Arc<Inner>,
    import: Arc<Import>,
    shown: bool,
}

impl Importing {
    async fn add(&self, chunk: Chunk) -> Result<(), StoreError> {
        let (store, import) = (Arc::clone(&self.store), Arc::clone(&self.import));
        let added = async move { attempt!(store.links, |link| add(&mut link, &import, &chunk)) };
        self.store.spawned(added).await
    }

    async fn show(mut self, info: &SessionInfo, letters: Letters) -> Result<(), StoreError> {
        let (store, import, info) = (Arc::clone(&self.store), Arc::clone(&self.import), info.clone());
        let shown = async move {
            attempt!(store.links, |link| show(&mut link, &import, (&info, &letters)))?;
            store.tell(&info.id);
            Ok(())
        };
        self.store.spawned(shown).await?;
        self.shown = true;
        Ok(())
    }

    /// Removes it and waits for that.
    async fn undo(mut self) {
        self.shown = true;
        self.store.claims.end(&self.import.session, self.import.claim);
        let (store, import) = (Arc::clone(&self.store), Arc::clone(&self.import));
        // If this fails, what is left belongs to nobody alive.
        let _ = self.store.spawned(async move { store.remove_import(&import.session).await }).await;
        self.store.tell_ended();
    }
}

impl Drop for Importing {
    fn drop(&mut self) {
        let claims = &self.store.claims;
        if self.shown {
            claims.forget(self.import.claim);
            return;
        }
        claims.end(&self.import.session, self.import.claim);
        let (store, import) = (Arc::clone(&self.store), Arc::clone(&self.import));
        self.store.runtime.spawn(async move {
            // What fails now is tried with the next sign of life, and what is left is for `collect`.
            let _ = store.remove_import(&import.session).await;
            let _ = store.release().await;
        });
    }
}

fn check_words(info: &SessionInfo) -> Result<(), StoreError> {
    let mut words = info.tags.iter().chain([&info.title]).chain(&info.workspace);
    words.try_for_each(|word| check_name(word)).map_err(|reason| StoreError::body(&info.id, "title", reason))
}

/// The columns of a session's row as [`bind_row`] binds them from `$2` on.
const ROW: &str =
    "session, title, tags, archived, workspace, created_at, updated_at, head, records, nodes, bytes, digest";
const VALUES: &str = "$1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12";

fn bind_row(info: &SessionInfo, records: u64) -> Bind {
    let tags: Vec<&String> = info.tags.iter().collect();
    Bind::new()
        .session(&info.id)
        .with(&info.title)
        .with(tags)
        .with(info.archived)
        .with(&info.workspace)
        .with(stored(info.created_at.0))
        .with(stored(info.updated_at.0))
        .with(info.head.index() as i64)
        .with(stored(records))
        .with(stored(info.nodes))
        .with(stored(info.bytes))
        .with(info.digest.as_bytes().as_slice())
}

/// Inserts a session in one statement; returns whether it is there now because of us. `again` tells whether an earlier
/// try may have done it.
async fn insert_whole(
    link: &mut Link,
    info: &SessionInfo,
    (chunk, letters): (&Chunk, &Letters),
    again: bool,
) -> Result<Result<bool, StoreError>, Fault> {
    let mut query = format!(
        "WITH moved AS (
             INSERT INTO @sessions ({ROW}, complete, letters, seal) VALUES ({VALUES}, true, $13, $18) ON CONFLICT DO NOTHING
             RETURNING session
         ), {}",
        Letters::posted(14)
    );
    let bind = bind_row(info, info.records).with(letters.letter.len() as i64);
    let bind = letters.bind(bind).with(Header::of(info).seal().as_bytes().as_slice());
    let bind = chunk.add_to(&info.id, &mut query, bind, 19);
    query += " SELECT 1 FROM moved";
    let inserted = link.write(Level::Flushed, &query, bind).await?;
    if !inserted.is_empty() || !again {
        return Ok(Ok(!inserted.is_empty()));
    }
    let sql = format!("SELECT {SESSION} FROM @sessions s WHERE s.session = $1::uuid AND s.complete");
    let found = link.rows(&sql, Bind::new().session(&info.id)).await?;
    let found = found.first().map(rows::info).transpose();
    let is_there = found.map_err(|reason| Fault::corrupt(link.place(), reason))?.as_ref() == Some(info);
    Ok(Ok(is_there && rows::flush_after(link, &info.id).await?))
}

/// Makes the row that nobody sees; returns whether it is there now and ours.
async fn begin(
    link: &mut Link,
    import: &Import,
    info: &SessionInfo,
) -> Result<Result<bool, StoreError>, Fault> {
    let sql = format!(
        "INSERT INTO @sessions AS s ({ROW}, complete, owner, claim) VALUES ({VALUES}, false, $13::uuid, $14)
         ON CONFLICT (session) DO UPDATE SET claim = excluded.claim
         WHERE s.owner = excluded.owner AND s.claim = excluded.claim AND NOT s.complete
         RETURNING 1"
    );
    let bind = bind_row(info, 0).with(&import.owner).with(import.claim);
    link.write(Level::Committed, &sql, bind).await.map(|rows| Ok(!rows.is_empty()))
}

const OURS: &str = "session = $1::uuid AND owner = $2::uuid AND claim = $3 AND NOT complete";

async fn add(link: &mut Link, import: &Import, chunk: &Chunk) -> Result<Result<(), StoreError>, Fault> {
    let (Some(first), Some(last)) = (chunk.kept.first(), chunk.kept.last()) else { return Ok(Ok(())) };
    let mut query = format!(
        "WITH moved AS (UPDATE @sessions SET records = $4 WHERE {OURS} AND records = $5 RETURNING session)"
    );
    let bind = import.bind().with(stored(last.seq)).with(stored(first.seq) - 1);
    let bind = chunk.add_to(&import.session, &mut query, bind, 6);
    // What nobody sees needs no flush; the step that shows it flushes all before it.
    query += " SELECT 1 FROM moved";
    if !link.write(Level::Committed, &query, bind).await?.is_empty() {
        return Ok(Ok(()));
    }
    // The answer to an earlier try may have been lost.
    let sql = format!("SELECT 1 FROM @sessions WHERE {OURS} AND records = $4");
    let found = link.rows(&sql, import.bind().with(stored(last.seq))).await?;
    Ok(if found.is_empty() { Err(given_up(link)) } else { Ok(()) })
}

async fn show(
    link: &mut Link,
    import: &Import,
    (info, letters): (&SessionInfo, &Letters),
) -> Result<Result<(), StoreError>, Fault> {
    let sql = format!(
        "WITH moved AS (
             UPDATE @sessions SET complete = true, owner = NULL, claim = NULL, updated_at = $4, head = $5, nodes = $6,
                 bytes = $7, digest = $8, letters = $10, seal = $15
             WHERE {OURS} AND records = $9 RETURNING session
         ), {}
         SELECT 1 FROM moved",
        Letters::posted(11)
    );
    let bind = import.bind().with(stored(info.updated_at.0)).with(info.head.index() as i64);
    let bind = bind.with(stored(info.nodes)).with(stored(info.bytes)).with(info.digest.as_bytes().as_slice());
    let bind = bind.with(stored(info.records)).with(letters.letter.len() as i64);
    let bind = letters.bind(bind).with(Header::of(info).seal().as_bytes().as_slice());
    if !link.write(Level::Flushed, &sql, bind).await?.is_empty() {
        return Ok(Ok(()));
    }
    let sql = "SELECT 1 FROM @sessions WHERE session = $1::uuid AND complete AND digest = $2";
    let bind = Bind::new().session(&import.session).with(info.digest.as_bytes().as_slice());
    let is_there = !link.rows(sql, bind).await?.is_empty();
    let is_shown = is_there && rows::flush_after(link, &import.session).await?;
    Ok(if is_shown { Ok(()) } else { Err(given_up(link)) })
}

fn given_up(link: &Link) -> StoreError {
    let reason = "the import was removed by others, because this process showed no sign of life for too long";
    StoreError::Database { place: link.place().to_owned(), reason: reason.to_owned() }
}
