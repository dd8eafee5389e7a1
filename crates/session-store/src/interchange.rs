//! Sessions as lines of JSON, read again.
//!
//! Each session begins with a line that says what it is and how many records follow, and the last line of an export how many
//! sessions it has, so a file that was cut off is noticed wherever it was cut. The form is described in `docs/format.md`.

use std::collections::BTreeSet;
use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_message_tree::{Link, NodeId, Timestamp};

use crate::digest::Hasher;
use crate::{
    Digest, Header, Kept, NoteKey, Restoring, SessionId, SessionInfo, SessionStore, Spine, StoreError,
};

/// The version of the form that [`Export`](crate::Export) writes. [`Import`] reads it and all before it.
pub const FORMAT_VERSION: u32 = 3;

/// The version in which a session stands alone: no line closes it, and nothing says what its header was.
pub(crate) const UNSEALED_VERSION: u32 = 2;

/// A longer line is refused before it is all in memory. The largest that a provider or a tool gives is far below.
const LINE_LIMIT: u64 = 256 * 1024 * 1024;

/// Reads all sessions from lines of JSON into a store, one after the other; returns them in the order of the file.
///
/// Each session is kept whole or not at all; those before one that fails stay.
///
/// # Errors
///
/// Any [`ImportError`]. Nothing is guessed: one bad line refuses its session.
pub async fn import<S: SessionStore + ?Sized>(
    store: &S,
    from: impl BufRead + Send,
) -> Result<Vec<SessionInfo>, ImportError> {
    let mut import = Import::new(from);
    let mut restored = Vec::new();
    while let Some(header) = import.next_session()? {
        let mut rows = import.rows();
        restored.push(store.restore(Restoring::new(header, &mut rows)).await?);
    }
    Ok(restored)
}

/// Reads what [`Export`](crate::Export) wrote, line by line: [`next_session`](Import::next_session), then its [`rows`](Import::rows).
///
/// Unknown fields are passed over, but for those inside of a message or a note, which is kept byte for byte. Unknown kinds
/// of records and blocks are refused, and so is a file of a newer version, because what it says could be misread.
#[derive(Debug)]
pub struct Import<R> {
    lines: Lines<R>,
    begun: bool,
    session: Option<Current>,
    /// The export whose last line has not come yet.
    open: Option<Open>,
}

/// An export of which something was read, and not its end.
#[derive(Clone, Debug)]
struct Open {
    /// How many sessions it was to have when it was begun.
    planned: u64,
    sessions: u64,
    records: u64,
    lines: Hasher,
}

/// The session whose records come now.
#[derive(Debug)]
struct Current {
    records: u64,
    left: u64,
    /// Version 1 has no digests; they are made here.
    unchained: Option<Digest>,
}

impl<R: BufRead> Import<R> {
    /// Returns the reader of a file.
    pub fn new(from: R) -> Self {
        Import {
            lines: Lines { from, number: 0, line: Vec::new(), unread: false, fault: None },
            begun: false,
            session: None,
            open: None,
        }
    }

    /// Reads up to the next session and returns its header, or nothing at the end of the file.
    ///
    /// What was not read of the session before is passed over. After an error the next call goes on behind it, so that
    /// what stands behind a damaged session can still be had. Nothing is returned before the last line of the export was
    /// found to say what was read.
    ///
    /// # Errors
    ///
    /// [`ImportError::NotOurs`] if nothing or something else stands there; [`ImportError::Newer`]; [`ImportError::Line`];
    /// [`ImportError::Io`]; [`ImportError::CutOff`] if the session that is passed over ends early; at the end
    /// [`ImportError::NotClosed`] and [`ImportError::NotWhole`].
    pub fn next_session(&mut self) -> Result<Option<Header>, ImportError> {
        while let Some(Current { records, left: left @ 1.., .. }) = self.session {
            if self.next_row()?.is_none() {
                self.session = None;
                return Err(ImportError::CutOff { found: records - left, expected: records });
            }
        }
        self.session = None;
        let not_closed = |open: Open| ImportError::NotClosed { found: open.sessions, expected: open.planned };
        loop {
            let Some((line, text)) = self.lines.next()? else {
                return match (self.open.take(), self.begun) {
                    (Some(open), _) => Err(not_closed(open)),
                    (None, true) => Ok(None),
                    (None, false) => Err(ImportError::NotOurs { line: 1 }),
                };
            };
            // An editor has put a mark in front, also where several exports stand one after another.
            let text = text.trim_start_matches('\u{feff}');
            let start: Start = serde_json::from_str(text).map_err(|_| ImportError::NotOurs { line })?;
            if ![KIND, END].contains(&start.trunkline.as_ref()) || start.version == 0 {
                return Err(ImportError::NotOurs { line });
            }
            if start.version > FORMAT_VERSION {
                return Err(ImportError::Newer { found: start.version, known: FORMAT_VERSION });
            }
            if start.trunkline == END {
                let end: EndIn = read(line, text)?;
                // An export without a session has nothing but its last line.
                let open = self.open.take().unwrap_or_else(|| Open::new(0));
                open.check(line, &end)?;
                self.begun = true;
                continue;
            }
            let is_sealed = start.version > UNSEALED_VERSION;
            if let Some(open) = self.open.take_if(|_| !is_sealed) {
                self.lines.unread = true;
                return Err(not_closed(open));
            }
            let found: HeaderIn = read(line, text)?;
            let (of, seal) = (found.of, found.seal);
            let header = Header::from(found.session);
            check_seal(line, is_sealed, of, seal, &header)?;
            let unchained = (start.version == 1).then(|| Digest::genesis(&header.id));
            link(line, header.digest, unchained)?;
            if is_sealed {
                let open = self.open.get_or_insert_with(|| Open::new(of.unwrap_or_default()));
                open.sessions += 1;
                open.records = open.records.saturating_add(header.records);
                open.lines.line(text);
            }
            self.begun = true;
            self.session = Some(Current { records: header.records, left: header.records, unchained });
            return Ok(Some(header));
        }
    }

    /// Returns the records of the session whose header was read last.
    pub fn rows(&mut self) -> Rows<'_, R> {
        Rows { import: self }
    }

    fn next_row(&mut self) -> Result<Option<Kept>, ImportError> {
        let Some(session) = &mut self.session else { return Ok(None) };
        let (line, text) = match self.lines.next() {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(None),
            // This session is whole: what stands behind it is told when it is asked for.
            Err(fault) if session.left == 0 => {
                self.lines.fault = Some(fault);
                return Ok(None);
            }
            Err(fault) => {
                session.left -= 1;
                return Err(fault);
            }
        };
        let row = read_record(line, text, session.unchained);
        // More records than the header promises are for others to refuse.
        let belongs = match (&row, session.left) {
            (Ok(kept), 0) => kept.seq.checked_sub(1) == Some(session.records),
            (Err(_), 0) => false,
            (Err(_), _) => serde_json::from_str::<Start>(text).is_err(),
            (Ok(_), _) => true,
        };
        if !belongs {
            self.lines.unread = true;
            return Ok(None);
        }
        session.left = session.left.saturating_sub(1);
        if let Some(open) = &mut self.open {
            open.lines.line(text);
        }
        if let (Ok(kept), Some(prev)) = (&row, &mut session.unchained) {
            *prev = kept.digest;
        }
        row.map(Some)
    }
}

/// The records of one session in a file.
#[derive(Debug)]
pub struct Rows<'a, R> {
    import: &'a mut Import<R>,
}

impl<R: BufRead> Iterator for Rows<'_, R> {
    type Item = Result<Kept, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.import.next_row().transpose()
    }
}

/// Why lines of JSON are not a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file could not be read.
    #[error("cannot read line {line}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// What the reader said.
        source: io::Error,
    },
    /// A line is not the header of a session where one must stand.
    #[error("not an exported session: line {line} should start with {{\"trunkline\":\"session\"")]
    NotOurs {
        /// The line, from 1.
        line: u64,
    },
    /// A newer version of the program wrote the file.
    #[error("written in version {found} of the form, this program reads up to {known}")]
    Newer {
        /// The version of the file.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// A line cannot be read.
    #[error("line {line}, column {column}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The byte in the line, from 1.
        column: usize,
        /// What the parser said.
        reason: String,
    },
    /// A line holds a kind of record that this version of the form does not have.
    #[error("line {line} is none of node, move, note, blob, but {entry:?}")]
    UnknownRecord {
        /// The line, from 1.
        line: u64,
        /// What it says it is.
        entry: String,
    },
    /// There are fewer records than the header promises.
    #[error("the file was cut off: {found} of {expected} records")]
    CutOff {
        /// How many there are.
        found: u64,
        /// How many there should be.
        expected: u64,
    },
    /// The last line of the export is missing: whatever stood behind this may be missing too.
    #[error("the export was cut off: its last line is missing, and {found} of {expected} sessions are there")]
    NotClosed {
        /// How many sessions there are.
        found: u64,
        /// How many the export was to have.
        expected: u64,
    },
    /// The last line of the export does not say what stands before it: something was changed, moved, put in or left out.
    #[error("the export is not what was written: line {line} closes it, but {reason}")]
    NotWhole {
        /// The line, from 1.
        line: u64,
        /// What does not agree.
        reason: String,
    },
    /// The records do not make a session, or the store did not take them.
    #[error("the session cannot be taken in")]
    Store {
        /// What is wrong; names the record.
        #[source]
        source: Box<StoreError>,
    },
}

impl From<StoreError> for ImportError {
    fn from(source: StoreError) -> Self {
        ImportError::Store { source: Box::new(source) }
    }
}

pub(crate) const KIND: &str = "session";
pub(crate) const END: &str = "end";

// Read before the rest: a newer version may describe that in another way.
#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow)]
    trunkline: std::borrow::Cow<'a, str>,
    version: u32,
}

#[derive(Deserialize)]
struct HeaderIn {
    of: Option<u64>,
    session: HeaderFields,
    seal: Option<Digest>,
}

#[derive(Deserialize)]
struct EndIn {
    sessions: u64,
    records: u64,
    digest: Digest,
}

impl Open {
    fn new(planned: u64) -> Self {
        Open { planned, sessions: 0, records: 0, lines: Hasher::default() }
    }

    /// Compares what was read with what the last line says.
    fn check(self, line: u64, end: &EndIn) -> Result<(), ImportError> {
        let Open { sessions, records, lines, .. } = self;
        if (sessions, records) != (end.sessions, end.records) {
            return Err(ImportError::NotWhole {
                line,
                reason: format!(
                    "it says {} sessions with {} records, and before it stand {sessions} with {records}",
                    end.sessions, end.records
                ),
            });
        }
        if lines.digest() != end.digest {
            let reason = "the lines before it are not those that were written".to_owned();
            return Err(ImportError::NotWhole { line, reason });
        }
        Ok(())
    }
}

/// Checks that a header says of its session what was written.
fn check_seal(
    line: u64,
    is_sealed: bool,
    of: Option<u64>,
    seal: Option<Digest>,
    header: &Header,
) -> Result<(), ImportError> {
    let reason = match (is_sealed, of, seal) {
        (true, Some(_), Some(seal)) if seal == header.seal() => return Ok(()),
        (true, Some(_), Some(_)) => {
            "what it says of the session is not what was written: its seal does not fit"
        }
        (true, None, _) => "missing field `of`",
        (true, _, None) => "missing field `seal`",
        (false, None, None) => return Ok(()),
        // If it were passed over, whoever changes the version could change everything else too.
        (false, ..) => "only version 3 has seals, and here is one",
    };
    Err(ImportError::Line { line, column: 1, reason: reason.to_owned() })
}

#[derive(Serialize, Deserialize)]
pub(crate) struct HeaderFields {
    id: SessionId,
    title: String,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    archived: bool,
    workspace: Option<String>,
    created_at: Timestamp,
    head: NodeId,
    records: u64,
    nodes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

impl From<&Header> for HeaderFields {
    fn from(header: &Header) -> Self {
        let Header { id, title, tags, archived, workspace, created_at, head, records, nodes, digest } =
            header.clone();
        HeaderFields { id, title, tags, archived, workspace, created_at, head, records, nodes, digest }
    }
}

impl From<HeaderFields> for Header {
    fn from(fields: HeaderFields) -> Self {
        let HeaderFields { id, title, tags, archived, workspace, created_at, head, records, nodes, digest } =
            fields;
        Header { id, title, tags, archived, workspace, created_at, head, records, nodes, digest }
    }
}

// Read before the rest, because it says what the rest is.
#[derive(Deserialize)]
struct RecordStart {
    seq: u64,
    entry: String,
    digest: Option<Digest>,
}

#[derive(Deserialize)]
struct NodeIn<'a> {
    id: NodeId,
    parent: Option<NodeId>,
    at: Timestamp,
    #[serde(default)]
    filed: bool,
    #[serde(default)]
    merges: Vec<NodeId>,
    covers: Option<NodeId>,
    #[serde(borrow)]
    message: &'a RawValue,
}

#[derive(Deserialize)]
struct MoveIn<'a> {
    from: NodeId,
    to: NodeId,
    at: Timestamp,
    #[serde(borrow)]
    kind: &'a RawValue,
}

#[derive(Deserialize)]
struct NoteIn<'a> {
    layer: String,
    kind: String,
    at: Timestamp,
    key: Option<String>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    once: bool,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Deserialize)]
struct BlobIn<'a> {
    layer: String,
    kind: String,
    at: Timestamp,
    content: Digest,
    #[serde(borrow)]
    base64: &'a RawValue,
}

fn read_record(line: u64, text: &str, unchained: Option<Digest>) -> Result<Kept, ImportError> {
    let RecordStart { seq, entry, digest } = read(line, text)?;
    let (spine, body) = match entry.as_str() {
        "node" => {
            let NodeIn { id, parent, at, filed, merges, covers, message } = read(line, text)?;
            let link = Link::from_fields(filed, merges, covers).ok_or_else(|| ImportError::Line {
                line,
                column: 1,
                reason: "a node is either filed, or merges branches, or covers a span".to_owned(),
            })?;
            (Spine::Node { id, parent, at, link }, message)
        }
        "move" => {
            let MoveIn { from, to, at, kind } = read(line, text)?;
            (Spine::Move { from, to, at }, kind)
        }
        "note" => {
            let NoteIn { layer, kind, at, key, state, once, body } = read(line, text)?;
            let key = key.map(|key| NoteKey { key, state, once });
            (Spine::Note { layer, kind, at, key }, body)
        }
        "blob" if unchained.is_none() => {
            let BlobIn { layer, kind, at, content, base64 } = read(line, text)?;
            (Spine::Blob { layer, kind, at, content }, base64)
        }
        _ => return Err(ImportError::UnknownRecord { line, entry }),
    };
    let body = body.get().to_owned();
    Ok(match link(line, digest, unchained)? {
        Linked::Given(digest) => Kept { seq, spine, body, digest },
        Linked::Made(prev) => Kept::chained(seq, spine, body, prev),
    })
}

/// How a line hangs on those before it.
enum Linked {
    /// By the digest that it carries.
    Given(Digest),
    /// By one that is made, from that of the record before it.
    Made(Digest),
}

fn link(line: u64, digest: Option<Digest>, unchained: Option<Digest>) -> Result<Linked, ImportError> {
    let reason = match (digest, unchained) {
        (Some(digest), None) => return Ok(Linked::Given(digest)),
        (None, Some(prev)) => return Ok(Linked::Made(prev)),
        (None, None) => "missing field `digest`",
        // If it were passed over, whoever changes the version could change everything else too.
        (Some(_), Some(_)) => "version 1 has no digests, and here is one",
    };
    Err(ImportError::Line { line, column: 1, reason: reason.to_owned() })
}

fn read<'a, T: Deserialize<'a>>(line: u64, text: &'a str) -> Result<T, ImportError> {
    serde_json::from_str(text).map_err(|error| {
        // The parser counts lines in what it was given, which is one line.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = error.to_string();
        let reason = reason.strip_suffix(&place).unwrap_or(&reason).to_owned();
        ImportError::Line { line, column: error.column(), reason }
    })
}

/// Lines with their numbers, read into one buffer.
#[derive(Debug)]
struct Lines<R> {
    from: R,
    number: u64,
    line: Vec<u8>,
    /// Whether the line in the buffer is to come again.
    unread: bool,
    /// What is to be told instead of the next line.
    fault: Option<ImportError>,
}

impl<R: BufRead> Lines<R> {
    /// Returns the next line that is not blank.
    fn next(&mut self) -> Result<Option<(u64, &str)>, ImportError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        while !std::mem::take(&mut self.unread) {
            self.line.clear();
            self.number += 1;
            let line = self.number;
            let fault = |source| ImportError::Io { line, source };
            let mut bounded = io::Read::take(io::Read::by_ref(&mut self.from), LINE_LIMIT);
            if bounded.read_until(b'\n', &mut self.line).map_err(fault)? == 0 {
                return Ok(None);
            }
            if self.line.len() as u64 == LINE_LIMIT {
                let column = self.line.len();
                return Err(ImportError::Line {
                    line,
                    column,
                    reason: format!("the line is longer than {LINE_LIMIT} bytes"),
                });
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        let text = std::str::from_utf8(self.line.trim_ascii_end());
        let text = text.map_err(|source| ImportError::Io {
            line: self.number,
            source: io::Error::new(io::ErrorKind::InvalidData, source),
        })?;
        Ok(Some((self.number, text)))
    }
}
