//! What is kept from one request to the next says what a look at the whole list says.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use trunkline_message_tree::{Message, notation};
use trunkline_sanitize::{LiveCheck, RequestFacts, WireRules, sanitize};

use crate::generate::{facts, legal, list, rules};

fn some() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: asked.cases.max(6_000), ..asked }
}

proptest! {
    #![proptest_config(some())]

    #[test]
    fn a_kept_check_says_what_a_new_one_says(
        steps in proptest::collection::vec(
            (0.0..=1.0_f64, prop_oneof![legal(), list()], proptest::option::weighted(0.2, (rules(), facts()))),
            1..6,
        ),
        one in rules(),
        facts in facts(),
        named in 0..WireRules::NAMES.len(),
        is_named in any::<bool>(),
    ) {
        let named = if is_named { WireRules::named(WireRules::NAMES[named]).expect("a known name") } else { one };
        let mut check = LiveCheck::new();
        let mut messages: Vec<Arc<Message>> = Vec::new();
        for (keeps, more, others) in steps {
            // Now and then it is asked otherwise.
            let (rules, other) = others.as_ref().map_or((&named, &facts), |(rules, facts)| (rules, facts));
            // What is known of answers is not taken back.
            let mut asked = other.clone();
            asked.prefixes.clone_from(&facts.prefixes);
            let facts = &asked;
            let kept = (messages.len() as f64 * keeps) as usize;
            messages.truncate(kept);
            messages.extend(more.into_iter().map(Arc::new));
            let legal = check.is_legal(&messages, kept, rules, facts);
            prop_assert_eq!(legal, LiveCheck::new().is_legal(&messages, 0, rules, facts));
            if legal {
                let list: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
                let sanitized = sanitize(&list, rules, facts);
                prop_assert_eq!(&sanitized.repairs, &[]);
                prop_assert!(!sanitized.thinking_off);
                prop_assert!(matches!(sanitized.messages, Cow::Borrowed(_)));
            }
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
