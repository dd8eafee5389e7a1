//! How often a call waits for the server, counted on the wire: a line is a trip, with what was sent in it.
//!
//! A number that grows here is felt by everybody whose server is in another room.

use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_session_store::{Activity, Lease, PostgresOptions, PostgresStore, SessionStore};

use super::super::made::{batch, new_session, note, session};
use super::super::{Schema, server};
use super::counting::Counting;
use super::{TRANSACTION, way};

/// A store behind a wire that counts, with three sessions that it holds.
struct Counted {
    // In this order: leases need the store, and the store the wire.
    leases: Vec<Lease>,
    store: PostgresStore,
    wire: Counting,
    _schema: Schema,
}

impl Counted {
    async fn through(url: &str, schema: Schema) -> Self {
        let wire = Counting::to(url);
        // Signs of life are trips too, and none falls into what is counted.
        let options =
            PostgresOptions::new(&wire.url).schema(&schema.name).lease_ttl(Duration::from_secs(900));
        let store = PostgresStore::open(options).await.unwrap();
        let mut leases = Vec::new();
        for number in 1..4 {
            store.create(new_session(number)).await.unwrap();
            leases.push(store.lease(&session(number)).await.unwrap());
        }
        // The connections that are used at the same time are there.
        let counted = Counted { leases, store, wire, _schema: schema };
        for seq in 1..3 {
            counted.append_to_all(seq).await;
            counted.wire.rest().await;
        }
        counted
    }

    async fn append_to(&self, number: usize, seq: u64) {
        let lease = &self.leases[number];
        self.store.append(lease, batch(seq, vec![note("1")])).await.unwrap();
    }

    async fn append_to_all(&self, seq: u64) {
        tokio::join!(self.append_to(0, seq), self.append_to(1, seq), self.append_to(2, seq));
    }

    /// What is sent while something is done, and what follows when it is done.
    async fn check(&self, what: &str, work: impl Future<Output = ()>) -> String {
        self.wire.rest().await;
        let ((), during) = self.wire.during(work).await;
        tokio::time::sleep(Duration::from_millis(400)).await;
        let after = self.wire.taken();
        let lines = |trips: &str, mark: &str| {
            let mut lines: Vec<String> = trips.lines().map(|line| format!("  {mark}{line}\n")).collect();
            // What is told and what is given back go side by side.
            if !mark.is_empty() {
                lines.sort();
            }
            lines.concat()
        };
        format!("{what}: {}\n{}{}", during.lines().count(), lines(&during, ""), lines(&after, "afterwards: "))
    }
}

async fn check(url: &str, schema: Schema, expected: Expect) {
    let counted = Counted::through(url, schema).await;
    let (store, one) = (&counted.store, session(1));
    let mut seen = String::new();
    seen += &counted.check("an append of one session", counted.append_to(0, 3)).await;
    seen += &counted.check("appends of three sessions at once", counted.append_to_all_but_first(3)).await;
    let read = async { drop(store.read(&one, 0, 50).await.unwrap()) };
    seen += &counted.check("a page of records", read).await;
    let info = async { drop(store.info(&one).await.unwrap()) };
    seen += &counted.check("what a session is called", info).await;
    let create = async { store.create(new_session(9)).await.unwrap() };
    seen += &counted.check("a new session", create).await;
    let claim = async { drop(store.lease(&session(9)).await.unwrap()) };
    seen += &counted.check("a lease, which is given back", claim).await;
    let at = trunkline_message_tree::Timestamp(1);
    let post = async { assert!(store.post(&one, "prompt", "1", at).await.is_ok()) };
    seen += &counted.check("a letter", post).await;
    expected.assert_eq(&seen);
}

impl Counted {
    async fn append_to_all_but_first(&self, seq: u64) {
        tokio::join!(self.append_to(0, seq + 1), self.append_to(1, seq), self.append_to(2, seq));
    }
}

/// Whoever waits asks for all sessions at once: the figure is the same for one of them and for three.
async fn looks_in_rest(url: &str, schema: Schema, rest: Duration) -> usize {
    let counted = Counted::through(url, schema).await;
    let mut waits = Vec::new();
    for number in 1..4 {
        let (store, id) = (counted.store.clone(), session(number));
        let seen = store.changed(&id, Activity::default()).await.unwrap();
        waits.push(tokio::spawn(async move { store.changed(&id, seen).await }));
    }
    counted.wire.rest().await;
    let ((), looks) = counted.wire.during(tokio::time::sleep(rest)).await;
    for one in waits {
        assert!(!one.is_finished(), "nothing has changed");
        one.abort();
    }
    assert!(looks.lines().all(|line| line == "SELECT"), "{looks}");
    looks.lines().count()
}

#[tokio::test]
async fn who_waits_looks_every_five_seconds_where_the_server_tells() {
    let Some(url) = server() else { return };
    let looks = looks_in_rest(&url, Schema::new(&url), Duration::from_secs(6)).await;
    assert!((1..=2).contains(&looks), "{looks} in 6 s");
}

#[tokio::test]
async fn who_waits_looks_each_second_through_a_pool() {
    let (Some(url), Some(pooled)) = (server(), way(TRANSACTION)) else { return };
    let looks = looks_in_rest(&pooled, Schema::new(&url), Duration::from_secs(6)).await;
    assert!((3..=7).contains(&looks), "{looks} in 6 s");
}

/// Directly and through a pool.
fn trips_of_calls() -> Expect {
    expect![[r#"
        an append of one session: 1
          BEGIN; SET; SET; SELECT | WITH | COMMIT
          afterwards: BEGIN; SET; SELECT | SELECT pg_notify | COMMIT
        appends of three sessions at once: 1
          BEGIN; SET; SET; SELECT | WITH | COMMIT
          afterwards: BEGIN; SET; SELECT | SELECT pg_notify | COMMIT
        a page of records: 1
          SELECT
        what a session is called: 1
          SELECT
        a new session: 2
          SELECT
          BEGIN; SET; SET; SELECT | WITH | COMMIT
          afterwards: BEGIN; SET; SELECT | SELECT pg_notify | COMMIT
        a lease, which is given back: 3
          BEGIN; SET; SELECT | SELECT | COMMIT
          BEGIN; SET; SET; SELECT | SELECT | SELECT
          UPDATE | COMMIT
          afterwards: BEGIN; SET; SELECT | SELECT pg_notify | COMMIT
          afterwards: BEGIN; SET; SET; SELECT | UPDATE | COMMIT
        a letter: 2
          SELECT
          BEGIN; SET; SET; SELECT | WITH | COMMIT
          afterwards: BEGIN; SET; SELECT | SELECT pg_notify | COMMIT
    "#]]
}

#[tokio::test]
async fn calls_take_as_many_trips_as_they_always_did() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    check(&url, schema, trips_of_calls()).await;
}

#[tokio::test]
async fn calls_take_no_more_trips_through_a_pool() {
    let (Some(url), Some(pooled)) = (server(), way(TRANSACTION)) else { return };
    let schema = Schema::new(&url);
    check(&pooled, schema, trips_of_calls()).await;
}
