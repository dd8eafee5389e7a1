//! Media that can only be read, and media without room.

use std::fs;
use std::path::Path;

use expect_test::expect;
use trunkline_session_store::doctor::{examine, mend};
use trunkline_session_store::{Amend, SessionStore, SqliteStore, StoreError};

use super::*;

/// What everybody may do where nothing can be written: read all of it, and hear that it cannot be written.
async fn read_only(path: &Path) -> String {
    let store = match SqliteStore::open(path).await {
        Ok(store) => store,
        Err(error) => return words(&error, path),
    };
    let said = plain(&store.opened().to_string(), path);
    let found = sessions(&store).await.unwrap();
    assert_eq!(found.len(), 5);
    store.resume(&session(3), 5).await.unwrap();
    assert_eq!(store.holder(&session(3)).await.unwrap(), None);
    assert_eq!(store.inbox(&session(3)).await.unwrap().len(), 1);
    for refused in [
        store.create(new_session(9)).await.unwrap_err(),
        store.lease(&session(1)).await.unwrap_err(),
        store.amend(&session(1), Amend::title("x")).await.unwrap_err(),
        store.post(&session(1), "prompt", "1", Timestamp(1)).await.unwrap_err(),
        store.delete(&session(1)).await.unwrap_err(),
        store.collect(false).await.unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    }
    store.close().await;
    said
}

/// The user that runs this if permissions bind it, and else one that they bind: root may write everywhere.
#[cfg(unix)]
fn as_one_who_is_bound(test: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    const CHILD: &str = "TRUNKLINE_TEST_BOUND";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.path().join("x"), "").is_err() {
        return true;
    }
    // A copy of this program that the other user can reach, in a folder that is theirs.
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = place.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new(&program)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env("TMPDIR", place.path())
        .current_dir(place.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    false
}

#[cfg(unix)]
fn allow(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn where_nothing_can_be_written_everything_can_be_read() {
    if !as_one_who_is_bound("damage::media::where_nothing_can_be_written_everything_can_be_read") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    // The file alone.
    allow(&path, 0o400);
    expect!["can only be read: sessions.db may not be written"].assert_eq(&read_only(&path).await);
    // What was made beside it meanwhile is in nobody's way.
    allow(&path, 0o600);
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.opened(), &Default::default());
    store.amend(&session(1), Amend::title("y")).await.unwrap();
    store.close().await;
    // The folder alone: SQLite can make nothing beside it.
    allow(folder.path(), 0o500);
    expect!["can only be read: nothing can be written in its folder"].assert_eq(&read_only(&path).await);
    // Both, and the locks too, as on a medium.
    allow(&path, 0o400);
    fs::read_dir(path.with_file_name("sessions.db.locks"))
        .unwrap()
        .flatten()
        .for_each(|entry| allow(&entry.path(), 0o400));
    allow(&path.with_file_name("sessions.db.locks"), 0o500);
    expect!["can only be read: nothing can be written in its folder"].assert_eq(&read_only(&path).await);
    let examined = examine(&path).await.unwrap();
    expect!["5 sessions, 135 verified records: sound"].assert_eq(&examined.to_string());
    allow(folder.path(), 0o700);
    allow(&path.with_file_name("sessions.db.locks"), 0o700);
}

#[cfg(unix)]
#[tokio::test]
async fn a_log_on_a_medium_that_cannot_be_written_is_not_passed_over() {
    if !as_one_who_is_bound("damage::media::a_log_on_a_medium_that_cannot_be_written_is_not_passed_over") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    allow(&path, 0o400);
    allow(&log_of(&path), 0o400);
    allow(folder.path(), 0o500);
    expect!["cannot use sessions.db: it has a write-ahead log, which cannot be read where nothing can be written; copy it together with sessions.db-wal to another folder"].assert_eq(&read_only(&path).await);
    expect!["cannot use sessions.db: it has a write-ahead log, which cannot be read where nothing can be written; copy it together with sessions.db-wal to another folder"].assert_eq(&words(&mend(&path).await.unwrap_err(), &path));
    expect!["cannot use sessions.db: it has a write-ahead log, which cannot be read where nothing can be written; copy it together with sessions.db-wal to another folder"].assert_eq(&examine(&path).await.map_or_else(|error| words(&error, &path), |found| found.to_string()));
    allow(folder.path(), 0o700);
}

/// What was killed leaves an index beside the log, and a database of an older version is read by it as a current one is.
#[cfg(unix)]
#[tokio::test]
async fn a_log_of_version_2_on_a_medium_that_cannot_be_written_is_read_by_its_index() {
    let name = "damage::media::a_log_of_version_2_on_a_medium_that_cannot_be_written_is_read_by_its_index";
    if !as_one_who_is_bound(name) {
        return;
    }
    let (folder, medium) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = closed(folder.path()).await;
    let options = SqliteConnectOptions::new().filename(&path);
    let mut open = SqliteConnection::connect_with(&options).await.unwrap();
    let older = "DROP TABLE seals; DROP TABLE letter_seals; DROP TABLE snapshots; PRAGMA user_version = 2";
    sqlx::raw_sql(older).execute(&mut open).await.unwrap();
    for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
        let copied = medium.path().join(name);
        fs::copy(folder.path().join(name), &copied).unwrap();
        allow(&copied, 0o400);
    }
    open.close().await.unwrap();
    allow(medium.path(), 0o500);
    expect!["can only be read: nothing can be written in its folder"]
        .assert_eq(&read_only(&medium.path().join("sessions.db")).await);
    allow(medium.path(), 0o700);
}

#[tokio::test]
async fn without_room_a_batch_is_refused_and_nothing_is_spoiled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    store.set_size_limit(Some(160 * 1024)).await;
    let page = |number: u32| format!("{number} ").repeat(800);
    let mut nodes = 0;
    let error = loop {
        let records = (1..=2).map(|more| node(nodes + more, nodes + more - 1, &page(nodes + more))).collect();
        match append(&store, &lease, records).await {
            Ok(_) => nodes += 2,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(plain(&words(&error, &path), &path), "no room left to write sessions.db");
    assert!(nodes > 2);
    // Still full, still readable, by others too.
    assert!(matches!(
        append(&store, &lease, vec![node(nodes + 1, nodes, &page(7).repeat(30))]).await,
        Err(StoreError::Full { .. })
    ));
    let other = SqliteStore::open(&path).await.unwrap();
    assert_eq!(other.load(&session(1)).await.unwrap().info.nodes, u64::from(nodes) + 1);
    other.close().await;
    // Room again.
    store.set_size_limit(None).await;
    append(&store, &lease, vec![node(nodes + 1, nodes, &page(7))]).await.unwrap();
    drop(lease);
    store.close().await;
    assert!(examine(&path).await.unwrap().findings.is_empty());
}
