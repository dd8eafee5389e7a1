//! The statement that moves sessions on: one for all batches that are written together.

use std::collections::BTreeSet;

use tokio_postgres::Row;

use super::bind::{Bind, get};
use super::fault::Fault;
use super::keys::{self, KeyColumns};
use super::line::{Held, Job};
use super::link::{Level, Link};
use super::rows::{self, Place, Rows, stored};
use super::shards::Spread;
use super::writing::flushed;
use crate::{InboxId, SessionId};

/// How many bytes of bodies one statement takes.
pub(super) const BYTES: usize = 8 * 1024 * 1024;

/// Moves sessions from where their first job begins to where the last one ends, all that are there still; returns which
/// were.
pub(super) async fn move_sessions(
    link: &mut Link,
    flights: &[(&Held, &[Job])],
) -> Result<BTreeSet<String>, Fault> {
    let mut rows = Rows::default();
    for (held, jobs) in flights {
        for kept in jobs.iter().flat_map(|job| &job.kept) {
            rows.push(&held.session, kept);
        }
    }
    let (sql, bind) = match flights {
        // A distributed engine finds the shard of what names its sessions in an array.
        [(held, jobs)] if link.spread() == Spread::One && is_small(jobs, &rows) => {
            moving_one(held, jobs, rows)
        }
        _ => moving(flights, rows),
    };
    let found = link.write(level_of(flights), &sql, bind).await?;
    moved(link, &found)
}

fn level_of(flights: &[(&Held, &[Job])]) -> Level {
    match flushed(flights.iter().flat_map(|(_, jobs)| jobs.iter())) {
        true => Level::Flushed,
        false => Level::Committed,
    }
}

/// Reads which sessions were moved.
fn moved(link: &Link, found: &[Row]) -> Result<BTreeSet<String>, Fault> {
    let moved: Result<BTreeSet<String>, String> = found.iter().map(|row| get(row, "session")).collect();
    moved.map_err(|reason| Fault::corrupt(link.place(), reason))
}

/// The same for one job that is too large for one statement.
pub(super) async fn move_in_steps(link: &mut Link, held: &Held, job: &Job) -> Result<bool, Fault> {
    let flights = [(held, std::slice::from_ref(job))];
    let (sql, bind) = moving(&flights, Rows::default());
    let found = link.begin(level_of(&flights), vec![(&sql, bind)]).await?;
    let is_moved = found.first().is_some_and(|rows| !rows.is_empty());
    if is_moved {
        let mut step = Rows::default();
        let mut bytes = 0;
        for kept in &job.kept {
            if bytes > 0 && bytes + kept.size() > BYTES {
                insert(link, &held.session, std::mem::take(&mut step)).await?;
                bytes = 0;
            }
            bytes += kept.size();
            step.push(&held.session, kept);
        }
        insert(link, &held.session, step).await?;
    }
    link.finish(Vec::new()).await?;
    Ok(is_moved)
}

/// Inserts records of a session whose row is ours for the length of a transaction.
pub(super) async fn insert(link: &mut Link, session: &SessionId, mut rows: Rows) -> Result<(), Fault> {
    let mut query = "WITH moved AS (SELECT $1::uuid AS session)".to_owned();
    let mut bind = Bind::new().session(session);
    add_records(&mut query, &mut bind, 2, &mut rows);
    query += " SELECT 1";
    link.rows(&query, bind).await.map(drop)
}

/// Adds the insertion of records to a statement whose next argument is `$first`.
pub(super) fn add_records(query: &mut String, bind: &mut Bind, first: usize, rows: &mut Rows) {
    let mut next = first;
    let mut bound = std::mem::take(bind);
    if rows.has_parts() {
        *query += &format!(", {}", rows::insert_parts(next));
        bound = rows.bind_parts(bound);
        next += 3;
    }
    if rows.records() > 0 {
        *query += &format!(", {}", rows::insert_records(next));
        bound = rows.bind_records(bound);
    }
    *bind = bound;
}

/// How many records one statement takes as arguments of their own.
const FEW: usize = 8;

/// Whether jobs of one session only add a few small records.
fn is_small(jobs: &[Job], rows: &Rows) -> bool {
    (1..=FEW).contains(&rows.records())
        && !rows.has_parts()
        && jobs.iter().all(|job| job.letters.is_empty() && job.keys.is_empty())
}

/// Does what [`moving`] does for most appends there are: a few records of one session. It has no arrays and hardly a join,
/// since to read and plan the statement takes the server longer than to run it.
fn moving_one(held: &Held, jobs: &[Job], rows: Rows) -> (String, Bind) {
    let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else { return moving(&[(held, jobs)], rows) };
    let (base, after) = (first.base, last.after);
    let bind = Bind::new()
        .session(&held.session)
        .with(stored(held.grant.token))
        .with(&held.grant.owner)
        .with(held.grant.claim)
        .with(stored(base.tally.seq))
        .with(stored(base.consumed))
        .with(base.tally.digest.as_bytes().as_slice())
        .with(stored(after.tally.seq))
        .with(stored(after.consumed))
        .with(stored(after.tally.nodes))
        .with(after.tally.head.index() as i64)
        .with(stored(after.tally.updated_at.0))
        .with(stored(after.tally.bytes))
        .with(after.tally.digest.as_bytes().as_slice());
    let insert = rows::insert_few(1 + MOVE_ARGUMENTS, rows.records());
    (format!("WITH {MOVED_ONE}, {insert} SELECT session::text AS session FROM moved"), rows.bind_few(bind))
}

/// [`MOVED`] for one session.
const MOVED_ONE: &str = "moved AS (
    UPDATE @sessions s SET records = $8, consumed = $9, nodes = $10, head = $11, updated_at = $12, bytes = $13, digest = $14
    WHERE s.session = $1::uuid AND s.complete AND s.token = $2 AND s.owner = $3::uuid AND s.claim = $4
        AND s.records = $5 AND s.consumed = $6 AND s.digest = $7
    RETURNING s.session)";

/// Returns the statement that moves sessions and inserts `rows`; its rows are the sessions that were moved.
fn moving(flights: &[(&Held, &[Job])], mut rows: Rows) -> (String, Bind) {
    let mut moves = Moves::default();
    let mut letters = Letters::default();
    let mut key_columns = KeyColumns::default();
    for (held, jobs) in flights {
        let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else { continue };
        moves.push(held, first.base, last.after);
        for job in *jobs {
            letters.push(&held.session, &job.letters, job.after.tally.seq);
            key_columns.push(&held.session, &job.keys);
        }
    }
    let mut bind = moves.bind(Bind::new());
    let mut next = 1 + MOVE_ARGUMENTS;
    let mut query = format!("WITH {}", wanted(1));
    let mut conditions = String::new();
    let with_letters = !letters.letter.is_empty();
    if with_letters {
        query += &format!(", {}", given_letters(next));
        bind = letters.bind(bind);
        next += 3;
        conditions += &format!("{LETTERS_WAIT}{}))", rows::LETTER_SEAL);
    }
    let with_keys = !key_columns.is_empty();
    if with_keys {
        query += &format!(", {}", keys::given_keys(next));
        bind = key_columns.bind(bind);
        next += 7;
        conditions += KEYS_ARE_NEW;
    }
    query += &format!(", {MOVED}{conditions} RETURNING s.session)");
    if with_letters {
        query += &format!(", {CONSUME}");
    }
    if with_keys {
        query += &format!(", {}", keys::INSERT_KEYS);
    }
    add_records(&mut query, &mut bind, next, &mut rows);
    query += " SELECT session::text AS session FROM moved";
    (query, bind)
}

/// The `UPDATE` that lets a batch in; to be continued with more conditions. What it compares is all that decides: a
/// session whose row is at the same place under the same lease has the same letters and keys. `$1` has all sessions once
/// more for each table: a distributed engine finds the shard by that, and not by what is joined.
const MOVED: &str = "moved AS (
    UPDATE @sessions s SET records = w.records, consumed = w.consumed, nodes = w.nodes, head = w.head,
        updated_at = w.updated_at, bytes = w.bytes, digest = w.digest
    FROM wanted w
    WHERE s.session = w.session AND s.complete AND s.token = w.token AND s.owner = w.owner AND s.claim = w.claim
        AND s.records = w.at_records AND s.consumed = w.at_consumed AND s.digest = w.at_digest
        AND s.session = ANY ($1::text[]::uuid[])";

const LETTERS_WAIT: &str = " AND w.consumed - w.at_consumed = (
    SELECT count(*) FROM given_letters g JOIN @letters l USING (session, letter)
    WHERE g.session = w.session AND l.session = ANY ($1::text[]::uuid[]) AND l.consumed IS NULL AND (l.seal IS NULL OR l.seal = ";

const CONSUME: &str = "consume AS (
    UPDATE @letters l SET consumed = g.seq, seal = CASE WHEN l.seal IS NULL THEN NULL ELSE ''::bytea END
    FROM given_letters g
    WHERE l.session = g.session AND l.letter = g.letter AND l.session = ANY ($1::text[]::uuid[])
        AND g.session IN (SELECT session FROM moved))";

const KEYS_ARE_NEW: &str = " AND NOT EXISTS (
    SELECT 1 FROM given_keys g JOIN @keys k USING (session, name)
    WHERE g.session = w.session AND k.session = ANY ($1::text[]::uuid[]) AND g.once)";

/// From where to where sessions are moved.
#[derive(Default)]
struct Moves {
    session: Vec<String>,
    token: Vec<i64>,
    owner: Vec<String>,
    claim: Vec<i64>,
    at_records: Vec<i64>,
    at_consumed: Vec<i64>,
    at_digest: Vec<Vec<u8>>,
    records: Vec<i64>,
    consumed: Vec<i64>,
    nodes: Vec<i64>,
    head: Vec<i64>,
    updated_at: Vec<i64>,
    bytes: Vec<i64>,
    digest: Vec<Vec<u8>>,
}

const MOVE_ARGUMENTS: usize = 14;

impl Moves {
    fn push(&mut self, held: &Held, base: Place, after: Place) {
        self.session.push(held.session.to_string());
        self.token.push(stored(held.grant.token));
        self.owner.push(held.grant.owner.clone());
        self.claim.push(held.grant.claim);
        self.at_records.push(stored(base.tally.seq));
        self.at_consumed.push(stored(base.consumed));
        self.at_digest.push(base.tally.digest.as_bytes().to_vec());
        self.records.push(stored(after.tally.seq));
        self.consumed.push(stored(after.consumed));
        self.nodes.push(stored(after.tally.nodes));
        self.head.push(after.tally.head.index() as i64);
        self.updated_at.push(stored(after.tally.updated_at.0));
        self.bytes.push(stored(after.tally.bytes));
        self.digest.push(after.tally.digest.as_bytes().to_vec());
    }

    fn bind(self, bind: Bind) -> Bind {
        bind.with(self.session)
            .with(self.token)
            .with(self.owner)
            .with(self.claim)
            .with(self.at_records)
            .with(self.at_consumed)
            .with(self.at_digest)
            .with(self.records)
            .with(self.consumed)
            .with(self.nodes)
            .with(self.head)
            .with(self.updated_at)
            .with(self.bytes)
            .with(self.digest)
    }
}

fn wanted(first: usize) -> String {
    let n = |offset: usize| first + offset;
    format!(
        "wanted AS (
            SELECT * FROM unnest(${}::text[]::uuid[], ${}::bigint[], ${}::text[]::uuid[], ${}::bigint[], ${}::bigint[],
                ${}::bigint[], ${}::bytea[], ${}::bigint[], ${}::bigint[], ${}::bigint[], ${}::bigint[], ${}::bigint[],
                ${}::bigint[], ${}::bytea[])
            AS w (session, token, owner, claim, at_records, at_consumed, at_digest, records, consumed, nodes, head, updated_at, bytes,
                digest)
        )",
        n(0), n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8), n(9), n(10), n(11), n(12), n(13)
    )
}

/// The letters that batches consume, with the last record of each batch.
#[derive(Default)]
struct Letters {
    session: Vec<String>,
    letter: Vec<i64>,
    seq: Vec<i64>,
}

impl Letters {
    fn push(&mut self, session: &SessionId, letters: &[InboxId], seq: u64) {
        for letter in letters {
            self.session.push(session.to_string());
            self.letter.push(stored(letter.0));
            self.seq.push(stored(seq));
        }
    }

    fn bind(self, bind: Bind) -> Bind {
        bind.with(self.session).with(self.letter).with(self.seq)
    }
}

fn given_letters(first: usize) -> String {
    format!(
        "given_letters AS (
            SELECT * FROM unnest(${}::text[]::uuid[], ${}::bigint[], ${}::bigint[]) AS g (session, letter, seq)
        )",
        first,
        first + 1,
        first + 2
    )
}
