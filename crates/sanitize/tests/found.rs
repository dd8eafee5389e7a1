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
    facts.origin = Some(Origin::new("p", "m"));
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

fn named(name: &str) -> WireRules {
    WireRules::named(name).expect("a known name")
}

fn lines(rules: &WireRules, input: &str) -> Vec<String> {
    let list = notation::parse(input).expect("the input of a test is notation");
    let sanitized = sanitize(&list, rules, &RequestFacts::default());
    sanitized.repairs.iter().map(|repair| format!("{}: {repair}", repair.at)).collect()
}

/// A wire refused what the judge had nothing against: an answer that was cut off while the model thought.
#[test]
fn an_answer_that_is_only_reasoning_does_not_stay() {
    let mut facts = RequestFacts::default();
    facts.thinking = Thinking::On;
    let list = "user: hi
         assistant:
         + thinking S: cut off
         user: go on";
    laws_hold(&named("anthropic"), &facts, list);
    assert_eq!(
        lines(&named("anthropic"), list),
        [
            "message 1: dropped thinking (1): nothing follows it",
            "message 1: dropped assistant message: empty"
        ]
    );
}

/// The outcome was not legal: the last answer held nothing, and instructions hid the one before it.
#[test]
fn instructions_do_not_hide_who_spoke_last() {
    laws_hold(
        &named("anthropic-mid-system"),
        &RequestFacts::default(),
        "user: q\nassistant: a\nsystem: s\nassistant:",
    );
}

/// More was dropped than had to be: one broken pair took the sound ones before it along.
#[test]
fn a_broken_pair_of_the_providers_takes_no_other_along() {
    let list = "user: hi
         assistant:
         + server-call s1 {}
         + call c1 f {}
         result c1: ok
         assistant: x
         + server-result s1 {}
         user: ask
         assistant:
         + server-call s2 {}
         + call c2 f {}
         result c2: ok
         result c9: stray
         assistant: y
         + server-result s2 {}
         user: next";
    laws_hold(&named("anthropic"), &RequestFacts::default(), list);
    let dropped = lines(&named("anthropic"), list);
    assert!(
        dropped.iter().all(|line| !line.starts_with("message 1") && !line.starts_with("message 3")),
        "{dropped:?}"
    );
}

/// A wire refused what the judge had nothing against: an answer to be continued that does not begin with reasoning.
#[test]
fn an_answer_to_be_continued_without_reasoning_turns_thinking_off() {
    let mut facts = RequestFacts::default();
    facts.thinking = Thinking::On;
    laws_hold(&named("anthropic-prefill"), &facts, "user: hi\nassistant: The answer is");
}

/// Reasoning was changed: a blank text between two thoughts went, and they touched.
#[test]
fn what_stands_between_two_thoughts_does_not_go_alone() {
    let list = "user: hi
         assistant:
         + thinking S1: one
         + text: \\s
         + thinking S2: two
         + text: hello
         user: and?";
    laws_hold(&named("anthropic"), &RequestFacts::default(), list);
    assert_eq!(
        lines(&named("anthropic"), list),
        [
            "message 1 block 1: dropped text: blank",
            "message 1: dropped thinking (2): a block between had to go"
        ]
    );
}

/// A wire refused what the judge had nothing against: Bedrock knows no result that is a string.
#[test]
fn a_blank_result_is_a_blank_block_on_bedrock() {
    for name in ["bedrock", "bedrock-claude"] {
        let list = "user: hi\nassistant:\n+ call c1 f {}\nresult c1: \\s";
        laws_hold(&named(name), &RequestFacts::default(), list);
        assert_eq!(
            lines(&named(name), list),
            ["message 2 block 0: dropped text of result c1: blank"],
            "{name}"
        );
    }
}

/// The judge and the passes read one block in two ways.
#[test]
fn of_two_types_of_an_item_the_last_one_counts() {
    laws_hold(
        &named("openai-responses"),
        &RequestFacts::default(),
        r#"user: hi
         assistant: x
         + opaque openai-responses {"type":"x","type":"reasoning"}"#,
    );
}

/// A repair named the wrong block: another one before it had gone already.
#[test]
fn a_place_is_where_the_block_was_given() {
    assert_eq!(
        lines(&named("anthropic"), "user: a\nassistant:\n+ thinking: u\n+ text: \\s\n+ text: hi\nuser: b"),
        ["message 1 block 1: dropped text: blank", "message 1: dropped thinking (1): not signed"]
    );
}

/// More was repaired than had to be: Gemini minds two answers in a row only if the second one calls.
#[test]
fn two_answers_in_a_row_without_a_call_are_left_alone_on_gemini() {
    assert!(lines(&named("gemini-2"), "user: q\nassistant: a\nassistant: b\nuser: z").is_empty());
    assert_eq!(
        lines(&named("gemini-2"), "user: q\nassistant: a\nassistant:\n+ call c1 f {}\nresult c1: ok").len(),
        1
    );
}

/// Two turns read as one: the result between them was lost, and the second seemed to be said before the first was answered.
#[test]
fn a_lost_result_does_not_fuse_the_turns_around_it() {
    let list = "user: hi
         assistant:
         + call c1 f {}
         assistant: as that says
         + call c2 f {}
         result c2: two
         user: good";
    for name in ["anthropic", "anthropic-strict", "openai-chat", "gemini-2", "bedrock"] {
        laws_hold(&named(name), &RequestFacts::default(), list);
    }
    assert_eq!(lines(&named("anthropic"), list), ["message 1: answered call c1: no result"]);
    // One answer that was stored as two messages stays one.
    let stored = list.replace("result c2: two", "result c1: one\nresult c2: two");
    assert_eq!(
        lines(&named("anthropic"), &stored),
        ["message 2: joined assistant message to the one before"]
    );
}

/// An encoder refused the outcome.
#[test]
fn instructions_alone_are_a_list_beside_silent_ones() {
    for name in WireRules::NAMES {
        laws_hold(
            &WireRules::named(name).expect("a known name"),
            &RequestFacts::default(),
            "system:\nsystem: be brief",
        );
    }
}

/// The outcome was not legal: instructions that brought a block along led the list once the result before them was dropped.
#[test]
fn late_instructions_that_come_to_lead_bring_nothing_along() {
    for name in WireRules::NAMES {
        for list in [
            "result c1:\nsystem:\n+ opaque openai-responses {}",
            "result c1:\nsystem:\n+ opaque openai-responses {}\nuser: q",
        ] {
            laws_hold(&WireRules::named(name).expect("a known name"), &RequestFacts::default(), list);
        }
    }
}

/// The outcome was not legal: reasoning came last once the white space behind it went with the call.
#[test]
fn reasoning_does_not_come_last_when_a_call_becomes_words() {
    let mut facts = RequestFacts::default();
    facts.tools_offered = Some(false);
    for name in WireRules::NAMES {
        laws_hold(
            &named(name),
            &facts,
            "assistant:
             + call c1 read {}
             + thinking sig: hmm
             + text: \\s",
        );
    }
}

/// An encoder refused the outcome: what was said beside words that are gone is nothing that can be sent.
#[test]
fn what_stood_beside_other_blocks_is_no_message() {
    for list in [
        "system:\n+ opaque openai-responses {\"besideText\":{\"citations\":[]}}",
        "user: q\nassistant:\n+ text: \\s\n+ opaque anthropic {\"besideText\":{\"citations\":[]}}\nuser: on",
    ] {
        for name in WireRules::NAMES {
            laws_hold(&named(name), &RequestFacts::default(), list);
        }
    }
    let list =
        "user: q\nassistant:\n+ opaque openai-responses {\"besideMessage\":{\"phase\":\"x\"}}\nuser: on";
    assert_eq!(
        lines(&named("openai-responses"), list),
        ["message 1: dropped opaque block: incomplete", "message 1: dropped assistant message: empty"]
    );
}
