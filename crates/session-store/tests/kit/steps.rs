//! Calls of a flawed store that wait between their steps: who drops them there sees a part of their work.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use trunkline_message_tree::NodeId;
use trunkline_session_store::{
    Batch, Claim, Header, ImportError, Kept, Lease, MemoryStore, Receipt, Restoring, SessionId, SessionInfo,
    SessionStore, StoreError,
};

/// Waits as for a connection or an answer: until the next poll.
pub(crate) async fn a_moment() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut yielded, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

/// Takes all records out of what is brought.
pub(crate) fn rows(restoring: &mut Restoring<'_>) -> Result<Vec<Kept>, ImportError> {
    let mut rows = Vec::new();
    loop {
        let chunk = restoring.next_chunk()?;
        if chunk.is_empty() {
            return Ok(rows);
        }
        rows.extend(chunk);
    }
}

/// Appends the first record, waits, and appends the other.
pub(crate) async fn append(
    store: &MemoryStore,
    lease: &Lease,
    mut batch: Batch,
) -> Result<Receipt, StoreError> {
    let other = batch.records.pop();
    let first = store.append(lease, batch.clone()).await?;
    a_moment().await;
    let info = store.info(lease.session()).await?;
    batch.records = other.into_iter().collect();
    batch.consumed.clear();
    (batch.expected_seq, batch.expected_head) = (first.seq, info.head);
    store.append(lease, batch).await
}

/// Writes down who holds the session before it waits, and gives the lease to nobody if it is dropped there.
pub(crate) async fn claim(
    store: &MemoryStore,
    session: &SessionId,
    claim: Claim,
) -> Result<Lease, StoreError> {
    let lease = ManuallyDrop::new(store.claim(session, claim).await?);
    a_moment().await;
    Ok(ManuallyDrop::into_inner(lease))
}

/// Shows the session when it has its root, and the rest of it later.
pub(crate) async fn restore(
    store: &MemoryStore,
    mut restoring: Restoring<'_>,
) -> Result<SessionInfo, ImportError> {
    let rows = rows(&mut restoring)?;
    let header = Header::of(&restoring.info());
    let id = header.id.clone();
    // What is wrong is told as ever.
    if store.info(&id).await.is_err() && only_the_root(store, &header, &rows).await.is_ok() {
        a_moment().await;
        store.delete(&id).await?;
    }
    let mut rows = rows.into_iter().map(Ok);
    store.restore(Restoring::new(header, &mut rows)).await
}

/// Removes everything but the root, waits, and removes that.
pub(crate) async fn delete(store: &MemoryStore, session: &SessionId) -> Result<(), StoreError> {
    let header = Header::of(&store.info(session).await?);
    let rows = store.read(session, 0, usize::MAX).await?;
    store.delete(session).await?;
    // It was there a moment ago.
    let _ = only_the_root(store, &header, &rows).await;
    a_moment().await;
    store.delete(session).await
}

async fn only_the_root(store: &MemoryStore, header: &Header, rows: &[Kept]) -> Result<(), ImportError> {
    let Some(root) = rows.first().cloned() else { return Ok(()) };
    let digest = Some(root.digest);
    let header = Header { records: 1, nodes: 1, head: NodeId::ROOT, digest, ..header.clone() };
    store.restore(Restoring::new(header, &mut std::iter::once(Ok(root)))).await.map(drop)
}

/// Waits until nobody else posts; whoever is dropped meanwhile posts for ever.
pub(crate) async fn turn(posting: &AtomicBool) {
    while posting.swap(true, Ordering::SeqCst) {
        a_moment().await;
    }
    a_moment().await;
}
