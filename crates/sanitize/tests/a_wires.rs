//! Family A where wires differ: Bedrock, OpenAI Responses, Gemini, Mistral.

use expect_test::expect;
use trunkline_sanitize::WireRules;

use crate::check::{check, check_legal};

#[test]
fn a13_the_assistant_speaks_between_results_and_the_user() {
    check(
        &WireRules::bedrock(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
        expect![[r#"
            ?? message 3 block 0: the user speaks right after results
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            assistant: (results received)
            + author harness
            user: well?
            -- added assistant message: the user must not speak right after results
        "#]],
    );
}

#[test]
fn a13_words_in_the_message_of_the_results_become_a_turn_of_their_own() {
    check(
        &WireRules::bedrock(),
        "user: hi
         assistant:
         + call c1 read {}
         user:
         + result c1: 42
         + text: well?",
        expect![[r#"
            ?? message 2 block 1: the user speaks right after results
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            assistant: (results received)
            + author harness
            user: well?
            -- split results (1) off a user message
            -- added assistant message: the user must not speak right after results
        "#]],
    );
}

#[test]
fn a13_claude_takes_results_and_words_in_one_turn() {
    check_legal(
        &WireRules::bedrock_claude(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
    );
}

#[test]
fn a10_results_in_two_user_messages_come_into_one_on_bedrock() {
    check(
        &WireRules::bedrock_claude(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user:
         + result c1: 42
         user:
         + result c2: 43",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            ?? message 3: same role as the message before
            ?? message 3 block 0: result "c2" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            result c2: 43
            -- split results (1) off a user message
            -- split results (1) off a user message
        "#]],
    );
}

#[test]
fn a11_one_result_too_many_is_quoted_on_bedrock() {
    check(
        &WireRules::bedrock_claude(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         result c0: 41",
        expect![[r#"
            ?? message 3 block 0: result "c0" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            harness: result without a call (c0):\n41
            -- quoted result c0: no call before it
        "#]],
    );
}

#[test]
fn a16_a_call_without_output_gets_one_after_the_whole_turn() {
    check(
        &WireRules::openai_responses(),
        "user: hi
         assistant:
         + call c1 read {}
         assistant: I am looking
         user: well?",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            user: hi
            assistant:
            + call c1 read {}
            assistant: I am looking
            result c1!: tool call interrupted; no result was recorded
            + author harness
            user: well?
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn a17_an_output_without_a_call_is_quoted() {
    check(
        &WireRules::openai_responses(),
        "user: hi
         result c1: 42
         assistant: hello",
        expect![[r#"
            ?? message 1 block 0: result "c1" has no call next to it
            user: hi
            harness: result without a call (c1):\n42
            assistant: hello
            -- quoted result c1: no call before it
        "#]],
    );
}

#[test]
fn a17_words_between_a_call_and_its_output_do_not_part_them() {
    check_legal(
        &WireRules::openai_responses(),
        "user: hi
         assistant:
         + call c1 read {}
         + text: and while that runs
         assistant: I go on
         + call c2 read {}
         result c1: 42
         result c2: 43",
    );
}

#[test]
fn a17_nor_do_words_of_the_user_as_long_as_the_assistant_does_not_speak() {
    check_legal(
        &WireRules::openai_responses(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user: well?
         result c2: 43
         system: be brief
         user: well?
         result c1: 42
         assistant: done",
    );
    check(
        &WireRules::openai_responses(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user: well?
         result c1: 42
         assistant: done
         result c2: 43
         user: thanks",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            ?? message 5 block 0: result "c2" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            user: well?
            result c1: 42
            result c2!: tool call interrupted; no result was recorded
            + author harness
            assistant: done
            harness: late result of call c2:\n43
            user: thanks
            -- answered call c2: no result
            -- quoted result c2: later than the next answer
        "#]],
    );
}

#[test]
fn a17_a_result_in_a_user_message_becomes_an_output_where_it_stands() {
    check(
        &WireRules::openai_responses(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user: well?
         + result c1: 42
         result c2: 43",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 2 block 1: result may not stand here
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            user: well?
            result c2: 43
            -- moved result c1: not next to its call
            -- split results (1) off a user message
        "#]],
    );
}

#[test]
fn a17_a_second_result_behind_words_is_merged() {
    check(
        &WireRules::openai_responses(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?
         result c1: 43",
        expect![[r#"
            ?? message 4 block 0: call "c1" has several results
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            ++ text: 43
            user: well?
            -- merged result c1: second result
        "#]],
    );
}

#[test]
fn a19_each_call_of_a_turn_has_one_response() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 list {}
         user:
         + result c1: 42
         user: well?",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 list {}
            result c2!: tool call interrupted; no result was recorded
            + author harness
            user:
            + result c1: 42
            user: well?
            -- answered call c2: no result
        "#]],
    );
}

#[test]
fn a19_responses_in_two_turns_come_into_one() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 list {}
         user:
         + result c1: 42
         user:
         + result c2: a.rs",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            ?? message 3 block 0: result "c2" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 list {}
            result c1: 42
            result c2: a.rs
            -- split results (1) off a user message
            -- split results (1) off a user message
        "#]],
    );
}

#[test]
fn a19_responses_of_one_tool_stand_in_the_order_of_their_calls() {
    let input = r#"user: hi
         assistant:
         + call c1 read {"path":"a"}
         + call c2 list {}
         + call c3 read {"path":"b"}
         result c3: b
         result c2: a.rs
         result c1: a"#;
    check(
        &WireRules::gemini_2(),
        input,
        expect![[r#"
            ?? message 2: results are not in the order of their calls
            user: hi
            assistant:
            + call c1 read {"path":"a"}
            + call c2 list {}
            + call c3 read {"path":"b"}
            result c1: a
            result c2: a.rs
            result c3: b
            -- put results (3) in the order of their calls
        "#]],
    );
    check(
        &WireRules::ollama(),
        input,
        expect![[r#"
            ?? message 2: results are not in the order of their calls
            user: hi
            assistant:
            + call c1 read {"path":"a"}
            + call c2 list {}
            + call c3 read {"path":"b"}
            result c1: a
            result c2: a.rs
            result c3: b
            -- put results (3) in the order of their calls
        "#]],
    );
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn a19_between_tools_the_order_is_free() {
    check_legal(
        &WireRules::gemini_2(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 list {}
         result c2: a.rs
         result c1: 42",
    );
}

#[test]
fn a20_a_turn_that_calls_does_not_begin_the_history() {
    check(
        &WireRules::gemini_2(),
        "assistant:
         + call c1 read {}
         result c1: 42",
        expect![[r#"
            ?? message 0: the list does not begin with a user message
            harness: (the conversation begins here)
            assistant:
            + call c1 read {}
            result c1: 42
            -- added user message: the list must begin with one
        "#]],
    );
}

#[test]
fn a20_a_turn_that_calls_does_not_follow_another_turn_of_the_model() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant: let me look
         assistant:
         + call c1 read {}
         result c1: 42",
        expect![[r#"
            ?? message 2: same role as the message before
            user: hi
            assistant: let me look
            + call c1 read {}
            result c1: 42
            -- joined assistant message to the one before
        "#]],
    );
}

#[test]
fn a20_an_empty_turn_of_the_user_is_kept_where_it_parts_two_turns_of_the_model() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant: hello
         user:
         assistant:
         + call c1 read {}
         result c1: 42",
        expect![[r#"
            ?? message 2: message is empty
            user: hi
            assistant: hello
            harness: continue
            assistant:
            + call c1 read {}
            result c1: 42
            -- filled user message: empty
        "#]],
    );
}

#[test]
fn a20_two_turns_of_the_user_in_a_row_are_legal() {
    check_legal(
        &WireRules::gemini_2(),
        "user: hi
         user: are you there?
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
    );
}

#[test]
fn a21_a_response_moves_next_to_its_call() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant:
         + call c1 read {}
         user: well?
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 3 block 0: result "c1" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            user: well?
            -- moved result c1: not next to its call
        "#]],
    );
}

#[test]
fn a21_a_response_without_a_call_is_quoted() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant: hello
         result c1: 42",
        expect![[r#"
            ?? message 2 block 0: result "c1" has no call next to it
            user: hi
            assistant: hello
            harness: result without a call (c1):\n42
            -- quoted result c1: no call before it
        "#]],
    );
}

#[test]
fn a22_a_response_leaves_the_turn_of_its_call() {
    check(
        &WireRules::gemini_2(),
        "user: hi
         assistant:
         + call c1 read {}
         + result c1: 42
         user: well?",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 1 block 1: result may not stand here
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            user: well?
            -- moved result to tool: not allowed in assistant
        "#]],
    );
}

#[test]
fn a23_there_are_as_many_responses_as_calls() {
    check(
        &WireRules::mistral(),
        "user: hi
         assistant:
         + call aaaaaaaa1 read {}
         + call aaaaaaaa2 read {}
         result aaaaaaaa1: 42
         result aaaaaaaa1: and more",
        expect![[r#"
            ?? message 1 block 1: call "aaaaaaaa2" has no result next to it
            ?? message 3 block 0: call "aaaaaaaa1" has several results
            user: hi
            assistant:
            + call aaaaaaaa1 read {}
            + call aaaaaaaa2 read {}
            result aaaaaaaa1: 42
            ++ text: and more
            result aaaaaaaa2!: tool call interrupted; no result was recorded
            + author harness
            -- answered call aaaaaaaa2: no result
            -- merged result aaaaaaaa1: second result
        "#]],
    );
}
