//! Turns: words, calls and their results, in their order; what was cut off, and what was cancelled.

use expect_test::expect;

use crate::play::check;

#[test]
fn an_answer_without_calls_ends_the_run() {
    check(
        "
        model: It is a word.
        > What is it?
        ",
        expect![[r#"
            > What is it?
                + n1 under n0 person: What is it?
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: It is a word.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn what_only_looks_runs_side_by_side_and_results_stand_in_call_order() {
    check(
        r#"
        approval always
        model: read c1 {"path":"a"}; read c2 {"path":"b"}; shell c3 {"command":"make"}; read c4 {"path":"c"}
        model: Done.
        > go
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read c1 read c2 shell c3 read c4
              run read c1, read c2
                + runtime/call_started
                + runtime/call_started
                + runtime/call_finished
                + runtime/call_finished
              run shell c3
                + runtime/call_started
                + runtime/call_finished
              run read c4
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 tool: c2: done
                + n5 under n4 tool: c3: done
                + n6 under n5 tool: c4: done
              request
                + n7 under n6 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_call_that_cannot_run_is_answered_and_the_others_run() {
    check(
        r#"
        approval always
        model: fly c1 {"to":"mars"}; read c2 {"path":"a"
        model: read c3 {"path":"a"}
        model: Done.
        > go
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: fly c1 read c2
              answer c1 "not run: there is no tool \"fly\"; there are: edit, read, shell", c2 "not run: the arguments are not a JSON object (EOF while parsing an object at line 1 column 11); received: {\"path\":\"a\""
                + runtime/call_finished
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: there is no tool "fly"; there are: edit, read, shell
                + n4 under n3 harness: c2: not run: the arguments are not a JSON object (EOF while parsing an object at line 1 column 11); received: {"path":"a"
              request
                + n5 under n4 model: read c3
              run read c3
                + runtime/call_started
                + runtime/call_finished
              settle
                + n6 under n5 tool: c3: done
              request
                + n7 under n6 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn an_answer_that_breaks_off_is_filed_and_asked_for_again() {
    check(
        r#"
        cut: I was about to
        model: Here it is.
        > go
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 filed model: I was about to
                + runtime/attempt
              wait until +503 ms
              request
                + n3 under n1 model: Here it is.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_cancelled_turn_begins_nothing_and_can_be_taken_up() {
    check(
        r#"
        model: read c1 {"path":"a"}; shell c2 {"command":"make"}
        > go
        cancel
        model: I was stopped.
        resume
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read c1 shell c2
              run read c1
                + runtime/call_started
                + runtime/call_finished
              gate c2 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            cancel
              answer c2 "not run: the turn was cancelled before this call began"
                + runtime/call_finished
                + resolve/event p1 superseded
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 harness: c2: not run: the turn was cancelled before this call began
              rest
            resume
              request
                + n5 under n4 model: I was stopped.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_model_that_says_nothing_is_told_once() {
    check(
        r#"
        model:  
        model: Now I speak.
        > go
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 filed model: 
                + n3 under n1 harness: Your last reply had no words and no tool call in it, so nothing came of it. Call a tool, or say in words what you found or what keeps you from going on.
                + runtime/attempt
              request
                + n4 under n3 model: Now I speak.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}
