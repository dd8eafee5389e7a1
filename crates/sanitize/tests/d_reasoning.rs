//! Family D: reasoning.

use expect_test::expect;
use trunkline_message_tree::{Origin, notation};
use trunkline_sanitize::{RequestFacts, Tail, Thinking, WireRules, sanitize};

use crate::check::{check, check_legal, check_legal_with, check_with};

fn facts(thinking: Thinking) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.origin = Some(Origin::new("anthropic", "opus"));
    facts.thinking = thinking;
    facts
}

#[test]
fn d1_d2_thinking_of_this_model_goes_back_as_it_is() {
    check_legal_with(
        &WireRules::anthropic(),
        &facts(Thinking::On),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + redacted: xyz
         + call c1 read {}
         + origin anthropic opus
         result c1: 42",
    );
}

#[test]
fn d1_all_thinking_of_a_message_goes_or_none() {
    check(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + thinking: and so
         + text: hello
         user: well?",
        expect![[r#"
            ?? message 1 block 1: thinking may not go to this model
            user: hi
            assistant: hello
            user: well?
            -- dropped thinking (2): not signed
        "#]],
    );
}

#[test]
fn d2_thinking_of_another_model_is_dropped() {
    check_with(
        &WireRules::anthropic(),
        &facts(Thinking::On),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + text: hello
         + origin anthropic haiku
         user: well?",
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: hi
            assistant: hello
            + origin anthropic haiku
            user: well?
            -- dropped thinking (1): written by another model
        "#]],
    );
}

#[test]
fn d2_thinking_of_nobody_knows_whom_is_kept_while_no_origin_is_claimed() {
    check_legal(
        &WireRules::anthropic(),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + text: hello
         user: well?",
    );
}

#[test]
fn d2_dropping_thinking_where_the_wire_has_none_is_no_loss() {
    let list = notation::parse(
        "user: hi
         assistant:
         + thinking sig1: hmm
         + text: hello
         user: well?",
    )
    .expect("the input of a test is notation");
    let here = sanitize(&list, &WireRules::openai_chat(), &RequestFacts::default());
    assert_eq!(here.repairs.iter().filter(|repair| repair.is_loss()).count(), 0);
    let there = sanitize(&list, &WireRules::anthropic(), &facts(Thinking::Off));
    assert_eq!(there.repairs.iter().filter(|repair| repair.is_loss()).count(), 1);
}

#[test]
fn d3_a_running_loop_that_lost_its_thinking_turns_thinking_off() {
    check_with(
        &WireRules::anthropic(),
        &facts(Thinking::On),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + call c1 read {}
         + origin openai gpt
         result c1: 42",
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: hi
            assistant:
            + call c1 read {}
            + origin openai gpt
            result c1: 42
            -- dropped thinking (1): written by another model
            -- thinking off for this request: the tool loop has lost its reasoning
        "#]],
    );
}

#[test]
fn d3_only_the_first_answer_of_a_loop_must_begin_with_thinking() {
    check_legal_with(
        &WireRules::anthropic(),
        &facts(Thinking::On),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + call c1 read {}
         + origin anthropic opus
         result c1: 42
         assistant:
         + call c2 read {}
         + origin anthropic opus
         result c2: 43",
    );
}

#[test]
fn d3_a_loop_that_has_ended_needs_no_thinking() {
    check_legal_with(
        &WireRules::anthropic(),
        &facts(Thinking::On),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42
         user: well?",
    );
}

#[test]
fn d3_a_model_that_thinks_as_it_sees_fit_need_not_have_thought() {
    check_legal_with(
        &WireRules::anthropic(),
        &facts(Thinking::Adaptive),
        "user: hi
         assistant:
         + call c1 read {}
         result c1: 42",
    );
}

#[test]
fn d4_thinking_in_a_last_message_is_dropped_while_thinking_is_off() {
    let mut rules = WireRules::anthropic();
    rules.tail = Tail::Any;
    check_with(
        &rules,
        &facts(Thinking::Off),
        "user: hi
         assistant:
         + thinking sig1: hmm
         + text: hel
         + origin anthropic opus",
        expect![[r#"
            ?? message 1 block 0: the last message holds thinking while thinking is off
            user: hi
            assistant: hel
            + origin anthropic opus
            -- dropped thinking (1): last message while thinking is off
        "#]],
    );
}

#[test]
fn d10_a_forced_choice_turns_thinking_off() {
    let mut facts = facts(Thinking::On);
    facts.choice_forced = true;
    check_with(
        &WireRules::anthropic(),
        &facts,
        "user: hi",
        expect![[r#"
            ?? message 1: a tool choice is forced while thinking is on
            user: hi
            -- thinking off for this request: a tool choice is forced
        "#]],
    );
}

#[test]
fn d10_a_model_that_thinks_as_it_sees_fit_may_be_forced() {
    let mut facts = facts(Thinking::Adaptive);
    facts.choice_forced = true;
    check_legal_with(&WireRules::anthropic(), &facts, "user: hi");
}

#[test]
fn d10_deepseek_refuses_a_forced_choice_too_and_most_wires_do_not() {
    let mut facts = facts(Thinking::On);
    facts.choice_forced = true;
    check_with(
        &WireRules::deepseek(),
        &facts,
        "user: hi",
        expect![[r#"
            ?? message 1: a tool choice is forced while thinking is on
            user: hi
            -- thinking off for this request: a tool choice is forced
        "#]],
    );
    check_legal_with(&WireRules::openai_chat(), &facts, "user: hi");
}
