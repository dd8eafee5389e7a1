//! Rules are data.

use trunkline_sanitize::{IdScope, WireRules};

use crate::check::check_legal;

#[test]
fn rules_survive_json() {
    for rules in [WireRules::anthropic(), WireRules::openai_chat(), WireRules::open("mine")] {
        let json = serde_json::to_string(&rules).expect("rules are plain data");
        assert_eq!(serde_json::from_str::<WireRules>(&json).expect("own JSON is readable"), rules);
    }
}

#[test]
fn a_wire_of_ones_own_is_described_by_its_differences() {
    let mut rules = WireRules::open("mine");
    rules.ids_unique_in = IdScope::History;
    check_legal(
        &rules,
        "assistant: I begin
         assistant: and go on
         system: stop
         user:
         + text:",
    );
}
