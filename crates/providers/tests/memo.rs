//! A memo changes what encoding costs, never what it gives.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use trunkline_message_tree::Message;
use trunkline_providers::{Anthropic, Cache, EncodeError, HttpRequest, Memo, Request, Wire};

use crate::every_wire::wires;

/// What happens to a conversation between two requests.
#[derive(Clone, Debug)]
enum Step {
    /// The person speaks; twice in a row is legal.
    Ask(String),
    /// The model answers in words.
    Answer(String),
    /// The model calls so many tools and all are answered.
    Call(usize, String),
    /// Back to an earlier message, one after which a person may speak.
    Revert(Index),
    /// A message is another one from now on.
    Edit(Index, String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = || "[a-z\\n\"ü]{1,12}x";
    let step = prop_oneof![
        3 => words().prop_map(Step::Ask),
        3 => words().prop_map(Step::Answer),
        3 => (1_usize..4, words()).prop_map(|(calls, words)| Step::Call(calls, words)),
        1 => any::<Index>().prop_map(Step::Revert),
        1 => (any::<Index>(), words()).prop_map(|(index, words)| Step::Edit(index, words)),
    ];
    prop::collection::vec(step, 1..24)
}

fn apply(step: &Step, messages: &mut Vec<Arc<Message>>, calls: &mut usize) {
    match step {
        Step::Ask(words) => messages.push(Message::user(words).into()),
        Step::Answer(words) => messages.push(Message::assistant(words).into()),
        Step::Call(count, words) => {
            let ids: Vec<String> = (0..*count).map(|number| format!("call_{}", *calls + number)).collect();
            *calls += count;
            let mut notation = "assistant: I look\n".to_owned();
            ids.iter().for_each(|id| notation.push_str(&format!("+ call {id} f {{\"a\": 1}}\n")));
            let parsed = trunkline_message_tree::notation::parse(&notation).expect("it is well formed");
            messages.extend(parsed.into_iter().map(Arc::new));
            messages.extend(ids.iter().map(|id| Arc::new(Message::tool_result(id, words, false))));
        }
        Step::Revert(index) => {
            let keep = 2 + index.index(messages.len() - 1);
            messages.truncate(keep);
            while messages
                .last()
                .is_some_and(|last| last.calls().next().is_some() || last.results().count() > 0)
            {
                messages.pop();
            }
        }
        Step::Edit(index, words) => {
            let at = 1 + index.index(messages.len() - 1);
            if messages[at].calls().next().is_none() && messages[at].results().next().is_none() {
                let role = messages[at].role;
                let mut changed = Message::user(words);
                changed.role = role;
                messages[at] = changed.into();
            }
        }
    }
    if messages.len() < 2 {
        messages.push(Message::user("go on").into());
    }
}

/// What the request would be with this memo and without one.
fn both(
    wire: &dyn Wire,
    request: &Request,
    memo: &mut Memo,
) -> (Result<HttpRequest, EncodeError>, Result<HttpRequest, EncodeError>) {
    (wire.encode_next(request, memo), wire.encode(request))
}

proptest! {
    #[test]
    fn with_a_memo_and_without_the_bytes_are_the_same(steps in steps(), cache in 0..3) {
        for (_, wire) in wires() {
            let mut memo = Memo::new();
            let mut calls = 0;
            let mut messages: Vec<Arc<Message>> =
                vec![Message::system("be brief").into(), Message::user("hello").into()];
            for step in &steps {
                apply(step, &mut messages, &mut calls);
                let mut request = Request::new("m", messages.clone());
                request.cache = [Cache::Off, Cache::Short, Cache::Long][cache as usize];
                let (next, fresh) = both(&*wire, &request, &mut memo);
                prop_assert_eq!(next, fresh, "{} after {:?}", wire.name(), step);
            }
        }
    }
}

#[test]
fn what_was_encoded_is_shared_with_the_next_request_and_not_copied() {
    for (_, wire) in wires() {
        let long = "words ".repeat(40_000);
        let mut messages: Vec<Arc<Message>> = (0..6)
            .map(|number| match number % 2 {
                0 => Arc::new(Message::user(format!("{number} {long}"))),
                _ => Arc::new(Message::assistant(format!("{number} {long}"))),
            })
            .collect();
        messages.push(Message::user("and now?").into());
        let mut memo = Memo::new();
        let first = wire.encode_next(&Request::new("m", messages.clone()), &mut memo).expect("legal");
        messages.push(Message::assistant("this").into());
        messages.push(Message::user("why?").into());
        let second = wire.encode_next(&Request::new("m", messages), &mut memo).expect("legal");
        let largest = |http: &HttpRequest| {
            let chunk = http.body.chunks().iter().max_by_key(|chunk| chunk.len()).expect("not empty");
            (chunk.as_ptr(), chunk.len())
        };
        assert_eq!(largest(&first).0, largest(&second).0, "{}", wire.name());
        assert!(largest(&first).1 > 500_000, "{}", wire.name());
    }
}

#[test]
fn what_was_taken_back_may_be_said_again() {
    let wire = Anthropic::new();
    let parse = |text: &str| -> Vec<Arc<Message>> {
        trunkline_message_tree::notation::parse(text)
            .expect("well formed")
            .into_iter()
            .map(Arc::new)
            .collect()
    };
    let start = parse("user: hi");
    let called = parse("assistant:\n+ call c1 f {}\nresult c1: ok");
    let mut memo = Memo::new();
    let mut encode = |messages: &[Arc<Message>]| {
        wire.encode_next(&Request::new("m", messages.to_vec()), &mut memo).map(|_| ())
    };
    let once = [start.clone(), called.clone()].concat();
    assert_eq!(encode(&once), Ok(()));
    assert_eq!(encode(&start), Ok(()));
    assert_eq!(encode(&once), Ok(()));
    // An id that was answered may come again.
    assert_eq!(encode(&[start, called.clone(), called].concat()), Ok(()));
    assert_eq!(encode(&once), Ok(()));
}
