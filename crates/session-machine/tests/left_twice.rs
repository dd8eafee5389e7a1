//! What one batch leaves and brings back, and whose task that ends: moves of the model and of a policy, one after the other.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_a_return_brings_back_is_put_aside_again_where_a_policy_leaves_it_in_the_same_turn() {
    check(
        r#"
        reverts accept
        may go
        hush
        propose c1 a = new
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"one"}
        model: edit c1 {"path":"a"}; return_to_branch d {"branch":"n3","category":"failure","summary":"two"}
        model: read e {"path":"e"}
        tell
        model: return_to_branch f {"branch":"n6","category":"failure","summary":"three"}
        hush
        model: Done.
        > look
        tell
        show steps
        discard p1 not wanted
        "#,
        expect![[r#"
            show steps
                p0: 2 moves went to and fro between the same branches; proposed: go back to n1
                p0 accepted by Harness
            discard p1 not wanted
                cannot discard p1: it is superseded; possible now: restore
        "#]],
    );
}

#[test]
fn a_run_goes_on_where_a_return_brings_the_original_of_its_prompt_back() {
    check(
        r#"
        hush
        reverts off
        may go
        may rebase
        model: read a {"path":"a"}
        model: One.
        > first
        model: read b {"path":"b"}
        model: revert_to_state c {"category":"failure","step":"n3","summary":"no"}
        limit: half
        > second
        cancel
        may leave
        model: return_to_branch d {"branch":"n7","category":"failure","summary":"back"}
        model: Done.
        tell
        resume
        show verdict
        "#,
        expect![[r#"
            resume
              request
                + n13 under n12 model: return_to_branch d
              settle
                + n14 under n13 harness: d: return applied (failure): the conversation goes on from n9, the end of the branch that begins with n4; what came after n3 was left, and a note (lesson) stands behind n9
                + head to n9
                + revert/note
                + revert/drained
              request
                + n15 under n9 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show verdict
                other: answered
                by made-up/parrot
                because Done.
                evidence 0
        "#]],
    );
}

#[test]
fn the_task_of_a_person_goes_on_with_its_bounds_where_the_model_leaves_the_prompt() {
    check(
        r#"
        reverts off
        may leave
        task write a
        bound turns 4
        model: One.
        > first
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"no"}
        model: read c {"path":"c"}
        model: never
        hush
        > second
        tell
        show attempts
        show verdict
        show family
        "#,
        expect![[r#"
            task write a
                + decision/intent
                + decision/task
            bound turns 4
                + decision/task_bounds
            > first
                + n1 under n0 person: first
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: One.
              conclude
                + decision/decided other: answered
                + decision/run
            show attempts
            show verdict
                other: prompt_left
                by trunkline
                evidence 0
            show family
                  2 intent 1: analysis_frames=[] parents=[] prompt=write a version=1
                  3 task 1: acceptance_criteria=[] constraints=[] dependencies=[] intent=intent 1 requester={"id":"user","kind":"human"} title=write a version=1
                  3 task_event 1: state=created task=task 1 version=1
                  6 run 1: goal=first intent=intent 1 task=task 1 version=1
                  6 run_event 1: run=run 1 state=created version=1
                  6 task_event 2: run=run 1 state=running task=task 1 version=1
                  8 provenance 1: model=parrot provider=made-up run=run 1 version=1
                  9 decision 1: considered=[] evidence=[] run=run 1 verdict={"kind":"other","label":"answered","reason":"the model answered and no file was changed"} version=1
                  9 run_event 2: reason=the model answered and no file was changed run=run 1 state=completed version=1
                 12 run 2: goal=second intent=intent 1 task=task 1 version=1
                 12 run_event 3: run=run 2 state=created version=1
                 12 task_event 3: run=run 2 state=running task=task 1 version=1
                 14 provenance 2: model=parrot provider=made-up run=run 2 version=1
                 17 tool_invocation 1: args={"path":"a"} artifacts=[] call=a ended=2023-11-14T22:13:20.014Z reads=[] run=run 2 started=2023-11-14T22:13:20.013Z status=ok summary=done tool=read version=1 writes=[]
                 19 tool_invocation 2: args={"category":"failure","step":"n1","summary":"no"} artifacts=[] call=b reads=[] run=run 2 status=ok summary=revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there tool=revert_to_state version=1 writes=[]
                 21 context_frame 1: kind=error_recovery run=run 2 summary=no version=1
                 23 decision 2: considered=[] evidence=[] run=run 2 verdict={"kind":"other","label":"prompt_left","reason":"the model left the prompt that it started from"} version=1
                 23 run_event 4: reason=the model left the prompt that it started from run=run 2 state=failed version=1
                 25 run 3: goal=first intent=intent 1 task=task 1 version=1
                 25 run_event 5: run=run 3 state=created version=1
                 25 task_event 4: run=run 3 state=running task=task 1 version=1
                 27 provenance 3: model=parrot provider=made-up run=run 3 version=1
                 30 tool_invocation 3: args={"path":"c"} artifacts=[] call=c ended=2023-11-14T22:13:20.027Z reads=[] run=run 3 started=2023-11-14T22:13:20.026Z status=ok summary=done tool=read version=1 writes=[]
        "#]],
    );
}

#[test]
fn neither_does_a_step_of_a_policy_end_it_and_a_move_of_a_person_does() {
    check(
        r#"
        reverts accept
        may leave
        intents
        task write a
        hush
        model: read a {"path":"a"}
        model: One.
        > first
        model: read b {"path":"b"}
        model: revert_to_state r {"category":"failure","step":"n5","summary":"b says nothing"}
        model: read b {"path":"b"}
        model: revert_to_state r {"category":"failure","step":"n5","summary":"b says nothing"}
        model: read b {"path":"b"}
        model: revert_to_state r {"category":"failure","step":"n5","summary":"b says nothing"}
        > second
        tell
        show steps
        show verdict
        hush
        > third
        tell
        go n1
        show verdict
        "#,
        expect![[r#"
            task write a
                + decision/intent
                + decision/task
            show steps
                p0: 2 steps back in a row taught only what was known; proposed: go back to n4
                p0 accepted by Harness
            show verdict
                other: prompt_left
                by trunkline
                evidence 0
            go n1
                + head to n1
                + decision/decided abandon
                + decision/run
            show verdict
                abandon: a person left the prompt that it started from
                by user
                evidence 0
        "#]],
    );
}
