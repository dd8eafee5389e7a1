//! Rules are data.

use trunkline_sanitize::{IdScope, WireRules};

use crate::check::check_legal;

#[test]
fn rules_survive_json() {
    let known = WireRules::NAMES.iter().filter_map(|name| WireRules::named(name));
    for rules in known.chain([WireRules::open("mine")]) {
        let json = serde_json::to_string(&rules).expect("rules are plain data");
        assert_eq!(serde_json::from_str::<WireRules>(&json).expect("own JSON is readable"), rules);
    }
}

#[test]
fn every_rule_set_goes_by_its_name_and_is_on_the_crate_page() {
    let page = include_str!("../README.md");
    for name in WireRules::NAMES {
        let rules = WireRules::named(name).expect("a known name");
        assert_eq!(rules.name, *name);
        assert!(page.contains(&format!("`{name}`")), "{name} is not on the crate page");
    }
    assert_eq!(WireRules::named("fortran"), None);
}

#[test]
fn every_rule_set_is_another_one() {
    // Without its name, so that a copy that was never finished shows.
    let bare = |name: &&str| {
        let mut rules = WireRules::named(name)?;
        rules.name = "".into();
        Some(rules)
    };
    // Two wires that were seen to take the same.
    let twins = ["openrouter", "vllm"];
    for (at, one) in WireRules::NAMES.iter().enumerate() {
        for other in WireRules::NAMES
            .iter()
            .skip(at + 1)
            .filter(|other| !(twins.contains(one) && twins.contains(other)))
        {
            assert_ne!(bare(one), bare(other), "{one} and {other}");
        }
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
