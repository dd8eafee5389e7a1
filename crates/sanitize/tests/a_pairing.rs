//! Family A, up to A8: calls and results that miss each other.

use expect_test::expect;
use trunkline_sanitize::WireRules;

use crate::check::{check, check_both, check_legal};

#[test]
fn a1_a14_a_call_without_a_result_gets_one_that_claims_nothing() {
    check_both(
        "user: hi
         assistant: let me look
         + call c1 read {}
         user: well?",
        expect![[r#"
            ?? message 1 block 1: call "c1" has no result next to it
            user: hi
            assistant: let me look
            + call c1 read {}
            result c1!: tool call interrupted; no result was recorded
            + author harness
            user: well?
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn a1_a_call_at_the_end_gets_its_result_there() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1!: tool call interrupted; no result was recorded
            + author harness
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn a2_a12_the_missing_result_of_a_batch_joins_the_others() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         result c1: 42
         user: well?",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            result c2!: tool call interrupted; no result was recorded
            + author harness
            user: well?
            -- answered call c2: no result
        "#]],
    );
}

#[test]
fn a2_it_comes_before_a_user_message_that_holds_the_others() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user:
         + result c1: 42
         + text: well?",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c2!: tool call interrupted; no result was recorded
            + author harness
            user:
            + result c1: 42
            + text: well?
            -- answered call c2: no result
        "#]],
    );
}

#[test]
fn a3_results_move_before_words_in_a_user_message() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user:
         + result c1: 42
         + text: well?
         + result c2: 43",
        expect![[r#"
            ?? message 2 block 2: result "c2" comes after other content
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            result c2: 43
            user: well?
            -- moved result c2: not next to its call
            -- split results (2) off a user message
        "#]],
    );
}

#[test]
fn a3_results_in_any_order_are_legal() {
    let input = "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         result c2: 43
         result c1: 42";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn a4_a15_a_result_without_a_call_is_quoted() {
    check_both(
        "user: hi
         assistant: hello
         result c9: 42",
        expect![[r#"
            ?? message 2 block 0: result "c9" has no call next to it
            user: hi
            assistant: hello
            harness: result without a call (c9):\n42
            -- quoted result c9: no call before it
        "#]],
    );
}

#[test]
fn a4_a_result_before_its_call_does_not_answer_it() {
    check_both(
        "user: hi
         assistant: hello
         result c1: 42
         assistant:
         + call c1 read {}
         user: well?",
        expect![[r#"
            ?? message 2 block 0: result "c1" has no call next to it
            ?? message 3 block 0: call "c1" has no result next to it
            user: hi
            assistant: hello
            harness: result without a call (c1):\n42
            assistant:
            + call c1 read {}
            result c1!: tool call interrupted; no result was recorded
            + author harness
            user: well?
            -- quoted result c1: no call before it
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn a4_a15_an_empty_result_without_a_call_is_dropped() {
    check(
        &WireRules::openai_chat(),
        "user: hi
         result c9:
         assistant: hello",
        expect![[r#"
            ?? message 1 block 0: result "c9" has no call next to it
            user: hi
            assistant: hello
            -- dropped result c9: empty, and no call before it
        "#]],
    );
}

#[test]
fn a4_a_quoted_result_keeps_its_picture() {
    check_both(
        "user: hi
         assistant: hello
         result c9!: a cat
         ++ image image/png base64 AAAA",
        expect![[r#"
            ?? message 2 block 0: result "c9" has no call next to it
            user: hi
            assistant: hello
            harness: error result without a call (c9):\na cat
            + image image/png base64 AAAA
            -- quoted result c9: no call before it
        "#]],
    );
}

#[test]
fn a5_a_result_that_comes_after_words_but_before_the_next_answer_moves_up() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         user: hurry
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 3 block 0: result "c1" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            user: hurry
            -- moved result c1: not next to its call
        "#]],
    );
}

#[test]
fn a5_a_result_that_comes_after_the_next_answer_is_quoted_where_it_arrived() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         user: hurry
         assistant: it takes long
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 4 block 0: result "c1" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1!: tool call interrupted; no result was recorded
            + author harness
            user: hurry
            assistant: it takes long
            harness: late result of call c1:\n42
            -- answered call c1: no result
            -- quoted result c1: later than the next answer
        "#]],
    );
}

#[test]
fn a6_a11_a_second_result_that_says_the_same_is_dropped() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         result c1: 42",
        expect![[r#"
            ?? message 3 block 0: call "c1" has several results
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            -- dropped result c1: same as the first
        "#]],
    );
}

#[test]
fn a6_a_second_result_that_says_more_is_merged() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         result c1!: 43",
        expect![[r#"
            ?? message 3 block 0: call "c1" has several results
            user: hi
            assistant:
            + call c1 read {}
            result c1!: 42
            ++ text: 43
            -- merged result c1: second result
        "#]],
    );
}

#[test]
fn a7_an_id_that_comes_again_gets_a_number() {
    check(
        &WireRules::anthropic_strict(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         assistant:
         + call c1 read {}
         result c1: 43
         assistant:
         + call c1 read {}
         result c1: 44",
        expect![[r#"
            ?? message 3 block 0: call id "c1" is used again
            ?? message 5 block 0: call id "c1" is used again
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            assistant:
            + call c1_2 read {}
            result c1_2: 43
            assistant:
            + call c1_3 read {}
            result c1_3: 44
            -- renamed call c1 to c1_2: id taken
            -- renamed call c1 to c1_3: id taken
        "#]],
    );
}

#[test]
fn a7_a_number_that_is_taken_is_left_out() {
    check(
        &WireRules::anthropic_strict(),
        "user: hi
         assistant:
         + call c1_2 read {}
         + call c1 read {}
         result c1: 42
         result c1_2: 42
         assistant:
         + call c1 read {}
         result c1: 43",
        expect![[r#"
            ?? message 4 block 0: call id "c1" is used again
            user: hi
            assistant:
            + call c1_2 read {}
            + call c1 read {}
            result c1: 42
            result c1_2: 42
            assistant:
            + call c1_3 read {}
            result c1_3: 43
            -- renamed call c1 to c1_3: id taken
        "#]],
    );
}

#[test]
fn a7_an_id_may_come_again_in_a_later_turn() {
    let input = "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         assistant:
         + call c1 read {}
         result c1: 43
         user: well?";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::anthropic_prefill(), input);
    check_legal(&WireRules::bedrock_claude(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn a7_a_call_that_is_said_twice_is_said_once() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         + call c1 read {}
         result c1: 42",
        expect![[r#"
            ?? message 1 block 1: call id "c1" is used again
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            -- dropped call c1: said twice
        "#]],
    );
}

#[test]
fn a7_two_calls_of_one_id_share_the_results_in_order() {
    check_both(
        r#"user: hi
         assistant:
         + call c1 read {"path":"a"}
         + call c1 read {"path":"b"}
         result c1: a is 42
         result c1: b is 43"#,
        expect![[r#"
            ?? message 1 block 1: call id "c1" is used again
            ?? message 3 block 0: call "c1" has several results
            user: hi
            assistant:
            + call c1 read {"path":"a"}
            + call c1_2 read {"path":"b"}
            result c1: a is 42
            result c1_2: b is 43
            -- renamed call c1 to c1_2: id taken
        "#]],
    );
}

#[test]
fn a7_ids_that_come_again_in_another_turn_are_legal_on_openai_chat() {
    check_legal(
        &WireRules::openai_chat(),
        "user: hi
         assistant:
         + call call_0 read {}
         result call_0: 42
         assistant:
         + call call_0 read {}
         result call_0: 43",
    );
}

#[test]
fn a8_a_result_of_an_earlier_turn_does_not_answer_a_later_call_of_the_same_id() {
    check(
        &WireRules::openai_chat(),
        "user: hi
         assistant:
         + call call_0 read {}
         result call_0: 42
         assistant:
         + call call_0 read {}
         user: well?",
        expect![[r#"
            ?? message 3 block 0: call "call_0" has no result next to it
            user: hi
            assistant:
            + call call_0 read {}
            result call_0: 42
            assistant:
            + call call_0 read {}
            result call_0!: tool call interrupted; no result was recorded
            + author harness
            user: well?
            -- answered call call_0: no result
        "#]],
    );
}
