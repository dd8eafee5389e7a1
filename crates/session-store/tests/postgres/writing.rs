//! Writing: callers that go away, stores that fight, levels, large bodies, and who is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_session_store::{
    Activity, Blob, Claim, Durability, Follower, PostgresOptions, PostgresStore, Record, SessionStore,
    StoreError,
};

use super::made::{append_notes, batch, bodies, new_session, node, note, session};
use super::wire::Wire;
use super::{Schema, client, run, server, with};

#[tokio::test]
async fn callers_that_go_away_leave_whole_batches_and_no_open_transaction() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = PostgresStore::open(schema.options().connections(2)).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let first = session(1);
    for round in 0..60_u32 {
        // A call is given up after so many steps of its task.
        let steps = round % 6;
        let mut lease = Box::pin(store.claim(&first, Claim::TakeOver));
        give_up_after(steps, lease.as_mut()).await;
        drop(lease);
        let lease = store.claim(&session(1), Claim::TakeOver).await.unwrap();
        let seq = store.info(&session(1)).await.unwrap().records;
        let records = vec![note(&format!("\"{round} a\"")), note(&format!("\"{round} b\""))];
        let mut append = Box::pin(store.append(&lease, batch(seq, records)));
        give_up_after(steps, append.as_mut()).await;
        drop(append);
        let mut read = Box::pin(store.load(&first));
        give_up_after(steps, read.as_mut()).await;
        drop(read);
        let mut create = Box::pin(store.create(new_session(100 + round)));
        give_up_after(steps, create.as_mut()).await;
    }
    // Everything that was begun is there or not, and no connection is stuck.
    let _lease = store.claim(&session(1), Claim::TakeOver).await.unwrap();
    let said = bodies(&store, 1).await;
    for pair in said.chunks(2) {
        let [a, b] = pair else { panic!("half a batch: {pair:?}") };
        assert_eq!(a.replace('a', "b"), *b);
    }
    store.verify(&session(1)).await.unwrap();
    let open = schema
        .rows(&format!(
            "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE '%{}%'",
            schema.name
        ))
        .await;
    assert!(open.is_empty());
}

/// Polls a future so many times, with a look at everything else in between.
async fn give_up_after<T>(steps: u32, mut call: std::pin::Pin<&mut (impl Future<Output = T> + ?Sized)>) {
    for _ in 0..steps {
        tokio::select! {
            biased;
            _ = call.as_mut() => return,
            () = tokio::task::yield_now() => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_need_few_connections() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let options = schema.with(&format!("application_name={}", schema.name));
    let store = PostgresStore::open(options.connections(3)).await.unwrap();
    let mut writers = Vec::new();
    for number in 0..64 {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            store.create(new_session(number)).await?;
            let lease = store.lease(&session(number)).await?;
            append_notes(&store, &lease, 1, 20).await
        }));
    }
    for writer in writers {
        assert_eq!(writer.await.unwrap().unwrap().seq, 21);
    }
    let query =
        format!("SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = '{}'", schema.name);
    let connections: i64 = schema.rows(&query).await.first().unwrap().get("n");
    assert!(connections <= 4, "{connections}");
    for number in 0..64 {
        store.verify(&session(number)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_that_fight_for_a_session_never_mix_their_records() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (one, two) = (schema.open().await, schema.open().await);
    one.create(new_session(1)).await.unwrap();
    let mut fighters = Vec::new();
    for (name, store) in [("one", one.clone()), ("two", two)] {
        fighters.push(tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            while acknowledged.len() < 40 {
                let lease = store.claim(&session(1), Claim::TakeOver).await.unwrap();
                loop {
                    let seq = store.info(&session(1)).await.unwrap().records;
                    let body = format!("\"{name} {} {}\"", lease.token(), acknowledged.len());
                    match store.append(&lease, batch(seq, vec![note(&body)])).await {
                        Ok(receipt) => acknowledged.push((receipt, body)),
                        Err(StoreError::Fenced { .. } | StoreError::Conflict { .. }) => break,
                        Err(error) => panic!("{error}"),
                    }
                    if acknowledged.len() >= 40 {
                        break;
                    }
                }
            }
            acknowledged
        }));
    }
    let mut acknowledged = Vec::new();
    for fighter in fighters {
        acknowledged.extend(fighter.await.unwrap());
    }
    let verified = one.verify(&session(1)).await.unwrap();
    let said = bodies(&one, 1).await;
    assert_eq!(said.len(), 80);
    for (receipt, body) in acknowledged {
        assert!(verified.holds(&receipt), "{body}");
        assert_eq!(said[receipt.seq as usize - 2], body);
    }
    // Tokens only grow, so nobody wrote after somebody who had come later.
    let tokens: Vec<u64> = said.iter().map(|body| body.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert!(tokens.is_sorted(), "{tokens:?}");
}

#[tokio::test]
async fn receipts_say_what_the_server_can_keep() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let fsync: String = schema.rows("SELECT current_setting('fsync') AS f").await.first().unwrap().get("f");
    let flushed = if fsync == "off" { Durability::Committed } else { Durability::Flushed };
    let asked = [
        (Durability::Flushed, flushed),
        (Durability::Committed, Durability::Committed),
        (Durability::Buffered, Durability::Buffered),
    ];
    for (seq, (level, reached)) in (1..).zip(asked) {
        let receipt = store.append(&lease, batch(seq, vec![note("1")]).with(level)).await.unwrap();
        assert_eq!(receipt.durability, reached);
    }
}

#[tokio::test]
async fn a_role_that_does_not_wait_for_the_disk_is_made_to() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    // As `ALTER ROLE … SET synchronous_commit = off` would have it.
    let store = PostgresStore::open(schema.with("options[synchronous_commit]=off")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    // The commit says in the table what it was made with.
    schema
        .run(
            "CREATE TABLE @seen (how text);
             CREATE FUNCTION @see() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO @seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER see AFTER INSERT ON @records DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION @see();",
        )
        .await;
    for (seq, level) in [(1, Durability::Flushed), (2, Durability::Committed), (3, Durability::Flushed)] {
        store.append(&lease, batch(seq, vec![note("1")]).with(level)).await.unwrap();
    }
    let seen: Vec<String> =
        schema.rows("SELECT how FROM @seen").await.iter().map(|row| row.get("how")).collect();
    assert_eq!(seen, ["on", "off", "on"]);
}

#[tokio::test]
async fn what_is_large_and_equal_is_stored_once_and_read_byte_for_byte() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let large = format!("\"{}\\u0000\\n{}\"", "ä".repeat(4_000), "z".repeat(90_000));
    let twice = format!("{{\"a\":{large},\"b\":[{large},\"\"],\"c\":1.50}}");
    let bytes: Vec<u8> = (0..70_000_u32).map(|number| (number % 251) as u8).collect();
    let blob = Blob {
        layer: "files".to_owned(),
        kind: "before".to_owned(),
        at: trunkline_message_tree::Timestamp(5),
        bytes: bytes.clone(),
    };
    let digest = blob.digest();
    let records = vec![note(&large), note(&twice), Record::Blob(blob.clone()), Record::Blob(blob)];
    store.append(&lease, batch(1, records)).await.unwrap();
    let said = bodies(&store, 1).await;
    assert_eq!(said[..2], [large, twice]);
    assert_eq!(store.blob(&session(1), &digest).await.unwrap(), Some(bytes));
    store.verify(&session(1)).await.unwrap();
    assert_eq!(schema.rows("SELECT FROM @parts").await.len(), 2);
    // A part that somebody removed is missed where it was, and nowhere else.
    schema.run("DELETE FROM @parts WHERE text LIKE '%zzz%'").await;
    let missed = store.read(&session(1), 1, 9).await.unwrap_err();
    assert!(matches!(missed, StoreError::BadRecord { seq: 2, .. }), "{missed}");
    assert_eq!(store.read(&session(1), 0, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_batch_that_is_too_large_for_one_statement_is_kept_whole_all_the_same() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let large = |letter: &str| format!("\"{}\"", letter.repeat(2_500_000));
    let records: Vec<Record> = ["a", "b", "c", "d"].iter().map(|letter| note(&large(letter))).collect();
    let receipt = store.append(&lease, batch(1, records)).await.unwrap();
    append_notes(&store, &lease, receipt.seq, 1).await.unwrap();
    let verified = store.verify(&session(1)).await.unwrap();
    assert!(verified.holds(&receipt));
    // A page does not have to hold all of it at once.
    assert!(store.read(&session(1), 0, 100).await.unwrap().len() < 6);
}

#[tokio::test]
async fn what_is_removed_by_hand_is_found_and_what_is_named_stays() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let large = |letter: &str| note(&format!("\"{}\"", letter.repeat(5_000)));
    store.append(&lease, batch(1, vec![large("a"), large("b")])).await.unwrap();
    assert_eq!(store.collect(true).await.unwrap().parts, 0);
    schema.run("UPDATE @bodies SET cuts = NULL WHERE seq = 3").await;
    for dry_run in [true, false] {
        let collected = store.collect(dry_run).await.unwrap();
        assert_eq!((collected.parts, collected.bytes), (1, 5_000));
    }
    assert_eq!(store.collect(false).await.unwrap().parts, 0);
    assert_eq!(bodies(&store, 1).await[0].len(), 5_002);
}

#[tokio::test]
async fn who_waits_sees_what_was_written_in_the_order_in_which_it_was() {
    let Some(url) = server() else { return };
    let (schema, listening) = told_apart(&url);
    let (one, two) = (schema.open().await, schema.open().await);
    one.create(new_session(1)).await.unwrap();
    let lease = one.lease(&session(1)).await.unwrap();
    let mut follower = Follower::new(Arc::new(two.clone()), session(1), 1);
    for seq in 1..30 {
        let (receipt, seen) = tokio::join!(
            async {
                // The follower is about to wait, or waits.
                tokio::task::yield_now().await;
                one.append(&lease, batch(seq, vec![note(&seq.to_string())])).await.unwrap()
            },
            follower.next()
        );
        let numbers: Vec<u64> = seen.unwrap().iter().map(|(seq, _)| *seq).collect();
        assert_eq!(numbers, [receipt.seq]);
    }
    // The server tells it, or this would have taken half a minute: while nobody tells, one looks each second.
    assert_eq!(schema.rows(&listening).await.len(), 1);
}

/// Returns a schema whose stores name themselves after it, and the statement that finds the process that listens for one.
fn told_apart(url: &str) -> (Schema, String) {
    let mut schema = Schema::new(url);
    schema.way = with(url, &format!("application_name={}", schema.name));
    let listening = format!(
        "SELECT pid, substr(query, 8) AS channel FROM pg_stat_activity
         WHERE query LIKE 'LISTEN %' AND application_name = '{}'",
        schema.name
    );
    (schema, listening)
}

#[tokio::test]
async fn who_waits_is_told_although_the_connection_was_cut_when_it_began_to_listen() {
    let Some(url) = server() else { return };
    let (schema, listening) = told_apart(&url);
    let wire = Wire::to(&schema.way);
    wire.lose("LISTEN \"");
    let store = PostgresStore::open(PostgresOptions::new(&wire.url).schema(&schema.name)).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let seen = store.changed(&session(1), Activity::default()).await.unwrap();
    let waiting = store.clone();
    let waits = tokio::spawn(async move { waiting.changed(&session(1), seen).await });
    while !wire.is_done() || schema.rows(&listening).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    store.post(&session(1), "prompt", "1", trunkline_message_tree::Timestamp(1)).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap().posted, 1);
}

/// One row that another transaction holds stops its own session, and none of those that were to be written with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_held_does_not_stop_the_others() {
    const SESSIONS: u32 = 10;
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    let mut leases = Vec::new();
    for number in 0..SESSIONS {
        store.create(new_session(number)).await.unwrap();
        leases.push(store.lease(&session(number)).await.unwrap());
    }
    let holder = client(&url).await;
    let held =
        format!("BEGIN; SELECT 1 FROM {}.sessions WHERE session = '{}' FOR UPDATE", schema.name, session(3));
    holder.batch_execute(&held).await.unwrap();
    let mut tasks: Vec<_> = (0..)
        .zip(leases)
        .map(|(number, lease): (u32, _)| {
            let store = store.clone();
            let batch = batch(1, vec![note(&number.to_string())]);
            tokio::spawn(async move { store.append(&lease, batch).await })
        })
        .collect();
    let held = tasks.remove(3);
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().seq, 2);
    }
    assert!(!held.is_finished());
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(held.await.unwrap().unwrap().seq, 2);
}

#[tokio::test]
async fn who_waits_is_told_after_its_connection_was_cut() {
    let Some(url) = server() else { return };
    let (schema, listening) = told_apart(&url);
    let (one, two) = (schema.open().await, schema.open().await);
    one.create(new_session(1)).await.unwrap();
    let seen = two.changed(&session(1), Activity::default()).await.unwrap();
    let waits = tokio::spawn(async move { two.changed(&session(1), seen).await });
    while schema.rows(&listening).await.is_empty() {
        tokio::task::yield_now().await;
    }
    run(&url, &format!("SELECT pg_terminate_backend(pid) FROM ({listening}) AS found")).await;
    one.post(&session(1), "prompt", "1", trunkline_message_tree::Timestamp(1)).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap().posted, 1);
}

#[tokio::test]
async fn nobody_listens_for_those_who_went_away_however_much_others_have_to_tell() {
    let Some(url) = server() else { return };
    let (schema, listening) = told_apart(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let seen = store.changed(&session(1), Activity::default()).await.unwrap();
    let waiting = store.clone();
    let waits = tokio::spawn(async move { waiting.changed(&session(1), seen).await });
    while schema.rows(&listening).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    waits.abort();
    let channel: String = schema.rows(&listening).await.first().unwrap().get("channel");
    // It is looked each ten seconds, and the second time in a row ends it.
    let begin = Instant::now();
    while !schema.rows(&listening).await.is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it still listens");
        schema.run(&format!("NOTIFY {channel}, 'something else'")).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test]
async fn a_node_can_be_read_by_its_name_however_many_notes_stand_between() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    store.append(&lease, batch(1, vec![note("1"), node(1, "one"), note("2"), node(2, "two")])).await.unwrap();
    let nodes = [2, 0, 1].map(trunkline_message_tree::NodeId::new);
    let messages = store.messages(&session(1), &nodes).await.unwrap();
    let said: Vec<String> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["two", "be brief", "one"]);
}
