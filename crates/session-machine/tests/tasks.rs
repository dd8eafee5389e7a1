//! Intents and tasks: what is recorded of them, and what they keep a session from.

use expect_test::expect;

use crate::play::check;

#[test]
fn the_first_prompt_is_the_intent_and_later_runs_are_for_it_too() {
    check(
        r#"
        intents
        model: Yes.
        > can you?
        model: Done.
        > then do it
        "#,
        expect![[r#"
            > can you?
                + n1 under n0 person: can you?
                + decision/intent
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: Yes.
              conclude
                + decision/decided other: answered
                + decision/run
            > then do it
                + n3 under n2 person: then do it
                + decision/opened
                + decision/run
              request
                + n4 under n3 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_task_is_tried_again_as_often_as_it_may_be() {
    check(
        r#"
        task write a
        bound retries 1
        hush
        > go
        tell
        close retry otherwise
        close retry and again
        bound retries 2
        close retry and again
        "#,
        expect![[r#"
            task write a
                + decision/intent
                + decision/task
            bound retries 1
                + decision/task_bounds
            close retry otherwise
                + n2 under n1 person: otherwise
                + decision/decided retry
                + decision/run
                + decision/opened
                + decision/run
            close retry and again
                the task "write a" has used all of its retries (1); allow more, or abandon the run
            bound retries 2
                + decision/task_bounds
            close retry and again
                + n3 under n2 person: and again
                + decision/decided retry
                + decision/run
                + decision/opened
                + decision/run
        "#]],
    );
}

#[test]
fn what_is_given_up_fails_its_task_and_the_next_prompt_wants_something_new() {
    check(
        r#"
        hush
        intents
        task write a
        > go
        tell
        close abandon it cannot be done
        done it is
        task write b
        hush
        > go on
        show family
        "#,
        expect![[r#"
            close abandon it cannot be done
                + decision/decided abandon
                + decision/run
            done it is
                the task "write a" has ended already: it is failed
            task write b
                + decision/intent
                + decision/task
            show family
                  2 intent 1: analysis_frames=[] parents=[] prompt=write a version=1
                  3 task 1: acceptance_criteria=[] constraints=[] dependencies=[] intent=intent 1 requester={"id":"user","kind":"human"} title=write a version=1
                  3 task_event 1: state=created task=task 1 version=1
                  5 run 1: goal=go intent=intent 1 task=task 1 version=1
                  5 run_event 1: run=run 1 state=created version=1
                  5 task_event 2: run=run 1 state=running task=task 1 version=1
                  7 decision 1: considered=[] evidence=[] run=run 1 verdict={"kind":"abandon","reason":"it cannot be done"} version=1
                  7 run_event 2: reason=it cannot be done run=run 1 state=failed version=1
                  7 task_event 3: reason=it cannot be done run=run 1 state=failed task=task 1 version=1
                  7 intent_event 1: intent=intent 1 kind=cancelled reason=it cannot be done version=1
                  9 intent 2: analysis_frames=[] parents=["intent 1"] prompt=write b version=1
                 10 task 2: acceptance_criteria=[] constraints=[] dependencies=[] intent=intent 2 requester={"id":"user","kind":"human"} title=write b version=1
                 10 task_event 4: state=created task=task 2 version=1
                 12 run 2: goal=go on intent=intent 2 task=task 2 version=1
                 12 run_event 3: run=run 2 state=created version=1
                 12 task_event 5: run=run 2 state=running task=task 2 version=1
        "#]],
    );
}

#[test]
fn an_answer_leaves_the_task_open_and_a_second_one_is_refused() {
    check(
        r#"
        intents
        task write a
        model: I did it.
        > go
        task write b
        drop
        done
        done
        "#,
        expect![[r#"
            task write a
                + decision/intent
                + decision/task
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: I did it.
              conclude
                + decision/decided other: answered
                + decision/run
            task write b
                the session has a task already, "write a"; end it as done, or drop it, first
            drop
                say why the task is not wanted any more
            done
                + decision/task_ended
            done
                the task "write a" has ended already: it is done
        "#]],
    );
}

#[test]
fn a_task_that_nothing_was_done_for_can_only_be_dropped() {
    check(
        r#"
        task write a
        done
        drop another way was found
        task
        "#,
        expect![[r#"
            task write a
                + decision/intent
                + decision/task
            done
                no run has worked on this task yet, so it cannot be marked done; drop it if it is no longer wanted
            drop another way was found
                + decision/task_ended
            task
                a task has a title
        "#]],
    );
}

#[test]
fn a_task_whose_run_is_open_does_not_end() {
    check(
        r#"
        hush
        task write a
        > go
        tell
        done
        "#,
        expect![[r#"
            done
                a run of the task is open: let it end, or close it, first
        "#]],
    );
}

#[test]
fn answers_are_counted_over_all_runs_of_a_task() {
    check(
        r#"
        task write a
        bound turns 2
        hush
        model: One.
        > go
        tell
        model: read c1 {"path":"a"}
        model: Never.
        > go on
        bound turns 3
        resume
        "#,
        expect![[r#"
            task write a
                + decision/intent
                + decision/task
            bound turns 2
                + decision/task_bounds
            > go on
                + n3 under n2 person: go on
                + decision/opened
                + decision/run
              request
                + n4 under n3 model: read c1
              run read c1
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c1: done
              stop at the limit of turns of the task
            bound turns 3
                + decision/task_bounds
            resume
              request
                + n6 under n5 model: Never.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_run_of_another_task_goes_on_from_no_checkpoint() {
    check(
        r#"
        hush
        intents
        task write a
        > go
        close checkpoint half of it
        drop not wanted any more
        task write b
        > go on
        show family
        "#,
        expect![[r#"
            show family
                  2 intent 1: analysis_frames=[] parents=[] prompt=write a version=1
                  3 task 1: acceptance_criteria=[] constraints=[] dependencies=[] intent=intent 1 requester={"id":"user","kind":"human"} title=write a version=1
                  3 task_event 1: state=created task=task 1 version=1
                  5 run 1: goal=go intent=intent 1 task=task 1 version=1
                  5 run_event 1: run=run 1 state=created version=1
                  5 task_event 2: run=run 1 state=running task=task 1 version=1
                  7 decision 1: considered=[] evidence=[] run=run 1 verdict={"checkpoint":"half of it","kind":"checkpoint","state":{"node":"n1","not_kept":"the session was opened without its folder"}} version=1
                  7 run_event 2: run=run 1 state=checkpointed version=1
                  7 context_frame 1: kind=checkpoint run=run 1 summary=half of it version=1
                  9 task_event 3: reason=not wanted any more state=cancelled task=task 1 version=1
                  9 intent_event 1: intent=intent 1 kind=cancelled reason=not wanted any more version=1
                 10 intent 2: analysis_frames=[] parents=["intent 1"] prompt=write b version=1
                 11 task 2: acceptance_criteria=[] constraints=[] dependencies=[] intent=intent 2 requester={"id":"user","kind":"human"} title=write b version=1
                 11 task_event 4: state=created task=task 2 version=1
                 13 run 2: goal=go on intent=intent 2 task=task 2 version=1
                 13 run_event 3: run=run 2 state=created version=1
                 13 task_event 5: run=run 2 state=running task=task 2 version=1
        "#]],
    );
}
