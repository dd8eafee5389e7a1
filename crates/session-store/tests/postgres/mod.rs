//! PostgreSQL: the kit on a server, and what is special to it.
//!
//! `TRUNKLINE_TEST_POSTGRES` is the URL of a server where each test makes a schema of its own.
//! `TRUNKLINE_TEST_POSTGRES_CLUSTER` is the script that gives a server to a test that wants to stop it.

mod admin;
mod answers;
mod citus;
mod cluster;
mod crashes;
mod crowded;
mod damage;
mod engine;
mod hosts;
mod leases;
mod made;
mod migrations;
mod pooled;
mod replaced;
mod schema;
mod shapes;
mod teams;
mod tls;
mod urls;
mod wire;
mod writing;

use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio_postgres::{Client, NoTls, Row};
use trunkline_session_store::kit::{self, Handle, OldPlace, Options, Place, Subject};
use trunkline_session_store::{Migrate, PostgresAdmin, PostgresOptions, PostgresStore, StoreError};

const URL: &str = "TRUNKLINE_TEST_POSTGRES";
const SCHEMA: &str = "TRUNKLINE_TEST_POSTGRES_SCHEMA";

/// Returns the URL of the server, or says loudly that there is none.
fn server() -> Option<String> {
    let url = std::env::var(URL).ok().filter(|url| !url.is_empty() && url != "none");
    if url.is_none() {
        skipped(URL);
    }
    url
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tried")]
fn skipped(variable: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("SKIPPED {test}: {variable} is not set");
}

/// A schema that goes when it is dropped.
struct Schema {
    /// How an administrator gets there.
    url: String,
    /// How a store gets there.
    way: String,
    name: String,
}

impl Schema {
    fn new(url: &str) -> Self {
        Schema::through(url, url)
    }

    /// Returns one that stores reach by another way, such as a pooler.
    fn through(url: &str, way: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("test_{}_{}_{number}", std::process::id(), since.as_micros());
        Schema { url: url.to_owned(), way: way.to_owned(), name }
    }

    fn options(&self) -> PostgresOptions {
        PostgresOptions::new(&self.way).schema(&self.name)
    }

    async fn open(&self) -> PostgresStore {
        PostgresStore::open(self.options()).await.expect("it opens")
    }

    async fn admin(&self) -> PostgresAdmin {
        PostgresAdmin::connect(self.options()).await.expect("it connects")
    }

    /// Brings the schema to the newest version, which nobody writes.
    async fn migrate(&self) {
        let migration = self.admin().await.migrate(&Migrate::new(), |_| ()).await.expect("it is migrated");
        assert!(migration.done, "{migration:?}");
    }

    /// Makes a role that has the rights that docs/postgres.md lists, and no more; returns its name.
    async fn user(&self) -> String {
        let (name, role) = (&self.name, format!("role_{}", self.name));
        let sql = format!(
            "CREATE ROLE {role};
             GRANT USAGE ON SCHEMA {name} TO {role};
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {role};
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA {name} TO {role};"
        );
        run(&self.url, &sql).await;
        role
    }

    /// Returns the options of a store with one setting more in its URL.
    fn with(&self, setting: &str) -> PostgresOptions {
        PostgresOptions::new(with(&self.way, setting)).schema(&self.name)
    }

    /// Makes the schema from the statements of a seed.
    async fn plant(&self, sql: &str) {
        run(&self.url, &format!("CREATE SCHEMA {}", self.name)).await;
        self.run(sql).await;
    }

    /// Runs statements of an administrator; `@` stands for the schema.
    async fn run(&self, sql: &str) {
        run(&self.url, &sql.replace('@', &format!("{}.", self.name))).await;
    }

    async fn rows(&self, sql: &str) -> Vec<Row> {
        let client = client(&self.url).await;
        let sql = sql.replace('@', &format!("{}.", self.name));
        client.query(&sql, &[]).await.expect("it can be asked")
    }

    /// The number that a statement gives as `n`.
    async fn count(&self, sql: &str) -> i64 {
        let rows = self.rows(sql).await;
        rows.first().expect("it is one row").get("n")
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
        let url = self.url.clone();
        // On a thread of its own, because a test may be inside a runtime here. A server that is gone took it along.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await.ok()?;
                tokio::spawn(connection);
                client.batch_execute(&sql).await.ok()
            })
        });
        let _ = dropped.join();
    }
}

/// Returns a URL with one setting more.
fn with(url: &str, setting: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{setting}")
}

async fn run(url: &str, sql: &str) {
    client(url).await.batch_execute(sql).await.expect("it can be run");
}

/// Connects as an administrator would.
async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    client
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// So long does a lease of a killed process of these tests live on.
const TTL: Duration = Duration::from_millis(900);

struct Postgres {
    name: &'static str,
    runtime: tokio::runtime::Runtime,
    /// How an administrator gets there.
    url: String,
    /// How stores get there.
    way: String,
}

impl Postgres {
    fn by(name: &'static str, url: String, way: String) -> Self {
        Postgres { name, runtime: runtime(), url, way }
    }

    fn keeps_every_promise(&self) {
        self.keeps_every_promise_with(&options());
    }

    #[expect(clippy::print_stdout, reason = "whoever runs it by hand wants to see the report")]
    fn keeps_every_promise_with(&self, options: &Options) {
        let report = kit::run(self, options);
        println!("{report}");
        assert!(report.is_ok(), "{report}");
    }
}

impl Subject for Postgres {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Ok(Box::new(Schema::through(&self.url, &self.way)))
    }

    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.runtime.block_on(what);
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    fn lease_outlives(&self) -> Duration {
        TTL
    }

    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        schema::old_places(&self.runtime, &self.url, &self.way)
    }
}

#[async_trait::async_trait]
impl Place for Schema {
    async fn open(&self) -> Result<Handle, StoreError> {
        let store = PostgresStore::open(self.options().lease_ttl(TTL)).await?;
        Ok(Handle::new(store.clone()).closed_by(store.close()))
    }

    fn writer(&self, seed: u64, dies_after: Option<u64>) -> Option<Command> {
        // Nobody can count what another process writes to its socket.
        if dies_after.is_some() {
            return None;
        }
        let mut command = Command::new(std::env::current_exe().ok()?);
        command
            .args(["--exact", "postgres::a_writer_that_never_stops", "--nocapture", "--test-threads=1"])
            .env(URL, &self.way)
            .env(SCHEMA, format!("{} {seed}", self.name))
            .stderr(Stdio::null());
        Some(command)
    }
}

#[test]
fn a_writer_that_never_stops() {
    // Only as a process of its own, which the kit starts and kills.
    let (Ok(wanted), Ok(url)) = (std::env::var(SCHEMA), std::env::var(URL)) else { return };
    let (name, seed) = wanted.split_once(' ').expect("a schema and a seed");
    let options = PostgresOptions::new(url).schema(name).lease_ttl(TTL);
    let ended = runtime().block_on(async {
        let store = PostgresStore::open(options).await?;
        kit::write_for_ever(&store, seed.parse().unwrap_or(0)).await
    });
    panic!("it ended: {ended:?}");
}

#[test]
fn postgres_keeps_every_promise() {
    let Some(url) = server() else { return };
    Postgres::by("postgres", url.clone(), url).keeps_every_promise();
}

/// What the kit tries; `TRUNKLINE_KIT_CASES` for those who want more or less of it.
fn options() -> Options {
    let mut options = Options::new(seed());
    if let Some(cases) = std::env::var("TRUNKLINE_KIT_CASES").ok().and_then(|cases| cases.parse().ok()) {
        options.cases = cases;
    }
    options
}

/// Less of what is random, for one of several ways to the same server.
fn few() -> Options {
    let mut few = options();
    if std::env::var_os("TRUNKLINE_KIT_CASES").is_none() {
        few.cases = few.cases.min(4);
        few.kills = 1;
        few.batches = 8;
    }
    few
}

/// `TRUNKLINE_KIT_SEED`, for those who try others.
fn seed() -> u64 {
    std::env::var("TRUNKLINE_KIT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}
