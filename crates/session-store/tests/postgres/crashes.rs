//! Servers that stop and break off under load. Each test has one of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};
use trunkline_session_store::{
    Activity, Claim, Durability, Lease, PostgresStore, Receipt, SessionStore, StoreError,
};

use super::client;
use super::cluster::Cluster;
use super::made::{append_notes, batch, bodies, new_session, note, session};

/// Writes until it is told to stop, whatever happens to the server; returns what was acknowledged.
async fn write_on(
    store: PostgresStore,
    number: u32,
    stop: tokio::sync::watch::Receiver<bool>,
    told: Arc<AtomicUsize>,
) -> (Vec<Receipt>, u32) {
    let (mut acknowledged, mut faults) = (Vec::new(), 0);
    let mut lease: Option<Lease> = None;
    while !*stop.borrow() {
        let result: Result<(), StoreError> = async {
            let lease = match &lease {
                Some(lease) => lease,
                None => lease.insert(store.claim(&session(number), Claim::TakeOver).await?),
            };
            let seq = store.info(&session(number)).await?.records;
            acknowledged.push(store.append(lease, batch(seq, vec![note(&seq.to_string())])).await?);
            told.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        .await;
        match result {
            Ok(()) | Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::Fenced { .. }) => lease = None,
            Err(StoreError::Busy { .. } | StoreError::Io { .. }) => faults += 1,
            Err(error) => panic!("{error}"),
        }
    }
    (acknowledged, faults)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_flushed_survives_a_server_that_breaks_off_under_load() {
    let Some(mut cluster) = Cluster::start() else { return };
    let store = PostgresStore::open(cluster.options()).await.expect("it opens");
    let hasty = cluster.options().patience(Duration::from_millis(300));
    let hasty = PostgresStore::open(hasty).await.expect("it opens");
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let (told, mut writers) = (Arc::new(AtomicUsize::new(0)), Vec::new());
    for number in 0..12 {
        store.create(new_session(number)).await.unwrap();
        let writes = write_on(hasty.clone(), number, stopped.clone(), Arc::clone(&told));
        writers.push((number, tokio::spawn(writes)));
    }
    for command in ["crash", "start", "stop", "start", "crash", "start"] {
        tokio::time::sleep(Duration::from_millis(400)).await;
        cluster = tokio::task::spawn_blocking(move || {
            cluster.tell(command);
            cluster
        })
        .await
        .unwrap();
        // Each time it is up there is something that it may lose, however busy the machine is.
        let enough = told.load(Ordering::Relaxed) + 40;
        let written = async {
            while command == "start" && told.load(Ordering::Relaxed) < enough {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), written).await.expect("it is written to again");
    }
    stop.send_replace(true);
    let mut total = 0;
    for (number, writer) in writers {
        let (acknowledged, _) = writer.await.unwrap();
        let verified = store.verify(&session(number)).await.unwrap();
        for receipt in &acknowledged {
            assert!(verified.holds(receipt), "session {number} has lost record {}", receipt.seq);
        }
        // Each number was written once, in order.
        let expected: Vec<String> = (1..verified.records).map(|seq| seq.to_string()).collect();
        assert_eq!(bodies(&store, number).await, expected);
        total += acknowledged.len();
    }
    assert!(total > 100, "{total}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_restarted_within_our_patience_is_not_noticed() {
    let Some(mut cluster) = Cluster::start() else { return };
    let options = cluster.options().patience(Duration::from_secs(60));
    let store = PostgresStore::open(options).await.unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut writers = Vec::new();
    for number in 0..6 {
        store.create(new_session(number)).await.unwrap();
        writers.push(tokio::spawn(write_on(store.clone(), number, stopped.clone(), Arc::default())));
    }
    store.create(new_session(99)).await.unwrap();
    let seen = store.changed(&session(99), Activity::default()).await.unwrap();
    let waits = tokio::spawn({
        let store = store.clone();
        async move {
            let mut now = seen;
            // A claim ends a wait too.
            while now.records == seen.records {
                now = store.changed(&session(99), now).await?;
            }
            Ok::<_, StoreError>(now)
        }
    });
    for command in ["stop", "start", "crash", "start"] {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cluster = tokio::task::spawn_blocking(move || {
            cluster.tell(command);
            cluster
        })
        .await
        .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.send_replace(true);
    for writer in writers {
        let (acknowledged, faults) = writer.await.unwrap();
        assert_eq!(faults, 0);
        // Also those whose answer got lost: they were found to be there, and nothing was written twice.
        let numbers: Vec<u64> = acknowledged.iter().map(|receipt| receipt.seq).collect();
        assert_eq!(numbers, (2..2 + numbers.len() as u64).collect::<Vec<u64>>());
    }
    let lease = store.lease(&session(99)).await.unwrap();
    append_notes(&store, &lease, 1, 1).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap().records, 2);
}

#[tokio::test]
async fn buffered_records_that_were_lost_are_told_once() {
    let Some(mut cluster) = Cluster::start() else { return };
    let options = cluster.options().patience(Duration::from_secs(2));
    let store = PostgresStore::open(options).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    append_notes(&store, &lease, 1, 1).await.unwrap();
    cluster.tell("stop");
    for seq in 2..5 {
        let buffered = batch(seq, vec![note("\"lost\"")]).with(Durability::Buffered);
        match store.append(&lease, buffered).await {
            Ok(receipt) => assert_eq!(receipt.durability, Durability::Buffered),
            // It was tried between two of them.
            Err(error) => assert!(matches!(error, StoreError::Busy { .. }), "{error}"),
        }
    }
    let away = store.info(&session(1)).await.unwrap_err();
    assert!(matches!(away, StoreError::Busy { .. }), "{away}");
    cluster.tell("start");
    let lost = store.append(&lease, batch(2, vec![note("2")])).await.unwrap_err();
    assert!(matches!(lost, StoreError::BufferLost { seq: 3, .. }), "{lost}");
    append_notes(&store, &lease, 2, 2).await.unwrap();
    assert_eq!(bodies(&store, 1).await, ["1", "2", "3"]);
    store.verify(&session(1)).await.unwrap();
}

#[tokio::test]
async fn a_session_given_back_while_the_server_was_away_is_free_afterwards() {
    let Some(mut cluster) = Cluster::start() else { return };
    let options = || cluster.options().lease_ttl(Duration::from_millis(500));
    let one = PostgresStore::open(options()).await.unwrap();
    one.create(new_session(1)).await.unwrap();
    one.create(new_session(2)).await.unwrap();
    let (first, second) = (one.lease(&session(1)).await.unwrap(), one.lease(&session(2)).await.unwrap());
    let elsewhere = options();
    cluster.tell("crash");
    drop(first);
    tokio::task::yield_now().await;
    cluster.tell("start");
    let two = PostgresStore::open(elsewhere).await.unwrap();
    // Here it is known at once; the server is told with the next sign of life, which others wait for.
    two.lease(&session(1)).await.unwrap();
    append_notes(&one, &second, 1, 1).await.unwrap();
}

#[tokio::test]
async fn what_was_cut_off_while_it_waited_for_a_standby_is_flushed_only_when_the_standby_has_it() {
    let Some(cluster) = Cluster::start() else { return };
    let options = cluster.options().patience(Duration::from_secs(60));
    let store = PostgresStore::open(options).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    // A standby that never comes. We ourselves do not wait for it.
    let admin = client(&cluster.url).await;
    run(&admin, "SET synchronous_commit = local").await;
    run(&admin, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await;
    run(&admin, "SELECT pg_reload_conf()").await;
    while run(&admin, "SELECT 1 FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = ''")
        .await
        .len()
        == 1
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let append = tokio::spawn(async move { store.append(&lease, batch(1, vec![note("1")])).await });
    let mut cut: Vec<i32> = Vec::new();
    // It is cut off twice: what is written to find out may be cut off as well.
    for _ in 0..3 {
        loop {
            assert!(!append.is_finished(), "it is acknowledged, and no standby has it");
            let waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            let waits = run(&admin, waits).await;
            let waits: Option<i32> = waits.first().and_then(|row| row.get("pid")?.parse().ok());
            if let Some(pid) = waits.filter(|pid| !cut.contains(pid)) {
                cut.push(pid);
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if let ([.., pid], true) = (cut.as_slice(), cut.len() < 3) {
            run(&admin, &format!("SELECT pg_terminate_backend({pid})")).await;
        }
    }
    run(&admin, "ALTER SYSTEM RESET synchronous_standby_names").await;
    run(&admin, "SELECT pg_reload_conf()").await;
    let receipt = append.await.unwrap().unwrap();
    assert_eq!((receipt.seq, receipt.durability), (2, Durability::Flushed));
}

async fn run(client: &Client, sql: &str) -> Vec<SimpleQueryRow> {
    let rows = client.simple_query(sql).await.unwrap().into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.collect()
}
