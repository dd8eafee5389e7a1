//! What the proxy refuses because an engine does not have it.

use expect_test::expect;
use trunkline_session_store::kit::engine::{Answer, EngineReport, Feature, Profile};

use super::boxed::{Boxed, steady, with};

#[test]
fn what_an_engine_lacks_is_refused_with_its_words_and_the_transaction_fails() {
    let profile = steady(Profile::hardest());
    let Some(boxed) = Boxed::new(profile) else { return };
    boxed.check(
        "query LISTEN x
         query SELECT pg_notify('x', 'y')
         query SELECT pg_advisory_xact_lock(1)
         query SET search_path = x
         query SELECT set_config('search_path', CASE WHEN true THEN 'x' ELSE 'true' END, false)
         query CREATE TEMP TABLE x ()
         query BEGIN; SAVEPOINT x
         query INSERT INTO @t VALUES (1)
         query COMMIT
         query INSERT INTO @t VALUES (2); NOTIFY x
         parse name = SELECT 1
         bind name
         execute
         sync
         parse SELECT 1
         bind
         execute
         parse UNLISTEN *
         bind
         execute
         parse SELECT 2
         bind
         execute
         sync
         query BEGIN
         parse SELECT pg_try_advisory_lock(7)
         sync
         query COMMIT",
        &expect![[r#"
            error 0A000 LISTEN is not supported
            ready I
            error 0A000 NOTIFY is not supported
            ready I
            error 0A000 advisory locks are not supported
            ready I
            error 0A000 SET of a session is not supported
            ready I
            error 0A000 SET of a session is not supported
            ready I
            error 0A000 temporary tables are not supported
            ready I
            done BEGIN
            error 0A000 SAVEPOINT is not supported
            ready E
            error 25P02 current transaction is aborted, commands ignored until end of transaction block
            ready E
            done ROLLBACK
            ready I
            done INSERT 0 1
            error 0A000 NOTIFY is not supported
            ready I
            error 0A000 named prepared statements are not supported
            ready I
            parsed
            bound
            row 1
            done SELECT 1
            error 0A000 LISTEN is not supported
            ready I
            done BEGIN
            ready T
            error 0A000 advisory locks are not supported
            ready E
            done ROLLBACK
            ready I
        "#]],
    );
    assert_eq!(boxed.rows(), "0");
    let EngineReport { lacking, .. } = boxed.engine.report();
    assert_eq!((lacking[&Feature::Listen], lacking[&Feature::SessionSetting]), (2, 2));
}

#[test]
fn one_statement_of_ddl_in_a_transaction_and_no_rows_with_it() {
    let profile = steady(Profile::aurora_dsql());
    let Some(boxed) = Boxed::new(profile) else { return };
    boxed.check(
        "query CREATE TABLE @u (a int); CREATE TABLE @v (a int)
         query BEGIN
         query CREATE TABLE @u (a int)
         query COMMIT
         query BEGIN; ALTER TABLE @u ADD b int
         parse INSERT INTO @u VALUES (1)
         bind
         execute
         sync
         query ROLLBACK
         query BEGIN; SELECT a FROM @t FOR UPDATE; ALTER TABLE @u ADD b int; COMMIT
         query WITH x AS (DELETE FROM @t RETURNING a) SELECT a FROM x; DROP TABLE @u",
        &expect![[r#"
            done CREATE TABLE
            error 0A000 multiple ddl statements not supported in a transaction
            ready I
            done BEGIN
            ready T
            done CREATE TABLE
            ready T
            done COMMIT
            ready I
            done BEGIN
            done ALTER TABLE
            ready T
            parsed
            bound
            error 0A000 ddl and dml are not supported in the same transaction
            ready E
            done ROLLBACK
            ready I
            done BEGIN
            done SELECT 0
            done ALTER TABLE
            done COMMIT
            ready I
            done SELECT 0
            error 0A000 ddl and dml are not supported in the same transaction
            ready I
        "#]],
    );
    assert_eq!(boxed.raw().value("SHOW transaction_isolation"), "repeatable read");
}

#[test]
fn words_in_strings_names_and_comments_ask_for_nothing() {
    let profile = steady(Profile::hardest());
    let Some(boxed) = Boxed::new(profile) else { return };
    for sql in [
        "SELECT 'LISTEN; pg_notify('",
        "SELECT E'\\'; LISTEN x; --'",
        "SELECT $$; LISTEN x; $$, $a$ ' $$ ; SAVEPOINT s $a$",
        "SELECT 1 AS \"pg_advisory_lock(\" -- ; SAVEPOINT s",
        "/* LISTEN /* nested */ ; */ SELECT 1;;",
        "SET LOCAL search_path = x",
        "SELECT set_config('search_path', 'x', true), 1 AS pg_notify",
        "SELECT 1 AS listen",
        "BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; COMMIT",
        "",
    ] {
        let said = boxed.raw().say(&format!("query {sql}"));
        assert!(!said.contains("error") && said.ends_with("ready I\n"), "{sql}: {said}");
    }
    for sql in ["/**/listen/**/x", "SELECT\tPG_NOTIFY\n('x', 'y')", "SELECT 1;SAVEPOINT x", "ROLLBACK TO x"] {
        let said = boxed.raw().say(&format!("query {}", sql.replace('\n', " ")));
        assert!(said.contains("0A000"), "{sql}: {said}");
    }
}

#[test]
fn what_is_ignored_succeeds_with_a_warning_and_does_nothing() {
    let listening = (Feature::Listen, Answer::Ignored("it's 100% ignored"));
    let Some(boxed) = Boxed::new(with(|profile| profile.lacks = vec![listening])) else { return };
    let mut raw = boxed.raw();
    let said = raw
        .say("query LISTEN somewhere\nparse LISTEN somewhere\nbind\nexecute\nsync\nquery NOTIFY somewhere");
    expect![[r#"
        warning it's 100% ignored
        done DO
        ready I
        parsed
        bound
        warning it's 100% ignored
        done DO
        ready I
        done NOTIFY
        ready I
    "#]]
    .assert_eq(&said);
}
