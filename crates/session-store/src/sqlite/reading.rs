//! Reading records: many in one row.
//!
//! Which ones is said by a range or by a list of their numbers; both are read alike.
//!
//! Each row that comes from the database crosses from its thread to ours, which costs more than reading it. So SQLite
//! joins some records into one text, and we take it apart: a line of numbers, one of names where there are any, and the
//! body, which is JSON and so has no line breaks.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;

use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use trunkline_message_tree::NodeId;

use super::SqliteStore;
use super::answer::Ask;
use super::rows::{RecordRow, get, read, stored};
use crate::cut::join;
use crate::{Digest, FoundNote, SessionId, Spine, StoreError};

/// How many records SQLite joins into one row.
pub(super) const PER_ROW: u64 = 64;

/// The line of a record and its body, in SQL; the arguments say how much was cut out of the body, whether the digest is wanted,
/// and what the body is.
macro_rules! line {
    ($digests:literal) => {
        line!("cuts", $digests, "bodies.json")
    };
    ($cuts:literal, $digests:literal, $body:literal) => {
        concat!(
            "seq || ' ' || kind || ' ' || ifnull(node, '-') || ' ' || ifnull(records.parent, '-') || ' ' || at || ' '
             || ifnull(",
            $cuts,
            ", '-') || ' ' || iif(",
            $digests,
            ", hex(digest), '-')
             || CASE WHEN layer IS NULL AND records.key IS NULL THEN ''
                     ELSE ' ' || json_array(layer, name, records.key, state, once) END
             || char(10) || ifnull(",
            $body,
            ", '') AS line "
        )
    };
}

/// What SQLite says of a value that is larger than its limit.
const TOO_BIG: &str = "string or blob too big";

/// Joins the records `?2 < seq <= ?3` of session `?1`, of which there is at least one; with their digests if `?4`.
pub(super) const JOINED: &str = concat!(
    "WITH RECURSIVE part(first) AS (SELECT ?2 UNION ALL SELECT first + 64 FROM part WHERE first + 64 < ?3)
     SELECT (SELECT group_concat(line, char(10)) FROM (SELECT ",
    line!("?4"),
    "FROM records LEFT JOIN bodies USING (body)
     WHERE session = ?1 AND seq > first AND seq <= min(first + 64, ?3)
     ORDER BY seq)) FROM part"
);

/// The same without digests and bodies, in whose place stands a word that is not read.
const SPINES: &str = concat!(
    "WITH RECURSIVE part(first) AS (SELECT ?2 UNION ALL SELECT first + 64 FROM part WHERE first + 64 < ?3)
     SELECT (SELECT group_concat(line, char(10)) FROM (SELECT ",
    line!("NULL", "0", "'null'"),
    "FROM records WHERE session = ?1 AND seq > first AND seq <= min(first + 64, ?3)
     ORDER BY seq)) FROM part"
);

/// Joins the records of session `?1` with the numbers in `?2`, a list of lists in JSON, each of which makes a row; with their
/// digests if `?3`. The lists are walked in their order, so nothing has to be sorted.
const LISTED: &str = concat!(
    "SELECT (SELECT group_concat(line, char(10)) FROM (SELECT ",
    line!("?3"),
    "FROM json_each(part.value) AS wanted CROSS JOIN records ON session = ?1 AND seq = wanted.value
     LEFT JOIN bodies USING (body)
     ORDER BY wanted.rowid)) FROM json_each(?2) AS part"
);

/// What was cut out of the bodies of the records of session `?1` with the numbers in `?2`, a list in JSON, in its order. A
/// second word to order by would sort all of the texts.
const PARTS: &str = "SELECT seq, place, text FROM json_each(?2) AS wanted
    CROSS JOIN records ON session = ?1 AND seq = wanted.value CROSS JOIN cuts USING (body) CROSS JOIN parts USING (part)
    ORDER BY wanted.rowid";

/// A record in a joined row.
pub(super) struct Joined<'a> {
    pub(super) seq: u64,
    pub(super) spine: Spine,
    pub(super) digest: Option<Digest>,
    pub(super) body: &'a str,
    /// How many large strings were cut out of the body; nothing if it is whole.
    pub(super) cuts: Option<i64>,
}

/// What a visitor says: whether it wants more.
pub(super) type Visited = Result<ControlFlow<()>, StoreError>;

/// It does.
pub(super) const MORE: ControlFlow<()> = ControlFlow::Continue(());

/// Takes a joined row apart. An error has the number of the record, as far as that can be read.
pub(super) fn take_apart(text: &str) -> impl Iterator<Item = Result<Joined<'_>, (Option<u64>, String)>> {
    let mut lines = text.split('\n');
    std::iter::from_fn(move || {
        let first = lines.next()?;
        Some(match lines.next() {
            Some(body) => one(first, body),
            None => Err((None, "its body is missing".to_owned())),
        })
    })
}

fn one<'a>(line: &str, body: &'a str) -> Result<Joined<'a>, (Option<u64>, String)> {
    let mut words = line.splitn(8, ' ');
    let mut word = || words.next().unwrap_or_default();
    let number = |word: &str| word.parse::<i64>().map_err(|_| format!("{word:?} is not a number"));
    let seq = read(number(word()).map_err(|reason| (None, reason))?);
    let maybe = |word: &str| if word == "-" { Ok(None) } else { number(word).map(Some) };
    let mut inner = || -> Result<Joined<'a>, String> {
        let (kind, node, parent) = (number(word())?, maybe(word())?, maybe(word())?);
        let (at, cuts) = (number(word())?, maybe(word())?);
        let digest = match word() {
            "-" => None,
            word => Some(Digest::parse(&word.to_ascii_lowercase()).map_err(|error| error.to_string())?),
        };
        let (layer, name, key, state, once) = match word() {
            "" => (None, None, None, None, None),
            names => serde_json::from_str::<Names>(names).map_err(|error| error.to_string())?,
        };
        let once = once.map(|once| once != 0);
        let spine = RecordRow { kind, node, parent, at, layer, name, key, state, once }.spine()?;
        if body.is_empty() {
            return Err("its body is missing".to_owned());
        }
        Ok(Joined { seq, spine, digest, body, cuts })
    };
    inner().map_err(|reason| (Some(seq), reason))
}

type Names = (Option<String>, Option<String>, Option<String>, Option<String>, Option<i64>);

/// What was cut out of the bodies of some records, as the database gives it: in the order of records.
struct Parts<'a> {
    rows: BoxStream<'a, sqlx::Result<SqliteRow>>,
    /// The first of another record than the last that was asked for.
    ahead: Option<Part>,
}

struct Part {
    seq: u64,
    place: usize,
    text: String,
}

impl Parts<'_> {
    /// Returns those of a record, by their places; it comes after those that were asked for before.
    async fn of(&mut self, seq: u64, store: &SqliteStore) -> Result<Vec<Part>, StoreError> {
        let mut parts = Vec::new();
        loop {
            let part = match self.ahead.take() {
                Some(part) => part,
                None => match self.rows.try_next().await.map_err(|error| store.fault(error))? {
                    Some(row) => part(&row).map_err(|reason| store.corrupt(reason))?,
                    None => break,
                },
            };
            match part.seq.cmp(&seq) {
                Ordering::Less => {}
                Ordering::Equal => parts.push(part),
                Ordering::Greater => {
                    self.ahead = Some(part);
                    break;
                }
            }
        }
        parts.sort_unstable_by_key(|part| part.place);
        Ok(parts)
    }
}

fn part(row: &SqliteRow) -> Result<Part, String> {
    let place: i64 = get(row, "place")?;
    let place = usize::try_from(place).map_err(|_| format!("a part stands at {place}"))?;
    let text: String = row.try_get("text").map_err(|error| error.to_string())?;
    Ok(Part { seq: read(get(row, "seq")?), place, text })
}

/// Puts a body together again, of which so many strings were cut out.
fn whole(rest: &str, cuts: i64, parts: &[Part]) -> Result<String, String> {
    if usize::try_from(cuts) != Ok(parts.len()) {
        return Err(format!("{cuts} parts were cut out of its body, and {} are there", parts.len()));
    }
    let parts: Vec<(usize, &str)> = parts.iter().map(|part| (part.place, part.text.as_str())).collect();
    join(rest, &parts).ok_or_else(|| "a part of its body has no place".to_owned())
}

/// The records that are still to be read, in their order.
#[derive(Copy, Clone)]
enum Wanted<'a> {
    Range {
        next: u64,
        until: u64,
    },
    /// Like that, without their bodies.
    Spines {
        next: u64,
        until: u64,
    },
    List(&'a [u64]),
}

impl Wanted<'_> {
    /// Returns the number of the next one.
    fn first(&self) -> Option<u64> {
        match self {
            Wanted::Range { next, until } | Wanted::Spines { next, until } => {
                (next <= until).then_some(*next)
            }
            Wanted::List(numbers) => numbers.first().copied(),
        }
    }

    /// Goes on behind the next one, and returns that alone.
    fn take(&mut self) -> Option<Self> {
        let first = self.first()?;
        Some(match self {
            Wanted::Range { next, .. } => {
                *next = first.saturating_add(1);
                Wanted::Range { next: first, until: first }
            }
            Wanted::Spines { next, .. } => {
                *next = first.saturating_add(1);
                Wanted::Spines { next: first, until: first }
            }
            Wanted::List(numbers) => {
                let (one, rest) = numbers.split_at_checked(1)?;
                *numbers = rest;
                Wanted::List(one)
            }
        })
    }

    /// Reads them joined, and with their digests if they are wanted.
    fn rows<'c>(
        &self,
        key: i64,
        digests: bool,
        from: &'c sqlx::SqlitePool,
    ) -> BoxStream<'c, sqlx::Result<SqliteRow>> {
        match self {
            Wanted::Range { next, until } => {
                let query = sqlx::query(JOINED).bind(key).bind(stored(next - 1));
                query.bind(stored(*until)).bind(digests).rows(from)
            }
            Wanted::Spines { next, until } => {
                let query = sqlx::query(SPINES).bind(key).bind(stored(next - 1));
                query.bind(stored(*until)).rows(from)
            }
            Wanted::List(numbers) => {
                let parts: Vec<&[u64]> = numbers.chunks(PER_ROW as usize).collect();
                sqlx::query(LISTED).bind(key).bind(json(&parts)).bind(digests).rows(from)
            }
        }
    }
}

fn json(numbers: &impl serde::Serialize) -> String {
    serde_json::to_string(numbers).expect("numbers are JSON")
}

impl SqliteStore {
    /// Reads the records `after < seq <= until` in order, with their digests if they are wanted, as long as the visitor
    /// wants more. The database joins the next ones while these are visited.
    ///
    /// A log only grows, so what it was at one moment is a prefix of what it is, and no transaction is needed.
    pub(super) async fn visit(
        &self,
        session: &SessionId,
        key: i64,
        (after, until): (u64, u64),
        digests: bool,
        visit: impl FnMut(u64, Spine, Option<Digest>, &str) -> Visited + Send,
    ) -> Result<(), StoreError> {
        let wanted = Wanted::Range { next: after.saturating_add(1), until };
        self.visit_wanted(session, key, (wanted, until), digests, visit).await
    }

    /// Reads what the spine says of these records, in the same way.
    pub(super) async fn visit_spines(
        &self,
        session: &SessionId,
        key: i64,
        (after, until): (u64, u64),
        mut visit: impl FnMut(u64, Spine) + Send,
    ) -> Result<(), StoreError> {
        let wanted = Wanted::Spines { next: after.saturating_add(1), until };
        let visit = |seq, spine, _, _: &str| {
            visit(seq, spine);
            Ok(MORE)
        };
        self.visit_wanted(session, key, (wanted, until), false, visit).await
    }

    /// Reads the records with these numbers, which grow, in the same way.
    pub(super) async fn visit_numbers(
        &self,
        session: &SessionId,
        key: i64,
        numbers: &[u64],
        digests: bool,
        visit: impl FnMut(u64, Spine, Option<Digest>, &str) -> Visited + Send,
    ) -> Result<(), StoreError> {
        let last = numbers.last().copied().unwrap_or_default();
        self.visit_wanted(session, key, (Wanted::List(numbers), last), digests, visit).await
    }

    async fn visit_wanted(
        &self,
        session: &SessionId,
        key: i64,
        (mut wanted, last): (Wanted<'_>, u64),
        digests: bool,
        mut visit: impl FnMut(u64, Spine, Option<Digest>, &str) -> Visited + Send,
    ) -> Result<(), StoreError> {
        if i64::try_from(last).is_err() {
            let reason = "no record has that number".to_owned();
            return Err(StoreError::BadRecord { session: session.clone(), seq: last, reason });
        }
        loop {
            match self.visit_joined(session, key, &mut wanted, digests, &mut visit).await {
                // Together they were too large for one value. Alone none is, or it could not have been written.
                Err(StoreError::Database { reason, .. }) if reason.contains(TOO_BIG) => {}
                result => return result.map(drop),
            }
            for _ in 0..PER_ROW {
                let Some(mut one) = wanted.take() else { return Ok(()) };
                if self.visit_joined(session, key, &mut one, digests, &mut visit).await?.is_break() {
                    return Ok(());
                }
            }
        }
    }

    async fn visit_joined(
        &self,
        session: &SessionId,
        key: i64,
        wanted: &mut Wanted<'_>,
        digests: bool,
        visit: &mut (impl FnMut(u64, Spine, Option<Digest>, &str) -> Visited + Send),
    ) -> Visited {
        let bad = |seq, reason| StoreError::BadRecord { session: session.clone(), seq, reason };
        if wanted.first().is_none() {
            return Ok(MORE);
        }
        let mut found = wanted.rows(key, digests, self.readers.pool());
        while let Some(row) = found.try_next().await.map_err(|error| self.fault(error))? {
            let text: Option<&str> = row.try_get(0).map_err(|error| self.fault(error))?;
            // All of them are gone; what that means is told below.
            let Some(text) = text else { break };
            let records: Vec<_> = take_apart(text).collect();
            let cut = records.iter().flatten().filter(|joined| joined.cuts.is_some());
            let cut: Vec<u64> = cut.map(|joined| joined.seq).collect();
            let mut parts = None;
            for joined in records {
                let expected = wanted.take().and_then(|one| one.first()).unwrap_or_default();
                let joined = joined.map_err(|(seq, reason)| bad(seq.unwrap_or(expected), reason))?;
                let seq = joined.seq;
                if seq != expected {
                    return Err(bad(expected, format!("record {seq} stands in its place")));
                }
                let visited = match joined.cuts {
                    None => visit(seq, joined.spine, joined.digest, joined.body)?,
                    Some(cuts) => {
                        let parts = parts.get_or_insert_with(|| self.parts(key, &cut));
                        let parts = parts.of(seq, self).await?;
                        let body = whole(joined.body, cuts, &parts).map_err(|reason| bad(seq, reason))?;
                        visit(seq, joined.spine, joined.digest, &body)?
                    }
                };
                if visited.is_break() {
                    return Ok(visited);
                }
            }
        }
        // What comes next needs a connection, and nobody waits for one with another in his hand.
        drop(found);
        if let Some(missing) = wanted.first() {
            // It was deleted while we read, or the record is gone.
            self.row(session).await?;
            return Err(bad(missing, "it is missing".to_owned()));
        }
        Ok(MORE)
    }

    /// Reads the bodies of notes, of which these are the sessions; those of one session stand together and in order. Many are
    /// read at once: each question crosses to the thread of the database and back.
    pub(super) async fn read_bodies(
        &self,
        mut notes: &mut [FoundNote],
        mut sessions: &[i64],
    ) -> Result<(), StoreError> {
        while let (Some(first), Some(key)) = (notes.first(), sessions.first().copied()) {
            let session = first.session.clone();
            let count = sessions.iter().take_while(|next| **next == key).count();
            let (found, left) = std::mem::take(&mut notes).split_at_mut(count);
            (notes, sessions) = (left, sessions.split_at(count).1);
            let numbers: Vec<u64> = found.iter().map(|note| note.seq).collect();
            let mut bodies = found.iter_mut().map(|note| &mut note.body);
            self.visit_numbers(&session, key, &numbers, false, |_, _, _, body| {
                if let Some(found) = bodies.next() {
                    body.clone_into(found);
                }
                Ok(MORE)
            })
            .await?;
        }
        Ok(())
    }

    /// Reads what was cut out of the records with these numbers.
    fn parts(&self, key: i64, numbers: &[u64]) -> Parts<'_> {
        let query = sqlx::query(PARTS).bind(key).bind(json(&numbers));
        Parts { rows: query.rows(self.part_readers.pool()), ahead: None }
    }

    /// Returns the numbers of the records that are these nodes. A node is never earlier in the log than its own number, so
    /// only what stands between is looked at, in the spine.
    pub(super) async fn numbers_of<T>(
        &self,
        key: i64,
        nodes: &HashMap<NodeId, T>,
    ) -> Result<Vec<u64>, StoreError> {
        let mut wanted: Vec<i64> = nodes.keys().map(|node| node.index() as i64).collect();
        wanted.sort_unstable();
        let first = wanted.first().copied().unwrap_or_default();
        let list = json(&wanted);
        let query = "SELECT seq FROM records WHERE session = ? AND seq > ? AND kind < 2
                     AND node IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?";
        let query = sqlx::query(query).bind(key).bind(first).bind(list).bind(wanted.len() as i64);
        let found: Vec<i64> = query.values(self.readers.pool()).await.map_err(|error| self.fault(error))?;
        Ok(found.into_iter().map(read).collect())
    }
}
