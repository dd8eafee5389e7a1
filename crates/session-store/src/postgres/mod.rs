//! Sessions in a PostgreSQL database, for teams.
//!
//! Few connections serve any number of sessions. What is appended at once by many is one statement and one flush.

mod admin;
mod bind;
mod branch;
mod channel;
mod collecting;
mod connect;
mod fault;
mod keys;
mod leases;
mod line;
mod link;
mod links;
mod moving;
mod options;
mod process;
mod reading;
mod restoring;
mod rows;
mod schema;
mod shards;
mod snapshots;
mod telling;
mod tries;
mod waiting;
mod writing;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use trunkline_message_tree::{Message, NodeId, Timestamp};

pub use self::admin::{
    Distributed, Granted, Migrate, Migration, MigrationProgress, PostgresAdmin, StoreOwner, StoreStatus,
    StoreTable, Team, TeamLimits, Vacuumed,
};
use self::channel::Channel;
use self::fault::{Fault, FaultKind};
use self::leases::Claims;
use self::line::Held;
use self::link::Link;
use self::links::Links;
pub use self::options::PostgresOptions;
use self::schema::Schema;
use self::telling::Telling;
use self::waiting::Waiting;
use self::writing::Ready;
use crate::record::check_body;
use crate::tally::check_name;
use crate::{
    Activity, Amend, Batch, Claim, Collected, Digest, FoundNote, Holder, ImportError, InboxId, Kept, Lease,
    Letter, LetterState, NoteQuery, Outline, Receipt, Restoring, SessionId, SessionInfo, SessionStore,
    Snapshot, Spine, StoreError,
};

/// Sessions in a PostgreSQL database, shared between processes and machines. Clones are the same store.
///
/// Needs a tokio runtime with time and IO, and does its work in the one in which it was opened. A connection that broke
/// is replaced; a server that is away for less than the options' patience is not noticed.
///
/// # What the levels mean
///
/// - [`Flushed`](crate::Durability::Flushed): the server has flushed the commit, and its synchronous standbys have what
///   `synchronous_commit` asks of them. It survives the loss of power of the server, as far as its disk keeps its word.
///   A server that runs with `fsync = off` cannot do that: receipts say `Committed`.
/// - [`Committed`](crate::Durability::Committed): committed with `synchronous_commit = off`. It survives the death of
///   this process at once, and of the server after at most three times `wal_writer_delay` (0.6 seconds as shipped): a
///   server that crashes earlier loses the last such commits, whole ones only and from the end.
/// - [`Buffered`](crate::Durability::Buffered): in line in this process, to be committed like `Committed`. At most 4,096
///   batches or 8 MiB of a session stand in line; more wait to be committed.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

struct Inner {
    links: Arc<Links>,
    runtime: Handle,
    /// Who we are in the table of owners, once something was claimed.
    owner: OnceCell<String>,
    /// What shows that it lives.
    beating: OnceLock<AbortHandle>,
    claims: Arc<Claims>,
    name: String,
    lease_ttl: Duration,
    /// On what the server tells of changes.
    channel: Channel,
    /// Whose lines reading has to wait for.
    seats: Mutex<HashMap<SessionId, Weak<Held>>>,
    ready: Mutex<Ready>,
    waiting: Arc<Waiting>,
    telling: Telling,
    closed: AtomicBool,
}

impl PostgresStore {
    /// Opens a store in a database; its schema is made if it does not exist. Any number of processes may do so at once.
    ///
    /// A schema that is there is never changed: one that is a little older is used as it is, and
    /// [`PostgresAdmin::migrate`] makes it current.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] if a newer version wrote it; [`StoreError::Older`] if it has to be migrated first;
    /// [`StoreError::NotAStore`] if the schema holds something else, and
    /// then it was not touched, or if the database is not in UTF-8; [`StoreError::Io`] if the server cannot be reached;
    /// [`StoreError::Busy`], [`StoreError::Corrupt`], [`StoreError::Database`].
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let (target, place) = options.connect()?;
        let runtime = Handle::try_current().map_err(|error| StoreError::Database {
            place: place.clone(),
            reason: format!("a tokio runtime is needed: {error}"),
        })?;
        let links = Arc::new(Links::new(target, place.clone(), &options, runtime.clone()));
        let until = Instant::now() + options.patience;
        let schema = loop {
            let (mut link, encoding) = links.first().await.map_err(|fault| fault.error)?;
            if encoding != "UTF8" {
                let reason = format!("the database is encoded in {encoding}; it has to be UTF8");
                return Err(StoreError::NotAStore { place, reason });
            }
            match begin_with(&mut link, &options.schema).await {
                Ok(schema) => {
                    link.keep();
                    break schema?;
                }
                // All of it may be done again, and goes on from where the connection was cut.
                Err(Fault { kind: FaultKind::Lost | FaultKind::Collision, .. }) if Instant::now() < until => {
                    links.distrust();
                }
                Err(fault) => return Err(fault.error),
            }
        };
        let channel = Channel::of(&schema, &options.schema);
        let inner = Inner {
            waiting: Arc::new(Waiting::new(Arc::clone(&links), channel.clone())),
            links,
            runtime,
            owner: OnceCell::new(),
            beating: OnceLock::new(),
            claims: Arc::default(),
            name: options.name,
            lease_ttl: options.lease_ttl,
            channel,
            seats: Mutex::default(),
            ready: Mutex::default(),
            telling: Telling::default(),
            closed: AtomicBool::new(false),
        };
        let inner = Arc::new(inner);
        if inner.links.notify() == Some(false) {
            inner.telling.turn_off();
        }
        inner.must_hear().await?;
        Ok(PostgresStore { inner })
    }

    /// Waits for what stands in line, gives up all leases and closes all connections.
    ///
    /// Dropping the store with its leases does the same a little later.
    pub async fn close(self) {
        self.inner.settle_all().await;
        // Leases that are still there end with their owner.
        let _ = self.inner.release().await;
        self.inner.closed.store(true, Ordering::Release);
        self.inner.retire().await;
        self.inner.tell_some().await;
        self.inner.waiting.close();
        self.inner.links.close().await;
    }

    /// Returns where the database is, without user and password.
    pub fn place(&self) -> &str {
        self.inner.links.place()
    }

    /// Returns what a lease of this store holds.
    fn held(&self, lease: &Lease) -> Result<Arc<Held>, StoreError> {
        let ours = |held: &Arc<Held>| Arc::ptr_eq(&held.store, &self.inner);
        let held = lease.guard::<Held>().filter(ours);
        held.ok_or_else(|| StoreError::ForeignLease { session: lease.session().clone() })
    }

    /// Runs something in a task that the caller cannot cancel.
    async fn spawned<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.spawned(work).await
    }
}

impl Inner {
    async fn spawned<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        // Only the end of the whole runtime leads to the error.
        self.runtime.spawn(work).await.unwrap_or_else(|error| {
            let place = self.links.place().to_owned();
            Err(StoreError::Io { place, reason: format!("the task did not end: {error}") })
        })
    }

    /// Waits until what was acknowledged in line for a session can be read.
    async fn settle(&self, session: &SessionId) {
        let held = self.seats().get(session).and_then(Weak::upgrade);
        if let Some(held) = held {
            held.settle().await;
        }
    }

    async fn settle_all(&self) {
        let all: Vec<Arc<Held>> = self.seats().values().filter_map(Weak::upgrade).collect();
        for held in all {
            held.settle().await;
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    // Nothing here panics while holding a mutex, so a poisoned value is still whole.
    fn seats(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Held>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.waiting.close();
        self.end_beats();
        let Some(owner) = self.owner.take() else { return };
        leases::forget(&owner);
        if !self.is_closed() {
            // All leases have ended, or we would be there. What fails here expires.
            let links = Arc::clone(&self.links);
            self.runtime.spawn(async move { leases::retire(&links, &owner).await });
        }
    }
}

/// Makes the schema where there is none, and finds out what there is to know before the first statement.
async fn begin_with(link: &mut Link, name: &str) -> Result<Result<Schema, StoreError>, Fault> {
    link.must_allow_transactions().await?;
    let schema = match schema::prepare(link, name).await? {
        Ok(schema) => schema,
        Err(error) => return Ok(Err(error)),
    };
    let spread = shards::spread(link).await?;
    link.home.are_spread(spread);
    Ok(Ok(schema))
}

fn unknown(session: &SessionId) -> StoreError {
    StoreError::UnknownSession { session: session.clone() }
}

#[async_trait]
impl SessionStore for PostgresStore {
    async fn restore(&self, restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        self.inner.restore(restoring).await
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.claim(&session, claim).await }).await
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.holder(&session).await }).await
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        let held = self.held(lease)?;
        // Standing in line is one step; whoever goes away after that is no longer needed.
        held.append(batch).await
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.read(&session, after, limit).await }).await
    }

    async fn spine(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.spine(&session, after, limit).await }).await
    }

    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.outline(&session).await }).await
    }

    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        let (inner, session, nodes) = (Arc::clone(&self.inner), session.clone(), nodes.to_vec());
        self.spawned(async move { inner.messages(&session, &nodes).await }).await
    }

    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let (inner, session, digest) = (Arc::clone(&self.inner), session.clone(), *digest);
        self.spawned(async move { inner.blob(&session, &digest).await }).await
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.info(&session).await }).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let inner = Arc::clone(&self.inner);
        self.spawned(async move { inner.sessions().await }).await
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        amend.check(session)?;
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.amend(&session, amend).await }).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.delete(&session, None).await }).await
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        let (inner, seen) = (Arc::clone(&self.inner), seen.clone());
        self.spawned(async move { inner.delete(&seen.id, Some(&seen)).await }).await
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        check_name(kind)
            .and_then(|()| check_body(body).map(drop))
            .map_err(|reason| StoreError::body(session, kind, reason))?;
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        let (kind, body) = (kind.to_owned(), body.to_owned());
        self.spawned(async move { inner.post(&session, &kind, &body, at).await }).await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.inbox(&session).await }).await
    }

    async fn look(&self, session: &SessionId) -> Result<(Activity, Vec<Letter>), StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.look(&session).await }).await
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.letter(&session, letter).await }).await
    }

    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        let (inner, query) = (Arc::clone(&self.inner), query.clone());
        self.spawned(async move { inner.notes(&query).await }).await
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        self.inner.changed(session, seen).await
    }

    async fn records(&self, session: &SessionId, numbers: &[u64]) -> Result<Vec<Kept>, StoreError> {
        let (inner, session, numbers) = (Arc::clone(&self.inner), session.clone(), numbers.to_vec());
        self.spawned(async move { inner.records(&session, &numbers).await }).await
    }

    async fn snapshot(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        let (inner, session) = (Arc::clone(&self.inner), session.clone());
        self.spawned(async move { inner.snapshot(&session).await }).await
    }

    async fn keep_snapshot(&self, lease: &Lease, snapshot: Snapshot) -> Result<(), StoreError> {
        let held = self.held(lease)?;
        snapshot.check(lease.session())?;
        let inner = Arc::clone(&self.inner);
        self.spawned(async move { inner.keep_snapshot(&held, &snapshot).await }).await
    }

    async fn collect(&self, dry_run: bool) -> Result<Collected, StoreError> {
        let inner = Arc::clone(&self.inner);
        self.spawned(async move { inner.collect(dry_run).await }).await
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.place()).finish_non_exhaustive()
    }
}
