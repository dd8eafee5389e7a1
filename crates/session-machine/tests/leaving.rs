//! Leaving a branch: by the model, in a call; by a person; and back again.

use expect_test::expect;

use crate::play::check;

#[test]
fn a_model_goes_back_with_the_lesson_and_what_was_staged_is_put_aside() {
    check(
        r#"
        reverts
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: revert_to_state c2 {"category":"failure","step":"n1","lesson":"a is read-only"}
        model: Another way.
        > change it
        "#,
        expect![[r#"
            > change it
                + n1 under n0 person: change it
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
                + n4 under n3 model: revert_to_state c2
                + resolve/choices
              settle
                + n5 under n4 harness: c2: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
              request
                + resolve/choices
                + n6 under n1 model: Another way.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_person_goes_back_and_undoes_that() {
    check(
        r#"
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: Two ways.
        > which way?
        back n1 ask first
        undo
        "#,
        expect![[r#"
            > which way?
                + n1 under n0 person: which way?
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
            back n1 ask first
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
            undo
                + head to n3
                + revert/note
                + resolve/event p1 stale
        "#]],
    );
}

#[test]
fn a_target_that_does_not_exist_is_refused() {
    check(
        r#"
        model: One.
        > first
        go n40
        back n40 no
        undo
        "#,
        expect![[r#"
            > first
                + n1 under n0 person: first
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: One.
              conclude
                + decision/decided other: answered
                + decision/run
            go n40
                n40 does not exist; the newest node is n2
            back n40 no
                revert target n40 not found; targets that would work: n0, n1 (newest last)
            undo
                there is no move of the head to take back
        "#]],
    );
}
