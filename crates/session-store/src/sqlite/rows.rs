//! Records as rows, and rows as records.
//!
//! The spine says what a record is and where it stands; the body has only what the spine does not say, so nothing is
//! written twice and nothing can disagree.

use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Sqlite, Type};
use trunkline_message_tree::{NodeId, Timestamp};

use crate::record::{link_of, nodes_of};
use crate::{Digest, Header, Kept, NoteKey, SessionId, SessionInfo, Spine};

const NODE: i64 = 0;
const FILED: i64 = 1;
const MOVE: i64 = 2;
const NOTE: i64 = 3;
const BLOB: i64 = 4;

/// A record as it is bound to a statement, but for its body.
pub(super) struct RecordRow {
    pub(super) kind: i64,
    pub(super) node: Option<i64>,
    pub(super) parent: Option<i64>,
    pub(super) at: i64,
    pub(super) layer: Option<String>,
    pub(super) name: Option<String>,
    pub(super) key: Option<String>,
    pub(super) state: Option<String>,
    pub(super) once: Option<bool>,
}

impl RecordRow {
    /// Returns the row of a record.
    pub(super) fn of(kept: &Kept) -> Self {
        let bare = RecordRow {
            kind: NODE,
            node: None,
            parent: None,
            at: stored(kept.spine.at().0),
            layer: None,
            name: None,
            key: None,
            state: None,
            once: None,
        };
        let index = |node: NodeId| node.index() as i64;
        match &kept.spine {
            Spine::Node { id, parent, link, .. } => RecordRow {
                kind: if link.is_filed() { FILED } else { NODE },
                key: nodes_of(link),
                node: Some(index(*id)),
                parent: parent.map(index),
                ..bare
            },
            Spine::Move { from, to, .. } => {
                RecordRow { kind: MOVE, node: Some(index(*to)), parent: Some(index(*from)), ..bare }
            }
            Spine::Note { layer, kind, key, .. } => RecordRow {
                kind: NOTE,
                layer: Some(layer.clone()),
                name: Some(kind.clone()),
                key: key.as_ref().map(|key| key.key.clone()),
                state: key.as_ref().map(|key| key.state.clone()),
                once: key.as_ref().map(|key| key.once),
                ..bare
            },
            Spine::Blob { layer, kind, content, .. } => RecordRow {
                kind: BLOB,
                layer: Some(layer.clone()),
                name: Some(kind.clone()),
                key: Some(content.to_string()),
                ..bare
            },
        }
    }

    /// Returns the spine that a row says, or what is wrong with it.
    pub(super) fn spine(self) -> Result<Spine, String> {
        let at = Timestamp(read(self.at));
        let node = |name: &str, number: Option<i64>| number.map(|number| node(name, number)).transpose();
        let missing = |name: &str| format!("its {name} is missing");
        let layer = |layer: Option<String>| layer.ok_or_else(|| missing("layer"));
        let name = |name: Option<String>| name.ok_or_else(|| missing("name"));
        Ok(match self.kind {
            NODE | FILED => Spine::Node {
                id: node("node", self.node)?.ok_or_else(|| missing("node"))?,
                parent: node("parent", self.parent)?,
                at,
                link: link_of(self.kind == FILED, self.key.as_deref())?,
            },
            MOVE => Spine::Move {
                from: node("start", self.parent)?.ok_or_else(|| missing("start"))?,
                to: node("end", self.node)?.ok_or_else(|| missing("end"))?,
                at,
            },
            NOTE => {
                let state = self.state.unwrap_or_default();
                let once = self.once.unwrap_or_default();
                let key = self.key.map(|key| NoteKey { key, state, once });
                Spine::Note { layer: layer(self.layer)?, kind: name(self.name)?, at, key }
            }
            BLOB => {
                let content = self.key.ok_or_else(|| missing("content"))?;
                let content = Digest::parse(&content).map_err(|error| error.to_string())?;
                Spine::Blob { layer: layer(self.layer)?, kind: name(self.name)?, at, content }
            }
            kind => return Err(format!("its kind is {kind}")),
        })
    }
}

/// Returns what a list shows of a row of `sessions`; the error says which part of it cannot be read.
pub(super) fn info(row: &SqliteRow) -> Result<SessionInfo, String> {
    let id: String = get(row, "id")?;
    let inner = || -> Result<SessionInfo, String> {
        let tags: String = get(row, "tags")?;
        Ok(SessionInfo {
            id: SessionId::parse(&id).map_err(|error| error.to_string())?,
            title: get(row, "title")?,
            tags: serde_json::from_str(&tags).map_err(|error| format!("its tags cannot be read: {error}"))?,
            archived: get(row, "archived")?,
            workspace: get(row, "workspace")?,
            created_at: Timestamp(read(get(row, "created_at")?)),
            updated_at: Timestamp(read(get(row, "updated_at")?)),
            head: node("head", get(row, "head")?)?,
            records: count(row, "records")?,
            nodes: count(row, "nodes")?,
            bytes: count(row, "bytes")?,
            digest: digest(get(row, "digest")?)?,
        })
    };
    inner().map_err(|reason| format!("session {id:?}: {reason}"))
}

/// Returns what reads the rows of sessions with their seals; in a database of version 2 they have none.
pub(super) fn session(is_sealed: bool) -> &'static str {
    match is_sealed {
        true => "SELECT sessions.*, seals.digest AS seal FROM sessions LEFT JOIN seals USING (session)",
        false => "SELECT *, NULL AS seal, 1 AS unsealed FROM sessions",
    }
}

/// What reads the rows of sessions with their seals, and how many letters of each are sealed.
pub(super) const WITH_SEALED_LETTERS: &str = "
    SELECT sessions.*, seals.digest AS seal,
        (SELECT count(*) FROM letter_seals WHERE letter_seals.session = sessions.session) AS sealed_letters
    FROM sessions LEFT JOIN seals USING (session)";

/// Returns what a list shows of a row that was read with its seal; nothing if an import of it is under way. The error says
/// what cannot be read, or that it is not what was written.
pub(super) fn sealed(row: &SqliteRow) -> Result<Option<SessionInfo>, String> {
    let whole: bool = get(row, "whole")?;
    let seal: Option<Vec<u8>> = get(row, "seal")?;
    let is_unsealed = row.try_get::<i64, _>("unsealed").is_ok();
    if !whole && seal.is_none() {
        return Ok(None);
    }
    let info = info(row)?;
    let told = |what: &str| Err(format!("session \"{}\": {what}", info.id));
    if !whole {
        return told("it is hidden like an import that is under way, but it was whole");
    }
    match seal.map(digest).transpose()? {
        None if is_unsealed => Ok(Some(info)),
        Some(seal) if seal == Header::of(&info).seal() => Ok(Some(info)),
        Some(_) => told(NOT_WRITTEN),
        None => told("the seal of its row is missing"),
    }
}

/// What is wrong with a row whose seal does not fit.
pub(super) const NOT_WRITTEN: &str =
    "its title, its tags, its folder, when it was made or whether it is archived is not what was written";

/// Returns a number as the database keeps it: the same 64 bits, since it knows no unsigned numbers.
pub(super) fn stored(number: u64) -> i64 {
    number.cast_signed()
}

/// Returns a number as it was before [`stored`].
pub(super) fn read(number: i64) -> u64 {
    number.cast_unsigned()
}

/// Reads how many there are of something, which is never more than the database has numbers for.
fn count(row: &SqliteRow, column: &str) -> Result<u64, String> {
    let count: i64 = get(row, column)?;
    u64::try_from(count).map_err(|_| format!("its {column} are {count}"))
}

/// Reads one column; the error is a reason in words.
pub(super) fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T, String>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    row.try_get(column).map_err(|error| match error {
        sqlx::Error::ColumnDecode { source, .. } => format!("{column}: {source}"),
        error => error.to_string(),
    })
}

pub(super) fn node(name: &str, number: i64) -> Result<NodeId, String> {
    u32::try_from(number).map(NodeId::new).map_err(|_| format!("its {name} is {number}, which is no node"))
}

pub(super) fn digest(bytes: Vec<u8>) -> Result<Digest, String> {
    let length = bytes.len();
    let bytes = bytes.try_into().map_err(|_| format!("its digest has {length} bytes"))?;
    Ok(Digest::from_bytes(bytes))
}
