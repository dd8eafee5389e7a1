//! The backends of a pool of four, all looked at at once, so that no client can hide one.

use std::collections::BTreeSet;

use tokio::sync::Mutex;
use tokio_postgres::Client;

use super::super::{Schema, client, run, server};
use super::{TRANSACTION, way};

/// How many backends a pool has.
const BACKENDS: usize = 4;

/// A database of its own, and with it a pool of its own.
pub(super) struct Database {
    /// The server's database that all tests share.
    admin: String,
    name: String,
    /// The ways to it.
    pub(super) direct: String,
    pub(super) pooled: String,
}

impl Database {
    /// Makes one, or says loudly that there is no pool.
    pub(super) async fn new() -> Option<Self> {
        let (admin, pooled) = (server()?, way(TRANSACTION)?);
        let name = Schema::new(&admin).name.clone();
        run(&admin, &format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        let other = |url: &str| format!("{}/{name}", url.rsplit_once('/').expect("a URL with a database").0);
        Some(Database { direct: other(&admin), pooled: other(&pooled), admin, name })
    }

    /// Holds all backends of its pool, each in a transaction.
    pub(super) async fn backends(&self) -> Vec<Client> {
        backends(&self.pooled).await
    }

    /// Does what some other client of the pool does to each backend, and leaves it so.
    pub(super) async fn soil(&self, sql: &str) {
        for client in self.backends().await {
            client.batch_execute(sql).await.expect("it can be done");
            client.batch_execute("COMMIT").await.expect("it is kept");
        }
    }

    /// What is left on its backends that a fresh one has not, a line for each.
    pub(super) async fn left(&self) -> String {
        left(&self.pooled).await
    }

    /// Transactions that nobody goes on with.
    pub(super) async fn open_transactions(&self) -> String {
        let sql = "SELECT coalesce(string_agg(query, chr(10)), '') FROM pg_stat_activity
                   WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        text(&client(&self.direct).await, sql).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (admin, sql) = (self.admin.clone(), format!("DROP DATABASE {} WITH (FORCE)", self.name));
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(run(&admin, &sql));
            Some(())
        });
        let _ = dropped.join();
    }
}

/// Who holds some backends of a pool and waits for the rest: two of them would wait for each other.
static TAKING: Mutex<()> = Mutex::const_new(());

/// Holds all backends of the pool of a way in transaction mode, each in a transaction.
pub(super) async fn backends(pooled: &str) -> Vec<Client> {
    let _alone = TAKING.lock().await;
    let mut held = Vec::new();
    let mut processes = BTreeSet::new();
    for _ in 0..BACKENDS {
        let client = client(pooled).await;
        client.batch_execute("BEGIN").await.expect("it is free");
        processes.insert(text(&client, "SELECT pg_backend_pid()::text").await);
        held.push(client);
    }
    assert_eq!(processes.len(), BACKENDS, "each is another one");
    held
}

/// What is left on the backends of a pool that a fresh one has not, a line for each.
pub(super) async fn left(pooled: &str) -> String {
    let mut left = String::new();
    for client in backends(pooled).await {
        left += &text(&client, LEFT).await;
    }
    left
}

/// PgBouncer itself sets what stands in the last line for each of its clients.
const LEFT: &str = "SELECT coalesce(string_agg(line || chr(10), '' ORDER BY line), '') FROM (
    SELECT 'listens to ' || channel AS line FROM pg_listening_channels() AS channel
    UNION ALL SELECT 'prepared ' || statement FROM pg_prepared_statements
    UNION ALL SELECT 'holds lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
    UNION ALL SELECT 'has cursor ' || name FROM pg_cursors WHERE is_holdable
    UNION ALL SELECT 'has temporary ' || relname FROM pg_class WHERE relnamespace = pg_my_temp_schema()
    UNION ALL SELECT 'is ' || current_user WHERE current_user <> session_user
    UNION ALL SELECT name || ' is ' || setting FROM pg_settings WHERE source = 'session' AND name NOT IN
        ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings', 'transaction_isolation',
         'transaction_read_only', 'transaction_deferrable')
) AS found";

/// The one text that a query gives; the query has no name, so that nothing is left by it.
pub(super) async fn text(client: &Client, sql: &str) -> String {
    let rows = client.query_typed(sql, &[]).await.expect("it can be asked");
    rows.first().expect("a row").get(0)
}
