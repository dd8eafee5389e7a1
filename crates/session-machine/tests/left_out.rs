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
