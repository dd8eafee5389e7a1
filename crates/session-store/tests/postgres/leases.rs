//! Leases that end with the life of their store.
//!
//! A process that hangs is a runtime that nobody drives: its store shows no sign of life.

use std::time::Duration;

use sqlx::Row;
use trunkline_session_store::{Claim, PostgresStore, SessionStore, StoreError};

use super::made::{append_notes, batch, bodies, new_session, note, session};
use super::{Schema, runtime, server};

/// A process that can be made to hang: its runtime moves only while something is run on it.
fn hanging() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
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
    let alive_until = async || -> f64 {
        let rows = schema.rows("SELECT extract(epoch FROM alive_until)::float8 AS at FROM @owners").await;
        rows.first().unwrap().get("at")
    };
    let first = alive_until().await;
    while alive_until().await < first + ttl.as_secs_f64() * 2.0 {
        tokio::time::sleep(ttl / 10).await;
    }
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
