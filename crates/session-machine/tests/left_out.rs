//! What the model or a rule leaves out of requests: what it does to the size of a prompt, and who is told.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_is_left_out_of_requests_is_no_reason_to_compact() {
    let long = "0123456789".repeat(300);
    // What a play does not know is to compact: it stops there.
    check(
        &format!(
            r#"
        reverts off
        may prune
        window 600
        hush
        result a = {long}
        model: read a {{"path":"a"}}
        model: prune_result b {{"results":["n3"]}}
        model: read c {{"path":"c"}}
        model: read d {{"path":"d"}}
        model: Done.
        > look
        tell
        show verdict
        "#
        ),
        expect![[r#"
            show verdict
                other: answered
                by made-up/parrot
                because Done.
                evidence 0
        "#]],
    );
}

#[test]
fn a_result_whose_tool_is_gone_is_said_to_be_that() {
    let long = "0123456789".repeat(50);
    check(
        &format!(
            r#"
        reverts off
        may prune
        hush
        result a = {long}
        model: read a {{"path":"a"}}
        model: Done.
        > look
        without tools
        model: prune_result b {{"results":["n3"]}}
        tell
        > again
        "#
        ),
        expect![[r#"
            > again
                + n5 under n4 person: again
                + decision/opened
                + decision/run
              request
                + n6 under n5 model: prune_result b
              settle
                + n7 under n6 harness: b: pruning refused: n3 cannot be left out: its tool is no longer available, so it is not known what it did; there is no result that could be left out now
                + revert/pruned
              request
                the model has no more answers
        "#]],
    );
}

#[test]
fn a_request_of_which_the_reply_has_only_a_part_is_recorded_whatever_it_asks_for() {
    check(
        r#"
        reverts off
        may go
        may merge
        may prune
        limit: return_to_branch a {"branch":"n
        limit: merge_left_branch b {"branches":["n
        limit: prune_result c {"results":["n
        limit: recall_result d {"result":"n
        model: Done.
        > look
        "#,
        expect![[r#"
            > look
                + n1 under n0 person: look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: return_to_branch a
              answer a "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
                + revert/unread
              settle
                + n3 under n2 harness: a: not run: the reply ended in the middle of this call; write less at once and call again
              request
                + n4 under n3 model: merge_left_branch b
              answer b "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
                + revert/merge_refused
              settle
                + n5 under n4 harness: b: not run: the reply ended in the middle of this call; write less at once and call again
              request
                + n6 under n5 model: prune_result c
              answer c "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
                + revert/pruned
              settle
                + n7 under n6 harness: c: not run: the reply ended in the middle of this call; write less at once and call again
              request
                + n8 under n7 model: recall_result d
              answer d "not run: the reply ended in the middle of this call; write less at once and call again"
                + runtime/call_finished
              settle
                + n9 under n8 harness: d: not run: the reply ended in the middle of this call; write less at once and call again
              request
                + n10 under n9 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}
