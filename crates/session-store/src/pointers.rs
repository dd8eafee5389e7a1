//! A store that several own.

use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::{Message, NodeId, Timestamp};

use crate::{
    Activity, Amend, Batch, Claim, Collected, Digest, FoundNote, Holder, ImportError, InboxId, Kept, Lease,
    Letter, LetterState, Log, NewSession, NoteQuery, Outline, Receipt, Record, Restoring, Resumed, SessionId,
    SessionInfo, SessionStore, Snapshot, Spine, StoreError, Verified,
};

/// Does what the store in it does, each method by its own.
#[async_trait]
impl<T: SessionStore + ?Sized> SessionStore for Arc<T> {
    async fn restore(&self, restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        (**self).restore(restoring).await
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        (**self).claim(session, claim).await
    }

    fn free_means_gone(&self) -> bool {
        (**self).free_means_gone()
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        (**self).holder(session).await
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        (**self).append(lease, batch).await
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        (**self).read(session, after, limit).await
    }

    async fn spine(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        (**self).spine(session, after, limit).await
    }

    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        (**self).outline(session).await
    }

    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        (**self).messages(session, nodes).await
    }

    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        (**self).blob(session, digest).await
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        (**self).info(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        (**self).sessions().await
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        (**self).amend(session, amend).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        (**self).delete(session).await
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        (**self).delete_idle(seen).await
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        (**self).post(session, kind, body, at).await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        (**self).inbox(session).await
    }

    async fn look(&self, session: &SessionId) -> Result<(Activity, Vec<Letter>), StoreError> {
        (**self).look(session).await
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        (**self).letter(session, letter).await
    }

    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        (**self).notes(query).await
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        (**self).changed(session, seen).await
    }

    async fn collect(&self, dry_run: bool) -> Result<Collected, StoreError> {
        (**self).collect(dry_run).await
    }

    async fn create(&self, new: NewSession) -> Result<(), StoreError> {
        (**self).create(new).await
    }

    async fn lease(&self, session: &SessionId) -> Result<Lease, StoreError> {
        (**self).lease(session).await
    }

    async fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        (**self).load(session).await
    }

    async fn load_after(&self, session: &SessionId, seq: u64) -> Result<Vec<(u64, Record)>, StoreError> {
        (**self).load_after(session, seq).await
    }

    async fn resume(&self, session: &SessionId, records: usize) -> Result<Resumed, StoreError> {
        (**self).resume(session, records).await
    }

    async fn records(&self, session: &SessionId, numbers: &[u64]) -> Result<Vec<Kept>, StoreError> {
        (**self).records(session, numbers).await
    }

    async fn snapshot(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        (**self).snapshot(session).await
    }

    async fn keep_snapshot(&self, lease: &Lease, snapshot: Snapshot) -> Result<(), StoreError> {
        (**self).keep_snapshot(lease, snapshot).await
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        (**self).verify(session).await
    }
}
