//! A database of its own with workers on it, one of which can be held at its n-th write.
//!
//! A trigger counts the rows that workers write, of DBOS, of the session and of the letters, and waits at one of them for a lock
//! that the test has. There the process is killed or paused; then its statement is let go on, or its connection is cut.

use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_postgres::{Client, NoTls};

/// What workers do on this database is counted.
const TRIGGERS: &str = "
    CREATE SCHEMA stops;
    CREATE SEQUENCE stops.passed;
    CREATE TABLE stops.stop (place bigint);
    CREATE TABLE stops.seen (place bigint, write text);
    CREATE FUNCTION stops.pass() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ DECLARE place bigint; BEGIN
        IF session_user = 'dbos_worker' THEN
            place = nextval('stops.passed');
            INSERT INTO stops.seen VALUES (place, TG_OP || ' ' || TG_TABLE_NAME);
            IF place = (SELECT s.place FROM stops.stop s) THEN
                PERFORM pg_advisory_xact_lock_shared(1);
            END IF;
        END IF;
        RETURN coalesce(NEW, OLD);
    END $$;
    DO $$ DECLARE one text; BEGIN
        FOREACH one IN ARRAY ARRAY['dbos.workflow_status', 'dbos.operation_outputs', 'dbos.workflow_events',
            'dbos.notifications', 'trunkline_under_dbos.sessions', 'letters_sent']
        LOOP
            EXECUTE format('CREATE TRIGGER stop BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION stops.pass()', one);
        END LOOP;
    END $$";

/// A URL of the server's superuser, without its database.
pub(crate) fn server() -> Option<String> {
    let url = std::env::var("TRUNKLINE_TEST_POSTGRES").ok();
    if url.is_none() {
        eprintln!("TRUNKLINE_TEST_POSTGRES is not set: nothing was tried");
    }
    url
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn on_database(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

fn free_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("dbos_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A database that workers have prepared, from which others are copied.
pub(crate) struct Template {
    server: String,
    name: String,
}

impl Template {
    pub(crate) async fn make(server: &str) -> Template {
        let name = free_name();
        let admin = connect(server).await;
        // The server may be one that other runs of this test have used. A transaction of a process that is paused must not last.
        let role = "DO $$ BEGIN CREATE ROLE dbos_worker LOGIN PASSWORD 'worker'; EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL; END $$;
            ALTER ROLE dbos_worker SET idle_in_transaction_session_timeout = '2s'";
        admin.batch_execute(role).await.unwrap();
        admin.batch_execute(&format!("CREATE DATABASE {name} OWNER dbos_worker")).await.unwrap();
        let url = on_database(server, &name);
        let mut worker = start_worker(&as_worker(&url)).await;
        worker.kill().await.unwrap();
        let here = connect(&url).await;
        here.batch_execute(TRIGGERS).await.unwrap();
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        here.batch_execute(others).await.unwrap();
        Template { server: server.to_owned(), name }
    }

    /// Copies it, with a stop at a place.
    pub(crate) async fn scene(&self, place: Option<i64>) -> Scene {
        let name = free_name();
        // One copy at a time, and none while a connection is there.
        static COPYING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let copying = COPYING.lock().await;
        let admin = connect(&self.server).await;
        let copy = format!("CREATE DATABASE {name} OWNER dbos_worker TEMPLATE {}", self.name);
        let mut tries = 0;
        while let Err(fault) = admin.batch_execute(&copy).await {
            tries += 1;
            assert!(tries < 100, "{fault:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(copying);
        let url = on_database(&self.server, &name);
        let (gate, watch) = (connect(&url).await, connect(&url).await);
        gate.execute("INSERT INTO stops.stop VALUES ($1)", &[&place]).await.unwrap();
        gate.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
        Scene { server: self.server.clone(), name, url, gate, watch }
    }

    pub(crate) async fn remove(&self) {
        remove(&self.server, &self.name).await;
    }
}

async fn remove(server: &str, name: &str) {
    let admin = connect(server).await;
    admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.unwrap();
}

/// The same database for the role of the workers.
fn as_worker(url: &str) -> String {
    let (_, place) = url.rsplit_once('@').unwrap();
    format!("postgres://dbos_worker:worker@{place}")
}

pub(crate) struct Scene {
    server: String,
    name: String,
    /// For the superuser.
    pub(crate) url: String,
    /// Holds the lock.
    gate: Client,
    watch: Client,
}

impl Scene {
    pub(crate) async fn worker(&self) -> Child {
        start_worker(&as_worker(&self.url)).await
    }

    /// Returns the backend that waits at the stop, if one does.
    pub(crate) async fn stopped(&self) -> Option<i32> {
        let waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let row = self.watch.query_opt(waiting, &[]).await.unwrap()?;
        Some(row.get(0))
    }

    /// Lets the statement go on; its process may be gone.
    pub(crate) async fn let_go(&self) {
        self.gate.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    }

    /// Cuts the connection of the statement, which takes all of its transaction back.
    pub(crate) async fn cut(&self, backend: i32) {
        self.watch.execute("SELECT pg_terminate_backend($1, 5000)", &[&backend]).await.unwrap();
    }

    /// What workers have written, and not taken back: the place of each write, and what it was.
    pub(crate) async fn writes(&self) -> Vec<(i64, String)> {
        let rows = self.watch.query("SELECT place, write FROM stops.seen ORDER BY place", &[]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    pub(crate) async fn remove(&self) {
        remove(&self.server, &self.name).await;
    }
}

async fn start_worker(url: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-dbos"));
    command.arg("worker").env("TRUNKLINE_TEST_POSTGRES", url);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    child
}

/// Sends a signal that is not one of the two that tokio knows.
pub(crate) async fn signal(child: &Child, name: &str) {
    let pid = child.id().unwrap().to_string();
    let sent =
        Command::new("sh").args(["-c", "kill -\"$1\" \"$2\"", "sh", name, &pid]).status().await.unwrap();
    assert!(sent.success());
}
