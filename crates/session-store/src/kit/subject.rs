//! What the kit has to know of a store.

use std::fmt;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::waiting;
use crate::{Durability, SessionStore, StoreError};

/// A kind of store that the kit is to try. Only [`name`](Subject::name) and [`place`](Subject::place) are needed; each
/// of the others lets the kit check more.
pub trait Subject: Send + Sync {
    /// Returns what the report calls it.
    fn name(&self) -> String;

    /// Makes a new place without sessions, such as a temporary folder or a schema. Dropping it removes it.
    ///
    /// Is not called inside [`block_on`](Subject::block_on), so it may wait there.
    ///
    /// # Errors
    ///
    /// Why there is none, in words.
    fn place(&self) -> Result<Box<dyn Place>, String>;

    /// Runs a future to its end on this thread; several threads do it at once. Replace it for a store that needs a
    /// runtime: `self.runtime.block_on(what)`.
    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        waiting::block_on(what);
    }

    /// Returns the highest durability that its receipts may name; a store in memory reaches only
    /// [`Durability::Buffered`].
    fn reaches(&self) -> Durability {
        Durability::Flushed
    }

    /// Returns whether it keeps snapshots. A store that leaves them to the trait does not, and is not asked for them.
    fn keeps_snapshots(&self) -> bool {
        false
    }

    /// Returns how long a lease may go on after its process has died.
    fn lease_outlives(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns places that past versions of the store have written, one for each.
    ///
    /// # Errors
    ///
    /// Why there are none, in words.
    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        Ok(Vec::new())
    }
}

/// Where the sessions of one store are. Each handle on it is what another process would have.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens it. It may be open already.
    ///
    /// # Errors
    ///
    /// What the store says.
    async fn open(&self) -> Result<Handle, StoreError>;

    /// Opens it on a medium that fails as `fault` says, for this handle only; `None` if that cannot be arranged. If it
    /// does not fail even where no write may succeed, the kit has not checked anything, and says so.
    ///
    /// # Errors
    ///
    /// What the store says: opening may be what fails.
    async fn open_failing(&self, fault: Fault) -> Option<Result<Handle, StoreError>> {
        let _ = fault;
        None
    }

    /// Returns a command that opens the place in a process of its own and runs [`write_for_ever`](super::write_for_ever)
    /// with that seed, or `None`. With `dies_after` the process must end itself, as if it were killed, instead of the
    /// write to its medium that follows so many; `None` if that cannot be arranged. On Unix it has to be a signal that
    /// ends it, as [`abort`](std::process::abort) sends one: a writer with an exit code has failed, and is a finding.
    fn writer(&self, seed: u64, dies_after: Option<u64>) -> Option<Command> {
        let _ = (seed, dies_after);
        None
    }
}

/// How a medium fails.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// There is room for so many writes, or pages, and for none after them.
    Full(u64),
    /// So many writes or syncs succeed, and each one after them fails.
    Broken(u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Full(writes) => write!(f, "full after {writes} writes"),
            Fault::Broken(writes) => write!(f, "broken after {writes} writes"),
        }
    }
}

/// An open store.
pub struct Handle {
    store: Arc<dyn SessionStore>,
    close: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Handle {
    /// Returns a handle that is closed by being dropped.
    pub fn new(store: impl SessionStore + 'static) -> Self {
        Handle { store: Arc::new(store), close: None }
    }

    /// Returns it with what closes it: after that all that was acknowledged is kept, and it holds no lease.
    #[must_use]
    pub fn closed_by(mut self, close: impl Future<Output = ()> + Send + 'static) -> Self {
        self.close = Some(Box::pin(close));
        self
    }

    pub(super) fn store(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.store)
    }

    pub(super) async fn close(self) {
        drop(self.store);
        if let Some(close) = self.close {
            close.await;
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// A place that a past version has written.
#[expect(clippy::exhaustive_structs, reason = "whoever has one makes one")]
pub struct OldPlace {
    /// Which version it was, such as `schema 1`.
    pub version: String,
    /// The place; what the kit does to it is not kept.
    pub place: Box<dyn Place>,
    /// All of its sessions as lines of JSON, in the order of their ids, as [`export`](crate::export) must give them.
    pub exported: String,
}

impl fmt::Debug for OldPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OldPlace").field("version", &self.version).finish_non_exhaustive()
    }
}
