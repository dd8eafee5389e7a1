//! How runs end: by an answer, with changes, with a commit, by a person, and by a move that leaves their prompt.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_was_applied_where_nobody_looks_at_the_files_ends_as_an_answer() {
    check(
        r#"
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: Done.
        > write a
        "#,
        expect![[r#"
            > write a
                + n1 under n0 person: write a
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
              approve p1
                + resolve/event p1 approved
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: Applied p1. written
              request
                + n5 under n4 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_commit_is_announced_before_it_is_made() {
    check(
        r#"
        commits
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: Done.
        > write a
        "#,
        expect![[r#"
            > write a
                + n1 under n0 person: write a
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
              approve p1
                + resolve/event p1 approved
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: Applied p1. written
              request
                + n5 under n4 model: Done.
              conclude
                + decision/patch_set
                + decision/deciding
                + decision/left
                + decision/decided commit
                + decision/run
        "#]],
    );
}

#[test]
fn a_checkpoint_is_continued_by_the_next_run() {
    check(
        r#"
        model: shell c1 {"command":"make"}
        > build
        close checkpoint it was late
        discard p1
        close checkpoint it was late
        model: It is built.
        > go on
        "#,
        expect![[r#"
            > build
                + n1 under n0 person: build
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            close checkpoint it was late
                p1 is unsettled in this run: decide on what is proposed, or discard it, first
            discard p1
                + resolve/event p1 discarded
            close checkpoint it was late
                + n3 under n2 harness: c1: not run: a person closed the run first
                + decision/decided checkpoint
                + decision/run
            > go on
                + n4 under n3 person: go on
                + decision/opened
                + decision/run
              request
                + n5 under n4 model: It is built.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_run_that_is_tried_again_has_the_reason_as_its_prompt() {
    check(
        r#"
        model: read c1 {"path":"a"}
        > read it
        close retry read b instead
        model: b it is.
        resume
        "#,
        expect![[r#"
            > read it
                + n1 under n0 person: read it
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
                the model has no more answers
            close retry read b instead
                + n4 under n3 person: read b instead
                + decision/decided retry
                + decision/run
                + decision/opened
                + decision/run
            resume
              request
                + n5 under n4 model: b it is.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_move_that_leaves_the_prompt_abandons_the_run() {
    check(
        r#"
        model: One.
        > first
        model: read c1 {"path":"a"}
        > second
        go n2
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
            > second
                + n3 under n2 person: second
                + decision/opened
                + decision/run
              request
                + n4 under n3 model: read c1
              run read c1
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c1: done
              request
                the model has no more answers
            go n2
                + head to n2
                + decision/decided abandon
                + decision/run
            undo
                + head to n5
                + revert/note
        "#]],
    );
}

#[test]
fn nothing_is_closed_while_something_waits() {
    check(
        r#"
        close abandon no reason
        model: shell c1 {"command":"make"}
        > build
        close abandon too slow
        "#,
        expect![[r#"
            close abandon no reason
                no run is open here: the last one has its verdict, and the next prompt opens another
            > build
                + n1 under n0 person: build
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            close abandon too slow
                p1 is unsettled in this run: decide on what is proposed, or discard it, first
        "#]],
    );
}

#[test]
fn what_was_not_told_yet_is_told_before_the_end_so_that_what_is_given_up_rests() {
    check(
        concat!(
            "folder\nhush\npropose c1 a = new\nmodel: edit c1 {\"path\":\"a\"}; shell c2 {\"command\":\"make\"}\n",
            "> do it\napprove p1\nresume\ndiscard p2\ntell\nclose abandon it is not wanted\nresume"
        ),
        expect![[r#"
            close abandon it is not wanted
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 harness: c2: not run: a person closed the run first
                + n5 under n4 harness: A person approved p1, and it was applied. written
                + resolve/told
                + decision/patch_set
                + decision/left
                + decision/decided abandon
                + decision/run
            resume
              rest
        "#]],
    );
}
