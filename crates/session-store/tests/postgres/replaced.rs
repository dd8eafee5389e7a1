//! A server that was replaced by one that had not received the last commits, as its clients see it: rows as they were
//! before, another timeline, and a former primary that does not know yet that it is none.

use std::time::{Duration, Instant};

use trunkline_session_store::{Claim, Lease, PostgresStore, SessionStore, StoreError};

use super::made::{append_notes, batch, bodies, new_session, note, session};
use super::wire::Wire;
use super::{Schema, server};

/// A session with four records, of which a replaced server would have the first two.
async fn written(schema: &Schema) -> (PostgresStore, Lease) {
    let store = schema.open().await;
    let lease = write_on(schema, &store).await;
    (store, lease)
}

async fn write_on(schema: &Schema, store: &PostgresStore) -> Lease {
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    append_notes(store, &lease, 1, 1).await.unwrap();
    schema.run("CREATE TABLE @kept AS TABLE @sessions").await;
    append_notes(store, &lease, 2, 2).await.unwrap();
    lease
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

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_that_cannot_be_looked_for_is_told_later_and_not_forgotten() {
    let Some(url) = server() else { return };
    let wire = Wire::to(&url);
    let schema = Schema::through(&url, &wire.url);
    let store = PostgresStore::open(schema.options().patience(Duration::from_millis(300))).await.unwrap();
    let lease = write_on(&schema, &store).await;
    replace(&schema).await;
    let other = PostgresStore::open(schema.options()).await.unwrap();
    let _taken = other.claim(&session(1), Claim::TakeOver).await.unwrap();
    // What asks whether the last record that was acknowledged is there.
    wire.lose_for_good("AND seq = $2 AND digest = $3");
    let busy = store.append(&lease, batch(4, vec![note("\"lost\"")])).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. } | StoreError::Io { .. })), "{busy:?}");
    assert!(wire.is_done());
    wire.mend();
    is_told(store.append(&lease, batch(4, vec![note("\"lost\"")])).await);
}

/// A store behind a wire that gives up soon, with a session of one record.
async fn behind(wire: &Wire, schema: &Schema) -> (PostgresStore, Lease) {
    let patience = Duration::from_millis(400);
    let options = schema.options().patience(patience).lease_ttl(Duration::from_millis(900));
    let store = PostgresStore::open(options.statement_timeout(Duration::from_secs(20))).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    append_notes(&store, &lease, 1, 1).await.unwrap();
    assert!(wire.is_done());
    (store, lease)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_primary_that_wakes_up_is_neither_written_to_nor_believed() {
    let Some(url) = server() else { return };
    let wire = Wire::to(&url);
    let schema = Schema::through(&url, &wire.url);
    let (store, lease) = behind(&wire, &schema).await;
    wire.replace(true);
    append_notes(&store, &lease, 2, 1).await.unwrap();
    wire.replace(false);
    // The first one may have been sent over a connection that was cut.
    let late = store.append(&lease, batch(3, vec![note("\"late\"")])).await;
    assert!(matches!(late, Err(StoreError::Busy { .. } | StoreError::Io { .. })), "{late:?}");
    let busy = store.info(&session(1)).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    // Another program has met no other server.
    let other = schema.open().await;
    assert_eq!(bodies(&other, 1).await.len(), 2);
    wire.replace(true);
    append_notes(&store, &lease, 3, 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_silent_server_goes_on_when_another_takes_over() {
    let Some(url) = server() else { return };
    let wire = Wire::to(&url);
    let schema = Schema::through(&url, &wire.url);
    let (store, lease) = behind(&wire, &schema).await;
    wire.replace_in_silence(true);
    let begun = Instant::now();
    append_notes(&store, &lease, 2, 1).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(bodies(&store, 1).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silence_costs_one_call_and_not_one_for_each_connection() {
    let Some(url) = server() else { return };
    let wire = Wire::to(&url);
    let schema = Schema::through(&url, &wire.url);
    let options = schema.options().statement_timeout(Duration::from_millis(500));
    let store = PostgresStore::open(options).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let id = session(1);
    let several = tokio::join!(store.info(&id), store.info(&id), store.info(&id));
    assert!(several.0.is_ok() && several.1.is_ok() && several.2.is_ok());
    wire.silence();
    let silent = store.info(&id).await;
    assert!(matches!(silent, Err(StoreError::Io { .. })), "{silent:?}");
    store.info(&id).await.unwrap();
}
