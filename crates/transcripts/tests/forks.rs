//! Forks in the chain: which of them a person made.

use expect_test::expect;

use crate::claude_code::check;

#[test]
fn going_back_and_typing_something_else_is_a_branch() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        u2 < a1 user "write it in Java"
        a2 < u2 ai=m2 [{"type":"text","text":"class It"}]
        u3 < a1 user "write it in Rust"
        a3 < u3 ai=m3 [{"type":"text","text":"struct It"}]
        "#,
        expect![[r#"
            user: hi
            assistant: hello
            + origin anthropic claude-x
            user: write it in Rust
            assistant: struct It
            + origin anthropic claude-x
            == branch s1
            user: hi
            assistant: hello
            + origin anthropic claude-x
            user: write it in Java
            assistant: class It
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn a_replay_of_the_same_time_is_no_branch() {
    check(
        r#"
        u1 < - user "hi"
        u2 < u1 user "more" & {"timestamp":"2026-02-01T10:00:05.000Z"}
        u3 < u1 user "more" & {"timestamp":"2026-02-01T10:00:05.000Z"}
        a1 < u3 ai=m1 [{"type":"text","text":"hello"}]
        "#,
        expect![[r#"
            user: hi
            user: more
            assistant: hello
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn leaving_and_resuming_is_no_branch() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        x1 < a1 user "<command-name>/exit</command-name>"
        x2 < x1 assistant [{"type":"text","text":"No response requested."}]
        u2 < a1 user "I am back"
        "#,
        expect![[r#"
            user: hi
            assistant: hello
            + origin anthropic claude-x
            user: I am back
        "#]],
    );
}

#[test]
fn a_circle_of_parents_ends() {
    check(
        r#"
        u1 < u2 user "one"
        u2 < u1 user "two"
        u3 < u3 user "three"
        "#,
        expect![[r#"
            user: three
            == branch s1
            user: one
            user: two
        "#]],
    );
}

#[test]
fn a_result_that_came_late_stays_where_it_came() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{}}]
        a2 < a1 ai=m2 [{"type":"text","text":"meanwhile"}]
        r1 < a2 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        "#,
        expect![[r#"
            user: hi
            assistant:
            + call c1 Read {}
            + origin anthropic claude-x
            assistant: meanwhile
            + origin anthropic claude-x
            user:
            + result c1: one
            + author tool
        "#]],
    );
}

#[test]
fn a_result_that_was_replayed_is_taken_once() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{}}]
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        r2 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        a2 < r2 ai=m2 [{"type":"text","text":"done"}]
        "#,
        expect![[r#"
            user: hi
            assistant:
            + call c1 Read {}
            + origin anthropic claude-x
            user:
            + result c1: one
            + author tool
            assistant: done
            + origin anthropic claude-x
        "#]],
    );
}
