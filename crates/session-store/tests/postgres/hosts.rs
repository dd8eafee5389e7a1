//! Several hosts, some of which are away, or not what is wanted: servers of ten lines that say so.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use trunkline_session_store::PostgresOptions;

/// What a server of these tests says when somebody comes.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Says {
    Writable,
    /// As a standby of version 14 and newer says of itself.
    Standby,
    ReadOnly,
    /// As version 13, or a pool that keeps to itself what its servers say.
    OldWritable,
    OldStandby,
    Starts,
    Refuses,
    Closes,
}

struct Fake {
    port: u16,
    says: Arc<Mutex<Says>>,
    came: Arc<AtomicUsize>,
}

impl Fake {
    fn start(says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (says, came) = (Arc::new(Mutex::new(says)), Arc::new(AtomicUsize::new(0)));
        let (told, count) = (Arc::clone(&says), Arc::clone(&came));
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let says = *told.lock().unwrap();
                std::thread::spawn(move || serve(stream, says));
            }
        });
        Fake { port, says, came }
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}

/// Speaks as much of the protocol as a connection needs that asks one question.
fn serve(mut stream: TcpStream, says: Says) -> Option<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut startup = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()? - 4];
    stream.read_exact(&mut startup).ok()?;
    let error =
        |code: &str, text: &str| message(b'E', format!("SFATAL\0VFATAL\0C{code}\0M{text}\0\0").as_bytes());
    let (standby, read_only) = match says {
        Says::Closes => return None,
        Says::Starts => return stream.write_all(&error("57P03", "the database system is starting up")).ok(),
        Says::Refuses => {
            return stream
                .write_all(&error("28P01", "password authentication failed for user \"s3cret\""))
                .ok();
        }
        Says::Standby | Says::OldStandby => ("on", "off"),
        Says::ReadOnly => ("off", "on"),
        Says::Writable | Says::OldWritable => ("off", "off"),
    };
    let mut answer = message(b'R', &[0; 4]);
    answer.extend(message(b'S', b"server_version\x0099\0"));
    if !matches!(says, Says::OldWritable | Says::OldStandby) {
        for (name, value) in [("in_hot_standby", standby), ("default_transaction_read_only", read_only)] {
            answer.extend(message(b'S', format!("{name}\0{value}\0").as_bytes()));
        }
    }
    answer.extend(message(b'Z', b"I"));
    stream.write_all(&answer).ok()?;
    let mut kind = [0];
    while stream.read_exact(&mut kind).is_ok() && kind == *b"Q" {
        stream.read_exact(&mut length).ok()?;
        let mut sql = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()? - 4];
        stream.read_exact(&mut sql).ok()?;
        let value = match (String::from_utf8_lossy(&sql).contains("SHOW"), standby) {
            (true, "on") => "on",
            (true, _) => read_only,
            (false, "on") => "t",
            (false, _) => "f",
        };
        let columns = [&[0, 1], b"x\0".as_slice(), &[0; 6], &25_u32.to_be_bytes(), &[0; 8]].concat();
        let mut row = vec![0, 1];
        row.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
        row.extend(value.as_bytes());
        let mut answer = message(b'T', &columns);
        answer.extend(message(b'D', &row));
        answer.extend(message(b'C', b"SELECT 1\0"));
        answer.extend(message(b'Z', b"I"));
        stream.write_all(&answer).ok()?;
    }
    Some(())
}

/// Returns what is said, with letters for the hosts.
async fn said(fakes: &[Fake], parameters: &str) -> String {
    let hosts: Vec<String> = fakes.iter().map(|fake| format!("127.0.0.1:{}", fake.port)).collect();
    let options = PostgresOptions::new(format!("postgres://me@{}/work?{parameters}", hosts.join(",")));
    let mut said = match options.probe().await {
        Ok(how) => how,
        Err(error) => format!("ERROR {error}"),
    };
    for (host, letter) in hosts.iter().zip('a'..) {
        said = said.replace(host, &letter.to_string());
    }
    said
}

async fn check(wanted: &[&str], cases: &[&[Says]], expected: Expect) {
    let mut table = String::new();
    for case in cases {
        let fakes: Vec<Fake> = case.iter().map(|says| Fake::start(*says)).collect();
        table.push_str(&format!("{case:?}\n"));
        for wanted in wanted {
            let said = said(&fakes, &format!("sslmode=disable&{wanted}")).await;
            table.push_str(&format!("  {wanted}: {said}\n"));
        }
    }
    expected.assert_eq(&table);
}

#[tokio::test]
async fn of_several_hosts_the_wanted_one_is_found() {
    use Says::{Closes, OldStandby, OldWritable, ReadOnly, Refuses, Standby, Starts, Writable};
    let wanted = ["", "any", "read-write", "read-only", "primary", "standby", "prefer-standby"];
    let wanted = wanted
        .map(|word| if word.is_empty() { String::new() } else { format!("target_session_attrs={word}") });
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    check(
        &wanted,
        &[&[Standby, Writable], &[ReadOnly, Writable], &[OldStandby, OldWritable], &[Writable], &[Standby]],
        expect![[r#"
            [Standby, Writable]
              : PostgreSQL 99: b over TCP without encryption
              target_session_attrs=any: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=read-write: PostgreSQL 99: b over TCP without encryption
              target_session_attrs=read-only: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=primary: PostgreSQL 99: b over TCP without encryption
              target_session_attrs=standby: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=prefer-standby: PostgreSQL 99, a standby: a over TCP without encryption
            [ReadOnly, Writable]
              : PostgreSQL 99: b over TCP without encryption
              target_session_attrs=any: PostgreSQL 99: a over TCP without encryption
              target_session_attrs=read-write: PostgreSQL 99: b over TCP without encryption
              target_session_attrs=read-only: PostgreSQL 99: a over TCP without encryption
              target_session_attrs=primary: PostgreSQL 99: a over TCP without encryption
              target_session_attrs=standby: ERROR cannot use postgres://a,b/work: no host is what target_session_attrs asks for yet: a: it is no standby; b: it is no standby
              target_session_attrs=prefer-standby: PostgreSQL 99: a over TCP without encryption
            [OldStandby, OldWritable]
              : PostgreSQL 99: b over TCP without encryption
              target_session_attrs=any: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=read-write: PostgreSQL 99: b over TCP without encryption
              target_session_attrs=read-only: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=primary: PostgreSQL 99: b over TCP without encryption
              target_session_attrs=standby: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=prefer-standby: PostgreSQL 99, a standby: a over TCP without encryption
            [Writable]
              : PostgreSQL 99: a over TCP without encryption
              target_session_attrs=any: PostgreSQL 99: a over TCP without encryption
              target_session_attrs=read-write: PostgreSQL 99: a over TCP without encryption
              target_session_attrs=read-only: ERROR cannot use postgres://a/work: the host is not what target_session_attrs asks for: it is writable
              target_session_attrs=primary: PostgreSQL 99: a over TCP without encryption
              target_session_attrs=standby: ERROR cannot use postgres://a/work: the host is not what target_session_attrs asks for: it is no standby
              target_session_attrs=prefer-standby: PostgreSQL 99: a over TCP without encryption
            [Standby]
              : PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=any: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=read-write: ERROR cannot use postgres://a/work: the host is not what target_session_attrs asks for: it is not writable
              target_session_attrs=read-only: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=primary: ERROR cannot use postgres://a/work: the host is not what target_session_attrs asks for: it is a standby
              target_session_attrs=standby: PostgreSQL 99, a standby: a over TCP without encryption
              target_session_attrs=prefer-standby: PostgreSQL 99, a standby: a over TCP without encryption
        "#]],
    )
    .await;
    check(
        &["", "target_session_attrs=any"],
        &[
            &[Closes, Writable],
            &[Starts, Standby],
            &[Closes, Starts],
            &[Closes, Closes],
            &[Standby, Standby],
            &[Refuses, Writable],
        ],
        expect![[r#"
            [Closes, Writable]
              : PostgreSQL 99: b over TCP without encryption
              target_session_attrs=any: PostgreSQL 99: b over TCP without encryption
            [Starts, Standby]
              : ERROR cannot use postgres://a,b/work: no host is what target_session_attrs asks for yet: a: the database system is starting up; b: it is not writable
              target_session_attrs=any: PostgreSQL 99, a standby: b over TCP without encryption
            [Closes, Starts]
              : ERROR cannot use postgres://a,b/work: a: the server closed the connection; b: the database system is starting up
              target_session_attrs=any: ERROR cannot use postgres://a,b/work: a: the server closed the connection; b: the database system is starting up
            [Closes, Closes]
              : ERROR cannot use postgres://a,b/work: a: the server closed the connection; b: the server closed the connection
              target_session_attrs=any: ERROR cannot use postgres://a,b/work: a: the server closed the connection; b: the server closed the connection
            [Standby, Standby]
              : ERROR cannot use postgres://a,b/work: no host is what target_session_attrs asks for yet: a: it is not writable; b: it is not writable
              target_session_attrs=any: PostgreSQL 99, a standby: a over TCP without encryption
            [Refuses, Writable]
              : ERROR postgres://a,b/work: the server does not let us in: look at user and password
              target_session_attrs=any: ERROR postgres://a,b/work: the server does not let us in: look at user and password
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_not_waited_for_long() {
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = Fake::start(Says::Writable);
    let port = silent.local_addr().unwrap().port();
    let url = format!("postgres://me@127.0.0.1:{port},127.0.0.1:{}/work?sslmode=disable", there.port);
    let began = std::time::Instant::now();
    PostgresOptions::new(url).probe().await.unwrap();
    assert!(began.elapsed() >= std::time::Duration::from_secs(2), "it is given its time");
    let url = format!("postgres://me@127.0.0.1:{port}/work?sslmode=disable&connect_timeout=1");
    let error = PostgresOptions::new(url).probe().await.unwrap_err().to_string();
    assert!(error.contains("no answer within 2 s (connect_timeout)"), "{error}");
    assert_eq!(there.came.load(Ordering::Relaxed), 1);
    *there.says.lock().unwrap() = Says::Closes;
}
