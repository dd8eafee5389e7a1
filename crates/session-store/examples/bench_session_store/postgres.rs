//! What sessions cost on a PostgreSQL server, against one `INSERT` that commits the same bytes on a connection of the same driver.

use std::time::{Duration, Instant};

use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, Statement};
use trunkline_session_store::{PostgresOptions, PostgresStore};

use crate::cluster::Cluster;
use crate::slow_flush::Library;
use crate::writing::{Writing, id, message, payload};
use crate::{Outcome, at_most, idle, median, processes, ratio, slow_flush};

pub(crate) async fn measure() -> Outcome<()> {
    let Ok(url) = std::env::var("TRUNKLINE_TEST_POSTGRES") else {
        println!("# without a PostgreSQL server nothing of it is measured");
        return Ok(());
    };
    let (raw, times) = one_session(&url).await?;
    println!("# raw INSERT and COMMIT on this disk: {raw:?}");
    at_most("PostgreSQL: flushed append / raw INSERT and COMMIT", times, 1.5);
    idle::measure(&url).await
}

/// The same where flushes are slow, and what many writers share there.
pub(crate) async fn with_slow_flushes(slow: &Library) -> Outcome<()> {
    let Some(cluster) = Cluster::start(slow)? else {
        println!("# without the server's programs nothing is measured where flushes are slow");
        return Ok(());
    };
    let (raw, times) = one_session(&cluster.url).await?;
    slow_flush::check(raw)?;
    at_most("PostgreSQL: flushed append / raw INSERT and COMMIT, each flush 1 ms slower", times, 1.5);
    processes::measure(&cluster.url).await
}

/// A name for a schema of this run.
pub(crate) fn schema(part: &str) -> String {
    format!("bench_{part}_{}", std::process::id())
}

pub(crate) async fn open(url: &str, schema: &str) -> Outcome<PostgresStore> {
    Ok(PostgresStore::open(PostgresOptions::new(url).schema(schema)).await?)
}

/// One session, one append after the other; returns what the raw side takes, and how many times as long ours does.
async fn one_session(url: &str) -> Outcome<(Duration, f64)> {
    let schema = schema("one");
    let store = open(url, &schema).await?;
    let mut writing = Writing::begin(&store, 1, 100).await?;
    let mut raw = Raw::new(url, &schema).await?;
    let (mut raw_times, mut prepared_times, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..700 {
        let measured = [raw.insert().await?, raw.insert_prepared().await?, writing.append(&store).await?];
        // The first ones fill caches, of both sides.
        if round >= 100 {
            raw_times.push(measured[0]);
            prepared_times.push(measured[1]);
            times.push(measured[2]);
        }
    }
    drop(writing);
    store.close().await;
    raw.end(&schema).await?;
    let (raw, prepared, ours) = (median(raw_times), median(prepared_times), median(times));
    println!("# PostgreSQL: raw INSERT {raw:?}, prepared {prepared:?}; ours {ours:?}");
    Ok((raw, ratio(ours, raw)))
}

/// Inserts the bytes of one message and commits, in one trip to the server.
pub(crate) struct Raw {
    client: Client,
    statement: Statement,
    insert: String,
    session: String,
    body: String,
    seq: i64,
}

impl Raw {
    pub(crate) async fn new(url: &str, schema: &str) -> Outcome<Self> {
        let client = connect(url).await?;
        let create = format!(
            "CREATE TABLE {schema}.raw (session text, seq bigint, body text NOT NULL, PRIMARY KEY (session, seq))"
        );
        client.batch_execute(&create).await?;
        let insert = format!("INSERT INTO {schema}.raw VALUES ($1, $2, $3)");
        let statement = client.prepare(&insert).await?;
        let body = "x".repeat(payload(&message(100)));
        Ok(Raw { client, statement, insert, session: id(1)?.to_string(), body, seq: 0 })
    }

    /// As our own statements go: read and planned each time, since a connection may be another one behind a pooler.
    pub(crate) async fn insert(&mut self) -> Outcome<Duration> {
        self.seq += 1;
        let start = Instant::now();
        let arguments =
            [(&self.session as _, Type::TEXT), (&self.seq as _, Type::INT8), (&self.body as _, Type::TEXT)];
        self.client.query_typed(&self.insert, &arguments).await?;
        Ok(start.elapsed())
    }

    async fn insert_prepared(&mut self) -> Outcome<Duration> {
        self.seq += 1;
        let start = Instant::now();
        self.client.execute(&self.statement, &[&self.session, &self.seq, &self.body]).await?;
        Ok(start.elapsed())
    }

    /// Drops the schema of the run.
    pub(crate) async fn end(self, schema: &str) -> Outcome<()> {
        Ok(self.client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await?)
    }
}

/// Connects as other programs do.
pub(crate) async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
