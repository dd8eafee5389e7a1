//! Letters that are not what was posted: nobody takes them for what they say, and everything else can be used.

use std::fs;

use expect_test::{Expect, expect};
use trunkline_session_store::doctor::{Remedy, examine, mend};
use trunkline_session_store::{InboxId, LetterState, Retention};

use super::*;

fn corrupt<T: std::fmt::Debug>(found: Result<T, StoreError>, path: &Path) -> String {
    match found {
        Err(error @ StoreError::Corrupt { .. }) => words(&error, path),
        other => panic!("{other:?}"),
    }
}

/// Damages a letter of the second session, says what its inbox says, mends it, and shows what was said then.
async fn check(statement: &str, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let mut others = Vec::new();
    for number in [1, 3, 4, 5] {
        others.push(store.inbox(&session(number)).await.unwrap());
    }
    let whole = exported(&store).await;
    store.close().await;
    sql(&path, statement).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let told = corrupt(store.inbox(&session(2)).await, &path);
    assert_eq!(corrupt(store.verify(&session(2)).await, &path), told);
    // Nothing else hangs on it.
    assert_eq!(store.sessions().await.unwrap().len(), 5);
    assert_eq!(exported(&store).await, whole);
    assert_eq!(store.load(&session(2)).await.unwrap().records.len(), 21);
    for (number, others) in [1, 3, 4, 5].into_iter().zip(&others) {
        assert_eq!(&store.inbox(&session(number)).await.unwrap(), others, "{statement}");
        store.verify(&session(number)).await.unwrap();
    }
    let expired = Retention::older_than(1).plan(&store, Timestamp(1_000)).await.unwrap();
    assert!(expired.iter().all(|one| one.info.id != session(2)), "what was left for it is not known");
    // No batch has it for its reason.
    let lease = store.lease(&session(2)).await.unwrap();
    let info = store.info(&session(2)).await.unwrap();
    let letter =
        told.split_once("letter ").and_then(|(_, rest)| rest.split_once(' ')).unwrap().0.parse().unwrap();
    let at = Position { seq: info.records, head: info.head };
    let batch = Batch::new(at, vec![note("2")]).consuming([InboxId(letter)]);
    let refused = store.append(&lease, batch).await.unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. } | StoreError::NoSuchLetter { .. }), "{refused}");
    append(&store, &lease, vec![note("2")]).await.unwrap();
    drop(lease);
    store.close().await;
    let mended = mend(&path).await.unwrap();
    assert_eq!(mended.remedy, Remedy::Salvage);
    assert!(!mended.is_whole() && mended.after.is_sound(), "{mended}");
    let store = SqliteStore::open(&path).await.unwrap();
    let (left, rest): (Vec<_>, Vec<_>) = (store.inbox(&session(2)).await.unwrap(), mended.saved);
    for (number, others) in [1, 3, 4, 5].into_iter().zip(&others) {
        assert_eq!(&store.inbox(&session(number)).await.unwrap(), others, "{statement}");
    }
    store.verify(&session(2)).await.unwrap();
    // No number is given twice.
    assert!(store.post(&session(2), "prompt", "1", Timestamp(18)).await.unwrap() > InboxId(2));
    assert!(folder.path().join("sessions.db.set-aside-1").exists(), "its bytes are kept");
    let rest: Vec<String> = rest.iter().map(|saved| plain(&saved.to_string(), &path)).collect();
    expected.assert_eq(&format!("{told}\n{}\n{} waits", rest.join("\n"), left.len()));
}

async fn exported(store: &SqliteStore) -> Vec<String> {
    let mut all = Vec::new();
    for info in store.sessions().await.unwrap() {
        let mut lines = Vec::new();
        export(store, &info.id, &mut lines).await.unwrap();
        all.push(String::from_utf8(lines).unwrap());
    }
    all
}

#[tokio::test]
async fn what_a_letter_says_is_sealed() {
    for change in ["body = replace(body, 'waiting', 'wasting')", "kind = 'promqt'", "at = at + 1"] {
        let statement = format!("UPDATE letters SET {change} WHERE session = 2 AND letter = 2");
        check(&statement, expect![[r#"
            sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: it is not what was written; mended by `doctor`, which keeps it aside
            session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 2 of its inbox: it is not what was written
            0 waits"#]]).await;
    }
}

#[tokio::test]
async fn a_letter_that_is_no_text_is_named() {
    let change = "UPDATE letters SET body = CAST(x'22ff22' AS TEXT) WHERE session = 2 AND letter = 2";
    check(change, expect![[r#"
        sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: body: invalid utf-8 sequence of 1 bytes from index 1; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 2 of its inbox: body: invalid utf-8 sequence of 1 bytes from index 1
        0 waits"#]]).await;
}

#[tokio::test]
async fn which_letter_of_which_session_it_is_is_sealed() {
    check("UPDATE letters SET letter = 3 WHERE session = 2 AND letter = 2", expect![[r#"
        sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: it is gone, and its seal says that it waits; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 3 of its inbox: it has no seal: it was consumed before, or put there by another program; letter 2 of its inbox: it is gone, and its seal says that it waits
        0 waits"#]]).await;
    check("UPDATE letters SET session = 9 WHERE session = 2 AND letter = 2", expect![[r#"
        sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: it is gone, and its seal says that it waits; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 2 of its inbox: it is gone, and its seal says that it waits
        0 waits"#]]).await;
    check("DELETE FROM letters WHERE session = 2 AND letter = 2", expect![[r#"
        sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: it is gone, and its seal says that it waits; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 2 of its inbox: it is gone, and its seal says that it waits
        0 waits"#]]).await;
    check("DELETE FROM letter_seals WHERE session = 2", expect![[r#"
        sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: it has no seal: it was consumed before, or put there by another program; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 2 of its inbox: it has no seal: it was consumed before, or put there by another program
        0 waits"#]]).await;
}

#[tokio::test]
async fn a_letter_is_neither_hidden_nor_taken_twice() {
    check("UPDATE letters SET consumed = 7 WHERE session = 2 AND letter = 2", expect![[r#"
        sessions.db is damaged: letter 2 in the inbox of session 00000000-0000-7000-8000-000000000002: it is marked as consumed, and its seal says that it waits; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 2 of its inbox: it is marked as consumed, and its seal says that it waits
        0 waits"#]]).await;
    check("UPDATE letters SET consumed = NULL WHERE session = 2 AND letter = 1", expect![[r#"
        sessions.db is damaged: letter 1 in the inbox of session 00000000-0000-7000-8000-000000000002: it has no seal: it was consumed before, or put there by another program; mended by `doctor`, which keeps it aside
        session 00000000-0000-7000-8000-000000000002: kept 22 of 22 records: letter 1 of its inbox: it has no seal: it was consumed before, or put there by another program
        1 waits"#]]).await;
}

/// Whatever bit of a letter's row is another one, its inbox is what it was, or an error.
#[tokio::test]
async fn no_flipped_bit_of_a_letter_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let mut inboxes = Vec::new();
    for number in 1..=5 {
        inboxes.push(store.inbox(&session(number)).await.unwrap());
    }
    store.close().await;
    let whole = fs::read(&path).unwrap();
    let row = b"prompt\"waiting\"";
    let start = whole.windows(row.len()).position(|window| window == row).unwrap();
    let mut told = 0;
    // Its lengths, types and numbers stand before the first word.
    for place in start - 12..start + row.len() {
        for bit in [0x01, 0x80] {
            let mut bytes = whole.clone();
            bytes[place] ^= bit;
            fs::write(&path, &bytes).unwrap();
            let Ok(store) = SqliteStore::open(&path).await else {
                told += 1;
                continue;
            };
            let mut wrong = 0;
            for (number, inbox) in (1..).zip(&inboxes) {
                match store.inbox(&session(number)).await {
                    Ok(found) => assert_eq!(&found, inbox, "byte {place} ^ {bit:#x}"),
                    Err(StoreError::Corrupt { .. }) => wrong += 1,
                    Err(error) => panic!("byte {place} ^ {bit:#x}: {error}"),
                }
            }
            store.close().await;
            let examined = examine(&path).await.unwrap();
            assert!(wrong == 0 || !examined.is_sound(), "byte {place} ^ {bit:#x}: {examined}");
            told += usize::from(wrong > 0);
        }
    }
    assert!(told >= 2 * row.len(), "{told}");
}

/// Version 3 had no seals of letters: what waits is taken as it stands, and from then on nobody changes it unnoticed. What its
/// sessions' seals say is not made anew.
#[tokio::test]
async fn letters_of_version_3_are_sealed_as_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let before = store.inbox(&session(1)).await.unwrap();
    store.close().await;
    sql(
        &path,
        "DROP TABLE letter_seals; DROP TABLE snapshots; PRAGMA user_version = 3; UPDATE sessions SET title = 'other' WHERE session = 4;
         UPDATE letters SET body = CAST(x'22ff22' AS TEXT) WHERE session = 3",
    )
    .await;
    let examined = plain(&examine(&path).await.unwrap().to_string(), &path);
    assert!(examined.contains("it has schema version 3; opening it brings it up to date"), "{examined}");
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.migrated_from(), Some(3));
    assert_eq!(store.inbox(&session(1)).await.unwrap(), before);
    assert_eq!(store.inbox(&session(2)).await.unwrap().len(), 1);
    assert!(corrupt(store.inbox(&session(3)).await, &path).contains("letter 2 in the inbox"));
    assert!(corrupt(store.info(&session(4)).await, &path).contains("its title"));
    store.close().await;
    sql(&path, "UPDATE letters SET kind = 'cancel' WHERE session = 1 AND consumed IS NULL").await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert!(corrupt(store.inbox(&session(1)).await, &path).contains("it is not what was written"));
}

/// What was put aside is not waited for: it keeps no session from being pruned, and what is only hidden does.
#[tokio::test]
async fn a_session_whose_letter_was_put_aside_can_be_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    sql(&path, "UPDATE letters SET consumed = 7 WHERE session = 2 AND letter = 2").await;
    let store = SqliteStore::open(&path).await.unwrap();
    let seen = store.info(&session(2)).await.unwrap();
    let refused = store.delete_idle(&seen).await.unwrap_err();
    assert!(matches!(refused, StoreError::Changed { .. }), "{refused}");
    store.close().await;
    assert_eq!(mend(&path).await.unwrap().remedy, Remedy::Salvage);
    let store = SqliteStore::open(&path).await.unwrap();
    let expired = Retention::older_than(1).plan(&store, Timestamp(1_000)).await.unwrap();
    let [expired] = &expired[..] else { panic!("{expired:?}") };
    assert_eq!(expired.info.id, session(2));
    store.delete_idle(&expired.info).await.unwrap();
    assert_eq!(store.sessions().await.unwrap().len(), 4);
}

/// Returns the page on which a table begins.
async fn root_of(path: &Path, table: &str) -> usize {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let query = sqlx::query_scalar("SELECT rootpage FROM sqlite_schema WHERE name = ?").bind(table);
    let root: i64 = query.fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    root as usize
}

#[tokio::test]
async fn letters_whose_seals_cannot_be_read_are_not_all_lost() {
    for byte in [0, 0xee] {
        let folder = tempfile::tempdir().unwrap();
        let path = closed(folder.path()).await;
        let root = root_of(&path, "letter_seals").await;
        let mut bytes = fs::read(&path).unwrap();
        bytes[(root - 1) * 4096..root * 4096].fill(byte);
        fs::write(&path, bytes).unwrap();
        let mended = mend(&path).await.unwrap();
        assert_eq!(mended.remedy, Remedy::Salvage, "{mended}");
        assert!(!mended.is_whole() && mended.after.is_sound(), "{mended}");
        assert_eq!(mended.saved.len(), 5, "{mended}");
        for saved in &mended.saved {
            let told = "letter 2 of its inbox: its seal cannot be read: ";
            assert!(saved.reason.contains(told), "{saved}");
        }
        let store = SqliteStore::open(&path).await.unwrap();
        for number in 1..=5 {
            let consumed = store.letter(&session(number), InboxId(1)).await.unwrap();
            assert!(matches!(consumed, LetterState::Consumed { .. }), "{consumed:?}");
            let waiting = store.letter(&session(number), InboxId(2)).await.unwrap_err();
            assert!(matches!(waiting, StoreError::NoSuchLetter { .. }), "{waiting}");
            assert_eq!(store.inbox(&session(number)).await.unwrap(), []);
            // No number is given twice.
            let posted = store.post(&session(number), "prompt", "1", Timestamp(18)).await.unwrap();
            assert_eq!(posted, InboxId(3));
        }
    }
}
