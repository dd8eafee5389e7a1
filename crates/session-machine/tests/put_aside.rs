//! What was staged on a branch that is left, and comes back with it.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_was_staged_on_a_branch_that_is_left_is_put_aside_and_comes_back_with_it() {
    check(
        r#"
        reverts
        model: edit c1 {"path":"a"}; revert_to_state c2 {"category":"tangent","step":"n1"}
        propose c1 a = new
        model: done
        > do it
        approve p1
        undo
        resume
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 revert_to_state c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 harness: c2: revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
              request
                + n5 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            approve p1
                cannot approve p1: it is superseded; possible now: restore
            undo
                + head to n4
                + revert/note
                + resolve/event p1 stale
            resume
              check p1
                + resolve/event p1 pending
              ask about p1
            show decisions
                p1 proposed
        "#]],
    );
}

#[test]
fn what_comes_back_with_its_prompt_is_asked_about_also_where_the_model_decides() {
    check(
        r#"
        reverts
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        3 times model: done
        > do it
        back n0
        show decisions
        undo
        resume
        resume
        approve p1
        model: again
        resume
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
            back n0
                + head to n0
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
                + decision/decided abandon
                + decision/run
            show decisions
                p1 superseded
            undo
                + head to n8
                + revert/note
                + resolve/event p1 stale
            resume
              check p1
                + resolve/event p1 pending
              ask about p1
            resume
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              open a run
                + decision/opened
                + decision/run
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n9 under n8 harness: A person approved p1, and it was applied. written
              request
                + resolve/choices
                + n10 under n9 model: again
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 applied, decided by person:
        "#]],
    );
}

#[test]
fn what_comes_back_after_a_revert_of_the_models_own_is_asked_about_also_where_it_decides() {
    check(
        r#"
        reverts
        approval model
        model: edit c1 {"path":"a"}; revert_to_state c2 {"category":"tangent","step":"n1"}
        propose c1 a = new
        model: done
        > do it
        show decisions
        undo
        3 times model: again
        resume
        resume
        approve p1
        model: again
        resume
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 revert_to_state c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                + n4 under n3 harness: c2: revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
              request
                + n5 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 superseded
            undo
                + head to n4
                + revert/note
                + resolve/event p1 stale
            resume
              check p1
                + resolve/event p1 pending
              open a run
                + decision/opened
                + decision/run
              request
                + resolve/choices
                + n6 under n4 model: again
                + resolve/choices
              request
                + n7 under n6 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n8 under n7 model: again
                + resolve/choices
              request
                + n9 under n8 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n10 under n9 model: again
                + resolve/choices
              ask about p1
            resume
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n11 under n10 harness: A person approved p1, and it was applied. written
              request
                + resolve/choices
                + n12 under n11 model: again
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 applied, decided by person:
        "#]],
    );
}

#[test]
fn what_a_person_approves_after_the_run_is_over_opens_a_run_of_its_own() {
    check(
        r#"
        reverts
        model: edit c1 {"path":"a"}; revert_to_state c2 {"category":"tangent","step":"n1"}
        propose c1 a = new
        model: done
        model: seen
        hush
        > do it
        undo
        resume
        tell
        approve p1
        resume
        "#,
        expect![[r#"
            approve p1
                + resolve/event p1 approved
            resume
              open a run
                + decision/opened
                + decision/run
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n6 under n4 harness: A person approved p1, and it was applied. written
              request
                + n7 under n6 model: seen
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn inside_a_group_of_calls_the_last_result_is_meant() {
    check(
        r#"
        model: read c1 {"path":"a"}
        model: The parser is slow.
        model: A generated one is fast.
        hush
        > which parser?
        go n1
        resume
        tell
        go n2
        go n4
        go n2
        go n2
        go n99
        "#,
        expect![[r#"
            go n2
                + head to n3
                + revert/note
            go n4
                + head to n4
                + revert/note
            go n2
                + head to n3
            go n2
                the head is at n3 already
            go n99
                n99 does not exist; the newest node is n5
        "#]],
    );
}
