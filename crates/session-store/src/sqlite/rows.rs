//! Records as rows, and rows as records.
//!
//! The spine says what a record is and where it stands; the body has only what the spine does not say, so nothing is
//! written twice and nothing can disagree.

use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Sqlite, Type};
use trunkline_message_tree::{Entry, HeadMove, NodeId, Timestamp};

use crate::{Note, Record, SessionId, SessionInfo, StoreError};

/// A record as it is bound to a statement.
pub(super) struct RecordRow<'a> {
    pub(super) kind: &'static str,
    pub(super) node: Option<i64>,
    pub(super) parent: Option<i64>,
    pub(super) at: i64,
    pub(super) layer: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) json: String,
}

impl<'a> RecordRow<'a> {
    /// Returns the row of a record.
    pub(super) fn of(record: &'a Record) -> Result<Self, serde_json::Error> {
        let at = stored(record.at().0);
        Ok(match record {
            Record::Entry(Entry::Node { id, parent, filed, message, .. }) => RecordRow {
                kind: if *filed { "filed" } else { "node" },
                node: Some(id.index() as i64),
                parent: parent.map(|parent| parent.index() as i64),
                at,
                layer: None,
                name: None,
                json: serde_json::to_string(message)?,
            },
            Record::Entry(Entry::Move(HeadMove { from, to, kind, .. })) => RecordRow {
                kind: "move",
                node: Some(to.index() as i64),
                parent: Some(from.index() as i64),
                at,
                layer: None,
                name: None,
                json: serde_json::to_string(kind)?,
            },
            Record::Note(Note { layer, kind, body, .. }) => RecordRow {
                kind: "note",
                node: None,
                parent: None,
                at,
                layer: Some(layer),
                name: Some(kind),
                json: body.clone(),
            },
        })
    }
}

/// Returns the record of a row of `records` with its body as `json`.
///
/// `seq` is the number that the row must have: a gap is damage too.
pub(super) fn record(row: &SqliteRow, session: &SessionId, seq: u64) -> Result<Record, StoreError> {
    parse_record(row, seq).map_err(|reason| StoreError::BadRecord { session: session.clone(), seq, reason })
}

fn parse_record(row: &SqliteRow, seq: u64) -> Result<Record, String> {
    let found: i64 = get(row, "seq")?;
    if found != stored(seq) {
        return Err(format!("record {found} stands in its place"));
    }
    let json: Option<String> = get(row, "json")?;
    let json = json.ok_or("its body is missing")?;
    let at = Timestamp(read(get(row, "at")?));
    let kind: String = get(row, "kind")?;
    Ok(match kind.as_str() {
        "node" | "filed" => Record::Entry(Entry::Node {
            id: node(row, "node")?.ok_or("its node is missing")?,
            parent: node(row, "parent")?,
            at,
            filed: kind == "filed",
            message: parse(&json)?,
        }),
        "move" => Record::Entry(Entry::Move(HeadMove {
            from: node(row, "parent")?.ok_or("the start of the move is missing")?,
            to: node(row, "node")?.ok_or("the end of the move is missing")?,
            kind: parse(&json)?,
            at,
        })),
        "note" => Record::Note(Note {
            layer: get::<Option<String>>(row, "layer")?.ok_or("its layer is missing")?,
            kind: get::<Option<String>>(row, "name")?.ok_or("its name is missing")?,
            at,
            body: json,
        }),
        _ => return Err(format!("its kind is {kind:?}")),
    })
}

/// Returns what a list shows of a row of `sessions`; the error says which part of it cannot be read.
pub(super) fn info(row: &SqliteRow) -> Result<SessionInfo, String> {
    let id: String = get(row, "id")?;
    let inner = || -> Result<SessionInfo, String> {
        Ok(SessionInfo {
            id: SessionId::parse(&id).map_err(|error| error.to_string())?,
            title: get(row, "title")?,
            workspace: get(row, "workspace")?,
            created_at: Timestamp(read(get(row, "created_at")?)),
            updated_at: Timestamp(read(get(row, "updated_at")?)),
            head: node(row, "head")?.ok_or("the head is missing")?,
            records: read(get(row, "records")?),
            nodes: read(get(row, "nodes")?),
        })
    };
    inner().map_err(|reason| format!("session {id:?}: {reason}"))
}

/// Returns a number as the database keeps it: the same 64 bits, since it knows no unsigned numbers.
pub(super) fn stored(number: u64) -> i64 {
    number.cast_signed()
}

/// Returns a number as it was before [`stored`].
pub(super) fn read(number: i64) -> u64 {
    number.cast_unsigned()
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

fn node(row: &SqliteRow, column: &str) -> Result<Option<NodeId>, String> {
    let Some(number) = get::<Option<i64>>(row, column)? else { return Ok(None) };
    match u32::try_from(number) {
        Ok(index) => Ok(Some(NodeId::new(index))),
        Err(_) => Err(format!("{column} is {number}, which is no node")),
    }
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("its body cannot be read: {error}"))
}
