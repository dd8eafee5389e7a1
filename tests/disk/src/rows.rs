//! A plain table under SQLite: what its own settings keep and lose.
//!
//! SQLite's documentation says which settings survive a cut. If the simulation finds the same, neither more nor less, it
//! can be believed about what is built on top.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection};

use crate::chance::Chance;
use crate::disk::{Files, folder, write_files};
use crate::power::{Figures, Found, Life, Promise};
use crate::recorder::{Event, Fault, Recorder};

const NAME: &str = "rows.db";

/// How SQLite is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How a commit is made to hold.
    pub journal: SqliteJournalMode,
    /// How much is synced.
    pub synchronous: SqliteSynchronous,
}

impl Setup {
    fn options(self, recorder: &Recorder, folder: &Path) -> Result<SqliteConnectOptions, String> {
        Ok(options(recorder, folder)?.journal_mode(self.journal).synchronous(self.synchronous))
    }
}

fn options(recorder: &Recorder, folder: &Path) -> Result<SqliteConnectOptions, String> {
    let options = SqliteConnectOptions::new()
        .filename(folder.canonicalize().map_err(words)?.join(NAME))
        .create_if_missing(true)
        .vfs(recorder.vfs().to_owned())
        .busy_timeout(Duration::from_secs(10))
        // Small, so that the log is written over again and again.
        .pragma("wal_autocheckpoint", "25");
    Ok(options.disable_statement_logging())
}

/// Writes transactions over two connections in turn, with checkpoints, readers and closings between them.
///
/// A transaction that the fault strikes is rolled back and tried again, and the fault is lifted when it struck three times.
///
/// # Errors
///
/// SQLite refused something for another reason, or the journal is not what happened.
pub async fn live_in_turns(
    setup: Setup,
    transactions: u64,
    fault: Option<Fault>,
    chance: &mut Chance,
) -> Result<Life, String> {
    let folder = folder().map_err(words)?;
    let recorder = Recorder::register()?;
    recorder.watch(folder.path(), &Files::new()).map_err(words)?;
    let options = setup.options(&recorder, folder.path())?;
    let mut promises = Vec::new();
    let mut connections: Vec<SqliteConnection> = Vec::new();
    let mut reader: Option<SqliteConnection> = None;
    recorder.order(fault);
    let (mut struck, mut ever) = (0, false);
    while promises.len() < usize::try_from(transactions).map_err(words)? {
        let written = match &mut connections[..] {
            [one, other] => write(if chance.comes(1, 2) { one } else { other }, chance.clone()).await,
            _ => match SqliteConnection::connect_with(&options).await {
                Ok(connection) => {
                    connections.push(connection);
                    continue;
                }
                Err(error) => Err(error),
            },
        };
        ever |= recorder.hits() > 0;
        match written {
            Ok(record) => promises.push(Promise::of(record, bodies(record).len(), recorder.position())),
            Err(error) if recorder.hits() == struck => return Err(words(error)),
            Err(_) => {
                struck = recorder.hits();
                for connection in &mut connections {
                    sqlx::raw_sql("ROLLBACK").execute(connection).await.ok();
                }
            }
        }
        if struck >= 3 {
            recorder.order(None);
            struck = 0;
        }
        match chance.below(24) {
            0 => {
                let how = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"][chance.below(4)];
                // With a reader in the way it does what it can, and says so in its row.
                let query = format!("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint({how})");
                if let Some(connection) = connections.last_mut() {
                    sqlx::raw_sql(AssertSqlSafe(query)).execute(connection).await.ok();
                }
            }
            1 if reader.is_none() && setup.journal == SqliteJournalMode::Wal => {
                if let Ok(mut connection) = SqliteConnection::connect_with(&options).await {
                    let query = "BEGIN; SELECT count(*) FROM sqlite_schema";
                    sqlx::raw_sql(query).execute(&mut connection).await.ok();
                    reader = Some(connection);
                }
            }
            2 | 3 if reader.is_some() => close(reader.take()).await,
            4 => {
                close(reader.take()).await;
                close(connections.drain(..)).await;
            }
            _ => {}
        }
    }
    // Taken before they are closed: a cut does not wait for that.
    let life = Life { events: recorder.events()?, promises, struck: ever, ..Life::default() };
    close(connections).await;
    close(reader).await;
    recorder.forget();
    Ok(life)
}

/// Writes transactions over several connections at once, while another one moves the log into the database.
///
/// # Errors
///
/// SQLite refused something, or the journal is not what happened.
pub async fn live_in_a_crowd(setup: Setup, transactions: u64, chance: &mut Chance) -> Result<Life, String> {
    let folder = folder().map_err(words)?;
    let recorder = Recorder::register()?;
    recorder.watch(folder.path(), &Files::new()).map_err(words)?;
    let options = setup.options(&recorder, folder.path())?;
    let writer = async |mut chance: Chance| {
        let mut connection = SqliteConnection::connect_with(&options).await.map_err(words)?;
        let mut promises = Vec::new();
        for _ in 0..transactions / 3 {
            let record = write(&mut connection, chance.fork()).await.map_err(words)?;
            promises.push(Promise::of(record, bodies(record).len(), recorder.position()));
        }
        Ok::<_, String>((connection, promises))
    };
    let mut checkpointer = SqliteConnection::connect_with(&options).await.map_err(words)?;
    let checkpoints = async {
        for how in ["PASSIVE", "RESTART", "PASSIVE", "TRUNCATE"].iter().cycle() {
            let query = AssertSqlSafe(format!("PRAGMA wal_checkpoint({how})"));
            sqlx::raw_sql(query).execute(&mut checkpointer).await.ok();
        }
    };
    let writers = async {
        let (one, two, three) =
            tokio::join!(writer(chance.fork()), writer(chance.fork()), writer(chance.fork()));
        Ok::<_, String>([one?, two?, three?])
    };
    let written = tokio::select! {
        written = writers => written?,
        () = checkpoints => return Err("the checkpoints ended".to_owned()),
    };
    let mut life = Life { events: recorder.events()?, ..Life::default() };
    for (connection, promises) in written {
        life.promises.extend(promises);
        close([connection]).await;
    }
    close([checkpointer]).await;
    recorder.forget();
    Ok(life)
}

async fn close(connections: impl IntoIterator<Item = SqliteConnection>) {
    for connection in connections {
        // What a fault keeps from being closed well is closed all the same.
        connection.close().await.ok();
    }
}

/// Writes the next transaction, whose rows follow from its number, stirs up other pages, and returns the number.
async fn write(connection: &mut SqliteConnection, mut chance: Chance) -> Result<u64, sqlx::Error> {
    let begin = "BEGIN IMMEDIATE;
        CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, turn INTEGER, body BLOB);
        CREATE TABLE IF NOT EXISTS froth (body BLOB)";
    sqlx::raw_sql(begin).execute(&mut *connection).await?;
    let last = "SELECT coalesce((SELECT turn FROM rows ORDER BY id DESC LIMIT 1), 0)";
    let last: i64 = sqlx::query_scalar(last).fetch_one(&mut *connection).await?;
    for body in bodies(last.cast_unsigned() + 1) {
        let insert = sqlx::query("INSERT INTO rows (turn, body) VALUES (?, ?)");
        insert.bind(last + 1).bind(body).execute(&mut *connection).await?;
    }
    let end = match chance.below(8) {
        0 => "INSERT INTO froth VALUES (randomblob(30000)); COMMIT",
        1 => "DELETE FROM froth; COMMIT",
        _ => "COMMIT",
    };
    sqlx::raw_sql(end).execute(connection).await?;
    Ok(last.cast_unsigned() + 1)
}

/// The bodies of a transaction's rows.
fn bodies(transaction: u64) -> Vec<Vec<u8>> {
    let mut chance = Chance::new(transaction);
    let count = 1 + chance.below(4);
    let body = |_| {
        let most = [40, 40, 700, 9000][chance.below(4)];
        let length = chance.below(most);
        chance.bytes(length)
    };
    (0..count).map(body).collect()
}

/// Cuts the power in such a life.
///
/// # Errors
///
/// The real disk failed.
pub async fn cut_power(life: &Life, percent: usize, chance: Chance) -> Result<Figures, String> {
    let recorder = Recorder::register()?;
    let recorder = &*recorder;
    let cut =
        life.cut_power(percent, chance, async |files, expected| look(recorder, files, expected).await).await;
    recorder.forget();
    cut
}

/// Opens what is left, tells what is wrong with it, and what opening it did.
async fn look(
    recorder: &Recorder,
    files: &Files,
    expected: &BTreeSet<u64>,
) -> Result<(Found, Vec<Event>), String> {
    let folder = folder().map_err(words)?;
    write_files(folder.path(), files).map_err(words)?;
    recorder.watch(folder.path(), files).map_err(words)?;
    let mut found = Found::default();
    let named = |turn: &u64| (*turn, format!("transaction {turn}"));
    match read(&options(recorder, folder.path())?).await {
        Err(error) => {
            found.lost = expected.iter().map(named).collect();
            found.broken = Some(error);
        }
        Ok(turns) => {
            found.lost = expected.iter().filter(|turn| !turns.contains_key(turn)).map(named).collect();
            let last = turns.keys().copied().max().unwrap_or_default();
            if turns.len() as u64 != last {
                found.broken = Some(format!("{} transactions are left, up to {last}", turns.len()));
            }
            if let Some((turn, rows)) = turns.iter().find(|(turn, rows)| bodies(**turn) != **rows) {
                found.broken = Some(format!("transaction {turn} has other rows, {} of them", rows.len()));
            }
        }
    }
    Ok((found, recorder.events()?))
}

/// Reads the rows by transaction, and writes one more.
async fn read(options: &SqliteConnectOptions) -> Result<BTreeMap<u64, Vec<Vec<u8>>>, String> {
    let mut connection = SqliteConnection::connect_with(options).await.map_err(words)?;
    let check = sqlx::query("PRAGMA integrity_check").fetch_one(&mut connection).await.map_err(words)?;
    let check: String = check.try_get(0).map_err(words)?;
    if check != "ok" {
        return Err(check);
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'rows'";
    let tables: i64 = sqlx::query_scalar(tables).fetch_one(&mut connection).await.map_err(words)?;
    let mut turns: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    if tables == 1 {
        let query = "SELECT turn, body FROM rows ORDER BY id";
        for row in sqlx::query(query).fetch_all(&mut connection).await.map_err(words)? {
            let turn: i64 = row.try_get(0).map_err(words)?;
            let body: Vec<u8> = row.try_get(1).map_err(words)?;
            turns.entry(turn.cast_unsigned()).or_default().push(body);
        }
    }
    write(&mut connection, Chance::new(0)).await.map_err(words)?;
    connection.close().await.map_err(words)?;
    Ok(turns)
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}
