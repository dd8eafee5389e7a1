//! What a predecessor's session files and event log did wrong, by the numbers of its catalogue of faults.

use std::fs;

use expect_test::expect;
use trunkline_message_tree::{MessageTree, NodeId};
use trunkline_session_store::{
    Batch, Claim, Durability, Log, MemoryStore, Record, SessionId, SessionStore, SqliteStore, StoreError,
    export, import,
};

use crate::material::{batch, filed, head_move, loaded, new_session, node, note, session};
use crate::seed::after_power_loss;

fn tree(log: &Log) -> MessageTree {
    let entries = log.records.iter().filter_map(|(_, record)| match record {
        Record::Entry(entry) => Some(entry.clone()),
        _ => None,
    });
    MessageTree::replay(entries).unwrap()
}

#[tokio::test]
async fn p46_p48_the_head_its_moves_and_the_notes_are_still_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let said = vec![node(1, 0, "go"), node(2, 1, "this way"), node(3, 2, "a dead end")];
    store.append(&lease, batch(1, 0, said)).await.unwrap();
    // The move and what it left behind come in one batch.
    store.append(&lease, batch(4, 3, vec![head_move(3, 1), note("\"a lesson\"")])).await.unwrap();
    let before = loaded(&store, 1).await;
    drop(lease);
    store.close().await;

    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(loaded(&store, 1).await, before);
    expect![[r#"
        1 "session 1": 6 records, 4 nodes, head n1, 1 ms to 12 ms
        1 n0 after nothing: be brief
        2 n1 after n0: go
        3 n2 after n1: this way
        4 n3 after n2: a dead end
        5 head n3 -> n1
        6 weather/rain "a lesson"
    "#]]
    .assert_eq(&before);
    let tree = tree(&store.load(&session(1)).await.unwrap());
    assert_eq!(tree.trunk().ids(), [NodeId::ROOT, NodeId::new(1)]);
    assert_eq!(store.info(&session(1)).await.unwrap().head, tree.head());
    assert_eq!(store.outline(&session(1)).await.unwrap().head(), tree.head());
}

#[tokio::test]
async fn p47_what_a_layer_notes_is_in_the_log_itself_and_in_its_export() {
    let store = MemoryStore::new();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    store
        .append(&lease, batch(1, 0, vec![node(1, 0, "go"), note("\"refused\""), note("\"applied\"")]))
        .await
        .unwrap();
    let mut lines = Vec::new();
    export(&store, &session(1), &mut lines).await.unwrap();
    let elsewhere = MemoryStore::new();
    import(&elsewhere, lines.as_slice()).await.unwrap();
    let shown = loaded(&elsewhere, 1).await;
    assert!(shown.contains("3 weather/rain \"refused\"\n4 weather/rain \"applied\"\n"), "{shown}");
}

#[tokio::test]
async fn p50_numbers_go_on_after_a_restart_and_who_reads_on_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let (mut seen, mut read) = (0, Vec::new());
    for life in 0..3_u32 {
        let store = SqliteStore::open(&path).await.unwrap();
        if life == 0 {
            store.create(new_session(1)).await.unwrap();
        }
        let records = store.info(&session(1)).await.unwrap().records;
        let lease = store.lease(&session(1)).await.unwrap();
        let (id, parent) = (life + 1, life);
        store
            .append(&lease, batch(records, parent, vec![node(id, parent, "more"), note("\"x\"")]))
            .await
            .unwrap();
        for (seq, _) in store.load_after(&session(1), seen).await.unwrap() {
            read.push(seq);
            seen = seq;
        }
        drop(lease);
        store.close().await;
    }
    assert_eq!(read, (1..=7).collect::<Vec<u64>>());
}

#[tokio::test]
async fn p51_a_torn_end_leaves_everything_before_it_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    store.append(&lease, batch(1, 0, vec![node(1, 0, "hello")])).await.unwrap();
    let whole = loaded(&store, 1).await;
    let kept = fs::metadata(path.with_file_name("sessions.db-wal")).unwrap().len();
    store.append(&lease, batch(2, 1, vec![note("\"torn\"")])).await.unwrap();
    let torn = br#"{"seq":3,"layer":"weath"#;
    assert_eq!(after_power_loss(&path, kept, torn).await, whole);
    assert_eq!(after_power_loss(&path, kept + 100, torn).await, whole);
}

#[cfg(unix)]
#[tokio::test]
async fn p52_what_is_acknowledged_is_flushed_and_a_write_that_fails_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let asked: Batch = batch(1, 0, vec![node(1, 0, "hello")]);
    assert_eq!(asked.durability, Durability::Flushed, "unless somebody asks for less");
    let receipt = store.append(&lease, asked).await.unwrap();
    assert_eq!((receipt.seq, receipt.durability), (2, Durability::Flushed));
    // Whoever cannot write says so to whoever asked, and not to a log that nobody reads.
    fs::remove_file(&path).unwrap();
    let refused = store.append(&lease, batch(2, 1, vec![note("\"more\"")])).await;
    assert!(matches!(refused, Err(StoreError::Torn { .. })), "{refused:?}");
}

/// The log of the predecessor held the whole prompt of every turn, and so grew with the square of the conversation.
#[tokio::test]
async fn p53_the_log_grows_with_what_was_said_and_not_with_its_square() {
    let mut bytes = Vec::new();
    for turns in [50_u32, 100, 200] {
        let store = MemoryStore::new();
        store.create(new_session(1)).await.unwrap();
        let lease = store.lease(&session(1)).await.unwrap();
        for id in 1..=turns {
            let said = vec![node(id, id - 1, "some words of a conversation that goes on for a while")];
            store.append(&lease, batch(u64::from(id), id - 1, said)).await.unwrap();
        }
        let mut lines = Vec::new();
        export(&store, &session(1), &mut lines).await.unwrap();
        bytes.push(lines.len());
    }
    let [fifty, hundred, two_hundred] = bytes[..] else { panic!("three sizes") };
    assert!(hundred * 10 < fifty * 22 && two_hundred * 10 < hundred * 22, "{bytes:?}");
}

#[tokio::test]
async fn p54_a_batch_is_kept_whole_or_not_at_all_and_a_second_writer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let before = loaded(&store, 1).await;
    // The last record does not fit: the first two are not kept either.
    let unfit = vec![node(1, 0, "a"), note("\"b\""), filed(3, 1, "c")];
    assert!(matches!(store.append(&lease, batch(1, 0, unfit)).await, Err(StoreError::Misfit { .. })));
    assert_eq!(loaded(&store, 1).await, before);

    // Another process, as far as the store can tell: it cannot overwrite what this one writes.
    let other = SqliteStore::open(&path).await.unwrap();
    assert!(matches!(other.lease(&session(1)).await, Err(StoreError::Locked { .. })));
    store.append(&lease, batch(1, 0, vec![node(1, 0, "mine")])).await.unwrap();
    // Whoever takes the session over ends that one's time as a writer.
    let theirs = other.claim(&session(1), Claim::TakeOver).await.unwrap();
    let late = store.append(&lease, batch(2, 1, vec![note("\"late\"")])).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })));
    // Nor may it write what it made before it saw that.
    let stale = batch(1, 0, vec![node(1, 0, "theirs")]);
    assert!(matches!(other.append(&theirs, stale).await, Err(StoreError::Conflict { .. })));
    assert!(loaded(&store, 1).await.contains("n1 after n0: mine"));
}

#[tokio::test]
async fn p55_the_name_of_a_session_cannot_lead_out_of_its_folder() {
    for name in [
        "../escaped",
        "..",
        "a/b",
        "/etc/passwd",
        "00000000-0000-7000-8000-0000000000/1",
        "00000000-0000-7000-8000-../escaped1",
        "00000000-0000-7000-8000-00000000000A",
        "00000000-0000-7000-8000-000000000001\n",
        "",
    ] {
        assert!(SessionId::parse(name).is_err(), "{name:?}");
        let stored = serde_json::to_string(name).unwrap();
        assert!(serde_json::from_str::<SessionId>(&stored).is_err(), "{name:?}");
    }
    // Nor through an export of somebody else.
    let store = MemoryStore::new();
    store.create(new_session(1)).await.unwrap();
    let mut lines = Vec::new();
    export(&store, &session(1), &mut lines).await.unwrap();
    let escaped = String::from_utf8(lines).unwrap().replace(session(1).as_str(), "../escaped");
    assert!(import(&MemoryStore::new(), escaped.as_bytes()).await.is_err());
}
