//! Edits that wait for a decision.

use expect_test::expect;

use crate::play::check;

#[test]
fn a_decision_at_the_output_limit_decides_nothing() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        limit: resolve c2 {"action":"apply","reason":"because"}
        model: resolve c3 {"action":"discard","reason":"because"}
        model: done
        > do it
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: resolve c2
                + resolve/choices
              answer c2 "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
              settle
                + n5 under n4 harness: c2: not run: the reply ended in the middle of this call; write less at once and call again
              request
                + resolve/choices
                + n6 under n5 model: resolve c3
                + resolve/choices
              resolve c3
                + resolve/event p1 discarded
                + resolve/resolving
                + runtime/call_finished
              settle
                + n7 under n6 tool: c3: Discarded: write a. Reason: because
              request
                + resolve/choices
                + n8 under n7 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 discarded, decided by model: because
        "#]],
    );
}

#[test]
fn a_discarded_edit_is_never_written() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: resolve c2 {"action":"discard","reason":"because"}
        model: resolve c3 {"action":"apply","reason":"because"}
        model: done
        > do it
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: resolve c2
                + resolve/choices
              resolve c2
                + resolve/event p1 discarded
                + resolve/resolving
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: Discarded: write a. Reason: because
              request
                + resolve/choices
                + n6 under n5 model: resolve c3
              resolve c3
                + runtime/call_finished
              settle
                + n7 under n6 harness: c3: No pending action to resolve. Nothing to apply or discard.
              request
                + n8 under n7 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 discarded, decided by model: because
        "#]],
    );
}

#[test]
fn an_edit_of_a_file_that_changed_meanwhile_is_not_written() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > do it
        file a = mine
        model: resolve c2 {"action":"apply","reason":"because"}
        model: done
        resume
        show decisions
        show files
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                the model has no more answers
            resume
              request
                + n4 under n3 model: resolve c2
                + resolve/choices
              resolve c2
                + resolve/event p1 approved
                + resolve/resolving
                + resolve/event p1 stale
                + resolve/event p1 discarded
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: p1 was not applied and is dropped: a changed after the preview. Look again and propose anew.
              request
                + resolve/choices
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 discarded, decided by harness: the files changed after the preview
            show files
                a = mine
        "#]],
    );
}

#[test]
fn r15_an_apply_that_fails_keeps_the_proposal_and_can_be_discarded() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = unwritable
        model: resolve c2 {"action":"apply","reason":"because"}
        model: resolve c3 {"action":"discard","reason":"because","id":"p1"}
        model: done
        > do it
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: resolve c2
                + resolve/choices
              resolve c2
                + resolve/event p1 approved
                + resolve/resolving
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 failed
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
              request
                + n6 under n5 harness: Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n7 under n6 model: resolve c3
                + resolve/choices
              resolve c3
                + resolve/event p1 discarded
                + resolve/resolving
                + runtime/call_finished
              settle
                + n8 under n7 tool: c3: Discarded: write a. Reason: because
              request
                + resolve/choices
                + n9 under n8 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 discarded, decided by model: because
        "#]],
    );
}

#[test]
fn a_model_that_leaves_an_edit_undecided_is_reminded_and_then_a_person_is_asked() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        3 times model: done
        > do it
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: done
                + resolve/choices
              request
                + n5 under n4 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n6 under n5 model: done
                + resolve/choices
              request
                + n7 under n6 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n8 under n7 model: done
                + resolve/choices
              ask about p1
            show decisions
                p1 proposed
        "#]],
    );
}

#[test]
fn a_person_declines_an_edit_and_the_model_is_told_why() {
    check(
        r#"
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        > do it
        discard p1 wrong file
        resume
        show decisions
        show files
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              ask about p1
            discard p1 wrong file
                + resolve/event p1 discarded
                + n4 under n3 harness: A person declined p1. Discarded: write a. Reason: wrong file
            resume
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 discarded, decided by person: wrong file
            show files
        "#]],
    );
}

#[test]
fn r4_a_newer_preview_of_the_same_file_takes_the_place_of_the_older() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = one
        model: edit c2 {"path":"a"}
        propose c2 a = two
        model: resolve c3 {"action":"apply","reason":"because"}
        model: done
        > do it
        show decisions
        show files
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: edit c2
                + resolve/choices
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
                + resolve/event p1 superseded
              settle
                + n5 under n4 tool: c2: done / Staged as p2, in place of p1. Nothing is written yet: call `resolve` with action apply or discard and id "p2".
              request
                + resolve/choices
                + n6 under n5 model: resolve c3
                + resolve/choices
              resolve c3
                + resolve/event p2 approved
                + resolve/resolving
                + resolve/kept
                + resolve/event p2 applying
                + resolve/event p2 applied
                + runtime/call_finished
              settle
                + n7 under n6 tool: c3: Applied p2. written
              request
                + resolve/choices
                + n8 under n7 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 superseded
                p2 applied, decided by model: because
            show files
                a = two
        "#]],
    );
}

#[test]
fn an_edit_that_waited_for_a_person_goes_on_when_everything_is_approved_later() {
    check(
        r#"
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > do it
        approval always
        model: done
        resume
        show files
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              ask about p1
            resume
              approve p1
                + resolve/event p1 approved
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: Applied p1. written
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show files
                a = new
        "#]],
    );
}
