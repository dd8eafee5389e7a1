//! Row A3 within one message: words and reasoning stand before the calls, so that results follow these directly.

use expect_test::expect;
use trunkline_sanitize::WireRules;

use crate::check::{check, check_legal};

const SPLIT: &str = "user: look
    assistant:
    + call aaaaaaaa1 ls {}
    assistant: one moment
    result aaaaaaaa1: a b";

#[test]
fn a3_where_messages_are_joined_words_go_before_the_calls() {
    check(
        &WireRules::anthropic(),
        SPLIT,
        expect![[r#"
        ?? message 1 block 0: call "aaaaaaaa1" has no result next to it
        ?? message 3 block 0: result "aaaaaaaa1" has no call next to it
        user: look
        assistant: one moment
        + call aaaaaaaa1 ls {}
        result aaaaaaaa1: a b
        -- joined assistant message to the one before
    "#]],
    );
}

#[test]
fn a3_the_same_on_every_wire_that_joins_them() {
    for name in WireRules::NAMES {
        let rules = WireRules::named(name).expect("a known name");
        let list = trunkline_message_tree::notation::parse(SPLIT).expect("the input of a test is notation");
        let facts = trunkline_sanitize::RequestFacts::default();
        let sanitized = trunkline_sanitize::sanitize(&list, &rules, &facts);
        for message in sanitized.messages.iter() {
            let mut called = false;
            for block in &message.content {
                let is_call = block.as_call().is_some();
                assert!(is_call || !called, "{name}: words behind a call in {message:?}");
                called |= is_call;
            }
        }
    }
}

#[test]
fn a3_reasoning_and_the_words_of_several_messages_keep_their_order() {
    check(
        &WireRules::anthropic(),
        "user: look
         assistant:
         + thinking sig1: first
         + call c1 ls {}
         assistant:
         + thinking sig2: second
         + text: one moment
         + call c2 ls {}
         assistant: and another
         result c1: a
         result c2: b",
        expect![[r#"
            ?? message 1 block 1: call "c1" has no result next to it
            ?? message 2 block 2: call "c2" has no result next to it
            ?? message 4 block 0: result "c1" has no call next to it
            ?? message 5 block 0: result "c2" has no call next to it
            user: look
            assistant:
            + thinking sig1: first
            + thinking sig2: second
            + text: one moment
            + text: and another
            + call c1 ls {}
            + call c2 ls {}
            result c1: a
            result c2: b
            -- joined assistant message to the one before
            -- joined assistant message to the one before
        "#]],
    );
}

#[test]
fn a3_the_halves_of_a_providers_pair_stay_together_when_messages_are_joined() {
    check(
        &WireRules::anthropic(),
        r#"user: look
         assistant:
         + call c1 ls {}
         assistant:
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         + server-result s1 {"type":"web_search_tool_result"}
         + text: found
         result c1: a"#,
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 3 block 0: result "c1" has no call next to it
            user: look
            assistant:
            + server-call s1 {"type":"server_tool_use","id":"s1"}
            + server-result s1 {"type":"web_search_tool_result"}
            + text: found
            + call c1 ls {}
            result c1: a
            -- joined assistant message to the one before
        "#]],
    );
}

#[test]
fn a3_words_behind_a_call_are_taken_as_they_stand() {
    let input = "user: look
         assistant:
         + call c1 ls {}
         + text: one moment
         result c1: a b";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_responses(), input);
}

#[test]
fn a3_but_not_where_a_service_wants_results_directly_behind_the_calls() {
    check(
        &WireRules::anthropic_strict(),
        "user: look
         assistant:
         + call c1 ls {}
         + text: one moment
         + call c2 ls {}
         result c1: a
         result c2: b",
        expect![[r#"
            ?? message 1 block 1: words stand between call "c1" and its result
            user: look
            assistant: one moment
            + call c1 ls {}
            + call c2 ls {}
            result c1: a
            result c2: b
            -- moved calls (2) behind the words of their message: results must follow them
        "#]],
    );
}

#[test]
fn b1_users_that_are_joined_keep_their_results_in_front() {
    check(
        &WireRules::anthropic_strict(),
        "user: look
         assistant:
         + call c1 ls {}
         user: still there?
         result c1: a b
         user: well?",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 3: same role as the message before
            ?? message 3 block 0: result "c1" has no call next to it
            user: look
            assistant:
            + call c1 ls {}
            result c1: a b
            user: still there?
            + text: well?
            -- moved result c1: not next to its call
            -- joined user message to the one before
        "#]],
    );
}
