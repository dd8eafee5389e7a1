//! Family A, from A9 on: blocks in the wrong message, batches, ids, server tools.

use expect_test::expect;
use trunkline_sanitize::WireRules;

use crate::check::{check, check_both, check_legal};

#[test]
fn a9_a_call_in_a_user_message_becomes_the_assistants() {
    check_both(
        "user: hi
         + call c1 read {}
         + text: well?",
        expect![[r#"
            ?? message 0 block 1: call may not stand here
            user: hi
            assistant:
            + call c1 read {}
            result c1!: tool call interrupted; no result was recorded
            + author harness
            user: well?
            -- moved call to assistant: not allowed in user
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn a9_a_result_in_an_assistant_message_becomes_the_tools() {
    check_both(
        "user: hi
         assistant:
         + call c1 read {}
         + result c1: 42
         + text: it is 42
         user: thanks",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 1 block 1: result may not stand here
            user: hi
            assistant:
            + call c1 read {}
            + text: it is 42
            result c1: 42
            user: thanks
            -- moved result to tool: not allowed in assistant
        "#]],
    );
}

#[test]
fn a9_words_in_a_tool_message_become_the_harnesss() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         + text: by the way
         + result c2: 43",
        expect![[r#"
            ?? message 2 block 1: text may not stand here
            ?? message 2 block 2: result "c2" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            harness: result without a call (c2):\n43
            harness: by the way
            -- moved text to user: not allowed in tool
            -- quoted result c2: no call before it
        "#]],
    );
}

#[test]
fn a9_a_picture_in_an_assistant_message_becomes_the_harnesss() {
    check_both(
        "user: draw
         assistant: here
         + image image/png base64 AAAA
         + call c1 show {}
         result c1: shown",
        expect![[r#"
            ?? message 1 block 1: image may not stand here
            user: draw
            assistant: here
            + call c1 show {}
            result c1: shown
            harness:
            + image image/png base64 AAAA
            -- moved image to user: not allowed in assistant
        "#]],
    );
}

#[test]
fn a10_a12_results_in_two_user_messages_come_into_one() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user:
         + result c1: 42
         user:
         + result c2: 43
         + text: well?",
        expect![[r#"
            ?? message 1 block 1: call "c2" has no result next to it
            ?? message 3 block 0: result "c2" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            result c2: 43
            user: well?
            -- split results (1) off a user message
            -- split results (1) off a user message
        "#]],
    );
}

#[test]
fn a10_results_in_a_user_message_are_legal_on_anthropic() {
    check_legal(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user:
         + result c1: 42
         + result c2: 43
         + text: well?",
    );
}

#[test]
fn a15_results_in_a_user_message_become_tool_messages_on_openai_chat() {
    check(
        &WireRules::openai_chat(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         user:
         + result c1: 42
         + result c2: 43
         + text: well?",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 1 block 1: call "c2" has no result next to it
            ?? message 2 block 0: result may not stand here
            ?? message 2 block 1: result may not stand here
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            result c2: 43
            user: well?
            -- split results (2) off a user message
        "#]],
    );
}

#[test]
fn a14_instructions_between_call_and_result_go_behind_it() {
    check(
        &WireRules::openai_chat(),
        "user: hi
         assistant:
         + call c1 read {}
         system: be quick
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 3 block 0: result "c1" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            system: be quick
            -- moved result c1: not next to its call
        "#]],
    );
}

#[test]
fn a14_an_answer_that_was_stored_in_pieces_is_one_answer() {
    check_both(
        "user: hi
         assistant: let me look
         + call c1 read {}
         assistant:
         + call c2 read {}
         result c1: 42
         result c2: 43",
        expect![[r#"
            ?? message 1 block 1: call "c1" has no result next to it
            ?? message 3 block 0: result "c1" has no call next to it
            user: hi
            assistant: let me look
            + call c1 read {}
            + call c2 read {}
            result c1: 42
            result c2: 43
            -- joined assistant message to the one before
        "#]],
    );
}

#[test]
fn a18_a_result_with_an_empty_id_answers_nobody() {
    check_both(
        r#"user: hi
         assistant:
         + call c1 read {}
         + call c2 read {}
         result c2: 43
         result "": the tool panicked"#,
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 3 block 0: result "" has no call next to it
            user: hi
            assistant:
            + call c1 read {}
            + call c2 read {}
            result c2: 43
            result c1!: tool call interrupted; no result was recorded
            + author harness
            harness: result without a call:\nthe tool panicked
            -- answered call c1: no result
            -- quoted result "": no call before it
        "#]],
    );
}

#[test]
fn a18_a_call_with_an_empty_id_gets_one() {
    check_both(
        r#"user: hi
         assistant:
         + call "" read {}
         result "": 42"#,
        expect![[r#"
            ?? message 1 block 0: call id "" is not accepted
            user: hi
            assistant:
            + call call_btpqoux8 read {}
            result call_btpqoux8: 42
            -- renamed call "" to call_btpqoux8: id not accepted
        "#]],
    );
}

#[test]
fn a24_half_of_a_server_pair_is_dropped() {
    check(
        &WireRules::anthropic(),
        r#"user: hi
         assistant: let me search
         + server-result s1 {"type":"web_search_tool_result"}
         user: well?"#,
        expect![[r#"
            ?? message 1 block 1: server result is foreign or incomplete
            user: hi
            assistant: let me search
            user: well?
            -- dropped server result: incomplete
        "#]],
    );
}

/// The history of a denied batch as one harness journals it: every rule of the family at once.
#[test]
fn s14_a_replayed_denied_batch_is_straightened() {
    check(
        &WireRules::anthropic(),
        "user: do it
         assistant:
         + call A run {}
         + call B run {}
         + call B run {}
         user:
         + result B!: denied
         assistant:
         + call C run {}
         user:
         + result C: done
         + result A: done",
        expect![[r#"
            ?? message 1 block 0: call "A" has no result next to it
            ?? message 1 block 2: call id "B" is used again
            ?? message 4 block 1: result "A" has no call next to it
            user: do it
            assistant:
            + call A run {}
            + call B run {}
            result A!: tool call interrupted; no result was recorded
            + author harness
            user:
            + result B!: denied
            assistant:
            + call C run {}
            user:
            + result C: done
            + text: late result of call A:\ndone
            -- dropped call B: said twice
            -- answered call A: no result
            -- quoted result A: later than the next answer
        "#]],
    );
}
