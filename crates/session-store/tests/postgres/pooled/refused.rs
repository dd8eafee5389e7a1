//! What cannot work says so in one line when the store is opened: what it is, and what to do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use expect_test::{Expect, expect};
use trunkline_session_store::{PostgresOptions, PostgresStore};

use super::super::cluster::Cluster;
use super::super::{Schema, client, run, server};
use super::backends::Database;
use super::{SESSION, TRANSACTION, way};

/// Opens a store that cannot be opened, and compares what it says; `HOST` and `NAME` stand for what differs each time.
async fn refuses(options: PostgresOptions, name: &str, expected: Expect) {
    let Err(error) = PostgresStore::open(options).await else { panic!("it opens") };
    let said = error.to_string().replace(name, "NAME");
    let mut words: Vec<String> = Vec::new();
    for word in said.split(' ') {
        let host = word.find("127.0.0.1:").map(|at| {
            let port = word[at + 10..].chars().take_while(char::is_ascii_digit).count();
            format!("{}HOST{}", &word[..at], &word[at + 10 + port..])
        });
        words.push(host.unwrap_or_else(|| word.to_owned()));
    }
    expected.assert_eq(&words.join(" "));
}

fn other(url: &str, database: &str) -> String {
    format!("{}/{database}", url.rsplit_once('/').expect("a URL with a database").0)
}

#[tokio::test]
async fn a_pool_that_gives_each_statement_another_backend() {
    let Some(pooled) = way(TRANSACTION) else { return };
    refuses(PostgresOptions::new(other(&pooled, "statement")), "-", expect!["postgres://HOST/statement: the pooler gives each statement another connection to the server (statement pooling), and a batch is kept whole by a transaction: it has to be in transaction or session mode"]).await;
}

#[tokio::test]
async fn notifications_through_a_pool_of_transactions() {
    // The store holds one backend and wants another: on a pool of its own, or others who do so would wait for it.
    let (Some(admin), Some(database)) = (server(), Database::new().await) else { return };
    let options = PostgresOptions::new(format!("{}?notify=on", database.pooled));
    let Err(error) = PostgresStore::open(options).await else { panic!("it opens") };
    let said = ": a pooler gives each transaction another connection to the server, and none of them could listen for us; \
                leave `notify` out of the URL, or say notify=off";
    assert!(error.to_string().ends_with(said), "{error}");
    // Where each client has a backend of its own they are to be had.
    let Some(pooled) = way(SESSION) else { return };
    let schema = Schema::new(&admin);
    let options = PostgresOptions::new(format!("{pooled}?notify=on")).schema(&schema.name);
    PostgresStore::open(options).await.unwrap().close().await;
}

#[tokio::test]
async fn a_database_that_is_not_there() {
    let (Some(admin), Some(pooled)) = (server(), way(TRANSACTION)) else { return };
    refuses(
        PostgresOptions::new(other(&admin, "nowhere")),
        "-",
        expect![[r#"cannot use postgres://HOST/nowhere: database "nowhere" does not exist"#]],
    )
    .await;
    refuses(
        PostgresOptions::new(other(&pooled, "nowhere")),
        "-",
        expect![[r#"cannot use postgres://HOST/nowhere: database "nowhere" does not exist"#]],
    )
    .await;
}

#[tokio::test]
async fn a_user_whom_nobody_lets_in() {
    let (Some(admin), Some(pooled)) = (server(), way(TRANSACTION)) else { return };
    let said = [
        (
            "stranger",
            [
                expect!["postgres://HOST/postgres: the server does not let us in: look at user and password"],
                expect![
                    "postgres://HOST/transaction: the pooler does not let us in: look at user and password of the URL and at the users that the pooler knows"
                ],
            ],
        ),
        (
            "trunkline",
            [
                expect!["postgres://HOST/postgres: the server does not let us in: look at user and password"],
                expect![
                    "postgres://HOST/transaction: the pooler does not let us in: look at user and password of the URL and at the users that the pooler knows"
                ],
            ],
        ),
    ];
    for (user, expected) in said {
        for (url, expected) in [&admin, &pooled].into_iter().zip(expected) {
            let place = url.rsplit_once('@').unwrap().1;
            refuses(PostgresOptions::new(format!("postgres://{user}:secret@{place}")), "-", expected).await;
        }
    }
}

#[tokio::test]
async fn a_role_without_rights() {
    let Some(admin) = server() else { return };
    let schema = Schema::new(&admin);
    let name = &schema.name;
    run(&admin, &format!("CREATE DATABASE {name}; ")).await;
    run(
        &admin,
        &format!("CREATE ROLE {name} LOGIN PASSWORD 'secret'; REVOKE ALL ON DATABASE {name} FROM PUBLIC"),
    )
    .await;
    let place = other(admin.rsplit_once('@').unwrap().1, name);
    let options = || PostgresOptions::new(format!("postgres://{name}:secret@{place}"));
    // It may not even connect.
    refuses(options(), name, expect![[r#"cannot use postgres://HOST/NAME: permission denied for database "NAME"; its role needs rights that are listed in docs/postgres.md under "Roles and rights""#]])
        .await;
    // It may not make a schema.
    run(&admin, &format!("GRANT CONNECT ON DATABASE {name} TO {name}")).await;
    refuses(options(), name, expect![[r#"postgres://HOST/NAME: permission denied for database NAME; its role needs rights that are listed in docs/postgres.md under "Roles and rights""#]]).await;
    // It may not use the one that is there.
    PostgresStore::open(PostgresOptions::new(other(&admin, name))).await.unwrap().close().await;
    refuses(options(), name, expect![[r#"postgres://HOST/NAME: permission denied for schema trunkline; its role needs rights that are listed in docs/postgres.md under "Roles and rights""#]]).await;
    // It may use it, and none of its tables.
    run(&other(&admin, name), &format!("GRANT USAGE ON SCHEMA trunkline TO {name}")).await;
    refuses(options(), name, expect![[r#"postgres://HOST/NAME: permission denied for table store; its role needs rights that are listed in docs/postgres.md under "Roles and rights""#]]).await;
    run(&admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    run(&admin, &format!("DROP ROLE {name}")).await;
}

#[tokio::test]
async fn a_database_with_other_letters() {
    let (Some(admin), Some(pooled)) = (server(), way(TRANSACTION)) else { return };
    for (encoding, expected) in [
        (
            "SQL_ASCII",
            expect![
                "postgres://HOST/NAME is not a session store: the database is encoded in SQL_ASCII; it has to be UTF8"
            ],
        ),
        (
            "LATIN1",
            expect![
                "postgres://HOST/NAME is not a session store: the database is encoded in LATIN1; it has to be UTF8"
            ],
        ),
    ] {
        let name = Schema::new(&admin).name.clone();
        let made = format!("CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'");
        run(&admin, &made).await;
        refuses(PostgresOptions::new(other(&pooled, &name)), &name, expected).await;
        run(&admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    }
}

#[tokio::test]
async fn a_standby() {
    let Some(mut cluster) = Cluster::start() else { return };
    let data = client(&cluster.url).await.query_one("SHOW data_directory", &[]).await.unwrap();
    let data: String = data.get(0);
    cluster.tell("stop");
    // It waits for a primary that never speaks.
    std::fs::write(std::path::Path::new(&data).join("standby.signal"), "").unwrap();
    cluster.tell("start");
    refuses(PostgresOptions::new(&cluster.url), "-", expect!["cannot use postgres://HOST/postgres: the server is a standby, or was set to take only reading: name the primary, or several hosts, of which the one that takes writing is found"]).await;
}

#[tokio::test]
async fn a_server_that_is_too_old() {
    let Some(admin) = server() else { return };
    let (_, place) = admin.rsplit_once('@').unwrap();
    let (address, path) = place.split_once('/').unwrap();
    let user = admin.rsplit_once('@').unwrap().0;
    let version: String =
        client(&admin).await.query_one("SHOW server_version_num", &[]).await.unwrap().get(0);
    let version: u32 = version.parse().unwrap();
    let port = rewriting(address, version.to_be_bytes(), 120_028_u32.to_be_bytes());
    let url = format!("{user}@127.0.0.1:{port}/{path}?sslmode=disable");
    refuses(
        PostgresOptions::new(url),
        "-",
        expect!["postgres://HOST/postgres: the server is version 12; 13 or newer is needed"],
    )
    .await;
}

/// A way to a server of which some bytes come as others.
fn rewriting(server: &str, from: [u8; 4], to: [u8; 4]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = server.to_owned();
    std::thread::spawn(move || {
        // One connection for each that the test makes; it ends with its process.
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(&server) else { return };
            let (mut said, mut passed) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut said, &mut passed);
                let _ = passed.shutdown(Shutdown::Both);
            });
            let (mut far, mut near) = (far, near);
            std::thread::spawn(move || {
                let mut bytes = vec![0; 64 * 1024];
                while let Some(count) = far.read(&mut bytes).ok().filter(|count| *count > 0) {
                    // A short answer comes in one piece.
                    while let Some(at) = bytes[..count].windows(4).position(|four| four == from) {
                        bytes[at..at + 4].copy_from_slice(&to);
                    }
                    if near.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = near.shutdown(Shutdown::Both);
            });
        }
    });
    port
}
