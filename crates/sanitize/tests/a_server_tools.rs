//! Family A, row A24: calls that the provider runs itself, and their results.

use expect_test::expect;
use trunkline_sanitize::WireRules;

use crate::check::{check, check_legal};

#[test]
fn a24_a_server_result_answers_within_one_run_of_the_assistants_messages() {
    check_legal(
        &WireRules::anthropic(),
        r#"user: search
         assistant:
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         + stop pause
         assistant:
         + server-result s1 {"type":"web_search_tool_result"}
         + text: found
         user: well?"#,
    );
}

#[test]
fn a24_a_server_result_after_words_of_the_user_is_dropped() {
    check(
        &WireRules::anthropic(),
        r#"user: search
         assistant: I search
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         user: well?
         assistant: found
         + server-result s1 {"type":"web_search_tool_result"}
         user: and?"#,
        expect![[r#"
            ?? message 1 block 1: server call is foreign or incomplete
            ?? message 3 block 1: server result is foreign or incomplete
            user: search
            assistant: I search
            user: well?
            assistant: found
            user: and?
            -- dropped server call: incomplete
            -- dropped server result: incomplete
        "#]],
    );
}

#[test]
fn a24_what_one_provider_ran_does_not_go_to_another() {
    check(
        &WireRules::openai_chat(),
        r#"user: search
         assistant:
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         + server-result s1 {"type":"web_search_tool_result"}
         + text: found
         user: well?"#,
        expect![[r#"
            ?? message 1 block 0: server call is foreign or incomplete
            ?? message 1 block 1: server result is foreign or incomplete
            user: search
            assistant: found
            user: well?
            -- dropped server call: belongs to another provider or model
            -- dropped server result: belongs to another provider or model
        "#]],
    );
}

const FETCH: &str = r#"user: fetch and list
    assistant: both at once
    + server-call s1 {"type":"server_tool_use","id":"s1"}
    + call c1 list {}"#;

#[test]
fn a24_results_of_our_own_tools_may_stand_between_a_server_call_and_its_result() {
    let so_far = format!("{FETCH}\nresult c1: a.rs");
    check_legal(&WireRules::anthropic(), &so_far);
    let done = r#"assistant:
         + server-result s1 {"type":"web_fetch_tool_result"}
         + text: here they are
         user: thanks"#;
    check_legal(&WireRules::anthropic(), &format!("{so_far}\n{done}"));
    let in_a_user_message = format!("{FETCH}\nuser:\n+ result c1: a.rs\n{done}");
    check_legal(&WireRules::anthropic(), &in_a_user_message);
}

#[test]
fn a24_words_beside_the_results_end_the_turn_and_the_server_call_is_dropped() {
    let input = format!(
        r#"{FETCH}
         result c1: a.rs
         user: are you there?
         assistant:
         + server-result s1 {{"type":"web_fetch_tool_result"}}
         + text: here they are
         user: thanks"#
    );
    check(
        &WireRules::anthropic(),
        &input,
        expect![[r#"
        ?? message 1 block 1: server call is foreign or incomplete
        ?? message 4 block 0: server result is foreign or incomplete
        user: fetch and list
        assistant: both at once
        + call c1 list {}
        result c1: a.rs
        user: are you there?
        assistant: here they are
        user: thanks
        -- dropped server call: incomplete
        -- dropped server result: incomplete
    "#]],
    );
}

#[test]
fn a24_a_server_call_that_never_got_its_result_is_dropped_once_the_user_speaks() {
    check(
        &WireRules::anthropic(),
        r#"user: search
         assistant: I search
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         + stop pause
         user: well?"#,
        expect![[r#"
            ?? message 1 block 1: server call is foreign or incomplete
            user: search
            assistant: I search
            + stop pause
            user: well?
            -- dropped server call: incomplete
        "#]],
    );
}

#[test]
fn a24_a_late_result_that_becomes_words_ends_the_turn_too() {
    check(
        &WireRules::anthropic(),
        r#"user: search
         assistant:
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         + stop pause
         result c9: late
         assistant:
         + server-result s1 {"type":"web_search_tool_result"}
         + text: found
         user: thanks"#,
        expect![[r#"
            ?? message 2 block 0: result "c9" has no call next to it
            user: search
            harness: result without a call (c9):\nlate
            assistant: found
            user: thanks
            -- dropped server call: incomplete
            -- dropped assistant message: empty
            -- quoted result c9: no call before it
            -- dropped server result: incomplete
        "#]],
    );
}

#[test]
fn a24_a_wire_whose_cache_can_break_here_says_so() {
    assert!(WireRules::anthropic().cache_exception().is_some_and(|why| why.starts_with("server_tools: ")));
    assert_eq!(WireRules::openai_chat().cache_exception(), None);
    assert_eq!(WireRules::openai_responses().cache_exception(), None);
}
