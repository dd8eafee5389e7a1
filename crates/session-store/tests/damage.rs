//! Files that are not what they should be: one clear line, and nothing skipped.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use trunkline_session_store::{SessionStore, SqliteStore, StoreError};

use crate::material::{batch, new_session, node, note, session, words};

/// A closed store with one session of three records.
async fn store_in(folder: &Path) -> PathBuf {
    let store = SqliteStore::open(folder.join("sessions.db")).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lock = store.lock(&session(1)).await.unwrap();
    store.append(&lock, batch(1, 0, vec![node(1, 0, "hello"), note("7")])).await.unwrap();
    let path = store.path().to_owned();
    store.close().await;
    path
}

async fn sql(path: &Path, statements: &str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The error in one line, without the folder.
fn line(error: &StoreError, path: &Path) -> String {
    let folder = path.parent().unwrap().display().to_string() + "/";
    let line = words(error).replace(&folder, "");
    assert!(!line.contains('\n'), "{line}");
    line
}

/// Damages a store and loads what is left.
async fn check(statements: &str, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(folder.path()).await;
    sql(&path, statements).await;
    let loaded = match SqliteStore::open(&path).await {
        Ok(store) => store.load(&session(1)).await.map(drop),
        Err(error) => Err(error),
    };
    expected.assert_eq(&line(&loaded.unwrap_err(), &path));
}

/// Opens a file with these bytes and sees that it stays as it is.
async fn check_bytes(bytes: &[u8], expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    fs::write(&path, bytes).unwrap();
    let path = path.canonicalize().unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    expected.assert_eq(&line(&error, &path));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn a_body_that_is_not_json_names_its_record() {
    check(
        "UPDATE bodies SET json = '{\"role\":\"us' WHERE body = 2",
        expect!["record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: its body cannot be read: EOF while parsing a string at line 1 column 11"],
    )
    .await;
}

#[tokio::test]
async fn a_body_that_is_not_text_names_its_record() {
    check("UPDATE bodies SET json = CAST(x'22ff22' AS TEXT) WHERE body = 3", expect!["record 3 of session 00000000-0000-7000-8000-000000000001 is damaged: json: invalid utf-8 sequence of 1 bytes from index 1"]).await;
}

#[tokio::test]
async fn a_missing_body_names_its_record() {
    check(
        "PRAGMA foreign_keys = OFF; DELETE FROM bodies WHERE body = 2",
        expect!["record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: its body is missing"],
    )
    .await;
}

#[tokio::test]
async fn a_gap_is_noticed() {
    check("DELETE FROM records WHERE seq = 2", expect!["record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: record 3 stands in its place"]).await;
}

#[tokio::test]
async fn a_missing_end_is_noticed() {
    check(
        "DELETE FROM records WHERE seq = 3",
        expect!["record 3 of session 00000000-0000-7000-8000-000000000001 is damaged: it is missing"],
    )
    .await;
}

#[tokio::test]
async fn a_kind_from_nowhere_is_not_skipped() {
    check(
        "UPDATE records SET kind = 'blob' WHERE seq = 3",
        expect![[
            r#"record 3 of session 00000000-0000-7000-8000-000000000001 is damaged: its kind is "blob""#
        ]],
    )
    .await;
}

#[tokio::test]
async fn a_node_that_cannot_be_is_named() {
    check(
        "UPDATE records SET node = -1 WHERE seq = 2",
        expect![
            "record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: node is -1, which is no node"
        ],
    )
    .await;
}

#[tokio::test]
async fn a_newer_schema_is_refused_before_it_is_read() {
    check(
        "PRAGMA user_version = 99; DROP TABLE letters",
        expect!["sessions.db was written by a newer version (schema 99, this one knows up to 1)"],
    )
    .await;
}

#[tokio::test]
async fn an_impossible_schema_version_is_damage() {
    check("PRAGMA user_version = -1", expect!["sessions.db is damaged: it claims schema version -1"]).await;
}

#[tokio::test]
async fn a_missing_table_is_said() {
    check("PRAGMA foreign_keys = OFF; DROP TABLE records", expect!["sessions.db: no such table: records"])
        .await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    check_bytes(
        &b"Dear diary, today I was not a database.\n".repeat(100),
        expect!["sessions.db is not a session store: file is not a database"],
    )
    .await;
}

#[tokio::test]
async fn the_database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("places.db");
    sql(&path, "CREATE TABLE places (url TEXT)").await;
    let bytes = fs::read(&path).unwrap();
    check_bytes(&bytes, expect!["sessions.db is not a session store: it is a database of another program"])
        .await;
}

#[tokio::test]
async fn a_truncated_database_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(folder.path()).await;
    let bytes = fs::read(&path).unwrap();
    check_bytes(
        &bytes[..bytes.len() / 2],
        expect!["sessions.db is damaged: database disk image is malformed"],
    )
    .await;
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
async fn a_folder_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("sessions.db");
    fs::create_dir(&path).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    expect!["cannot use sessions.db: unable to open database file"].assert_eq(&line(&error, &path));
}

#[tokio::test]
async fn no_flipped_byte_makes_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(folder.path()).await;
    let whole = fs::read(&path).unwrap();
    let mut errors = 0;
    // Every part of the file, not every byte: a prime step meets headers, cells and texts alike.
    for place in (0..whole.len()).step_by(211) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        let path = folder.path().join(format!("flipped-{place}.db"));
        fs::write(&path, &bytes).unwrap();
        let Ok(store) = SqliteStore::open(&path).await else {
            errors += 1;
            continue;
        };
        if store.load(&session(1)).await.is_err() {
            errors += 1;
        }
        let _ = store.sessions().await;
        let _ = store.post(&session(1), "prompt", "null", Default::default()).await;
        store.close().await;
    }
    assert!(errors > 0);
}
