//! What lies on the disk: who may read it, what else may not be touched, what happens when it is full.

use std::fs;

use expect_test::expect;
use trunkline_session_store::{SessionStore, SqliteStore, StoreError};

use crate::material::{batch, loaded, new_session, node, session, words};

#[tokio::test]
async fn a_session_outlives_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lock = store.lock(&session(1)).await.unwrap();
    store.append(&lock, batch(1, 0, vec![node(1, 0, "hello")])).await.unwrap();
    drop(lock);
    let before = loaded(&store, 1).await;
    store.close().await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(loaded(&store, 1).await, before);
    let lock = store.lock(&session(1)).await.unwrap();
    store.append(&lock, batch(2, 1, vec![node(2, 1, "on")])).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_what_is_made() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let _lock = store.lock(&session(1)).await.unwrap();
    let mut modes = String::new();
    for name in
        ["a", "a/b", "a/b/sessions.db", "a/b/sessions.db-wal", "a/b/sessions.db-shm", "a/b/sessions.db.locks"]
    {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        modes += &format!("{mode:o} {name}\n");
    }
    let lock = path.with_file_name(format!("sessions.db.locks/{}.lock", session(1)));
    modes += &format!("{:o} lock\n", fs::metadata(lock).unwrap().permissions().mode() & 0o777);
    expect![[r#"
        700 a
        700 a/b
        600 a/b/sessions.db
        600 a/b/sessions.db-wal
        600 a/b/sessions.db-shm
        700 a/b/sessions.db.locks
        600 lock
    "#]]
    .assert_eq(&modes);
}

#[cfg(unix)]
#[tokio::test]
async fn a_lock_holds_through_a_link_to_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    std::os::unix::fs::symlink(store.path(), folder.path().join("link.db")).unwrap();
    let linked = SqliteStore::open(folder.path().join("link.db")).await.unwrap();
    let _lock = store.lock(&session(1)).await.unwrap();
    assert!(matches!(linked.lock(&session(1)).await, Err(StoreError::Locked { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_make_the_same_database_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let opening: Vec<_> = (1..=8)
        .map(|number| {
            let path = path.clone();
            tokio::spawn(async move {
                let store = SqliteStore::open(path).await.expect("it opens");
                store.create(new_session(number)).await.expect("it can be written");
                let lock = store.lock(&session(number)).await?;
                for seq in 1..=10 {
                    let (id, parent) = (seq as u32, seq as u32 - 1);
                    store.append(&lock, batch(seq, parent, vec![node(id, parent, "x")])).await?;
                }
                Ok::<(), StoreError>(())
            })
        })
        .collect();
    for opened in opening {
        opened.await.unwrap().unwrap();
    }
    let store = SqliteStore::open(&path).await.unwrap();
    let sessions = store.sessions().await.unwrap();
    assert_eq!(sessions.iter().map(|info| info.records).collect::<Vec<_>>(), [11; 8]);
}

#[tokio::test]
async fn a_full_disk_refuses_the_batch_and_spoils_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lock = store.lock(&session(1)).await.unwrap();
    store.set_size_limit(Some(128 * 1024)).await;
    let page = "x".repeat(5000);
    let mut seq = 1;
    let error = loop {
        let head = (seq - 1) as u32;
        let records = vec![node(head + 1, head, &page), node(head + 2, head + 1, &page)];
        match store.append(&lock, batch(seq, head, records)).await {
            Ok(receipt) => seq = receipt.seq,
            Err(error) => break error,
        }
    };
    assert_eq!(words(&error), format!("no room left to write {}", store.path().display()));
    assert!(seq > 3 && seq % 2 == 1, "whole batches only: {seq}");
    assert_eq!(store.info(&session(1)).await.unwrap().records, seq);
    // Still full, still readable, by others too.
    let head = (seq - 1) as u32;
    let large = |text: &str| batch(seq, head, vec![node(head + 1, head, text)]);
    assert!(matches!(store.append(&lock, large(&page.repeat(9))).await, Err(StoreError::Full { .. })));
    assert_eq!(store.load(&session(1)).await.unwrap().records.len() as u64, seq);
    // Room again.
    store.set_size_limit(None).await;
    assert_eq!(store.append(&lock, large(&page)).await.unwrap().seq, seq + 1);
    drop(lock);
    store.close().await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.load(&session(1)).await.unwrap().records.len() as u64, seq + 1);
}

#[tokio::test]
async fn the_bundled_sqlite_has_no_known_way_to_corrupt_a_log() {
    use sqlx::Connection;
    let mut connection = sqlx::SqliteConnection::connect("sqlite::memory:").await.unwrap();
    let version: String =
        sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut connection).await.unwrap();
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    // 3.7.0 to 3.51.2 can corrupt a database when its write-ahead log is reset.
    assert!(numbers >= vec![3, 51, 3], "{version}");
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_was_removed_or_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    for replaced in [false, true] {
        let store = SqliteStore::open(&path).await.unwrap();
        store.create(new_session(1)).await.unwrap();
        let lock = store.lock(&session(1)).await.unwrap();
        fs::remove_file(&path).unwrap();
        if replaced {
            fs::write(&path, "").unwrap();
        }
        let refused = store.append(&lock, batch(1, 0, vec![node(1, 0, "lost")])).await.unwrap_err();
        assert!(matches!(refused, StoreError::Io { .. }), "{refused:?}");
        drop((lock, store));
        for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
    }
}
