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
