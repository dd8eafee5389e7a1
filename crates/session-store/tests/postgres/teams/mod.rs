//! Teams in one database: what each may do, what it may not, and how much of it.

mod apart;
mod made;
mod quota;
mod working;

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{NoTls, SimpleQueryMessage};
use trunkline_session_store::{PostgresAdmin, PostgresOptions, PostgresStore, TeamLimits};

use super::{Schema, TTL, run};

/// Returns limits that leave room for a test's own stores beside what it tries; a connection that was closed counts for a moment.
pub(super) fn roomy() -> TeamLimits {
    let mut limits = TeamLimits::new();
    limits.connections = 8;
    limits
}

/// A database with teams, which go when it is dropped.
pub(super) struct Database {
    /// Of its administrator.
    url: String,
    server: String,
    name: String,
}

impl Database {
    pub(super) async fn new(server: &str) -> Self {
        // A name that no other test has is needed, and no schema.
        let name = Schema::new(server).name.clone();
        run(server, &format!("CREATE DATABASE {name}")).await;
        Database { url: in_database(server, &name), server: server.to_owned(), name }
    }

    /// A name for a team: roles are those of the whole server.
    pub(super) fn team(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let (_, made) = self.name.split_once('_').unwrap_or_default();
        format!("team_{made}_{}", NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) async fn admin(&self, team: &str) -> PostgresAdmin {
        PostgresAdmin::connect(PostgresOptions::new(&self.url).schema(team)).await.expect("it connects")
    }

    /// Makes a team.
    pub(super) async fn grant(&self, limits: &TeamLimits) -> Known {
        let team = self.team();
        let admin = self.admin(&team).await;
        admin.grant(limits).await.expect("it can be made");
        let known = self.known(&admin, "its-own").await;
        admin.close().await;
        known
    }

    /// Gives a team a password.
    pub(super) async fn known(&self, admin: &PostgresAdmin, password: &str) -> Known {
        admin.set_password(password).await.expect("it can be set");
        let (before, after) = self.url.rsplit_once('@').expect("a URL with a password");
        let (scheme, _) = before.split_once("://").expect("a URL");
        let name = admin.schema().to_owned();
        Known { url: format!("{scheme}://{name}:{password}@{after}"), name }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (url, server, name) = (self.url.clone(), self.server.clone(), self.name.clone());
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                if let Ok(admin) = PostgresAdmin::connect(PostgresOptions::new(&url)).await {
                    for team in admin.teams().await.unwrap_or_default() {
                        let options = PostgresOptions::new(&url).schema(&team.name);
                        PostgresAdmin::connect(options).await.ok()?.revoke().await.ok()?;
                    }
                }
                tried(&server, &format!("DROP DATABASE {name} WITH (FORCE)")).await.ok()
            })
        });
        let _ = dropped.join();
    }
}

/// A team as one of its people knows it.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) url: String,
    pub(super) name: String,
}

impl Known {
    pub(super) async fn open(&self) -> PostgresStore {
        let options = PostgresOptions::new(&self.url).schema(&self.name).connections(1);
        PostgresStore::open(options).await.expect("it opens")
    }

    /// Opens its store with all connections that it would take, and leases that end soon.
    pub(super) async fn open_wide(&self) -> PostgresStore {
        let options = PostgresOptions::new(&self.url).schema(&self.name).lease_ttl(TTL);
        PostgresStore::open(options).await.expect("it opens")
    }

    /// Runs statements as somebody with the password would.
    pub(super) async fn tries(&self, sql: &str) -> Result<Vec<String>, String> {
        tried(&self.url, &sql.replace('@', &format!("{}.", self.name))).await
    }
}

fn in_database(url: &str, name: &str) -> String {
    let (before, after) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = before.rsplit_once('/').expect("a URL with a database");
    match after {
        "" => format!("{server}/{name}"),
        after => format!("{server}/{name}?{after}"),
    }
}

/// Runs statements and returns the texts of the first column, or what the server says.
pub(super) async fn tried(url: &str, sql: &str) -> Result<Vec<String>, String> {
    let words = |error: tokio_postgres::Error| match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => error.to_string(),
    };
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(words)?;
    let driving = tokio::spawn(connection);
    let said = client.simple_query(sql).await.map_err(words);
    drop(client);
    let _ = driving.await;
    let text = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    };
    Ok(said?.into_iter().filter_map(text).collect())
}
