//! The nodes that a model may go back to, listed when it asks.

use expect_test::expect;

use crate::play::check;

#[test]
fn outlines_are_answered_by_the_harness_and_are_of_the_tree_before() {
    check(
        r#"
        reverts told
        result c1 = text of [n1] x
        result c2 = text of a
        model: read c1 {"path":"[n1] x"}
        model: read c2 {"path":"a"}
        model: list_revert_targets o {}; revert_to_state r {"category":"failure","step":"n3","summary":"no"}
        model: done
        > do it
        show notes
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
                + n3 under n2 tool: c1: text of [n1] x
                + revert/turn
              request
                + n4 under n3 model: read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: text of a
                + revert/turn
              request
                + n6 under n5 model: list_revert_targets o revert_to_state r
              settle
                + n7 under n6 harness: o: nodes that you can go back to, with what each would leave: / n1 user: do it (leaves 5 messages) / n3 results: text of (n1) x (leaves 3 messages) / n5 results: text of a (leaves 1 message)
                + n8 under n7 harness: r: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
                + head to n3
                + revert/turn
                + revert/note
                + revert/drained
              request
                + n9 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show notes
                [revert-lesson] no — left 5 messages (read)
                Reads: a
                This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn an_outline_that_the_output_limit_cut_is_refused() {
    check(
        r#"
        reverts told
        limit: list_revert_targets o {}
        model: done
        > do it
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: list_revert_targets o
              answer o "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
              settle
                + n3 under n2 harness: o: not run: the reply ended in the middle of this call; write less at once and call again
                + revert/turn
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}
