//! What a tree accepts, and what it answers.

use expect_test::expect;
use trunkline_message_tree::notation::parse_tree;
use trunkline_message_tree::{
    Entry, HeadMove, Link, Message, MessageTree, MoveId, MoveKind, NodeId, Timestamp, TreeError,
};

fn tree(text: &str) -> MessageTree {
    parse_tree(text).expect("a tree in a test is well formed")
}

#[test]
fn a_draft_changes_nothing_until_its_entries_are_recorded() {
    let tree = tree("n0 system: s\nn1 user: a");
    let mut draft = tree.draft();
    draft.append(Message::assistant("b"), Timestamp(7)).unwrap();
    assert_eq!((tree.len(), draft.into_entries().len()), (2, 1));
}

#[test]
fn a_draft_that_is_recorded_too_late_is_refused_and_changes_nothing() {
    let mut tree = tree("n0 system: s\nn1 user: a");
    let mut stale = tree.draft();
    stale.append(Message::assistant("b"), Timestamp(0)).unwrap();
    let stale = stale.into_entries();
    let mut quicker = tree.draft();
    quicker.append(Message::assistant("c"), Timestamp(0)).unwrap();
    for entry in quicker.into_entries() {
        tree.record(entry).unwrap();
    }
    let before = tree.entries().collect::<Vec<_>>();
    let fault = tree.record(stale.into_iter().next().unwrap()).unwrap_err();
    expect!["n2 cannot come now: the next node is n3"].assert_eq(&fault.to_string());
    assert_eq!(tree.entries().collect::<Vec<_>>(), before);
}

#[test]
fn a_move_from_elsewhere_is_refused() {
    let mut tree = tree("n0 system: s\nn1 user: a\nn2 assistant: b");
    let elsewhere =
        HeadMove { from: NodeId::new(1), to: NodeId::ROOT, kind: MoveKind::PersonRevert, at: Timestamp(0) };
    let fault = tree.record(Entry::Move(elsewhere)).unwrap_err();
    assert_eq!(fault, TreeError::HeadMoved { expected: NodeId::new(1), actual: NodeId::new(2) });
}

#[test]
fn a_late_result_is_filed_and_visible_but_not_on_the_trunk() {
    let tree = tree(
        "n0 system: s\nn1 user: a\nn2 assistant:\n+ call c1 f {}\nn3 < n1 assistant: b\nn4 * n2 result c1: late",
    );
    assert_eq!(tree.children(NodeId::new(2)).collect::<Vec<_>>(), [NodeId::new(4)]);
    assert!(!tree.is_on_trunk(NodeId::new(4)));
    assert_eq!(tree.head(), NodeId::new(3));
}

#[test]
fn only_a_move_that_leaves_nodes_opens_an_epoch() {
    // Undo of a move to an ancestor goes forward again: nothing leaves the trunk.
    assert_eq!(tree("n0 system: s\nn1 user: a\nhead n0\nundo").epoch(), 1);
    assert_eq!(tree("n0 system: s\nn1 user: a\nhead n0\nn2 user: b\nundo").epoch(), 2);
}

#[test]
fn a_move_is_in_force_until_it_is_taken_back() {
    let first = MoveId(0);
    let start = "n0 system: s\nn1 user: a\nhead n0\n";
    assert!(tree(start).is_in_force(first));
    assert!(!tree(&format!("{start}undo")).is_in_force(first));
    assert!(tree(&format!("{start}undo\nredo")).is_in_force(first));
    assert!(!tree(&format!("{start}undo\nredo\nundo")).is_in_force(first));
    assert!(tree(&format!("{start}n2 user: b\nhead n1")).is_in_force(first), "an older move stays in force");
}

#[test]
fn a_new_move_ends_what_could_be_redone() {
    let tree = tree("n0 system: s\nn1 user: a\nhead n0\nundo\nhead n0");
    assert_eq!(tree.plan_redo(Timestamp(0)), None);
}

#[test]
fn an_undo_of_anything_but_the_latest_move_is_refused() {
    let mut tree = tree("n0 system: s\nn1 user: a\nn2 assistant: b\nhead n1\nhead n0");
    let older = HeadMove {
        from: NodeId::ROOT,
        to: NodeId::new(2),
        kind: MoveKind::Undo { of: MoveId(0) },
        at: Timestamp(0),
    };
    assert_eq!(tree.record(Entry::Move(older)), Err(TreeError::NotTheLatest { of: MoveId(0) }));
}

#[test]
fn a_message_knows_its_node_and_a_forged_one_does_not_count() {
    let mut tree = MessageTree::new(Message::system(""), Timestamp(0));
    let mut message = Message::user("a");
    message.node = Some(NodeId::new(99));
    let entry = Entry::Node {
        id: NodeId::new(1),
        parent: Some(NodeId::ROOT),
        at: Timestamp(0),
        link: Link::Next,
        message,
    };
    tree.record(entry).unwrap();
    assert_eq!(tree.node(NodeId::new(1)).unwrap().message().node, Some(NodeId::new(1)));
}
