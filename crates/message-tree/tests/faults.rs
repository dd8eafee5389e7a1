//! Behaviours that a predecessor had and this crate must not have, by their numbers in its catalogue of faults.

use expect_test::expect;
use trunkline_message_tree::notation::parse_tree;
use trunkline_message_tree::{
    Author, Content, Entry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId, Role, Timestamp,
    TreeError, TrunkItem,
};

const WORK: &str = "n0 system: s
    n1 user: go
    n2 assistant:
       + call c1 look {}
    n3 result c1: one
    n4 assistant: so";

fn tree(text: &str) -> MessageTree {
    parse_tree(text).expect("a tree in a test is well formed")
}

fn node(id: u32, parent: u32, at: u64, message: Message) -> Entry {
    let (id, parent) = (NodeId::new(id), Some(NodeId::new(parent)));
    Entry::Node { id, parent, at: Timestamp(at), link: Link::Next, message }
}

/// Replays the lines of a stored log, and returns what is wrong with it.
fn refusal(log: &str) -> String {
    let entries: Result<Vec<Entry>, _> = log.lines().map(serde_json::from_str).collect();
    match entries {
        Ok(entries) => MessageTree::replay(entries).expect_err("the log is damaged").to_string(),
        Err(fault) => fault.to_string(),
    }
}

fn stored(tree: &MessageTree) -> String {
    let lines: Vec<String> =
        tree.entries().map(|entry| serde_json::to_string(&entry).expect("it can be stored")).collect();
    lines.join("\n")
}

#[test]
fn p03_a_prompt_is_a_node_like_any_other() {
    let mut tree = tree(WORK);
    let to = NodeId::new(1);
    let back = HeadMove { from: tree.head(), to, kind: MoveKind::PersonRevert, at: Timestamp(0) };
    tree.record(Entry::Move(back)).unwrap();
    assert_eq!(tree.trunk().messages().next_back().map(Message::text).as_deref(), Some("go"));
}

#[test]
fn p04_an_id_that_cannot_be_read_is_an_error_and_no_node_without_an_id() {
    let log = stored(&tree(WORK));
    for (good, bad) in [
        (r#""id":"n3""#, r#""id":"3""#),
        (r#""id":"n3""#, r#""id":3"#),
        (r#""id":"n3","#, ""),
        (r#""parent":"n2""#, r#""parent":"node 2""#),
        (r#""node":"n3""#, r#""node":{"n":3}"#),
        (r#""author":"tool""#, r#""author":"ghost""#),
    ] {
        assert!(log.contains(good), "{good}");
        assert!(!refusal(&log.replace(good, bad)).is_empty(), "{bad}");
    }
}

#[test]
fn p05_an_id_that_was_given_already_is_refused() {
    let log = stored(&tree(WORK));
    let twice = log.replace(r#""id":"n4""#, r#""id":"n3""#);
    expect!["n3 cannot come now: the next node is n4"].assert_eq(&refusal(&twice));
}

#[test]
fn p06_a_parent_that_does_not_exist_is_refused() {
    let log = stored(&tree(WORK));
    let orphan = log.replace(r#""parent":"n2""#, r#""parent":"n9""#);
    expect!["n9 does not exist; the newest node is n2"].assert_eq(&refusal(&orphan));
    // Nor its own child, so a circle cannot be written down.
    let circle = log.replace(r#""parent":"n2""#, r#""parent":"n3""#);
    expect!["n3 does not exist; the newest node is n2"].assert_eq(&refusal(&circle));
    // Nor none, as if it were a second root.
    let root = log.replace(r#""parent":"n2""#, r#""parent":null"#);
    expect!["n3 cannot come now: the next node is n3"].assert_eq(&refusal(&root));
}

#[test]
fn p07_a_head_that_does_not_exist_is_refused_and_never_means_all_messages() {
    let mut tree = tree(WORK);
    let before = tree.trunk().ids().to_vec();
    let from = tree.head();
    for kind in [MoveKind::ModelRevert, MoveKind::PersonRevert, MoveKind::Fork, MoveKind::Import] {
        let lost = HeadMove { from, to: NodeId::new(77), kind, at: Timestamp(0) };
        let refused = tree.record(Entry::Move(lost.clone())).unwrap_err();
        assert!(matches!(refused, TreeError::UnknownNode { .. }), "{refused}");
        assert!(tree.draft().move_head(lost).is_err());
        assert_eq!((tree.head(), tree.trunk().ids()), (from, before.as_slice()));
    }
    let log =
        format!("{}\n{}", stored(&tree), r#"{"entry":"move","from":"n4","to":"n77","kind":"fork","at":0}"#);
    expect!["n77 does not exist; the newest node is n4"].assert_eq(&refusal(&log));
}

#[test]
fn p08_whatever_was_appended_is_on_the_trunk() {
    let mut tree = MessageTree::new(Message::system(""), Timestamp(0));
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let authors = [Author::Person, Author::Model, Author::Tool, Author::Harness];
    let opaque = Content::Opaque { wire: "of another program".to_owned(), json: "{}".to_owned() };
    let mut count = 1;
    for role in roles {
        for author in authors {
            for content in [vec![], vec![Content::text("x")], vec![opaque.clone()]] {
                let message = Message::new(role, author, content);
                tree.record(node(count, count - 1, 0, message)).unwrap();
                count += 1;
            }
        }
    }
    assert_eq!(tree.trunk().nodes().len(), count as usize);
    assert_eq!(tree.trunk().items().count(), count as usize);
}

#[test]
fn p09_p10_order_is_that_of_arrival_whatever_the_clock_says() {
    // Words of a person that were written while the tool ran, and a clock that was set back.
    let mut messages = parse_tree(WORK).unwrap().trunk().messages().cloned().collect::<Vec<_>>();
    messages.push(Message::user("steering"));
    let times = [900, 800, 700, 300, 200, 500];
    let mut tree = MessageTree::new(messages.remove(0), Timestamp(times[0]));
    for (number, message) in messages.into_iter().enumerate() {
        let id = number as u32 + 1;
        tree.record(node(id, id - 1, times[id as usize], message)).unwrap();
    }
    let expected: Vec<NodeId> = (0..6).map(NodeId::new).collect();
    assert_eq!(tree.trunk().ids(), expected);
    let again = MessageTree::replay(tree.entries()).unwrap();
    assert_eq!(again.trunk().ids(), expected);
    assert_eq!(again.trunk().items().map(TrunkItem::id).collect::<Vec<_>>(), expected);
}

#[test]
fn p60_p62_the_trunk_is_borrowed_and_nothing_is_held_twice() {
    let tree = tree(&format!("{WORK}\nhead n3\nn5 user: else"));
    for (id, node) in tree.trunk().nodes() {
        assert!(std::ptr::eq(node, tree.node(id).unwrap()), "{id}");
    }
    assert!(std::ptr::eq(tree.trunk().ids(), tree.trunk().ids()), "it is kept and not made for each reader");
    let kept: Vec<*const Message> =
        tree.nodes().map(|(_, node)| std::ptr::from_ref(node.message())).collect();
    assert!(tree.trunk().items().all(|item| kept.contains(&std::ptr::from_ref(item.message()))));
}

/// A walk that looked through everything for every message would take minutes here.
#[test]
fn p61_a_long_chat_is_walked_in_one_step_a_message() {
    const LENGTH: u32 = 100_000;
    let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
    for id in 1..LENGTH {
        let message = if id % 2 == 1 { Message::user("and?") } else { Message::assistant("so") };
        // All in the same millisecond.
        tree.record(node(id, id - 1, 7, message)).unwrap();
    }
    assert_eq!(tree.trunk().items().count(), LENGTH as usize);
    assert!(tree.trunk().ids().iter().all(|id| tree.is_on_trunk(*id)));
    assert_eq!(tree.ancestry(tree.head()).unwrap().count(), LENGTH as usize);
}

#[test]
fn p63_every_move_is_told_and_can_be_taken_back_and_made_again() {
    let text = format!("{WORK}\nhead n1 by model\nn5 assistant: else\nhead n3\nundo\nundo\nredo");
    let tree = tree(&text);
    let told: Vec<String> = tree
        .reflog()
        .map(|entry| {
            let HeadMove { from, to, kind, .. } = entry.head_move;
            format!(
                "{} {from} -> {to} {kind:?} {}",
                entry.id,
                if entry.in_force { "stands" } else { "taken back" }
            )
        })
        .collect();
    expect![[r#"
        m0 n4 -> n1 ModelRevert stands
        m1 n5 -> n3 PersonRevert taken back
        m2 n3 -> n5 Undo { of: MoveId(1) } stands
        m3 n5 -> n4 Undo { of: MoveId(0) } stands
        m4 n4 -> n5 Redo { of: MoveId(3) } stands"#]]
    .assert_eq(&told.join("\n"));
    // Every branch can be found: each node without children is the end of one.
    let ends: Vec<String> = tree
        .nodes()
        .map(|(id, _)| id)
        .filter(|id| tree.children(*id).next().is_none())
        .map(|id| format!("{id} from {}", tree.fork_of(id).expect("it is a node")))
        .collect();
    expect!["n4 from n1, n5 from n5"].assert_eq(&ends.join(", "));
}
