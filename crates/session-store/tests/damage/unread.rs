//! What stands in a write-ahead log and is not read, and what was promised and cannot be compared: neither is destroyed
//! before somebody has it.

use std::fs;
use std::path::Path;

use expect_test::expect;
use trunkline_session_store::doctor::{Remedy, examine, mend};
use trunkline_session_store::{SqliteStore, StoreError};

use super::*;

/// A database as a process leaves it that dies: with counters that are wrong, so that a mending in place would do, with a
/// few batches in its log, and without anybody's promises.
async fn wrong_counters(folder: &Path) -> PathBuf {
    let made = closed(&folder.join("made")).await;
    sql(&made, "UPDATE sessions SET letters = 0, consumed = 9 WHERE session = 2").await;
    let store = SqliteStore::open(&made).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    for number in 0..6 {
        append(&store, &lease, vec![note(&number.to_string())]).await.unwrap();
    }
    let path = folder.join("sessions.db");
    copy(&made, &path);
    drop(lease);
    store.close().await;
    forget(&path);
    path.canonicalize().unwrap()
}

/// Takes away what dead owners have promised.
fn forget(path: &Path) {
    owners(path).iter().for_each(|file| fs::remove_file(file).unwrap());
}

fn owners(path: &Path) -> Vec<PathBuf> {
    let folder = PathBuf::from(format!("{}.locks", path.display()));
    let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    files.filter(|file| file.extension().is_some()).collect()
}

/// Changes a byte in a frame of the log.
fn break_frame(path: &Path, frame: usize) {
    flip(&log_of(path), 32 + frame * 4120 + 1000);
}

fn flip(file: &Path, place: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[place] ^= 0x41;
    fs::write(file, bytes).unwrap();
}

fn frames(path: &Path) -> usize {
    (fs::read(log_of(path)).unwrap().len() - 32) / 4120
}

#[tokio::test]
async fn a_mending_in_place_does_not_destroy_commits_that_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = wrong_counters(folder.path()).await;
    break_frame(&path, frames(&path) / 2);
    let log = fs::read(log_of(&path)).unwrap();
    assert_eq!(examine(&path).await.unwrap().remedy(), Remedy::InPlace);
    let mended = mend(&path).await.unwrap();
    assert!(mended.after.is_sound(), "{mended}");
    assert!(fs::read(path.with_file_name("sessions.db.set-aside-1-wal")).unwrap() == log, "{mended}");
}

#[tokio::test]
async fn a_mending_in_place_keeps_a_copy_of_a_write_that_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = wrong_counters(folder.path()).await;
    let log = fs::read(log_of(&path)).unwrap();
    // Without its last frame, which commits.
    let log = &log[..log.len() - 4120];
    fs::write(log_of(&path), log).unwrap();
    let mended = mend(&path).await.unwrap();
    assert_eq!((mended.remedy, mended.after.is_sound()), (Remedy::InPlace, true), "{mended}");
    assert_eq!(mended.set_aside.len(), 1, "{mended}");
    let kept = fs::read(&mended.set_aside[0]).unwrap();
    assert!(kept.len() > 4120 && kept[..32] == log[..32] && log.ends_with(&kept[32..]));
}

#[tokio::test]
async fn a_log_that_hides_what_was_acknowledged_is_left_to_the_doctor() {
    // The header, and a frame in the middle.
    for place in [20, 32 + 40 * 4120 + 1000] {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path()).await;
        flip(&log_of(&path), place);
        let before = (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap(), owners(&path));
        for _ in 0..2 {
            let error = SqliteStore::open(&path).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        }
        assert!(before == (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap(), owners(&path)));
        assert_eq!(beside(&path), [""; 0]);
        let mended = mend(&path).await.unwrap();
        assert!(mended.after.is_sound(), "{mended}");
        if place == 20 {
            // All of it is there.
            assert_eq!((mended.after.sessions, mended.after.records), (5, 135), "{mended}");
        }
        let store = SqliteStore::open(&path).await.unwrap();
        assert_eq!(store.opened(), &Default::default());
    }
}

#[tokio::test]
async fn a_log_that_hides_nothing_that_was_acknowledged_keeps_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    forget(&path);
    break_frame(&path, 40);
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.opened().findings.len(), 1, "{}", store.opened());
    store.close().await;
    assert_eq!(beside(&path), ["sessions.db.set-aside-1-wal"]);
}

#[tokio::test]
async fn a_log_whose_header_is_damaged_hides_nothing_if_all_of_it_is_in_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("made.db")).await.unwrap();
    let _leases = fill(&store).await;
    sql(store.path(), "PRAGMA wal_checkpoint(PASSIVE)").await;
    let path = folder.path().canonicalize().unwrap().join("sessions.db");
    copy(store.path(), &path);
    let whole = sessions(&store).await.unwrap();
    flip(&log_of(&path), 20);
    let found = examine(&path).await.unwrap();
    assert!(found.is_sound() && found.findings.len() == 1, "{found}");
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(sessions(&store).await.unwrap(), whole, "{}", store.opened());
}

#[tokio::test]
async fn the_same_rest_is_set_aside_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    forget(&path);
    break_frame(&path, 40);
    let before = (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap());
    for other in [false, false, true, true] {
        fs::write(&path, &before.0).unwrap();
        fs::write(log_of(&path), &before.1).unwrap();
        if other {
            break_frame(&path, 50);
        }
        SqliteStore::open(&path).await.unwrap().close().await;
    }
    assert_eq!(beside(&path), ["sessions.db.set-aside-1-wal", "sessions.db.set-aside-2-wal"]);
}

#[tokio::test]
async fn promises_that_cannot_be_compared_are_told_and_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    // The log goes into the database, and then the root of the records is gone.
    sql(&path, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    let whole = fs::read(&path).unwrap();
    let root = {
        let options = SqliteConnectOptions::new().filename(&path).read_only(true).immutable(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let query = sqlx::query_scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'records'");
        let root: i64 = query.fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        root as usize
    };
    let mut damaged = whole.clone();
    damaged[(root - 1) * 4096..root * 4096].fill(0xee);
    fs::write(&path, &damaged).unwrap();
    for _ in 0..2 {
        let store = SqliteStore::open(&path).await.unwrap();
        let said = plain(&store.opened().to_string(), &path);
        store.close().await;
        expect!["notice: session 00000000-0000-7000-8000-000000000001, record 15: was acknowledged, and whether it is still there cannot be read: error returned from database: (code: 11) database disk image is malformed"].assert_eq(
            said.lines().next().unwrap_or_default(),
        );
        assert_eq!(owners(&path).len(), 1);
    }
    fs::write(&path, &whole).unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.opened(), &Default::default());
    assert_eq!(owners(&path).len(), 0);
}

#[tokio::test]
async fn promises_are_not_forgotten_while_a_log_is_there_without_its_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    fs::remove_file(&path).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Torn { .. }), "{error}");
    assert_eq!(owners(&path).len(), 1);
}
