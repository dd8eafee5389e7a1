//! What the servers themselves say: who is a primary, on which timeline, and how far its log has come.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_postgres::{Client, NoTls};

use super::{Outcome, Signal};

/// How often each node is asked.
const PAUSE: Duration = Duration::from_millis(50);

/// A node that does not answer by then is asked over a new connection.
const ANSWER: Duration = Duration::from_secs(1);

/// A proxy that has no primary keeps connections for half an hour.
const HISTORIES: Duration = Duration::from_secs(30);

/// A node that said that it is a primary.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) timeline: u32,
    /// The end of its log, asked for at `at`.
    pub(crate) end: u64,
    pub(crate) at: Instant,
}

/// A timeline that was left, and where.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) timeline: u32,
    pub(crate) end: u64,
}

/// Asks a node until the end.
pub(crate) async fn sample(url: String, signal: watch::Receiver<Signal>) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut client: Option<Client> = None;
    while !signal.borrow().over {
        tokio::time::sleep(PAUSE).await;
        let at = Instant::now();
        let asked = tokio::time::timeout(ANSWER, async {
            let client = match &client {
                Some(client) => client,
                None => client.insert(connect(&url).await?),
            };
            ask(client).await
        });
        match asked.await {
            Ok(Ok(Some((timeline, end)))) => samples.push(Sample { timeline, end, at }),
            Ok(Ok(None)) => {}
            Ok(Err(_)) | Err(_) => client = None,
        }
    }
    samples
}

/// Returns where each earlier timeline of the primary was left, and the last one, which was not.
pub(crate) async fn histories(url: &str) -> Outcome<(Vec<Left>, u32)> {
    tokio::time::timeout(HISTORIES, read_histories(url)).await?
}

async fn read_histories(url: &str) -> Outcome<(Vec<Left>, u32)> {
    let client = connect(url).await?;
    let (last, _) = ask(&client).await?.ok_or("the proxy leads to no primary")?;
    let file = format!("pg_wal/{last:08X}.history");
    let text = match last {
        1 => String::new(),
        _ => client.query_one("SELECT pg_read_file($1)", &[&file]).await?.get(0),
    };
    let left = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(Left { timeline: words.next()?.parse().ok()?, end: place(words.next()?)? })
    });
    Ok((left.collect(), last))
}

async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Asks for the timeline and the end of the log, if that is a primary.
async fn ask(client: &Client) -> Outcome<Option<(u32, u64)>> {
    let query = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN
                     pg_walfile_name(pg_current_wal_insert_lsn()) || ' ' || pg_current_wal_insert_lsn()::text END";
    let said: Option<String> = client.query_one(query, &[]).await?.get(0);
    let Some(said) = said else { return Ok(None) };
    let (file, end) = said.split_once(' ').ok_or("a file and a place")?;
    let timeline = u32::from_str_radix(file.get(..8).unwrap_or_default(), 16)?;
    Ok(Some((timeline, place(end).ok_or("a place in the log")?)))
}

/// Reads `0/4000050`.
fn place(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    Some(u64::from_str_radix(high, 16).ok()? << 32 | u64::from_str_radix(low, 16).ok()?)
}
