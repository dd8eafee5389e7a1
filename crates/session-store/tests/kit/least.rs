//! A store with no more than a store has to write: what the bodies of the trait make of it.

use async_trait::async_trait;
use trunkline_message_tree::Timestamp;
use trunkline_session_store::kit::{self, Place, Promise, Subject};
use trunkline_session_store::{
    Activity, Amend, Batch, Claim, Durability, Holder, ImportError, InboxId, Kept, Lease, Letter,
    LetterState, MemoryStore, Note, NoteQuery, Receipt, Record, Restoring, SessionId, SessionInfo,
    SessionStore, StoreError,
};

use super::{Memory, options};
use crate::material::{batch, new_session, session};

struct Least {
    inner: MemoryStore,
    /// What the list names although it was deleted since.
    gone: Option<SessionInfo>,
}

impl Least {
    fn over(inner: MemoryStore) -> Self {
        Least { inner, gone: None }
    }
}

#[async_trait]
impl SessionStore for Least {
    async fn restore(&self, restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        self.inner.restore(restoring).await
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        self.inner.claim(session, claim).await
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.inner.holder(session).await
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        self.inner.append(lease, batch).await
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        self.inner.read(session, after, limit).await
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.inner.info(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let mut list = self.inner.sessions().await?;
        list.extend(self.gone.clone());
        Ok(list)
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        self.inner.amend(session, amend).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.delete(session).await
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        self.inner.delete_idle(seen).await
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        self.inner.post(session, kind, body, at).await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.inner.inbox(session).await
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        self.inner.letter(session, letter).await
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        self.inner.changed(session, seen).await
    }
}

struct LeastInMemory;

impl Subject for LeastInMemory {
    fn name(&self) -> String {
        "the least".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Memory(|| Least::over).place()
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

#[tokio::test]
async fn a_session_that_is_deleted_while_all_are_searched_is_passed_over() {
    let store = Least::over(MemoryStore::new());
    for number in [1, 2] {
        let new = new_session(number);
        let id = new.id.clone();
        store.create(new).await.unwrap();
        let lease = store.lease(&id).await.unwrap();
        let note = Note::new("weather", "rain", Timestamp(12), "1").about("k", "wet");
        store.append(&lease, batch(1, 0, vec![Record::Note(note)])).await.unwrap();
    }
    let [stays, gone] = [1, 2].map(session);
    let info = store.info(&gone).await.unwrap();
    store.delete(&gone).await.unwrap();
    let store = Least { gone: Some(info), ..store };

    let query = NoteQuery::of("weather", "rain");
    let found = store.notes(&query).await.unwrap();
    assert_eq!(found.iter().map(|found| &found.session).collect::<Vec<_>>(), [&stays]);
    let of_it = store.notes(&query.in_session(gone)).await;
    assert!(matches!(of_it, Err(StoreError::UnknownSession { .. })));
}
