//! What every store can do.
//!
//! Reading, posting and listing need no lease and work while somebody writes. Writing needs the session's lease *and* the
//! right expectations: the lease keeps honest writers apart, its token fences out those who have lost it, and the
//! expectations catch everything else.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::{Message, NodeId, Timestamp};

use crate::{
    Activity, Amend, Batch, Collected, Digest, FoundNote, ImportError, InboxId, Kept, Letter, LetterState,
    Log, NewSession, NoteQuery, Outline, Receipt, Record, Restoring, Resumed, SessionId, SessionInfo,
    Snapshot, Spine, StoreError, Verified, reading,
};

/// Keeps sessions. All stores give the same answers to the same calls, but for the level in a receipt.
///
/// A write that was begun is finished even if its future is dropped: afterwards all of it is there, or nothing.
/// The methods with a body are made of the other fourteen, but for those of snapshots, which keep none, and
/// [`collect`](SessionStore::collect), which finds nothing; a store replaces them where it can do better, as by an index.
///
/// # Errors
///
/// Beyond those that a method names, every method may return [`StoreError::Busy`], [`StoreError::Full`],
/// [`StoreError::Io`], [`StoreError::Corrupt`] and [`StoreError::Database`] where the store is on a disk.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Makes a session with all its records in one step, as for an import: nobody sees it before it is whole, and if
    /// that fails nothing of it is left. Takes no lease. The records are read a chunk at a time. Letters that it comes
    /// with are in its inbox in the same step.
    ///
    /// # Errors
    ///
    /// [`ImportError::Store`] with [`StoreError::SessionExists`] if the id is taken; what `restoring` finds wrong.
    async fn restore(&self, restoring: Restoring<'_>) -> Result<SessionInfo, ImportError>;

    /// Becomes the one writer of a session until the lease is dropped, the process dies, or somebody takes it over.
    ///
    /// Does not wait: who cannot have the lease leaves a letter with [`post`](SessionStore::post).
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::Locked`] if anybody alive holds it, also in this process, and
    /// `claim` is not [`Claim::TakeOver`].
    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError>;

    /// Returns whether a session that is free has no earlier writer that might still be at work: its process has ended, or
    /// has let the session go. No unless a store says otherwise: where a writer is taken for dead because it was not heard of
    /// for a while, it may go on later. It can write nothing more here then, but it may to files.
    fn free_means_gone(&self) -> bool {
        false
    }

    /// Returns who holds the session's lease now and is alive. By the time of the answer that may have changed.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError>;

    /// Adds a batch to the session of the lease, all of it or nothing. When it returns, the batch is kept as the
    /// receipt says.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] if the lease has ended; [`StoreError::Conflict`] if the log is not where the batch expects
    /// it; [`StoreError::NoSuchLetter`]; [`StoreError::KeyTaken`]; [`StoreError::Misfit`] or [`StoreError::Body`] for a
    /// record that cannot be kept; [`StoreError::BufferLost`] if buffered records before it were lost;
    /// [`StoreError::ForeignLease`] if another store gave the lease; [`StoreError::UnknownSession`] if it was deleted.
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError>;

    /// Reads up to `limit` records after number `after` as they are kept, oldest first. Fewer may come, but none only
    /// at the end of the log.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::BadRecord`] if one cannot be read.
    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError>;

    /// Reads what the spine says of up to `limit` records after number `after`, with their numbers, oldest first: all but their
    /// bodies. Fewer may come, but none only at the end of the log.
    ///
    /// To read few of many records, find their numbers here and ask for them with [`records`](SessionStore::records).
    /// The stores on databases do not touch the bodies; the body here reads them and lets them go.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::BadRecord`] if one cannot be read.
    async fn spine(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        let page = self.read(session, after, limit).await?;
        Ok(page.into_iter().map(|kept| (kept.seq, kept.spine)).collect())
    }

    /// Returns the shape of a session's tree, without what was said. The body here reads the whole log.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        reading::outline(self, session).await
    }

    /// Returns the messages of some nodes, in the order that was asked for. The body here reads the whole log.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::Misfit`] if there is no such node; [`StoreError::BadRecord`].
    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        reading::messages(self, session, nodes).await
    }

    /// Returns the bytes of the blob with that digest, if the session has one. The body here reads the log until it finds them.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::BadRecord`].
    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        reading::blob(self, session, digest).await
    }

    /// Returns what a list shows of one session.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`].
    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError>;

    /// Returns all sessions, archived ones too: the one updated last comes first, and of equals the greatest id.
    ///
    /// # Errors
    ///
    /// None of its own.
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError>;

    /// Changes how a session is called and listed, in one step: two who change it at once both have their effect. Needs no
    /// lease: it is not part of the log.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::Body`] for a word with a NUL, and for a title or tag of more than
    /// 64 KiB.
    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError>;

    /// Removes a session with everything that was ever written to it, letters that wait included. Cannot be undone.
    ///
    /// Parts that other sessions also have stay for them; the room of others is given back by
    /// [`collect`](SessionStore::collect). Whoever was not asked to delete this very session uses
    /// [`delete_idle`](SessionStore::delete_idle).
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::Locked`] if anybody alive holds its lease.
    async fn delete(&self, session: &SessionId) -> Result<(), StoreError>;

    /// Removes a session if it still is as it was `seen` and no letter waits. Looks and removes in one step, so that
    /// nobody loses what was written, posted or called otherwise in the meantime; it then finds that there is no such
    /// session.
    ///
    /// This is how a [`Retention`](crate::Retention) is carried out.
    ///
    /// # Errors
    ///
    /// Those of [`delete`](SessionStore::delete); [`StoreError::Changed`], and then nothing was removed.
    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError>;

    /// Leaves a letter for the writer of a session. Needs no lease.
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
    /// [`StoreError::UnknownSession`]; [`StoreError::Corrupt`] if one is not what was posted, or was consumed before: it is not to
    /// have an effect, and the error names it.
    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError>;

    /// Returns the activity of a session with the letters that no batch has consumed, for those who look again and again: where the
    /// counters say that none waits, a database need not look for one, as [`inbox`](SessionStore::inbox) does.
    ///
    /// What comes in the meantime may be among the letters and not be counted, but never the other way round: to wait for a
    /// [change](SessionStore::changed) of this activity misses nothing.
    ///
    /// # Errors
    ///
    /// Those of [`changed`](SessionStore::changed) and [`inbox`](SessionStore::inbox).
    async fn look(&self, session: &SessionId) -> Result<(Activity, Vec<Letter>), StoreError> {
        let now = self.changed(session, Activity::default()).await?;
        Ok((now, self.inbox(session).await?))
    }

    /// Tells what became of a letter.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::NoSuchLetter`] if it was never posted.
    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError>;

    /// Finds keys of notes by layer, kind, key and state, in one session or in all: the newest note of each key, in the
    /// order of sessions' ids and records. The body here reads the whole log of each session that the query is about.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`] if the query names one that does not exist.
    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        reading::notes(self, query).await
    }

    /// Waits until a session's activity is not what it was when `seen` was returned, and returns what it is now; with
    /// `Activity::default()` it returns at once. May be dropped at any time.
    ///
    /// This is how followers, writers with an inbox, and senders of letters wait.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`], also if it is deleted meanwhile.
    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError>;

    /// Gives back the room of what nothing needs any more: parts of deleted sessions, and imports that were cut off. It is
    /// used for what comes next; files need not shrink. With `dry_run` it only says what it would do.
    ///
    /// A session that was not deleted loses nothing: whatever its head, its abandoned branches, its undo log or its
    /// notes need is part of its log, and the log is kept whole. The body here is for a store in which a deletion leaves
    /// nothing to give back.
    ///
    /// # Errors
    ///
    /// None of its own.
    async fn collect(&self, dry_run: bool) -> Result<Collected, StoreError> {
        let _ = dry_run;
        Ok(Collected::default())
    }

    /// Makes a session with its root as record 1. Takes no lease.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionExists`] if the id is taken; [`StoreError::Misfit`] if the root is not one.
    async fn create(&self, new: NewSession) -> Result<(), StoreError> {
        let (header, root) = new.into_rows()?;
        let mut rows = std::iter::once(Ok(root));
        let session = header.id.clone();
        match self.restore(Restoring::new(header, &mut rows)).await {
            Ok(_) => Ok(()),
            Err(ImportError::Store { source }) => Err(*source),
            // One record that was just checked.
            Err(error) => Err(StoreError::BadRecord { session, seq: 1, reason: error.to_string() }),
        }
    }

    /// Becomes the one writer of a session if nobody alive is: [`claim`](SessionStore::claim) with [`Claim::IfFree`].
    ///
    /// # Errors
    ///
    /// Those of [`claim`](SessionStore::claim).
    async fn lease(&self, session: &SessionId) -> Result<Lease, StoreError> {
        self.claim(session, Claim::IfFree).await
    }

    /// Reads a whole session as it is at one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::BadRecord`] if one cannot be read.
    async fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        reading::load(self, session).await
    }

    /// Reads the records after number `seq` with their numbers, oldest first; 0 reads all.
    ///
    /// # Errors
    ///
    /// Those of [`load`](SessionStore::load).
    async fn load_after(&self, session: &SessionId, seq: u64) -> Result<Vec<(u64, Record)>, StoreError> {
        reading::load_after(self, session, seq).await
    }

    /// Reads what is needed to go on with a long session: its shape, and its last `records` records. Earlier messages
    /// are read when they are needed, with [`messages`](SessionStore::messages).
    ///
    /// # Errors
    ///
    /// Those of [`load`](SessionStore::load).
    async fn resume(&self, session: &SessionId, records: usize) -> Result<Resumed, StoreError> {
        reading::resume(self, session, records).await
    }

    /// Reads the records with these numbers as they are kept, oldest first and each once, in whatever order they are named.
    ///
    /// All of them come at once, so ask for no more than there is memory for. Numbers that are scattered cost about what
    /// neighbours cost in the stores on databases.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`]; [`StoreError::NoSuchRecord`] names the first number that there is no record of;
    /// [`StoreError::BadRecord`] if one cannot be read.
    async fn records(&self, session: &SessionId, numbers: &[u64]) -> Result<Vec<Kept>, StoreError> {
        reading::records(self, session, numbers).await
    }

    /// Returns the snapshot that was [kept](SessionStore::keep_snapshot) last, if the log still has the record that it goes up
    /// to, with the same digest. Nothing if there is none, if it cannot be read or is not what was kept: it can be made again
    /// from the log, so whatever is wrong with it is no error.
    ///
    /// A store that does not keep snapshots has none; that is what the body here does.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownSession`], where snapshots are kept.
    async fn snapshot(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        let _ = session;
        Ok(None)
    }

    /// Keeps a snapshot beside the log of the session of the lease, in the place of the one before. It is no part of the log
    /// and of no export, nothing that is said of the session changes by it, and it goes with the session.
    ///
    /// It is not synced: the loss of power may bring back the one before it, or none. A store that does not keep snapshots
    /// forgets it; that is what the body here does.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`], [`StoreError::ForeignLease`] and [`StoreError::UnknownSession`] as from
    /// [`append`](SessionStore::append); [`StoreError::Replaced`] if the log has no such record with that digest;
    /// [`StoreError::Body`] for more than 255 MiB. The one before stays then.
    async fn keep_snapshot(&self, lease: &Lease, snapshot: Snapshot) -> Result<(), StoreError> {
        let _ = (lease, snapshot);
        Ok(())
    }

    /// Proves that no record of a session was changed, dropped or reordered since it was written, by computing all
    /// digests anew, and that the letters in its inbox are what was posted.
    ///
    /// That the *end* of the log was not cut off is proven only against something that was kept elsewhere: compare
    /// with a [`Receipt`] by [`Verified::holds`].
    ///
    /// # Errors
    ///
    /// [`StoreError::BrokenChain`], [`StoreError::BadRecord`] or [`StoreError::Misfit`] name the first record that is not
    /// as it was written; [`StoreError::Corrupt`] the first letter; [`StoreError::UnknownSession`].
    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        reading::verify(self, session).await
    }
}

/// How the lease of a session is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// Only if nobody alive holds it.
    IfFree,
    /// In any case: whoever holds it is fenced out, and can write nothing more.
    TakeOver,
}

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Who it is, such as `process 4711`, where that is known.
    pub name: Option<String>,
    /// The fencing token of the lease: it grows with each lease of the session.
    pub token: u64,
}

impl Holder {
    /// Returns a holder; for those who write a store.
    pub fn new(name: Option<String>, token: u64) -> Self {
        Holder { name, token }
    }
}

/// The right to write one session, until it is dropped or somebody takes the session over.
///
/// It costs some hundred bytes, and neither a thread nor an open file.
pub struct Lease {
    session: SessionId,
    token: u64,
    guard: Arc<dyn Any + Send + Sync>,
}

impl Lease {
    /// Returns a lease on `session` that lasts as long as `guard`; for those who write a store.
    pub fn new<G: Any + Send + Sync>(session: SessionId, token: u64, guard: G) -> Self {
        Lease { session, token, guard: Arc::new(guard) }
    }

    /// Returns the session that may be written.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the fencing token: each lease of a session has a greater one than all before it.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Returns the guard that the store put in, if it is of that type.
    ///
    /// A store keeps it until its write has ended, and compares it with itself to refuse the leases of others.
    pub fn guard<G: Any + Send + Sync>(&self) -> Option<Arc<G>> {
        Arc::clone(&self.guard).downcast().ok()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("session", &self.session)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
