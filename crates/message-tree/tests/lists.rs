//! A list of messages behaves as a vector does, and its copies stay as they were.

use std::sync::Arc;

use proptest::prelude::*;
use trunkline_message_tree::{Message, MessageList};

#[derive(Clone, Debug)]
enum Act {
    Push(usize),
    Truncate(usize),
    Copy,
    /// Goes on with a copy that was made before.
    Back(usize),
    Replace(usize),
    Pop,
    /// The same allocations in a list that was made from nothing.
    Again,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (1..150usize).prop_map(Act::Push),
        // So many that there are several blocks of chunks.
        1 => (3_900..4_300usize).prop_map(Act::Push),
        2 => (0..400usize).prop_map(Act::Truncate),
        1 => (4_000..9_000usize).prop_map(Act::Truncate),
        2 => Just(Act::Copy),
        1 => (0..8usize).prop_map(Act::Back),
        1 => prop_oneof![0..400usize, 4_000..9_000usize].prop_map(Act::Replace),
        1 => Just(Act::Pop),
        1 => Just(Act::Again),
    ];
    prop::collection::vec(act, 0..20)
}

fn assert_same(list: &MessageList, model: &[Arc<Message>]) {
    assert_eq!(list.len(), model.len());
    assert_eq!(list.is_empty(), model.is_empty());
    assert!(list.iter().zip(model).all(|(ours, theirs)| Arc::ptr_eq(ours, theirs)));
    assert_eq!(list.iter().len(), model.len());
    assert!(list.iter().rev().eq(model.iter().rev()));
    assert_eq!((list.first(), list.last()), (model.first(), model.last()));
    for place in [0, 1, 63, 64, 65, 4_095, 4_096, 8_191, model.len() / 2, model.len(), model.len() + 64] {
        assert_eq!(list.get(place), model.get(place));
        assert!(list.iter().skip(place).eq(model.iter().skip(place)));
        assert!(list.range(place..).eq(model.iter().skip(place)));
        assert!(list.range(..place).eq(model.iter().take(place)));
        assert!(list.range(1..=place).eq(model.iter().take(place.saturating_add(1)).skip(1)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_list_is_a_vector_whose_copies_share(acts in acts()) {
        let mut list = MessageList::new();
        let mut model: Vec<Arc<Message>> = Vec::new();
        let mut copies = Vec::new();
        let mut said = 0;
        for act in acts {
            match act {
                Act::Push(count) => for _ in 0..count {
                    said += 1;
                    let message = Arc::new(Message::user(said.to_string()));
                    list.push(Arc::clone(&message));
                    model.push(message);
                },
                Act::Truncate(len) => {
                    list.truncate(len);
                    model.truncate(len);
                }
                Act::Pop => prop_assert_eq!(list.pop(), model.pop()),
                Act::Copy => copies.push((list.clone(), model.clone())),
                Act::Back(copy) => if let Some((old, was)) = copies.get(copy) {
                    (list, model) = (old.clone(), was.clone());
                },
                Act::Replace(place) => {
                    let message = Arc::new(Message::user("another"));
                    prop_assert_eq!(list.get_mut(place).is_some(), place < model.len());
                    if place < model.len() {
                        list[place] = Arc::clone(&message);
                        model[place] = message;
                    }
                }
                Act::Again => list = model.iter().cloned().collect(),
            }
            assert_same(&list, &model);
        }
        for (copy, was) in &copies {
            assert_same(copy, was);
            let shared = was.iter().zip(&model).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
            prop_assert_eq!(copy.shared_with(&list), shared);
            prop_assert_eq!(list.shared_with(copy), shared);
            prop_assert_eq!(*copy == list, *was == model);
        }
    }
}

#[test]
fn equal_lists_need_not_share() {
    let say = || MessageList::from((0..100).map(|n| Message::user(n.to_string())).collect::<Vec<_>>());
    assert_eq!(say(), say());
    assert_eq!(say().shared_with(&say()), 0);
    let mut longer = say();
    longer.push(Message::user("on").into());
    assert_ne!(longer, say());
    assert_eq!(longer[100].text(), "on");
}

#[test]
#[should_panic(expected = "a list of 0 messages has none at place 3")]
fn a_place_behind_the_end_is_named() {
    let _ = &MessageList::new()[3];
}
