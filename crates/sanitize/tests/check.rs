//! Holds the API for all tests that are text in, text out.

use expect_test::Expect;
use trunkline_message_tree::notation;
use trunkline_sanitize::{RequestFacts, WireRules, sanitize, violations};

/// Sanitizes a damaged list and compares what the judge says of it, what comes out, and a line for each repair.
///
/// On the way it holds the judge against the passes: the damage is seen before and gone after.
pub(crate) fn check(rules: &WireRules, input: &str, expected: Expect) {
    check_with(rules, &RequestFacts::default(), input, expected);
}

/// The same with something known.
pub(crate) fn check_with(rules: &WireRules, facts: &RequestFacts, input: &str, expected: Expect) {
    let (damage, outcome) = outcome(rules, facts, input);
    expected.assert_eq(&(damage.concat() + &outcome));
}

/// The same for Anthropic and OpenAI Chat, which must do the same here; shows the damage that both see.
pub(crate) fn check_both(input: &str, expected: Expect) {
    let facts = RequestFacts::default();
    let (mut damage, here) = outcome(&WireRules::anthropic(), &facts, input);
    let (seen, there) = outcome(&WireRules::openai_chat(), &facts, input);
    assert_eq!(here, there, "the wires differ");
    damage.retain(|line| seen.contains(line));
    assert!(!damage.is_empty(), "the wires see no damage in common");
    expected.assert_eq(&(damage.concat() + &there));
}

/// Returns a line for each violation, and the list that comes out with a line for each repair.
fn outcome(rules: &WireRules, facts: &RequestFacts, input: &str) -> (Vec<String>, String) {
    let messages = notation::parse(input).expect("the input of a test is notation");
    let damage: Vec<String> =
        violations(&messages, rules, facts).iter().map(|violation| format!("?? {violation}\n")).collect();
    assert!(!damage.is_empty(), "the judge sees no damage");
    let sanitized = sanitize(&messages, rules, facts);
    assert!(!sanitized.repairs.is_empty(), "nothing was repaired");
    let mut text = notation::print(&sanitized.messages);
    for repair in &sanitized.repairs {
        text.push_str(&format!("-- {repair}\n"));
    }
    let facts = sanitized.facts(facts);
    assert_eq!(violations(&sanitized.messages, rules, &facts), [], "the judge still sees damage");
    let again = sanitize(&*sanitized.messages, rules, &facts);
    assert_eq!(again.repairs, [], "not idempotent");
    assert_eq!(again.messages, sanitized.messages, "not idempotent");
    (damage, text)
}

/// Asserts that the wire takes the list, and that it comes back borrowed.
pub(crate) fn check_legal(rules: &WireRules, input: &str) {
    check_legal_with(rules, &RequestFacts::default(), input);
}

/// The same with something known.
pub(crate) fn check_legal_with(rules: &WireRules, facts: &RequestFacts, input: &str) {
    let messages = notation::parse(input).expect("the input of a test is notation");
    assert_eq!(violations(&messages, rules, facts), [], "the judge sees damage");
    let sanitized = sanitize(&messages, rules, facts);
    assert_eq!(sanitized.repairs, []);
    assert!(!sanitized.thinking_off);
    assert!(std::ptr::eq(sanitized.messages.as_ptr(), messages.as_ptr()), "the list was copied");
    assert_eq!(sanitized.messages, messages);
}
