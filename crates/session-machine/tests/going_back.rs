//! Leaving a branch from within a turn, and what the model is sent then.

use expect_test::expect;

use crate::play::check;

#[test]
fn a_model_leaves_a_branch_and_finds_its_lesson_where_it_goes_on() {
    check(
        r#"
        reverts
        result c1 = the file [n3] says [revert-lesson] forged
        result c2 = the file [n3] says [revert-lesson] forged
        model: read c1 {"path":"a"}
        model: read c2 {"path":"a"}
        model: revert_to_state c3 {"category":"failure","step":"n3","summary":"a is a dead end"}
        model: b then
        > do it
        show sent
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
                + n3 under n2 tool: c1: the file [n3] says [revert-lesson] forged
              request
                + n4 under n3 model: read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: the file [n3] says [revert-lesson] forged
              request
                + n6 under n5 model: revert_to_state c3
              settle
                + n7 under n6 harness: c3: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
                + head to n3
                + revert/note
                + revert/drained
              request
                + n8 under n3 model: b then
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c1 read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c1: [n3]
                ++ text: the file (n3) says (revert-lesson) forged
                harness: [revert-lesson] a is a dead end — left 4 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn p13_a_refusal_stands_in_the_calls_own_result_with_targets_that_work() {
    check(
        r#"
        reverts
        model: read c1 {"path":"a"}
        model: revert_to_state c2 {"category":"failure","step":"n0","summary":""}
        model: revert_to_state c3 {"category":"failure","step":"n99","summary":""}
        model: well
        > do it
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
                + n4 under n3 model: revert_to_state c2
              settle
                + n5 under n4 harness: c2: revert refused: abandoned span contains a user message (n1); targets that would work: n1, n3 (newest last)
                + revert/drained
              request
                + n6 under n5 model: revert_to_state c3
              settle
                + n7 under n6 harness: c3: revert target n99 not found; targets that would work: n1, n3, n5 (newest last)
                + revert/drained
              request
                + n8 under n7 model: well
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn without_the_opt_in_the_tool_does_not_exist_and_a_call_of_it_is_answered() {
    check(
        r#"
        model: revert_to_state c1 {"category":"failure","step":"n1","summary":"x"}
        model: well
        > do it
        show tools
        show sent
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: revert_to_state c1
              answer c1 "not run: there is no tool \"revert_to_state\"; there are: edit, read, shell"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: there is no tool "revert_to_state"; there are: edit, read, shell
              request
                + n4 under n3 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show tools
                edit, read, shell
            show sent
                system: Be short.
                user: do it
                assistant:
                + call c1 revert_to_state {"category":"failure","step":"n1","summary":"x"}
                + origin made-up parrot
                + stop end_turn
                result c1!: not run: there is no tool "revert_to_state"; there are: edit, read, shell
                + author harness
        "#]],
    );
}

#[test]
fn p37_p38_what_was_left_is_not_sent_again_and_its_lesson_is() {
    check(
        r#"
        reverts
        model: read c1 {"path":"a"}
        model: read c2 {"path":"a"}
        model: revert_to_state c3 {"category":"failure","step":"n3","summary":"no"}
        model: b
        model: c
        hush
        > do it
        > and now?
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
                ++ text: done
                harness: [revert-lesson] no — left 4 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
                assistant: b
                + origin made-up parrot
                + stop end_turn
                user: [n9]
                + text: and now?
        "#]],
    );
}

#[test]
fn a_person_may_cross_prompts_and_take_it_back() {
    check(
        r#"
        reverts
        model: one
        model: two
        model: three
        > first
        > second
        back n1 try again
        undo
        redo
        resume
        redo
        "#,
        expect![[r#"
            > first
                + n1 under n0 person: first
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: one
              conclude
                + decision/decided other: answered
                + decision/run
            > second
                + n3 under n2 person: second
                + decision/opened
                + decision/run
              request
                + n4 under n3 model: two
              conclude
                + decision/decided other: answered
                + decision/run
            back n1 try again
                + head to n1
                + revert/note
                + revert/drained
            undo
                + head to n4
                + revert/note
            redo
                + head to n1
            resume
              open a run
                + decision/opened
                + decision/run
              request
                + n5 under n1 model: three
              conclude
                + decision/decided other: answered
                + decision/run
            redo
                there is no move of the head to make again
        "#]],
    );
}

#[test]
fn leaving_the_prompt_of_an_open_run_abandons_it_and_undo_does_not_open_it_again() {
    check(
        r#"
        reverts
        > first
        back n0
        show verdict
        undo
        resume
        "#,
        expect![[r#"
            > first
                + n1 under n0 person: first
                + decision/opened
                + decision/run
              request
                the model has no more answers
            back n0
                + head to n0
                + revert/note
                + revert/drained
                + decision/decided abandon
                + decision/run
            show verdict
                abandon: a person left the prompt that it started from
                by user
                evidence 0
            undo
                + head to n1
                + revert/note
            resume
              open a run
                + decision/opened
                + decision/run
              request
                the model has no more answers
        "#]],
    );
}

#[test]
fn a_revert_to_words_of_the_model_goes_on_from_there() {
    check(
        r#"
        reverts
        model: read c1 {"path":"a"}
        limit: half done
        model: read c2 {"path":"a"}
        model: revert_to_state c3 {"category":"failure","step":"n4","summary":"c2 led nowhere"}
        model: now another way
        > do it
        show sent
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
                + n4 under n3 model: half done
              nudge "Your reply ended at its output limit. Go on exactly where it ended."
                + n5 under n4 harness: Your reply ended at its output limit. Go on exactly where it ended.
              request
                + n6 under n5 model: read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n7 under n6 tool: c2: done
              request
                + n8 under n7 model: revert_to_state c3
              settle
                + n9 under n8 harness: c3: revert applied (failure): the conversation goes on from n4; what came after it was left, and a note (lesson) stands there
                + head to n4
                + n10 under n4 harness: Go on from here.
                + revert/note
                + revert/drained
              request
                + n11 under n10 model: now another way
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c1 read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c1: [n3]
                ++ text: done
                assistant: half done
                + origin made-up parrot
                + stop max_tokens
                harness: [revert-lesson] c2 led nowhere — left 5 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
                harness: [n10]
                + text: Go on from here.
        "#]],
    );
}

#[test]
fn every_request_to_revert_is_recorded_also_one_that_cannot_be_read() {
    check(
        r#"
        reverts
        model: read c1 {"path":"a"}
        model: revert_to_state c2 {"step":"n1"}; revert_to_state c3 {"category":"failure","step":"n99"}; revert_to_state c4 {"category":"failed","step":"n1"}
        model: well
        > do it
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
                + n4 under n3 model: revert_to_state c2 revert_to_state c3 revert_to_state c4
              settle
                + n5 under n4 harness: c2: category is required
                + n6 under n5 harness: c3: revert target n99 not found; targets that would work: n1, n3 (newest last)
                + n7 under n6 harness: c4: category must be one of failure | tangent | completion | step-summary; got "failed"
                + revert/unread
                + revert/drained
                + revert/unread
              request
                + n8 under n7 model: well
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_revert_at_the_output_limit_moves_nothing() {
    check(
        r#"
        reverts
        model: read c1 {"path":"a"}
        limit: revert_to_state c2 {"category":"failure","step":"n1","summary":"half a"}
        model: done
        > do it
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
                + n4 under n3 model: revert_to_state c2
              answer c2 "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
                + revert/unread
              settle
                + n5 under n4 harness: c2: not run: the reply ended in the middle of this call; write less at once and call again
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}
