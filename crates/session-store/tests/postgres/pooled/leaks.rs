//! What a store leaves on a backend that others use after it, and what others have left there.

use std::time::Duration;

use expect_test::expect;
use trunkline_session_store::kit;
use trunkline_session_store::{Activity, Durability, SessionStore};

use super::super::made::{append_notes, batch, new_session, note, session};
use super::super::{Postgres, Schema, few, runtime};
use super::backends::Database;

#[test]
fn the_whole_kit_leaves_nothing_on_a_backend() {
    let lives = runtime();
    let Some(database) = lives.block_on(Database::new()) else { return };
    let subject = Postgres::by("a pool", database.direct.clone(), database.pooled.clone());
    let report = kit::run(&subject, &few());
    assert!(report.is_ok(), "{report}");
    lives.block_on(async {
        assert_eq!(database.open_transactions().await, "");
        expect![""].assert_eq(&database.left().await);
    });
}

#[tokio::test]
async fn who_waits_and_holds_leases_leaves_nothing_meanwhile() {
    let Some(database) = Database::new().await else { return };
    let schema = Schema::through(&database.direct, &database.pooled);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let seen = store.changed(&session(1), Activity::default()).await.unwrap();
    let waiting = store.clone();
    let waits = tokio::spawn(async move { waiting.changed(&session(1), seen).await });
    append_notes(&store, &lease, 1, 0).await.unwrap();
    // While it looks now and then, and shows signs of life.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(database.open_transactions().await, "");
    expect![""].assert_eq(&database.left().await);
    append_notes(&store, &lease, 1, 1).await.unwrap();
    assert!(waits.await.unwrap().unwrap().records > seen.records);
    expect![""].assert_eq(&database.left().await);
    store.close().await;
}

/// The look itself: what a client of another kind leaves behind is seen.
#[tokio::test]
async fn what_is_left_on_a_backend_is_seen() {
    let Some(database) = Database::new().await else { return };
    for client in database.backends().await.iter().take(1) {
        for theirs in [
            "LISTEN something",
            "PREPARE one AS SELECT 1",
            "SET lock_timeout = '7s'",
            "SET ROLE pg_monitor",
            "SELECT pg_advisory_lock(77)",
            "CREATE TEMPORARY TABLE mine (n int)",
            "DECLARE mine CURSOR WITH HOLD FOR SELECT 1",
            "COMMIT",
        ] {
            client.batch_execute(theirs).await.unwrap();
        }
    }
    expect![[r#"
        has cursor mine
        has temporary mine
        holds lock 77
        is pg_monitor
        listens to something
        lock_timeout is 7000
        prepared PREPARE one AS SELECT 1
    "#]]
    .assert_eq(&database.left().await);
}

/// Clients that share a login share its backends: one that says `SET` without `LOCAL` says it for all.
#[tokio::test]
async fn what_others_have_left_weakens_no_receipt() {
    let Some(database) = Database::new().await else { return };
    let schema = Schema::through(&database.direct, &database.pooled);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    // The commit says in the table what it was made with.
    schema
        .run(
            "CREATE TABLE @seen (number serial, how text);
             CREATE FUNCTION @see() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO @seen (how) VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER see AFTER INSERT ON @records DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION @see();",
        )
        .await;
    let mut seq = 1;
    for theirs in ["off", "local", "remote_write"] {
        database.soil(&format!("SET synchronous_commit = {theirs}")).await;
        for level in [Durability::Flushed, Durability::Committed, Durability::Flushed] {
            let receipt = store.append(&lease, batch(seq, vec![note("1")]).with(level)).await.unwrap();
            assert_eq!(receipt.durability, level, "{theirs}");
            seq = receipt.seq;
        }
    }
    let seen = schema.rows("SELECT string_agg(how, ' ' ORDER BY number) AS how FROM @seen").await;
    let seen: String = seen.first().unwrap().get("how");
    assert_eq!(seen, "on off on on off on on off on");
}

#[tokio::test]
async fn what_others_have_left_hinders_nobody() {
    let Some(database) = Database::new().await else { return };
    let schema = Schema::through(&database.direct, &database.pooled);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    for (number, theirs) in (2..).zip([
        "SET default_transaction_read_only = on",
        "SET default_transaction_isolation = 'serializable'; SET default_transaction_deferrable = on",
        "SET search_path = nowhere",
        "SET bytea_output = 'escape'; SET DateStyle = 'German'; SET extra_float_digits = -9; SET IntervalStyle = 'sql_standard'",
        "SET lock_timeout = 1; SET statement_timeout = '500ms'",
        "SET synchronous_commit = off; SET standard_conforming_strings = off; SET backslash_quote = off",
        "PREPARE s0 AS SELECT 1; PREPARE s1 AS SELECT 1; PREPARE sqlx_s_1 AS SELECT 1",
        "LISTEN something; NOTIFY something, 'else'",
    ]) {
        database.soil(theirs).await;
        store.create(new_session(number)).await.unwrap();
        let lease = store.lease(&session(number)).await.unwrap();
        append_notes(&store, &lease, 1, 3).await.unwrap();
        store.post(&session(number), "prompt", "1", trunkline_message_tree::Timestamp(1)).await.unwrap();
        assert_eq!(store.inbox(&session(number)).await.unwrap().len(), 1);
        store.verify(&session(number)).await.unwrap();
        assert_eq!(store.sessions().await.unwrap().len() as u32, number, "{theirs}");
    }
    store.close().await;
}
