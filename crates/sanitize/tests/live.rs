//! What is kept from one request to the next says what a look at the whole list says.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use trunkline_message_tree::{Message, NodeId, Origin, notation};
use trunkline_sanitize::{
    IdScope, LiveCheck, LiveList, Prefix, PrefixDigest, Reasoning, Repair, RequestFacts, Tail, WireRules,
    sanitize,
};

use crate::generate::{busy, facts, legal, list, rules};

fn some() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: asked.cases.max(6_000), ..asked }
}

/// What a list came to: the messages that are sent, what was repaired, and the digest of what is sent.
type Answer = (Vec<Arc<Message>>, Vec<Repair>, Option<PrefixDigest>);

fn answer(list: Option<LiveList<'_>>) -> Option<Answer> {
    list.map(|list| (list.messages.to_vec(), list.repairs.to_vec(), list.prefix))
}

/// Asks a check, holds its answer against a new check and against a look at the whole list, and returns it.
fn ask(
    check: &mut LiveCheck,
    messages: &[Arc<Message>],
    kept: usize,
    rules: &WireRules,
    facts: &RequestFacts,
    last: &mut Option<Vec<Arc<Message>>>,
) -> Result<Option<Answer>, TestCaseError> {
    let fresh = answer(LiveCheck::new().list(messages, 0, rules, facts));
    let found = check.list(messages, kept, rules, facts);
    if let (Some(list), Some(last)) = (&found, &last) {
        let same = list.messages.iter().zip(last).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        prop_assert!(list.kept <= same, "{} are said to be as before, and {} are", list.kept, same);
    }
    let found = answer(found);
    *last = found.as_ref().map(|(messages, ..)| messages.clone());
    prop_assert_eq!(&found, &fresh, "a new check says otherwise");
    if let Some((sent, repairs, prefix)) = &found {
        let list: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
        let whole = sanitize(&list, rules, facts);
        prop_assert!(!whole.thinking_off);
        prop_assert_eq!(repairs, &whole.repairs);
        prop_assert!(sent.iter().map(|message| &**message).eq(&*whole.messages));
        if repairs.is_empty() {
            prop_assert!(matches!(whole.messages, Cow::Borrowed(_)));
            prop_assert!(sent.iter().zip(messages).all(|(sent, given)| Arc::ptr_eq(sent, given)));
        }
        let digest = rules.reasoning_bound.then(|| {
            let mut before = Prefix::after(facts.head.as_ref());
            whole.messages.iter().for_each(|message| before.message(message));
            before.digest()
        });
        prop_assert_eq!(*prefix, digest);
    }
    Ok(found)
}

fn renumbered(messages: Vec<Message>, from: usize) -> impl Iterator<Item = Message> {
    let node = move |index: usize| Some(NodeId::new((from + index) as u32));
    messages.into_iter().enumerate().map(move |(index, message)| Message { node: node(index), ..message })
}

proptest! {
    #![proptest_config(some())]

    #[test]
    fn a_kept_check_says_what_a_look_at_the_whole_list_says(
        steps in proptest::collection::vec(
            (
                prop_oneof![Just(1.0), 0.0..=1.0_f64],
                prop_oneof![legal(), list(), busy(), busy()],
                proptest::option::weighted(0.15, (rules(), facts())),
            ),
            1..7,
        ),
        one in rules(),
        facts in facts(),
        named in 0..WireRules::NAMES.len(),
        is_named in any::<bool>(),
        numbers in any::<bool>(),
    ) {
        let named = if is_named { WireRules::named(WireRules::NAMES[named]).expect("a known name") } else { one };
        let mut check = LiveCheck::new();
        let mut messages: Vec<Arc<Message>> = Vec::new();
        let mut last = None;
        for (keeps, more, others) in steps {
            // Now and then it is asked otherwise.
            let (rules, other) = others.as_ref().map_or((&named, &facts), |(rules, facts)| (rules, facts));
            // What is known of answers is not taken back.
            let mut asked = other.clone();
            asked.prefixes.clone_from(&facts.prefixes);
            let facts = &asked;
            let kept = (messages.len() as f64 * keeps) as usize;
            messages.truncate(kept);
            match numbers {
                true => messages.extend(renumbered(more, kept).map(Arc::new)),
                false => messages.extend(more.into_iter().map(Arc::new)),
            }
            let legal = ask(&mut check, &messages, kept, rules, facts, &mut last)?.is_some_and(|(_, repairs, _)| repairs.is_empty());
            prop_assert_eq!(legal, check.is_legal(&messages, messages.len(), rules, facts));
            last = None;
        }
    }

}

proptest! {
    // Each case asks some twenty times.
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases.max(6_000)) / 4, ..ProptestConfig::default() })]

    /// As a session asks: message by message, under the same rules.
    #[test]
    fn a_list_that_grows_is_mended_as_it_would_be_as_a_whole(
        list in prop_oneof![list(), busy(), proptest::collection::vec(busy(), 1..4).prop_map(|all| all.concat())],
        cuts in proptest::collection::vec((any::<proptest::sample::Index>(), 0..3_u8), 0..3),
        rules in rules(),
        facts in facts(),
    ) {
        let list: Vec<Arc<Message>> = renumbered(list, 0).map(Arc::new).collect();
        let mut check = LiveCheck::new();
        let (mut last, mut kept) = (None, 0);
        let mut lengths: Vec<usize> = (0..=list.len()).collect();
        // Now and then it is walked back.
        for (at, back) in cuts {
            let at = at.index(lengths.len());
            let length = lengths[at].saturating_sub(usize::from(back));
            lengths.insert(at, length);
        }
        for length in lengths {
            ask(&mut check, &list[..length], kept.min(length), &rules, &facts, &mut last)?;
            kept = length;
        }
    }
}

fn shared(text: &str) -> Vec<Arc<Message>> {
    notation::parse(text).expect("the input of a test is notation").into_iter().map(Arc::new).collect()
}

#[test]
fn what_was_wrong_and_went_is_forgotten() {
    let (rules, facts) = (WireRules::openai_chat(), RequestFacts::default());
    let mut check = LiveCheck::new();
    let mut messages = shared("user: hi\nassistant:\n+ call c1 f {}\nresult c1: one\nassistant: so");
    assert!(check.is_legal(&messages, 0, &rules, &facts));
    messages.extend(shared("user: on\nassistant:\n+ call c2 f {}\nuser: and?"));
    assert!(!check.is_legal(&messages, 4, &rules, &facts), "c2 has no result");
    messages.truncate(6);
    messages.extend(shared("result c2: two"));
    assert!(check.is_legal(&messages, 6, &rules, &facts));
}

#[test]
fn an_id_that_comes_again_counts_until_one_of_them_goes() {
    let (rules, facts) = (WireRules::anthropic_strict(), RequestFacts::default());
    let mut check = LiveCheck::new();
    let turn = |id: &str| {
        shared(&format!("user: q\nassistant:\n+ call {id} f {{}}\nuser:\n+ result {id}: one\nassistant: so"))
    };
    let messages = turn("c1");
    assert!(check.is_legal(&[&messages[..], &shared("user: on")].concat(), 0, &rules, &facts));
    let again = [&messages[..], &turn("c1"), &shared("user: on")].concat();
    assert!(!check.is_legal(&again, messages.len(), &rules, &facts));
    let other = [&messages[..], &turn("c2"), &shared("user: on")].concat();
    assert!(check.is_legal(&other, messages.len(), &rules, &facts));
}

/// The laws would hold of a check that never knows.
#[test]
fn most_lists_that_have_to_be_mended_are() {
    let mut runner = TestRunner::deterministic();
    let (mut found, mut all) = (0, 0);
    for _ in 0..600 {
        let made = (busy(), rules(), facts()).new_tree(&mut runner).expect("a list").current();
        let (list, rules, facts) = made;
        let whole = sanitize(&list, &rules, &facts);
        if whole.thinking_off || whole.repairs.is_empty() {
            continue;
        }
        let shared: Vec<Arc<Message>> = list.iter().cloned().map(Arc::new).collect();
        all += 1;
        found += usize::from(LiveCheck::new().list(&shared, 0, &rules, &facts).is_some());
    }
    assert!(all > 300, "{all} lists");
    assert!(found * 100 >= all * 90, "{found} of {all}");
}

/// Asks after each message of a list, under one check, and returns the repairs of the whole; each time the check must know.
fn grown(rules: &WireRules, facts: &RequestFacts, text: &str) -> String {
    let messages: Vec<Arc<Message>> =
        shared(text).iter().zip(0..).map(|(message, at)| numbered(message, at)).collect();
    let (mut check, mut last, mut repairs) = (LiveCheck::new(), None, Vec::new());
    for length in 1..=messages.len() {
        let found = ask(&mut check, &messages[..length], length - 1, rules, facts, &mut last);
        let found = found.unwrap_or_else(|error| panic!("{length} messages: {error}"));
        (_, repairs, _) = found.unwrap_or_else(|| panic!("{length} messages: the check does not know"));
    }
    repairs.iter().map(|repair| format!("{repair}\n")).collect()
}

fn numbered(message: &Message, at: u32) -> Arc<Message> {
    Arc::new(Message { node: Some(NodeId::new(at)), ..message.clone() })
}

fn asked_of(origin: Origin) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.origin = Some(origin);
    facts
}

#[test]
fn calls_that_a_provider_ran_are_known() {
    let legal = r#"user: search
        assistant:
        + server-call s1 {"type":"server_tool_use","id":"s1"}
        + server-result s1 {"type":"web_search_tool_result"}
        + text: found
        user: again
        assistant:
        + server-call s2 {"type":"server_tool_use","id":"s2"}
        + call c1 read {}
        result c1: 42
        assistant:
        + server-result s2 {"type":"web_search_tool_result"}
        + text: there
        user: thanks"#;
    let mut rules = WireRules::anthropic();
    rules.tail = Tail::Any;
    expect![[""]].assert_eq(&grown(&rules, &RequestFacts::default(), legal));
    let half = format!(
        "{legal}
        assistant:
        + server-call s3 {{}}
        + text: I look
        user: and?
        assistant: so
        user: yes"
    );
    let dropped = expect![[r#"
        dropped server call: incomplete
    "#]];
    dropped.assert_eq(&grown(&rules, &RequestFacts::default(), &half));
}

#[test]
fn a_turn_of_many_calls_is_known() {
    let calls: String = (0..20).map(|call| format!("+ call c{call} read {{}}\n")).collect();
    let results: String = (0..20).map(|call| format!("result c{call}: 42\n")).collect();
    let text = format!("user: go\nassistant:\n{calls}{results}assistant: so\nuser: on");
    let mut rules = WireRules::openai_chat();
    let messages = shared(&text);
    let mut check = LiveCheck::new();
    assert!(check.is_legal(&messages, 0, &rules, &RequestFacts::default()));
    rules.ids_unique_in = IdScope::History;
    assert!(check.is_legal(&messages, messages.len(), &rules, &RequestFacts::default()));
}

#[test]
fn reasoning_of_another_model_is_known() {
    let text = "user: hi
        assistant:
        + thinking s1: hmm
        + call c1 read {}
        + origin anthropic haiku
        + stop tool_use
        result c1: 42
        assistant:
        + thinking s2: so
        + text: hello
        + origin anthropic haiku
        user: well?
        assistant:
        + thinking s3: hmm
        + call c2 read {}
        + origin anthropic opus
        + stop tool_use
        result c2: 42
        user: on";
    let mut rules = WireRules::anthropic();
    rules.tail = Tail::Any;
    for origin in [Origin::new("anthropic", "opus"), Origin::new("anthropic", "opus").at("here")] {
        let dropped = expect![[r#"
            dropped thinking (1): written by another model
            dropped thinking (1): written by another model
        "#]];
        dropped.assert_eq(&grown(&rules, &asked_of(origin.clone()), text));
        let mut bound = rules.clone();
        bound.reasoning_bound = true;
        assert_eq!(grown(&bound, &asked_of(origin), text).lines().count(), 2);
    }
}

#[test]
fn reasoning_that_nobody_signed_and_whose_loop_is_over_is_known() {
    let round = |call: u32| {
        format!(
            "user: go
            assistant:
            + thinking: I look
            + call c{call} read {{}}
            + origin p m here
            + stop tool_use
            result c{call}: 42
            assistant:
            + thinking: I see
            + text: so
            + origin p m here
            + stop end_turn\n"
        )
    };
    let text = format!("{}{}{}user: on", round(1), round(2), round(3));
    let mut rules = WireRules::anthropic();
    (rules.reasoning, rules.tail) = (Reasoning::SignedOrReturned, Tail::Any);
    let repairs = grown(&rules, &asked_of(Origin::new("p", "m").at("here")), &text);
    assert_eq!(repairs, "dropped thinking (1): its tool loop is over\n".repeat(6));
}

#[test]
fn what_is_mended_alike_each_time_is_known() {
    // Names, ids, arguments, results that are lost, late, doubled or nowhere, messages in a row, a stub at the head.
    let text = r#"assistant: hello
        user: hi
        user: there
        assistant:
        + call c1 fs/read []
        + call c1 read {}
        result c1: 42
        assistant:
        + call c1 read {}
        user: stop
        result c1: late
        result c9: nowhere
        assistant:
        + call c2 read {}
        result c2:
        result c2: more
        user:
        assistant: done
        user: thanks"#;
    let mut kinds = BTreeSet::new();
    for name in WireRules::NAMES {
        let mut rules = WireRules::named(name).expect("a known name");
        rules.tail = Tail::Any;
        let repairs = grown(&rules, &asked_of(Origin::new("p", "m").at("here")), text);
        kinds.extend(repairs.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned));
    }
    assert!(kinds.len() > 6, "{kinds:?}");
}

/// What is encrypted has no place on the wire, and so goes before anybody asks what it stands behind.
#[test]
fn reasoning_that_has_no_place_is_not_told_as_bound() {
    let mut rules = WireRules::named("deepseek").expect("a known name");
    (rules.reasoning, rules.reasoning_bound) = (Reasoning::Plain, true);
    let mut facts = RequestFacts::default();
    facts.prefixes = [(NodeId::new(0), Prefix::after(None).digest())].into_iter().collect();
    facts.head = Some(Prefix::after(None).digest());
    let dropped = expect![[r#"
        dropped thinking (1): not on this wire
    "#]];
    dropped.assert_eq(&grown(&rules, &facts, "assistant:\n+ redacted: xyz\n+ text: so\nuser: on"));
}

#[test]
fn an_id_that_was_made_is_taken_for_later_calls_too() {
    let turn = |id: &str| format!("assistant:\n+ call {id} f {{}}\nuser:\n+ result {id}: 42\n");
    let text = format!("user: q\n{}{}{}assistant: so\nuser: on", turn("c1"), turn("c1"), turn("c1_2"));
    let mut rules = WireRules::anthropic_strict();
    rules.tail = Tail::Any;
    let renamed = expect![[r#"
        renamed call c1 to c1_2: id taken
        renamed call c1_2 to c1_2_2: id taken
    "#]];
    renamed.assert_eq(&grown(&rules, &RequestFacts::default(), &text));
}
