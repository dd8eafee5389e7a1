//! Who is at the other end: the server itself, or a pooler that may give the next transaction to another backend.
//!
//! A store listens only where the server itself is. What it says there stays on the backend, and through a pool that is idle it
//! would seem to work.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_postgres::SimpleQueryMessage;
use trunkline_session_store::{Activity, PostgresOptions, PostgresStore, SessionStore};

use super::super::made::{append_notes, new_session, session};
use super::super::{Schema, client, server, with};
use super::backends::{backends, left};
use super::{SESSION, TRANSACTION, way};

/// A way as a row of the table below.
struct Way {
    name: &'static str,
    url: String,
    /// Whether its backends are shared.
    shares: bool,
}

/// Has a store wait for a session by a way; returns whether it listens.
async fn waits(admin: &str, way: &Way) -> &'static str {
    let schema = Schema::new(admin);
    // By that it is known among the server's connections, also behind a pooler.
    let url = with(&way.url, &format!("application_name={}", schema.name));
    let store = PostgresStore::open(PostgresOptions::new(url).schema(&schema.name)).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let seen = store.changed(&session(1), Activity::default()).await.unwrap();
    let waiting = store.clone();
    let waits = tokio::spawn(async move { waiting.changed(&session(1), seen).await });
    // It listens at once or not at all.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let sql = format!(
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %'
             AND (application_name = '{0}' OR query LIKE '%{0}%')",
        schema.name
    );
    let listens = !schema.rows(&sql).await.is_empty();
    if way.shares {
        assert_eq!(left(&way.url).await, "", "{}", way.name);
    }
    waits.abort();
    store.close().await;
    if listens { "listens" } else { "looks" }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_listens_only_where_the_server_itself_is() {
    let (Some(admin), Some(pooled), Some(in_session)) = (server(), way(TRANSACTION), way(SESSION)) else {
        return;
    };
    let (user, place) = admin.rsplit_once('@').unwrap();
    let (address, database) = place.split_once('/').unwrap();
    let through = |port: u16, database: &str| format!("{user}@127.0.0.1:{port}/{database}?sslmode=disable");
    let over_socket = |name: &str| format!("{}/{name}", pooled.rsplit_once('/').unwrap().0);
    let mut ways = vec![
        Way { name: "the server", url: admin.clone(), shares: false },
        Way { name: "the server through a tunnel", url: through(tunnel(address), database), shares: false },
        Way { name: "a pool of transactions", url: pooled.clone(), shares: true },
        Way { name: "a pool of sessions", url: in_session, shares: false },
    ];
    let sockets = Sockets::find(&admin, &over_socket("pgbouncer")).await;
    if let Some(Sockets { server, pooler }) = &sockets {
        let (socket, to_server, to_pooler) = ("transaction_socket", relay(server), relay(pooler));
        ways.extend([
            Way { name: "the server by its socket", url: through(to_server, database), shares: false },
            Way { name: "a pool of transactions over a socket", url: over_socket(socket), shares: true },
            Way {
                name: "a pool of sessions over a socket",
                url: over_socket("session_socket"),
                shares: false,
            },
            Way {
                name: "a pool of transactions by its socket",
                url: through(to_pooler, "transaction"),
                shares: true,
            },
            Way { name: "a pool by its socket over a socket", url: through(to_pooler, socket), shares: true },
        ]);
    }
    for one in &ways {
        let expected = if one.name.starts_with("the server") { "listens" } else { "looks" };
        assert_eq!(waits(&admin, one).await, expected, "{}", one.name);
    }
    // The same while others use all backends of the pool in turn.
    let busy = tokio::spawn(async move {
        loop {
            for client in backends(&pooled).await {
                let _ = client.batch_execute("SELECT pg_sleep(0.01); COMMIT").await;
            }
        }
    });
    for one in ways.iter().filter(|one| one.name == "a pool of transactions") {
        assert_eq!(waits(&admin, one).await, "looks", "{}, busy", one.name);
    }
    busy.abort();
}

/// The sockets of the server and of the pooler in the file system.
struct Sockets {
    server: PathBuf,
    pooler: PathBuf,
}

impl Sockets {
    /// Asks both; nothing where they have none, or not on this machine.
    async fn find(admin: &str, console: &str) -> Option<Self> {
        let sql = "SELECT current_setting('data_directory'), current_setting('port')";
        let asked = client(admin).await.query_one(sql, &[]).await.ok()?;
        let (data, port): (String, String) = (asked.get(0), asked.get(1));
        let server = PathBuf::from(data).join(format!(".s.PGSQL.{port}"));
        let (mut folder, mut port) = (String::new(), String::new());
        for message in client(console).await.simple_query("SHOW CONFIG").await.ok()? {
            let SimpleQueryMessage::Row(row) = message else { continue };
            match row.get(0)? {
                "unix_socket_dir" => folder = row.get(1)?.to_owned(),
                "listen_port" => port = row.get(1)?.to_owned(),
                _ => {}
            }
        }
        let pooler = PathBuf::from(folder).join(format!(".s.PGSQL.{port}"));
        (server.exists() && pooler.exists()).then_some(Sockets { server, pooler })
    }
}

/// A port that leads to another, as a tunnel has it.
fn tunnel(address: &str) -> u16 {
    let address = address.to_owned();
    passing(move || {
        let far = TcpStream::connect(&address).ok()?;
        Some((far.try_clone().ok()?, far))
    })
}

/// A port that leads to a socket.
fn relay(socket: &Path) -> u16 {
    let socket = socket.to_owned();
    passing(move || {
        let far = UnixStream::connect(&socket).ok()?;
        Some((far.try_clone().ok()?, far))
    })
}

/// A port that passes on what comes to it; its thread ends with the process of the test.
fn passing<R: Read + Send + 'static, W: Write + Send + 'static>(
    far: impl Fn() -> Option<(R, W)> + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let (Some((mut said, mut to)), Ok(mut from)) = (far(), near.try_clone()) else { return };
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
            });
            std::thread::spawn(move || {
                let mut near = near;
                let _ = std::io::copy(&mut said, &mut near);
                let _ = near.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

/// Whoever waits is told although nobody tells: it looks each second.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_through_a_pool_sees_what_others_write() {
    let Some(admin) = server() else { return };
    for variable in [TRANSACTION, SESSION] {
        let Some(url) = way(variable) else { continue };
        let schema = Schema::through(&admin, &url);
        let (one, two) = (schema.open().await, schema.open().await);
        one.create(new_session(1)).await.unwrap();
        let lease = one.lease(&session(1)).await.unwrap();
        let begin = Instant::now();
        for seq in 1..4 {
            let seen = two.changed(&session(1), Activity::default()).await.unwrap();
            let reader = two.clone();
            let waits = tokio::spawn(async move { reader.changed(&session(1), seen).await });
            tokio::time::sleep(Duration::from_millis(50)).await;
            append_notes(&one, &lease, seq, 1).await.unwrap();
            assert_eq!(waits.await.unwrap().unwrap().records, seen.records + 1);
        }
        // Three looks, on a machine that may be busy.
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        one.close().await;
        two.close().await;
    }
}
