//! How leases, imports, readers and waits on SQLite end: also where that cannot be written at once, and where the store
//! went first.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{
    Activity, Amend, Batch, MemoryStore, Position, SessionStore, SqliteStore, StoreError, export, import,
};

use crate::damage::{append, new_session, node, session, sql};

/// A table that no transaction gets past: one that writes into it fails when it commits.
const WALL: &str = "
CREATE TABLE gates (gate INTEGER PRIMARY KEY);
CREATE TABLE wall (gate INTEGER REFERENCES gates DEFERRABLE INITIALLY DEFERRED);
";

/// Longer than what fits in a test's patience, and no bar.
const LONG: Duration = Duration::from_secs(60);

/// The lines of a session that is taken in chunk by chunk.
async fn large(number: u32) -> Vec<u8> {
    let store = MemoryStore::new();
    store.create(new_session(number)).await.unwrap();
    let lease = store.lease(&session(number)).await.unwrap();
    for id in 1..=10 {
        let at = Position { seq: u64::from(id), head: NodeId::new(id - 1) };
        let text = format!("{id}").repeat(1 << 20);
        store.append(&lease, Batch::new(at, vec![node(id, id - 1, &text)])).await.unwrap();
    }
    let mut lines = Vec::new();
    export(&store, &session(number), &mut lines).await.unwrap();
    lines
}

/// Waits for whatever stands in line, and for what that brought into it.
async fn settled(store: &SqliteStore, number: u32) -> Result<(), StoreError> {
    for _ in 0..2 {
        store.post(&session(number), "prompt", "null", Timestamp(1)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_import_whose_beginning_was_not_committed_removes_nobody_who_got_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    let refuse = "CREATE TRIGGER no_import AFTER INSERT ON sessions WHEN NOT new.whole BEGIN INSERT INTO wall VALUES (1); END;";
    sql(store.path(), &format!("{WALL}{refuse}")).await;
    let lines = large(1).await;
    let (imported, created) = tokio::join!(import(&store, lines.as_slice()), store.create(new_session(2)));
    imported.unwrap_err();
    created.unwrap();
    settled(&store, 2).await.unwrap();
    assert_eq!(store.load(&session(2)).await.unwrap().records.len(), 1);
    sql(store.path(), "DROP TRIGGER no_import").await;
    import(&store, lines.as_slice()).await.unwrap();
    store.verify(&session(1)).await.unwrap();
}

/// Notes that a future wants to be asked again.
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn an_import_that_is_given_up_at_any_moment_is_there_wholly_or_not_at_all() {
    let lines = large(1).await;
    let mut answers = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
        let other = SqliteStore::open(store.path()).await.unwrap();
        store.create(new_session(2)).await.unwrap();
        let woken = Arc::new(Woken(Notify::new()));
        let waker = Waker::from(Arc::clone(&woken));
        let mut importing = Box::pin(import(&store, lines.as_slice()));
        let mut ended = false;
        // It is given up when so many of its steps were answered, before it knows of the last.
        for _ in 0..=answers {
            ended = importing.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            if ended {
                break;
            }
            woken.0.notified().await;
        }
        let found = other.info(&session(1)).await;
        drop(importing);
        let lease = other.lease(&session(1)).await;
        settled(&store, 2).await.unwrap();
        assert_eq!(found.is_ok(), lease.is_ok());
        if found.is_ok() {
            store.verify(&session(1)).await.unwrap();
        } else {
            import(&other, lines.as_slice()).await.unwrap();
        }
        if ended {
            break;
        }
        answers += 1;
    }
    assert!(answers >= 4, "an import of several chunks has more than {answers} steps");
}

#[tokio::test]
async fn a_lease_whose_end_could_not_be_written_is_free_as_soon_as_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    let other = SqliteStore::open(store.path()).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let kept = store.lease(&session(1)).await.unwrap();
    let refuse = "CREATE TRIGGER no_end BEFORE UPDATE OF owner ON sessions WHEN new.owner IS NULL
                  BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
    sql(store.path(), refuse).await;
    drop(kept);
    settled(&store, 1).await.unwrap();
    assert!(matches!(other.lease(&session(1)).await, Err(StoreError::Locked { .. })));
    sql(store.path(), "DROP TRIGGER no_end").await;
    let freed = async {
        // Nothing more is written through the store that held it.
        while let Err(error) = other.lease(&session(1)).await {
            assert!(matches!(error, StoreError::Locked { .. }), "{error}");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, freed).await.unwrap();
}

#[tokio::test]
async fn a_claim_that_was_not_committed_frees_nobody_who_got_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    let other = SqliteStore::open(store.path()).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let refuse = "CREATE TRIGGER no_claim AFTER UPDATE OF owner ON sessions
                  WHEN new.owner IS NOT NULL AND new.title = 'session 1' BEGIN INSERT INTO wall VALUES (1); END;";
    sql(store.path(), &format!("{WALL}{refuse}")).await;
    let id = session(1);
    let (refused, amended, held) =
        tokio::join!(store.lease(&id), store.amend(&id, Amend::title("another")), store.lease(&id));
    refused.unwrap_err();
    amended.unwrap();
    let held = held.unwrap();
    settled(&store, 1).await.unwrap();
    assert!(matches!(other.lease(&id).await, Err(StoreError::Locked { .. })));
    append(&store, &held, vec![node(1, 0, "still mine")]).await.unwrap();
}

#[tokio::test]
async fn many_readers_of_large_bodies_do_not_wait_for_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let text = "large ".repeat(1000);
    let records = (1..=300).map(|id| node(id, id - 1, if id % 3 == 0 { &text } else { "small" })).collect();
    append(&store, &lease, records).await.unwrap();
    let id = session(1);
    let load = || store.load(&id);
    let (one, two, three, four) = tokio::join!(load(), load(), load(), load());
    for log in [one, two, three, four] {
        assert_eq!(log.unwrap().records.len(), 301);
    }
    sql(store.path(), "DELETE FROM records WHERE seq = 301").await;
    let (one, two, three, four) = tokio::join!(load(), load(), load(), load());
    for log in [one, two, three, four] {
        assert!(matches!(log, Err(StoreError::BadRecord { seq: 301, .. })), "{log:?}");
    }
}

/// Returns how often this process has a file open.
#[cfg(target_os = "linux")]
fn times_open(path: &Path) -> usize {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    files.filter(|file| std::fs::read_link(file.path()).is_ok_and(|found| found == path)).count()
}

/// Asks a future once.
async fn asked<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Poll<T> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_long_as_a_dropped_store_has_files_open_nobody_else_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let path = store.path().to_owned();
    let lock = std::fs::File::open(format!("{}.locks/open", path.display())).unwrap();
    let id = session(1);
    let seen = store.changed(&id, Activity::default()).await.unwrap();
    let mut waiting = Box::pin(store.changed(&id, seen));
    // One that writes, one that reads, one that watches.
    while times_open(&path) < 3 {
        assert!(asked(&mut waiting).await.is_pending());
        tokio::task::yield_now().await;
    }
    // A connection is given its part of the lock when it has been made, after its files are open.
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err(), "nothing changed");
    drop(waiting);
    drop(store);
    let gone = async {
        loop {
            let is_alone = lock.try_lock().is_ok();
            let times = times_open(&path);
            assert!(!is_alone || times == 0, "somebody is alone while the database is open {times} times");
            if is_alone {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_connection_watches_however_often_somebody_begins_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let id = session(1);
    let seen = store.changed(&id, Activity::default()).await.unwrap();
    let mut most = 0;
    for _ in 0..200 {
        let _ = tokio::time::timeout(Duration::from_millis(1), store.changed(&id, seen)).await;
        most = most.max(times_open(store.path()));
    }
    // One that writes, three that read, one that watches, and some that are being closed.
    assert!(most <= 9, "the database is open {most} times");
    // It still watches.
    let other = SqliteStore::open(store.path()).await.unwrap();
    let mut waiting = Box::pin(store.changed(&id, seen));
    assert!(asked(&mut waiting).await.is_pending());
    other.post(&id, "prompt", "null", Timestamp(1)).await.unwrap();
    tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
}

#[tokio::test]
async fn whoever_waits_hears_that_the_store_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let (id, other) = (session(1), store.clone());
    let seen = other.changed(&id, Activity::default()).await.unwrap();
    let mut waiting = Box::pin(other.changed(&id, seen));
    for _ in 0..100 {
        assert!(asked(&mut waiting).await.is_pending());
        tokio::task::yield_now().await;
    }
    let both = async { tokio::join!(waiting, store.close()) };
    let (heard, ()) = tokio::time::timeout(LONG, both).await.unwrap();
    heard.unwrap_err();
}
