//! The simulation finds what SQLite's documentation says of its settings, neither more nor less.

use sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use trunkline_disk::rows;

#[tokio::test]
async fn wal_full_keeps() {
    for (journal, synchronous, lies) in [
        (SqliteJournalMode::Wal, SqliteSynchronous::Full, false),
        (SqliteJournalMode::Wal, SqliteSynchronous::Full, true),
        (SqliteJournalMode::Wal, SqliteSynchronous::Normal, false),
        (SqliteJournalMode::Wal, SqliteSynchronous::Off, false),
        (SqliteJournalMode::Delete, SqliteSynchronous::Extra, false),
        (SqliteJournalMode::Delete, SqliteSynchronous::Full, false),
        (SqliteJournalMode::Truncate, SqliteSynchronous::Full, false),
        (SqliteJournalMode::Persist, SqliteSynchronous::Full, false),
    ] {
        let start = std::time::Instant::now();
        let figures = rows::run(rows::Setup { journal, synchronous, lies }, 40, 500, 1).await.unwrap();
        println!("{journal:?} {synchronous:?} {lies}: {figures} {:#?} {:?}", figures.first, start.elapsed());
    }
}

#[tokio::test]
async fn journal() {
    for (journal, synchronous, lies) in [
        (SqliteJournalMode::Wal, SqliteSynchronous::Full, false),
        (SqliteJournalMode::Delete, SqliteSynchronous::Extra, false),
        ] {
        let p = rows::live(rows::Setup { journal, synchronous, lies }, 4, &mut trunkline_disk::Chance::new(1)).await.unwrap();
        for (i, e) in p.life.events.iter().enumerate() { println!("{i} {e}"); }
        println!("{:?}", p.acknowledged);
        }
}
