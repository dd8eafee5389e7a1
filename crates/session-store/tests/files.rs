//! What lies on the disk: who may read it, and what is not written to.

use std::fs;

use expect_test::expect;
use trunkline_message_tree::NodeId;
use trunkline_session_store::{Batch, Position, SessionStore, SqliteStore, StoreError};

use crate::damage::{append, new_session, node, session};

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_what_is_made() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let _lease = store.lease(&session(1)).await.unwrap();
    let mut modes = String::new();
    for name in
        ["a", "a/b", "a/b/sessions.db", "a/b/sessions.db-wal", "a/b/sessions.db-shm", "a/b/sessions.db.locks"]
    {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        modes += &format!("{mode:o} {name}\n");
    }
    for entry in fs::read_dir(path.with_file_name("sessions.db.locks")).unwrap().flatten() {
        modes += &format!("{:o} lock\n", entry.metadata().unwrap().permissions().mode() & 0o777);
    }
    expect![[r#"
        700 a
        700 a/b
        600 a/b/sessions.db
        600 a/b/sessions.db-wal
        600 a/b/sessions.db-shm
        700 a/b/sessions.db.locks
        600 lock
        600 lock
    "#]]
    .assert_eq(&modes);
}

#[cfg(unix)]
#[tokio::test]
async fn a_lease_holds_through_a_link_to_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    std::os::unix::fs::symlink(store.path(), folder.path().join("link.db")).unwrap();
    let linked = SqliteStore::open(folder.path().join("link.db")).await.unwrap();
    assert_eq!(linked.path(), store.path());
    let _lease = store.lease(&session(1)).await.unwrap();
    assert!(matches!(linked.lease(&session(1)).await, Err(StoreError::Locked { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_make_the_same_database_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let opening: Vec<_> = (1..=8)
        .map(|number| {
            let path = path.clone();
            tokio::spawn(async move {
                let store = SqliteStore::open(path).await?;
                assert_eq!(store.opened().to_string(), "");
                store.create(new_session(number)).await?;
                let lease = store.lease(&session(number)).await?;
                for id in 1..=10 {
                    append(&store, &lease, vec![node(id, id - 1, "x")]).await?;
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
        let lease = store.lease(&session(1)).await.unwrap();
        fs::remove_file(&path).unwrap();
        if replaced {
            fs::write(&path, "").unwrap();
        }
        let at = Position { seq: 1, head: NodeId::ROOT };
        let refused = store.append(&lease, Batch::new(at, vec![node(1, 0, "lost")])).await.unwrap_err();
        assert!(matches!(refused, StoreError::Torn { .. }), "{refused:?}");
        drop(lease);
        store.close().await;
        for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
    }
}

/// Alone in its batch, as a compaction is: what is written most often takes the shortest way to the disk.
#[tokio::test]
async fn a_node_that_names_others_comes_back_from_the_disk_as_it_was() {
    use trunkline_message_tree::{Entry, Link, Timestamp};
    use trunkline_session_store::Record;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let [one, two, three] = [1, 2, 3].map(NodeId::new);
    let linked = |record: Record, link: Link| match record {
        Record::Entry(Entry::Node { id, parent, at, message, .. }) => {
            Record::Entry(Entry::Node { id, parent, at, link, message })
        }
        other => other,
    };
    let written = vec![
        node(1, 0, "go"),
        node(2, 1, "there"),
        linked(node(3, 2, "both"), Link::Cover { from: one }),
        Record::Entry(Entry::Move(trunkline_message_tree::HeadMove {
            from: two,
            to: one,
            kind: trunkline_message_tree::MoveKind::Fork,
            at: Timestamp(1),
        })),
        linked(node(4, 1, "merged"), Link::Merge { with: vec![two, three] }),
    ];
    for record in &written {
        append(&store, &lease, vec![record.clone()]).await.unwrap();
    }
    store.verify(&session(1)).await.unwrap();
    drop(lease);
    store.close().await;
    let store = SqliteStore::open(&path).await.unwrap();
    let log = store.load(&session(1)).await.unwrap();
    let read: Vec<Record> = log.records.into_iter().skip(1).map(|(_, record)| record).collect();
    assert_eq!(read, written);
}

/// Kept open under another name, with a note that stands in the log alone.
#[cfg(unix)]
async fn moved_away(folder: &std::path::Path, to: &std::path::Path) -> (std::path::PathBuf, StoreError) {
    let path = folder.canonicalize().unwrap().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    append(&store, &lease, vec![node(1, 0, "kept")]).await.unwrap();
    fs::rename(&path, to).unwrap();
    let at = Position { seq: 2, head: NodeId::new(1) };
    let refused = store.append(&lease, Batch::new(at, vec![node(2, 1, "not kept")])).await.unwrap_err();
    drop(lease);
    store.close().await;
    (path, refused)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_database_that_is_moved_away_is_brought_together_with_its_log() {
    use trunkline_session_store::doctor::{join, mend};

    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().canonicalize().unwrap().join("elsewhere.db");
    let (path, refused) = moved_away(folder.path(), &to).await;
    let told = refused.to_string().replace(&format!("{}/", to.parent().unwrap().display()), "");
    expect![[
        "sessions.db is torn apart: the database was moved to elsewhere.db while it was open; its write-ahead log with 2 \
         records that are nowhere else is still sessions.db-wal"
    ]]
    .assert_eq(&told);
    // Nobody makes a new one where the log is, and nobody takes the moved one for all there is.
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(&error, StoreError::Torn { database: None, log: Some(_), .. }), "{error:?}");
    assert!(!path.exists());
    join(&path, &to).await.unwrap();
    let mended = mend(&to).await.unwrap();
    assert!(mended.is_whole(), "{mended}");
    let store = SqliteStore::open(&to).await.unwrap();
    assert_eq!(store.verify(&session(1)).await.unwrap().records, 2);
    store.close().await;
    assert!(matches!(join(&path, &to).await, Err(StoreError::Torn { .. })), "there is nothing left to join");
}

/// Whoever has made another database meanwhile keeps it, and nobody joins its log with the moved one.
#[cfg(unix)]
#[tokio::test]
async fn the_log_of_another_database_is_not_brought_to_the_moved_one() {
    use trunkline_session_store::doctor::join;

    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("elsewhere.db");
    let (path, _) = moved_away(folder.path(), &to).await;
    fs::write(&path, "something else").unwrap();
    assert!(matches!(join(&path, &to).await, Err(StoreError::Torn { .. })));
    fs::remove_file(&path).unwrap();
    fs::write(format!("{}-wal", to.display()), "of its own").unwrap();
    assert!(matches!(join(&path, &to).await, Err(StoreError::Torn { .. })));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_is_renamed_takes_the_log_along() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let store = SqliteStore::open(old.join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    fs::rename(&old, &new).unwrap();
    let at = Position { seq: 1, head: NodeId::ROOT };
    let refused = store.append(&lease, Batch::new(at, vec![node(1, 0, "lost")])).await.unwrap_err();
    let StoreError::Torn { database: Some(database), log: None, .. } = refused else { panic!("{refused:?}") };
    drop(lease);
    store.close().await;
    let store = SqliteStore::open(&database).await.unwrap();
    assert_eq!(store.sessions().await.unwrap().len(), 1);
}

/// Nothing more is acknowledged into a log that has no name, and what was is in the database.
#[cfg(unix)]
#[tokio::test]
async fn a_log_that_is_removed_takes_nothing_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    append(&store, &lease, vec![node(1, 0, "kept")]).await.unwrap();
    fs::remove_file(folder.path().join("sessions.db-wal")).unwrap();
    let at = Position { seq: 2, head: NodeId::new(1) };
    let refused = store.append(&lease, Batch::new(at, vec![node(2, 1, "refused")])).await.unwrap_err();
    assert!(refused.to_string().ends_with("what it held was written into the database"), "{refused}");
    drop(lease);
    store.close().await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.opened().to_string(), "");
    assert_eq!(store.verify(&session(1)).await.unwrap().records, 2);
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_no_file_is_refused_before_anything_is_made_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let _socket = std::os::unix::net::UnixListener::bind(place("socket")).unwrap();
    fs::create_dir(place("folder")).unwrap();
    for (name, to) in [("null", "/dev/null"), ("zero", "/dev/zero")] {
        std::os::unix::fs::symlink(to, place(name)).unwrap();
    }
    let made = std::process::Command::new("mkfifo").arg(place("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()));
    for name in ["socket", "folder", "null", "zero", "pipe"] {
        let error = SqliteStore::open(place(name)).await.unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{name}: {error}");
        let error = trunkline_session_store::doctor::examine(place(name)).await.unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{name}: {error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing was made");
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_no_file_beside_a_database_is_named_and_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    SqliteStore::open(&path).await.unwrap().close().await;
    for ending in ["-journal", "-wal", "-shm"] {
        let beside = folder.path().join(format!("sessions.db{ending}"));
        for kind in ["mkfifo", "mkdir"] {
            let made = std::process::Command::new(kind).arg(&beside).status();
            assert!(made.is_ok_and(|status| status.success()));
            let opened = SqliteStore::open(&path).await.map(drop).unwrap_err();
            let examined = trunkline_session_store::doctor::examine(&path).await.map(drop).unwrap_err();
            let mended = trunkline_session_store::doctor::mend(&path).await.map(drop).unwrap_err();
            for error in [opened, examined, mended] {
                assert!(matches!(error, StoreError::Io { .. }), "{kind} {ending}: {error}");
                assert!(error.to_string().contains(beside.to_str().unwrap()), "{error}");
            }
            let _ = fs::remove_file(&beside).or_else(|_| fs::remove_dir(&beside));
        }
    }
    SqliteStore::open(&path).await.unwrap().close().await;
}
