//! The simulation finds what SQLite's documentation says of its settings, neither more nor less.

use expect_test::{Expect, expect};
use sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use trunkline_disk::rows::{self, Setup};
use trunkline_disk::{Chance, Figures};

/// Writes under a setting, cuts the power, and says what it cost.
async fn check(journal: SqliteJournalMode, synchronous: SqliteSynchronous, expected: Expect) {
    let mut chance = Chance::new(1);
    let life = rows::live_in_turns(Setup { journal, synchronous }, 40, None, &mut chance).await.unwrap();
    let figures = rows::cut_power(&life, 0, chance).await.unwrap();
    println!("{journal:?}, {synchronous:?}: {figures}");
    expected.assert_eq(verdict(&figures));
}

fn verdict(figures: &Figures) -> &'static str {
    match (figures.lost, figures.broken) {
        (0, 0) => "keeps all",
        (_, 0) => "loses what was acknowledged",
        _ => "loses what was acknowledged and damages the rest",
    }
}

#[tokio::test]
async fn a_log_that_is_synced_at_each_commit_keeps_all() {
    check(SqliteJournalMode::Wal, SqliteSynchronous::Full, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_log_that_is_synced_at_checkpoints_loses_the_last_commits() {
    let expected = expect!["loses what was acknowledged"];
    check(SqliteJournalMode::Wal, SqliteSynchronous::Normal, expected).await;
}

#[tokio::test]
async fn what_is_never_synced_is_damaged() {
    let expected = expect!["loses what was acknowledged and damages the rest"];
    check(SqliteJournalMode::Wal, SqliteSynchronous::Off, expected).await;
}

#[tokio::test]
async fn a_rollback_journal_comes_back_if_the_folder_is_not_synced() {
    let expected = expect!["loses what was acknowledged"];
    check(SqliteJournalMode::Delete, SqliteSynchronous::Full, expected).await;
}

#[tokio::test]
async fn a_rollback_journal_stays_away_if_the_folder_is_synced() {
    check(SqliteJournalMode::Delete, SqliteSynchronous::Extra, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_rollback_journal_that_is_cut_needs_no_folder() {
    check(SqliteJournalMode::Truncate, SqliteSynchronous::Full, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_rollback_journal_that_is_overwritten_needs_no_folder() {
    check(SqliteJournalMode::Persist, SqliteSynchronous::Full, expect!["keeps all"]).await;
}

const FULL: Setup = Setup { journal: SqliteJournalMode::Wal, synchronous: SqliteSynchronous::Full };

#[tokio::test]
async fn a_disk_that_lies_about_syncs_is_found_out() {
    let mut chance = Chance::new(2);
    let life = rows::live_in_turns(FULL, 40, None, &mut chance).await.unwrap().with_a_lying_disk();
    let figures = rows::cut_power(&life, 0, chance).await.unwrap();
    println!("a lying disk: {figures}");
    expect!["loses what was acknowledged and damages the rest"].assert_eq(verdict(&figures));
}

#[tokio::test]
async fn a_crowd_of_connections_keeps_all() {
    let mut chance = Chance::new(3);
    let life = rows::live_in_a_crowd(FULL, 60, &mut chance).await.unwrap();
    let figures = rows::cut_power(&life, 500, chance).await.unwrap();
    println!("a crowd: {figures}");
    expect!["keeps all"].assert_eq(verdict(&figures));
}
