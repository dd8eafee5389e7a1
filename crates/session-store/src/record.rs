//! What a log is made of.
//!
//! A record is what callers write and read. Stores keep it as a [`Kept`]: what stands in the spine, the bytes of its
//! body, and its digest. Records are counted from 1, so the number of the last record is also how many there are.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_message_tree::{Entry, HeadMove, Link, Message, MoveKind, NodeId, Timestamp};

use crate::{Digest, SessionId, StoreError};

/// One thing that was written to a session's log, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a reader that skipped a kind of record would lose it")]
pub enum Record {
    /// A node came or the head moved.
    Entry(Entry),
    /// An upper layer wrote something down.
    Note(Note),
    /// An upper layer kept bytes, such as a file as it was before an edit.
    Blob(Blob),
}

impl Record {
    /// Returns when it was made, as its maker says.
    pub fn at(&self) -> Timestamp {
        match self {
            Record::Entry(Entry::Node { at, .. }) => *at,
            Record::Entry(Entry::Move(head_move)) => head_move.at,
            Record::Note(note) => note.at,
            Record::Blob(blob) => blob.at,
        }
    }
}

/// What an upper layer wrote down. The store keeps it and never reads the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The layer that owns it, such as `revert`.
    pub layer: String,
    /// What the layer calls it.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// JSON on one line without white space around it, kept byte for byte.
    pub body: String,
    /// What it is about, such as one run or one proposal: notes with a key can be found.
    pub key: Option<NoteKey>,
}

/// What a note is about, and how that stands since.
///
/// Keys belong to one layer and kind of one session. The state of a key is that of its newest note;
/// [`SessionStore::notes`](crate::SessionStore::notes) finds keys by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteKey {
    /// Its name.
    pub key: String,
    /// How it stands after this note, in the layer's words, such as `pending`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Whether the note must be the first of its key: otherwise the batch fails with
    /// [`StoreError::KeyTaken`](crate::StoreError::KeyTaken).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

impl Note {
    /// Returns a note that cannot be found by a key.
    pub fn new(
        layer: impl Into<String>,
        kind: impl Into<String>,
        at: Timestamp,
        body: impl Into<String>,
    ) -> Self {
        Note { layer: layer.into(), kind: kind.into(), at, body: body.into(), key: None }
    }

    /// Returns it as a note about `key`, which stands in `state` after it.
    #[must_use]
    pub fn about(mut self, key: impl Into<String>, state: impl Into<String>) -> Self {
        self.key = Some(NoteKey { key: key.into(), state: state.into(), once: false });
        self
    }

    /// Returns it as the first note about `key`: it is refused if there is one already. Others may follow it with
    /// [`about`](Note::about).
    #[must_use]
    pub fn once(mut self, key: impl Into<String>, state: impl Into<String>) -> Self {
        self.key = Some(NoteKey { key: key.into(), state: state.into(), once: true });
        self
    }
}

/// Bytes that an upper layer keeps. Equal bytes are stored once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The layer that owns it.
    pub layer: String,
    /// What the layer calls it.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Returns the name under which [`SessionStore::blob`](crate::SessionStore::blob) gives the bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// What the spine says of a record: everything but its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a store that skipped a kind of record would lose it")]
pub enum Spine {
    /// A node; its body is the message.
    Node {
        /// Its name.
        id: NodeId,
        /// The node it continues; `None` for the root.
        parent: Option<NodeId>,
        /// When it came.
        at: Timestamp,
        /// How it hangs on its parent.
        #[serde(flatten)]
        link: Link,
    },
    /// A move of the head; its body is the kind of move.
    Move {
        /// Where the head was.
        from: NodeId,
        /// Where it went.
        to: NodeId,
        /// When.
        at: Timestamp,
    },
    /// A note; its body is the note's.
    Note {
        /// Its layer.
        layer: String,
        /// Its kind.
        kind: String,
        /// When.
        at: Timestamp,
        /// What it is about.
        #[serde(flatten)]
        key: Option<NoteKey>,
    },
    /// A blob; its body is the bytes in base64, as a JSON string.
    Blob {
        /// Its layer.
        layer: String,
        /// Its kind.
        kind: String,
        /// When.
        at: Timestamp,
        /// The digest of the bytes.
        content: Digest,
    },
}

/// Returns what a database keeps of a link beside whether the node is filed: the nodes that it names.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn nodes_of(link: &Link) -> Option<String> {
    match link {
        Link::Next | Link::Filed => None,
        Link::Merge { with } => Some(with.iter().map(NodeId::to_string).collect::<Vec<_>>().join(" ")),
        Link::Cover { from } => Some(from.to_string()),
    }
}

/// Returns the link that a database kept.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn link_of(filed: bool, nodes: Option<&str>) -> Result<Link, String> {
    let node = |text: &str| text.parse::<NodeId>().map_err(|error| error.to_string());
    Ok(match (filed, nodes) {
        (false, None) => Link::Next,
        (true, None) => Link::Filed,
        (false, Some(nodes)) => Link::Merge { with: nodes.split(' ').map(node).collect::<Result<_, _>>()? },
        (true, Some(from)) => Link::Cover { from: node(from)? },
    })
}

impl Spine {
    /// Returns when the record was made, as its maker says.
    pub fn at(&self) -> Timestamp {
        match self {
            Spine::Node { at, .. }
            | Spine::Move { at, .. }
            | Spine::Note { at, .. }
            | Spine::Blob { at, .. } => *at,
        }
    }
}

/// A record as stores keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its number, from 1.
    pub seq: u64,
    /// What the spine says.
    pub spine: Spine,
    /// JSON on one line, byte for byte as it was written first.
    pub body: String,
    /// The digest of its [canonical text](Kept::canonical), and so of all records before it.
    pub digest: Digest,
}

#[derive(Serialize)]
struct Canonical<'a> {
    seq: u64,
    prev: Digest,
    #[serde(flatten)]
    spine: &'a Spine,
    body: Digest,
}

impl Kept {
    /// Returns a record with its place in the chain: `prev` is the digest of the record before it, or
    /// [`Digest::genesis`].
    pub fn chained(seq: u64, spine: Spine, body: String, prev: Digest) -> Self {
        let digest = Self::digest_after(seq, &spine, &body, prev);
        Kept { seq, spine, body, digest }
    }

    fn digest_after(seq: u64, spine: &Spine, body: &str, prev: Digest) -> Digest {
        Digest::of(Self::canonical(seq, spine, Digest::of(body.as_bytes()), prev).as_bytes())
    }

    /// Returns the digest that it must have behind a record with the digest `prev`.
    pub(crate) fn expected(&self, prev: Digest) -> Digest {
        Self::digest_after(self.seq, &self.spine, &self.body, prev)
    }

    /// Returns the text whose digest is the record's: one line of JSON with the number, the digest before it, the spine,
    /// and the digest of the body in its place, so that a body could be erased while the chain still verifies.
    pub fn canonical(seq: u64, spine: &Spine, body: Digest, prev: Digest) -> String {
        let canonical = Canonical { seq, prev, spine, body };
        serde_json::to_string(&canonical).expect("numbers, names and digests are JSON")
    }

    /// Returns what follows from a record: its spine and its body.
    pub(crate) fn parts(record: &Record) -> (Spine, String) {
        const WRITES: &str = "messages and moves are JSON";
        match record {
            Record::Entry(Entry::Node { id, parent, at, link, message }) => (
                Spine::Node { id: *id, parent: *parent, at: *at, link: link.clone() },
                serde_json::to_string(message).expect(WRITES),
            ),
            Record::Entry(Entry::Move(HeadMove { from, to, kind, at })) => {
                (Spine::Move { from: *from, to: *to, at: *at }, serde_json::to_string(kind).expect(WRITES))
            }
            Record::Note(Note { layer, kind, at, body, key }) => (
                Spine::Note { layer: layer.clone(), kind: kind.clone(), at: *at, key: key.clone() },
                body.clone(),
            ),
            Record::Blob(blob) => {
                let Blob { layer, kind, at, bytes } = blob;
                let content = blob.digest();
                let spine = Spine::Blob { layer: layer.clone(), kind: kind.clone(), at: *at, content };
                (spine, format!("\"{}\"", BASE64.encode(bytes)))
            }
        }
    }

    /// Returns how long it is with the names beside its body, about.
    #[cfg(feature = "store")]
    pub(crate) fn size(&self) -> usize {
        let names = match &self.spine {
            Spine::Node { .. } | Spine::Move { .. } => 0,
            Spine::Note { layer, kind, key, .. } => {
                let key = key.as_ref().map_or(0, |key| key.key.len() + key.state.len());
                layer.len() + kind.len() + key
            }
            Spine::Blob { layer, kind, .. } => layer.len() + kind.len(),
        };
        self.body.len() + names + 256
    }

    /// Returns the record, as it was written.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadRecord`] if the body is not what the spine says.
    pub fn record(&self, session: &SessionId) -> Result<Record, StoreError> {
        self.parse().map_err(|reason| StoreError::BadRecord {
            session: session.clone(),
            seq: self.seq,
            reason,
        })
    }

    pub(crate) fn parse(&self) -> Result<Record, String> {
        self.spine.clone().record(&self.body)
    }
}

impl Spine {
    /// Returns the record whose body this is, or why it is not one.
    pub(crate) fn record(self, body: &str) -> Result<Record, String> {
        let unread = |error: serde_json::Error| format!("its body cannot be read: {error}");
        Ok(match self {
            Spine::Node { id, parent, at, link } => {
                let message: Message = serde_json::from_str(body).map_err(unread)?;
                Record::Entry(Entry::Node { id, parent, at, link, message })
            }
            Spine::Move { from, to, at } => {
                let kind: MoveKind = serde_json::from_str(body).map_err(unread)?;
                Record::Entry(Entry::Move(HeadMove { from, to, kind, at }))
            }
            Spine::Note { layer, kind, at, key } => {
                check_body(body).map_err(|reason| format!("its body cannot be read: {reason}"))?;
                Record::Note(Note { layer, kind, at, body: body.to_owned(), key })
            }
            Spine::Blob { layer, kind, at, content } => {
                let inner = body.strip_prefix('"').and_then(|body| body.strip_suffix('"'));
                let inner = inner.ok_or("its body is not a JSON string")?;
                let bytes =
                    BASE64.decode(inner).map_err(|error| format!("its body is not base64: {error}"))?;
                if Digest::of(&bytes) != content {
                    return Err("its bytes are not those that its digest names".to_owned());
                }
                Record::Blob(Blob { layer, kind, at, bytes })
            }
        })
    }
}

/// Checks that a body can stand inside a line of the interchange form without a byte being changed.
pub(crate) fn check_body(body: &str) -> Result<&RawValue, &'static str> {
    let raw: &RawValue = serde_json::from_str(body).map_err(|_| "it is not JSON")?;
    check_line(body)?;
    Ok(raw)
}

/// Checks the same of what is known to be JSON.
pub(crate) fn check_line(body: &str) -> Result<(), &'static str> {
    if body.trim_ascii().len() != body.len() {
        return Err("there is white space around the JSON");
    }
    // Byte by byte is several times as fast as by characters.
    if body.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return Err("the JSON is not on one line");
    }
    Ok(())
}

/// How far a log has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the last record.
    pub seq: u64,
    /// The end of the trunk.
    pub head: NodeId,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} with head {}", self.seq, self.head)
    }
}
