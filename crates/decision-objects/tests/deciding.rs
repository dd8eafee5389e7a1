//! A run is decided once, with what is its own.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    Alternative, Closing, Considered, Decision, Evidence, Label, Opening, PatchSet, Predecessor, Run, Verdict,
};

use crate::given::{
    abandon, at, closing, decision_id, evidence, open_run, opening, patch_set, patch_set_id, run_id, sha1,
    words,
};

/// Decides run 1 with the verdict and what is handed over; the decision, or why not.
fn check(
    verdict: Verdict,
    patch_sets: &[PatchSet],
    evidence: &[Evidence],
    considered: &[Considered],
    expected: Expect,
) {
    let closing = Closing { patch_sets, evidence, considered: considered.to_vec(), ..closing(9) };
    let text = match open_run(1).decide(verdict, closing) {
        Ok((run, decision)) => {
            assert_eq!((run.id(), run.decision()), (decision.run(), decision.id()));
            decision.verdict().to_string()
        }
        Err(undecided) => {
            assert_eq!(undecided.run, open_run(1), "the run comes back as it was");
            format!("! {undecided}")
        }
    };
    expected.assert_eq(&text);
}

fn commit(patch_set: u128) -> Verdict {
    Verdict::Commit { patch_set: patch_set_id(patch_set), commit: sha1() }
}

fn rejected(patch_set: u128) -> Considered {
    Considered { alternative: Alternative::PatchSet(patch_set_id(patch_set)), reason: words("worse") }
}

#[test]
fn a_commit_names_a_patch_set_of_its_run() {
    check(
        commit(2),
        &[patch_set(2, 1)],
        &[evidence(3, 1)],
        &[],
        expect!["commit: da39a3ee5e6b4b0d3255bfef95601890afd80709"],
    );
}

#[test]
fn a_patch_set_of_another_run_is_refused() {
    check(
        commit(2),
        &[patch_set(2, 7)],
        &[],
        &[],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: patch set 00000000-0000-0000-0000-000000000002 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001"
        ],
    );
}

#[test]
fn a_patch_set_that_nobody_has_seen_is_refused() {
    check(
        commit(2),
        &[],
        &[],
        &[],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: patch set 00000000-0000-0000-0000-000000000002 is named, but not among those that were handed over"
        ],
    );
}

#[test]
fn a_rejected_patch_set_must_have_been_seen_too() {
    check(
        abandon(),
        &[patch_set(4, 1)],
        &[],
        &[rejected(2)],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: patch set 00000000-0000-0000-0000-000000000002 is named, but not among those that were handed over"
        ],
    );
}

#[test]
fn evidence_of_another_run_is_refused() {
    check(
        abandon(),
        &[],
        &[evidence(3, 1), evidence(4, 7)],
        &[],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: evidence 00000000-0000-0000-0000-000000000004 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001"
        ],
    );
}

#[test]
fn evidence_counts_once() {
    check(
        abandon(),
        &[],
        &[evidence(3, 1), evidence(3, 1)],
        &[],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: evidence 00000000-0000-0000-0000-000000000003 is listed twice"
        ],
    );
}

#[test]
fn what_is_chosen_is_not_rejected() {
    check(
        commit(2),
        &[patch_set(2, 1), patch_set(3, 1)],
        &[],
        &[rejected(3), rejected(2)],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: patch set 00000000-0000-0000-0000-000000000002 is both chosen and rejected"
        ],
    );
}

#[test]
fn a_patch_set_is_rejected_once() {
    check(
        abandon(),
        &[patch_set(2, 1)],
        &[],
        &[rejected(2), rejected(2)],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: rejected patch set 00000000-0000-0000-0000-000000000002 is listed twice"
        ],
    );
}

#[test]
fn a_decision_does_not_roll_back_itself() {
    let verdict = Verdict::Rollback { of: decision_id(9), reverted_to: Some(sha1()), patch_set: None };
    check(
        verdict,
        &[],
        &[],
        &[],
        expect![
            "! run 00000000-0000-0000-0000-000000000001 is still open: a decision cannot roll back itself"
        ],
    );
}

#[test]
fn the_verdicts_without_changes_need_nothing() {
    let reason = || words("enough for today");
    let other =
        |label| Verdict::Other { label: Label::new(label).unwrap(), patch_set: None, reason: reason() };
    check(
        Verdict::Checkpoint { checkpoint: words("n12"), state: None },
        &[],
        &[],
        &[],
        expect!["checkpoint: n12"],
    );
    check(Verdict::Abandon { reason: reason() }, &[], &[], &[], expect!["abandon: enough for today"]);
    check(Verdict::Retry { reason: reason() }, &[], &[], &[], expect!["retry: enough for today"]);
    check(other("answered"), &[], &[], &[], expect!["other: answered"]);
}

#[test]
fn changes_may_stand_without_a_commit() {
    let label = Label::new("applied").unwrap();
    let verdict =
        Verdict::Other { label, patch_set: Some(patch_set_id(2)), reason: words("not a repository") };
    check(verdict, &[patch_set(2, 1)], &[], &[], expect!["other: applied"]);
}

#[test]
fn a_decision_holds_what_it_was_given() {
    let (_, decision) =
        open_run(1).decide(abandon(), Closing { evidence: &[evidence(3, 1)], ..closing(9) }).unwrap();
    assert_eq!(decision.evidence(), [evidence(3, 1).id()]);
    assert_eq!((decision.at(), decision.approved_by(), decision.rationale()), (at(), None, None));
}

#[test]
fn a_run_does_not_follow_itself() {
    let itself = Opening { predecessor: Some(Predecessor::RetryOf(run_id(1))), ..opening(1) };
    expect!["run 00000000-0000-0000-0000-000000000001 cannot retry or continue itself"]
        .assert_eq(&Run::open(itself).unwrap_err().to_string());
}

#[test]
fn a_decision_that_was_read_is_checked_against_what_it_names() {
    let closing = Closing { patch_sets: &[patch_set(2, 1)], evidence: &[evidence(3, 1)], ..closing(9) };
    let (_, decision) = open_run(1).decide(commit(2), closing).unwrap();
    let read = Decision::parse(decision.print().as_bytes()).unwrap();
    let line = |patch_sets: &[PatchSet], evidence: &[Evidence]| match read.check_grounds(patch_sets, evidence)
    {
        Ok(()) => String::from("ok\n"),
        Err(error) => format!("{error}\n"),
    };
    let lines = [
        line(&[patch_set(8, 7), patch_set(2, 1)], &[evidence(3, 1), evidence(4, 7)]),
        line(&[patch_set(2, 7)], &[evidence(3, 1)]),
        line(&[patch_set(2, 7), patch_set(2, 1)], &[evidence(3, 1)]),
        line(&[patch_set(2, 1), patch_set(2, 7)], &[evidence(3, 1)]),
        line(&[patch_set(2, 1)], &[evidence(3, 7), evidence(3, 1)]),
        line(&[patch_set(2, 1)], &[evidence(3, 1), evidence(3, 7)]),
        line(&[patch_set(2, 1)], &[]),
    ];
    expect![[r#"
        ok
        patch set 00000000-0000-0000-0000-000000000002 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        patch set 00000000-0000-0000-0000-000000000002 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        patch set 00000000-0000-0000-0000-000000000002 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        evidence 00000000-0000-0000-0000-000000000003 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        evidence 00000000-0000-0000-0000-000000000003 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        evidence 00000000-0000-0000-0000-000000000003 is named, but not among what was handed over
    "#]].assert_eq(&lines.concat());
}
