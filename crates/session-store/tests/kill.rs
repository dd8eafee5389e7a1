//! A writer is killed again and again; nothing that it was promised is missing.
//!
//! The writer is this test binary itself, started with the name of one test. A killed process tests process death only:
//! what the loss of power leaves behind is another test's matter.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{Batch, Record, SessionStore, SqliteStore, StoreError};

use crate::material::{new_session, node, note, session, words};

const DATABASE: &str = "TRUNKLINE_TEST_DATABASE";

#[test]
fn a_writer_that_never_stops() {
    // Only as a process of its own, which the test below starts and kills.
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(write_for_ever(Path::new(&path)));
}

/// Appends batches of one node and some notes each, and says so only after the store has.
async fn write_for_ever(path: &Path) {
    let store = SqliteStore::open(path).await.unwrap();
    let lock = store.lock(&session(1)).await.unwrap();
    let info = store.info(&session(1)).await.unwrap();
    let (mut seq, mut head) = (info.records, info.head);
    loop {
        let id = head.index() as u32 + 1;
        let size = 1 + u64::from(id) % 5;
        let mut records = vec![node(id, id - 1, &"x".repeat(100 * size as usize))];
        records.extend((1..size).map(|_| note(&format!("{{\"node\":{id},\"of\":{size}}}"))));
        let letter = store.post(&session(1), "prompt", &id.to_string(), Timestamp(1)).await.unwrap();
        let batch = Batch { expected_seq: seq, expected_head: head, records, consumed: vec![letter] };
        seq = store.append(&lock, batch).await.unwrap().seq;
        head = NodeId::new(id);
        // Past the test harness, which would keep it back.
        let mut out = std::io::stdout().lock();
        writeln!(out, "kept {seq}").and_then(|()| out.flush()).unwrap();
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    store.close().await;
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    for kill in 0..20 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lines = (random >> 33) % 12;
        let pause = Duration::from_micros((random >> 40) % 3000);
        let kept = write_and_kill(&path, lines as usize, pause).await;
        check(&path, kept, kill).await;
    }
}

/// Starts a writer, kills it some time after so many acknowledgements, and returns the last one.
async fn write_and_kill(path: &Path, lines: usize, pause: Duration) -> Option<u64> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::a_writer_that_never_stops", "--nocapture", "--test-threads=1"])
        .env(DATABASE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(writer.stdout.take().unwrap());
    // The harness writes its own words before ours, also on the same line.
    let mut acknowledged = out
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.rsplit_once("kept ").and_then(|(_, seq)| seq.parse::<u64>().ok()));
    let mut kept = acknowledged.by_ref().take(lines).last();
    if lines > 0 {
        let store = SqliteStore::open(path).await.unwrap();
        match store.lock(&session(1)).await {
            Err(StoreError::Locked { holder, .. }) => {
                assert_eq!(holder, Some(format!("process {}", writer.id())))
            }
            other => panic!("the writer holds the lock, but: {other:?}"),
        }
        assert!(store.is_locked(&session(1)).await.unwrap());
    }
    std::thread::sleep(pause);
    writer.kill().unwrap();
    writer.wait().unwrap();
    if let Some(later) = acknowledged.last() {
        kept = Some(later);
    }
    kept
}

async fn check(path: &Path, kept: Option<u64>, kill: u32) {
    let store =
        SqliteStore::open(path).await.unwrap_or_else(|error| panic!("kill {kill}: {}", words(&error)));
    let _lock = store.lock(&session(1)).await.expect("the lock died with its process");
    let log = store.load(&session(1)).await.unwrap_or_else(|error| panic!("kill {kill}: {}", words(&error)));
    assert!(log.info.records >= kept.unwrap_or(1), "kill {kill}: {} of {kept:?} records", log.info.records);
    let mut sizes = Vec::new();
    for (_, record) in &log.records {
        match record {
            Record::Entry(_) => sizes.push(1),
            Record::Note(_) => *sizes.last_mut().unwrap() += 1,
        }
    }
    let whole: Vec<u64> = (0..log.info.nodes).map(|id| if id == 0 { 1 } else { 1 + id % 5 }).collect();
    assert_eq!(sizes, whole, "kill {kill}: every batch is whole");
    // A letter and its batch go together: at most the letter posted last is still there.
    let waiting = store.inbox(&session(1)).await.unwrap();
    let consumed = store.info(&session(1)).await.unwrap().nodes - 1;
    let stale = waiting.iter().filter(|letter| letter.body.parse::<u64>().unwrap() <= consumed).count();
    // Killed between the letter and its batch, the next writer posts another letter for the same node.
    assert!(stale <= kill as usize, "kill {kill}: {waiting:?}");
    store.close().await;
}
