//! Commands that wait for a decision, with their calls open.

use expect_test::expect;

use crate::play::check;

#[test]
fn nothing_changes_by_asking_again_and_the_command_runs_once_it_is_approved() {
    check(
        r#"
        model: shell c1 {"command":"make"}; read c2 {"path":"a"}
        model: done
        > do it
        resume
        approve p1
        resume
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              gate c1 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            resume
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 tool: c2: done
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn with_everything_approved_edits_are_applied_and_commands_run_in_their_order() {
    check(
        r#"
        approval always
        model: edit c1 {"path":"a"}; shell c2 {"command":"make"}
        propose c1 a = new
        model: done
        > do it
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 shell c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              approve p1
                + resolve/event p1 approved
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/untold
              run shell c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 tool: c2: done
                + n5 under n4 harness: Applied p1. written
                + resolve/told
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_command_that_waits_when_its_turn_is_left_is_put_aside_and_blocks_nothing() {
    check(
        r#"
        model: shell c1 {"command":"make"}
        model: done
        > do it
        back n1 no commands
        resume
        show decisions
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
            back n1 no commands
                + n3 under n2 harness: c1: not run: a person left this branch first
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
            resume
              request
                + n4 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 superseded
        "#]],
    );
}

#[test]
fn a_command_that_waited_for_a_person_runs_when_everything_is_approved_later() {
    check(
        r#"
        model: shell c1 {"command":"make"}
        > do it
        approval always
        model: done
        resume
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
            resume
              approve p1
                + resolve/event p1 approved
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              settle
                + n3 under n2 tool: c1: done
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_command_that_waits_holds_up_what_comes_after_it_in_its_turn_but_not_who_only_looks() {
    check(
        r#"
        tool own
        model: shell c1 {"command":"first"}; own c2 {}; read c3 {"path":"a"}
        > do it
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 own c2 read c3
              run read c3
                + runtime/call_started
                + runtime/call_finished
              gate c1 run first
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
        "#]],
    );
}

#[test]
fn going_away_ends_the_turn_that_waits_and_the_run_whose_prompt_is_left() {
    check(
        r#"
        model: shell c1 {"command":"make"}
        > do it
        go n0
        show decisions
        show verdict
        undo
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
            go n0
                + n3 under n2 harness: c1: not run: a person went to another branch first
                + head to n0
                + resolve/event p1 superseded
                + decision/decided abandon
                + decision/run
            show decisions
                p1 superseded
            show verdict
                abandon: a person left the prompt that it started from
                by user
                evidence 0
            undo
                + head to n3
                + revert/note
        "#]],
    );
}

#[test]
fn a_merge_while_a_call_waits_ends_the_turn_first() {
    check(
        r#"
        model: One way.
        model: shell c9 {"command":"rm"}
        model: well
        > do it
        go n1
        resume
        merge n2
        resume
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: One way.
              conclude
                + decision/decided other: answered
                + decision/run
            go n1
                + head to n1
            resume
              open a run
                + decision/opened
                + decision/run
              request
                + n3 under n1 model: shell c9
              gate c9 run rm
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            merge n2
                + n4 under n3 harness: c9: not run: a person merged other branches here first
                + head to n4
                + n5 under n4 harness: Merged from a branch of this conversation: n2. Each line ends in the nodes that it comes from. / - One way. (n2)
                + resolve/event p1 superseded
                + revert/merge
            resume
              request
                + n6 under n5 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 superseded
        "#]],
    );
}
