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
