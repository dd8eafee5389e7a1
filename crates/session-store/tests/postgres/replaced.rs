//! A server that was replaced by one that had not received the last commits, as its clients see it: rows as they were before.

use trunkline_session_store::{Claim, Lease, PostgresStore, SessionStore, StoreError};

use super::made::{append_notes, batch, bodies, new_session, note, session};
use super::{Schema, server};

/// A session with four records, of which a replaced server would have the first two.
async fn written(schema: &Schema) -> (PostgresStore, Lease) {
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    append_notes(&store, &lease, 1, 1).await.unwrap();
    schema.run("CREATE TABLE @kept AS TABLE @sessions").await;
    append_notes(&store, &lease, 2, 2).await.unwrap();
    (store, lease)
}

/// Puts the rows back to where they were after the second record.
async fn replace(schema: &Schema) {
    schema
        .run(
            "BEGIN; DELETE FROM @records WHERE seq > 2; DELETE FROM @bodies WHERE seq > 2;
             DELETE FROM @sessions; INSERT INTO @sessions TABLE @kept; COMMIT",
        )
        .await;
}

fn is_told(told: Result<impl std::fmt::Debug, StoreError>) {
    assert!(matches!(told, Err(StoreError::AcknowledgedLost { seq: 4, .. })), "{told:?}");
}

#[tokio::test]
async fn a_writer_at_rest_is_told_once_that_acknowledged_records_are_gone() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (store, lease) = written(&schema).await;
    replace(&schema).await;
    is_told(store.append(&lease, batch(4, vec![note("\"lost\"")])).await);
    // What is there now is what it goes on from.
    let behind = store.append(&lease, batch(4, vec![note("\"lost\"")])).await;
    assert!(matches!(&behind, Err(StoreError::Conflict { actual, .. }) if actual.seq == 2), "{behind:?}");
    assert_eq!(store.append(&lease, batch(2, vec![note("\"new\"")])).await.unwrap().seq, 3);
    assert_eq!(bodies(&store, 1).await, ["1", "\"new\""]);
}

#[tokio::test]
async fn a_writer_whose_session_went_on_from_less_is_told_before_it_is_fenced() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (store, lease) = written(&schema).await;
    replace(&schema).await;
    let other = schema.open().await;
    let taken = other.claim(&session(1), Claim::TakeOver).await.unwrap();
    // As many records as were lost, with other words.
    for seq in 2..5 {
        other.append(&taken, batch(seq, vec![note("\"other\"")])).await.unwrap();
    }
    is_told(store.append(&lease, batch(4, vec![note("\"lost\"")])).await);
    let fenced = store.append(&lease, batch(4, vec![note("\"lost\"")])).await;
    assert!(matches!(fenced, Err(StoreError::Fenced { .. })), "{fenced:?}");
}

#[tokio::test]
async fn a_writer_that_was_only_taken_over_is_fenced_and_told_of_no_loss() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (store, lease) = written(&schema).await;
    let other = schema.open().await;
    let taken = other.claim(&session(1), Claim::TakeOver).await.unwrap();
    append_notes(&other, &taken, 4, 1).await.unwrap();
    let fenced = store.append(&lease, batch(4, vec![note("\"late\"")])).await;
    assert!(matches!(fenced, Err(StoreError::Fenced { .. })), "{fenced:?}");
}
