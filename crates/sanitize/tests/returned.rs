//! What a service gave back goes back to it: the same provider, address and model, and what nobody signed while its tool
//! loop runs.

use expect_test::expect;
use trunkline_message_tree::{Origin, StopReason, notation};
use trunkline_sanitize::{Reasoning, RequestFacts, Thinking, WireRules, sanitize, violations};

use crate::check::{check_legal_with, check_with};

fn here(provider: &str) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.origin = Some(Origin::new(provider, "m").at("here"));
    facts
}

/// A loop that runs: reasoning beside a call whose result has come.
fn running(origin: &str) -> String {
    format!(
        "user: go
         assistant:
         + thinking: I look.
         + call c1 read {{}}
         + origin {origin}
         + stop tool_use
         result c1: 42"
    )
}

fn unsigned_anthropic() -> WireRules {
    let mut rules = WireRules::anthropic();
    rules.reasoning = Reasoning::SignedOrReturned;
    rules
}

/// Every wire on which somebody was seen to give reasoning in the clear.
fn wires() -> [WireRules; 8] {
    [
        WireRules::openai_chat(),
        WireRules::openrouter(),
        WireRules::vllm(),
        WireRules::llama_cpp(),
        WireRules::strict_template(),
        WireRules::ollama(),
        WireRules::bedrock(),
        unsigned_anthropic(),
    ]
}

#[test]
fn reasoning_goes_back_to_where_it_came_from_while_its_loop_runs() {
    for rules in wires() {
        check_legal_with(&rules, &here("p"), &running("p m here"));
    }
}

#[test]
fn reasoning_does_not_go_to_another_address_provider_or_model() {
    for rules in wires() {
        for origin in ["p m there", "q m here", "p other here"] {
            let list = notation::parse(&running(origin)).expect("notation");
            let sanitized = sanitize(&list, &rules, &here("p"));
            let text = notation::print(&sanitized.messages);
            assert!(!text.contains("I look."), "{} {origin}: {text}", rules.name);
            assert_eq!(violations(&sanitized.messages, &rules, &here("p")), [], "{} {origin}", rules.name);
        }
    }
}

#[test]
fn what_nobody_signed_is_left_out_once_the_user_has_spoken() {
    for rules in wires() {
        let over = format!("{}\nassistant: 42 it is.\n+ origin p m here\nuser: thanks", running("p m here"));
        let list = notation::parse(&over).expect("notation");
        let sanitized = sanitize(&list, &rules, &here("p"));
        assert!(!notation::print(&sanitized.messages).contains("I look."), "{}", rules.name);
        let told: Vec<String> = sanitized.repairs.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["dropped thinking (1): its tool loop is over"], "{}", rules.name);
        assert!(sanitized.repairs.iter().all(|repair| !repair.is_loss()));
    }
}

#[test]
fn a_service_that_wants_the_reasoning_of_each_call_has_it_for_good() {
    let mut rules = WireRules::openai_chat();
    rules.reasoning = Reasoning::Plain;
    rules.reasoning_beside_calls = true;
    let mut facts = here("p");
    facts.thinking = Thinking::Adaptive;
    let over = format!("{}\nassistant: 42 it is.\n+ origin p m here\nuser: thanks", running("p m here"));
    check_legal_with(&rules, &facts, &over);
}

#[test]
fn a_log_from_before_addresses_is_judged_as_it_was() {
    // On Chat nothing came back then; where provider and model decided, they still do.
    check_with(
        &WireRules::openai_chat(),
        &here("p"),
        &running("p m"),
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: go
            assistant:
            + call c1 read {}
            + origin p m
            + stop tool_use
            result c1: 42
            -- dropped thinking (1): not on this wire
        "#]],
    );
    let signed = "user: hi
         assistant:
         + thinking sig1: hmm
         + text: hello
         + origin p m
         user: well?";
    check_legal_with(&WireRules::anthropic(), &here("p"), signed);
    check_legal_with(&WireRules::ollama(), &here("p"), &running("p m"));
}

#[test]
fn what_is_signed_goes_back_to_its_own_address_only() {
    let signed = |address: &str| {
        format!(
            "user: hi
             assistant:
             + thinking sig1: hmm
             + text: hello
             + origin p m {address}
             user: well?"
        )
    };
    check_legal_with(&WireRules::anthropic(), &here("p"), &signed("here"));
    check_with(
        &WireRules::anthropic(),
        &here("p"),
        &signed("there"),
        expect![[r#"
            ?? message 1 block 0: thinking may not go to this model
            user: hi
            assistant: hello
            + origin p m there
            user: well?
            -- dropped thinking (1): written by another model
        "#]],
    );
}

#[test]
fn signatures_of_calls_go_back_to_their_own_address_only() {
    let call = |address: &str| {
        format!(
            "user: go
             assistant:
             + call c1 read {{}}
             ++ signature sig
             + origin p m {address}
             result c1: 42"
        )
    };
    for rules in [WireRules::gemini_3(), WireRules::openai_chat()] {
        check_legal_with(&rules, &here("p"), &call("here"));
        let list = notation::parse(&call("there")).expect("notation");
        let sanitized = sanitize(&list, &rules, &here("p"));
        assert!(!notation::print(&sanitized.messages).contains("signature sig\n"), "{}", rules.name);
    }
}

#[test]
fn items_of_reasoning_go_back_to_their_own_address_only() {
    let item = |wire: &str, address: &str| {
        format!(
            "user: go
             assistant:
             + opaque {wire} {{\"type\":\"reasoning\",\"reasoning_details\":[]}}
             + call c1 read {{}}
             + origin p m {address}
             result c1: 42"
        )
    };
    for (rules, wire) in
        [(WireRules::openai_chat(), "openai-chat"), (WireRules::openai_responses(), "openai-responses")]
    {
        check_legal_with(&rules, &here("p"), &item(wire, "here"));
        let list = notation::parse(&item(wire, "there")).expect("notation");
        let sanitized = sanitize(&list, &rules, &here("p"));
        assert!(!notation::print(&sanitized.messages).contains("reasoning"), "{wire}");
    }
}

#[test]
fn unsigned_reasoning_of_an_answer_that_was_cut_off_does_not_go_back() {
    let rules = unsigned_anthropic();
    for stop in [StopReason::Cut, StopReason::Cancelled, StopReason::MaxTokens] {
        let mut list = notation::parse(&running("p m here")).expect("notation");
        list[1].stop = Some(stop.clone());
        let sanitized = sanitize(&list, &rules, &here("p"));
        assert!(!notation::print(&sanitized.messages).contains("I look."), "{stop:?}");
    }
}

#[test]
fn a_result_that_is_quoted_ends_the_loop_before_it() {
    // Its words become the user's: what comes out is judged as the service will see it, and sanitizing again changes nothing.
    check_with(
        &WireRules::openai_chat(),
        &here("p"),
        &format!("{}\nresult c9: late", running("p m here")),
        expect![[r#"
            ?? message 3 block 0: result "c9" has no call next to it
            user: go
            assistant:
            + call c1 read {}
            + origin p m here
            + stop tool_use
            result c1: 42
            harness: result without a call (c9):\nlate
            -- quoted result c9: no call before it
            -- dropped thinking (1): its tool loop is over
        "#]],
    );
}

#[test]
fn a_call_that_waits_keeps_its_reasoning() {
    let waiting = "user: go
         assistant:
         + thinking: I look.
         + call c1 read {}
         + origin p m here";
    let list = notation::parse(waiting).expect("notation");
    let sanitized = sanitize(&list, &WireRules::openai_chat(), &here("p"));
    assert!(notation::print(&sanitized.messages).contains("I look."));
}
