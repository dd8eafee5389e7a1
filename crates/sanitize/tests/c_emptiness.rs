//! Family C: what is empty, and fields that have the wrong shape.

use expect_test::expect;
use trunkline_message_tree::{Author, Content, Message, Role, ToolCall};
use trunkline_sanitize::{IdAlphabet, IdRule, RequestFacts, WireRules, sanitize};

use crate::check::{check, check_both, check_legal};

#[test]
fn c1_empty_text_is_dropped() {
    check(
        &WireRules::anthropic(),
        r#"user: hi
         + text:
         assistant: hello
         user: well?"#,
        expect![[r#"
            ?? message 0 block 1: text is blank
            user: hi
            assistant: hello
            user: well?
            -- dropped text: blank
        "#]],
    );
}

#[test]
fn c1_an_empty_text_in_a_result_is_dropped() {
    check(
        &WireRules::anthropic(),
        r"user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         ++ text:
         user: well?",
        expect![[r#"
            ?? message 2 block 0: text is blank
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            user: well?
            -- dropped text of result c1: blank
        "#]],
    );
}

#[test]
fn c1_a_result_that_holds_nothing_is_legal() {
    let input = "user: hi
         assistant:
         + call c1 read {}
         result c1:";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn c1_a_result_of_one_empty_text_travels_as_a_string_and_is_legal() {
    let input = r"user: hi
         assistant:
         + call c1 read {}
         result c1:
         ++ text: \n
         user: well?";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn c2_white_space_is_dropped() {
    check(
        &WireRules::anthropic(),
        r"user: hi
         + text: \n\s
         assistant: hello
         user: well?",
        expect![[r#"
            ?? message 0 block 1: text is blank
            user: hi
            assistant: hello
            user: well?
            -- dropped text: blank
        "#]],
    );
}

#[test]
fn c2_white_space_beside_a_call_was_seen_to_be_taken() {
    check_legal(
        &WireRules::anthropic(),
        r"user: hi
         assistant: \s
         + call c1 read {}
         result c1: 42",
    );
}

#[test]
fn c2_openai_chat_takes_blank_text() {
    check_legal(
        &WireRules::openai_chat(),
        r"user: hi
         + text:
         assistant:
         + text:
         + call c1 read {}
         result c1: 42",
    );
}

#[test]
fn c3_a_message_that_holds_nothing_is_dropped_and_its_neighbours_join() {
    check(
        &WireRules::anthropic(),
        r"user: hi
         assistant:
         user: well?",
        expect![[r#"
            ?? message 1: message is empty
            user: hi
            user: well?
            -- dropped assistant message: empty
        "#]],
    );
}

#[test]
fn c3_a_user_message_that_holds_nothing_still_parts_two_answers() {
    check_both(
        "user: hi
         assistant: hello
         user:
         assistant: are you there?
         user: yes",
        expect![[r#"
            ?? message 2: message is empty
            user: hi
            assistant: hello
            harness: continue
            assistant: are you there?
            user: yes
            -- filled user message: empty
        "#]],
    );
}

#[test]
fn c3_an_answer_that_was_only_foreign_thinking_is_dropped() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + thinking: hmm
         user: well?",
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            ?? message 1 block 0: nothing follows this reasoning
            user: hi
            user: well?
            -- dropped thinking (1): not signed
            -- dropped assistant message: empty
        "#]],
    );
}

#[test]
fn c3_instructions_at_the_head_may_be_empty() {
    let input = "system:
         user: hi";
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
    check_legal(
        &WireRules::anthropic(),
        "system:
         + text:
         user: hi",
    );
}

#[test]
fn c9_arguments_that_stand_for_nothing_become_an_object() {
    check_both(
        "user: hi
         assistant:
         + call c1 read null
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: arguments of call "c1" are not an object
            user: hi
            assistant:
            + call c1 read {}
            result c1: 42
            -- replaced arguments of call c1: not an object
        "#]],
    );
}

#[test]
fn c10_arguments_that_were_cut_are_kept_in_the_result() {
    check_both(
        r#"user: hi
         assistant:
         + call c1 write {"path":"a.rs","text":"fn ma
         + stop max_tokens
         user: well?"#,
        expect![[r#"
            ?? message 1 block 0: arguments of call "c1" are not an object
            ?? message 1 block 0: call "c1" has no result next to it
            user: hi
            assistant:
            + call c1 write {}
            + stop max_tokens
            result c1!: tool call interrupted; no result was recorded
            ++ text: the arguments of this call were not a JSON object; as written: {"path":"a.rs","text":"fn ma
            + author harness
            user: well?
            -- replaced arguments of call c1: not an object
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn c10_they_join_a_result_that_is_there() {
    check_both(
        r#"user: hi
         assistant:
         + call c1 run "ls"
         result c1!: arguments must be an object"#,
        expect![[r#"
            ?? message 1 block 0: arguments of call "c1" are not an object
            user: hi
            assistant:
            + call c1 run {}
            result c1!: arguments must be an object
            ++ text: the arguments of this call were not a JSON object; as written: "ls"
            -- replaced arguments of call c1: not an object
        "#]],
    );
}

#[test]
fn c10_arguments_are_legal_if_and_only_if_they_parse_whatever_byte_stands_where() {
    for byte in 0..=0x7f_u8 {
        for at in 0..20 {
            let (before, byte) = ("a".repeat(at), char::from(byte));
            for arguments in [
                format!("{{\"k\":\"{before}{byte}n and what follows\"}}"),
                format!("{{\"{before}{byte}\":1}}"),
                format!("{{\"k\":{}{byte}}}", &"1234567890123456789"[..at]),
            ] {
                let call = call("c1", &arguments);
                let parses = call.parse_arguments().is_ok();
                assert_eq!(is_legal(call), parses, "{arguments:?}");
            }
        }
    }
}

#[test]
fn c11_a_byte_that_is_refused_is_found_wherever_it_stands_in_an_id() {
    for length in 1..=50 {
        let id = "x".repeat(length);
        assert!(is_legal(call(&id, "{}")), "{id}");
        for at in 0..length {
            let (before, after) = id.split_at(at);
            let id = format!("{before}.{}", &after[1..]);
            assert!(!is_legal(call(&id, "{}")), "{id}");
        }
    }
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "read".into(), arguments: arguments.into(), signature: None }
}

/// Whether Anthropic's rules leave a list with that call and its result as it is.
fn is_legal(call: ToolCall) -> bool {
    let result = Message::tool_result(&call.id, "42", false);
    let asks = Message::new(Role::Assistant, Author::Model, vec![Content::ToolCall(call)]);
    let list = vec![Message::user("hi"), asks, result];
    sanitize(list, &WireRules::anthropic(), &RequestFacts::default()).repairs.is_empty()
}

#[test]
fn c11_a_foreign_id_is_mapped_at_both_ends() {
    check(
        &WireRules::anthropic(),
        r#"user: hi
         assistant:
         + call "functions.read:0" read {}
         result "functions.read:0": 42"#,
        expect![[r#"
            ?? message 1 block 0: call id "functions.read:0" is not accepted
            user: hi
            assistant:
            + call functions_read_0_hbtwtmac read {}
            result functions_read_0_hbtwtmac: 42
            -- renamed call functions.read:0 to functions_read_0_hbtwtmac: id not accepted
        "#]],
    );
}

#[test]
fn c11_ids_that_look_alike_stay_apart() {
    check(
        &WireRules::anthropic(),
        r#"user: hi
         assistant:
         + call a.0 read {}
         + call "a:0" read {}
         result "a:0": second
         result a.0: first"#,
        expect![[r#"
            ?? message 1 block 0: call id "a.0" is not accepted
            ?? message 1 block 1: call id "a:0" is not accepted
            user: hi
            assistant:
            + call a_0_nxbu2dtj read {}
            + call a_0_4ydy00lo read {}
            result a_0_4ydy00lo: second
            result a_0_nxbu2dtj: first
            -- renamed call a.0 to a_0_nxbu2dtj: id not accepted
            -- renamed call a:0 to a_0_4ydy00lo: id not accepted
        "#]],
    );
}

#[test]
fn c12_a_long_id_is_shortened_at_both_ends() {
    check(
        &WireRules::openai_chat(),
        "user: hi
         assistant:
         + call call_0123456789012345678901234567890123456789 read {}
         result call_0123456789012345678901234567890123456789: 42",
        expect![[r#"
            ?? message 1 block 0: call id "call_0123456789012345678901234567890123456789" is not accepted
            user: hi
            assistant:
            + call call_01234567890123456789012345_7xq07ykj read {}
            result call_01234567890123456789012345_7xq07ykj: 42
            -- renamed call call_0123456789012345678901234567890123456789 to call_01234567890123456789012345_7xq07ykj: id not accepted
        "#]],
    );
}

#[test]
fn c13_ids_of_nine_letters_and_digits() {
    let mut rules = WireRules::openai_chat();
    rules.ids = IdRule { alphabet: IdAlphabet::Alphanumeric, max_length: None, exact_length: Some(9) };
    check(
        &rules,
        "user: hi
         assistant:
         + call call_1 read {}
         + call abcdef012 read {}
         result call_1: 42
         result abcdef012: 43",
        expect![[r#"
            ?? message 1 block 0: call id "call_1" is not accepted
            user: hi
            assistant:
            + call 0dx6zp94g read {}
            + call abcdef012 read {}
            result 0dx6zp94g: 42
            result abcdef012: 43
            -- renamed call call_1 to 0dx6zp94g: id not accepted
        "#]],
    );
}

#[test]
fn c15_pictures_leave_results_where_the_wire_has_no_place_for_them() {
    check(
        &WireRules::openai_chat(),
        "user: hi
         assistant:
         + call c1 shot {}
         + call c2 shot {}
         result c1: here
         ++ image image/png base64 AAAA
         result c2: and here
         ++ image image/png base64 BBBB
         user: well?",
        expect![[r#"
            ?? message 2 block 0: image may not stand here
            ?? message 3 block 0: image may not stand here
            user: hi
            assistant:
            + call c1 shot {}
            + call c2 shot {}
            result c1: here
            ++ text: (see the user message after the results)
            result c2: and here
            ++ text: (see the user message after the results)
            harness: from the result of call c1:
            + image image/png base64 AAAA
            harness: from the result of call c2:
            + image image/png base64 BBBB
            user: well?
            -- moved media (1) of result c1: only allowed in a user message
            -- moved media (1) of result c2: only allowed in a user message
        "#]],
    );
}

#[test]
fn c15_anthropic_takes_pictures_in_results() {
    check_legal(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + call c1 shot {}
         result c1: here
         ++ image image/png base64 AAAA",
    );
}
