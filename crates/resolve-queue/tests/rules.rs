//! Who decides: rules that somebody gave once, and what they say of something that is wanted.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_resolve_queue::{
    Actor, ActorKind, CommandPattern, Effect, Judgement, On, Rule, RuleChange, RuleError, RuleEvent, RuleId,
    RuleTarget, RuleVerdict, Rules, Scope, Verdict, Wanted,
};

#[test]
fn without_a_rule_a_person_decides() {
    check(
        &[],
        &["edit reversible src/a.rs", "run irreversible ! ls", "mail irreversible"],
        expect![[r#"
        edit reversible src/a.rs
            ask person
        run irreversible ! ls
            ask person
        mail irreversible
            ask person
    "#]],
    );
}

#[test]
fn what_forbids_wins_whatever_else_is_said_and_in_whatever_order() {
    let rules = ["allow path src/**", "deny path **/*.key", "allow tool edit", "ask any"];
    let wanted = [
        "edit reversible src/a.rs",
        "edit reversible src/b.key",
        "edit reversible src/a.rs src/b.key",
        "edit reversible x",
    ];
    let expected = expect![[r#"
        edit reversible src/a.rs
            allow by r1
        edit reversible src/b.key
            deny by r2
        edit reversible src/a.rs src/b.key
            deny by r2
        edit reversible x
            allow by r3
    "#]];
    check(&rules, &wanted, expected);
}

#[test]
fn where_a_rule_has_to_name_the_tool_itself_no_other_says_anything() {
    let mut rules = Rules::new();
    let given = ["*", "re*", "read?", "READ", "read"].map(|tool| Some(tool.to_owned()));
    for tool in given.into_iter().chain([None]) {
        let mut rule = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Person, "anna"));
        rule.tool = tool;
        let event = rules.add(rule, 0).unwrap();
        rules.record(event).unwrap();
    }
    let wanted = Wanted::new("read", Effect::Pure, On::Other);
    assert_eq!(rules.judge(&wanted, 0).verdict, RuleVerdict::Allow);
    assert_eq!(rules.judge_by_name(&wanted, 0).rules, [RuleId(5)]);
    let other = rules.judge_by_name(&Wanted::new("reads", Effect::Pure, On::Other), 0);
    assert_eq!((other.verdict, other.rules), (RuleVerdict::Ask, Vec::new()));
}

#[test]
fn what_names_a_target_outranks_what_names_a_tool_and_that_what_names_neither() {
    check(
        &[
            "ask any",
            "allow tool fmt",
            "ask effect irreversible by person",
            "allow words cargo test",
            "ask path src/secret/**",
            "allow path src/**",
        ],
        &[
            "run irreversible ! cargo test --all",
            "run irreversible ! cargo publish",
            "fmt reversible",
            "fmt irreversible",
            "edit reversible src/a.rs",
            "edit reversible src/secret/a.rs",
            "edit reversible src/a.rs src/secret/a.rs",
            "edit reversible src/a.rs docs/b.md",
        ],
        expect![[r#"
            run irreversible ! cargo test --all
                allow by r4
            run irreversible ! cargo publish
                ask person by r1 r3
            fmt reversible
                allow by r2
            fmt irreversible
                allow by r2
            edit reversible src/a.rs
                allow by r6
            edit reversible src/secret/a.rs
                ask person by r5
            edit reversible src/a.rs src/secret/a.rs
                ask person by r5
            edit reversible src/a.rs docs/b.md
                ask person by r1
        "#]],
    );
}

#[test]
fn a_model_may_resolve_its_own_where_a_rule_says_so() {
    check(
        &["ask effect reversible by model,person", "ask path Cargo.toml by person", "ask tool e* by model"],
        &[
            "edit reversible src/a.rs",
            "write reversible src/a.rs",
            "edit reversible Cargo.toml",
            "edit irreversible x",
        ],
        expect![[r#"
            edit reversible src/a.rs
                ask model person by r3
            write reversible src/a.rs
                ask model person by r1
            edit reversible Cargo.toml
                ask person by r2
            edit irreversible x
                ask model person by r3
        "#]],
    );
}

#[test]
fn a_command_that_hides_something_is_asked_about_even_where_everything_is_allowed() {
    check(
        &["allow tool run", "deny words rm -rf", "allow words git"],
        &[
            "run irreversible ! ls -l",
            "run irreversible ! rm -rf x",
            "run irreversible ! ls; rm -rf x",
            "run irreversible ! sudo rm -rf x",
            "run irreversible ! git log",
            "run irreversible ! git commit -m 'rm -rf it'",
        ],
        expect![[r#"
            run irreversible ! ls -l
                allow by r1
            run irreversible ! rm -rf x
                deny by r2
            run irreversible ! ls; rm -rf x
                deny by r2
            run irreversible ! sudo rm -rf x
                ask person by r2
            run irreversible ! git log
                allow by r3
            run irreversible ! git commit -m 'rm -rf it'
                ask person by r2
        "#]],
    );
}

#[test]
fn what_counts_once_counts_once_and_is_kept_for_when_it_is_needed() {
    let mut rules = Rules::new();
    let mut once = rule("allow words cargo publish");
    once.scope = Scope::Once;
    add(&mut rules, once);
    let publish = Wanted::new("run", Effect::Irreversible, On::Command("cargo publish"));
    let judgement = rules.judge(&publish, 5);
    expect!["allow by r1"].assert_eq(&shown(&judgement));
    rules.record(rules.used(RuleId(1), "p1", 5).expect("it counts")).expect("it is legal");
    expect!["ask person"].assert_eq(&shown(&rules.judge(&publish, 5)));
    assert_eq!(rules.used(RuleId(1), "p2", 6), Err(RuleError::Over { id: RuleId(1) }));

    let mut again = rule("allow words cargo publish");
    again.scope = Scope::Once;
    add(&mut rules, again);
    add(&mut rules, rule("allow words cargo"));
    expect!["allow by r3"].assert_eq(&shown(&rules.judge(&publish, 5)));
}

#[test]
fn a_rule_is_listed_taken_back_and_ends_with_its_time() {
    let mut rules = Rules::new();
    let mut timed = rule("allow tool fmt");
    timed.expires_at = Some(50);
    timed.reason = "while I am away".to_owned();
    add(&mut rules, timed);
    add(&mut rules, rule("allow path src/**"));
    let fmt = Wanted::new("fmt", Effect::Reversible, On::Other);
    assert_eq!(rules.judge(&fmt, 49).verdict, RuleVerdict::Allow);
    assert_eq!(rules.judge(&fmt, 50).verdict, RuleVerdict::Ask);

    let anna = Actor::new(ActorKind::Person, "anna");
    let event = rules.revoke(RuleId(2), anna.clone(), "enough", 60).expect("it counts");
    rules.record(event).expect("it is legal");
    let edit = Wanted::new("edit", Effect::Reversible, On::Paths(&["src/a.rs"]));
    assert_eq!(rules.judge(&edit, 61).verdict, RuleVerdict::Ask);
    let listed: Vec<String> =
        rules.iter().map(|one| serde_json::to_string(one).expect("it prints")).collect();
    expect![[r#"
        {"id":"r1","added_at":1,"used":0,"revoked":null,"rule":{"tool":"fmt","verdict":"allow","scope":"session","given_by":{"kind":"person","name":"anna"},"reason":"while I am away","expires_at":50}}
        {"id":"r2","added_at":1,"used":0,"revoked":[{"kind":"person","name":"anna"},"enough"],"rule":{"target":{"path":"src/**"},"verdict":"allow","scope":"session","given_by":{"kind":"person","name":"anna"}}}"#]].assert_eq(&listed.join("\n"));
    let refused = |event: Result<RuleEvent, RuleError>| event.map_err(|error| error.to_string()).unwrap_err();
    expect!["r2 does not count any more"].assert_eq(&refused(rules.revoke(RuleId(2), anna.clone(), "", 62)));
    expect!["no rule r9; there is a rule up to r2"].assert_eq(&refused(rules.revoke(
        RuleId(9),
        anna,
        "",
        62,
    )));
}

#[test]
fn neither_a_model_nor_the_harness_gives_rules_or_takes_them_back() {
    let mut rules = Rules::new();
    add(&mut rules, rule("deny path **/*.key"));
    for kind in [ActorKind::Model, ActorKind::Harness] {
        let by = Actor::new(kind, "");
        let refused = Err(RuleError::NotPermitted { by: by.clone() });
        assert_eq!(rules.add(Rule::new(RuleVerdict::Allow, by.clone()), 1), refused);
        assert_eq!(rules.revoke(RuleId(1), by, "", 1), refused);
    }
}

#[test]
fn a_decision_ahead_names_its_rules_and_a_question_is_none() {
    let mut rules = Rules::new();
    add(&mut rules, rule("allow path src/**"));
    add(&mut rules, rule("deny path **/*.key"));
    let judge =
        |path: &str| rules.judge(&Wanted::new("edit", Effect::Reversible, On::Paths(&[path])), 1).ruling();
    let allowed = judge("src/a.rs").expect("a rule allows it");
    assert_eq!((allowed.verdict, allowed.by.to_string().as_str()), (Verdict::Approve, "policy r1"));
    let refused = judge("a.key").expect("a rule forbids it");
    assert_eq!((refused.verdict, refused.reason.as_str()), (Verdict::Discard, "forbidden by r2"));
    assert_eq!(judge("docs/a.md"), None);
}

#[test]
fn rules_that_are_kept_outside_are_adopted_and_dropped_with_what_is_kept() {
    let always = |text: &str| {
        let mut rule = rule(text);
        rule.scope = Scope::Always;
        rule
    };
    let by = Actor::new(ActorKind::Policy, "rules.json");
    let mut rules = Rules::new();
    add(&mut rules, rule("allow tool fmt"));
    let (tests, docs) = (always("allow words cargo test"), always("allow path docs/**"));
    let mut adopt = |kept: &[Rule]| {
        let events = rules.adopt(kept, &by, 9).expect("a policy may");
        let mut lines = Vec::new();
        for event in events {
            let what = match &event.change {
                RuleChange::Added(_) => "added",
                RuleChange::Revoked { .. } => "revoked",
                _ => "used",
            };
            lines.push(format!("{} {what}", event.rule));
            rules.record(event).expect("it is legal");
        }
        lines.join(", ")
    };
    expect!["r2 added"].assert_eq(&adopt(std::slice::from_ref(&tests)));
    expect![""].assert_eq(&adopt(&[tests.clone(), rule("allow any")]));
    expect!["r3 added"].assert_eq(&adopt(&[tests.clone(), docs.clone()]));
    expect!["r2 revoked"].assert_eq(&adopt(&[docs]));
    expect!["r3 revoked, r4 added"].assert_eq(&adopt(&[tests]));
}

#[test]
fn a_rule_from_another_time_is_not_read_as_a_wider_one() {
    let read = |field: &str| {
        let rule = r#"{"verdict":"allow","scope":"session","given_by":{"kind":"person"}}"#;
        serde_json::from_str::<Rule>(&rule.replacen('{', &format!("{{{field}"), 1))
    };
    assert!(read("").is_ok());
    assert!(read(r#""only_on":"mondays","#).is_err());
    assert!(read(r#""target":{"moon":"full"},"#).is_err());
    assert!(read(r#""target":{"command":{"words":["a"],"within":"src"}},"#).is_err());
}

#[test]
fn the_json_form_is_a_promise() {
    let mut rules = Rules::new();
    let mut rule = rule("ask words git push");
    rule.tool = Some("run".to_owned());
    rule.effects = BTreeSet::from([Effect::Irreversible]);
    rule.deciders = BTreeSet::from([ActorKind::Person]);
    rule.reason = "it leaves the house".to_owned();
    let added = rules.add(rule, 1).expect("a person may");
    rules.record(added.clone()).expect("it is legal");
    let used = rules.used(RuleId(1), "p3", 2).expect("it counts");
    let path = rules.add(self::rule("allow path src/**"), 3).expect("a person may");
    let revoked = rules.revoke(RuleId(1), Actor::new(ActorKind::Person, ""), "", 4).expect("it counts");
    let lines: Vec<String> = [added, used, path, revoked]
        .iter()
        .map(|event| {
            let text = serde_json::to_string(event).expect("it prints");
            assert_eq!(serde_json::from_str::<RuleEvent>(&text).ok().as_ref(), Some(event));
            text
        })
        .collect();
    expect![[r#"
        {"rule":"r1","at":1,"change":{"added":{"tool":"run","effects":["irreversible"],"target":{"command":{"words":["git","push"]}},"verdict":"ask","deciders":["person"],"scope":"session","given_by":{"kind":"person","name":"anna"},"reason":"it leaves the house"}}}
        {"rule":"r1","at":2,"change":{"used":{"on":"p3"}}}
        {"rule":"r2","at":3,"change":{"added":{"target":{"path":"src/**"},"verdict":"allow","scope":"session","given_by":{"kind":"person","name":"anna"}}}}
        {"rule":"r1","at":4,"change":{"revoked":{"by":{"kind":"person"},"reason":""}}}"#]].assert_eq(&lines.join("\n"));
}

const RULES: [&str; 9] = [
    "allow any",
    "ask any by model",
    "deny path **/*.key",
    "allow path src/**",
    "ask path src/x/**",
    "allow tool edit",
    "allow words cargo test",
    "deny words rm",
    "ask effect irreversible",
];

proptest! {
    #[test]
    fn the_order_of_rules_does_not_matter(
        chosen in prop::sample::subsequence(RULES.as_slice(), 0..=9).prop_flat_map(|chosen| (Just(chosen.clone()), Just(chosen).prop_shuffle())),
        path in prop::sample::select(vec!["src/a.rs", "src/x/a.rs", "a.key", "src/.x", "b"]),
        command in prop::sample::select(vec!["cargo test", "rm x", "cargo test; rm x", "ls"]),
        files in any::<bool>(),
    ) {
        let paths = [path];
        let on = if files { On::Paths(&paths) } else { On::Command(command) };
        let wanted = Wanted::new("edit", Effect::Irreversible, on);
        let one = rules_of(&chosen.0).judge(&wanted, 1);
        let other = rules_of(&chosen.1).judge(&wanted, 1);
        prop_assert_eq!((one.verdict, one.deciders), (other.verdict, other.deciders));
    }

    #[test]
    fn one_more_path_never_makes_it_milder(
        chosen in prop::sample::subsequence(RULES.as_slice(), 0..=9),
        paths in prop::collection::vec(prop::sample::select(vec!["src/a.rs", "src/x/a.rs", "a.key", "b"]), 1..4),
    ) {
        let rules = rules_of(&chosen);
        let judge = |paths: &[&str]| rules.judge(&Wanted::new("edit", Effect::Reversible, On::Paths(paths)), 1);
        prop_assert!(judge(&paths).verdict >= judge(&paths[1..]).verdict || paths.len() == 1);
        // Nobody is asked who could not approve, and the harness never is.
        let deciders = judge(&paths).deciders;
        prop_assert!(!deciders.is_empty() && !deciders.contains(&ActorKind::Harness));
    }

    #[test]
    fn a_rule_that_allows_and_is_taken_back_leaves_no_more_allowed(
        chosen in prop::sample::subsequence(RULES.as_slice(), 0..=9),
        command in prop::sample::select(vec!["cargo test", "rm x", "cargo test; rm x", "ls"]),
    ) {
        let wanted = Wanted::new("edit", Effect::Irreversible, On::Command(command));
        let with = rules_of(&chosen).judge(&wanted, 1).verdict;
        for place in (0..chosen.len()).filter(|place| chosen[*place].starts_with("allow")) {
            let mut fewer = chosen.clone();
            fewer.remove(place);
            prop_assert!(rules_of(&fewer).judge(&wanted, 1).verdict >= with);
        }
    }

    #[test]
    fn a_rule_that_forbids_never_makes_anything_milder(
        chosen in prop::sample::subsequence(RULES.as_slice(), 0..=9),
        command in prop::sample::select(vec!["cargo test", "rm x", "cargo test; rm x", "sudo rm x", "ls"]),
    ) {
        let wanted = Wanted::new("run", Effect::Irreversible, On::Command(command));
        let without = rules_of(&chosen).judge(&wanted, 1).verdict;
        let with = rules_of(&[chosen, vec!["deny words rm"]].concat()).judge(&wanted, 1).verdict;
        prop_assert!(with >= without);
    }
}

fn rules_of(texts: &[&str]) -> Rules {
    let mut rules = Rules::new();
    for text in texts {
        add(&mut rules, rule(text));
    }
    rules
}

#[track_caller]
fn add(rules: &mut Rules, rule: Rule) {
    let event = rules.add(rule, 1).expect("a person may");
    rules.record(event).expect("it is legal");
}

/// `allow path src/** by person`
pub(crate) fn rule(text: &str) -> Rule {
    let (text, by) = text.split_once(" by ").unwrap_or((text, ""));
    let words: Vec<&str> = text.split(' ').collect();
    let mut rule = Rule::new(
        match words[0] {
            "allow" => RuleVerdict::Allow,
            "ask" => RuleVerdict::Ask,
            _ => RuleVerdict::Deny,
        },
        Actor::new(ActorKind::Person, "anna"),
    );
    match words[1] {
        "path" => rule.target = Some(RuleTarget::Path(words[2].parse().expect("it is a pattern"))),
        "words" => {
            let pattern = CommandPattern::beginning(words[2..].iter().copied()).expect("it has words");
            rule.target = Some(RuleTarget::Command(pattern));
        }
        "tool" => rule.tool = Some(words[2].to_owned()),
        "effect" => rule.effects = BTreeSet::from([effect(words[2])]),
        _ => {}
    }
    rule.deciders = by
        .split(',')
        .filter_map(|kind| match kind {
            "model" => Some(ActorKind::Model),
            "person" => Some(ActorKind::Person),
            _ => None,
        })
        .collect();
    rule
}

fn effect(word: &str) -> Effect {
    if word == "reversible" { Effect::Reversible } else { Effect::Irreversible }
}

#[track_caller]
fn check(rules: &[&str], wanted: &[&str], expected: Expect) {
    let answers = |rules: &Rules| {
        let mut lines = String::new();
        for line in wanted {
            let words: Vec<&str> = line.split(' ').collect();
            let command = line.split_once(" ! ").map(|(_, command)| command);
            let on = match command {
                Some(command) => On::Command(command),
                None => On::Paths(&words[2..]),
            };
            let judgement = rules.judge(&Wanted::new(words[0], effect(words[1]), on), 1);
            lines.push_str(&format!("{line}\n    {}\n", shown(&judgement)));
        }
        lines
    };
    expected.assert_eq(&answers(&rules_of(rules)));
}

fn shown(judgement: &Judgement) -> String {
    let rules: Vec<String> = judgement.rules.iter().map(ToString::to_string).collect();
    let by = if rules.is_empty() { String::new() } else { format!(" by {}", rules.join(" ")) };
    let deciders: Vec<String> = judgement.deciders.iter().map(ToString::to_string).collect();
    match judgement.verdict {
        RuleVerdict::Allow => format!("allow{by}"),
        RuleVerdict::Ask => format!("ask {}{by}", deciders.join(" ")),
        RuleVerdict::Deny => format!("deny{by}"),
    }
}
