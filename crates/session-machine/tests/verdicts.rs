//! What the verdict of a run says, where its files are looked at.

use expect_test::expect;

use crate::play::check;

#[test]
fn changes_without_a_commit_end_as_applied() {
    check(
        r#"
        folder
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: I wrote a.
        > write a
        show verdict
        show commit
        show touched
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
                + n5 under n4 model: I wrote a.
              conclude
                + decision/patch_set
                + decision/left
                + decision/decided other: applied
                + decision/run
            show verdict
                other: applied
                by made-up/parrot
                because I wrote a.
                approved by system
                evidence 0
            show commit
            show touched
                a was not there
        "#]],
    );
}

#[test]
fn a_commit_verdict_names_the_commit_and_its_rationale() {
    check(
        r#"
        commits
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: I wrote a.
        > write a
        show verdict
        show commit
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
                + n5 under n4 model: I wrote a.
              conclude
                + decision/patch_set
                + decision/deciding
                + decision/left
                + decision/decided commit
                + decision/run
            show verdict
                commit: dddddddddddddddddddddddddddddddddddddddd
                by made-up/parrot
                because I wrote a.
                approved by system
                evidence 0
            show commit
                write a

                I wrote a.
        "#]],
    );
}

#[test]
fn a_verdict_says_that_everything_was_allowed_if_it_was() {
    check(
        r#"
        folder
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: I wrote a.
        hush
        > write a
        show verdict
        "#,
        expect![[r#"
            show verdict
                other: applied
                by made-up/parrot
                because I wrote a.
                approved by system
                evidence 0
        "#]],
    );
}

#[test]
fn a_verdict_says_that_a_person_approved() {
    check(
        r#"
        folder
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: I wrote a.
        hush
        > write a
        approve p1 fine
        resume
        show verdict
        "#,
        expect![[r#"
            show verdict
                other: applied
                by made-up/parrot
                because I wrote a.
                approved by human
                evidence 0
        "#]],
    );
}

#[test]
fn a_verdict_names_nobody_where_nothing_was_applied() {
    check(
        r#"
        folder
        model: Nothing to do.
        hush
        > think
        show verdict
        "#,
        expect![[r#"
            show verdict
                other: answered
                by made-up/parrot
                because Nothing to do.
                evidence 0
        "#]],
    );
}

#[test]
fn the_words_of_a_model_are_no_trailers_and_move_no_terminal() {
    check(
        "
        commits
        approval always
        model: edit c1 {\"path\":\"a\"}
        propose c1 a = new
        model: Done\u{1b}[31m\u{202e}.\r\\n\\nSigned-off-by: Somebody <s@example.org>\\nTrunkline-Decision : 1
        hush
        > write\u{7} a
        show commit
        ",
        expect![[r#"
            show commit
                write a

                Done[31m.

                 Signed-off-by: Somebody <s@example.org>
                 Trunkline-Decision : 1
        "#]],
    );
}
