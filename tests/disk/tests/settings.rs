//! The simulation finds what SQLite's documentation says of its settings, neither more nor less.

use expect_test::{Expect, expect};
use trunkline_disk::stories::{self, Story};

use crate::told;

async fn check(story: Story, expected: Expect) {
    let end = told(story, 1).await.end();
    assert_eq!(Some(end), story.end);
    expected.assert_eq(&end.to_string());
}

#[tokio::test]
async fn a_log_that_is_synced_at_each_commit_keeps_all() {
    check(stories::LOG_FULL, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_log_that_is_synced_at_checkpoints_loses_the_last_commits() {
    check(stories::LOG_NORMAL, expect!["loses what was acknowledged"]).await;
}

#[tokio::test]
async fn what_is_never_synced_is_damaged() {
    check(stories::LOG_OFF, expect!["loses what was acknowledged and damages the rest"]).await;
}

#[tokio::test]
async fn a_rollback_journal_comes_back_if_the_folder_is_not_synced() {
    check(stories::DELETE_FULL, expect!["loses what was acknowledged"]).await;
}

#[tokio::test]
async fn a_rollback_journal_stays_away_if_the_folder_is_synced() {
    check(stories::DELETE_EXTRA, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_rollback_journal_that_is_cut_needs_no_folder() {
    check(stories::TRUNCATE_FULL, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_rollback_journal_that_is_overwritten_needs_no_folder() {
    check(stories::PERSIST_FULL, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_disk_that_lies_about_syncs_is_found_out() {
    check(stories::LYING, expect!["loses what was acknowledged and damages the rest"]).await;
}

#[tokio::test]
async fn a_crowd_of_connections_keeps_all() {
    check(stories::CROWD, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_failed_sync_loses_nothing() {
    check(stories::SYNC_FAILS, expect!["keeps all"]).await;
}

#[tokio::test]
async fn a_full_disk_loses_nothing() {
    check(stories::NO_ROOM, expect!["keeps all"]).await;
}
