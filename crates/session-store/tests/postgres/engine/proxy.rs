//! What the proxy passes on, from whom and to whom.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use expect_test::expect;
use trunkline_session_store::kit::engine::{HardEngine, Profile};

use super::super::{runtime, server};
use super::boxed::{Boxed, swapping, with};
use super::raw::{Raw, framed};

#[test]
fn what_is_plain_is_passed_on_in_order_however_much_is_sent_at_once() {
    let Some(boxed) = Boxed::new(Profile::plain()) else { return };
    boxed.check(
        "parse SELECT 1
         bind
         describe
         execute
         flush
         parse SELECT 1/0
         bind
         execute
         parse SELECT 3
         bind
         execute
         sync
         query BEGIN; SELECT 4
         parse INSERT INTO @t VALUES (5)
         bind
         execute
         sync
         query COMMIT
         query SELECT a FROM @t; SELECT oops
         sync",
        &expect![[r#"
            parsed
            bound
            row 1
            done SELECT 1
            parsed
            error 22012 division by zero
            ready I
            done BEGIN
            row 4
            done SELECT 1
            ready T
            parsed
            bound
            done INSERT 0 1
            ready T
            done COMMIT
            ready I
            row 5
            done SELECT 1
            error 42703 column "oops" does not exist
            ready I
            ready I
        "#]],
    );
}

#[test]
fn each_transaction_is_on_another_backend_and_stays_there() {
    let Some(boxed) = Boxed::new(swapping()) else { return };
    let mut raw = boxed.raw();
    let mut pid = || raw.value("SELECT pg_backend_pid()");
    let pids: Vec<String> = (0..12).map(|_| pid()).collect();
    assert!(pids.windows(2).all(|pair| pair[0] != pair[1]), "{pids:?}");
    raw.say("query BEGIN");
    let own = raw.value("SELECT pg_backend_pid()");
    for _ in 0..6 {
        assert_eq!(raw.value("SELECT pg_backend_pid()"), own);
        raw.say("parse SELECT 1\nbind\nexecute\nsync");
    }
    raw.say("query SELECT 1/0");
    raw.say("query ROLLBACK");
    assert_ne!(raw.value("SELECT pg_backend_pid()"), own);
    assert!(boxed.engine.report().swaps > 12);
}

#[test]
fn what_a_session_has_is_lost_or_found_by_others() {
    let Some(boxed) = Boxed::new(with(|profile| (profile.swaps, profile.backends) = (true, 2))) else {
        return;
    };
    let (mut one, mut two) = (boxed.raw(), boxed.raw());
    one.say("query SET search_path = nowhere");
    assert_ne!(one.value("SHOW search_path"), "nowhere");
    one.say("parse kept = SELECT 1\nsync");
    let lost = one.say("bind kept\nsync");
    assert!(lost.contains("error 26000 prepared statement \"kept\" does not exist"), "{lost}");
    // There are two backends, and both of them have had all that was said.
    let found: Vec<String> = (0..4).map(|_| two.value("SHOW search_path")).collect();
    assert!(found.contains(&"nowhere".to_owned()), "{found:?}");
    let taken: Vec<String> = (0..4).map(|_| two.say("parse kept = SELECT 2\nsync")).collect();
    assert!(taken.concat().contains("error 42P05 prepared statement \"kept\" already exists"), "{taken:?}");
    one.say("query LISTEN somewhere");
    // Not by a backend of the pool: it would tell only itself.
    runtime().block_on(boxed.schema.run("NOTIFY somewhere"));
    let told: String = (0..6).map(|_| two.say("query SELECT 1")).collect();
    assert!(told.contains("told "), "{told}");
}

#[test]
fn large_messages_go_both_ways_while_more_are_sent() {
    let Some(boxed) = Boxed::new(swapping()) else { return };
    let mut raw = boxed.raw();
    let mut writing = raw.stream.try_clone().unwrap();
    let large = "x".repeat(9_000_000);
    let mut all = Vec::new();
    for _ in 0..3 {
        // The answer is as large as the question, and nothing is read meanwhile.
        all.extend(framed(b'P', format!("\0SELECT '{large}'\0\0\0").as_bytes()));
        all.extend(framed(b'B', &[0; 8]));
        all.extend(framed(b'E', &[0; 5]));
    }
    all.extend(framed(b'S', &[]));
    let sending = std::thread::spawn(move || writing.write_all(&all).unwrap());
    let said = raw.hear(1);
    sending.join().unwrap();
    assert_eq!(said.lines().filter(|line| line.len() == large.len() + 4).count(), 3);
    assert!(said.ends_with("done SELECT 1\nready I\n"));
}

#[test]
fn rows_are_copied_out_and_not_in() {
    let Some(boxed) = Boxed::new(swapping()) else { return };
    boxed.check(
        "query COPY (SELECT 1 UNION ALL SELECT 2) TO STDOUT
         query COPY @t FROM STDIN",
        &expect![[r#"
            H
            d
            d
            c
            done COPY 2
            ready I
            G
            error 0A000 rows that a client copies in are not passed on
            cut
        "#]],
    );
}

#[test]
fn a_client_that_goes_away_in_a_transaction_leaves_nothing_behind() {
    let Some(boxed) = Boxed::new(swapping()) else { return };
    let mut other = boxed.raw();
    for goodbye in [&framed(b'X', &[])[..], b"", b"Q\0\0", &[b'Q', 255, 255, 255, 255], b"?\0\0\0\x04"] {
        let mut raw = boxed.raw();
        let said = raw.say(&boxed.sql("query BEGIN; LOCK TABLE @t; INSERT INTO @t VALUES (1)"));
        assert!(said.ends_with("ready T\n"), "{said}");
        raw.send(goodbye);
        drop(raw);
        // It waits for the lock.
        let said = other.say(&boxed.sql("query INSERT INTO @t VALUES (2)"));
        assert!(said.ends_with("done INSERT 0 1\nready I\n"), "{said}");
    }
    assert_eq!(boxed.rows(), "5");
}

#[test]
fn a_statement_is_cancelled_where_its_client_has_a_backend_of_its_own() {
    for (profile, slept) in [(Profile::plain(), "error 57014"), (swapping(), "done SELECT 1")] {
        let Some(boxed) = Boxed::new(profile) else { return };
        let mut raw = boxed.raw();
        raw.send(&framed(b'Q', b"SELECT pg_sleep(0.5)\0"));
        std::thread::sleep(Duration::from_millis(150));
        let mut stream = TcpStream::connect(boxed.engine.address()).unwrap();
        // After a question for TLS, as libpq does.
        stream.write_all(&[&8_u32.to_be_bytes()[..], &80_877_103_u32.to_be_bytes()].concat()).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *b"N");
        let cancel = [&16_u32.to_be_bytes()[..], &80_877_102_u32.to_be_bytes(), &raw.key].concat();
        stream.write_all(&cancel).unwrap();
        assert_eq!(stream.read(&mut answer).unwrap(), 0);
        let said = raw.hear(1);
        assert!(said.contains(slept), "{said}");
    }
}

#[test]
fn only_startup_parameters_that_a_pooler_keeps_are_let_in() {
    let Some(boxed) = Boxed::new(Profile::pgbouncer()) else { return };
    let address = boxed.engine.address();
    let greeting = |parameters: &[(&str, &str)]| Raw::connect_with(address, parameters).greeting;
    assert_eq!(greeting(&[("DateStyle", "ISO"), ("application_name", "me")]), "ready I\n");
    let refused = "error 08P01 unsupported startup parameter: extra_float_digits\ncut\n";
    assert_eq!(greeting(&[("extra_float_digits", "2")]), refused);
    assert_eq!(
        greeting(&[("user", "another")]),
        "error 28000 only the user of the engine's own URL is let in\ncut\n"
    );
    let Some(plain) = Boxed::new(Profile::plain()) else { return };
    let mut raw = Raw::connect_with(plain.engine.address(), &[("search_path", "mine")]);
    assert_eq!(raw.value("SHOW search_path"), "mine");
    // What is said unasked comes with the next answer.
    raw.say("query LISTEN somewhere");
    plain.raw().say("query NOTIFY somewhere");
    let said = raw.say("query SELECT 1");
    assert!(said.contains("told "), "{said}");
}

#[test]
fn bytes_that_are_no_protocol_do_no_harm() {
    let Some(boxed) = Boxed::new(swapping()) else { return };
    let hostile: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0, 0, 0, 4],
        &[0, 0, 0, 0],
        &[255; 64],
        &[0, 0, 0, 8, 0, 2, 0, 0],
        &[0, 0, 0, 9, 0, 3, 0, 0, 0],
        &[0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1],
    ];
    for bytes in hostile {
        let mut stream = TcpStream::connect(boxed.engine.address()).unwrap();
        stream.write_all(bytes).unwrap();
    }
    for body in [b"no zero".as_slice(), b"", b"S\0a"] {
        for kind in *b"QPBDECHSFdcfpX?" {
            let mut raw = boxed.raw();
            raw.send(&framed(kind, body));
            raw.send(&framed(b'S', &[]));
            raw.send(&framed(b'X', &[]));
            while raw.answer().is_some() {}
        }
    }
    assert_eq!(boxed.raw().value("SELECT 1"), "1");
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let choices = |seed| {
        let url = server()?;
        let mut profile = Profile::hardest();
        profile.delay_ms = 1;
        let engine = HardEngine::start(&url, profile, seed).unwrap();
        let said: Vec<String> =
            (0..60).map(|_| Raw::connect(&engine).say("query BEGIN\nquery SELECT 1\nquery COMMIT")).collect();
        Some(said)
    };
    let Some(first) = choices(7) else { return };
    assert_eq!(choices(7), Some(first.clone()));
    assert_ne!(choices(8), Some(first));
}

#[test]
fn a_server_that_is_not_there_or_refuses_the_login_is_told_at_the_start() {
    let Some(url) = server() else { return };
    let start =
        |url: &str| HardEngine::start(url, Profile::plain(), 1).map(drop).map_err(|error| error.to_string());
    assert_eq!(
        start("mysql://here"),
        Err("the URL is not like postgres://user:password@host:port/database".to_owned())
    );
    let (login, rest) = url.rsplit_once('@').unwrap();
    let (user, _) = login.rsplit_once(':').unwrap();
    let wrong = start(&format!("{user}:wrong@{rest}")).unwrap_err();
    assert_eq!(wrong, "password authentication failed for user \"trunkline\"");
    assert!(start("postgres://me@127.0.0.1:1/x").is_err());
}
