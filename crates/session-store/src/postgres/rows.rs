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

/// Columns of `records`, `bodies` and `parts` for any number of sessions.
#[derive(Default)]
pub(super) struct Columns {
    session: Vec<String>,
    seq: Vec<i64>,
    kind: Vec<i16>,
    node: Vec<Option<i64>>,
    parent: Vec<Option<i64>>,
    at: Vec<i64>,
    bytes: Vec<i64>,
    digest: Vec<Vec<u8>>,
    layer: Vec<Option<String>>,
    name: Vec<Option<String>>,
    key: Vec<Option<String>>,
    state: Vec<Option<String>>,
    once: Vec<Option<bool>>,
    content: Vec<Option<Vec<u8>>>,
    text: Vec<String>,
    cuts: Vec<Option<Vec<u8>>>,
    part_session: Vec<String>,
    part_digest: Vec<Vec<u8>>,
    part_text: Vec<String>,
}

impl Columns {
    pub(super) fn is_empty(&self) -> bool {
        self.seq.is_empty()
    }

    pub(super) fn has_parts(&self) -> bool {
        !self.part_digest.is_empty()
    }

    pub(super) fn push(&mut self, session: &SessionId, kept: &Kept) {
        let number = |node: &NodeId| node.index() as i64;
        let (mut kind, mut node, mut parent) = (NOTE, None, None);
        let (mut layer, mut name, mut about, mut content, mut nodes) = (None, None, None, None, None);
        match &kept.spine {
            Spine::Node { id, parent: before, link, .. } => {
                kind = if link.is_filed() { FILED } else { NODE };
                nodes = nodes_of(link);
                (node, parent) = (Some(number(id)), before.as_ref().map(number));
            }
            Spine::Move { from, to, .. } => {
                (kind, node, parent) = (MOVE, Some(number(to)), Some(number(from)));
            }
            Spine::Note { layer: whose, kind: what, key, .. } => {
                (layer, name, about) = (Some(whose.clone()), Some(what.clone()), key.clone());
            }
            Spine::Blob { layer: whose, kind: what, content: digest, .. } => {
                kind = BLOB;
                (layer, name) = (Some(whose.clone()), Some(what.clone()));
                content = Some(digest.as_bytes().to_vec());
            }
        }
        let (text, cuts) = match Cut::of(&kept.body) {
            Some(Cut { rest, parts }) => (rest, Some(self.push_parts(session, parts))),
            None => (kept.body.clone(), None),
        };
        self.session.push(session.to_string());
        self.seq.push(stored(kept.seq));
        self.kind.push(kind);
        self.node.push(node);
        self.parent.push(parent);
        self.at.push(stored(kept.spine.at().0));
        self.bytes.push(stored(kept.body.len() as u64));
        self.digest.push(kept.digest.as_bytes().to_vec());
        self.layer.push(layer);
        self.name.push(name);
        self.key.push(about.as_ref().map(|about| about.key.clone()).or(nodes));
        self.state.push(about.as_ref().map(|about| about.state.clone()));
        self.once.push(about.as_ref().map(|about| about.once));
        self.content.push(content);
        self.text.push(text);
        self.cuts.push(cuts);
    }

    /// Returns where the parts go: for each its place in eight bytes and its digest.
    fn push_parts(&mut self, session: &SessionId, parts: Vec<(usize, String)>) -> Vec<u8> {
        let mut cuts = Vec::with_capacity(parts.len() * CUT);
        for (place, part) in parts {
            let digest = Digest::of(part.as_bytes());
            cuts.extend((place as u64).to_be_bytes());
            cuts.extend(digest.as_bytes());
            self.part_session.push(session.to_string());
            self.part_digest.push(digest.as_bytes().to_vec());
            self.part_text.push(part);
        }
        cuts
    }

    pub(super) fn bind_records(&mut self, bind: Bind) -> Bind {
        use std::mem::take;
        bind.with(take(&mut self.session))
            .with(take(&mut self.seq))
            .with(take(&mut self.kind))
            .with(take(&mut self.node))
            .with(take(&mut self.parent))
            .with(take(&mut self.at))
            .with(take(&mut self.bytes))
            .with(take(&mut self.digest))
            .with(take(&mut self.layer))
            .with(take(&mut self.name))
            .with(take(&mut self.key))
            .with(take(&mut self.state))
            .with(take(&mut self.once))
            .with(take(&mut self.content))
            .with(take(&mut self.text))
            .with(take(&mut self.cuts))
    }

    pub(super) fn bind_parts(&mut self, bind: Bind) -> Bind {
        use std::mem::take;
        bind.with(take(&mut self.part_session))
            .with(take(&mut self.part_digest))
            .with(take(&mut self.part_text))
    }
}

/// The bytes of one cut: its place and the digest of what was there.
const CUT: usize = 40;

/// The statements that insert what [`Columns`] holds for the sessions that `moved` names; `$first` is the first argument.
pub(super) fn insert_records(first: usize) -> String {
    let n = |offset: usize| first + offset;
    format!(
        "rows AS (
            SELECT r.* FROM unnest(${}::text[]::uuid[], ${}::bigint[], ${}::smallint[], ${}::bigint[], ${}::bigint[],
                ${}::bigint[], ${}::bigint[], ${}::bytea[], ${}::text[], ${}::text[], ${}::text[], ${}::text[],
                ${}::boolean[], ${}::bytea[], ${}::text[], ${}::bytea[])
            AS r (session, seq, kind, node, parent, at, bytes, digest, layer, name, key, state, once, content, text, cuts)
            WHERE r.session IN (SELECT session FROM moved)
        ), spine AS (
            INSERT INTO @records (session, seq, kind, node, parent, at, bytes, digest, layer, name, key, state, once,
                content)
            SELECT session, seq, kind, node, parent, at, bytes, digest, layer, name, key, state, once, content FROM rows
        ), bodies AS (
            INSERT INTO @bodies (session, seq, text, cuts) SELECT session, seq, text, cuts FROM rows
        )",
        n(0), n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8), n(9), n(10), n(11), n(12), n(13), n(14), n(15)
    )
}

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
