//! What a request to end a run is held to: bounds, its time, where it stands, and what a person says in between.

use expect_test::expect;

use crate::close_requests::ask;
use crate::play::check;

#[test]
fn a_task_is_tried_again_as_often_as_it_may_be_and_is_never_done_by_it() {
    check(
        concat!(
            "closes\nrule allow tool request_decision\nhush\ntask Clean up\nbound retries 2\n",
            "model: ",
            ask!("retry", "c1"),
            "\nmodel: ",
            ask!("retry", "c2"),
            "\nmodel: ",
            ask!("retry", "c3"),
            "\nmodel: ",
            ask!("checkpoint", "c4"),
            "\n> do it\nshow results\nshow task\nmodel: ",
            ask!("abandon", "c5"),
            "\nresume\nshow verdict\nshow task"
        ),
        expect![[r#"
            rule allow tool request_decision
                + resolve/rule
            show results
                A rule of the person you work for approved it: another run tries again.
                A rule of the person you work for approved it: another run tries again.
                not asked: the task "Clean up" has used all of its retries (2); allow more, or abandon the run
                A rule of the person you work for approved it: the run is put down here.
            show task
                Clean up running, retries 2
            show verdict
                abandon: because of this
                by made-up/parrot
                approved by system
                evidence 0
            show task
                Clean up failed, retries 2
        "#]],
    );
}

#[test]
fn without_a_task_it_is_tried_again_five_times_in_a_row_and_after_words_of_a_person_again() {
    check(
        concat!(
            "closes\nrule allow tool request_decision\nhush\n7 times model: ",
            ask!("retry", "c1"),
            "\nmodel: done\n> do it\nshow results\nshow verdict\nmodel: ",
            ask!("retry", "c2"),
            "\nmodel: done\n> once more\nshow verdict\nshow decisions"
        ),
        expect![[r#"
            rule allow tool request_decision
                + resolve/rule
            show results
                A rule of the person you work for approved it: another run tries again.
                A rule of the person you work for approved it: another run tries again.
                A rule of the person you work for approved it: another run tries again.
                A rule of the person you work for approved it: another run tries again.
                A rule of the person you work for approved it: another run tries again.
                not asked: the run was tried again 5 times in a row because its model asked for it, which is as often as it may be; say in words what stands in the way, or ask to abandon it
                not asked: the run was tried again 5 times in a row because its model asked for it, which is as often as it may be; say in words what stands in the way, or ask to abandon it
            show verdict
                other: answered
                by made-up/parrot
                because done
                evidence 0
            show verdict
                other: answered
                by made-up/parrot
                because done
                evidence 0
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 applied, decided by policy r1: allowed by r1
                p3 applied, decided by policy r1: allowed by r1
                p4 applied, decided by policy r1: allowed by r1
                p5 applied, decided by policy r1: allowed by r1
                p6 applied, decided by policy r1: allowed by r1
        "#]],
    );
}

#[test]
fn a_bound_that_is_lowered_meanwhile_is_held_to_whoever_approves() {
    check(
        concat!(
            "closes\ntask Clean up\nhush\nmodel: ",
            ask!("retry", "c1"),
            "\nmodel: done\n> do it\ntell\nbound retries 0\napprove p1\nhush\nresume\nshow results\nshow decisions\nshow task"
        ),
        expect![[r#"
            task Clean up
                + decision/intent
                + decision/task
            bound retries 0
                + decision/task_bounds
            approve p1
                the task "Clean up" has used all of its retries (0); allow more, or abandon the run
            show results
                not done: the task "Clean up" has used all of its retries (0); allow more, or abandon the run
            show decisions
                p1 superseded
            show task
                Clean up running, retries 0
        "#]],
    );
}

#[test]
fn one_that_is_past_its_time_left_or_cancelled_ends_nothing() {
    check(
        concat!(
            "closes\noffers 10 s\nhush\nmodel: ",
            ask!("retry", "c1"),
            "\nmodel: ",
            ask!("retry", "c2"),
            "\nmodel: ",
            ask!("retry", "c3"),
            "\nmodel: done\n> do it\npass 11 s\nresume\napprove p1\ncancel\nresume\nback n1 no\nresume\nshow results\nshow decisions\nshow verdict"
        ),
        expect![[r#"
            show results
            show decisions
                p1 expired
                p2 superseded
                p3 superseded
            show verdict
                other: answered
                by made-up/parrot
                because done
                evidence 0
        "#]],
    );
}

#[test]
fn what_was_approved_is_done_where_it_stands_and_words_of_a_person_come_before_it() {
    // Killed between the approval and the end: whoever goes on elsewhere is not held to it, and it counts again where it stands.
    check(
        concat!(
            "closes\nhush\nmodel: ",
            ask!("checkpoint", "c1"),
            "\n> do it\napprove p1\nback n1 no\ntell\ncancel\nundo\nresume\nshow verdict"
        ),
        expect![[r#"
            cancel
              rest
            undo
                + head to n3
                + revert/note
            resume
              close as asked
                + decision/decided checkpoint
                + decision/run
            show verdict
                checkpoint: because of this
                by made-up/parrot
                approved by human
                evidence 0
        "#]],
    );
    check(
        concat!(
            "closes\nhush\nmodel: ",
            ask!("abandon", "c1"),
            "\nmodel: done\n> do it\napprove p1\nback n1 no\nundo\ntell\n> go on\nshow verdict"
        ),
        expect![[r#"
            > go on
                + n4 under n3 person: go on
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show verdict
                other: answered
                by made-up/parrot
                because done
                evidence 0
        "#]],
    );
}

#[test]
fn an_approval_is_taken_once_and_other_words_only_of_a_request() {
    check(
        concat!(
            "closes\nmodel: ",
            ask!("abandon", "c1"),
            "\nhush\n> do it\ntell\nedit p1 Greet\\n1. loudly\nreword p1  \nreword p1 other words\nreword p1 other words\napprove p1\ndiscard p1 no\n",
            "resume\nshow verdict"
        ),
        expect![[r#"
            edit p1 Greet\n1. loudly
                a changed text can only be given when approving a plan; p1 was not changed
            reword p1
                a verdict needs words, and these are blank
            reword p1 other words
                + resolve/event p1 approved
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/close_approved
                + runtime/call_finished
            reword p1 other words
            approve p1
                p1 was approved already, in other words
            discard p1 no
                p1 was already approved by person; it is applied
            resume
              close as asked
                + n3 under n2 tool: c1: A person approved it in other words, which count: the run is given up. /  / other words
                + decision/decided abandon
                + decision/run
            show verdict
                abandon: other words
                by made-up/parrot
                approved by human
                evidence 0
        "#]],
    );
}

#[test]
fn a_session_without_it_has_no_tool_and_one_that_waits_is_decided_by_whoever_goes_on() {
    check(
        concat!(
            "hush\nmodel: ",
            ask!("abandon", "c1"),
            "\nmodel: done\n> do it\nshow tools\nshow results\nshow verdict"
        ),
        expect![[r#"
            show tools
                edit, read, shell
            show results
                not run: there is no tool "request_decision"; there are: edit, read, shell
            show verdict
                other: answered
                by made-up/parrot
                because done
                evidence 0
        "#]],
    );
    check(
        concat!(
            "closes\nhush\nmodel: ",
            ask!("abandon", "c1"),
            "\n> do it\ncloses off\nresume\napprove p1\nresume\nshow verdict"
        ),
        expect![[r#"
            show verdict
                abandon: because of this
                by made-up/parrot
                approved by human
                evidence 0
        "#]],
    );
}

#[test]
fn in_a_run_that_needs_a_plan_a_rule_decides_nothing() {
    check(
        concat!(
            "closes\nplans\nrule allow tool request_decision\nhush\nmodel: ",
            ask!("abandon", "c1"),
            "\n> do it\nshow decisions\napprove p1\nresume\nshow verdict"
        ),
        expect![[r#"
            rule allow tool request_decision
                + resolve/rule
            show decisions
                p1 proposed
            show verdict
                abandon: because of this
                by made-up/parrot
                approved by human
                evidence 0
        "#]],
    );
}

#[test]
fn where_the_files_cannot_be_looked_at_the_run_stays_open_and_can_be_abandoned() {
    check(
        concat!(
            "closes\nhush\npropose c1 a = new\nmodel: edit c1 {\"path\":\"a\"}; ",
            ask!("checkpoint", "c2"),
            "\nmodel: ",
            ask!("checkpoint", "c3"),
            "\n> do it\napprove p1\nresume\napprove p2\ntell\nresume\nresume\nclose abandon it cannot be looked at\nshow verdict"
        ),
        expect![[r#"
            resume
              close as asked
                the workspace cannot be used
            resume
              close as asked
                the workspace cannot be used
            close abandon it cannot be looked at
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 tool: c2: A person approved it: the run is put down here.
                + n5 under n4 harness: A person approved p1, and it was applied. written
                + resolve/told
                + decision/decided abandon
                + decision/run
            show verdict
                abandon: it cannot be looked at
                by user
                because what the run has changed is not known: the session was opened without its folder
                approved by human
                evidence 0
        "#]],
    );
}
