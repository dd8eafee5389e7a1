//! What was decided before a restart still counts after it.

use expect_test::expect;
use trunkline_decision_objects::{
    Admission, Alternative, Considered, Decision, Decisions, Digest, Evidence, FileState, Label, Opening,
    Predecessor, RelativePath, Run, RunRecord, Verdict,
};

use crate::given::{
    abandon, closing, decided, decision_id, open_run, opening, patch_set, patch_set_id, run_id, sha1, words,
};

fn stored(decisions: impl IntoIterator<Item = Decision>) -> Decisions {
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

fn rollback(of: u128) -> Verdict {
    let (reverted_to, patch_set) = (Some(sha1()), Some(patch_set_id(6)));
    Verdict::Rollback { of: decision_id(of), reverted_to, patch_set }
}

#[test]
fn rollbacks_go_in_no_circle() {
    // 21 rolls back 23, which is not here yet; 22 rolls back 21.
    let mut decisions = stored([decided(1, 21, rollback(23)), decided(2, 22, rollback(21))]);
    let before = decisions.clone();
    expect!["decision 00000000-0000-0000-0000-000000000016 cannot be rolled back: it rolls back this decision itself, or what leads to it"]
        .assert_eq(&decisions.admit(decided(3, 23, rollback(22))).unwrap_err().to_string());
    assert_eq!(decisions, before);
    assert_eq!(decisions.admit(decided(3, 23, rollback(24))), Ok(Admission::New));
}

#[test]
fn only_what_changed_something_is_rolled_back() {
    let commit = Verdict::Commit { patch_set: patch_set_id(5), commit: sha1() };
    let other = |label, patch_set| {
        let (label, reason) = (Label::new(label).unwrap(), words("so it was"));
        Verdict::Other { label, patch_set, reason }
    };
    let applied = other("applied", Some(patch_set_id(5)));
    let mut decisions = stored([
        decided(1, 21, commit),
        decided(2, 22, applied),
        decided(3, 23, abandon()),
        decided(4, 24, other("answered", None)),
    ]);
    let line = |of| match decisions.check_rollback(decision_id(of)) {
        Ok(()) => String::from("ok\n"),
        Err(error) => format!("{error}\n"),
    };
    // What is stored elsewhere (77) cannot be judged here.
    expect![[r#"
        ok
        ok
        decision 00000000-0000-0000-0000-000000000017 cannot be rolled back: it ended its run as abandon, without changes
        decision 00000000-0000-0000-0000-000000000018 cannot be rolled back: it ended its run as other, without changes
        ok
    "#]].assert_eq(&[21, 22, 23, 24, 77].map(line).concat());
    assert_eq!(decisions.admit(decided(5, 31, rollback(21))), Ok(Admission::New));
    assert_eq!(
        decisions.admit(decided(6, 32, rollback(23))),
        Err(decisions.check_rollback(decision_id(23)).unwrap_err())
    );
}

/// The verdict says how the run ended; what it changed stands beside it.
#[test]
fn what_was_given_up_is_rolled_back_if_it_changed_something() {
    let sets = [patch_set(5, 1)];
    let rejected = Considered { alternative: Alternative::PatchSet(patch_set_id(5)), reason: words("no") };
    let branch = Considered { alternative: Alternative::Branch(words("n3")), reason: words("no") };
    let file = FileState {
        path: RelativePath::new("a.txt").unwrap(),
        before: None,
        after: Some(Digest::of(b"new")),
    };
    let verdicts = [
        abandon(),
        Verdict::Retry { reason: words("no") },
        Verdict::Checkpoint { checkpoint: words("n7"), state: None },
    ];
    for verdict in verdicts {
        let check = |considered: &[Considered], files: &[FileState]| {
            let mut closing = closing(21);
            closing.considered = considered.to_vec();
            closing.patch_sets = &sets;
            closing.cites.files = files.to_vec();
            let (_, decision) = open_run(1).decide(verdict.clone(), closing).unwrap();
            let decisions = stored([decision]);
            decisions.check_rollback(decision_id(21)).is_ok()
        };
        assert!(check(std::slice::from_ref(&rejected), &[]), "{verdict}");
        assert!(check(&[], std::slice::from_ref(&file)), "{verdict}");
        assert!(!check(std::slice::from_ref(&branch), &[]), "{verdict}");
    }
}

#[test]
fn nothing_is_rolled_back_twice_but_a_rollback_is() {
    let commit = Verdict::Commit { patch_set: patch_set_id(5), commit: sha1() };
    let mut decisions = stored([decided(1, 21, commit), decided(2, 22, rollback(21))]);
    assert_eq!(decisions.undone_by(decision_id(21)).map(|decision| decision.id()), Some(decision_id(22)));
    expect!["decision 00000000-0000-0000-0000-000000000015 was already rolled back, by 00000000-0000-0000-0000-000000000016"].assert_eq(&decisions.admit(decided(3, 23, rollback(21))).unwrap_err().to_string());
    assert_eq!(decisions.admit(decided(2, 22, rollback(21))), Ok(Admission::Known));
    assert_eq!(decisions.admit(decided(3, 23, rollback(22))), Ok(Admission::New));
}

#[test]
fn a_run_follows_a_verdict_that_allows_it() {
    let decisions = stored([
        decided(1, 11, Verdict::Retry { reason: words("again") }),
        decided(2, 12, Verdict::Checkpoint { checkpoint: words("n7"), state: None }),
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

/// As they were written before decisions cited anything, and runs had tasks.
#[test]
fn what_was_stored_before_the_form_grew_is_read_and_printed_as_it_was() {
    let run = r#"{"type":"run","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","actor":{"kind":"human","id":"user"},"goal":"fix it","base_commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709","base_tree":"clean","retry_of":"00000000-0000-0000-0000-000000000007"}"#;
    let evidence = r#"{"type":"evidence","version":1,"id":"00000000-0000-0000-0000-000000000003","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","kind":"other","label":"command","tool":"run_command","command":"make","exit_code":-1,"summary":"killed"}"#;
    let rollback = r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000009","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"agent","id":"coder-1"},"verdict":{"kind":"rollback","of":"00000000-0000-0000-0000-000000000008","reverted_to":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},"evidence":["00000000-0000-0000-0000-000000000003"],"considered":[{"named":"a branch that was left","reason":"worse"}]}"#;
    assert_eq!(RunRecord::parse(run.as_bytes()).unwrap().print(), run);
    assert_eq!(Evidence::parse(evidence.as_bytes()).unwrap().print(), evidence);
    let decision = Decision::parse(rollback.as_bytes()).unwrap();
    assert_eq!(decision.print(), rollback);
    assert_eq!(decision.check_grounds(&[], &[Evidence::parse(evidence.as_bytes()).unwrap()]), Ok(()));
}

#[test]
fn each_verdict_has_its_consequence() {
    let label = Label::new("answered").unwrap();
    let verdicts = [
        Verdict::Commit { patch_set: patch_set_id(5), commit: sha1() },
        Verdict::Checkpoint { checkpoint: words("n7"), state: None },
        abandon(),
        Verdict::Retry { reason: words("again") },
        rollback(8),
        Verdict::Other { label, patch_set: None, reason: words("it was a question") },
    ];
    let line = |verdict: Verdict| {
        let kind = verdict.kind();
        format!("{kind:10} {:?}\n", decided(1, 9, verdict).consequences())
    };
    expect![[r#"
        commit     IntentEnds(Completed { result_commit: Sha1(da39a3ee5e6b4b0d3255bfef95601890afd80709) })
        checkpoint NextRun(Continues(RunId(00000000-0000-0000-0000-000000000001)))
        abandon    TaskFails
        retry      NextRun(RetryOf(RunId(00000000-0000-0000-0000-000000000001)))
        rollback   IntentEnds(Cancelled)
        other      Nothing
    "#]]
    .assert_eq(&verdicts.map(line).concat());
}
