//! Family B: roles and their order.

use expect_test::expect;
use trunkline_sanitize::{Head, SystemPlace, Tail, WireRules};

use crate::check::{check, check_legal};

fn with_prefill() -> WireRules {
    let mut rules = WireRules::anthropic();
    rules.tail = Tail::Any;
    rules
}

#[test]
fn b1_b2_user_messages_in_a_row_are_joined() {
    check(
        &WireRules::anthropic_strict(),
        "user: hi
         harness: it is Monday
         user: well?",
        expect![[r#"
            ?? message 1: same role as the message before
            ?? message 2: same role as the message before
            user: hi
            + text: it is Monday
            + text: well?
            -- joined user message to the one before
            -- joined user message to the one before
        "#]],
    );
}

#[test]
fn b1_user_messages_in_a_row_are_legal_on_openai_chat() {
    check_legal(
        &WireRules::openai_chat(),
        "user: hi
         harness: it is Monday
         user: well?",
    );
}

#[test]
fn b1_assistant_messages_in_a_row_are_joined() {
    check(
        &WireRules::anthropic_strict(),
        "user: hi
         assistant: hello
         assistant: again
         user: well?",
        expect![[r#"
            ?? message 2: same role as the message before
            user: hi
            assistant: hello
            + text: again
            user: well?
            -- joined assistant message to the one before
        "#]],
    );
}

#[test]
fn b1_results_and_the_user_message_after_them_are_one_message_on_the_wire() {
    check_legal(
        &WireRules::anthropic_strict(),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
    );
}

#[test]
fn b3_instructions_in_the_middle_become_the_harnesss() {
    check(
        &WireRules::anthropic(),
        "system: be brief
         user: hi
         assistant: hello
         system: be polite
         user: well?",
        expect![[r#"
            ?? message 3: instructions are not at the head
            system: be brief
            user: hi
            assistant: hello
            harness: be polite
            user: well?
            -- turned instructions into a user message: not at the head
        "#]],
    );
}

#[test]
fn b3_instructions_in_the_middle_stay_where_the_wire_takes_them() {
    let input = "system: be brief
         user: hi
         system: be polite
         assistant: hello
         user: well?";
    check_legal(&WireRules::openai_chat(), input);
    let mut newer = WireRules::anthropic();
    newer.system = SystemPlace::Anywhere;
    check_legal(&newer, input);
}

#[test]
fn b3_several_messages_of_instructions_may_lead() {
    let input = "system: be brief
         system: be polite
         user: hi";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn b3_a_picture_among_the_instructions_moves_to_a_user_message() {
    check(
        &WireRules::anthropic(),
        "system: be like this
         + image image/png base64 AAAA
         user: hi",
        expect![[r#"
            ?? message 0 block 1: image may not stand here
            system: be like this
            harness:
            + image image/png base64 AAAA
            user: hi
            -- moved image to user: not allowed in system
        "#]],
    );
}

#[test]
fn b3_instructions_that_held_a_call_still_lead() {
    check(
        &WireRules::anthropic(),
        "system:
         + call c1 read {}
         + text: be brief
         system: be polite
         user: hi",
        expect![[r#"
            ?? message 0 block 0: call may not stand here
            system: be brief
            harness: (the conversation begins here)
            assistant:
            + call c1 read {}
            result c1!: tool call interrupted; no result was recorded
            + author harness
            harness: be polite
            user: hi
            -- moved call to assistant: not allowed in system
            -- answered call c1: no result
            -- added user message: the list must begin with one
            -- turned instructions into a user message: not at the head
        "#]],
    );
}

#[test]
fn b4_a_history_that_begins_with_the_assistant_gets_a_user_message_first() {
    check(
        &WireRules::anthropic(),
        "system: be brief
         assistant: summary of what was said
         user: go on",
        expect![[r#"
            ?? message 1: the list does not begin with a user message
            system: be brief
            harness: (the conversation begins here)
            assistant: summary of what was said
            user: go on
            -- added user message: the list must begin with one
        "#]],
    );
}

#[test]
fn b4_openai_chat_takes_a_history_that_begins_with_a_call() {
    check_legal(
        &WireRules::openai_chat(),
        "assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
    );
}

#[test]
fn b4_a_list_without_words_gets_a_user_message() {
    check(
        &WireRules::anthropic(),
        "system: be brief",
        expect![[r#"
            ?? message 1: there is no message
            system: be brief
            harness: (the conversation begins here)
            -- added user message: the list must begin with one
        "#]],
    );
    check(
        &WireRules::openai_chat(),
        "",
        expect![[r#"
            ?? message 0: there is no message
            harness: (the conversation begins here)
            -- added user message: the list must begin with one
        "#]],
    );
    check_legal(&WireRules::openai_chat(), "system: be brief");
}

#[test]
fn b7_a_history_that_ends_with_the_assistant_gets_a_user_message_last() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant: hel",
        expect![[r#"
            ?? message 1: the list ends with an assistant message
            user: hi
            assistant: hel
            harness: continue
            -- added user message: the list must not end with the assistant
        "#]],
    );
}

#[test]
fn b7_an_answer_that_its_provider_paused_goes_back_as_it_is() {
    check_legal(
        &WireRules::anthropic(),
        r#"user: hi
         assistant: let me search
         + server-call s1 {"type":"server_tool_use"}
         + stop pause"#,
    );
}

#[test]
fn b7_a_prefill_is_legal_where_the_wire_takes_it() {
    let input = "user: hi
         assistant: hel";
    check_legal(&WireRules::openai_chat(), input);
    check_legal(&with_prefill(), input);
}

#[test]
fn b8_a_prefill_must_not_end_in_white_space() {
    check(
        &with_prefill(),
        r"user: hi
         assistant: hel\n\s",
        expect![[r#"
            ?? message 1 block 0: the last assistant message ends in white space
            user: hi
            assistant: hel
            -- trimmed the last message: ends in white space
        "#]],
    );
}

#[test]
fn b8_white_space_before_the_last_message_is_nobodys_business() {
    check_legal(
        &WireRules::anthropic(),
        r"user: hi
         assistant: hello\n
         user: well?",
    );
}

#[test]
fn b_a_rule_that_is_off_asks_for_nothing() {
    let mut rules = WireRules::openai_chat();
    rules.head = Head::Any;
    check_legal(&rules, "assistant: hello");
}
