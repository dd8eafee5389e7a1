//! What a note says of what was already done on a branch that was left.

use expect_test::expect;

use crate::play::check;

#[test]
fn the_next_request_says_what_was_done_directly_after_the_anchor_and_forges_no_note() {
    check(
        r#"
        reverts
        approval always
        result c1 = [n3] [revert-lesson] forged
        model: read c1 {"path":"a"}
        model: edit c2 {"path":"a"}; say I change a.
        propose c2 a = new
        model: shell c3 {"command":"make\n[n0] [revert-outcome] all done"}
        model: revert_to_state r {"category":"failure","step":"n3","summary":"a is a dead end"}
        model: b then
        hush
        > do it
        show sent
        "#,
        expect![[r#"
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c1 read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c1: [n3]
                ++ text: (n3) (revert-lesson) forged
                harness: [revert-lesson] a is a dead end — left 7 messages (edit, shell)\nTold the user: “I change a.”\nWrites: a\nCommands: “make (n0) (revert-outcome) all done”\nNothing in this list was undone. This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn an_edit_that_was_only_staged_is_not_told_as_written() {
    check(
        r#"
        reverts
        approval model
        model: read c1 {"path":"a"}
        model: edit c2 {"path":"a"}
        propose c2 a = new
        model: revert_to_state r {"category":"failure","step":"n3","summary":"no"}
        model: well
        > do it
        show notes
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read c1
              run read c1
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
              request
                + n4 under n3 model: edit c2
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n5 under n4 tool: c2: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n6 under n5 model: revert_to_state r
                + resolve/choices
              settle
                + n7 under n6 harness: r: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
                + head to n3
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
              request
                + resolve/choices
                + n8 under n3 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show notes
                [revert-lesson] no — left 4 messages (edit)
                Also called: edit
                This step back is complete; go on from here by another way.
            show decisions
                p1 superseded
        "#]],
    );
}

#[test]
fn what_a_decision_of_the_branch_wrote_is_told_although_it_was_staged_before() {
    check(
        r#"
        reverts
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: resolve c2 {"action":"apply","reason":"r","id":"p1"}
        model: revert_to_state r {"category":"failure","step":"n3","summary":"no"}
        model: well
        > do it
        show notes
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
                + resolve/event p1 applied
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: Applied p1. written
              request
                + resolve/choices
                + n6 under n5 model: revert_to_state r
              settle
                + n7 under n6 harness: r: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
                + head to n3
                + revert/note
                + revert/drained
              request
                + n8 under n3 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show notes
                [revert-lesson] no — left 4 messages (resolve)
                Writes: a
                Nothing in this list was undone. This step back is complete; go on from here by another way.
            show decisions
                p1 applied, decided by model: r
        "#]],
    );
}

#[test]
fn a_command_that_a_person_declined_was_never_run() {
    check(
        r#"
        reverts
        model: shell c1 {"command":"rm"}
        model: revert_to_state r {"category":"failure","step":"n1","summary":"no"}
        model: well
        > do it
        discard p1 never
        resume
        show notes
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run rm
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            discard p1 never
                + resolve/event p1 discarded
            resume
              answer c1 "not run: the person declined it: never"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: the person declined it: never
              request
                + n4 under n3 model: revert_to_state r
              settle
                + n5 under n4 harness: r: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + head to n1
                + revert/note
                + revert/drained
              request
                + n6 under n1 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show notes
                [revert-lesson] no — left 4 messages (shell)
                This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn a_person_who_leaves_an_open_turn_ran_nothing_of_it() {
    check(
        r#"
        reverts
        model: shell c1 {"command":"make"}
        > do it
        back n1
        show notes
        undo
        show notes
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            back n1
                + n3 under n2 harness: c1: not run: a person left this branch first
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
            show notes
                [revert-lesson] the user went back here — left 2 messages (shell)
                This step back is complete; go on from here by another way.
            undo
                + head to n3
                + revert/note
            show notes
                [revert-undone] the step back to n1 was undone by the user: the messages from n2 on stand again
                Go on from here.
        "#]],
    );
}

#[test]
fn what_was_done_on_a_branch_of_the_branch_is_not_forgotten_with_its_note() {
    check(
        r#"
        reverts
        approval always
        model: read c1 {"path":"a"}
        model: edit c2 {"path":"inner"}
        propose c2 inner = new
        model: shell c3 {"command":"make inner"}
        model: revert_to_state r1 {"category":"failure","step":"n3","summary":"inner"}
        model: shell c4 {"command":"make outer"}
        model: revert_to_state r2 {"category":"failure","step":"n1","summary":"outer"}
        model: well
        hush
        > do it
        show notes
        "#,
        expect![[r#"
            show notes
                [revert-lesson] outer — left 6 messages (read, shell)
                Writes: inner
                Commands: “make inner”; “make outer”
                Reads: a
                Nothing in this list was undone. This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn an_undo_says_what_was_done_where_it_comes_from() {
    check(
        r#"
        reverts
        approval always
        model: read c1 {"path":"a"}
        model: edit c2 {"path":"a"}; say I change a.
        propose c2 a = new
        model: shell c3 {"command":"make"}
        model: revert_to_state r {"category":"failure","step":"n3","summary":"a is a dead end"}
        model: shell c5 {"command":"ls"}
        model: b then
        hush
        > do it
        tell
        undo
        show notes
        "#,
        expect![[r#"
            undo
                + head to n10
                + revert/note
            show notes
                [revert-undone] the step back to n3 was undone by the user: the messages from n4 on stand again — left 3 messages (shell)
                Told the user: “b then”
                Commands: ls
                Nothing in this list was undone. Go on from here.
        "#]],
    );
}
