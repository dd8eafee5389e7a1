//! Lists that were found by trying lists, kept as the smallest ones that show it.

use trunkline_message_tree::{Origin, notation};
use trunkline_sanitize::{BlankText, RequestFacts, ResultPlace, Thinking, WireRules, sanitize, violations};

/// Holds one list to the laws.
fn laws_hold(rules: &WireRules, facts: &RequestFacts, input: &str) {
    let list = notation::parse(input).expect("the input of a test is notation");
    let sanitized = sanitize(&list, rules, facts);
    let after = sanitized.facts(facts);
    assert_eq!(violations(&sanitized.messages, rules, &after), [], "the outcome is not legal");
    let again = sanitize(&*sanitized.messages, rules, &after);
    assert_eq!(again.repairs, [], "not idempotent");
    assert_eq!(again.messages, sanitized.messages, "not idempotent");
    assert_eq!(sanitize(list.clone(), rules, facts), sanitized, "another answer to the same question");
    let legal = violations(&list, rules, facts).is_empty();
    assert_eq!(legal, sanitized.repairs.is_empty(), "the judge and the passes disagree");
    let borrowed = std::ptr::eq(sanitized.messages.as_ptr(), list.as_ptr());
    assert!(borrowed || !legal, "a legal list was copied");
}

/// The outcome was not legal: what had been last was dropped, and the message before it did not end well.
#[test]
fn the_message_before_a_dropped_last_one_ends_well_too() {
    laws_hold(
        &WireRules::named("anthropic-mid-system").expect("a known name"),
        &RequestFacts::default(),
        "assistant: hi
         assistant:
         + redacted: xyz
         + stop pause",
    );
}

/// The outcome was not legal: the id of a call in a user message was not counted as taken.
#[test]
fn the_id_of_a_call_that_strayed_counts() {
    laws_hold(
        &WireRules::anthropic(),
        &RequestFacts::default(),
        "user:
         + call call_0 read {}
         system: be brief
         user: question 0
         assistant:
         + call call_0 read {}
         result call_0: 42
         assistant:
         + call call_1 read {}
         result call_1: 42",
    );
}

/// The outcome was not legal: a blank text was left alone when the call beside it became words.
#[test]
fn a_blank_text_does_not_outlive_the_call_beside_it() {
    let mut facts = RequestFacts::default();
    facts.tools_offered = Some(false);
    let mut bedrock = WireRules::bedrock();
    bedrock.blank_text = BlankText::BesideCall;
    let mut anthropic = WireRules::anthropic();
    anthropic.tool_blocks_need_tools = true;
    for rules in [bedrock, anthropic] {
        laws_hold(
            &rules,
            &facts,
            r"assistant:
             + call c1 read {}
             + text: \s",
        );
    }
}

/// A legal list was repaired: where results follow the whole turn, the judge sees one turn and the passes saw two.
#[test]
fn two_messages_of_one_turn_do_not_break_strict_turns() {
    let mut rules = WireRules::strict_template();
    rules.results = ResultPlace::AfterTurn;
    laws_hold(
        &rules,
        &RequestFacts::default(),
        "user: question 0
         assistant:
         + call call_0 read {}
         result call_0: 42
         assistant: that is it
         assistant: that is it
         user: question 1
         assistant: that is it",
    );
}

/// The judge took an item of reasoning in a user message for a block like any other.
#[test]
fn an_item_of_reasoning_is_reasoning_in_a_user_message_too() {
    laws_hold(
        &WireRules::openai_responses(),
        &RequestFacts::default(),
        r#"user:
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[]}"#,
    );
}

/// Not idempotent: the empty reasoning that was added was taken for another model's the second time.
#[test]
fn reasoning_that_was_added_is_nobodys() {
    let mut facts = RequestFacts::default();
    facts.origin = Some(Origin { provider: "p".into(), model: "m".into() });
    facts.thinking = Thinking::On;
    laws_hold(
        &WireRules::deepseek(),
        &facts,
        "user: question 0
         assistant:
         + call call_0 read {}
         result call_0: 42",
    );
}

/// The outcome was not legal: an item of reasoning was kept for a follower in another message of another wire's turn.
#[test]
fn an_item_of_reasoning_needs_its_follower_in_its_own_message_where_turns_are_messages() {
    let mut rules = WireRules::named("anthropic-mid-system").expect("a known name");
    rules.wire = "openai-responses".into();
    rules.reasoning_items = true;
    laws_hold(
        &rules,
        &RequestFacts::default(),
        r#"user: question 0
         assistant:
         + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[]}
         assistant: that is it
         user: question 1"#,
    );
}

/// The cache did not hold: an empty user message at the end was dropped, and instructions came last in its place.
#[test]
fn a_list_that_ends_in_instructions_is_the_beginning_of_what_follows() {
    let rules = WireRules::named("anthropic-mid-system").expect("a known name");
    let sent = "user: question 0
         assistant: that is it
         system: be brief
         user:";
    let sent = notation::parse(sent).expect("the input of a test is notation");
    let facts = RequestFacts::default();
    for answer in ["assistant: brief it is\nuser: good", "assistant: brief it is", "assistant:"] {
        let mut later = sent.clone();
        later.extend(notation::parse(answer).expect("the input of a test is notation"));
        let (sent, later) = (sanitize(&sent, &rules, &facts), sanitize(&later, &rules, &facts));
        assert_eq!(sent.messages[..], later.messages[..sent.messages.len()], "{answer}");
    }
}
