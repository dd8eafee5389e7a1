//! Schemas: new ones, those of others, and those of other versions.

use trunkline_session_store::kit::{OldPlace, Place};
use trunkline_session_store::{PostgresOptions, PostgresStore, SessionStore, StoreError};

use super::made::{new_session, session};
use super::{Schema, run, server};

/// What past versions have left: statements as `pg_dump --inserts` writes them, with `@` for the schema.
pub(super) const SEED_1: &str = include_str!("seed_1.sql");
pub(super) const SEED_4: &str = include_str!("seed_4.sql");
/// All sessions of each of them, as lines of JSON.
const EXPORTED: &str = include_str!("seed_1.jsonl");

/// Returns schemas as past versions left them, some of them migrated; each with what it is.
pub(super) fn old_schemas(runtime: &tokio::runtime::Runtime, url: &str, way: &str) -> Vec<(String, Schema)> {
    let seeds = [
        ("schema 1, migrated", SEED_1, true),
        ("schema 4", SEED_4, false),
        ("schema 4, migrated", SEED_4, true),
    ];
    let plant = |(version, sql, migrated): (&str, &str, bool)| {
        let schema = Schema::through(url, way);
        runtime.block_on(async {
            schema.plant(sql).await;
            if migrated {
                schema.migrate().await;
            }
        });
        (version.to_owned(), schema)
    };
    seeds.map(plant).into()
}

/// Returns a place that a past version has written.
pub(super) fn old_place(version: String, place: impl Place + 'static) -> OldPlace {
    OldPlace { version, place: Box::new(place), exported: EXPORTED.to_owned() }
}

pub(super) fn old_places(
    runtime: &tokio::runtime::Runtime,
    url: &str,
    way: &str,
) -> Result<Vec<OldPlace>, String> {
    Ok(old_schemas(runtime, url, way)
        .into_iter()
        .map(|(version, schema)| old_place(version, schema))
        .collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_may_make_the_same_schema_at_once() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let opening: Vec<_> = (0..12).map(|_| tokio::spawn(PostgresStore::open(schema.options()))).collect();
    for (number, store) in (0..).zip(opening) {
        let store = store.await.unwrap().expect("it opens");
        store.create(new_session(number)).await.unwrap();
    }
    assert_eq!(schema.open().await.sessions().await.unwrap().len(), 12);
}

#[tokio::test]
async fn a_schema_of_a_newer_version_is_refused() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    drop(schema.open().await);
    schema.run("UPDATE @store SET version = 99").await;
    let error = PostgresStore::open(schema.options()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Newer { found: 99, .. }), "{error}");
    schema.run("UPDATE @store SET version = -1").await;
    let error = PostgresStore::open(schema.options()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_schema_of_somebody_else_is_refused_and_not_touched() {
    let Some(url) = server() else { return };
    for theirs in [
        "CREATE TABLE @books (title text)",
        "CREATE TABLE @store (place text)",
        "CREATE TABLE @store (mark text, version bigint); INSERT INTO @store VALUES ('their store', 1)",
        "CREATE TABLE @store (mark text, version bigint)",
        "CREATE VIEW @store AS SELECT 1 AS mark, 'x' AS version",
    ] {
        let schema = Schema::new(&url);
        run(&url, &format!("CREATE SCHEMA {}", schema.name)).await;
        schema.run(theirs).await;
        let error = PostgresStore::open(schema.options()).await.unwrap_err();
        assert!(matches!(&error, StoreError::NotAStore { .. }), "{theirs}: {error}");
        let tables = "SELECT count(*) AS n FROM pg_tables WHERE schemaname = ";
        let tables: i64 = schema.rows(&format!("{tables}'{}'", schema.name)).await.first().unwrap().get("n");
        assert!(tables <= 1, "{theirs}");
    }
}

#[tokio::test]
async fn a_database_that_cannot_hold_every_letter_is_refused() {
    let Some(url) = server() else { return };
    let name = Schema::new(&url).name.clone();
    run(
        &url,
        &format!(
            "CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        ),
    )
    .await;
    let (before, after) = url.split_once('?').unwrap_or((&url, ""));
    let (server, _) = before.rsplit_once('/').unwrap();
    let there = format!("{server}/{name}?{after}");
    let error = PostgresStore::open(PostgresOptions::new(there)).await.unwrap_err();
    run(&url, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    assert!(
        matches!(&error, StoreError::NotAStore { reason, .. } if reason.contains("SQL_ASCII")),
        "{error}"
    );
}

#[tokio::test]
async fn a_role_that_may_only_use_the_tables_can_use_them() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    drop(schema.open().await);
    let role = schema.user().await;
    let theirs = schema.with(&format!("options[role]={role}"));
    let store = PostgresStore::open(theirs).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    drop(store.lease(&session(1)).await.unwrap());
    store.delete(&session(1)).await.unwrap();
    store.collect(false).await.unwrap();
    store.close().await;
    run(&url, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn nothing_secret_is_printed() {
    let url = "postgres://somebody:hunter2@127.0.0.1:1/sessions?sslmode=disable";
    let options = PostgresOptions::new(url);
    let shown = format!("{options:?}");
    assert!(shown.contains("postgres://127.0.0.1:1/sessions"), "{shown}");
    let unreachable = PostgresStore::open(options).await.unwrap_err();
    assert!(matches!(unreachable, StoreError::Io { .. }));
    let garbled =
        PostgresStore::open(PostgresOptions::new("postgres://somebody:hunter2@[::1/x")).await.unwrap_err();
    let schema = PostgresStore::open(PostgresOptions::new(url).schema("a\"; DROP")).await.unwrap_err();
    for shown in
        [shown, format!("{unreachable} {unreachable:?}"), format!("{garbled:?}"), format!("{schema:?}")]
    {
        assert!(!shown.contains("hunter2") && !shown.contains("somebody"), "{shown}");
    }
}

#[tokio::test]
async fn who_is_not_let_in_is_not_named() {
    let Some(url) = server() else { return };
    let (scheme, rest) = url.split_once("://").unwrap();
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let url = format!("{scheme}://somebody_unknown:hunter2@{place}");
    let refused = PostgresStore::open(PostgresOptions::new(url)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Database { .. }), "{refused}");
    let said = format!("{refused} {refused:?}");
    assert!(!said.contains("somebody_unknown") && !said.contains("hunter2"), "{said}");
}

#[tokio::test]
async fn names_that_are_no_schemas_are_refused() {
    for name in ["", "1st", "Upper", "a b", "pg_toast", "x\0", &"x".repeat(64)] {
        let error =
            PostgresStore::open(PostgresOptions::new("postgres://h/d").schema(name)).await.unwrap_err();
        assert!(error.to_string().contains("not a name for a schema"), "{error}");
    }
}

/// A migration that was released is never edited: what every seed has become is what a new schema is.
#[tokio::test]
async fn a_new_schema_is_that_of_every_seed_once_it_is_migrated() {
    let Some(url) = server() else { return };
    let (first, fourth, new) = (Schema::new(&url), Schema::new(&url), Schema::new(&url));
    for (old, sql) in [(&first, SEED_1), (&fourth, SEED_4)] {
        old.plant(sql).await;
        old.migrate().await;
    }
    drop(new.open().await);
    let mut shapes = Vec::new();
    for schema in [&first, &fourth, &new] {
        let name = &schema.name;
        let sql = format!(
            "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable AS line
             FROM information_schema.columns WHERE table_schema = '{name}'
             UNION SELECT replace(indexdef, '{name}.', '') FROM pg_indexes WHERE schemaname = '{name}' ORDER BY 1"
        );
        let lines = schema.rows(&sql).await.iter().map(|row| row.get("line")).collect::<Vec<String>>();
        shapes.push(lines);
    }
    let made = shapes.pop();
    assert!(made.as_ref().is_some_and(|lines| lines.len() > 50), "{made:?}");
    assert_eq!(shapes.first(), made.as_ref());
    assert_eq!(shapes.last(), made.as_ref());
}

/// However many letters a session has consumed, what waits is found by an index that has nothing else.
#[tokio::test]
async fn what_waits_is_found_by_an_index() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    drop(schema.open().await);
    let id = session(1);
    schema
        .run(&format!(
            "INSERT INTO @letters (session, letter, at, kind, body, consumed, seal)
             SELECT '{id}', letter, 1, 'prompt', '1', 1, ''::bytea FROM generate_series(1, 5000) AS letter;
             ANALYZE @letters"
        ))
        .await;
    let sql = format!(
        "EXPLAIN SELECT * FROM @letters
         WHERE session = '{id}' AND (consumed IS NULL OR octet_length(seal) > 0) ORDER BY letter"
    );
    let plan: Vec<String> = schema.rows(&sql).await.iter().map(|row| row.get(0)).collect();
    assert!(plan.iter().any(|line| line.contains("letters_open")), "{plan:?}");
}
