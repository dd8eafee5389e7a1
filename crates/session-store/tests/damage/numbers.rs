//! Rows that say what no row can say: refused, whatever the number, and nothing is made as large as they claim.

use expect_test::{Expect, expect};
use trunkline_session_store::{Kept, SessionStore, SqliteStore, StoreError, Tally};

use super::*;

/// A session whose second record has two large strings and whose others have none.
async fn open() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let two = format!("{{\"one\":\"{}\",\"two\":\"{}\"}}", "1".repeat(5000), "2".repeat(5000));
    let blob = Blob { layer: "tools".into(), kind: "file".into(), at: Timestamp(14), bytes: vec![1; 100] };
    let about = Note::new("runtime", "run", Timestamp(13), "1").about("run-1", "open");
    let records = vec![note(&two), node(1, 0, "hello"), Record::Blob(blob), Record::Note(about)];
    append(&store, &lease, records).await.unwrap();
    (folder, store)
}

/// Runs statements and shows what becomes of whoever reads and claims.
async fn check(statements: &str, expected: &Expect) {
    let (_folder, store) = open().await;
    sql(store.path(), statements).await;
    let id = session(1);
    let mut text = String::new();
    let mut say = |what: &str, result: Result<(), StoreError>| {
        let said = result.map_or_else(|error| words(&error, store.path()), |()| "ok".to_owned());
        text += &format!("{what}: {said}\n");
    };
    say("info", store.info(&id).await.map(drop));
    say("load", store.load(&id).await.map(drop));
    say("read", store.read(&id, u64::MAX, 9).await.map(drop));
    say("outline", store.outline(&id).await.map(drop));
    say("resume", store.resume(&id, 2).await.map(drop));
    say("notes", store.notes(&Default::default()).await.map(drop));
    let digest = trunkline_session_store::Digest::of(&[1; 100]);
    say("blob", store.blob(&id, &digest).await.map(drop));
    match store.lease(&id).await {
        Ok(lease) => say("append", append(&store, &lease, vec![note("1"), note("2")]).await.map(drop)),
        Err(error) => say("lease", Err(error)),
    }
    expected.assert_eq(&text);
}

#[tokio::test]
async fn a_token_after_which_none_comes_is_refused() {
    check(
        "UPDATE sessions SET token = -1",
        &expect![[r#"
        info: ok
        load: ok
        read: ok
        outline: ok
        resume: ok
        notes: ok
        blob: ok
        lease: sessions.db is damaged: session 00000000-0000-7000-8000-000000000001: no token is left
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_log_is_not_longer_than_numbers_go() {
    check(
        "UPDATE sessions SET records = -1",
        &expect![[r#"
        info: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
        load: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
        read: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
        outline: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
        resume: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
        notes: ok
        blob: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
        lease: sessions.db is damaged: session "00000000-0000-7000-8000-000000000001": its records are -1
    "#]],
    )
    .await;
    check("UPDATE sessions SET records = 9223372036854775807", &expect![[r#"
        info: ok
        load: record 6 of session 00000000-0000-7000-8000-000000000001 is damaged: it is missing
        read: ok
        outline: ok
        resume: record 9223372036854775806 of session 00000000-0000-7000-8000-000000000001 is damaged: it is missing
        notes: ok
        blob: ok
        append: ok
    "#]]).await;
}

#[tokio::test]
async fn a_tree_is_not_larger_than_its_log_or_its_file() {
    check("UPDATE sessions SET nodes = 4294967295", &expect![[r#"
        info: ok
        load: ok
        read: ok
        outline: sessions.db is damaged: the tree of session 00000000-0000-7000-8000-000000000001: its row says 4294967295 nodes, for which the file is too small
        resume: sessions.db is damaged: the tree of session 00000000-0000-7000-8000-000000000001: its row says 4294967295 nodes, for which the file is too small
        notes: ok
        blob: ok
        append: ok
    "#]]).await;
    check("UPDATE sessions SET nodes = 4294967295, records = 4294967295", &expect![[r#"
        info: ok
        load: record 6 of session 00000000-0000-7000-8000-000000000001 is damaged: it is missing
        read: ok
        outline: sessions.db is damaged: the tree of session 00000000-0000-7000-8000-000000000001: its row says 4294967295 nodes, for which the file is too small
        resume: sessions.db is damaged: the tree of session 00000000-0000-7000-8000-000000000001: its row says 4294967295 nodes, for which the file is too small
        notes: ok
        blob: ok
        append: ok
    "#]]).await;
}

#[tokio::test]
async fn a_record_has_no_number_below_one() {
    let statements = "UPDATE records SET seq = -1 WHERE seq = 4; UPDATE records SET seq = -2 WHERE seq = 5;
                      UPDATE keys SET seq = -2";
    check(statements, &expect![[r#"
        info: ok
        load: record 4 of session 00000000-0000-7000-8000-000000000001 is damaged: it is missing
        read: ok
        outline: ok
        resume: record 4 of session 00000000-0000-7000-8000-000000000001 is damaged: it is missing
        notes: record 18446744073709551614 of session 00000000-0000-7000-8000-000000000001 is damaged: no record has that number
        blob: record 18446744073709551615 of session 00000000-0000-7000-8000-000000000001 is damaged: no record has that number
        append: ok
    "#]]).await;
}

#[tokio::test]
async fn a_body_of_which_one_of_two_parts_is_gone_is_not_read_without_it() {
    check("DELETE FROM cuts WHERE place = (SELECT max(place) FROM cuts)", &expect![[r#"
        info: ok
        load: record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: 2 parts were cut out of its body, and 1 are there
        read: ok
        outline: ok
        resume: ok
        notes: ok
        blob: ok
        append: ok
    "#]]).await;
    check("DELETE FROM parts WHERE text LIKE '1%'", &expect![[r#"
        info: ok
        load: record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: 2 parts were cut out of its body, and 1 are there
        read: ok
        outline: ok
        resume: ok
        notes: ok
        blob: ok
        append: ok
    "#]]).await;
}

#[tokio::test]
async fn nothing_is_written_under_numbers_that_the_database_picks() {
    check("INSERT INTO bodies VALUES (9223372036854775807, '{}')", &expect![[r#"
        info: ok
        load: ok
        read: ok
        outline: ok
        resume: ok
        notes: ok
        blob: ok
        append: sessions.db is damaged: 0 numbers are left for bodies, and nothing can be added; export its sessions
    "#]]).await;
    // One that needs no other number than its own has the right one.
    let (_folder, store) = open().await;
    sql(store.path(), "INSERT INTO bodies VALUES (9223372036854775807, '{}')").await;
    let lease = store.lease(&session(1)).await.unwrap();
    append(&store, &lease, vec![note("20")]).await.unwrap();
    assert_eq!(store.verify(&session(1)).await.unwrap().records, 6);
}

#[tokio::test]
async fn a_page_holds_some_megabytes_and_at_least_one_record() {
    let (_folder, store) = open().await;
    let lease = store.lease(&session(1)).await.unwrap();
    for id in 2..=8 {
        append(&store, &lease, vec![node(id, id - 1, &format!("{id}").repeat(3 << 20))]).await.unwrap();
    }
    let (mut log, mut pages) = (Vec::new(), Vec::new());
    loop {
        let page: Vec<Kept> = store.read(&session(1), log.len() as u64, 1000).await.unwrap();
        if page.is_empty() {
            break;
        }
        pages.push(page.len());
        log.extend(page);
    }
    assert_eq!(pages, [8, 3, 1]);
    let whole = store.load(&session(1)).await.unwrap().records;
    let read = log.iter().map(|kept| (kept.seq, kept.record(&session(1)).unwrap()));
    assert!(read.eq(whole));
    assert_eq!(store.verify(&session(1)).await.unwrap().records, 12);
}

#[tokio::test]
async fn a_tally_that_has_no_number_left_refuses_what_comes() {
    let (_folder, store) = open().await;
    let mut tally = Tally::of(&store.info(&session(1)).await.unwrap());
    tally.seq = u64::MAX;
    let error = tally.add(&session(1), note("1")).unwrap_err();
    assert!(matches!(error, StoreError::BadRecord { seq: u64::MAX, .. }), "{error:?}");
}
