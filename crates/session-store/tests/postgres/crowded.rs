//! Calls that wait for rows, connections and runtimes that others have.

use std::time::{Duration, Instant};

use trunkline_session_store::{Amend, Durability, PostgresStore, SessionStore, StoreError};

use super::made::{batch, bodies, new_session, note, session};
use super::teams::{Database, roomy};
use super::{Schema, client, runtime, server};

/// Locks the row of a session until the transaction of `holder` ends.
async fn hold(holder: &tokio_postgres::Client, schema: &Schema, number: u32) {
    let sql =
        format!("SELECT 1 FROM {}.sessions WHERE session = '{}' FOR UPDATE", schema.name, session(number));
    holder.batch_execute(&sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_held_one_after_the_other_do_not_stop_the_rest() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    let mut leases = Vec::new();
    for number in 0..4 {
        store.create(new_session(number)).await.unwrap();
        leases.push(store.lease(&session(number)).await.unwrap());
    }
    let last = leases.pop().unwrap();
    let holder = client(&url).await;
    holder.batch_execute("BEGIN").await.unwrap();
    let mut held = Vec::new();
    for (number, lease) in (0..).zip(leases) {
        hold(&holder, &schema, number).await;
        let store = store.clone();
        held.push(tokio::spawn(async move { store.append(&lease, batch(1, vec![note("1")])).await }));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Each of those waits for its row for 5 s at a time.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let begun = Instant::now();
    assert_eq!(store.append(&last, batch(1, vec![note("1")])).await.unwrap().seq, 2);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(held.iter().all(|task| !task.is_finished()));
    holder.batch_execute("COMMIT").await.unwrap();
    for task in held {
        assert_eq!(task.await.unwrap().unwrap().seq, 2);
    }
}

/// On one thread a writer that goes on never leaves anybody else a turn, unless turns are given.
#[tokio::test]
async fn who_reads_has_a_turn_although_others_write_on_all_connections() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut limits = roomy();
    limits.connections = 2;
    let team = database.grant(&limits).await;
    let store = team.open_wide().await;
    let mut tasks = Vec::new();
    for number in 1..=12 {
        store.create(new_session(number)).await.unwrap();
        let (store, lease) = (store.clone(), store.lease(&session(number)).await.unwrap());
        tasks.push(tokio::spawn(async move {
            for seq in 1.. {
                store.append(&lease, batch(seq, vec![note("1")])).await.unwrap();
            }
        }));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        store.read(&session(1), 0, 10).await.unwrap();
    }
    // Signs of life as well, which would have ended by now.
    for number in 1..=12 {
        let error = store.delete(&session(number)).await.unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    }
    assert!(tasks.iter().all(|task| !task.is_finished()));
    tasks.iter().for_each(|task| task.abort());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_buffered_is_not_lost_because_others_of_the_store_take_long() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let options = schema.options().connections(1).patience(Duration::from_millis(200));
    let store = PostgresStore::open(options).await.unwrap();
    for number in 1..=2 {
        store.create(new_session(number)).await.unwrap();
    }
    let lease = store.lease(&session(1)).await.unwrap();
    let holder = client(&url).await;
    holder.batch_execute("BEGIN").await.unwrap();
    hold(&holder, &schema, 2).await;
    let slow = tokio::spawn({
        let store = store.clone();
        async move { store.amend(&session(2), Amend::title("slow")).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut buffered = batch(1, vec![note("1")]);
    buffered.durability = Durability::Buffered;
    store.append(&lease, buffered).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    holder.batch_execute("COMMIT").await.unwrap();
    slow.await.unwrap().unwrap();
    assert_eq!(store.append(&lease, batch(2, vec![note("2")])).await.unwrap().seq, 3);
    assert_eq!(bodies(&store, 1).await.len(), 2);
}

#[test]
fn an_append_ends_although_the_runtime_of_the_store_has() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let first = runtime();
    let (store, lease) = first.block_on(async {
        let store = schema.open().await;
        store.create(new_session(1)).await.unwrap();
        let lease = store.lease(&session(1)).await.unwrap();
        (store, lease)
    });
    drop(first);
    runtime().block_on(async {
        for _ in 0..2 {
            let append = store.append(&lease, batch(1, vec![note("1")]));
            let ended = tokio::time::timeout(Duration::from_secs(10), append).await.expect("it ends");
            assert!(matches!(ended, Err(StoreError::Io { .. })), "{ended:?}");
        }
    });
}

#[tokio::test]
async fn a_store_that_was_closed_gives_no_leases() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let other = store.clone();
    store.close().await;
    let error = other.lease(&session(1)).await.unwrap_err();
    assert!(error.to_string().contains("the store was closed"), "{error}");
}
