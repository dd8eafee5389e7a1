//! Family B where wires differ: Bedrock, Mistral, strict chat templates, Gemini.

use expect_test::expect;
use trunkline_sanitize::WireRules;

use crate::check::{check, check_legal};

#[test]
fn b2_roles_alternate_on_bedrock() {
    check(
        &WireRules::bedrock_claude(),
        "user: hi
         user: are you there?
         assistant: yes
         assistant: I am
         user: good",
        expect![[r#"
            ?? message 1: same role as the message before
            ?? message 3: same role as the message before
            user: hi
            + text: are you there?
            assistant: yes
            + text: I am
            user: good
            -- joined user message to the one before
            -- joined assistant message to the one before
        "#]],
    );
}

#[test]
fn b3_a_second_message_of_instructions_joins_the_first_where_the_wire_takes_one() {
    let input = "system: be brief
         system: be polite
         user: hi";
    check(
        &WireRules::strict_template(),
        input,
        expect![[r#"
            ?? message 1: instructions stand in a second message
            system: be brief
            + text: be polite
            user: hi
            -- joined system message to the one before
        "#]],
    );
    check(
        &WireRules::mistral(),
        input,
        expect![[r#"
            ?? message 1: instructions stand in a second message
            system: be brief
            + text: be polite
            user: hi
            -- joined system message to the one before
        "#]],
    );
}

#[test]
fn b3_users_in_a_row_are_joined_and_late_instructions_are_the_harnesss() {
    check(
        &WireRules::strict_template(),
        "system: be brief
         user: hi
         system: be polite
         user: well?
         assistant: hello
         user: go on",
        expect![[r#"
            ?? message 2: instructions are not at the head
            system: be brief
            user: hi
            + text: be polite
            + text: well?
            assistant: hello
            user: go on
            -- turned instructions into a user message: not at the head
            -- joined user message to the one before
            -- joined user message to the one before
        "#]],
    );
}

#[test]
fn b4_a_list_may_begin_with_the_assistant_where_current_models_take_it() {
    let input = "assistant: hello
         user: hi";
    check_legal(&WireRules::mistral(), input);
    check(
        &WireRules::mistral_strict(),
        input,
        expect![[r#"
            ?? message 0: the list does not begin with a user message
            harness: (the conversation begins here)
            assistant: hello
            user: hi
            -- added user message: the list must begin with one
        "#]],
    );
    check_legal(&WireRules::bedrock(), input);
}

#[test]
fn b5_the_assistant_speaks_between_results_and_the_user() {
    let input = "user: hi
         assistant:
         + call aaaaaaaa1 read {}
         result aaaaaaaa1: 42
         user: well?";
    check(
        &WireRules::mistral_strict(),
        input,
        expect![[r#"
            ?? message 3: the user speaks right after results
            user: hi
            assistant:
            + call aaaaaaaa1 read {}
            result aaaaaaaa1: 42
            assistant: (results received)
            + author harness
            user: well?
            -- added assistant message: the user must not speak right after results
        "#]],
    );
    check_legal(&WireRules::mistral(), input);
}

#[test]
fn b5_a_picture_that_left_a_result_is_the_users_words_too() {
    check(
        &WireRules::mistral_strict(),
        "user: hi
         assistant:
         + call aaaaaaaa1 screenshot {}
         result aaaaaaaa1: here
         ++ image image/png base64 AAAA",
        expect![[r#"
            ?? message 2 block 0: image may not stand here
            user: hi
            assistant:
            + call aaaaaaaa1 screenshot {}
            result aaaaaaaa1: here
            ++ text: (see the user message after the results)
            assistant: (results received)
            + author harness
            harness: from the result of call aaaaaaaa1:
            + image image/png base64 AAAA
            -- moved media (1) of result aaaaaaaa1: only allowed in a user message
            -- added assistant message: the user must not speak right after results
        "#]],
    );
}

#[test]
fn b6_a_result_after_the_user_is_quoted() {
    let input = "user: hi
         result aaaaaaaa1: 42
         assistant: hello
         user: well?";
    check(
        &WireRules::mistral(),
        input,
        expect![[r#"
            ?? message 1 block 0: result "aaaaaaaa1" has no call next to it
            user: hi
            + text: result without a call (aaaaaaaa1):\n42
            assistant: hello
            user: well?
            -- quoted result aaaaaaaa1: no call before it
            -- joined user message to the one before
        "#]],
    );
    check(
        &WireRules::mistral_strict(),
        input,
        expect![[r#"
            ?? message 1 block 0: result "aaaaaaaa1" has no call next to it
            user: hi
            + text: result without a call (aaaaaaaa1):\n42
            assistant: hello
            user: well?
            -- quoted result aaaaaaaa1: no call before it
            -- joined user message to the one before
        "#]],
    );
}

#[test]
fn b7_a_history_that_ends_with_the_assistant_is_refused_by_mistral() {
    check(
        &WireRules::mistral(),
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
fn b9_contents_do_not_end_with_a_turn_of_the_model() {
    check(
        &WireRules::gemini_2(),
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
