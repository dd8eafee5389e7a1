//! Records as rows, and rows as records.
//!
//! Many rows go to the server as arrays, one for each column, in one statement.

use tokio_postgres::Row;
use trunkline_message_tree::{NodeId, Timestamp};

use super::bind::{Bind, get};
use super::fault::Fault;
use super::link::{Level, Link};
use crate::cut::{self, Cut};
use crate::record::{link_of, nodes_of};
use crate::{
    Activity, Digest, Header, InboxId, Kept, Letter, NoteKey, SessionId, SessionInfo, Spine, StoreError,
    Tally,
};

const NODE: i16 = 0;
const FILED: i16 = 1;
const MOVE: i16 = 2;
const NOTE: i16 = 3;
const BLOB: i16 = 4;

/// Rows of `records`, `bodies` and `parts` for any number of sessions.
#[derive(Default)]
pub(super) struct Rows {
    records: Vec<RecordRow>,
    parts: Vec<PartRow>,
}

/// One row of `records`, with its row of `bodies`.
#[derive(Default)]
struct RecordRow {
    session: String,
    seq: i64,
    kind: i16,
    node: Option<i64>,
    parent: Option<i64>,
    at: i64,
    bytes: i64,
    digest: Vec<u8>,
    layer: Option<String>,
    name: Option<String>,
    key: Option<String>,
    state: Option<String>,
    once: Option<bool>,
    content: Option<Vec<u8>>,
    text: String,
    cuts: Option<Vec<u8>>,
}

#[derive(Default)]
struct PartRow {
    session: String,
    digest: Vec<u8>,
    text: String,
}

impl Rows {
    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    pub(super) fn push(&mut self, session: &SessionId, kept: &Kept) {
        let number = |node: &NodeId| node.index() as i64;
        let mut row = RecordRow {
            session: session.to_string(),
            seq: stored(kept.seq),
            at: stored(kept.spine.at().0),
            bytes: stored(kept.body.len() as u64),
            digest: kept.digest.as_bytes().to_vec(),
            ..RecordRow::default()
        };
        match &kept.spine {
            Spine::Node { id, parent, link, .. } => {
                row.kind = if link.is_filed() { FILED } else { NODE };
                row.key = nodes_of(link);
                (row.node, row.parent) = (Some(number(id)), parent.as_ref().map(number));
            }
            Spine::Move { from, to, .. } => {
                row.kind = MOVE;
                (row.node, row.parent) = (Some(number(to)), Some(number(from)));
            }
            Spine::Note { layer, kind, key, .. } => {
                row.kind = NOTE;
                (row.layer, row.name) = (Some(layer.clone()), Some(kind.clone()));
                if let Some(about) = key {
                    (row.key, row.state) = (Some(about.key.clone()), Some(about.state.clone()));
                    row.once = Some(about.once);
                }
            }
            Spine::Blob { layer, kind, content, .. } => {
                row.kind = BLOB;
                (row.layer, row.name) = (Some(layer.clone()), Some(kind.clone()));
                row.content = Some(content.as_bytes().to_vec());
            }
        }
        (row.text, row.cuts) = match Cut::of(&kept.body) {
            Some(Cut { rest, parts }) => (rest, Some(self.push_parts(session, parts))),
            None => (kept.body.clone(), None),
        };
        self.records.push(row);
    }

    /// Returns where the parts go: for each its place in eight bytes and its digest.
    fn push_parts(&mut self, session: &SessionId, parts: Vec<(usize, String)>) -> Vec<u8> {
        let mut cuts = Vec::with_capacity(parts.len() * CUT);
        for (place, text) in parts {
            let digest = Digest::of(text.as_bytes());
            cuts.extend((place as u64).to_be_bytes());
            cuts.extend(digest.as_bytes());
            self.parts.push(PartRow {
                session: session.to_string(),
                digest: digest.as_bytes().to_vec(),
                text,
            });
        }
        cuts
    }

    /// Adds the records as one array for each column of [`insert_records`].
    pub(super) fn bind_records(&mut self, bind: Bind) -> Bind {
        let rows = &mut self.records;
        let bind = bind
            .with(column(rows, |row| &mut row.session))
            .with(column(rows, |row| &mut row.seq))
            .with(column(rows, |row| &mut row.kind))
            .with(column(rows, |row| &mut row.node))
            .with(column(rows, |row| &mut row.parent))
            .with(column(rows, |row| &mut row.at))
            .with(column(rows, |row| &mut row.bytes))
            .with(column(rows, |row| &mut row.digest))
            .with(column(rows, |row| &mut row.layer))
            .with(column(rows, |row| &mut row.name))
            .with(column(rows, |row| &mut row.key))
            .with(column(rows, |row| &mut row.state))
            .with(column(rows, |row| &mut row.once))
            .with(column(rows, |row| &mut row.content))
            .with(column(rows, |row| &mut row.text))
            .with(column(rows, |row| &mut row.cuts));
        rows.clear();
        bind
    }

    /// Adds the records one value after the other, as [`insert_few`] wants them.
    pub(super) fn bind_few(self, bind: Bind) -> Bind {
        self.records.into_iter().fold(bind, |bind, row| {
            bind.with(row.seq)
                .with(row.kind)
                .with(row.node)
                .with(row.parent)
                .with(row.at)
                .with(row.bytes)
                .with(row.digest)
                .with(row.layer)
                .with(row.name)
                .with(row.key)
                .with(row.state)
                .with(row.once)
                .with(row.content)
                .with(row.text)
                .with(row.cuts)
        })
    }

    /// Adds the parts as one array for each column of [`insert_parts`].
    pub(super) fn bind_parts(&mut self, bind: Bind) -> Bind {
        let rows = &mut self.parts;
        let bind = bind
            .with(column(rows, |row| &mut row.session))
            .with(column(rows, |row| &mut row.digest))
            .with(column(rows, |row| &mut row.text));
        rows.clear();
        bind
    }
}

/// Takes one column out of rows.
fn column<R, T: Default>(rows: &mut [R], of: fn(&mut R) -> &mut T) -> Vec<T> {
    rows.iter_mut().map(|row| std::mem::take(of(row))).collect()
}

/// The bytes of one cut: its place and the digest of what was there.
const CUT: usize = 40;

/// The statements that insert what [`Rows`] holds for the sessions that `moved` names; `$first` is the first argument.
pub(super) fn insert_records(first: usize) -> String {
    let n = |offset: usize| first + offset;
    format!(
        "rows AS (
            SELECT r.* FROM unnest(${}::text[]::uuid[], ${}::bigint[], ${}::smallint[], ${}::bigint[], ${}::bigint[],
                ${}::bigint[], ${}::bigint[], ${}::bytea[], ${}::text[], ${}::text[], ${}::text[], ${}::text[],
                ${}::boolean[], ${}::bytea[], ${}::text[], ${}::bytea[])
            AS r (session, {COLUMNS})
            WHERE r.session IN (SELECT session FROM moved)
        ), {INSERT_ROWS}",
        n(0), n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8), n(9), n(10), n(11), n(12), n(13), n(14), n(15)
    )
}

/// The same for a few records of the one session that `moved` names, with an argument for each value.
pub(super) fn insert_few(first: usize, records: usize) -> String {
    let row = |index: usize| {
        let start = first + index * FEW_ARGUMENTS;
        let values: Vec<String> = (start..start + FEW_ARGUMENTS).map(|n| format!("${n}")).collect();
        format!("({})", values.join(", "))
    };
    let values: Vec<String> = (0..records).map(row).collect();
    format!(
        "rows AS (SELECT m.session, r.* FROM moved m, (VALUES {}) AS r ({COLUMNS})), {INSERT_ROWS}",
        values.join(", ")
    )
}

const FEW_ARGUMENTS: usize = 15;

const COLUMNS: &str =
    "seq, kind, node, parent, at, bytes, digest, layer, name, key, state, once, content, text, cuts";

const INSERT_ROWS: &str = "spine AS (
        INSERT INTO @records (session, seq, kind, node, parent, at, bytes, digest, layer, name, key, state, once, content)
        SELECT session, seq, kind, node, parent, at, bytes, digest, layer, name, key, state, once, content FROM rows
    ), bodies AS (
        INSERT INTO @bodies (session, seq, text, cuts) SELECT session, seq, text, cuts FROM rows
    )";

/// The same for parts, which takes three arguments.
pub(super) fn insert_parts(first: usize) -> String {
    format!(
        "parts AS (
            INSERT INTO @parts (session, digest, text)
            SELECT p.* FROM unnest(${}::text[]::uuid[], ${}::bytea[], ${}::text[]) AS p (session, digest, text)
            WHERE p.session IN (SELECT session FROM moved)
            ON CONFLICT DO NOTHING
        )",
        first,
        first + 1,
        first + 2
    )
}

/// The columns of what the spine says of a record.
pub(super) const SPINE: &str =
    "r.seq, r.kind, r.node, r.parent, r.at, r.layer, r.name, r.key, r.state, r.once, r.content";

/// The columns of a record, with the parts of its body in order. `session` says whose the parts are: an argument where one
/// session is asked for, since a distributed engine wants that of each table; otherwise the column of the record. A part that
/// is missing makes the list too short.
pub(super) fn record(session: &str) -> String {
    format!(
        "r.seq, r.kind, r.node, r.parent, r.at, r.digest, r.layer, r.name, r.key, r.state,
        r.once, r.content, b.text, b.cuts, CASE WHEN b.cuts IS NOT NULL THEN (
            SELECT array_agg(p.text ORDER BY g.i)
            FROM @parts p CROSS JOIN LATERAL generate_series(0, octet_length(b.cuts) / 40 - 1) AS g (i)
            WHERE p.session = {session} AND p.digest = substring(b.cuts FROM g.i * 40 + 9 FOR 32)
        ) END AS parts"
    )
}

/// Returns the record of a row with the columns of [`record`].
pub(super) fn kept(row: &Row, session: &SessionId) -> Result<Kept, StoreError> {
    let seq = get::<i64>(row, "seq").map(read).unwrap_or_default();
    parse(row, seq).map_err(|reason| StoreError::BadRecord { session: session.clone(), seq, reason })
}

/// Returns what the spine says, of a row with the columns of [`SPINE`].
pub(super) fn spine(row: &Row, session: &SessionId) -> Result<(u64, Spine), StoreError> {
    let seq = get::<i64>(row, "seq").map(read).unwrap_or_default();
    let spine = parse_spine(row);
    let spine = spine.map_err(|reason| StoreError::BadRecord { session: session.clone(), seq, reason })?;
    Ok((seq, spine))
}

fn parse(row: &Row, seq: u64) -> Result<Kept, String> {
    let spine = parse_spine(row)?;
    let digest = digest_of(&get::<Vec<u8>>(row, "digest")?)?;
    Ok(Kept { seq, spine, body: body(row)?, digest })
}

fn parse_spine(row: &Row) -> Result<Spine, String> {
    let at = Timestamp(read(get(row, "at")?));
    Ok(match get::<i16>(row, "kind")? {
        kind @ (NODE | FILED) => Spine::Node {
            id: node(row, "node")?.ok_or("its node is missing")?,
            parent: node(row, "parent")?,
            at,
            link: link_of(kind == FILED, get::<Option<&str>>(row, "key")?)?,
        },
        MOVE => Spine::Move {
            from: node(row, "parent")?.ok_or("the start of the move is missing")?,
            to: node(row, "node")?.ok_or("the end of the move is missing")?,
            at,
        },
        NOTE => Spine::Note {
            layer: word(row, "layer")?,
            kind: word(row, "name")?,
            at,
            key: match get::<Option<String>>(row, "key")? {
                Some(key) => Some(NoteKey {
                    key,
                    state: word(row, "state")?,
                    once: get::<Option<bool>>(row, "once")?.ok_or("its once is missing")?,
                }),
                None => None,
            },
        },
        BLOB => Spine::Blob {
            layer: word(row, "layer")?,
            kind: word(row, "name")?,
            at,
            content: digest_of(&get::<Option<Vec<u8>>>(row, "content")?.ok_or("its content is missing")?)?,
        },
        kind => return Err(format!("its kind is {kind}")),
    })
}

/// Returns a body, put together again.
pub(super) fn body(row: &Row) -> Result<String, String> {
    let text = get::<Option<String>>(row, "text")?.ok_or("its body is missing")?;
    let Some(cuts) = get::<Option<Vec<u8>>>(row, "cuts")? else { return Ok(text) };
    let parts = get::<Option<Vec<Option<String>>>>(row, "parts")?.unwrap_or_default();
    let (cuts, []) = cuts.as_chunks::<CUT>() else { return Err("its cuts cannot be read".to_owned()) };
    if cuts.len() != parts.len() {
        return Err("a part of its body is missing".to_owned());
    }
    let mut placed = Vec::with_capacity(parts.len());
    for (cut, part) in cuts.iter().zip(&parts) {
        let place = cut.first_chunk::<8>().map(|place| u64::from_be_bytes(*place));
        let place = place.and_then(|place| usize::try_from(place).ok());
        let part = part.as_deref().ok_or("a part of its body is missing")?;
        placed.push((place.ok_or("its cuts cannot be read")?, part));
    }
    cut::join(&text, &placed).ok_or_else(|| "its cuts are not places in its body".to_owned())
}

/// The columns of a session as [`info`] and [`place`] read them.
pub(super) const SESSION: &str =
    "s.session::text AS session, s.title, s.tags, s.archived, s.workspace, s.created_at,
    s.updated_at, s.head, s.records, s.nodes, s.bytes, s.digest, s.letters, s.consumed, s.token, s.complete, s.seal";

/// Returns what a list shows of a session; nothing if an import of it is under way. The error says what cannot be read, or
/// that it is not what was written. What a version without seals has written has none.
pub(super) fn sealed(row: &Row) -> Result<Option<SessionInfo>, String> {
    let seal: Option<Vec<u8>> = get(row, "seal")?;
    let complete: bool = get(row, "complete")?;
    if !complete && seal.is_none() {
        return Ok(None);
    }
    let info = info(row)?;
    let told = |what: &str| Err(format!("session \"{}\": {what}", info.id));
    match seal {
        _ if !complete => told("it is hidden like an import that is under way, but it was whole"),
        Some(seal) if seal != Header::of(&info).seal().as_bytes() => told(
            "its title, its tags, its folder, when it was made or whether it is archived is not what was written",
        ),
        _ => Ok(Some(info)),
    }
}

/// Returns what a list shows of a session; the error says which part of it cannot be read.
pub(super) fn info(row: &Row) -> Result<SessionInfo, String> {
    let id: String = get(row, "session")?;
    let inner = || -> Result<SessionInfo, String> {
        Ok(SessionInfo {
            id: SessionId::parse(&id).map_err(|error| error.to_string())?,
            title: get(row, "title")?,
            tags: get::<Vec<String>>(row, "tags")?.into_iter().collect(),
            archived: get(row, "archived")?,
            workspace: get(row, "workspace")?,
            created_at: Timestamp(read(get(row, "created_at")?)),
            updated_at: Timestamp(read(get(row, "updated_at")?)),
            head: node(row, "head")?.ok_or("the head is missing")?,
            records: read(get(row, "records")?),
            nodes: read(get(row, "nodes")?),
            bytes: read(get(row, "bytes")?),
            digest: digest_of(&get::<Vec<u8>>(row, "digest")?)?,
        })
    };
    inner().map_err(|reason| format!("session {id:?}: {reason}"))
}

/// Where a session is, with all that an append expects of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) tally: Tally,
    /// How many letters were ever consumed.
    pub(super) consumed: u64,
}

/// Returns where a session is.
pub(super) fn place(row: &Row) -> Result<Place, String> {
    Ok(Place { tally: Tally::of(&info(row)?), consumed: read(get(row, "consumed")?) })
}

/// Returns how far a session is, with its id.
pub(super) fn activity(row: &Row) -> Result<(String, Activity), String> {
    let number = |column| get::<i64>(row, column).map(read);
    let now = Activity::new(number("records")?, number("letters")?, number("consumed")?);
    Ok((get(row, "session")?, now.under(number("token")?)))
}

/// Waits until what is found in a session's row is as safe as if its commit had been answered; returns whether there is
/// such a row. A commit that waits for a standby can be seen once its connection is cut, although no standby has it; what
/// is written after it, to no effect, is acknowledged after it.
pub(super) async fn flush_after(link: &mut Link, session: &SessionId) -> Result<bool, Fault> {
    let sql = "UPDATE @sessions SET token = token WHERE session = $1::uuid RETURNING 1";
    link.write(Level::Flushed, sql, Bind::new().session(session)).await.map(|rows| !rows.is_empty())
}

/// Returns a letter. The error says which letter it is, and what is wrong with it.
pub(super) fn letter(row: &Row, session: &SessionId) -> Result<Letter, String> {
    let id: i64 = get(row, "letter")?;
    let sound = || {
        let letter = Letter {
            id: InboxId(read(id)),
            at: Timestamp(read(get(row, "at")?)),
            kind: get(row, "kind")?,
            body: get(row, "body")?,
        };
        let seal: Option<Vec<u8>> = get(row, "seal")?;
        let is_consumed = get::<Option<i64>>(row, "consumed")?.is_some();
        match seal {
            // What a version without seals has written has none.
            None => Ok(letter),
            Some(seal)
                if is_consumed == seal.is_empty()
                    && (is_consumed || seal == letter.seal(session).as_bytes()) =>
            {
                Ok(letter)
            }
            Some(_) if is_consumed => {
                Err("it is marked as consumed, and its seal says that it waits".to_owned())
            }
            Some(seal) if seal.is_empty() => Err("it waits, and was consumed before".to_owned()),
            Some(_) => Err("it is not what was written".to_owned()),
        }
    };
    sound().map_err(|what| {
        format!(
            "letter {id} in the inbox of session {session}: {what}; after a look at it, set its `seal` to NULL to take it as it \
             stands, or delete its row"
        )
    })
}

/// The columns of a letter as [`letter`] reads them.
pub(super) const LETTER: &str = "l.letter, l.at, l.kind, l.body, l.consumed, l.seal";

/// Whether a letter waits, or is only said to be consumed; in the words of the index `letters_open`, which is not used
/// otherwise.
pub(super) const WAITING: &str = "consumed IS NULL OR octet_length(seal) > 0";

/// The seal of the letter in the row `l`, as [`Letter::seal`] computes it.
pub(super) const LETTER_SEAL: &str =
    "sha256(convert_to('trunkline letter ' || l.session || ' ' || l.letter || ' ' || l.at
    || ' ' || octet_length(l.kind) || ' ' || l.kind || ' ' || l.body, 'UTF8'))";

/// Returns a number as the database keeps it: the same 64 bits, since it knows no unsigned numbers.
pub(super) fn stored(number: u64) -> i64 {
    number.cast_signed()
}

/// Returns a number as it was before [`stored`].
pub(super) fn read(number: i64) -> u64 {
    number.cast_unsigned()
}

/// Returns a digest of some words that no other words have.
pub(super) fn name_of(words: &[&str]) -> Digest {
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend((word.len() as u64).to_be_bytes());
        bytes.extend(word.as_bytes());
    }
    Digest::of(&bytes)
}

/// Returns a number for some words that hardly any other words have, to search by.
pub(super) fn hash(words: &[&str]) -> i64 {
    name_of(words).as_bytes().first_chunk::<8>().map_or(0, |bytes| i64::from_be_bytes(*bytes))
}

pub(super) fn node(row: &Row, column: &str) -> Result<Option<NodeId>, String> {
    get::<Option<i64>>(row, column)?.map(|number| node_of(number, column)).transpose()
}

pub(super) fn node_of(number: i64, column: &str) -> Result<NodeId, String> {
    u32::try_from(number).map(NodeId::new).map_err(|_| format!("{column} is {number}, which is no node"))
}

fn word(row: &Row, column: &str) -> Result<String, String> {
    get::<Option<String>>(row, column)?.ok_or_else(|| format!("its {column} is missing"))
}

pub(super) fn digest_of(bytes: &[u8]) -> Result<Digest, String> {
    let bytes = bytes.first_chunk::<32>().filter(|_| bytes.len() == 32);
    bytes.map(|bytes| Digest::from_bytes(*bytes)).ok_or_else(|| "a digest does not have 32 bytes".to_owned())
}
