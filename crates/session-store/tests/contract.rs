//! What every store promises, asked through two handles on the same sessions.

use std::sync::Arc;

use expect_test::expect;
use trunkline_message_tree::{MessageTree, NodeId, Timestamp};
use trunkline_session_store::{Batch, InboxId, Log, MemoryStore, SessionStore, StoreError};

use crate::material::{batch, filed, head_move, loaded, new_session, node, note, session, show, words};

type Store = Arc<dyn SessionStore>;

/// Runs each function over every store as a test of its name.
macro_rules! contract {
    ($($name:ident)*) => {
        mod memory {
            $(#[tokio::test]
            async fn $name() {
                let store = trunkline_session_store::MemoryStore::new();
                super::$name(std::sync::Arc::new(store.clone()), std::sync::Arc::new(store)).await;
            })*
        }
        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().expect("there is a temporary folder");
                let path = folder.path().join("sessions.db");
                let one = trunkline_session_store::SqliteStore::open(&path).await.expect("it opens");
                let two = trunkline_session_store::SqliteStore::open(&path).await.expect("it opens twice");
                super::$name(std::sync::Arc::new(one), std::sync::Arc::new(two)).await;
            })*
        }
    };
}

contract! {
    what_was_appended_is_loaded_through_any_handle
    a_log_replays_to_the_tree_it_came_from
    a_batch_with_old_expectations_changes_nothing
    a_record_that_no_tree_could_replay_changes_nothing
    a_session_is_made_once_and_only_with_a_root
    a_session_has_one_writer_until_the_lock_is_dropped
    a_lock_of_another_store_is_refused
    a_letter_is_consumed_once_and_only_with_its_batch
    letters_are_not_named_twice
    a_body_must_be_json_on_one_line
    the_session_updated_last_is_listed_first
    a_title_is_changed_without_the_lock
    a_follower_reads_what_came_after
    a_session_that_does_not_exist_is_named_in_the_error
    a_restored_log_is_the_same_and_whole
    an_abandoned_append_is_finished
    an_empty_batch_only_checks
    more_records_than_one_statement_takes_arrive_in_order
}

async fn what_was_appended_is_loaded_through_any_handle(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    let receipt =
        one.append(&lock, batch(1, 0, vec![node(1, 0, "hello"), note("{\"wet\":true}")])).await.unwrap();
    assert_eq!(receipt.seq, 3);
    let more = vec![node(2, 1, "a dead end"), head_move(2, 1), filed(3, 2, "too late"), node(4, 1, "a way")];
    one.append(&lock, batch(3, 1, more)).await.unwrap();
    expect![[r#"
        1 "session 1": 7 records, 5 nodes, head n4, 1 ms to 12 ms
        1 n0 after nothing: be brief
        2 n1 after n0: hello
        3 weather/rain {"wet":true}
        4 n2 after n1: a dead end
        5 head n2 -> n1
        6 n3 filed under n2: too late
        7 n4 after n1: a way
    "#]]
    .assert_eq(&loaded(&*two, 1).await);
}

async fn a_log_replays_to_the_tree_it_came_from(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    let records = vec![node(1, 0, "a"), note("1"), head_move(1, 0), node(2, 0, "b")];
    one.append(&lock, batch(1, 0, records)).await.unwrap();
    let log = two.load(&session(1)).await.unwrap();
    let tree = MessageTree::replay(log.entries().cloned()).unwrap();
    assert_eq!((tree.head(), tree.len()), (log.info.head, 3));
}

async fn a_batch_with_old_expectations_changes_nothing(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    one.append(&lock, batch(1, 0, vec![node(1, 0, "hello")])).await.unwrap();
    let before = loaded(&*two, 1).await;
    let old_seq = one.append(&lock, batch(1, 1, vec![node(2, 1, "x")])).await.unwrap_err();
    expect!["session 00000000-0000-7000-8000-000000000001 is at record 2 with head n1, the batch was made at record 1 with head n1"]
        .assert_eq(&words(&old_seq));
    let old_head = one.append(&lock, batch(2, 0, vec![node(2, 0, "x")])).await.unwrap_err();
    assert!(matches!(old_head, StoreError::Conflict { expected, .. } if expected.head == NodeId::ROOT));
    assert_eq!(loaded(&*two, 1).await, before);
    one.append(&lock, batch(2, 1, vec![node(2, 1, "the store still works")])).await.unwrap();
}

async fn a_record_that_no_tree_could_replay_changes_nothing(one: Store, _: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    let before = loaded(&*one, 1).await;
    for (last, refusal) in [
        (node(3, 1, "x"), "n3 cannot come now: the next node is n2"),
        (node(2, 0, "x"), "the head is n1, the entry was made at n0"),
        (filed(2, 7, "x"), "n7 does not exist; the newest node is n1"),
        (head_move(1, 2), "n2 does not exist; the newest node is n1"),
        (head_move(0, 1), "the head is n1, the entry was made at n0"),
    ] {
        let error = one.append(&lock, batch(1, 0, vec![node(1, 0, "fits"), last])).await.unwrap_err();
        let expected = format!("record 3 does not fit session {}: {refusal}", session(1));
        assert_eq!(words(&error), expected);
        assert_eq!(loaded(&*one, 1).await, before);
    }
}

async fn a_session_is_made_once_and_only_with_a_root(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let again = two.create(new_session(1)).await.unwrap_err();
    assert_eq!(words(&again), format!("session {} exists already", session(1)));
    let mut rootless = new_session(2);
    if let trunkline_session_store::Record::Entry(entry) = node(1, 0, "x") {
        rootless.root = entry;
    }
    let rootless = one.create(rootless).await.unwrap_err();
    assert!(matches!(rootless, StoreError::Misfit { seq: 1, .. }));
    assert_eq!(one.sessions().await.unwrap().len(), 1);
}

async fn a_session_has_one_writer_until_the_lock_is_dropped(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    one.create(new_session(2)).await.unwrap();
    assert!(!two.is_locked(&session(1)).await.unwrap());
    let lock = one.lock(&session(1)).await.unwrap();
    assert!(two.is_locked(&session(1)).await.unwrap());
    for store in [&one, &two] {
        let error = store.lock(&session(1)).await.unwrap_err();
        let holder = std::process::id();
        assert_eq!(words(&error), format!("session {} is being written by process {holder}", session(1)));
    }
    let other = two.lock(&session(2)).await.expect("another session has its own lock");
    drop(lock);
    assert!(!two.is_locked(&session(1)).await.unwrap());
    two.lock(&session(1)).await.expect("it is free again");
    drop(other);
}

async fn a_lock_of_another_store_is_refused(one: Store, _: Store) {
    one.create(new_session(1)).await.unwrap();
    let other = MemoryStore::new();
    other.create(new_session(1)).await.unwrap();
    let lock = other.lock(&session(1)).await.unwrap();
    let error = one.append(&lock, batch(1, 0, vec![node(1, 0, "x")])).await.unwrap_err();
    assert!(matches!(error, StoreError::ForeignLock { .. }));
}

async fn a_letter_is_consumed_once_and_only_with_its_batch(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    let first = two.post(&session(1), "prompt", "\"go on\"", Timestamp(5)).await.unwrap();
    let second = two.post(&session(1), "cancel", "null", Timestamp(4)).await.unwrap();
    let inbox = one.inbox(&session(1)).await.unwrap();
    let shown: Vec<String> =
        inbox.iter().map(|l| format!("{} {} {} at {}", l.id, l.kind, l.body, l.at)).collect();
    assert_eq!(shown, ["1 prompt \"go on\" at 5 ms", "2 cancel null at 4 ms"]);

    let consume =
        |seq, letters: &[InboxId]| Batch { consumed: letters.to_vec(), ..batch(seq, 0, vec![note("1")]) };
    let failed = one.append(&lock, consume(9, &[first])).await.unwrap_err();
    assert!(matches!(failed, StoreError::Conflict { .. }));
    assert_eq!(one.inbox(&session(1)).await.unwrap(), inbox, "a refused batch consumes nothing");
    let unknown = one.append(&lock, consume(1, &[first, InboxId(3)])).await.unwrap_err();
    assert_eq!(words(&unknown), format!("letter 3 is not in the inbox of session {}", session(1)));
    let twice = one.append(&lock, consume(1, &[first, first])).await.unwrap_err();
    assert!(matches!(twice, StoreError::NoSuchLetter { letter: InboxId(1), .. }));
    assert_eq!(one.inbox(&session(1)).await.unwrap(), inbox);

    one.append(&lock, consume(1, &[first])).await.unwrap();
    assert_eq!(two.inbox(&session(1)).await.unwrap(), inbox[1..]);
    let again = one.append(&lock, consume(2, &[first])).await.unwrap_err();
    assert!(matches!(again, StoreError::NoSuchLetter { letter: InboxId(1), .. }));
    one.append(&lock, Batch { records: Vec::new(), ..consume(2, &[second]) }).await.unwrap();
    assert_eq!(two.inbox(&session(1)).await.unwrap(), []);
    assert_eq!(two.info(&session(1)).await.unwrap().records, 2);
}

async fn letters_are_not_named_twice(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    one.create(new_session(2)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    let first = two.post(&session(1), "cancel", "null", Timestamp(1)).await.unwrap();
    let consume = Batch { consumed: vec![first], ..batch(1, 0, Vec::new()) };
    one.append(&lock, consume).await.unwrap();
    assert_eq!(one.post(&session(1), "cancel", "null", Timestamp(1)).await.unwrap(), InboxId(2));
    assert_eq!(one.post(&session(2), "cancel", "null", Timestamp(1)).await.unwrap(), InboxId(1));
}

async fn a_body_must_be_json_on_one_line(one: Store, _: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    for (body, reason) in [
        ("", "it is not JSON"),
        ("{\"open\":", "it is not JSON"),
        (" 1", "there is white space around the JSON"),
        ("[1,\n2]", "the JSON is not on one line"),
    ] {
        let expected =
            |kind| format!("the body of {kind:?} for session {} cannot be kept: {reason}", session(1));
        let note = one.append(&lock, batch(1, 0, vec![note(body)])).await.unwrap_err();
        assert_eq!(words(&note), expected("rain"));
        let letter = one.post(&session(1), "prompt", body, Timestamp(1)).await.unwrap_err();
        assert_eq!(words(&letter), expected("prompt"));
    }
    assert_eq!(one.info(&session(1)).await.unwrap().records, 1);
    assert_eq!(one.inbox(&session(1)).await.unwrap(), []);
}

async fn the_session_updated_last_is_listed_first(one: Store, two: Store) {
    for number in [2, 3, 1] {
        one.create(new_session(number)).await.unwrap();
    }
    let lock = one.lock(&session(1)).await.unwrap();
    one.append(&lock, batch(1, 0, vec![node(1, 0, "at ten")])).await.unwrap();
    let titles: Vec<String> = two.sessions().await.unwrap().into_iter().map(|info| info.title).collect();
    assert_eq!(titles, ["session 1", "session 3", "session 2"]);
}

async fn a_title_is_changed_without_the_lock(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let _lock = one.lock(&session(1)).await.unwrap();
    two.set_title(&session(1), "zwei Wörter\0 und mehr").await.unwrap();
    let info = one.info(&session(1)).await.unwrap();
    assert_eq!((info.title.as_str(), info.records), ("zwei Wörter\0 und mehr", 1));
}

async fn a_follower_reads_what_came_after(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    one.append(&lock, batch(1, 0, vec![node(1, 0, "a"), node(2, 1, "b")])).await.unwrap();
    let after = two.load_after(&session(1), 1).await.unwrap();
    assert_eq!(after, [(2, node(1, 0, "a")), (3, node(2, 1, "b"))]);
    assert_eq!(two.load_after(&session(1), 3).await.unwrap(), []);
    assert_eq!(two.load_after(&session(1), u64::MAX).await.unwrap(), []);
    assert_eq!(two.load_after(&session(1), 0).await.unwrap(), two.load(&session(1)).await.unwrap().records);
}

async fn a_session_that_does_not_exist_is_named_in_the_error(one: Store, _: Store) {
    let id = session(9);
    let errors = [
        one.lock(&id).await.map(drop).unwrap_err(),
        one.is_locked(&id).await.map(drop).unwrap_err(),
        one.load(&id).await.map(drop).unwrap_err(),
        one.load_after(&id, 0).await.map(drop).unwrap_err(),
        one.info(&id).await.map(drop).unwrap_err(),
        one.set_title(&id, "x").await.unwrap_err(),
        one.post(&id, "prompt", "null", Timestamp(1)).await.map(drop).unwrap_err(),
        one.inbox(&id).await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(words(&error), format!("there is no session {id}"));
    }
}

async fn a_restored_log_is_the_same_and_whole(one: Store, two: Store) {
    let origin = MemoryStore::new();
    origin.create(new_session(1)).await.unwrap();
    let lock = origin.lock(&session(1)).await.unwrap();
    let records = vec![node(1, 0, "a"), note("1.50"), head_move(1, 0), filed(2, 1, "b")];
    origin.append(&lock, batch(1, 0, records)).await.unwrap();
    let log = origin.load(&session(1)).await.unwrap();

    let mut torn = log.clone();
    torn.records.remove(1);
    let error = one.restore(torn).await.unwrap_err();
    expect![
        "record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: record 3 stands in its place"
    ]
    .assert_eq(&words(&error));
    let error = one.restore(Log { info: log.info.clone(), records: Vec::new() }).await.unwrap_err();
    expect!["record 0 of session 00000000-0000-7000-8000-000000000001 is damaged: the log ends at record 0 with head n0 with 0 nodes, its info says record 5 with head n0 with 3"]
        .assert_eq(&words(&error));
    assert_eq!(one.sessions().await.unwrap(), []);

    one.restore(log.clone()).await.unwrap();
    assert_eq!(two.load(&session(1)).await.unwrap(), log);
    let again = two.restore(log).await.unwrap_err();
    assert!(matches!(again, StoreError::SessionExists { .. }));
}

async fn an_abandoned_append_is_finished(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    let append = one.append(&lock, batch(1, 0, vec![node(1, 0, "a"), node(2, 1, "b")]));
    tokio::select! {
        biased;
        _ = append => {}
        () = async {} => {} // one step, then nobody waits for it any more
    }
    drop(lock);
    // The write holds on to the lock, so whoever gets it next sees what was written.
    let _next = loop {
        match two.lock(&session(1)).await {
            Ok(lock) => break lock,
            Err(StoreError::Locked { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(two.info(&session(1)).await.unwrap().records, 3);
}

async fn an_empty_batch_only_checks(one: Store, _: Store) {
    one.create(new_session(1)).await.unwrap();
    let lock = one.lock(&session(1)).await.unwrap();
    assert_eq!(one.append(&lock, batch(1, 0, Vec::new())).await.unwrap().seq, 1);
    assert!(matches!(one.append(&lock, batch(2, 0, Vec::new())).await, Err(StoreError::Conflict { .. })));
}

async fn more_records_than_one_statement_takes_arrive_in_order(one: Store, two: Store) {
    one.create(new_session(1)).await.unwrap();
    one.create(new_session(2)).await.unwrap();
    for number in [1, 2] {
        let lock = one.lock(&session(number)).await.unwrap();
        let records = (1..=1000).map(|id| node(id, id - 1, &format!("{number}/{id}"))).collect();
        one.append(&lock, batch(1, 0, records)).await.unwrap();
    }
    let log = two.load(&session(2)).await.unwrap();
    assert_eq!(log.records.len(), 1001);
    assert_eq!(log.records[1000], (1001, node(1000, 999, "2/1000")));
    assert_eq!(show(&log).lines().nth(500).unwrap(), "500 n499 after n498: 2/499");
}
