//! What is shown of the place of a store, and what is refused because it could be meant otherwise.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;

use crate::fake::Scene;

#[path = "../src/desk/place/url.rs"]
mod url;

use self::url::{Unusable, Url, is_nearly_url, is_url};

/// Only in passwords there are capitals and digits, so that whatever is shown of one is seen.
const PASSWORD: &str = "[A-Z0-9@/?#:&=%+. \\[\\]]{1,24}";

/// URLs as people write them, encoded or not, with a password in one of its places.
fn with_password() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![Just("postgres"), Just("postgresql")];
    let tail = prop_oneof![
        Just(""),
        Just("/team"),
        Just("/team?sslmode=require"),
        Just("?user=ann@corp&schema=team_b"),
        Just("/team?schema=team_b&user=ann"),
    ];
    let host = prop_oneof![Just("db"), Just("db:"), Just("[::a]:"), Just("")];
    let known = prop_oneof![Just(""), Just("user=ann&"), Just("schema=team_b&"), Just("user=ann@corp&")];
    let key = prop_oneof![Just("password"), Just("sslpassword"), Just("passfile")];
    (scheme, "(ann(@corp)?)?", PASSWORD, host, tail, known, key, 0..3).prop_map(
        |(scheme, user, password, host, tail, known, key, place)| match place {
            0 => format!("{scheme}://{user}:{password}@{host}{tail}"),
            1 => format!("{scheme}://{user}@{host}/team?{known}{key}={password}"),
            _ => format!("{scheme}://{host}?{key}={password}&{known}sslmode=require"),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_piece_of_a_password_is_shown(whole in with_password()) {
        if let Ok(url) = Url::parse(&whole) {
            for shown in [url.shown.clone(), format!("{url:?}")] {
                prop_assert!(!shown.contains(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit()), "{}", shown);
            }
            prop_assert!(url.is_secret);
        }
    }
}

fn read(whole: &str) -> Result<(String, Option<String>, String), Unusable> {
    assert!(is_url(whole), "{whole}");
    Url::parse(whole).map(|url| (url.server, url.schema, url.shown))
}

#[test]
fn the_schema_is_taken_out_wherever_it_stands_and_the_server_gets_the_rest() {
    for (whole, server, schema, shown) in [
        ("postgres://db/t", "postgres://db/t", None, "postgres://db/t"),
        ("postgres://db/t?schema=b", "postgres://db/t", Some("b"), "postgres://db/t?schema=b"),
        ("postgres://db?schema=b", "postgres://db", Some("b"), "postgres://db?schema=b"),
        (
            "postgres://db/t?user=ann@corp&schema=b",
            "postgres://db/t?user=ann@corp",
            Some("b"),
            "postgres://…",
        ),
        (
            "postgresql://ann:pw@[::1]:5432/t?schema=b&sslmode=disable",
            "postgresql://ann:pw@[::1]:5432/t?sslmode=disable",
            Some("b"),
            "postgresql://ann@[::1]:5432/t?schema=b&sslmode=disable",
        ),
        (
            "Postgres://ann:p@w@db/t?SCHEMA=b&password=c&user=d",
            "Postgres://ann:p@w@db/t?password=c&user=d",
            Some("b"),
            "Postgres://ann@db/t",
        ),
        (
            "postgres://ann@db/team?password=top@secret",
            "postgres://ann@db/team?password=top@secret",
            None,
            "postgres://…",
        ),
        (
            "postgres://ann:pw@one:1,[::1]:2,two/t?target_session_attrs=primary&schema=b",
            "postgres://ann:pw@one:1,[::1]:2,two/t?target_session_attrs=primary",
            Some("b"),
            "postgres://ann@one:1,[::1]:2,two/t?target_session_attrs=primary&schema=b",
        ),
        (
            "postgres:///t?host=/run/pg&schema=b",
            "postgres:///t?host=/run/pg",
            Some("b"),
            "postgres:///t?host=/run/pg&schema=b",
        ),
    ] {
        let read = read(whole).expect(whole);
        assert_eq!(read, (server.to_owned(), schema.map(str::to_owned), shown.to_owned()), "{whole}");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for whole in [
        "postgres://ann:a/b@db/t?schema=b",
        "postgres://ann:1/b@db/t?schema=b",
        "postgres://ann:1?b@db/t?schema=b",
        "postgres://ann:1?b@db&schema=b",
        "postgres://ann:a#b@db/t?schema=b",
        "postgres://db/t#x?schema=b",
        "postgres://db/t?user=ann#&schema=b",
        "postgres://ann:s3cret",
        "postgres://ann:s3cret,db/t",
        "postgres://db/t?sch%65ma=b",
    ] {
        assert_eq!(read(whole), Err(Unusable::NotEncoded), "{whole}");
    }
    assert_eq!(read("postgres://db/t?schema=a&schema=b"), Err(Unusable::ManySchemas));
}

#[test]
fn a_file_is_not_taken_for_a_server() {
    for file in ["sessions.db", "./postgres:x", "/srv/postgres/x.db", "postgres", "passwords.db", "a@b:c"] {
        assert!(!is_url(file) && !is_nearly_url(file), "{file}");
    }
}

#[test]
fn a_place_that_is_nearly_a_url_is_neither_repeated_nor_made() {
    let scene = Scene::new();
    for named in [
        &b"host=db user=ann password=s3cret"[..],
        b"host=db user=ann PassWord = 's3cret'",
        b"postgres:/ann:s3cret@db/x",
        b"POSTGRESQL:ann:s3cret@db/x",
        b" postgres://ann:s3cret@db/x",
        b"postgres://ann:\xffs3cret@127.0.0.1:1/x",
        b"jdbc:postgresql://127.0.0.1:1/x?user=ann&password=s3cret",
        b"ann:s3cret@db://x",
        b"ann:s3cret@127.0.0.1/x",
        b"postgres//ann:s3cret@db/x",
        b"mysql://ann:s3cret@db/x",
        b"postgres://ann:s3cret",
        b"postgres://ann:s3cret/x@127.0.0.1:1/x",
    ] {
        let named = OsStr::from_bytes(named);
        for command in [&["run", "hi", "-m", "m", "--provider", "ollama"][..], &["sessions"], &["demo"]] {
            let typed = scene.command(command).arg("--store").arg(named).output().expect("it runs");
            let set = scene.command(command).env("TRUNKLINE_STORE", named).output().expect("it runs");
            for said in [scene.said(typed), scene.said(set)] {
                assert_eq!(said.exit, Some(2), "{named:?}: {}", said.err);
                assert!(
                    said.err.contains("error: ") && said.err.contains("hint: "),
                    "{named:?}: {}",
                    said.err
                );
                assert!(!format!("{}{}", said.out, said.err).contains("cret"), "{named:?}: {}", said.err);
            }
        }
        let made = std::fs::read_dir(scene.work()).expect("a folder").count();
        assert_eq!(made, 0, "{named:?}");
    }
    assert_eq!(scene.run(&["sessions", "--store", ""]).exit, Some(2));
    let other = scene.run(&["sessions", "--store", "mysql://ann:s3cret@db/x"]);
    assert!(other.err.contains("no store can be opened by mysql://…"), "{}", other.err);
}
