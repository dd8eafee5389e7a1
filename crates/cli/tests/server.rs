//! The command on a PostgreSQL server: the same as on a file, and the same bytes.
//!
//! `TRUNKLINE_TEST_POSTGRES` is the URL of a server where each test makes a schema of its own.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::fake::{Scene, begins, says};
use crate::made::{id, rich, session};

const URL: &str = "TRUNKLINE_TEST_POSTGRES";

/// A schema on the server, which goes when it is dropped.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Returns a new one, or says loudly that there is no server.
    #[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tried")]
    pub(crate) fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let Some(server) = std::env::var(URL).ok().filter(|url| !url.is_empty() && url != "none") else {
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            eprintln!("SKIPPED {test}: {URL} is not set");
            return None;
        };
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Some(Schema { server, name: format!("cli_{}_{}_{number}", std::process::id(), since.as_micros()) })
    }

    pub(crate) fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}schema={}", self.server, self.name)
    }
}

impl Schema {
    /// Runs statements of an administrator; `@` stands for the schema.
    pub(crate) fn run(&self, sql: &str) {
        let sql = sql.replace('@', &format!("{}.", self.name));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        runtime.block_on(async {
            let connecting = tokio_postgres::connect(&self.server, tokio_postgres::NoTls).await;
            let (client, connection) = connecting.expect("the server is there");
            tokio::spawn(connection);
            client.batch_execute(&sql).await.expect("it can be run");
        });
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        // A server that is gone took it along.
        let _ = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.server, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute(&sql).await
        });
    }
}

#[test]
fn sessions_come_back_from_a_server_byte_for_byte() {
    let Some(schema) = Schema::new() else { return };
    let scene = Scene::new();
    // Two of one time, so that the order among them is seen too.
    scene.import(
        &[rich(1, 5_000), session(2, "ünïcödé", 6_000, &["\u{0} NUL \u{1f980}"]), rich(3, 5_000)].concat(),
    );
    scene.ok(&["tag", "rainy", "-s", &id(2)]);
    scene.run(&["archive", &id(3)]);
    let file = |name: &str| scene.path(name).to_str().expect("a plain path").to_owned();
    let (first, second) = (file("first.jsonl"), file("second.jsonl"));
    scene.ok(&["export", "--all", "-o", &first]);
    let taken = scene.ok(&["--store", &schema.url(), "import", &first]);
    assert_eq!(taken, "ID\nID\nID\n");
    scene.ok(&["--store", &schema.url(), "export", "--all", "-o", &second]);
    let bytes = std::fs::read(&first).expect("written");
    assert!(bytes.len() > 1_000_000, "{} bytes", bytes.len());
    assert!(bytes == std::fs::read(&second).expect("written"), "the same bytes");
    // And back into a file.
    let again = file("again.db");
    scene.ok(&["--store", &again, "import", &second]);
    let out = scene.command(&["--store", &again, "export", "--all"]).output().expect("it runs").stdout;
    assert!(out == bytes, "the same bytes");
    // The whole of it again changes nothing.
    let said = scene.run(&["--store", &schema.url(), "import", &first]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""), "{}", said.err);
    assert!(said.err.contains("3 sessions there already, with the same records"), "{}", said.err);
}

#[test]
fn a_run_on_a_server_can_be_joined_from_elsewhere() {
    let Some(schema) = Schema::new() else { return };
    let (mut scene, endpoint) = Scene::with(vec![begins("Thinking"), says("Both, then.")]);
    scene.set("TRUNKLINE_STORE", &schema.url());
    let child = scene.command(&["run", "the first thing"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || scene.is_running() && endpoint.requests().len() == 1);
    let second = scene.run(&["resume"]);
    assert_eq!(second.exit, Some(1));
    assert!(second.err.contains("is being written by process "), "{}", second.err);
    assert_eq!(scene.run(&["resume", "-p", "and the second"]).exit, Some(0));
    let cancelled = scene.run(&["cancel", "--wait"]);
    assert_eq!(cancelled.exit, Some(0), "{}", cancelled.err);
    assert!(cancelled.err.contains("it has taken effect, in record "), "{}", cancelled.err);
    assert_eq!(scene.said(child.wait_with_output().expect("it ends")).exit, Some(130));
    let resumed = scene.run(&["resume"]);
    assert_eq!((resumed.exit, resumed.out.as_str()), (Some(0), "Both, then.\n"), "{}", resumed.err);
    assert!(endpoint.requests()[1].contains("and the second"));
    assert!(scene.ok(&["doctor"]).contains("1 session"));
}

#[test]
fn the_password_of_a_server_is_never_printed() {
    let scene = Scene::new();
    for url in [
        "postgres://ann:s3cret@127.0.0.1:1/db",
        "postgresql://ann:s3cret@127.0.0.1:1/db?sslmode=disable&password=s3cret",
        "postgres://ann:s3cret?@/#@127.0.0.1:1/db",
        "postgres://127.0.0.1:1/db?password=s3cret",
        "postgres://127.0.0.1:1/db?pass%77ord=s3cret",
        "postgres://ann:s3cret",
        "mysql://ann:s3cret@127.0.0.1:1/db",
    ] {
        for command in ["sessions", "show", "doctor"] {
            let said = scene.run(&["--store", url, command]);
            assert!(matches!(said.exit, Some(1 | 2)), "{url}: {:?}", said.exit);
            assert!(!format!("{}{}", said.out, said.err).contains("s3cret"), "{url}: {}", said.err);
            assert!(said.err.contains("error: "), "{url}: {}", said.err);
        }
    }
}
