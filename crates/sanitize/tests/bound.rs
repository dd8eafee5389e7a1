//! Reasoning that is bound to what stood before it when it was written.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;
use trunkline_message_tree::{Content, Message, NodeId, Origin, ToolSpec, notation};
use trunkline_sanitize::{
    LiveCheck, Prefix, PrefixDigest, Prefixes, RepairKind, RequestFacts, Thinking, ThinkingLoss, WireRules,
    sanitize, violations,
};

use crate::generate::{facts, legal, list, rules};

fn anthropic() -> WireRules {
    let mut rules = WireRules::anthropic();
    rules.reasoning_bound = true;
    rules
}

fn responses() -> WireRules {
    let mut rules = WireRules::openai_responses();
    rules.reasoning_bound = true;
    rules
}

/// A list that is written down, whose messages are the nodes from n1 on.
fn parsed(text: &str) -> Vec<Message> {
    let mut messages = notation::parse(text).expect("the input of a test is notation");
    for (message, node) in messages.iter_mut().zip(1..) {
        message.node = Some(NodeId::new(node));
    }
    messages
}

/// The digest of a list that is written down, behind these tools.
fn behind(tools: &[ToolSpec], text: &str) -> PrefixDigest {
    let messages = parsed(text);
    let head = head(tools);
    let mut prefix = Prefix::after(head.as_ref());
    messages.iter().for_each(|message| prefix.message(message));
    prefix.digest()
}

fn head(tools: &[ToolSpec]) -> Option<PrefixDigest> {
    let mut prefix = Prefix::new();
    tools.iter().for_each(|tool| prefix.tool(tool));
    (!tools.is_empty()).then(|| prefix.digest())
}

/// What the judge says of a list, what comes out, and a line for each repair.
fn check(rules: &WireRules, facts: &RequestFacts, text: &str, expected: Expect) {
    let messages = parsed(text);
    let seen = violations(&messages, rules, facts);
    let sanitized = sanitize(&messages, rules, facts);
    let mut outcome: String = seen.iter().map(|violation| format!("?? {violation}\n")).collect();
    outcome.push_str(&notation::print(&sanitized.messages));
    sanitized.repairs.iter().for_each(|repair| outcome.push_str(&format!("-- {repair}\n")));
    expected.assert_eq(&outcome);
    assert_eq!(violations(&sanitized.messages, rules, facts), [], "the judge still sees damage");
}

/// Asserts that the list comes back as it is.
fn check_legal(rules: &WireRules, facts: &RequestFacts, text: &str) {
    let messages = parsed(text);
    assert_eq!(violations(&messages, rules, facts), [], "the judge sees damage");
    let sanitized = sanitize(&messages, rules, facts);
    assert_eq!(sanitized.repairs, []);
    assert!(std::ptr::eq(sanitized.messages.as_ptr(), messages.as_ptr()), "the list was copied");
}

fn known<const N: usize>(known: [(u32, PrefixDigest); N]) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.prefixes = known.into_iter().map(|(node, prefix)| (NodeId::new(node), prefix)).collect();
    facts
}

const TWO_ANSWERS: &str = "user: hi
    assistant:
    + thinking s2: hmm
    + text: hello
    user: well?
    assistant:
    + thinking s4: so
    + text: yes
    user: go on";

#[test]
fn d11_reasoning_that_stands_where_it_stood_goes_back() {
    let before = "user: hi";
    let later = "user: hi\nassistant:\n+ thinking s2: hmm\n+ text: hello\nuser: well?";
    check_legal(&anthropic(), &known([(2, behind(&[], before)), (4, behind(&[], later))]), TWO_ANSWERS);
    // Nothing is claimed of what nothing is known of, and nothing is asked where it is not bound.
    check_legal(&anthropic(), &known([(4, behind(&[], later))]), TWO_ANSWERS);
    check_legal(&WireRules::anthropic(), &known([(2, behind(&[], later))]), TWO_ANSWERS);
}

#[test]
fn d11_reasoning_behind_something_else_is_dropped_and_so_is_all_that_was_written_behind_it() {
    let other = "user: hello there";
    let later = "user: hi\nassistant:\n+ thinking s2: hmm\n+ text: hello\nuser: well?";
    check(
        &anthropic(),
        &known([(2, behind(&[], other)), (4, behind(&[], later))]),
        TWO_ANSWERS,
        expect![[r#"
            ?? n2 block 0: thinking may not go to this model
            user: hi
            assistant: hello
            user: well?
            assistant: yes
            user: go on
            -- dropped thinking (1): what stands before it has changed
            -- dropped thinking (1): what stands before it has changed
        "#]],
    );
}

#[test]
fn d11_what_was_written_after_the_loss_is_kept() {
    let other = "user: hello there";
    let later = "user: hi\nassistant: hello\nuser: well?";
    check(
        &anthropic(),
        &known([(2, behind(&[], other)), (4, behind(&[], later))]),
        TWO_ANSWERS,
        expect![[r#"
            ?? n2 block 0: thinking may not go to this model
            ?? n4 block 0: thinking may not go to this model
            user: hi
            assistant: hello
            user: well?
            assistant:
            + thinking s4: so
            + text: yes
            user: go on
            -- dropped thinking (1): what stands before it has changed
        "#]],
    );
}

#[test]
fn d11_other_tools_and_other_instructions_are_something_else() {
    let tool = ToolSpec::new("read", "Reads a file.", json!({ "type": "object" }));
    let written = known([(2, behind(std::slice::from_ref(&tool), "user: hi"))]);
    let with = |tools: &[ToolSpec]| {
        let mut facts = written.clone();
        facts.head = head(tools);
        let messages = parsed(TWO_ANSWERS);
        sanitize(&messages, &anthropic(), &facts).repairs.len()
    };
    let mut strict = tool.clone();
    strict.strict = Some(true);
    let told = ToolSpec::new("read", "Reads one file.", json!({ "type": "object" }));
    assert_eq!(with(std::slice::from_ref(&tool)), 0);
    for tools in [&[][..], &[tool.clone(), told.clone()], &[told], &[strict]] {
        assert_eq!(with(tools), 1, "{tools:?}");
    }
    let mut field = Prefix::new();
    field.tool(&tool);
    field.field("instructions", &json!("be brief"));
    assert_ne!(Some(field.digest()), head(&[tool]));
}

#[test]
fn d11_instructions_that_come_late_are_something_else_only_for_what_stands_behind_them() {
    let written = known([(2, behind(&[], "user: hi"))]);
    let thinks = "assistant:\n+ thinking s2: hmm\n+ text: hello\nuser: well?";
    let lost = |rules: &WireRules, text: &str, node: u32| {
        let mut messages = parsed(text);
        messages.iter_mut().for_each(|message| message.node = None);
        let answer =
            messages.iter_mut().find(|message| message.author == trunkline_message_tree::Author::Model);
        answer.expect("one answers").node = Some(NodeId::new(node));
        sent(&sanitize(&messages, rules, &written).messages, rules).is_empty()
    };
    let mut anywhere = WireRules::anthropic_mid_system();
    anywhere.reasoning_bound = true;
    for rules in [anthropic(), anywhere] {
        assert!(!lost(&rules, &format!("user: hi\n{thinks}"), 2));
        assert!(!lost(&rules, &format!("user: hi\n{thinks}\nsystem: be brief\nuser: go on"), 2));
        assert!(lost(&rules, &format!("user: hi\nsystem: be brief\n{thinks}"), 2));
        assert!(lost(&rules, &format!("system: be brief\nuser: hi\n{thinks}"), 2));
    }
}

#[test]
fn d11_a_running_loop_that_loses_its_reasoning_is_asked_without() {
    let text = "user: hi
        assistant:
        + thinking s2: hmm
        + call c1 read {}
        result c1: 42";
    let messages = parsed(text);
    let mut facts = known([(2, behind(&[], "user: hello there"))]);
    facts.thinking = Thinking::On;
    let sanitized = sanitize(&messages, &anthropic(), &facts);
    assert!(sanitized.thinking_off);
    facts.thinking = Thinking::Adaptive;
    assert!(!sanitize(&messages, &anthropic(), &facts).thinking_off, "the newer models take it without");
}

#[test]
fn d11_what_was_written_after_an_answer_went_whole_is_kept() {
    // The first answer was cut before it said anything. Without its reasoning it goes, and the second was written without it.
    let text = r#"user: hi
        assistant:
        + opaque openai-responses {"type":"reasoning","id":"rs_1","encrypted_content":"abc"}
        + opaque openai-responses {"type":"web_search_call","id":"ws_1"}
        user: well?
        assistant:
        + opaque openai-responses {"type":"reasoning","id":"rs_2","encrypted_content":"def"}
        + text: yes
        user: go on"#;
    check(
        &responses(),
        &known([(2, behind(&[], "user: hello there")), (4, behind(&[], "user: hi\nuser: well?"))]),
        text,
        expect![[r#"
            ?? n2 block 0: thinking may not go to this model
            ?? n4 block 0: thinking may not go to this model
            user: hi
            user: well?
            assistant:
            + opaque openai-responses {"type":"reasoning","id":"rs_2","encrypted_content":"def"}
            + text: yes
            user: go on
            -- dropped opaque block: incomplete
            -- dropped thinking (1): what stands before it has changed
            -- dropped assistant message: empty
        "#]],
    );
}

#[test]
fn other_rules_make_the_live_check_start_over() {
    let text = "user: hi\nassistant:\n+ thinking s2: hmm\n+ text: hello\nuser: well?";
    let messages: Vec<Arc<Message>> = parsed(text).into_iter().map(Arc::new).collect();
    let facts = known([(2, behind(&[], "user: hello there"))]);
    let mut check = LiveCheck::new();
    let found = check.list(&messages, 0, &anthropic(), &facts).expect("only reasoning is left out");
    let cause =
        |repairs: &[trunkline_sanitize::Repair]| repairs.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(cause(found.repairs), ["dropped thinking (1): what stands before it has changed"]);
    let mut absent = anthropic();
    absent.reasoning = trunkline_sanitize::Reasoning::Absent;
    let again = check.list(&messages, messages.len(), &absent, &facts).map(|list| cause(list.repairs));
    let fresh = LiveCheck::new().list(&messages, 0, &absent, &facts).map(|list| cause(list.repairs));
    assert_eq!(again, fresh);
    assert_eq!(again, Some(vec!["dropped thinking (1): not on this wire".to_owned()]));
}

#[test]
fn d11_on_responses_the_item_goes_with_those_that_point_at_it_and_words_keep_what_belongs_to_them() {
    check(
        &responses(),
        &known([(2, behind(&[], "user: hello there"))]),
        r#"user: hi
           assistant:
           + opaque openai-responses {"type":"reasoning","id":"rs_1","encrypted_content":"abc"}
           + opaque openai-responses {"type":"web_search_call","id":"ws_1"}
           + text: hello
           + opaque openai-responses {"besideText":{"annotations":[]}}
           + call c1 read {}
           result c1: 42"#,
        expect![[r#"
            ?? n2 block 0: thinking may not go to this model
            user: hi
            assistant: hello
            + opaque openai-responses {"besideText":{"annotations":[]}}
            + call c1 read {}
            result c1: 42
            -- dropped opaque block: incomplete
            -- dropped thinking (1): what stands before it has changed
        "#]],
    );
}

#[test]
fn what_a_service_does_not_read_changes_no_digest() {
    let mut one = Message::assistant("yes");
    let digest = |message: &Message| {
        let mut prefix = Prefix::new();
        prefix.message(message);
        prefix.digest()
    };
    let before = digest(&one);
    one.node = Some(NodeId::new(7));
    one.origin = Some(Origin::new("p", "m"));
    one.usage = Some(trunkline_message_tree::Usage::default());
    assert_eq!(digest(&one), before);
    // Two texts are not one, and a call is not the text of one.
    let two = [Content::text("y"), Content::text("es")];
    one.content = two.into();
    assert_ne!(digest(&one), before);
    assert_eq!(before.to_string().parse(), Ok(before));
    assert!("x".parse::<PrefixDigest>().is_err());
}

#[test]
fn facts_go_through_json() {
    let mut facts = known([(2, behind(&[], "user: hi")), (11, behind(&[], "user: ho"))]);
    facts.head = Some(behind(&[], "user: hu"));
    let json = serde_json::to_string(&facts).expect("facts are plain data");
    assert_eq!(serde_json::from_str::<RequestFacts>(&json).expect("own JSON is readable"), facts);
    let plain = serde_json::to_string(&RequestFacts::default()).expect("facts are plain data");
    assert!(!plain.contains("prefixes") && !plain.contains("head"));
}

/// Whether an answer holds reasoning that is signed.
fn signed(message: &Message, rules: &WireRules) -> bool {
    let mut rules = rules.clone();
    rules.reasoning_bound = true;
    rules.binds(message)
}

/// Returns the nodes whose reasoning is sent.
fn sent(messages: &[Message], rules: &WireRules) -> BTreeSet<NodeId> {
    messages.iter().filter(|message| signed(message, rules)).filter_map(|message| message.node).collect()
}

/// Behind what a list was asked for as it is sent, up to a node.
fn asked_at(messages: &[Message], node: NodeId, facts: &RequestFacts) -> PrefixDigest {
    let mut prefix = Prefix::after(facts.head.as_ref());
    let before = messages.iter().take_while(|message| message.node != Some(node));
    before.for_each(|message| prefix.message(message));
    prefix.digest()
}

/// What is known of each answer: that it stood where it stands, that it did not, or nothing.
fn known_of(
    list: &[Message],
    rules: &WireRules,
    facts: &RequestFacts,
    picks: &[u8],
) -> (RequestFacts, BTreeSet<NodeId>, BTreeSet<NodeId>) {
    let (mut facts, mut stay, mut go) = (facts.clone(), BTreeSet::new(), BTreeSet::new());
    facts.prefixes = Prefixes::default();
    let answers = sent(&sanitize(list, rules, &facts).messages, rules);
    for (node, pick) in answers.into_iter().zip(picks.iter().cycle()) {
        let now = sanitize(list, rules, &facts);
        let stands = asked_at(&now.messages, node, &facts);
        match pick {
            0 => continue,
            1 => {
                facts.prefixes.insert(node, behind(&[], "user: never said"));
                go.insert(node);
            }
            _ => {
                facts.prefixes.insert(node, stands);
                stay.insert(node);
            }
        }
    }
    (facts, stay, go)
}

fn some() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: asked.cases.max(2_000), ..asked }
}

/// A list in which answers reason, signed, and whether it is legal otherwise.
fn reasoned() -> impl Strategy<Value = (Vec<Message>, bool)> {
    let lists =
        prop_oneof![3 => legal().prop_map(|list| (list, true)), 1 => list().prop_map(|list| (list, false))];
    (lists, proptest::collection::vec(any::<bool>(), 12)).prop_map(|((mut list, is_legal), reasons)| {
        for (message, reasons) in list.iter_mut().zip(reasons) {
            let answers = message.role == trunkline_message_tree::Role::Assistant;
            if answers && reasons && !message.content.is_empty() {
                let signature = Some(format!("sig of {:?}", message.node));
                message.content.insert(0, Content::Thinking { text: "hmm".into(), signature });
            }
        }
        (list, is_legal)
    })
}

proptest! {
    #![proptest_config(some())]

    #[test]
    fn what_stands_where_it_stood_stays_and_the_rest_goes(
        (list, is_legal) in reasoned(),
        mixed in rules(),
        given in facts(),
        picks in proptest::collection::vec(0..4_u8, 1..6),
        is_mixed in prop::bool::weighted(0.3),
    ) {
        let mut rules = if is_mixed { mixed } else { WireRules::anthropic() };
        rules.reasoning_bound = true;
        let (facts, stay, go) = known_of(&list, &rules, &given, &picks);
        let sanitized = sanitize(&list, &rules, &facts);
        let left = sent(&sanitized.messages, &rules);
        // Where messages are joined or lose their thinking for other reasons no more is promised than the laws.
        if is_legal && !is_mixed && !sanitized.thinking_off {
            prop_assert!(stay.is_subset(&left), "{:?} of {:?}", left, stay);
            prop_assert!(go.is_disjoint(&left), "{:?} of {:?}", left, go);
            let lost = |why: &RepairKind| {
                matches!(why, RepairKind::ThinkingDropped { why: ThinkingLoss::PrefixChanged, .. })
            };
            prop_assert_eq!(sanitized.repairs.iter().filter(|repair| lost(&repair.kind)).count(), go.len());
        }
        prop_assert_eq!(&sanitized, &sanitize(list.clone(), &rules, &facts));
        let asked = sanitized.facts(&facts);
        prop_assert_eq!(violations(&sanitized.messages, &rules, &asked), []);
        let again = sanitize(&*sanitized.messages, &rules, &asked);
        prop_assert_eq!(&again.repairs, &[]);
        prop_assert_eq!(&again.messages, &sanitized.messages);
    }

    #[test]
    fn a_kept_check_leaves_out_what_a_look_at_the_whole_list_leaves_out(
        (list, _) in reasoned(),
        given in facts(),
        picks in proptest::collection::vec(0..4_u8, 1..6),
        cuts in proptest::collection::vec(0.0..=1.0_f64, 1..6),
    ) {
        let (rules, facts) = (anthropic(), given);
        let (facts, ..) = known_of(&list, &rules, &facts, &picks);
        let shared: Vec<Arc<Message>> = list.iter().cloned().map(Arc::new).collect();
        let mut check = LiveCheck::new();
        let mut kept = 0;
        for cut in cuts {
            let length = (shared.len() as f64 * cut) as usize;
            let whole = sanitize(&list[..length], &rules, &facts);
            let fresh = LiveCheck::new().list(&shared[..length], 0, &rules, &facts)
                .map(|list| (list.messages.to_vec(), list.repairs.to_vec(), list.prefix));
            let found = check.list(&shared[..length], kept.min(length), &rules, &facts);
            let found = found.map(|list| (list.messages.to_vec(), list.repairs.to_vec(), list.prefix));
            prop_assert_eq!(&found, &fresh);
            if let Some((messages, repairs, prefix)) = found {
                let mut sent = Prefix::after(facts.head.as_ref());
                whole.messages.iter().for_each(|message| sent.message(message));
                prop_assert_eq!(prefix, Some(sent.digest()));
                prop_assert!(messages.iter().map(|message| &**message).eq(&*whole.messages));
                prop_assert_eq!(&repairs, &whole.repairs);
                prop_assert!(!whole.thinking_off);
            }
            kept = length;
        }
    }
}
