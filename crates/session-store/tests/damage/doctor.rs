//! What a doctor finds, and what it can still do.

use std::fs;

use expect_test::{Expect, expect};
use trunkline_session_store::doctor::{Remedy, examine, mend};
use trunkline_session_store::{NoteQuery, SessionStore, SqliteStore, StoreError};

use super::*;

/// Damages a closed database with statements, mends it, and shows what was said. Every session that still verified before
/// is what it was.
async fn check(statements: &str, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    sql(&path, statements).await;
    let examined = examine(&path).await.unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    store.close().await;
    assert_eq!(examine(&path).await.unwrap(), examined, "looking changes nothing");
    let mended = mend(&path).await.unwrap();
    assert_eq!(mended.before, examined);
    assert!(mended.after.is_sound(), "{mended}");
    let store = SqliteStore::open(&path).await.unwrap();
    let after = sessions(&store).await.unwrap();
    for (session, lines) in &whole {
        assert_eq!(after.get(session), Some(lines), "{session}");
    }
    expected.assert_eq(&plain(&mended.to_string(), &path));
    // It can be gone on with.
    let (lease, info) = (store.lease(&session(2)).await.unwrap(), store.info(&session(2)).await.unwrap());
    let (id, head) = (info.nodes as u32, info.head.index() as u32);
    append(&store, &lease, vec![node(id, head, "and on")]).await.unwrap();
    store.verify(&session(2)).await.unwrap();
}

#[tokio::test]
async fn a_whole_database_needs_nothing() {
    check("SELECT 1", expect!["nothing needed to be done: 5 sessions, 135 verified records"]).await;
    let folder = tempfile::tempdir().unwrap();
    let path = killed(folder.path()).await;
    let before = (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap());
    let examined = examine(&path).await.unwrap();
    expect!["5 sessions, 135 verified records: sound"].assert_eq(&examined.to_string());
    assert!(before == (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap()));
}

#[tokio::test]
async fn what_follows_from_the_logs_is_made_anew_in_place() {
    check("UPDATE sessions SET records = 7, bytes = 1, updated_at = 0 WHERE session = 1", expect![[r#"
        derived: session 00000000-0000-7000-8000-000000000001: its row does not say what its log does: record 7 with head n9 with 10 nodes and 1 bytes, not record 15 with head n9 with 10 and 15898
        made anew from the logs: 5 sessions, 135 verified records"#]]).await;
    check("UPDATE sessions SET letters = 0, consumed = 9 WHERE session = 2", expect![[r#"
        derived: session 00000000-0000-7000-8000-000000000002: its row counts 0 letters and 9 consumed, its inbox has 2 and 1
        made anew from the logs: 5 sessions, 135 verified records"#]]).await;
    check(
        "UPDATE keys SET state = 'open', seq = first WHERE session = 3; DELETE FROM keys WHERE session = 4",
        expect![[r#"
        derived: session 00000000-0000-7000-8000-000000000003: its list of keys is not what its notes say
        derived: session 00000000-0000-7000-8000-000000000004: its list of keys is not what its notes say
        made anew from the logs: 5 sessions, 135 verified records"#]],
    )
    .await;
    check(
        "UPDATE parts SET digest = randomblob(32)",
        expect![[r#"
        derived: 6 parts of bodies are not what their digests say
        made anew from the logs: 5 sessions, 135 verified records"#]],
    )
    .await;
}

#[tokio::test]
async fn an_index_that_lies_is_made_anew() {
    // The rows stay in the indices, under a schema that does not know of these.
    let statements = "PRAGMA writable_schema = ON;
        CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name IN ('branches', 'keys_by_state', 'cuts_of');
        DELETE FROM sqlite_schema WHERE name IN ('branches', 'keys_by_state', 'cuts_of');
        PRAGMA writable_schema = RESET;
        UPDATE records SET parent = parent - 1 WHERE node = 3 AND kind = 0;
        UPDATE records SET parent = parent + 1 WHERE node = 3 AND kind = 0;
        DELETE FROM keys WHERE session = 2;
        PRAGMA writable_schema = ON;
        INSERT INTO sqlite_schema SELECT * FROM kept;
        DROP TABLE kept;
        PRAGMA writable_schema = RESET;";
    check(
        statements,
        expect![[r#"
        derived: index keys_by_state: wrong # of entries in index keys_by_state
        derived: session 00000000-0000-7000-8000-000000000002: its list of keys is not what its notes say
        made anew from the logs: 5 sessions, 135 verified records"#]],
    )
    .await;
}

#[tokio::test]
async fn of_a_damaged_log_the_longest_beginning_that_verifies_is_taken_over() {
    check("UPDATE bodies SET json = replace(json, 'message 5', 'massage 5')", expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000001, record 9: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000002, record 9: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000003, record 9: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000004, record 9: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000005, record 9: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000001: kept 8 of 15 records: record 9: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000002: kept 8 of 21 records: record 9: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000003: kept 8 of 27 records: record 9: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000004: kept 8 of 33 records: record 9: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000005: kept 8 of 39 records: record 9: it is not the one that was written: its digest does not follow
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 5 sessions, 40 verified records"#]]).await;
    check("DELETE FROM records WHERE session = 2 AND seq > 10; DELETE FROM records WHERE session = 3 AND seq = 9", expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000002, record 11: is missing with all after it: the session had 21 records
        loss: session 00000000-0000-7000-8000-000000000003, record 9: record 10 stands in its place
        derived: 12 bodies belong to no record
        session 00000000-0000-7000-8000-000000000002: kept 10 of 21 records: record 11: it is missing
        session 00000000-0000-7000-8000-000000000003: kept 8 of 27 records: record 9: record 10 stands in its place
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 5 sessions, 105 verified records"#]]).await;
    check("UPDATE parts SET text = replace(text, 'Spain', 'Wales')", expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000001, record 3: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000002, record 3: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000003, record 3: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000004, record 3: it is not the one that was written: its digest does not follow
        loss: session 00000000-0000-7000-8000-000000000005, record 3: it is not the one that was written: its digest does not follow
        derived: 1 parts of bodies are not what their digests say
        session 00000000-0000-7000-8000-000000000001: kept 2 of 15 records: record 3: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000002: kept 2 of 21 records: record 3: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000003: kept 2 of 27 records: record 3: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000004: kept 2 of 33 records: record 3: it is not the one that was written: its digest does not follow
        session 00000000-0000-7000-8000-000000000005: kept 2 of 39 records: record 3: it is not the one that was written: its digest does not follow
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 5 sessions, 10 verified records"#]]).await;
    check(
        "DELETE FROM bodies WHERE body IN (SELECT body FROM records WHERE session = 4 AND seq = 1)",
        expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000004, record 1: its body is missing
        session 00000000-0000-7000-8000-000000000004: kept 0 of 33 records: record 1: its body is missing
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 4 sessions, 102 verified records"#]],
    )
    .await;
    check(
        "DELETE FROM sessions WHERE session = 5",
        expect![[r#"
        loss: records of session number 5 belong to no session that is known
        derived: 1 keys belong to no session
        derived: 2 letters belong to no session
        derived: 1 snapshots belong to no session
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 4 sessions, 96 verified records"#]],
    )
    .await;
    check("UPDATE records SET kind = 9 WHERE session = 1 AND seq = 4; UPDATE records SET node = -1 WHERE session = 4 AND seq = 2", expect![[r#"
        loss: session 00000000-0000-7000-8000-000000000001, record 4: its kind is 9
        loss: session 00000000-0000-7000-8000-000000000004, record 2: its node is -1, which is no node
        session 00000000-0000-7000-8000-000000000001: kept 3 of 15 records: record 4: its kind is 9
        session 00000000-0000-7000-8000-000000000004: kept 1 of 33 records: record 2: its node is -1, which is no node
        kept as it was: sessions.db.set-aside-1
        a new database has taken over what was whole: 5 sessions, 91 verified records"#]]).await;
}

#[tokio::test]
async fn rows_that_belong_to_nothing_are_left_behind_in_the_old_file() {
    check(
        "INSERT INTO bodies (json) VALUES ('1'), ('2'); INSERT INTO letters VALUES (99, 1, 1, 'prompt', '1', NULL)",
        expect![[r#"
            derived: 2 bodies belong to no record
            derived: 1 letters belong to no session
            kept as it was: sessions.db.set-aside-1
            a new database has taken over what was whole: 5 sessions, 135 verified records"#]],
    )
    .await;
}

#[tokio::test]
async fn a_mended_session_keeps_what_is_not_in_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let (lease, query) = (store.lease(&session(2)).await.unwrap(), NoteQuery::default());
    let mut before = Vec::new();
    for number in [2, 3] {
        let session = session(number);
        before.push((store.info(&session).await.unwrap(), store.inbox(&session).await.unwrap()));
    }
    let token = lease.token();
    let notes = store.notes(&query).await.unwrap();
    drop(lease);
    store.close().await;
    sql(&path, "DELETE FROM bodies WHERE body IN (SELECT body FROM records WHERE session = 5 AND seq = 30)")
        .await;
    let mended = mend(&path).await.unwrap();
    assert_eq!(mended.remedy, Remedy::Salvage);
    let store = SqliteStore::open(&path).await.unwrap();
    for (info, inbox) in before {
        assert_eq!(store.info(&info.id).await.unwrap(), info);
        assert_eq!(store.inbox(&info.id).await.unwrap(), inbox);
    }
    let found = store.notes(&query).await.unwrap();
    assert_eq!(found[..4], notes[..4]);
    assert!(store.lease(&session(2)).await.unwrap().token() > token);
    // The old one is a database that can be looked at.
    let old = SqliteStore::open(path.with_file_name("sessions.db.set-aside-1")).await.unwrap();
    assert_eq!(old.info(&session(5)).await.unwrap().records, 39);
    assert_eq!(store.info(&session(5)).await.unwrap().records, 29);
}

#[tokio::test]
async fn an_open_database_is_examined_and_not_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let _leases = fill_more(&store).await;
    let examined = examine(&path).await.unwrap();
    assert!(examined.is_sound(), "{examined}");
    let refused = mend(&path).await.unwrap_err();
    expect!["sessions.db is open in this or another process; close it there first"]
        .assert_eq(&words(&refused, &path));
    assert!(matches!(refused, StoreError::InUse { .. }));
}

async fn fill_more(store: &SqliteStore) -> Lease {
    let lease = store.lease(&session(1)).await.unwrap();
    append(store, &lease, vec![note("2")]).await.unwrap();
    lease
}

#[tokio::test]
async fn there_is_nothing_to_mend_where_nothing_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    assert!(matches!(mend(&path).await, Err(StoreError::Io { .. })));
    assert!(matches!(examine(folder.path()).await, Err(StoreError::NotAStore { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_mending_that_was_cut_off_is_ended_by_whoever_opens_the_database_next() {
    let folder = tempfile::tempdir().unwrap();
    let (new, old) = (folder.path().join("new"), folder.path().join("old"));
    fs::create_dir(&old).unwrap();
    let (new, old) = (closed(&new).await, killed(&old).await);
    let store = SqliteStore::open(&new).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    store.close().await;
    // Each moment of the change: how many files have been moved, and whether somebody tried to open it.
    for moved in 0..=2 {
        for made in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sessions.db");
            copy(&old, &path);
            fs::create_dir(folder.path().join("sessions.db.mending")).unwrap();
            fs::copy(&new, folder.path().join("sessions.db.mending/ready-1.db")).unwrap();
            for ending in ["", "-wal"].iter().take(moved) {
                let of = |name: &str| folder.path().join(format!("{name}{ending}"));
                fs::rename(of("sessions.db"), of("sessions.db.set-aside-1")).unwrap();
            }
            if made && moved > 0 {
                fs::write(&path, b"").unwrap();
            }
            let store = SqliteStore::open(&path).await.unwrap();
            assert_eq!(sessions(&store).await.unwrap(), whole);
            let names = beside(&path).into_iter().filter(|name| !name.ends_with(".promises"));
            assert!(names.eq(["sessions.db.set-aside-1", "sessions.db.set-aside-1-wal"]));
            let kept = fs::read(folder.path().join("sessions.db.set-aside-1")).unwrap();
            assert!(kept == fs::read(&old).unwrap());
        }
    }
}

/// What a session's row says and no record does: nothing tells what it was, and everybody notices that it is not that.
#[tokio::test]
async fn what_a_row_says_of_its_session_is_sealed() {
    for (statement, told) in [
        ("UPDATE sessions SET workspace = '/elsewhere' WHERE session = 2", "folder \"/elsewhere\""),
        ("UPDATE sessions SET title = 'another' WHERE session = 2", "title \"another\""),
        ("UPDATE sessions SET created_at = 7 WHERE session = 2", "made at 7 ms"),
        ("UPDATE sessions SET tags = '[]', archived = 1 WHERE session = 2", "title \"session 2\""),
        ("DELETE FROM seals WHERE session = 2", "the seal of its row is missing"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = closed(folder.path()).await;
        sql(&path, statement).await;
        let store = SqliteStore::open(&path).await.unwrap();
        assert!(matches!(store.sessions().await, Err(StoreError::Corrupt { .. })), "{statement}");
        assert!(matches!(store.load(&session(2)).await, Err(StoreError::Corrupt { .. })), "{statement}");
        assert!(matches!(store.lease(&session(2)).await, Err(StoreError::Corrupt { .. })), "{statement}");
        let amended = store.amend(&session(2), Amend::title("whatever")).await;
        assert!(
            matches!(amended, Err(StoreError::Corrupt { .. })),
            "{statement}: nobody seals it by the way"
        );
        store.verify(&session(1)).await.unwrap();
        store.close().await;
        let examined = examine(&path).await.unwrap();
        assert!(!examined.is_sound() && examined.to_string().contains(told), "{statement}: {examined}");
        let mended = mend(&path).await.unwrap();
        assert!(mended.after.is_sound() && !mended.is_whole(), "{statement}: {mended}");
        let store = SqliteStore::open(&path).await.unwrap();
        assert_eq!(store.sessions().await.unwrap().len(), 5, "{statement}");
        store.verify(&session(2)).await.unwrap();
        store.close().await;
    }
}

#[tokio::test]
async fn a_session_that_is_hidden_is_no_import_that_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let whole = sessions(&store).await.unwrap();
    store.close().await;
    sql(&path, "UPDATE sessions SET whole = 0 WHERE session = 4").await;
    let store = SqliteStore::open(&path).await.unwrap();
    assert!(matches!(store.sessions().await, Err(StoreError::Corrupt { .. })));
    assert!(matches!(store.info(&session(4)).await, Err(StoreError::Corrupt { .. })));
    // Neither a collection nor an import takes its place.
    assert_eq!(store.collect(false).await.unwrap().imports, 0);
    assert!(matches!(store.create(new_session(4)).await, Err(StoreError::SessionExists { .. })));
    store.close().await;
    let mended = mend(&path).await.unwrap();
    assert!(mended.is_whole(), "{mended}");
    assert!(mended.to_string().contains("it is hidden like an import that is under way, but it was whole"));
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(sessions(&store).await.unwrap(), whole);
}
