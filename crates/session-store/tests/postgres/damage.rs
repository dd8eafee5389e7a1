//! Imports that were cut off, and rows that somebody changed.

use std::sync::mpsc;
use std::time::Duration;

use trunkline_message_tree::Timestamp;
use trunkline_session_store::{
    Batch, Claim, Header, ImportError, InboxId, Kept, Position, PostgresStore, Record, Restoring,
    SessionStore, Snapshot, StoreError, Tally,
};

use super::made::{append_notes, new_session, note, session};
use super::{Schema, server};

const RECORDS: u64 = 3_000;

/// A session of some chunks, and its header.
fn long() -> (Header, Vec<Kept>) {
    let new = new_session(1);
    let mut tally = Tally::new(&new.id, Timestamp(1));
    let notes = (1..RECORDS).map(|number| note(&format!("\"{}{number}\"", "x".repeat(3_500))));
    let records = std::iter::once(Record::Entry(new.root)).chain(notes);
    let kept = records.map(|record| tally.add(&new.id, record).unwrap()).collect();
    let header = Header {
        id: new.id,
        title: new.title,
        tags: Default::default(),
        archived: false,
        workspace: None,
        created_at: new.at,
        head: tally.head,
        records: tally.seq,
        nodes: tally.nodes,
        digest: Some(tally.digest),
    };
    (header, kept)
}

/// Imports it up to a record, says that it is there, and goes on when it is told to.
fn import_that_hangs(
    url: &str,
    schema: &Schema,
) -> (std::thread::JoinHandle<Result<(), ImportError>>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (says, said) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    // Long enough that no sign of life comes by itself.
    let options = trunkline_session_store::PostgresOptions::new(url).schema(&schema.name);
    let options = options.lease_ttl(Duration::from_secs(3_600));
    let importing = std::thread::spawn(move || {
        super::runtime().block_on(async {
            let store = PostgresStore::open(options).await.unwrap();
            let (header, kept) = long();
            let mut rows = kept.into_iter().map(move |kept| {
                if kept.seq == RECORDS - 5 {
                    says.send(()).unwrap();
                    let _ = goes.recv();
                }
                Ok(kept)
            });
            store.restore(Restoring::new(header, &mut rows)).await.map(drop)
        })
    });
    (importing, said, go)
}

#[test]
fn an_import_whose_process_died_is_seen_by_nobody_and_collected() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (importing, said, go) = import_that_hangs(&url, &schema);
    said.recv().unwrap();
    super::runtime().block_on(async {
        let store = schema.open().await;
        assert_eq!(store.sessions().await.unwrap(), []);
        assert!(matches!(store.info(&session(1)).await, Err(StoreError::UnknownSession { .. })));
        assert!(matches!(store.lease(&session(1)).await, Err(StoreError::UnknownSession { .. })));
        assert!(matches!(store.read(&session(1), 0, 9).await, Err(StoreError::UnknownSession { .. })));
        assert!(matches!(store.delete(&session(1)).await, Err(StoreError::UnknownSession { .. })));
        assert_eq!(store.collect(false).await.unwrap().imports, 0, "it is alive");
        assert!(!schema.rows("SELECT FROM @records").await.is_empty());
        schema.run("UPDATE @owners SET alive_until = 'epoch'").await;
        for dry_run in [true, false] {
            assert_eq!(store.collect(dry_run).await.unwrap().imports, 1);
        }
        for table in ["sessions", "records", "bodies", "parts", "keys", "letters"] {
            assert!(schema.rows(&format!("SELECT FROM @{table}")).await.is_empty(), "{table}");
        }
    });
    drop(go);
    // It was not dead after all: it finds nothing to go on with, and leaves nothing.
    let refused = importing.join().unwrap().unwrap_err();
    assert!(matches!(refused, ImportError::Store { .. }), "{refused}");
    super::runtime().block_on(async {
        assert!(schema.rows("SELECT FROM @records").await.is_empty());
    });
}

#[test]
fn an_import_whose_process_died_makes_way_for_the_next() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let (importing, said, go) = import_that_hangs(&url, &schema);
    said.recv().unwrap();
    super::runtime().block_on(async {
        let store = schema.open().await;
        let taken = store.create(new_session(1)).await.unwrap_err();
        assert!(matches!(taken, StoreError::SessionExists { .. }), "{taken}");
        schema.run("UPDATE @owners SET alive_until = 'epoch'").await;
        store.create(new_session(1)).await.unwrap();
    });
    drop(go);
    importing.join().unwrap().unwrap_err();
    super::runtime().block_on(async {
        let store = schema.open().await;
        assert_eq!(store.verify(&session(1)).await.unwrap().records, 1);
        assert_eq!(schema.rows("SELECT FROM @records").await.len(), 1);
    });
}

#[tokio::test]
async fn an_import_that_was_given_up_leaves_nothing() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    let (header, kept) = long();
    {
        let mut rows = kept.clone().into_iter().map(Ok);
        let mut import = std::pin::pin!(store.restore(Restoring::new(header.clone(), &mut rows)));
        let begun = async { while schema.rows("SELECT FROM @records").await.is_empty() {} };
        tokio::select! {
            biased;
            () = begun => {}
            done = import.as_mut() => panic!("it was faster than we: {done:?}"),
        }
    }
    // At once again: what the first one left makes way.
    let mut rows = kept.into_iter().map(Ok);
    store.restore(Restoring::new(header, &mut rows)).await.unwrap();
    assert_eq!(store.verify(&session(1)).await.unwrap().records, RECORDS);
}

#[tokio::test]
async fn rows_that_somebody_changed_are_named() {
    let Some(url) = server() else { return };
    for (change, named) in [
        ("UPDATE @bodies SET text = '\"3 \"' WHERE seq = 4", "chain 4"),
        ("UPDATE @records SET at = at + 1 WHERE seq = 4", "chain 4"),
        ("UPDATE @records SET digest = decode(repeat('00', 32), 'hex') WHERE seq = 4", "chain 4"),
        ("UPDATE @records SET digest = 'short' WHERE seq = 4", "bad 4"),
        ("UPDATE @records SET kind = 7 WHERE seq = 4", "bad 4"),
        ("UPDATE @records SET layer = NULL WHERE seq = 4", "bad 4"),
        ("DELETE FROM @bodies WHERE seq = 4", "bad 4"),
        ("DELETE FROM @records WHERE seq = 4", "bad 4"),
        ("DELETE FROM @records WHERE seq = 6", "bad 6"),
        ("UPDATE @bodies SET cuts = 'short' WHERE seq = 4", "bad 4"),
        ("UPDATE @bodies SET cuts = decode(repeat('ff', 40), 'hex') WHERE seq = 4", "bad 4"),
        ("UPDATE @sessions SET records = 5", "bad 5"),
        ("UPDATE @sessions SET digest = 'short'", "corrupt"),
        ("UPDATE @sessions SET head = -7", "corrupt"),
    ] {
        let schema = Schema::new(&url);
        let store = schema.open().await;
        store.create(new_session(1)).await.unwrap();
        let lease = store.lease(&session(1)).await.unwrap();
        append_notes(&store, &lease, 1, 5).await.unwrap();
        store.verify(&session(1)).await.unwrap();
        schema.run(change).await;
        let found = match store.verify(&session(1)).await.unwrap_err() {
            StoreError::BrokenChain { seq, .. } => format!("chain {seq}"),
            StoreError::BadRecord { seq, .. } => format!("bad {seq}"),
            StoreError::Corrupt { .. } => "corrupt".to_owned(),
            other => panic!("{change}: {other}"),
        };
        assert_eq!(found, named, "{change}");
    }
}

/// A session that is hidden, or whose folder, title or time was changed, is told and not taken for an import or a session.
#[tokio::test]
async fn what_a_row_says_of_its_session_is_sealed() {
    let Some(url) = server() else { return };
    for statement in [
        "UPDATE @sessions SET complete = false",
        "UPDATE @sessions SET workspace = '/elsewhere'",
        "UPDATE @sessions SET title = 'another'",
        "UPDATE @sessions SET created_at = 7",
    ] {
        let schema = Schema::new(&url);
        let store = schema.open().await;
        store.create(new_session(1)).await.unwrap();
        store.amend(&session(1), trunkline_session_store::Amend::tags(["rain"])).await.unwrap();
        store.verify(&session(1)).await.unwrap();
        schema.run(statement).await;
        assert!(matches!(store.sessions().await, Err(StoreError::Corrupt { .. })), "{statement}");
        assert!(matches!(store.info(&session(1)).await, Err(StoreError::Corrupt { .. })), "{statement}");
        assert_eq!(store.collect(false).await.unwrap().imports, 0, "{statement}");
        assert!(matches!(store.create(new_session(1)).await, Err(StoreError::SessionExists { .. })));
        // Whoever has looked says that it may stay so.
        schema.run("UPDATE @sessions SET seal = NULL, complete = true").await;
        assert_eq!(store.sessions().await.unwrap().len(), 1, "{statement}");
    }
}

/// What waits is what was posted, waits still, and is in the inbox that it was posted to.
#[tokio::test]
async fn letters_are_sealed_while_they_wait() {
    let Some(url) = server() else { return };
    for (change, letter) in [
        ("body = '\"wasting\"' WHERE letter = 2", 2),
        ("kind = 'cancel' WHERE letter = 2", 2),
        ("at = 7 WHERE letter = 2", 2),
        ("letter = 7 WHERE letter = 2", 7),
        ("session = '00000000-0000-7000-8000-000000000002', letter = 7 WHERE letter = 2", 7),
        ("consumed = 2 WHERE letter = 2", 2),
        ("consumed = NULL WHERE letter = 1", 1),
        ("seal = sha256('x') WHERE letter = 2", 2),
    ] {
        let schema = Schema::new(&url);
        let store = schema.open().await;
        for number in [1, 2] {
            store.create(new_session(number)).await.unwrap();
        }
        let lease = store.lease(&session(1)).await.unwrap();
        for number in 1..=2 {
            store
                .post(&session(1), "prompt", &format!("\"w\u{e4}iting {number}\""), Timestamp(number))
                .await
                .unwrap();
        }
        let (head, first) = (store.info(&session(1)).await.unwrap().head, InboxId(1));
        let batch = |seq, letter| Batch::new(Position { seq, head }, vec![note("1")]).consuming([letter]);
        store.append(&lease, batch(1, first)).await.unwrap();
        let waiting = store.inbox(&session(1)).await.unwrap();
        assert_eq!(waiting.len(), 1);
        schema.run(&format!("UPDATE @letters SET {change}")).await;
        let place = if change.starts_with("session") { session(2) } else { session(1) };
        let told = format!("letter {letter} in the inbox of session {place}: ");
        for error in [
            store.inbox(&place).await.map(drop).unwrap_err(),
            store.verify(&place).await.map(drop).unwrap_err(),
            store.letter(&place, InboxId(letter)).await.map(drop).unwrap_err(),
        ] {
            let is_told = matches!(&error, StoreError::Corrupt { reason, .. } if reason.contains(&told));
            assert!(is_told, "{change}: {error}");
        }
        if place == session(1) {
            let refused = store.append(&lease, batch(2, InboxId(letter))).await.unwrap_err();
            assert!(matches!(refused, StoreError::Corrupt { .. }), "{change}: {refused}");
        }
        // Nothing else hangs on it.
        assert_eq!(store.load(&session(1)).await.unwrap().records.len(), 2);
        assert_eq!(store.sessions().await.unwrap().len(), 2);
        append_notes(&store, &lease, 2, 3).await.unwrap();
        // Whoever has looked says that it may stay so.
        schema.run("UPDATE @letters SET seal = NULL").await;
        store.inbox(&place).await.unwrap();
    }
}

#[tokio::test]
async fn letters_of_an_older_schema_are_sealed_as_they_stand() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(include_str!("seed_1.sql")).await;
    schema.migrate().await;
    let store = schema.open().await;
    let waiting = store.inbox(&session(1)).await.unwrap();
    assert_eq!(waiting.len(), 1);
    // What was consumed before does not wait again.
    schema.run("UPDATE @letters SET consumed = NULL WHERE letter = 1").await;
    let again = store.inbox(&session(1)).await.unwrap_err();
    let told = "letter 1 in the inbox of session 00000000-0000-7000-8000-000000000001: it waits, and was";
    assert!(matches!(&again, StoreError::Corrupt { reason, .. } if reason.contains(told)), "{again}");
    schema.run("UPDATE @letters SET consumed = 11 WHERE letter = 1").await;
    assert_eq!(store.inbox(&session(1)).await.unwrap(), waiting);
    schema.run("UPDATE @letters SET body = '1' WHERE consumed IS NULL").await;
    assert!(matches!(store.inbox(&session(1)).await, Err(StoreError::Corrupt { .. })));
    // What an older version still posts has no seal, and is believed.
    schema.run("UPDATE @letters SET seal = NULL").await;
    assert_eq!(store.inbox(&session(1)).await.unwrap().len(), 1);
}

/// What was put away is not waited for: it keeps no session from being pruned, and what is only hidden does.
#[tokio::test]
async fn a_session_whose_letter_was_put_away_can_be_pruned() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    store.post(&session(1), "prompt", "\"waiting\"", Timestamp(2)).await.unwrap();
    let seen = store.info(&session(1)).await.unwrap();
    for change in ["body = '1'", "consumed = 1"] {
        schema.run(&format!("UPDATE @letters SET {change}")).await;
        assert!(matches!(store.inbox(&session(1)).await, Err(StoreError::Corrupt { .. })), "{change}");
        let refused = store.delete_idle(&seen).await.unwrap_err();
        assert!(matches!(refused, StoreError::Changed { .. }), "{change}: {refused}");
    }
    schema.run("DELETE FROM @letters").await;
    store.delete_idle(&seen).await.unwrap();
    assert_eq!(store.sessions().await.unwrap(), []);
}

/// A snapshot that is not what was kept, or cannot be read, is as good as none.
#[tokio::test]
async fn a_snapshot_that_was_not_kept_is_not_given_back() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let receipt = append_notes(&store, &lease, 1, 9).await.unwrap();
    let kept = Snapshot::new(receipt.seq, receipt.digest, 7, b"spine".to_vec());
    for change in [
        "UPDATE @snapshots SET bytes = 'spinf'::bytea",
        "UPDATE @snapshots SET form = 8",
        "UPDATE @snapshots SET form = -1",
        "UPDATE @snapshots SET seal = ''::bytea",
        "UPDATE @snapshots SET digest = seal",
        "UPDATE @snapshots SET seq = 9",
        "UPDATE @snapshots SET (seq, digest) = (SELECT seq, digest FROM @records WHERE seq = 9)",
        "DELETE FROM @snapshots",
        "ALTER TABLE @snapshots RENAME COLUMN bytes TO sizes",
    ] {
        store.keep_snapshot(&lease, kept.clone()).await.unwrap();
        assert_eq!(store.snapshot(&session(1)).await.unwrap(), Some(kept.clone()));
        schema.run(change).await;
        assert_eq!(store.snapshot(&session(1)).await.unwrap(), None, "{change}");
        assert_eq!(store.verify(&session(1)).await.unwrap().records, 10, "{change}");
    }
}

#[tokio::test]
async fn a_schema_of_version_3_gets_a_place_for_snapshots() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let receipt = append_notes(&store, &lease, 1, 3).await.unwrap();
    drop(lease);
    store.close().await;
    schema.run("DROP TABLE @snapshots; UPDATE @store SET version = 3").await;
    schema.migrate().await;
    let store = schema.open().await;
    assert_eq!(store.snapshot(&session(1)).await.unwrap(), None);
    let lease = store.claim(&session(1), Claim::TakeOver).await.unwrap();
    let kept = Snapshot::new(receipt.seq, receipt.digest, 1, vec![0; 100_000]);
    store.keep_snapshot(&lease, kept.clone()).await.unwrap();
    assert_eq!(store.snapshot(&session(1)).await.unwrap(), Some(kept));
}
