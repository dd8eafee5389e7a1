//! What can go wrong with a store, for the one who must act on it.
//!
//! Nothing is ever half done. A write that failed has changed nothing, but for one case: if the disk fails exactly while
//! a batch is committed, that batch may come back whole. The front page of the crate says what to do about each error.

use trunkline_message_tree::TreeError;

use crate::{Digest, InboxId, Position, SessionId};

/// Why a store did not do what it was asked for. Nothing was changed; see [`StoreError::Io`] for the one exception.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session {session}")]
    UnknownSession {
        /// What was named.
        session: SessionId,
    },
    /// The id is taken.
    #[error("session {session} exists already")]
    SessionExists {
        /// The id.
        session: SessionId,
    },
    /// Somebody else writes the session.
    #[error("session {session} is being written by {}", .holder.as_deref().unwrap_or("somebody else"))]
    Locked {
        /// The session.
        session: SessionId,
        /// Who holds it, such as `process 4711`, where that is known.
        holder: Option<String>,
    },
    /// The lease was given by another store.
    #[error("the lease on session {session} was not given by this store")]
    ForeignLease {
        /// The session that the lease names.
        session: SessionId,
    },
    /// Somebody took the session over: this lease has ended, and nothing more can be written under it.
    #[error("session {session} was taken over by {}; this lease (token {token}) has ended", .holder.as_deref().unwrap_or("somebody else"))]
    Fenced {
        /// The session.
        session: SessionId,
        /// The fencing token of the lease that has ended.
        token: u64,
        /// Who holds it now, where that is known.
        holder: Option<String>,
    },
    /// Records that were acknowledged as [`Buffered`](crate::Durability::Buffered) could not be written.
    ///
    /// Said once, by the next append. Neither they nor what stood in line behind them is in the log. Load before writing
    /// again.
    #[error("session {session} has lost the buffered records from {seq} on: {reason}")]
    BufferLost {
        /// The session.
        session: SessionId,
        /// The number that the first of them had.
        seq: u64,
        /// Why they could not be written.
        reason: String,
    },
    /// Records that were acknowledged are no longer in the log: the server that had them was replaced by one that had not
    /// received them.
    ///
    /// Said once, by the next append. Receipts for them no longer hold. Load before writing again.
    #[error(
        "session {session} has lost acknowledged records, {seq} among them: the server was replaced by one that had not \
         received them; load the session again before writing to it"
    )]
    AcknowledgedLost {
        /// The session.
        session: SessionId,
        /// The last record that was known to be there. Others right before it may be gone too.
        seq: u64,
    },
    /// A note must be the first of its key, and is not.
    #[error("session {session} has a {kind:?} note about {key:?} already, record {seq}")]
    KeyTaken {
        /// The session.
        session: SessionId,
        /// The kind of the note.
        kind: String,
        /// The key.
        key: String,
        /// The first record that has it.
        seq: u64,
    },
    /// The log has moved on since the batch was made.
    #[error("session {session} is at {actual}, the batch was made at {expected}")]
    Conflict {
        /// The session.
        session: SessionId,
        /// Where the batch says the log is.
        expected: Position,
        /// Where it is.
        actual: Position,
    },
    /// A batch consumes a letter that is not in the inbox: it never was, or it was consumed before.
    #[error("letter {letter} is not in the inbox of session {session}")]
    NoSuchLetter {
        /// The session.
        session: SessionId,
        /// The letter.
        letter: InboxId,
    },
    /// There is no record with that number, or not yet.
    #[error("session {session} has no record {seq}")]
    NoSuchRecord {
        /// The session.
        session: SessionId,
        /// The number that was asked for.
        seq: u64,
    },
    /// A session that was to be deleted as nobody's is not what it was when that was decided: it grew, a letter came, or it
    /// is called something else.
    #[error("session {session} was not deleted: {reason} since it was looked at")]
    Changed {
        /// The session.
        session: SessionId,
        /// What has changed.
        reason: &'static str,
    },
    /// The log that was followed is gone: in its place stands another one, which is shorter or does not continue it.
    ///
    /// A crash of the system may lose what was less than flushed, and a session may be deleted and taken in from an older
    /// export. A [`Snapshot`](crate::Snapshot) of another log is refused with it too.
    #[error("the log of session {session} is not the one that was followed up to record {seq}; read it anew")]
    Replaced {
        /// The session.
        session: SessionId,
        /// The last record that was given.
        seq: u64,
    },
    /// A record does not fit the tree that the log describes.
    #[error("record {seq} does not fit session {session}")]
    Misfit {
        /// The session.
        session: SessionId,
        /// The number that the record would have had.
        seq: u64,
        /// What is wrong.
        source: TreeError,
    },
    /// A message, note, blob, letter, title or tag is not what every store and the interchange form can carry: a body must
    /// be JSON on one line and at most 255 MiB, a message names no node but its own, and a name (layer, kind, key, state,
    /// title, folder, tag) has no NUL and at most 64 KiB.
    #[error("{kind:?} for session {session} cannot be kept: {reason}")]
    Body {
        /// The session.
        session: SessionId,
        /// The kind of the note, blob or letter; `title`, `kind`, `message` or `record` if that is what is wrong.
        kind: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A stored record cannot be read. It is still there; nothing skips it.
    #[error("record {seq} of session {session} is damaged: {reason}")]
    BadRecord {
        /// The session.
        session: SessionId,
        /// The record's number.
        seq: u64,
        /// What is wrong.
        reason: String,
    },
    /// A record is not the one that was written in its place: it was changed, or one before it is missing.
    #[error(
        "the chain of session {session} breaks at record {seq}: its digest is {found}, {expected} would follow"
    )]
    BrokenChain {
        /// The session.
        session: SessionId,
        /// The first record that does not follow.
        seq: u64,
        /// The digest that follows from the record and those before it.
        expected: Digest,
        /// The digest that is stored.
        found: Digest,
    },
    /// A newer version of the program wrote this store.
    #[error("{place} was written by a newer version (schema {found}, this one knows up to {known})")]
    Newer {
        /// The database.
        place: String,
        /// The version of its schema.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// An administrator has to bring this store to a newer version first; opening never does.
    #[error(
        "{place} has schema version {found}, and this program needs {needed} or newer: run `trunkline store migrate`"
    )]
    Older {
        /// The database.
        place: String,
        /// The version of its schema.
        found: i64,
        /// The oldest that can be worked with.
        needed: i64,
    },
    /// The file is something else. It was not touched.
    #[error("{place} is not a session store: {reason}")]
    NotAStore {
        /// The file.
        place: String,
        /// What it seems to be.
        reason: String,
    },
    /// The database is damaged.
    #[error("{place} is damaged: {reason}")]
    Corrupt {
        /// The database.
        place: String,
        /// What was found.
        reason: String,
    },
    /// The database and its write-ahead log are not in one place: one of them was moved, removed or replaced while it was open.
    ///
    /// Nothing more is written. What was acknowledged last may stand in the log alone; `doctor::join` brings both together.
    #[error("{place} is torn apart: {what}")]
    Torn {
        /// Where both should be.
        place: String,
        /// What is where.
        what: String,
        /// The file that is the database now, where that is known.
        database: Option<String>,
        /// The write-ahead log, if it was left behind.
        log: Option<String>,
    },
    /// There is no room left, on the disk or below the limit that was set.
    #[error("no room left to write {place}{}", .quota.as_deref().map(|quota| format!(": {quota}")).unwrap_or_default())]
    Full {
        /// The database.
        place: String,
        /// Which limit was reached and what to do, in words; nothing if it is the disk that is full.
        quota: Option<String>,
    },
    /// The database can only be read: its file or folder may not be written, or the medium cannot.
    #[error("{place} can only be read")]
    ReadOnly {
        /// The database.
        place: String,
    },
    /// Somebody has the database open, and what was asked for needs it alone.
    #[error("{place} is open in this or another process; close it there first")]
    InUse {
        /// The database.
        place: String,
    },
    /// Other processes kept the database busy for too long. Trying again is safe.
    #[error("{place} is busy; try again")]
    Busy {
        /// The database.
        place: String,
    },
    /// The operating system refused or the disk failed.
    ///
    /// After an append it is open whether the batch is kept, because nobody knows what a failed sync wrote. It is never
    /// kept in part, and sending it again is safe: the second one fails with [`StoreError::Conflict`].
    #[error("cannot use {place}: {reason}")]
    Io {
        /// The file or folder.
        place: String,
        /// What it said.
        reason: String,
    },
    /// The database refused in a way that has no name here.
    #[error("{place}: {reason}")]
    Database {
        /// The database.
        place: String,
        /// What it said.
        reason: String,
    },
}

impl StoreError {
    /// Returns the error for a body that cannot be kept.
    pub(crate) fn body(session: &SessionId, kind: &str, reason: &'static str) -> Self {
        StoreError::Body { session: session.clone(), kind: kind.to_owned(), reason }
    }
}
