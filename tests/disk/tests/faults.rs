//! SQLite itself under a disk that fails: nothing that was acknowledged is lost, before or after.

use sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use trunkline_disk::rows::{self, Setup};
use trunkline_disk::{Chance, Event, Failure, Fault, Figures, Operation};

/// Lets each of the first operations fail, once or for a while, and cuts the power afterwards.
async fn check(operation: Operation, failure: Failure) {
    let mut figures = Figures::default();
    let mut faults = 0;
    let setup = Setup { journal: SqliteJournalMode::Wal, synchronous: SqliteSynchronous::Full };
    for nth in 1..=12 {
        for lasts in [false, true] {
            let mut chance = Chance::new(nth);
            // Some near the beginning, where files are made, and some where the log is begun again.
            let nth = if nth < 5 { nth } else { nth * nth / 3 };
            let fault = Fault { operation, nth, lasts, failure };
            let life = rows::live_in_turns(setup, 12, Some(fault), &mut chance).await.unwrap();
            faults += life.events.iter().filter(|event| matches!(event, Event::FailedSync { .. })).count();
            figures.add(rows::cut_power(&life, 0, chance).await.unwrap());
        }
    }
    println!("{operation:?} fails, {failure:?}: {figures}");
    assert!(figures.is_clean());
    assert_eq!(faults > 0, operation == Operation::Sync);
}

#[tokio::test]
async fn a_failed_sync_loses_nothing() {
    check(Operation::Sync, Failure::Io).await;
}

#[tokio::test]
async fn a_failed_write_loses_nothing() {
    check(Operation::Write, Failure::Io).await;
}

#[tokio::test]
async fn a_full_disk_loses_nothing() {
    check(Operation::Write, Failure::Full).await;
}
