//! Counts and chains records and refuses those that no tree could replay.
//!
//! All stores and the import use it, so that a log that was accepted anywhere can be read everywhere. It holds some
//! numbers and a digest, not the tree: whether an undo names the right move is for the tree to say.

use std::borrow::Borrow;

use trunkline_message_tree::{Entry, Link, MOST_MERGED, NodeId, Timestamp, TreeError};

use crate::record::{check_body, check_line};
use crate::{Digest, Kept, Note, Position, Record, SessionId, SessionInfo, Spine, StoreError};

/// How far a log has come, with what is needed to judge the next record. For those who write a store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// The number of the last record; 0 before the first.
    pub seq: u64,
    /// How many nodes there are.
    pub nodes: u64,
    /// The end of the trunk.
    pub head: NodeId,
    /// The latest time that a record carries.
    pub updated_at: Timestamp,
    /// The bytes of all bodies.
    pub bytes: u64,
    /// The digest of the last record.
    pub digest: Digest,
}

impl Tally {
    /// Returns the tally of a session without records.
    pub fn new(session: &SessionId, created_at: Timestamp) -> Self {
        Tally {
            seq: 0,
            nodes: 0,
            head: NodeId::ROOT,
            updated_at: created_at,
            bytes: 0,
            digest: Digest::genesis(session),
        }
    }

    /// Returns the tally that a session's row claims.
    pub fn of(info: &SessionInfo) -> Self {
        Tally {
            seq: info.records,
            nodes: info.nodes,
            head: info.head,
            updated_at: info.updated_at,
            bytes: info.bytes,
            digest: info.digest,
        }
    }

    /// Returns where that is.
    pub fn position(&self) -> Position {
        Position { seq: self.seq, head: self.head }
    }

    /// Counts one more record and gives it its number and its place in the chain.
    ///
    /// # Errors
    ///
    /// [`StoreError::Misfit`] or [`StoreError::Body`].
    pub fn add(&mut self, session: &SessionId, record: impl Borrow<Record>) -> Result<Kept, StoreError> {
        let record = record.borrow();
        let (spine, body) = Kept::parts(record);
        self.fits(session, &spine)?;
        if body.len() > BODY_LIMIT {
            return Err(StoreError::body(session, "record", TOO_LONG));
        }
        check_words(record).map_err(|(kind, reason)| StoreError::body(session, kind, reason))?;
        if let Record::Note(Note { kind, body, .. }) = record {
            check_body(body).map_err(|reason| StoreError::body(session, kind, reason))?;
        }
        let kept = Kept::chained(self.next(session)?, spine, body, self.digest);
        self.count(&kept);
        Ok(kept)
    }

    /// Counts a record that comes with its number and digest, from a file or another store.
    ///
    /// # Errors
    ///
    /// [`StoreError::Misfit`]; [`StoreError::BadRecord`] if it is not the next one, cannot be read, or could not be
    /// exported; [`StoreError::BrokenChain`] if the digest is not the one that follows.
    pub fn add_kept(&mut self, session: &SessionId, kept: &Kept) -> Result<(), StoreError> {
        let seq = self.next(session)?;
        let bad = |reason: String| StoreError::BadRecord { session: session.clone(), seq, reason };
        if kept.seq != seq {
            return Err(bad(format!("record {} stands in its place", kept.seq)));
        }
        self.fits(session, &kept.spine)?;
        if kept.body.len() > BODY_LIMIT {
            return Err(bad(TOO_LONG.to_owned()));
        }
        // The parsers of messages and moves let white space pass that no line of the interchange form can hold.
        check_line(&kept.body).map_err(|reason| bad(format!("its body cannot be exported: {reason}")))?;
        let record = kept.record(session)?;
        check_words(&record).map_err(|(_, reason)| bad(reason.to_owned()))?;
        self.follow(session, kept)
    }

    /// Counts a record whose tree and body are not looked at, if its digest follows.
    fn follow(&mut self, session: &SessionId, kept: &Kept) -> Result<(), StoreError> {
        let expected = kept.expected(self.digest);
        if expected != kept.digest {
            return Err(StoreError::BrokenChain {
                session: session.clone(),
                seq: kept.seq,
                expected,
                found: kept.digest,
            });
        }
        self.count(kept);
        Ok(())
    }

    /// Checks that a whole log has come to what its session says.
    #[cfg(feature = "store")]
    pub(crate) fn check(&self, info: &SessionInfo) -> Result<(), StoreError> {
        let claimed = Tally::of(info);
        if *self == claimed {
            return Ok(());
        }
        let reason = format!("the log ends with {}, the session says {}", told(self), told(&claimed));
        Err(StoreError::BadRecord { session: info.id.clone(), seq: self.seq, reason })
    }

    fn count(&mut self, kept: &Kept) {
        self.seq = kept.seq;
        self.digest = kept.digest;
        self.updated_at = self.updated_at.max(kept.spine.at());
        self.bytes = self.bytes.saturating_add(kept.body.len() as u64);
        match kept.spine {
            Spine::Node { id, ref link, .. } => {
                self.nodes += 1;
                if !link.is_filed() {
                    self.head = id;
                }
            }
            Spine::Move { to, .. } => self.head = to,
            Spine::Note { .. } | Spine::Blob { .. } => {}
        }
    }

    /// Returns the number of the next record. The last number there is was never given: whoever says so is damaged.
    fn next(&self, session: &SessionId) -> Result<u64, StoreError> {
        let next = self.seq.checked_add(1);
        next.ok_or_else(|| StoreError::BadRecord {
            session: session.clone(),
            seq: self.seq,
            reason: "no number is left for another".to_owned(),
        })
    }

    fn fits(&self, session: &SessionId, spine: &Spine) -> Result<(), StoreError> {
        let fits = match spine {
            Spine::Node { id, parent, link, .. } => self.check_node(*id, *parent, link),
            _ if self.nodes == 0 => Err(TreeError::NoRoot),
            Spine::Move { from, to, .. } => self.check_head(*from).and_then(|()| self.check_exists(*to)),
            Spine::Note { .. } | Spine::Blob { .. } => Ok(()),
        };
        let seq = self.next(session)?;
        fits.map_err(|source| StoreError::Misfit { session: session.clone(), seq, source })
    }

    fn check_node(&self, id: NodeId, parent: Option<NodeId>, link: &Link) -> Result<(), TreeError> {
        if self.nodes == 0 {
            let root = id == NodeId::ROOT && parent.is_none() && *link == Link::Next;
            return if root && self.seq == 0 { Ok(()) } else { Err(TreeError::NoRoot) };
        }
        let expected = u32::try_from(self.nodes).map(NodeId::new).map_err(|_| TreeError::Full)?;
        let parent = parent.filter(|_| id == expected);
        let parent = parent.ok_or(TreeError::OutOfOrder { found: id, expected })?;
        self.check_exists(parent)?;
        match link {
            Link::Merge { with } if with.is_empty() || with.len() > MOST_MERGED => {
                return Err(TreeError::NotMergeable { node: id });
            }
            Link::Merge { with } => with.iter().try_for_each(|node| self.check_exists(*node))?,
            Link::Cover { from } => self.check_exists(*from)?,
            Link::Next | Link::Filed => {}
        }
        if link.is_filed() { Ok(()) } else { self.check_head(parent) }
    }

    fn check_head(&self, expected: NodeId) -> Result<(), TreeError> {
        if expected == self.head {
            return Ok(());
        }
        Err(TreeError::HeadMoved { expected, actual: self.head })
    }

    fn check_exists(&self, node: NodeId) -> Result<(), TreeError> {
        if (node.index() as u64) < self.nodes {
            return Ok(());
        }
        let newest = u32::try_from(self.nodes.saturating_sub(1)).unwrap_or(u32::MAX);
        Err(TreeError::UnknownNode { node, newest: NodeId::new(newest) })
    }
}

#[cfg(feature = "store")]
fn told(tally: &Tally) -> String {
    let Tally { nodes, updated_at, bytes, digest, .. } = tally;
    format!(
        "{}, {nodes} nodes, {bytes} bytes, last update {updated_at} and digest {digest}",
        tally.position()
    )
}

/// A longer body would not come back from the interchange form, whose lines are bounded.
const BODY_LIMIT: usize = 255 * 1024 * 1024;

const TOO_LONG: &str = "its body is longer than 255 MiB";

/// The longest name, in bytes: the line that it stands in is bounded, and so is what a list of sessions costs.
const NAME_LIMIT: usize = 64 * 1024;

/// Checks what stands in a record besides its place in the tree; the error names its kind.
fn check_words(record: &Record) -> Result<(), (&str, &'static str)> {
    let (kind, key, layer) = match record {
        Record::Entry(Entry::Node { id, message, .. }) => {
            return match message.node.is_none_or(|node| node == *id) {
                true => Ok(()),
                false => Err(("message", "the message names another node than its record")),
            };
        }
        Record::Entry(Entry::Move(_)) => return Ok(()),
        Record::Note(note) => (&note.kind, note.key.as_ref(), &note.layer),
        Record::Blob(blob) => (&blob.kind, None, &blob.layer),
    };
    let key = key.into_iter().flat_map(|key| [&key.key, &key.state]);
    // A kind that is too long to be kept is too long to be told.
    check_name(kind).map_err(|reason| ("kind", reason))?;
    [layer]
        .into_iter()
        .chain(key)
        .try_for_each(|name| check_name(name))
        .map_err(|reason| (kind.as_str(), reason))
}

/// Checks that a name can be kept by every store: PostgreSQL has no place for the character NUL.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.len() > NAME_LIMIT {
        return Err("a name is longer than 64 KiB");
    }
    match name.contains('\0') {
        true => Err("a name has a NUL character"),
        false => Ok(()),
    }
}
