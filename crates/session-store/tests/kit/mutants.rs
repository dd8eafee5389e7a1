//! Stores that break one promise each, and what the kit says of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use trunkline_session_store::kit::{self, Options, Promise, Report};

use super::Memory;
use super::flawed::{Flaw, Flawed, Shared};

fn report(flaw: Flaw) -> Report {
    let mut options = Options::new(1);
    (options.cases, options.steps, options.tries, options.batches) = (12, 50, 0, 15);
    // Long enough for what is asked to happen on a busy machine, and short enough to wait for what never does.
    options.patience = Duration::from_secs(6);
    let place = move || {
        let shared = Arc::new(Shared::default());
        move |store| Flawed::new(store, flaw, Arc::clone(&shared))
    };
    kit::run(&Memory(place), &options)
}

/// Each is found, and the promise that it breaks is named.
macro_rules! mutants {
    ($($name:ident: $flaw:ident breaks $promise:ident)*) => {
        $(#[test]
        fn $name() {
            let report = report(Flaw::$flaw);
            let broken: BTreeSet<Promise> = report.findings().map(|finding| finding.promise).collect();
            assert!(broken.contains(&Promise::$promise), "{report}");
        })*

        /// What can be broken in memory.
        const BROKEN: &[Promise] = &[$(Promise::$promise),*];
    };
}

mutants! {
    a_batch_that_is_forgotten_is_missed: ForgetsLongBatches breaks Kept
    half_of_a_refused_batch_is_seen: KeepsTheFirstOfARefusedBatch breaks Whole
    half_of_an_abandoned_batch_is_seen: StopsWithItsCaller breaks Whole
    half_of_a_batch_that_was_abandoned_late_is_seen: StopsOnItsWay breaks Whole
    a_lease_that_nobody_was_given_is_seen: KeepsAbandonedLeases breaks OneWriter
    half_of_an_abandoned_restore_is_seen: RestoresInSteps breaks Restored
    half_of_an_abandoned_deletion_is_seen: DeletesInSteps breaks Deleted
    an_abandoned_letter_that_blocks_all_others_is_noticed: PostsForEver breaks Inbox
    a_stale_batch_that_is_kept_is_seen: AcceptsStaleBatches breaks Expected
    an_empty_stale_batch_that_is_accepted_is_seen: AcceptsAnEmptyStaleBatch breaks Expected
    white_space_that_is_cut_off_is_seen: TrimsBodies breaks Fits
    a_name_with_a_nul_is_seen: KeepsNulInNames breaks Fits
    a_number_in_other_words_is_seen: ChangesNumbers breaks Kept
    a_byte_that_is_missing_is_seen: CutsLargeBodies breaks Kept
    a_time_that_does_not_fit_is_seen: MixesUpTimes breaks Kept
    records_in_another_order_are_seen: ReordersPages breaks Kept
    a_tail_that_is_not_read_is_missed: MissesTheTail breaks Pages
    a_page_that_is_too_long_is_seen: GivesMoreThanAsked breaks Pages
    a_wrong_digest_in_a_receipt_is_seen: WrongDigestInReceipts breaks Chain
    a_level_that_cannot_be_is_seen: SaysFlushed breaks Level
    a_second_writer_is_seen: TwoWriters breaks OneWriter
    a_lease_that_frees_the_next_is_seen: DroppedLeaseFreesTheNext breaks Fenced
    tokens_that_do_not_grow_are_seen: TokensStay breaks Fenced
    a_writer_that_was_not_fenced_out_is_seen: ForgetsFencing breaks Fenced
    a_fence_with_a_gap_is_seen: FencesOnlyRecords breaks Fenced
    a_fence_that_forgets_the_line_is_seen: FencesNothingInLine breaks Fenced
    a_foreign_lease_is_seen: TakesForeignLeases breaks Fenced
    a_letter_that_is_consumed_twice_is_seen: ConsumesTwice breaks Inbox
    a_letter_that_leaves_without_its_batch_is_seen: ConsumesWithoutTheBatch breaks Inbox
    letters_in_another_order_are_seen: ReversesTheInbox breaks Inbox
    a_letter_that_a_look_passes_over_is_seen: LooksBeforeTheNewestLetter breaks Inbox
    letters_of_one_name_are_seen: NamesLettersTwice breaks Inbox
    waiting_that_never_ends_is_noticed: NeverWakes breaks Waiting
    followers_that_are_not_told_are_noticed: WakesOnlyOne breaks Followed
    waiting_that_ends_at_once_is_noticed: WakesAtOnce breaks Waiting
    letters_that_wake_nobody_are_noticed: WakesOnlyForRecords breaks Waiting
    waiting_for_what_is_gone_is_noticed: SleepsWhenDeleted breaks Waiting
    a_key_that_is_noted_twice_is_seen: OnceTwice breaks Keys
    half_of_a_batch_with_a_taken_key_is_seen: OnceIsNotWhole breaks Keys
    a_state_of_the_past_is_seen: FindsOldStates breaks Keys
    a_key_that_only_begins_so_is_seen: FindsKeysByPrefix breaks Keys
    records_that_are_passed_over_are_missed: SkipsMissingRecords breaks Named
    a_record_that_comes_twice_is_seen: RepeatsRecords breaks Pages
    a_spine_that_says_less_is_seen: ForgetsKeysInTheSpine breaks Pages
    a_snapshot_in_another_form_is_seen: MixesUpForms breaks Snapshots
    a_snapshot_that_stays_is_seen: KeepsTheFirstSnapshot breaks Snapshots
    a_snapshot_of_another_log_is_seen: KeepsEverySnapshot breaks Snapshots
    a_snapshot_of_who_was_fenced_out_is_seen: KeepsSnapshotsOfTheFenced breaks Snapshots
    a_snapshot_that_outlives_its_session_is_seen: KeepsSnapshotsForEver breaks Snapshots
    a_snapshot_that_changes_its_session_is_seen: CountsSnapshots breaks Snapshots
    a_wrong_parent_is_seen: WrongParent breaks Shape
    messages_in_another_order_are_seen: MessagesOnce breaks Shape
    an_end_that_is_too_short_is_seen: ResumesLate breaks Shape
    a_blob_of_another_session_is_seen: BlobsOfOthers breaks Blobs
    a_session_that_is_not_named_is_seen: UnknownIsEmpty breaks Named
    a_list_in_another_order_is_seen: SortsByName breaks Listed
    a_list_with_what_is_gone_is_seen: ListsWhatIsGone breaks Listed
    a_wrong_number_of_bytes_is_seen: MiscountsBytes breaks Listed
    a_last_update_that_is_forgotten_is_missed: ForgetsTheLastUpdate breaks Listed
    tags_that_are_forgotten_are_missed: ForgetsTags breaks Listed
    tags_that_two_add_at_once_and_one_loses_are_missed: LosesTagsOfOthers breaks Listed
    a_session_that_stays_is_seen: DeletesNothing breaks Deleted
    a_session_that_was_deleted_under_its_writer_is_missed: DeletesWhatIsWritten breaks Deleted
    a_session_that_was_deleted_too_is_missed: DeletesTheNextToo breaks Deleted
    a_session_that_somebody_came_back_to_is_missed: DeletesWhatChanged breaks Deleted
    a_letter_that_went_with_its_session_is_missed: DeletesInTwoSteps breaks Deleted
    collecting_what_is_not_there_is_seen: CollectsTwice breaks Deleted
    half_an_import_is_seen: RestoresWhatCame breaks Restored
    an_import_over_another_session_is_seen: RestoresOver breaks Restored
    a_letter_that_does_not_come_along_is_missed: RestoresWithoutLetters breaks Restored
    a_title_that_does_not_move_is_missed: RestoresWithoutTitle breaks Moved
    a_title_that_is_forgotten_is_missed: ForgetsTitlesWhenOpened breaks Reopened
    a_key_that_only_chance_tries_is_missed: MissesOneKey breaks SameAsMemory
    what_is_lost_when_two_write_at_once_is_missed: LosesWhatCollides breaks Fought
    a_store_that_panics_is_told: Panics breaks Kept
}

#[test]
fn a_list_that_found_something_is_made_shorter() {
    let mut options = Options::new(1);
    options.cases = 1000;
    let place = || |store| Flawed::new(store, Flaw::MissesOneKey, Arc::default());
    let report = kit::run(&Memory(place), &options);
    let found = report.findings().find(|finding| finding.promise == Promise::SameAsMemory);
    let list: Vec<&str> = found.expect("the key is missed").detail.lines().take(5).collect();
    expect![[r#"
        seed 1, list 2, 4 operations:
          one: create 1
          two: lease 1 as b
          append to 1 under b: note j about 🌧 once, now "hello"; flushed
          two: ask 1 for Everything"#]]
    .assert_eq(&list.join("\n"));
}

#[test]
fn every_promise_can_be_broken() {
    let elsewhere = [Promise::Killed, Promise::Full, Promise::Broken, Promise::Older];
    let never: Vec<&Promise> = Promise::ALL
        .iter()
        .filter(|promise| !BROKEN.contains(promise) && !elsewhere.contains(promise))
        .collect();
    assert!(never.is_empty(), "{never:?}");
}
