//! A store with no more than a store has to write: what the bodies of the trait make of it.

use async_trait::async_trait;
use trunkline_message_tree::Timestamp;
use trunkline_session_store::kit::{self, Place, Promise, Subject};
use trunkline_session_store::{
    Activity, Amend, Batch, Claim, Durability, Holder, ImportError, InboxId, Kept, Lease, Letter,
    LetterState, MemoryStore, Receipt, Restoring, SessionId, SessionInfo, SessionStore, StoreError,
};

use super::{Memory, options};

struct Least(MemoryStore);

#[async_trait]
impl SessionStore for Least {
    async fn restore(&self, restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        self.0.restore(restoring).await
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        self.0.claim(session, claim).await
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.0.holder(session).await
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        self.0.append(lease, batch).await
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        self.0.read(session, after, limit).await
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.0.info(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.0.sessions().await
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        self.0.amend(session, amend).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.0.delete(session).await
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        self.0.delete_idle(seen).await
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        self.0.post(session, kind, body, at).await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.0.inbox(session).await
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        self.0.letter(session, letter).await
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        self.0.changed(session, seen).await
    }
}

struct LeastInMemory;

impl Subject for LeastInMemory {
    fn name(&self) -> String {
        "the least".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Memory(|| Least).place()
    }

    fn reaches(&self) -> Durability {
        Durability::Buffered
    }
}

#[test]
fn fourteen_methods_make_a_store_that_keeps_the_same_promises() {
    let report = kit::run(&LeastInMemory, &options());
    assert!(report.is_ok(), "{report}");
    let unchecked: Vec<Promise> = report.unchecked().collect();
    let not_here = [Promise::Snapshots, Promise::Killed, Promise::Full, Promise::Broken, Promise::Older];
    assert!(unchecked.iter().all(|promise| not_here.contains(promise)), "{report}");
}
