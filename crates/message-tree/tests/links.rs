//! Nodes with several parents, and nodes that stand for others.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::notation::{parse_tree, print_tree};
use trunkline_message_tree::{
    Entry, HeadMove, Message, MessageTree, MoveId, MoveKind, NodeId, Timestamp, TrunkItem,
};

fn tree(text: &str) -> MessageTree {
    parse_tree(text).expect("a tree in a test is well formed")
}

fn refusal(text: &str) -> String {
    parse_tree(text).expect_err("the tree does not fit").to_string()
}

fn shown(text: &str) -> String {
    let tree = tree(text);
    let ids: Vec<String> = tree
        .trunk()
        .items()
        .map(|item| match item {
            TrunkItem::Node(id, _) => id.to_string(),
            TrunkItem::Cover { id, span: (first, last), .. } => format!("{id}={first}..{last}"),
        })
        .collect();
    ids.join(" ")
}

const LINE: &str = "n0 system: s\nn1 user: a\nn2 assistant: b\nn3 user: c\nn4 assistant: d\n";

#[test]
fn a_span_is_covered_once_the_trunk_has_passed_it() {
    assert_eq!(shown(&format!("{LINE}n5 # n1..n4 harness: sum")), "n0 n1 n2 n3 n4");
    assert_eq!(shown(&format!("{LINE}n5 # n1..n4 harness: sum\nn6 user: e")), "n0 n5=1..4 n6");
    assert_eq!(shown(&format!("{LINE}n5 # n1..n2 harness: sum")), "n0 n5=1..2 n3 n4");
}

#[test]
fn a_revert_to_a_covered_node_uncovers() {
    let covered = format!("{LINE}n5 # n1..n4 harness: sum\nn6 user: e\n");
    assert_eq!(shown(&format!("{covered}head n4")), "n0 n1 n2 n3 n4");
    assert_eq!(shown(&format!("{covered}head n2\nn7 user: f")), "n0 n1 n2 n7");
    assert_eq!(shown(&format!("{covered}head n2\nundo")), "n0 n5=1..4 n6");
}

#[test]
fn what_a_move_uncovered_stays_so_when_the_trunk_grows_and_until_it_is_undone() {
    let covered = format!("{LINE}n5 # n1..n4 harness: sum\nn6 user: e\n");
    let grown = format!("{covered}head n4\nn7 user: f\n");
    assert_eq!(shown(&grown), "n0 n1 n2 n3 n4 n7");
    assert_eq!(shown(&format!("{grown}undo")), "n0 n5=1..4 n6");
    assert_eq!(shown(&format!("{grown}undo\nredo\nn8 user: g")), "n0 n1 n2 n3 n4 n7 n8");
    // It was uncovered wherever one goes from there.
    assert_eq!(shown(&format!("{grown}head n6")), "n0 n1 n2 n3 n4 n6");
    assert_eq!(shown(&format!("{covered}head n2\nhead n6")), "n0 n1 n2 n3 n4 n6");
    assert_eq!(shown(&format!("{covered}head n2\nhead n6\nundo\nundo")), "n0 n5=1..4 n6");
    // A later cover covers anew. With an undo of the move the wider one is back, and stands for all of it.
    let anew = format!("{grown}n8 # n2..n4 harness: again\n");
    assert_eq!(shown(&anew), "n0 n1 n8=2..4 n7");
    assert_eq!(shown(&format!("{anew}undo\nhead n7")), "n0 n5=1..4 n7");
}

#[test]
fn only_who_goes_to_a_covered_node_to_read_it_uncovers() {
    let covered = format!("{LINE}n5 # n1..n4 harness: sum\nn6 user: e\n");
    for (kind, lifts) in [
        (MoveKind::ModelRevert, true),
        (MoveKind::PersonRevert, true),
        (MoveKind::Fork, true),
        (MoveKind::Import, false),
        (MoveKind::Merge, false),
    ] {
        let mut tree = tree(&covered);
        for (to, there) in [(NodeId::ROOT, false), (NodeId::new(6), false), (NodeId::new(4), lifts)] {
            let head_move = HeadMove { from: tree.head(), to, kind, at: Timestamp(0) };
            tree.record(Entry::Move(head_move)).unwrap();
            assert_eq!(tree.lifted_by(NodeId::new(5)), there.then_some(MoveId(2)), "{kind:?} to {to}");
        }
    }
    // From another branch, by a line that left the trunk inside of the span and by one that left it before.
    let other = format!("{covered}head n2\nn7 user: f\nundo\nhead n0\nn8 user: g\n");
    assert_eq!(shown(&format!("{other}head n6")), "n0 n5=1..4 n6");
    assert_eq!(shown(&format!("{other}head n7\nhead n6")), "n0 n5=1..4 n6");
    assert_eq!(shown(&format!("{other}head n3\nhead n6")), "n0 n1 n2 n3 n4 n6");
}

#[test]
fn of_spans_that_overlap_the_one_that_was_covered_last_is_shown() {
    let two = format!("{LINE}n5 user: e\nn6 # n1..n2 harness: first\nn7 # n2..n4 harness: second");
    assert_eq!(shown(&two), "n0 n1 n7=2..4 n5");
}

#[test]
fn covering_moves_nothing() {
    let tree = tree(&format!("{LINE}n5 # n1..n4 harness: sum"));
    assert_eq!((tree.head().to_string(), tree.epoch(), tree.moves().len()), ("n4".to_owned(), 0, 0));
}

#[test]
fn what_is_no_span_is_refused() {
    expect!["line 6: n0 to n4 cannot be covered: a span leads from a node after the root down to the node that is its end"]
        .assert_eq(&refusal(&format!("{LINE}n5 # n0..n4 harness: sum")));
    expect!["line 6: n3 to n2 cannot be covered: a span leads from a node after the root down to the node that is its end"]
        .assert_eq(&refusal(&format!("{LINE}n5 # n3..n2 harness: sum")));
    expect!["line 7: n2 to n5 cannot be covered: a span leads from a node after the root down to the node that is its end"]
        .assert_eq(&refusal(&format!("{LINE}n5 < n1 user: e\nn6 # n2..n5 harness: sum")));
}

#[test]
fn a_merge_continues_the_head_and_keeps_what_it_came_from() {
    let text = "n0 system: s\nn1 user: a\nn2 assistant: b\nhead n1\nn3 assistant: c\nhead n1\nn4 & n2,n3 harness: both\n";
    let tree = tree(text);
    let merge = tree.node(tree.head()).unwrap();
    assert_eq!(merge.link().further_parents().len(), 2);
    assert_eq!(tree.trunk().ids().len(), 3);
    assert_eq!(print_tree(&tree), text);
}

#[test]
fn an_undo_of_a_merge_takes_it_off_the_trunk() {
    let before = "n0 system: s\nn1 user: a\nn2 assistant: b\nhead n1\nn3 assistant: c\n";
    let merged = tree(&format!("{before}head n3 as merge\nn4 & n2 harness: both\nundo"));
    assert_eq!(merged.trunk().ids(), tree(before).trunk().ids());
    assert_eq!(merged.len(), 5);
}

#[test]
fn what_cannot_be_merged_is_refused() {
    expect![
        "line 3: n1 cannot be merged: a node merges 1 to 64 others, each once, none of which is on the trunk"
    ]
    .assert_eq(&refusal("n0 system: s\nn1 user: a\nn2 & n1 harness: both"));
    expect![
        "line 4: n1 cannot be merged: a node merges 1 to 64 others, each once, none of which is on the trunk"
    ]
    .assert_eq(&refusal("n0 system: s\nn1 user: a\nhead n0\nn2 & n1,n1 harness: both"));
    expect!["line 2: n7 does not exist; the newest node is n0"]
        .assert_eq(&refusal("n0 system: s\nn1 & n7 harness: both"));
}

/// A step of a draft: what it does, and to which nodes, counted from the root.
fn steps() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    prop::collection::vec((0..6u8, 0..12usize, 0..12usize), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_draft_accepts_the_tree_accepts(before in steps(), steps in steps()) {
        let mut tree = tree("n0 system: s\nn1 user: a");
        for (place, steps) in [before, steps].into_iter().enumerate() {
            let mut draft = tree.draft();
            // A second move of a draft is checked by the tree.
            let mut moved = false;
            for (act, a, b) in steps {
                let (a, b) = (NodeId::new(a as u32), NodeId::new(b as u32));
                let (at, said) = (Timestamp(0), Message::harness("x"));
                let to = |kind, to| HeadMove { from: draft.head(), to, kind, at };
                let planned = if a.index() % 2 == 0 { tree.plan_undo(at) } else { tree.plan_redo(at) };
                match act {
                    0 | 1 => draft.append(said, at).map(drop).unwrap(),
                    2 => drop(draft.cover(a, b, said, at)),
                    3 => drop(draft.merge(vec![a, b], said, at)),
                    4 => moved |= draft.move_head(to(MoveKind::Fork, a)).is_ok(),
                    _ if moved => {}
                    _ => {
                        let kind = planned.as_ref().map_or(MoveKind::Undo { of: MoveId(a.index() as u32) }, |planned| planned.kind);
                        moved |= draft.move_head(to(kind, b)).is_ok();
                        if let (false, Some(planned)) = (moved, planned) {
                            moved = draft.move_head(HeadMove { from: draft.head(), ..planned }).is_ok();
                            prop_assert!(moved);
                        }
                    }
                }
            }
            for entry in draft.into_entries() {
                let told = format!("{place}: {entry:?}");
                prop_assert!(tree.record(entry).is_ok(), "{}", told);
            }
        }
    }
}
