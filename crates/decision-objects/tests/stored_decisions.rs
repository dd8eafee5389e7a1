//! What was decided before a restart still counts after it.

use expect_test::expect;
use trunkline_decision_objects::{Admission, Decisions, Opening, Predecessor, Run, RunRecord, Verdict};

use crate::given::{
    abandon, closing, decided, decision_id, open_run, opening, patch_set_id, run_id, sha1, words,
};

fn stored(decisions: impl IntoIterator<Item = trunkline_decision_objects::Decision>) -> Decisions {
    let mut stored = Decisions::new();
    for decision in decisions {
        assert_eq!(stored.admit(decision), Ok(Admission::New));
    }
    stored
}

#[test]
fn a_stored_run_without_a_decision_is_open_again() {
    let text = open_run(1).record().print();
    let record = RunRecord::parse(text.as_bytes()).unwrap();
    let run = Run::reopen(record, &stored([decided(2, 9, abandon())])).unwrap();
    assert_eq!(run, open_run(1));
    assert!(run.decide(abandon(), closing(8)).is_ok());
}

#[test]
fn a_stored_run_with_a_decision_stays_closed() {
    let refused = Run::reopen(open_run(1).record().clone(), &stored([decided(1, 9, abandon())])).unwrap_err();
    assert_eq!(refused.first, decision_id(9));
}

#[test]
fn the_same_decision_again_changes_nothing() {
    let mut decisions = stored([decided(1, 9, abandon())]);
    let before = decisions.clone();
    assert_eq!(decisions.admit(decided(1, 9, abandon())), Ok(Admission::Known));
    assert_eq!(decisions, before);
}

#[test]
fn another_decision_for_the_run_is_refused_and_the_first_is_named() {
    let mut decisions = stored([decided(1, 9, abandon())]);
    let before = decisions.clone();
    let other_words = Verdict::Abandon { reason: words("no time") };
    for second in [decided(1, 9, other_words), decided(1, 8, abandon())] {
        expect!["run 00000000-0000-0000-0000-000000000001 was already decided, by 00000000-0000-0000-0000-000000000009"]
            .assert_eq(&decisions.admit(second).unwrap_err().to_string());
    }
    assert_eq!(decisions, before);
}

#[test]
fn two_runs_do_not_share_a_decision() {
    let mut decisions = stored([decided(1, 9, abandon())]);
    expect!["the decision id 00000000-0000-0000-0000-000000000009 is already used, for run 00000000-0000-0000-0000-000000000001"]
        .assert_eq(&decisions.admit(decided(2, 9, abandon())).unwrap_err().to_string());
}

#[test]
fn only_a_commit_is_rolled_back() {
    let commit = Verdict::Commit { patch_set: patch_set_id(5), commit: sha1() };
    let mut decisions = stored([decided(1, 8, commit), decided(2, 9, abandon())]);
    let rollback = |of| Verdict::Rollback { of: decision_id(of), reverted_to: Some(sha1()), patch_set: None };
    assert_eq!(decisions.admit(decided(3, 10, rollback(8))), Ok(Admission::New));
    let refused = decisions.admit(decided(4, 11, rollback(9))).unwrap_err().to_string();
    expect!["decision 00000000-0000-0000-0000-000000000009 cannot be rolled back: it ended its run as abandon, without changes"].assert_eq(&refused);
    // What is stored elsewhere cannot be judged here.
    assert_eq!(decisions.admit(decided(5, 12, rollback(77))), Ok(Admission::New));
}

#[test]
fn a_run_follows_a_verdict_that_allows_it() {
    let decisions = stored([
        decided(1, 11, Verdict::Retry { reason: words("again") }),
        decided(2, 12, Verdict::Checkpoint { checkpoint: words("n7") }),
    ]);
    let follow = |predecessor| {
        let run = Run::open(Opening { predecessor: Some(predecessor), ..opening(9) }).unwrap();
        decisions.check_predecessor(run.record()).map_err(|error| error.to_string())
    };
    assert_eq!(follow(Predecessor::RetryOf(run_id(1))), Ok(()));
    assert_eq!(follow(Predecessor::Continues(run_id(2))), Ok(()));
    expect!["run 00000000-0000-0000-0000-000000000002 ended as checkpoint; only retry can be followed so"]
        .assert_eq(&follow(Predecessor::RetryOf(run_id(2))).unwrap_err());
    expect!["run 00000000-0000-0000-0000-000000000003 cannot be followed: it has no decision yet"]
        .assert_eq(&follow(Predecessor::Continues(run_id(3))).unwrap_err());
}

#[test]
fn decisions_are_found_by_run_and_by_name() {
    let decisions = stored([decided(2, 8, abandon()), decided(1, 9, abandon())]);
    assert_eq!(decisions.get(decision_id(8)), decisions.of_run(run_id(2)));
    assert_eq!(decisions.get(decision_id(7)), None);
    assert_eq!(decisions.iter().map(|decision| decision.run()).collect::<Vec<_>>(), [run_id(1), run_id(2)]);
}
