//! A plain table under SQLite: what its own settings keep and lose.
//!
//! SQLite's documentation says which settings survive a cut. If the simulation finds the same, neither more nor less, it
//! can be believed about what is built on top.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection};

use crate::chance::Chance;
use crate::disk::{Files, write_files};
use crate::power::{Figures, Found, Life};
use crate::recorder::{Event, Recorder};

const NAME: &str = "rows.db";

/// How SQLite is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How a commit is made to hold.
    pub journal: SqliteJournalMode,
    /// How much is synced.
    pub synchronous: SqliteSynchronous,
    /// Whether the disk does what a sync asks for; one that lies says that it did.
    pub lies: bool,
}

/// A life with what was promised in it: how far the journal was when each transaction had been acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Promised {
    /// What happened to the files.
    pub life: Life,
    /// By the number of the transaction, from 1.
    pub acknowledged: BTreeMap<u64, usize>,
}

/// Lives under a setup, then cuts the power.
///
/// # Errors
///
/// The test itself could not go on: nothing that SQLite is to blame for.
pub async fn run(setup: Setup, transactions: u64, states: usize, seed: u64) -> Result<Figures, String> {
    let mut chance = Chance::new(seed);
    let mut promised = live(setup, transactions, &mut chance.fork()).await?;
    if setup.lies {
        promised.life.events.retain(|event| !matches!(event, Event::Sync { .. }));
        // Moments are counted in events, so without some of them each comes at the end: later is never too strict.
        promised.acknowledged.values_mut().for_each(|at| *at = promised.life.events.len());
    }
    cut(&promised, states, chance).await
}

/// Writes transactions over two connections in turn, with checkpoints, readers and closings between them.
///
/// # Errors
///
/// SQLite refused something, or the journal is not what happened.
pub async fn live(setup: Setup, transactions: u64, chance: &mut Chance) -> Result<Promised, String> {
    let folder = tempfile::tempdir().map_err(words)?;
    let recorder = Recorder::register()?;
    recorder.watch(folder.path(), &Files::new()).map_err(words)?;
    let options = SqliteConnectOptions::new()
        .filename(folder.path().canonicalize().map_err(words)?.join(NAME))
        .create_if_missing(true)
        .vfs(recorder.vfs().to_owned())
        .journal_mode(setup.journal)
        .synchronous(setup.synchronous)
        .busy_timeout(Duration::from_secs(5))
        // Small, so that the log is written over again and again.
        .pragma("wal_autocheckpoint", "25")
        .disable_statement_logging();
    let mut promised = Promised::default();
    let mut connections: Vec<SqliteConnection> = Vec::new();
    let mut reader: Option<SqliteConnection> = None;
    for transaction in 1..=transactions {
        if connections.is_empty() {
            for _ in 0..2 {
                connections.push(SqliteConnection::connect_with(&options).await.map_err(words)?);
            }
        }
        let [one, other] = &mut connections[..] else { return Err("there are two connections".to_owned()) };
        let (writer, second) = if chance.comes(1, 2) { (one, other) } else { (other, one) };
        write(writer, transaction, chance.clone()).await?;
        promised.acknowledged.insert(transaction, recorder.position());
        match chance.below(24) {
            0 => {
                let how = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"][chance.below(4)];
                // With a reader in the way it does what it can, and says so in its row.
                let query = format!("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint({how})");
                sqlx::raw_sql(AssertSqlSafe(query)).execute(&mut *second).await.ok();
            }
            1 if reader.is_none() && setup.journal == SqliteJournalMode::Wal => {
                let mut connection = SqliteConnection::connect_with(&options).await.map_err(words)?;
                let query = "BEGIN; SELECT count(*) FROM rows";
                sqlx::raw_sql(query).execute(&mut connection).await.map_err(words)?;
                reader = Some(connection);
            }
            2 | 3 if reader.is_some() => close(reader.take()).await?,
            4 => {
                close(reader.take()).await?;
                close(connections.drain(..)).await?;
            }
            _ => {}
        }
    }
    // Left open: a cut does not wait until everything is closed.
    promised.life.events = recorder.events()?;
    close(connections).await?;
    close(reader).await?;
    Ok(promised)
}

async fn close(connections: impl IntoIterator<Item = SqliteConnection>) -> Result<(), String> {
    for connection in connections {
        connection.close().await.map_err(words)?;
    }
    Ok(())
}

/// Writes rows that follow from the transaction's number, and stirs up other pages.
async fn write(connection: &mut SqliteConnection, transaction: u64, mut chance: Chance) -> Result<(), String> {
    let mut statements = "BEGIN IMMEDIATE;
        CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, turn INTEGER, of INTEGER, body BLOB);
        CREATE TABLE IF NOT EXISTS froth (body BLOB);"
        .to_owned();
    for body in bodies(transaction) {
        let of = bodies(transaction).len();
        statements += &format!("INSERT INTO rows (turn, of, body) VALUES ({transaction}, {of}, x'{body}');");
    }
    match chance.below(8) {
        0 => statements += "INSERT INTO froth VALUES (randomblob(30000));",
        1 => statements += "DELETE FROM froth;",
        _ => {}
    }
    statements += "COMMIT";
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(connection).await.map(drop).map_err(words)
}

/// The bodies of a transaction's rows, as hexadecimal digits.
fn bodies(transaction: u64) -> Vec<String> {
    let mut chance = Chance::new(transaction);
    let count = 1 + chance.below(4);
    let body = |_| {
        let most = [40, 40, 700, 9000][chance.below(4)];
        let length = chance.below(most);
        chance.bytes(length).iter().map(|byte| format!("{byte:02X}")).collect()
    };
    (0..count).map(body).collect()
}

/// Cuts the power in a life and looks at what is left.
///
/// # Errors
///
/// The real disk failed.
pub async fn cut(promised: &Promised, states: usize, chance: Chance) -> Result<Figures, String> {
    let moments: Vec<usize> = promised.acknowledged.values().copied().collect();
    let mut figures = Figures {
        cuts: promised.life.events.len() + 1,
        acknowledged: promised.acknowledged.len(),
        ..Figures::default()
    };
    for wreck in promised.life.wrecks(&moments, states, chance) {
        let expected: Vec<u64> = promised
            .acknowledged
            .iter()
            .filter(|(_, at)| **at <= wreck.at)
            .map(|(transaction, _)| *transaction)
            .collect();
        let folder = tempfile::tempdir().map_err(words)?;
        write_files(folder.path(), &wreck.files).map_err(words)?;
        figures.tried(&wreck, look(folder.path(), &expected).await);
    }
    Ok(figures)
}

/// Opens what is left and tells what is wrong with it.
async fn look(folder: &Path, expected: &[u64]) -> Found {
    let mut found = Found::default();
    match read(folder).await {
        Err(error) => {
            found.lost = expected.to_vec();
            found.broken = Some(error);
        }
        Ok(turns) => {
            found.lost = expected.iter().filter(|turn| !turns.contains_key(turn)).copied().collect();
            let last = turns.keys().copied().max().unwrap_or_default();
            if turns.len() as u64 != last {
                found.broken = Some(format!("{} transactions are left, up to {last}", turns.len()));
            }
            let wrong = turns.iter().find(|(turn, rows)| bodies(**turn) != **rows);
            if let Some((turn, rows)) = wrong {
                found.broken = Some(format!("transaction {turn} has other rows, {} of them", rows.len()));
            }
        }
    }
    found
}

/// Reads the rows by transaction, and writes one more.
async fn read(folder: &Path) -> Result<BTreeMap<u64, Vec<String>>, String> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join(NAME))
        .create_if_missing(true)
        .synchronous(SqliteSynchronous::Off)
        .disable_statement_logging();
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(words)?;
    let check = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.map_err(words)?;
    let check: String = check.try_get(0).map_err(words)?;
    if check != "ok" {
        return Err(check);
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'rows'";
    let tables: i64 = sqlx::query_scalar(tables).fetch_one(&mut connection).await.map_err(words)?;
    let mut turns: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    if tables == 1 {
        let query = "SELECT turn, hex(body) AS body FROM rows ORDER BY id";
        for row in sqlx::query(query).fetch_all(&mut connection).await.map_err(words)? {
            let turn: i64 = row.try_get(0).map_err(words)?;
            let body: String = row.try_get(1).map_err(words)?;
            turns.entry(turn.cast_unsigned()).or_default().push(body);
        }
    }
    let next = turns.len() as u64 + 1;
    write(&mut connection, next, Chance::new(next)).await?;
    connection.close().await.map_err(words)?;
    Ok(turns)
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}
