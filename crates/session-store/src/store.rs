//! What every store can do.
//!
//! Reading, posting and listing need no lock and work while somebody writes. Writing needs the session's lock *and* the
//! right expectations: the lock keeps honest writers apart, the expectations catch everything else.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::Timestamp;

use crate::{Batch, InboxId, Letter, Log, NewSession, Receipt, Record, SessionId, SessionInfo, StoreError};

/// Keeps sessions. All stores give the same answers to the same calls.
///
/// A write that was begun is finished even if its future is dropped: afterwards all of it is there, or nothing.
///
/// # Errors
///
/// Beyond those that a method names, every method may return [`StoreError::Busy`], [`StoreError::Full`],
/// [`StoreError::Io`], [`StoreError::Corrupt`] and [`StoreError::Database`] where the store is on a disk.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Makes a session with its root as record 1. Takes no lock.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionExists`] if the id is taken; [`StoreError::Misfit`] if the root is not one.
    async fn create(&self, new: NewSession) -> Result<(), StoreError>;

    /// Makes a session with all its records in one step, as for an import. Takes no lock.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionExists`] if the id is taken; [`StoreError::Misfit`], [`StoreError::Body`] or
    /// [`StoreError::BadRecord`] if the log is not one that a store could have given.
    async fn restore(&self, log: Log) -> Result<(), StoreError>;

    /// Becomes the one writer of a session until the lock is dropped or the process dies.
    ///
    /// Does not wait: who cannot have the lock leaves a letter with [`post`](SessionStore::post).
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::Locked`] if anybody holds it, also in this process.
    async fn lock(&self, session: &SessionId) -> Result<WriterLock, StoreError>;

    /// Returns whether somebody holds the session's lock now. By the time of the answer that may have changed.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn is_locked(&self, session: &SessionId) -> Result<bool, StoreError>;

    /// Adds a batch to the session of the lock, all of it or nothing. When it returns, the batch is kept.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if the log is not where the batch expects it; [`StoreError::NoSuchLetter`];
    /// [`StoreError::Misfit`] or [`StoreError::Body`] for a record that cannot be kept;
    /// [`StoreError::ForeignLock`] if another store gave the lock.
    async fn append(&self, lock: &WriterLock, batch: Batch) -> Result<Receipt, StoreError>;

    /// Reads a whole session as it is at one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::BadRecord`] if one cannot be read.
    async fn load(&self, session: &SessionId) -> Result<Log, StoreError>;

    /// Reads the records after number `seq` with their numbers, oldest first; 0 reads all.
    ///
    /// # Errors
    ///
    /// Those of [`load`](SessionStore::load).
    async fn load_after(&self, session: &SessionId, seq: u64) -> Result<Vec<(u64, Record)>, StoreError>;

    /// Returns what a list shows of one session.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError>;

    /// Returns all sessions: the one updated last comes first, and of equals the greatest id.
    ///
    /// # Errors
    ///
    /// None of its own.
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError>;

    /// Gives a session another title. Needs no lock: it is not part of the log.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn set_title(&self, session: &SessionId, title: &str) -> Result<(), StoreError>;

    /// Leaves a letter for the writer of a session. Needs no lock.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::Body`] if the body is not JSON on one line.
    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError>;

    /// Returns the letters that no batch has consumed, in the order in which they were posted.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError>;
}

/// The right to write one session, until it is dropped.
///
/// A write that is under way holds on to it, so nobody else can begin before that write has ended.
pub struct WriterLock {
    session: SessionId,
    guard: Arc<dyn Any + Send + Sync>,
}

impl WriterLock {
    /// Returns a lock on `session` that lasts as long as `guard`; for those who write a store.
    pub fn new<G: Any + Send + Sync>(session: SessionId, guard: G) -> Self {
        WriterLock { session, guard: Arc::new(guard) }
    }

    /// Returns the session that may be written.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the guard that the store put in, if it is of that type.
    ///
    /// A store keeps it until its write has ended, and compares it with itself to refuse the locks of others.
    pub fn guard<G: Any + Send + Sync>(&self) -> Option<Arc<G>> {
        Arc::clone(&self.guard).downcast().ok()
    }
}

impl fmt::Debug for WriterLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterLock").field("session", &self.session).finish_non_exhaustive()
    }
}
