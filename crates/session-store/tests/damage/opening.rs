//! What opening finds, tells, sets aside and refuses.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use trunkline_session_store::doctor::{self, Remedy, Severity};
use trunkline_session_store::{SessionStore, SqliteStore, StoreError};

use super::*;

/// Opens a database and returns what that says.
async fn opened(path: &Path) -> String {
    let store = SqliteStore::open(path).await.unwrap();
    let said = plain(&store.opened().to_string(), path);
    store.close().await;
    said
}

async fn check(path: &Path, expected: &Expect) {
    expected.assert_eq(&opened(path).await);
}

#[tokio::test]
async fn a_database_that_was_closed_or_killed_is_opened_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let before = sessions(&store).await.unwrap();
    assert_eq!(before.len(), 5);
    assert_eq!(store.opened(), &Default::default());
    store.close().await;
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.opened(), &Default::default());
    assert_eq!(sessions(&store).await.unwrap(), before);
    assert_eq!(beside(&path), [""; 0]);
}

#[tokio::test]
async fn a_write_that_was_cut_off_is_set_aside_and_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    // Half a frame more, as if the process had died while it wrote the next batch.
    let log = fs::read(log_of(&path)).unwrap();
    let mut longer = log.clone();
    longer.extend_from_slice(&log[log.len() - 4120..log.len() - 1000]);
    fs::write(log_of(&path), &longer).unwrap();
    let before = plain(&opened(&path).await, &path);
    let frames = (log.len() - 32) / 4120;
    assert_eq!(
        before,
        format!(
            "notice: the write-ahead log breaks off after frame {frames}: 1 frames that follow, with 1 commits, are not \
             read; a write was cut off, or the file is damaged\nset aside: sessions.db.set-aside-1-wal"
        )
    );
    let kept = fs::read(path.with_file_name("sessions.db.set-aside-1-wal")).unwrap();
    assert_eq!(kept, [&log[..32], &longer[log.len()..]].concat());
    check(&path, &expect![""]).await;
}

#[tokio::test]
async fn acknowledged_records_that_are_gone_with_the_write_ahead_log_are_told_until_that_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    fs::remove_file(log_of(&path)).unwrap();
    let first = opened(&path).await;
    expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000001, record 15: was acknowledged, but the session is not there; was a write-ahead log removed?
        loss: session 00000000-0000-7000-8000-000000000002, record 21: was acknowledged, but the session is not there; was a write-ahead log removed?
        loss: session 00000000-0000-7000-8000-000000000003, record 27: was acknowledged, but the session is not there; was a write-ahead log removed?
        loss: session 00000000-0000-7000-8000-000000000004, record 33: was acknowledged, but the session is not there; was a write-ahead log removed?
        loss: session 00000000-0000-7000-8000-000000000005, record 39: was acknowledged, but the session is not there; was a write-ahead log removed?"#]].assert_eq(&first);
    assert_eq!(opened(&path).await, first, "it is not forgotten");
    let examination = doctor::examine(&path).await.unwrap();
    assert_eq!(examination.severity(), Some(Severity::Loss));
    assert_eq!(examination.remedy(), Remedy::Salvage);
    let mended = doctor::mend(&path).await.unwrap();
    assert!(mended.after.is_sound(), "{mended}");
    check(&path, &expect![""]).await;
}

#[tokio::test]
async fn a_log_that_somebody_else_moved_into_the_database_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    sql(&path, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    assert!(!log_of(&path).exists());
    check(&path, &expect![""]).await;
}

#[tokio::test]
async fn a_session_that_was_deleted_after_its_owner_died_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    let copied = folder.path().join("copied");
    fs::create_dir(&copied).unwrap();
    copy(&path, &copied.join("sessions.db"));
    let store = SqliteStore::open(&path).await.unwrap();
    for number in 1..=5 {
        store.delete(&session(number)).await.unwrap();
        store.create(new_session(number)).await.unwrap();
    }
    store.close().await;
    // The files of the dead owner come back.
    copy(&copied.join("sessions.db"), &folder.path().join("other.db"));
    for entry in fs::read_dir(folder.path().join("other.db.locks")).unwrap().flatten() {
        fs::copy(entry.path(), path.with_file_name("sessions.db.locks").join(entry.file_name())).unwrap();
    }
    check(&path, &expect![""]).await;
}

#[tokio::test]
async fn a_new_database_owes_nothing_to_the_one_that_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    fs::remove_file(&path).unwrap();
    fs::remove_file(log_of(&path)).unwrap();
    check(&path, &expect![""]).await;
}

#[tokio::test]
async fn an_empty_file_beside_a_full_log_is_no_new_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    let log = fs::read(log_of(&path)).unwrap();
    for missing in [false, true] {
        fs::write(&path, b"").unwrap();
        if missing {
            fs::remove_file(&path).unwrap();
        }
        let error = SqliteStore::open(&path).await.unwrap_err();
        let told = match missing {
            true => matches!(error, StoreError::Torn { .. }) && !path.exists(),
            false => matches!(error, StoreError::Corrupt { .. }),
        };
        assert!(told, "{error}");
        assert!(fs::read(log_of(&path)).unwrap() == log);
    }
    assert!(matches!(doctor::mend(&path).await, Err(StoreError::Torn { .. })), "it may be somewhere else");
    fs::write(&path, b"").unwrap();
    // All of this database is still in its log.
    let mended = doctor::mend(&path).await.unwrap();
    assert_eq!((mended.after.sessions, mended.after.is_sound()), (5, true), "{mended}");
}

/// One damaged byte in the header of the log, or in its first frame: SQLite reads nothing of it, and would remove it.
#[tokio::test]
async fn a_damaged_log_beside_an_empty_file_or_none_is_not_removed() {
    for damaged in [5, 60] {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path()).await;
        let mut log = fs::read(log_of(&path)).unwrap();
        log[damaged] ^= 1;
        fs::write(log_of(&path), &log).unwrap();
        fs::remove_file(&path).unwrap();
        for _ in 0..2 {
            let error = SqliteStore::open(&path).await.unwrap_err();
            assert!(matches!(error, StoreError::Torn { .. }) && !path.exists(), "{damaged}: {error}");
        }
        fs::write(&path, b"").unwrap();
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{damaged}: {error}");
        let examination = doctor::examine(&path).await.unwrap();
        assert_eq!(examination.severity(), Some(Severity::Loss), "{damaged}: {examination}");
        assert!(fs::read(log_of(&path)).unwrap() == log, "{damaged}");
        let mended = doctor::mend(&path).await.unwrap();
        let kept = mended.set_aside.iter().any(|file| fs::read(file).unwrap() == log);
        assert!(kept && mended.after.is_sound(), "{damaged}: {mended}");
    }
}

#[tokio::test]
async fn a_newer_database_is_refused_and_neither_it_nor_its_log_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    for in_log in [false, true] {
        let path = folder.path().join(format!("{in_log}.db"));
        let alive = folder.path().join("alive.db");
        let store = SqliteStore::open(&alive).await.unwrap();
        store.create(new_session(1)).await.unwrap();
        if !in_log {
            sql(&alive, "PRAGMA wal_checkpoint(TRUNCATE)").await;
        }
        sql(&alive, "PRAGMA user_version = 99; DROP TABLE letters").await;
        if !in_log {
            sql(&alive, "PRAGMA wal_checkpoint(TRUNCATE)").await;
            sql(&alive, "CREATE TABLE novelty (x TEXT)").await;
        }
        copy(&alive, &path);
        store.close().await;
        for name in ["alive.db", "alive.db-wal", "alive.db-shm"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
        let path = path.canonicalize().unwrap();
        let before = (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap());
        assert!(!before.1.is_empty());
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
        assert!(matches!(doctor::examine(&path).await, Err(StoreError::Newer { .. })));
        assert!(matches!(doctor::mend(&path).await, Err(StoreError::Newer { .. })));
        assert!((fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap()) == before);
    }
}

#[tokio::test]
async fn what_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("sessions.db");
    let diary = b"Dear diary, today I was not a database.\n".repeat(100);
    fs::write(&path, &diary).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    expect!["sessions.db is not a session store: file is not a database"].assert_eq(&words(&error, &path));
    assert!(fs::read(&path).unwrap() == diary);
    fs::remove_file(&path).unwrap();
    sql(&path, "CREATE TABLE places (url TEXT)").await;
    let places = fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    expect!["sessions.db is not a session store: it is a database of another program"]
        .assert_eq(&words(&error, &path));
    assert!(fs::read(&path).unwrap() == places);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    expect!["sessions.db is not a session store: it is a folder"].assert_eq(&words(&error, &path));
}

#[tokio::test]
async fn an_empty_file_is_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    fs::write(&path, b"").unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.sessions().await.unwrap(), []);
}

#[tokio::test]
async fn an_impossible_version_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    sql(&path, "PRAGMA user_version = -1").await;
    let error = SqliteStore::open(&path).await.unwrap_err();
    expect!["sessions.db is damaged: it claims schema version -1"].assert_eq(&words(&error, &path));
}

/// A damaged byte of an id in the index of ids: the session is there, and nothing that looks for it would find it.
#[tokio::test]
async fn a_session_that_the_index_does_not_lead_to_is_told_and_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let mut bytes = fs::read(&path).unwrap();
    let id = session(2).as_str().as_bytes().to_vec();
    let is_of_index = |at: &usize| bytes[*at / 4096 * 4096] == 0x0a;
    let places = bytes.windows(id.len()).enumerate().filter(|(_, bytes)| *bytes == id).map(|(at, _)| at);
    let places: Vec<usize> = places.filter(is_of_index).collect();
    assert_eq!(places.len(), 1);
    bytes[places[0] + id.len() - 1] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    let corrupt = |error: StoreError| assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    corrupt(store.sessions().await.unwrap_err());
    corrupt(store.info(&session(2)).await.unwrap_err());
    corrupt(store.load(&session(2)).await.map(drop).unwrap_err());
    assert_eq!(store.info(&session(1)).await.unwrap().id, session(1));
    let missing = store.info(&session(9)).await.unwrap_err();
    assert!(matches!(missing, StoreError::UnknownSession { .. }), "{missing}");
    store.close().await;
    let mended = doctor::mend(&path).await.unwrap();
    assert_eq!((mended.after.sessions, mended.after.is_sound()), (5, true), "{mended}");
}
