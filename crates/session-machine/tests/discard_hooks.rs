//! Tools that are told when what they have staged ends without having been applied: what is told of it, and what a kill does.

use expect_test::expect;

use crate::play::check;

#[test]
fn a_discard_by_the_model_is_answered_with_what_the_tool_says() {
    check(
        r#"
        approval model
        hook edit
        hears p1 = put away
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: resolve c2 {"action":"discard","reason":"because"}
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
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: put away
              request
                + resolve/choices
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 discarded, decided by model: because
        "#]],
    );
}

#[test]
fn what_a_tool_says_may_be_a_failure_or_nothing_or_never_come() {
    check(
        r#"
        approval model
        hook edit
        hears p1 = !the lock is held
        hears p2 = crash
        model: edit c1 {"path":"a"}; edit c2 {"path":"b"}; edit c3 {"path":"c"}
        propose c1 a = new
        propose c2 b = new
        propose c3 c = new
        model: resolve c4 {"action":"discard","reason":"because","id":"p1"}; resolve c5 {"action":"discard","reason":"because","id":"p2"}; resolve c6 {"action":"discard","reason":"because","id":"p3"}
        model: done
        hush
        > do it
        tell
        show results
        "#,
        expect![[r#"
            show results
                done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                done / Staged as p2. Nothing is written yet: call `resolve` with action apply or discard and id "p2".
                done / Staged as p3. Nothing is written yet: call `resolve` with action apply or discard and id "p3".
                the lock is held
                Discarded: write b. Reason: because. Its tool did not clean up: the tool crashed.
                Discarded: write c. Reason: because
        "#]],
    );
}

#[test]
fn a_discard_by_a_person_is_told_with_what_the_tool_says() {
    check(
        r#"
        hook edit
        hears p1 = put away
        hears p2 = !the lock is held
        hears p3 = crash
        model: edit c1 {"path":"a"}; edit c2 {"path":"b"}; edit c3 {"path":"c"}; edit c4 {"path":"d"}
        propose c1 a = new
        propose c2 b = new
        propose c3 c = new
        propose c4 d = new
        model: done
        hush
        > do it
        tell
        discard p1 no
        discard p2 no
        discard p3 no
        discard p4 no
        resume
        "#,
        expect![[r#"
            discard p1 no
                + resolve/event p1 discarded
            discard p2 no
                + resolve/event p2 discarded
            discard p3 no
                + resolve/event p3 discarded
            discard p4 no
                + resolve/event p4 discarded
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
                + n7 under n6 harness: A person declined p1. put away
              call hook p2
                + resolve/discard_hook
                hook p2-end-1: discarded
                + resolve/discard_hook
                + n8 under n7 harness: A person declined p2. Its tool reports a failure: the lock is held
              call hook p3
                + resolve/discard_hook
                hook p3-end-1: discarded
                + resolve/discard_hook
                + n9 under n8 harness: A person declined p3. Discarded: write c. Reason: no. Its tool did not clean up: the tool crashed.
              call hook p4
                + resolve/discard_hook
                hook p4-end-1: discarded
                + resolve/discard_hook
                + n10 under n9 harness: A person declined p4. Discarded: write d. Reason: no
              request
                + n11 under n10 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_hook_that_a_kill_cuts_off_is_called_again_and_given_up_in_the_end() {
    check(
        r#"
        hook edit
        hears p1 = kill
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        hush
        > do it
        tell
        discard p1 no
        resume
        resume
        resume
        resume
        "#,
        expect![[r#"
            discard p1 no
                + resolve/event p1 discarded
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                killed
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                killed
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                killed
            resume
              call hook p1
                + resolve/discard_hook
                + n4 under n3 harness: A person declined p1. Discarded: write a. Reason: no. Its tool did not clean up: it was begun 3 times and never came to an end.
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_call_that_a_kill_cuts_off_in_the_hook_is_answered_with_what_the_tool_says_then() {
    check(
        r#"
        approval model
        hook edit
        hears p1 = kill
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: resolve c2 {"action":"discard","reason":"because"}
        model: done
        hush
        > do it
        tell
        hears p1 = put away
        resume
        "#,
        expect![[r#"
            resume
              resolve c2
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: put away
              request
                + resolve/choices
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn in_a_drive_that_is_cancelled_no_hook_begins_and_in_the_next_one_it_does() {
    check(
        r#"
        hook edit
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        hush
        > do it
        tell
        discard p1 no
        cancel
        resume
        "#,
        expect![[r#"
            discard p1 no
                + resolve/event p1 discarded
            cancel
              rest
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
                + n4 under n3 harness: A person declined p1. Discarded: write a. Reason: no
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_tool_that_is_not_there_is_told_later_and_the_model_at_once() {
    check(
        r#"
        hook edit
        hears p1 = put away
        model: edit c1 {"path":"a"}; edit c2 {"path":"b"}
        propose c1 a = new
        propose c2 b = new
        hush
        > do it
        tell
        without tools
        discard p1 no
        discard p2 no
        model: done
        resume
        with tools
        hook edit
        resume
        "#,
        expect![[r#"
            discard p1 no
                + resolve/event p1 discarded
                + n5 under n4 harness: A person declined p1. Discarded: write a. Reason: no
                + resolve/discard_hook
            discard p2 no
                + resolve/event p2 discarded
                + n6 under n5 harness: A person declined p2. Discarded: write b. Reason: no
                + resolve/discard_hook
            resume
              request
                + n7 under n6 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
              call hook p2
                + resolve/discard_hook
                hook p2-end-1: discarded
                + resolve/discard_hook
              rest
        "#]],
    );
}

#[test]
fn the_model_hears_of_a_discard_also_if_only_the_next_process_lacks_the_tool_or_its_hook() {
    for lacking in ["without tools", "with tools"] {
        check(
            &format!(
                "hook edit\nhears p1 = put away\nmodel: edit c1 {{\"path\":\"a\"}}\npropose c1 a = new\nhush\n> do it\n\
                 discard p1 no\ntell\n{lacking}\nmodel: done\nresume\nresume\nwith tools\nhook edit\nresume"
            ),
            expect![[r#"
                resume
                  call hook p1
                    + n4 under n3 harness: A person declined p1. Discarded: write a. Reason: no
                    + resolve/discard_hook
                  request
                    + n5 under n4 model: done
                  conclude
                    + decision/decided other: answered
                    + decision/run
                resume
                  rest
                resume
                  call hook p1
                    + resolve/discard_hook
                    hook p1-end-1: discarded
                    + resolve/discard_hook
                  rest
            "#]],
        );
    }
}

#[test]
fn a_discard_whose_call_is_open_when_the_drive_is_cancelled_calls_its_hook_in_the_next_one() {
    check(
        r#"
        approval model
        hook edit
        hears p1 = kill
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: resolve c2 {"action":"discard","reason":"because"}
        model: done
        hush
        > do it
        tell
        hears p1 = put away
        cancel
        resume
        "#,
        expect![[r#"
            cancel
              resolve c2
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: Discarded: write a. Reason: because
              rest
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
              request
                + resolve/choices
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_command_that_waits_has_no_hook_and_neither_has_a_tool_that_does_not_say_so() {
    check(
        r#"
        hook shell
        model: shell c1 {"command":"make"}; edit c2 {"path":"a"}
        propose c2 a = new
        model: done
        hush
        > do it
        tell
        discard p1 no
        resume
        discard p2 no
        resume
        "#,
        expect![[r#"
            discard p1 no
                + resolve/event p1 discarded
                + resolve/untold
            resume
              ask about p2
            discard p2 no
                + resolve/event p2 discarded
            resume
              answer c1 "not run: the person declined it: no"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: the person declined it: no
                + n4 under n3 tool: c2: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n5 under n4 harness: A person declined p1. Discarded: write a. Reason: no
                + resolve/told
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}
