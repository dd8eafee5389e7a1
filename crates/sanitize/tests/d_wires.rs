//! Family D where wires differ: items of OpenAI Responses, signatures of Gemini, the reasoning that DeepSeek asks for.

use expect_test::expect;
use trunkline_message_tree::Origin;
use trunkline_sanitize::{ForeignReasoning, RequestFacts, Thinking, WireRules};

use crate::check::{check, check_legal, check_legal_with, check_with};

fn asked(provider: &str, model: &str, thinking: Thinking) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.origin = Some(Origin::new(provider, model));
    facts.thinking = thinking;
    facts
}

#[test]
fn d5_an_item_of_reasoning_goes_with_what_followed_it() {
    check(
        &WireRules::openai_responses(),
        r#"user: hi
         assistant: hello
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[]}
         user: well?
         assistant:
         + opaque openai-responses {"id":"rs_2","type":"reasoning","summary":[]}
         user: still there?"#,
        expect![[r#"
            ?? message 1 block 1: nothing follows this reasoning
            ?? message 3 block 0: nothing follows this reasoning
            user: hi
            assistant: hello
            user: well?
            user: still there?
            -- dropped thinking (1): nothing follows it
            -- dropped thinking (1): nothing follows it
            -- dropped assistant message: empty
        "#]],
    );
}

#[test]
fn d5_what_follows_may_stand_in_the_next_message_of_the_turn() {
    check_legal(
        &WireRules::openai_responses(),
        r#"user: hi
         assistant:
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[]}
         assistant:
         + call c1 read {}
         result c1: 42"#,
    );
}

#[test]
fn d6_what_pointed_at_foreign_reasoning_goes_with_it_and_words_stay() {
    check_with(
        &WireRules::openai_responses(),
        &asked("openai", "gpt-b", Thinking::On),
        r#"user: search
         assistant:
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[]}
         + opaque openai-responses {"id":"ws_1","type":"web_search_call"}
         + text: found
         + call c1 read {}
         + origin openai gpt-a
         result c1: 42"#,
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            ?? message 1 block 1: opaque block is foreign or incomplete
            user: search
            assistant: found
            + call c1 read {}
            + origin openai gpt-a
            result c1: 42
            -- dropped opaque block: incomplete
            -- dropped thinking (1): written by another model
        "#]],
    );
}

#[test]
fn d7_items_go_back_as_they_came() {
    check_legal_with(
        &WireRules::openai_responses(),
        &asked("openai", "gpt-b", Thinking::On),
        r#"user: hi
         assistant:
         + opaque openai-responses { "summary" : [] , "unknown":1.50, "type":"reasoning", "id":"rs_1" }
         + text: hello
         + opaque openai-responses {"type":"web_search_call"}
         + origin openai gpt-b
         user: well?"#,
    );
}

#[test]
fn d7_an_item_of_reasoning_has_its_place_in_the_assistants_message() {
    check(
        &WireRules::openai_responses(),
        r#"user: hi
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[]}
         + opaque openai-responses {"type":"additional_tools"}
         assistant: hello"#,
        expect![[r#"
            ?? message 0 block 1: thinking may not stand here
            user: hi
            + opaque openai-responses {"type":"additional_tools"}
            assistant: hello
            -- dropped thinking (1): not in an assistant message
        "#]],
    );
}

const SIGNED: &str = "user: hi
     assistant:
     + call c1 read {}
     ++ signature ours
     + call c2 list {}
     + origin google gemini-3
     result c1: 42
     result c2: a.rs";

#[test]
fn d8_a_signature_goes_back_to_the_model_that_made_it() {
    let facts = asked("google", "gemini-3", Thinking::On);
    check_legal_with(&WireRules::gemini_3(), &facts, SIGNED);
    check_legal_with(&WireRules::gemini_2(), &facts, SIGNED);
}

#[test]
fn d8_a_foreign_signature_is_dropped_and_the_first_call_gets_what_stands_for_one() {
    let facts = asked("google", "gemini-3.1", Thinking::On);
    check_with(
        &WireRules::gemini_3(),
        &facts,
        SIGNED,
        expect![[r#"
            ?? message 1 block 0: signature of call "c1" is not by this model
            user: hi
            assistant:
            + call c1 read {}
            ++ signature skip_thought_signature_validator
            + call c2 list {}
            + origin google gemini-3
            result c1: 42
            result c2: a.rs
            -- dropped signature of call c1: made by another model
            -- added signature stub to call c1: none of this model
        "#]],
    );
    check_with(
        &WireRules::gemini_2(),
        &facts,
        SIGNED,
        expect![[r#"
            ?? message 1 block 0: signature of call "c1" is not by this model
            user: hi
            assistant:
            + call c1 read {}
            + call c2 list {}
            + origin google gemini-3
            result c1: 42
            result c2: a.rs
            -- dropped signature of call c1: made by another model
        "#]],
    );
}

#[test]
fn d8_calls_of_another_provider_get_the_stub_once_a_turn() {
    check(
        &WireRules::gemini_3(),
        "user: hi
         assistant:
         + call c1 read {}
         + call c2 list {}
         result c1: 42
         result c2: a.rs
         assistant:
         + call c3 read {}
         result c3: 43",
        expect![[r#"
            ?? message 1 block 0: call "c1" carries no signature
            ?? message 4 block 0: call "c3" carries no signature
            user: hi
            assistant:
            + call c1 read {}
            ++ signature skip_thought_signature_validator
            + call c2 list {}
            result c1: 42
            result c2: a.rs
            assistant:
            + call c3 read {}
            ++ signature skip_thought_signature_validator
            result c3: 43
            -- added signature stub to call c1: none of this model
            -- added signature stub to call c3: none of this model
        "#]],
    );
}

#[test]
fn d8_the_stub_itself_is_legal_whoever_is_said_to_have_made_it() {
    check_legal_with(
        &WireRules::gemini_3(),
        &asked("google", "gemini-3.1", Thinking::On),
        "user: hi
         assistant:
         + call c1 read {}
         ++ signature skip_thought_signature_validator
         + origin openai gpt
         result c1: 42",
    );
}

#[test]
fn d8_a_part_that_another_model_signed_is_dropped_and_its_words_stay() {
    let input = r#"user: hi
         assistant:
         + thinking ours: hmm
         + opaque gemini {"executableCode":{"code":"1+1"}}
         + text: two
         + opaque gemini {"textBytes":[0,3],"part":{"thoughtSignature":"c2ln"}}
         + opaque gemini {"text":"","thoughtSignature":"c2ln"}
         + origin google gemini-3
         user: well?"#;
    check_legal_with(&WireRules::gemini_3(), &asked("google", "gemini-3", Thinking::On), input);
    check_with(
        &WireRules::gemini_3(),
        &asked("google", "gemini-3.1", Thinking::On),
        input,
        expect![[r#"
        ?? message 1 block 0: thinking may not go to this model
        ?? message 1 block 3: opaque block is foreign or incomplete
        ?? message 1 block 4: opaque block is foreign or incomplete
        user: hi
        assistant:
        + opaque gemini {"executableCode":{"code":"1+1"}}
        + text: two
        + origin google gemini-3
        user: well?
        -- dropped opaque block: belongs to another provider or model
        -- dropped opaque block: belongs to another provider or model
        -- dropped thinking (1): written by another model
    "#]],
    );
}

#[test]
fn d2_ones_own_thoughts_go_back_on_gemini_signed_or_not() {
    // The encoder leaves out those that are not signed.
    check_legal_with(
        &WireRules::gemini_2(),
        &asked("google", "gemini-2.5", Thinking::On),
        "user: hi
         assistant:
         + thinking: hmm
         + thinking ours: well
         + text: hello
         + origin google gemini-2.5
         user: well?",
    );
}

#[test]
fn d8_signatures_are_nobodys_business_on_other_wires() {
    check_legal_with(&WireRules::openai_responses(), &asked("openai", "gpt", Thinking::On), SIGNED);
    check_legal_with(&WireRules::ollama(), &asked("openai", "gpt", Thinking::On), SIGNED);
}

const WITHOUT_REASONING: &str = "user: hi
     assistant: let me look
     + call c1 read {}
     + origin openai gpt
     result c1: 42
     assistant: here it is
     + origin openai gpt
     user: well?";

#[test]
fn d9_deepseek_sees_reasoning_beside_every_call_while_it_thinks() {
    check_with(
        &WireRules::deepseek(),
        &asked("deepseek", "v4", Thinking::On),
        WITHOUT_REASONING,
        expect![[r#"
            ?? message 1: calls have no reasoning beside them
            user: hi
            assistant:
            + thinking:
            + text: let me look
            + call c1 read {}
            + origin openai gpt
            result c1: 42
            assistant: here it is
            + origin openai gpt
            user: well?
            -- added empty thinking: calls must have some beside them
        "#]],
    );
    check_legal_with(&WireRules::deepseek(), &asked("deepseek", "v4", Thinking::Off), WITHOUT_REASONING);
}

#[test]
fn d9_unsigned_reasoning_goes_back_to_the_model_that_wrote_it() {
    check_legal_with(
        &WireRules::deepseek(),
        &asked("deepseek", "v4", Thinking::On),
        "user: hi
         assistant:
         + thinking: hmm
         + call c1 read {}
         + origin deepseek v4
         result c1: 42",
    );
}

#[test]
fn d9_foreign_reasoning_is_replaced_by_empty_reasoning() {
    check_with(
        &WireRules::deepseek(),
        &asked("deepseek", "v4", Thinking::On),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + call c1 read {}
         + origin anthropic opus
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: hi
            assistant:
            + thinking:
            + call c1 read {}
            + origin anthropic opus
            result c1: 42
            -- dropped thinking (1): written by another model
            -- added empty thinking: calls must have some beside them
        "#]],
    );
}

#[test]
fn d2_what_can_be_read_of_foreign_reasoning_becomes_text_if_that_is_asked_for() {
    let mut facts = asked("openai", "gpt", Thinking::On);
    facts.foreign_reasoning = ForeignReasoning::AsText;
    let input = "user: hi
         assistant:
         + thinking sig1: the file is a.rs
         + redacted: xyz
         + text: hello
         + origin anthropic opus
         user: well?";
    check_with(
        &WireRules::openai_chat(),
        &facts,
        input,
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            ?? message 1 block 1: thinking may not go to this model
            user: hi
            assistant: (earlier reasoning)\nthe file is a.rs
            + text: hello
            + origin anthropic opus
            user: well?
            -- turned thinking (1) into text: written by another model
            -- dropped thinking (1): not on this wire
        "#]],
    );
    check_with(
        &WireRules::anthropic(),
        &facts,
        input,
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            ?? message 1 block 1: thinking may not go to this model
            user: hi
            assistant: (earlier reasoning)\nthe file is a.rs
            + text: hello
            + origin anthropic opus
            user: well?
            -- turned thinking (1) into text: written by another model
            -- dropped thinking (1): written by another model
        "#]],
    );
}

#[test]
fn d2_the_summary_of_a_foreign_item_of_reasoning_can_be_read_too() {
    let mut facts = asked("openai", "gpt-b", Thinking::On);
    facts.foreign_reasoning = ForeignReasoning::AsText;
    let input = r#"user: hi
         assistant:
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"the file is a.rs"}]}
         + opaque openai-responses {"id":"rs_2","type":"reasoning","summary":[]}
         + text: hello
         + origin openai gpt-a
         user: well?"#;
    check_with(
        &WireRules::openai_responses(),
        &facts,
        input,
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            ?? message 1 block 1: thinking may not go to this model
            user: hi
            assistant: (earlier reasoning)\nthe file is a.rs
            + text: hello
            + origin openai gpt-a
            user: well?
            -- turned thinking (1) into text: written by another model
            -- dropped thinking (1): written by another model
        "#]],
    );
    check_with(
        &WireRules::anthropic(),
        &facts,
        input,
        expect![[r#"
        ?? message 1 block 0: opaque block is foreign or incomplete
        ?? message 1 block 1: opaque block is foreign or incomplete
        user: hi
        assistant: (earlier reasoning)\nthe file is a.rs
        + text: hello
        + origin openai gpt-a
        user: well?
        -- turned thinking (1) into text: written by another model
        -- dropped opaque block: belongs to another provider or model
    "#]],
    );
}

#[test]
fn d2_ones_own_reasoning_is_not_made_text_where_the_wire_has_no_place_for_it() {
    let mut facts = asked("openai", "gpt", Thinking::On);
    facts.foreign_reasoning = ForeignReasoning::AsText;
    check_with(
        &WireRules::openai_chat(),
        &facts,
        "user: hi
         assistant:
         + thinking: hmm
         + text: hello
         + origin openai gpt
         user: well?",
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: hi
            assistant: hello
            + origin openai gpt
            user: well?
            -- dropped thinking (1): not on this wire
        "#]],
    );
}

#[test]
fn d2_encrypted_reasoning_has_no_place_where_none_is_signed() {
    let facts = asked("deepseek", "v4", Thinking::On);
    check_with(
        &WireRules::deepseek(),
        &facts,
        "user: hi
         assistant:
         + redacted: xyz
         + thinking: hmm
         + text: hello
         + origin deepseek v4
         user: well?",
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: hi
            assistant:
            + thinking: hmm
            + text: hello
            + origin deepseek v4
            user: well?
            -- dropped thinking (1): not on this wire
        "#]],
    );
}
