//! What can go wrong with a store, for the one who must act on it.
//!
//! No error means that something was half done. A write that failed has changed nothing, but for one case: if the disk
//! fails exactly while a batch is committed, that batch may come back whole.

use std::path::PathBuf;

use trunkline_message_tree::TreeError;

use crate::tally::Misfit;
use crate::{InboxId, Position, SessionId};

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
    /// The lock was given by another store.
    #[error("the lock on session {session} was not given by this store")]
    ForeignLock {
        /// The session that the lock names.
        session: SessionId,
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
    /// The body of a note or a letter is not what the interchange form can carry.
    #[error("the body of {kind:?} for session {session} cannot be kept: {reason}")]
    Body {
        /// The session.
        session: SessionId,
        /// The kind of the note or letter.
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
    /// A newer version of the program wrote this store.
    #[error("{} was written by a newer version (schema {found}, this one knows up to {known})", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The file is something else. It was not touched.
    #[error("{} is not a session store: {reason}", .path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        reason: String,
    },
    /// The database is damaged.
    #[error("{} is damaged: {reason}", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// There is no room left, on the disk or below the limit that was set.
    #[error("no room left to write {}", .path.display())]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// Other processes kept the database busy for too long. Trying again is safe.
    #[error("{} is busy; try again", .path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The operating system refused or the disk failed.
    ///
    /// After an append it is open whether the batch is kept, because nobody knows what a failed sync wrote. It is never
    /// kept in part, and sending it again is safe: the second one fails with [`StoreError::Conflict`].
    #[error("cannot use {}: {reason}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The database refused in a way that has no name here.
    #[error("{}: {reason}", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
}

impl StoreError {
    /// Returns the error for a body that cannot be kept.
    pub(crate) fn body(session: &SessionId, kind: &str, reason: &'static str) -> Self {
        StoreError::Body { session: session.clone(), kind: kind.to_owned(), reason }
    }

    /// Returns the error for a record that would have become number `seq`.
    pub(crate) fn misfit(session: &SessionId, seq: u64, misfit: Misfit) -> Self {
        let session = session.clone();
        match misfit {
            Misfit::Tree(source) => StoreError::Misfit { session, seq, source },
            Misfit::Body { kind, reason } => StoreError::Body { session, kind, reason },
        }
    }
}
