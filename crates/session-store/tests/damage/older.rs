//! Databases of past versions, whole and damaged, and migrations that are cut off.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use trunkline_session_store::doctor::{examine, mend};
use trunkline_session_store::{SessionStore, SqliteStore};

use super::*;

/// A database of version 1, as that version made it: two sessions with a branch, a move, notes and letters.
pub(crate) const VERSION_1: &str = include_str!("version_1.sql");

/// What its sessions are, as they are exported.
pub(crate) const VERSION_1_EXPORTED: &str = include_str!("version_1.jsonl");

async fn version_1(folder: &Path) -> PathBuf {
    let path = folder.canonicalize().unwrap().join("sessions.db");
    sql(&path, VERSION_1).await;
    path
}

async fn exported(store: &SqliteStore) -> String {
    sessions(store).await.unwrap().into_values().collect()
}

#[tokio::test]
async fn a_database_of_version_1_opens_as_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = version_1(folder.path()).await;
    let examined = examine(&path).await.unwrap();
    expect![[r#"
        notice: it has schema version 1; opening it brings it up to date and chains its records
        2 sessions, 8 verified records: sound"#]]
    .assert_eq(&examined.to_string());
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.migrated_from(), Some(1));
    expect!["brought to the current schema from version 1"].assert_eq(&store.opened().to_string());
    assert_eq!(exported(&store).await, VERSION_1_EXPORTED);
    assert_eq!(store.inbox(&session(1)).await.unwrap().len(), 1);
    store.close().await;
    let examined = examine(&path).await.unwrap();
    expect!["2 sessions, 8 verified records: sound"].assert_eq(&examined.to_string());
}

#[tokio::test]
async fn a_damaged_database_of_version_1_stays_as_it_is_until_it_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = version_1(folder.path()).await;
    sql(&path, "UPDATE bodies SET json = '{\"role\":\"us' WHERE body = 6; PRAGMA wal_checkpoint(TRUNCATE)")
        .await;
    let before = fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    expect!["record 6 of session 00000000-0000-7000-8000-000000000001 is damaged: its body cannot be read: it is not JSON"]
        .assert_eq(&words(&error, &path));
    assert!(fs::read(&path).unwrap() == before);
    let mended = mend(&path).await.unwrap();
    expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000001, record 6: its body cannot be read: it is not JSON
        notice: it has schema version 1; opening it brings it up to date and chains its records
        session 00000000-0000-7000-8000-000000000001: kept 5 of 7 records: record 6: its body cannot be read: it is not JSON
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 2 sessions, 6 verified records"#]].assert_eq(&plain(&mended.to_string(), &path));
    assert!(fs::read(path.with_file_name("sessions.db.set-aside-1")).unwrap() == before);
    let store = SqliteStore::open(&path).await.unwrap();
    expect!["10"].assert_eq(&exported(&store).await.lines().count().to_string());
}

#[tokio::test]
async fn a_migration_that_is_cut_off_anywhere_has_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = version_1(folder.path()).await;
    // The migration is in the write-ahead log of a process that was killed.
    let store = SqliteStore::open(&path).await.unwrap();
    let copied = folder.path().join("copied");
    copy(&path, &copied);
    store.close().await;
    let log = fs::read(log_of(&copied)).unwrap();
    let mut versions = [0, 0];
    for frames in 0..=(log.len() - 32) / 4120 {
        for more in [0, 24, 3000] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sessions.db");
            fs::copy(&copied, &path).unwrap();
            fs::write(log_of(&path), &log[..(32 + frames * 4120 + more).min(log.len())]).unwrap();
            let store = SqliteStore::open(&path).await.unwrap();
            versions[usize::from(store.migrated_from().is_none())] += 1;
            assert_eq!(exported(&store).await, VERSION_1_EXPORTED);
        }
    }
    assert!(versions[0] > 10 && versions[1] > 0, "{versions:?}");
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_database_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = version_1(folder.path()).await;
    // What stands in the way of the last statements.
    sql(&path, "CREATE TABLE keys_by_state (x); PRAGMA wal_checkpoint(TRUNCATE)").await;
    let before = fs::read(&path).unwrap();
    for _ in 0..2 {
        let error = SqliteStore::open(&path).await.unwrap_err();
        expect!["sessions.db: there is already a table named keys_by_state"].assert_eq(&words(&error, &path));
        assert!(fs::read(&path).unwrap() == before);
    }
    sql(&path, "DROP TABLE keys_by_state").await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(exported(&store).await, VERSION_1_EXPORTED);
}

/// Version 2 had no seals. What its rows say is taken as it stands, and from then on nobody changes it unnoticed.
#[tokio::test]
async fn a_database_of_version_2_is_sealed_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    store.close().await;
    sql(&path, "DROP TABLE seals; DROP TABLE letter_seals; DROP TABLE snapshots; PRAGMA user_version = 2")
        .await;
    let examined = examine(&path).await.unwrap();
    expect![[r#"
        notice: it has schema version 2; opening it brings it up to date
        5 sessions, 135 verified records: sound"#]]
    .assert_eq(&examined.to_string());
    // A process of that version may have it open meanwhile, and says again that it is of that version.
    for _ in 0..2 {
        let store = SqliteStore::open(&path).await.unwrap();
        assert_eq!(store.migrated_from(), Some(2));
        assert_eq!(sessions(&store).await.unwrap(), whole);
        store.close().await;
        assert!(examine(&path).await.unwrap().findings.is_empty());
        sql(&path, "PRAGMA user_version = 2").await;
    }
}

/// A handle of that version would write on without seals, and what it writes would look damaged.
#[tokio::test]
async fn a_database_of_version_2_that_somebody_has_open_is_read_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    let id = whole.keys().next().unwrap().clone();
    store.close().await;
    sql(&path, "DROP TABLE seals; DROP TABLE letter_seals; DROP TABLE snapshots; PRAGMA user_version = 2")
        .await;
    // As every handle keeps it, whatever its version is.
    let open = fs::File::open(folder.path().join("sessions.db.locks/open")).unwrap();
    open.lock_shared().unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    expect!["can only be read: it has schema version 2, and another process has it open, which may write it so; it is brought up to date once no other process has it open"]
        .assert_eq(&store.opened().to_string());
    assert_eq!(sessions(&store).await.unwrap(), whole);
    let refused = store.post(&id, "prompt", "\"go on\"", Timestamp(1)).await.unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    store.close().await;
    // One that is about to close it is waited for.
    let closing = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(open);
    });
    let store = SqliteStore::open(&path).await.unwrap();
    closing.join().unwrap();
    assert_eq!((store.migrated_from(), store.opened().read_only.as_ref()), (Some(2), None));
    store.post(&id, "prompt", "\"go on\"", Timestamp(1)).await.unwrap();
    store.close().await;
    assert!(examine(&path).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn a_damaged_schema_of_version_2_is_told_and_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    store.close().await;
    sql(
        &path,
        "DROP TABLE seals; DROP TABLE letter_seals; DROP TABLE snapshots; PRAGMA user_version = 2;
         PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .await;
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(9).position(|window| window == b"workspace").unwrap();
    bytes[place + 3] = 0xda;
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(SqliteStore::open(&path).await, Err(StoreError::Corrupt { .. })));
    let mended = mend(&path).await.unwrap();
    assert!(mended.is_whole(), "{mended}");
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(sessions(&store).await.unwrap(), whole);
}
