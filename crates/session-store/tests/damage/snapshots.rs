//! Snapshots that are not what was kept: they are as good as none, and nothing else hangs on them.

use std::fs;

use expect_test::{Expect, expect};
use trunkline_session_store::doctor::{Mended, Remedy, Severity, examine, mend};

use super::*;

/// Returns whether a session has a snapshot, which must be the one that was kept.
async fn is_there(store: &SqliteStore, number: u32) -> bool {
    let Some(found) = store.snapshot(&session(number)).await.unwrap() else { return false };
    assert_eq!(found, snapshot(store, number).await);
    true
}

/// Returns which sessions have theirs; all else is as it was.
async fn there(path: &Path, whole: &BTreeMap<SessionId, String>) -> Vec<u32> {
    let store = SqliteStore::open(path).await.unwrap();
    assert_eq!(&sessions(&store).await.unwrap(), whole);
    let mut there = Vec::new();
    for number in 1..=5 {
        if is_there(&store, number).await {
            there.push(number);
        }
    }
    store.close().await;
    there
}

/// Mends a database whose snapshots alone are damaged, and keeps new ones.
async fn mended(path: &Path, whole: &BTreeMap<SessionId, String>) -> Mended {
    let examined = examine(path).await.unwrap();
    assert!(examined.severity() < Some(Severity::Loss), "{examined}");
    let mended = mend(path).await.unwrap();
    assert!(mended.is_whole(), "{mended}");
    let store = SqliteStore::open(path).await.unwrap();
    assert_eq!(&sessions(&store).await.unwrap(), whole);
    for number in 1..=5 {
        let lease = store.lease(&session(number)).await.unwrap();
        store.keep_snapshot(&lease, snapshot(&store, number).await).await.unwrap();
        assert!(is_there(&store, number).await);
    }
    store.close().await;
    assert!(examine(path).await.unwrap().findings.is_empty());
    mended
}

/// Damages the snapshot of the second session.
async fn check(statement: &str, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    store.close().await;
    assert_eq!(there(&path, &whole).await, [1, 2, 3, 4, 5]);
    sql(&path, statement).await;
    assert_eq!(there(&path, &whole).await, [1, 3, 4, 5], "{statement}");
    let mended = mended(&path, &whole).await;
    assert_eq!(mended.remedy, Remedy::InPlace, "{statement}: {mended}");
    expected.assert_eq(&mended.to_string());
}

#[tokio::test]
async fn what_was_not_kept_is_not_given_back() {
    for change in [
        "bytes = x'00'",
        "bytes = CAST(replace(CAST(bytes AS TEXT), 'spine 2 spine', 'spine 2 spinf') AS BLOB)",
        "bytes = x''",
        "form = 1",
        "form = -1",
        "form = 1 << 40",
        "seal = zeroblob(32)",
        "seal = x''",
        "digest = zeroblob(32)",
        "digest = x'ff'",
        "seq = 6",
        "seq = -1",
        "seq = 6, digest = (SELECT digest FROM records WHERE session = 2 AND seq = 6)",
        "(seq, digest, form, seal, bytes) = (SELECT seq, digest, form, seal, bytes FROM snapshots WHERE session = 1)",
    ] {
        check(&format!("UPDATE snapshots SET {change} WHERE session = 2"), expect![[r#"
            derived: session 00000000-0000-7000-8000-000000000002: its snapshot is not what was kept, or is one of another log; it can be made again
            made anew from the logs: 5 sessions, 135 verified records"#]]).await;
    }
}

#[tokio::test]
async fn a_snapshot_of_no_session_is_removed() {
    check(
        "UPDATE snapshots SET session = 9 WHERE session = 2",
        expect![[r#"
        derived: 1 snapshots belong to no session
        made anew from the logs: 5 sessions, 135 verified records"#]],
    )
    .await;
}

/// A record that is not the one that it was made from; so much is found without a look at any other.
#[tokio::test]
async fn a_snapshot_is_not_believed_beside_another_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    sql(&path, "UPDATE records SET digest = zeroblob(32) WHERE session = 2 AND seq = 5").await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.snapshot(&session(2)).await.unwrap(), None);
    assert!(is_there(&store, 3).await);
}

/// Returns the page on which the table begins.
async fn root(path: &Path) -> usize {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let query = sqlx::query_scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'snapshots'");
    let root: i64 = query.fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    root as usize
}

#[tokio::test]
async fn pages_that_cannot_be_read_are_no_loss() {
    for byte in [0, 0xee] {
        let folder = tempfile::tempdir().unwrap();
        let path = closed(folder.path()).await;
        let store = SqliteStore::open(&path).await.unwrap();
        let whole = sessions(&store).await.unwrap();
        store.close().await;
        let mut bytes = fs::read(&path).unwrap();
        let start = (root(&path).await - 1) * 4096;
        bytes[start..start + 4096].fill(byte);
        fs::write(&path, bytes).unwrap();
        assert!(there(&path, &whole).await.is_empty(), "{byte}");
        let store = SqliteStore::open(&path).await.unwrap();
        let lease = store.lease(&session(2)).await.unwrap();
        let kept = store.keep_snapshot(&lease, snapshot(&store, 2).await).await;
        assert!(matches!(kept, Err(StoreError::Corrupt { .. })), "{kept:?}");
        append(&store, &lease, vec![note("2")]).await.unwrap();
        drop(lease);
        let whole = sessions(&store).await.unwrap();
        store.close().await;
        let mended = mended(&path, &whole).await;
        assert_eq!((mended.remedy, mended.saved.len()), (Remedy::Salvage, 0), "{mended}");
    }
}

/// Whatever bit of a snapshot is another one, it is what was kept or none.
#[tokio::test]
async fn no_flipped_bit_of_a_snapshot_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    let digest = snapshot(&store, 2).await.digest;
    store.close().await;
    let bytes = fs::read(&path).unwrap();
    // The digest, the form, the seal, and how it begins; its lengths, types and numbers stand before them.
    let is_row = |place: &usize| {
        bytes[*place..].starts_with(digest.as_bytes()) && bytes[place + 65..].starts_with(b"spine 2 ")
    };
    // Pages that were written before have rests of it.
    let rows: Vec<usize> = (13..bytes.len() - 100).filter(is_row).collect();
    let heads = rows.iter().flat_map(|start| start - 13..start + 70);
    // It goes on in other pages.
    let rest = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(b"spine 2 spine 2 "));
    let mut gone = 0;
    for place in heads.chain(rest.step_by(97)) {
        for bit in [0x01, 0x80] {
            let mut bytes = bytes.clone();
            bytes[place] ^= bit;
            fs::write(&path, &bytes).unwrap();
            let there = there(&path, &whole).await;
            gone += usize::from(there.len() < 5);
            let examined = examine(&path).await.unwrap();
            assert!(there.len() == 5 || !examined.is_sound(), "byte {place} ^ {bit:#x}: {examined}");
            assert!(examined.severity() < Some(Severity::Loss), "byte {place} ^ {bit:#x}: {examined}");
        }
    }
    assert!(gone > 160, "{gone}");
}

/// Version 4 had no snapshots. What a process of that version leaves of them, which removes none with its session, goes.
#[tokio::test]
async fn a_database_of_version_4_begins_without_snapshots() {
    for drop in ["DROP TABLE snapshots;", "INSERT INTO snapshots SELECT 9, 1, x'', 1, x'', x'';"] {
        let folder = tempfile::tempdir().unwrap();
        let path = closed(folder.path()).await;
        let store = SqliteStore::open(&path).await.unwrap();
        let whole = sessions(&store).await.unwrap();
        store.close().await;
        sql(&path, &format!("{drop} PRAGMA user_version = 4")).await;
        let examined = plain(&examine(&path).await.unwrap().to_string(), &path);
        assert!(examined.contains("it has schema version 4; opening it brings it up to date"), "{examined}");
        let store = SqliteStore::open(&path).await.unwrap();
        assert_eq!(store.migrated_from(), Some(4));
        store.close().await;
        assert!(there(&path, &whole).await.is_empty());
        mended(&path, &whole).await;
    }
}
