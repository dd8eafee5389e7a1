//! Our store on SQLite, with the power cut at every moment of its life.

use expect_test::expect;
use trunkline_disk::sessions::{self, Plan};
use trunkline_disk::stories::{self, End, Story};
use trunkline_disk::{Chance, Failure};

use crate::told;

async fn keeps_all(story: Story) {
    assert_eq!(told(story, 1).await.end(), End::KeepsAll);
}

#[tokio::test]
async fn nothing_that_was_acknowledged_is_lost_with_the_power() {
    let figures = told(stories::SESSIONS, 1).await;
    assert_eq!(figures.end(), End::KeepsAll);
    // Also where the process died first and another one went on.
    assert!(figures.killed_and_cut > 0);
}

#[tokio::test]
async fn a_disk_that_lies_about_syncs_loses_sessions() {
    assert_eq!(told(stories::SESSIONS_LYING, 1).await.end(), End::Damages);
}

#[tokio::test]
async fn a_full_disk_is_told_and_loses_nothing() {
    keeps_all(stories::SESSIONS_NO_ROOM).await;
}

#[tokio::test]
async fn writes_that_fail_are_told_and_lose_nothing() {
    keeps_all(stories::SESSIONS_WRITES_FAIL).await;
}

#[tokio::test]
async fn syncs_that_fail_are_told_and_lose_nothing() {
    keeps_all(stories::SESSIONS_SYNCS_FAIL).await;
}

#[tokio::test]
async fn syncs_that_drop_what_they_should_have_written_lose_nothing() {
    keeps_all(stories::SESSIONS_SYNCS_DROP).await;
}

#[tokio::test]
async fn reads_that_fail_are_told_and_lose_nothing() {
    keeps_all(stories::SESSIONS_READS_FAIL).await;
}

#[tokio::test]
async fn files_that_cannot_be_made_or_cut_lose_nothing() {
    keeps_all(stories::SESSIONS_FILES_FAIL).await;
}

/// Lives without a fault and then reads everything with one, at each read.
async fn read_badly(failure: Failure) -> String {
    let plan = Plan { steps: 12, handles: 2, reopens: 50, fault: None };
    let lived = sessions::live(plan, &mut Chance::new(1)).await.unwrap();
    let answers = lived.read_badly(failure).await.unwrap();
    println!("{failure:?} at each read: {answers:?}");
    answers.into_keys().collect::<Vec<_>>().join(", ")
}

// All comes back where the store was being closed when it struck.
#[tokio::test]
async fn a_read_that_fails_is_told() {
    expect!["all, io"].assert_eq(&read_badly(Failure::Io).await);
}

// SQLite takes a page whose end cannot be read for one that ends with zeros.
#[tokio::test]
async fn a_read_that_ends_too_early_destroys_nothing() {
    let answers = read_badly(Failure::Short).await;
    assert!(answers.contains("all") && answers.contains("io"), "{answers}");
}
