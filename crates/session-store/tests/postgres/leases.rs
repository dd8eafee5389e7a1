//! Leases that end with the life of their store.
//!
//! A process that hangs is a runtime that nobody drives: its store shows no sign of life.

use std::time::Duration;

use trunkline_session_store::kit::engine::{HardEngine, Profile};
use trunkline_session_store::{Claim, PostgresOptions, PostgresStore, SessionStore, StoreError};

use super::made::{append_notes, batch, bodies, new_session, note, session};
use super::wire::Wire;
use super::{Schema, client, runtime, server};

/// A process that can be made to hang: its runtime moves only while something is run on it.
fn hanging() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Until when the only store with leases is known to be alive, in seconds, and what time it is; both by the server.
async fn signs_of_life(schema: &Schema) -> (f64, f64) {
    let sql = "SELECT extract(epoch FROM alive_until)::float8 AS until,
                   extract(epoch FROM clock_timestamp())::float8 AS now FROM @owners";
    let rows = schema.rows(sql).await;
    let row = rows.first().unwrap();
    (row.get("until"), row.get("now"))
}

/// Sees to it that a store is known to be alive without a gap for more than as long as its leases last.
async fn assert_lives_on(schema: &Schema, ttl: Duration) {
    let (_, begin) = signs_of_life(schema).await;
    loop {
        let (until, now) = signs_of_life(schema).await;
        assert!(until > now, "no sign of life for {ttl:?}");
        if now > begin + ttl.as_secs_f64() * 1.5 {
            return;
        }
        tokio::time::sleep(ttl / 30).await;
    }
}

async fn claim_when_free(store: &PostgresStore) -> trunkline_session_store::Lease {
    loop {
        match store.lease(&session(1)).await {
            Ok(lease) => return lease,
            Err(StoreError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn who_hangs_loses_its_lease_and_can_write_nothing_more() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let ttl = Duration::from_millis(300);
    let (hangs, lives) = (hanging(), runtime());
    let (one, lease) = hangs.block_on(async {
        let one = PostgresStore::open(schema.options().lease_ttl(ttl).name("the first")).await.unwrap();
        one.create(new_session(1)).await.unwrap();
        let lease = one.lease(&session(1)).await.unwrap();
        append_notes(&one, &lease, 1, 2).await.unwrap();
        (one, lease)
    });
    lives.block_on(async {
        let two = PostgresStore::open(schema.options().name("the second")).await.unwrap();
        let next = claim_when_free(&two).await;
        assert!(next.token() > lease.token());
        append_notes(&two, &next, 3, 1).await.unwrap();
        // It wakes up and believes that nothing has happened.
        let fenced = hangs.block_on_elsewhere(&one, &lease);
        assert!(
            matches!(&fenced, StoreError::Fenced { holder: Some(name), .. } if name == "the second"),
            "{fenced}"
        );
        assert_eq!(bodies(&two, 1).await, ["1", "2", "3"]);
    });
    hangs.block_on(async { drop((lease, one)) });
}

trait Elsewhere {
    fn block_on_elsewhere(&self, store: &PostgresStore, lease: &trunkline_session_store::Lease)
    -> StoreError;
}

impl Elsewhere for tokio::runtime::Runtime {
    /// A runtime cannot be driven inside another, so it gets a thread.
    fn block_on_elsewhere(
        &self,
        store: &PostgresStore,
        lease: &trunkline_session_store::Lease,
    ) -> StoreError {
        std::thread::scope(|scope| {
            let append = || self.block_on(store.append(lease, batch(3, vec![note("\"too late\"")])));
            scope.spawn(append).join().expect("it does not panic").unwrap_err()
        })
    }
}

#[tokio::test]
async fn signs_of_life_keep_a_lease_for_longer_than_it_lasts() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let ttl = Duration::from_millis(400);
    let one = PostgresStore::open(schema.options().lease_ttl(ttl)).await.unwrap();
    one.create(new_session(1)).await.unwrap();
    let _lease = one.lease(&session(1)).await.unwrap();
    let (first, _) = signs_of_life(&schema).await;
    while signs_of_life(&schema).await.0 < first + ttl.as_secs_f64() * 2.0 {
        tokio::time::sleep(ttl / 10).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signs_of_life_go_on_although_all_connections_died_in_silence() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let wire = Wire::to(&url);
    let ttl = Duration::from_secs(4);
    let options = PostgresOptions::new(&wire.url).schema(&schema.name).lease_ttl(ttl);
    let store = PostgresStore::open(options).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let _lease = store.lease(&session(1)).await.unwrap();
    let (first, _) = signs_of_life(&schema).await;
    while signs_of_life(&schema).await.0 <= first {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    wire.silence();
    assert_lives_on(&schema, ttl).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signs_of_life_do_not_wait_until_a_session_could_be_given_back() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let ttl = Duration::from_secs(2);
    let store = PostgresStore::open(schema.options().lease_ttl(ttl)).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    store.create(new_session(2)).await.unwrap();
    let _lease = store.lease(&session(1)).await.unwrap();
    let freed = store.lease(&session(2)).await.unwrap();
    // Somebody holds its row.
    let holds = client(&url).await;
    let row = format!("SELECT FROM {}.sessions WHERE session = '{}' FOR UPDATE", schema.name, session(2));
    holds.batch_execute(&format!("BEGIN; {row}")).await.unwrap();
    drop(freed);
    assert_lives_on(&schema, ttl).await;
    holds.batch_execute("ROLLBACK").await.unwrap();
    // Now it could be.
    while schema.rows("SELECT FROM @sessions WHERE owner IS NOT NULL").await.len() > 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_token_that_was_given_twice_lets_only_the_later_one_write() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (one, two) = (schema.open().await, schema.open().await);
    one.create(new_session(1)).await.unwrap();
    let first = one.lease(&session(1)).await.unwrap();
    let second = two.claim(&session(1), Claim::TakeOver).await.unwrap();
    // As after a fail-over to a standby that had not heard of the first one.
    schema.run(&format!("UPDATE @sessions SET token = {}", first.token())).await;
    let fenced = one.append(&first, batch(1, vec![note("1")])).await.unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced { .. }), "{fenced}");
    assert!(bodies(&two, 1).await.is_empty());
    schema.run(&format!("UPDATE @sessions SET token = {}", second.token())).await;
    append_notes(&two, &second, 1, 1).await.unwrap();
}

#[tokio::test]
async fn a_writer_whose_signs_of_life_were_lost_goes_on_if_nobody_took_over() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let one = schema.open().await;
    one.create(new_session(1)).await.unwrap();
    let lease = one.lease(&session(1)).await.unwrap();
    schema.run("UPDATE @owners SET alive_until = 'epoch'").await;
    assert_eq!(one.holder(&session(1)).await.unwrap(), None);
    append_notes(&one, &lease, 1, 1).await.unwrap();
    schema.run("DELETE FROM @owners").await;
    append_notes(&one, &lease, 2, 1).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_closed_leaves_nothing_held() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (one, two) = (schema.open().await, schema.open().await);
    one.create(new_session(1)).await.unwrap();
    let lease = one.lease(&session(1)).await.unwrap();
    one.close().await;
    let next = two.lease(&session(1)).await.unwrap();
    assert!(next.token() > lease.token());
    assert_eq!(schema.rows("SELECT FROM @owners").await.len(), 1);
}

#[tokio::test]
async fn what_is_only_buffered_is_refused_too_once_somebody_took_over() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (one, two) = (schema.open().await, schema.open().await);
    one.create(new_session(1)).await.unwrap();
    let lease = one.lease(&session(1)).await.unwrap();
    let _next = two.claim(&session(1), Claim::TakeOver).await.unwrap();
    let buffered = batch(1, vec![note("1")]).with(trunkline_session_store::Durability::Buffered);
    let refused = one.append(&lease, buffered).await.unwrap_err();
    assert!(matches!(refused, StoreError::Fenced { .. }), "{refused}");
}

/// As when a process that ran many agents goes on without them.
#[tokio::test(flavor = "multi_thread")]
async fn many_leases_that_end_at_once_are_told_of_in_few_statements() {
    const LEASES: u32 = 300;
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let counting = HardEngine::start(&url, Profile::plain(), 1).expect("it starts");
    let options = PostgresOptions::new(format!("{}&notify=off", counting.url())).schema(&schema.name);
    let store = PostgresStore::open(options.lease_ttl(Duration::from_secs(3600))).await.unwrap();
    let mut leases = Vec::new();
    for number in 0..LEASES {
        store.create(new_session(number)).await.unwrap();
        leases.push(store.lease(&session(number)).await.unwrap());
    }
    let before = counting.report().transactions;
    drop(leases);
    while !schema.rows("SELECT 1 FROM @sessions WHERE owner IS NOT NULL").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.close().await;
    let told = counting.report().transactions - before;
    assert!(told < 20, "{told} transactions");
}
