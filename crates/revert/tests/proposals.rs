//! What becomes of steps back that were proposed, at the end of a turn and when the head moves.

use expect_test::{Expect, expect};
use trunkline_message_tree::{MessageTree, NodeId, Part, ToolResult, notation};
use trunkline_revert::{
    Category, Mover, Observation, Proposal, ProposalEvent, ProposalId, Proposals, Record, Request, Seen,
    StallEvent, StallPolicy, Tests, Watch,
};

/// `n3` is where a model asked to go back to `n1`, over the words `n2`; from there on it got nowhere until `n7`.
const TREE: &str = "n0 system: s
    n1 assistant: a
    n2 user: go
    n3 assistant: b
    n4 assistant:
    + call c1 look {}
    n5 result c1: same
    n6 assistant:
    + call c1 look {}
    n7 result c1: same";

fn node(number: u32) -> NodeId {
    NodeId::new(number)
}

fn asked(category: Category) -> Request {
    Request::new(category, node(1), Some("it is another bug"))
}

/// The proposal of a model that asked, `p0`, and that of a watch, `p1`, with that watch.
fn proposed() -> (MessageTree, Proposals, Watch) {
    let tree = notation::parse_tree(TREE).unwrap();
    let mut policy = StallPolicy::default();
    policy.turns = 1;
    let mut watch = Watch::new(policy);
    let stall = [5, 7].map(|end| {
        let look = tree.node(node(end - 1)).unwrap().message();
        let answer = tree.node(node(end)).unwrap().message().results().next().unwrap();
        watch.observe(&StallEvent::Turn(Observation::of_turn(node(end), look, &[answer], [])))
    });
    let mut proposals = Proposals::default();
    let p0 = Proposal::asked(&asked(Category::Failure), &[node(2)], node(3), ProposalId(0), 0);
    let stall = stall.into_iter().flatten().next().unwrap();
    for proposal in [p0, stall.propose(&tree, Mover::MODEL, ProposalId(1))] {
        for event in proposals.make(proposal) {
            proposals.record(&event).unwrap();
        }
    }
    (tree, proposals, watch)
}

/// A move that leaves these nodes.
fn leaving(abandoned: &[u32]) -> Record {
    let abandoned: Vec<NodeId> = abandoned.iter().copied().map(node).collect();
    let record = serde_json::json!({
        "category": "failure", "target": "n1", "landed": "n1", "abandoned": abandoned, "applied": true,
        "author": "model", "move_id": 4,
    });
    serde_json::from_value(record).unwrap()
}

fn check(events: &[ProposalEvent], expected: Expect) {
    let lines: Vec<String> =
        events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn a_turn_that_goes_nowhere_answers_nothing() {
    let (_, proposals, watch) = proposed();
    check(&proposals.answered_by_turn(None, &watch), expect![[r#""#]]);
}

#[test]
fn a_model_that_goes_back_has_taken_the_step_after_a_stall_and_not_the_one_for_a_person() {
    let (_, proposals, watch) = proposed();
    check(
        &proposals.answered_by_turn(Some(&leaving(&[6, 7])), &watch),
        expect![[r#"
        {"answered":{"id":1,"answer":{"became":"accepted","move_id":4},"by":"model"}}
    "#]],
    );
    check(
        &proposals.answered_by_turn(Some(&leaving(&[2, 3, 4, 5, 6, 7])), &watch),
        expect![[r#"
        {"answered":{"id":0,"answer":{"became":"overtaken"},"by":"harness"}}
        {"answered":{"id":1,"answer":{"became":"accepted","move_id":4},"by":"model"}}
    "#]],
    );
}

#[test]
fn a_request_that_was_refused_takes_no_step() {
    let (_, proposals, watch) = proposed();
    let mut refused = leaving(&[]);
    (refused.applied, refused.move_id, refused.landed) = (false, None, None);
    check(&proposals.answered_by_turn(Some(&refused), &watch), expect![[r#""#]]);
}

#[test]
fn progress_overtakes_what_a_watch_proposed() {
    let (_, proposals, mut watch) = proposed();
    watch.observe(&StallEvent::Person { node: node(7) });
    check(
        &proposals.answered_by_turn(None, &watch),
        expect![[r#"
        {"answered":{"id":1,"answer":{"became":"overtaken"},"by":"harness"}}
    "#]],
    );
}

#[test]
fn a_move_overtakes_what_it_leaves_but_for_what_it_takes() {
    let (_, proposals, _) = proposed();
    check(
        &proposals.overtaken_by_move(&[node(7)], None),
        expect![[r#"
        {"answered":{"id":1,"answer":{"became":"overtaken"},"by":"harness"}}
    "#]],
    );
    check(
        &proposals.overtaken_by_move(&[node(3), node(7)], None),
        expect![[r#"
        {"answered":{"id":0,"answer":{"became":"overtaken"},"by":"harness"}}
        {"answered":{"id":1,"answer":{"became":"overtaken"},"by":"harness"}}
    "#]],
    );
    check(
        &proposals.overtaken_by_move(&[node(3), node(7)], Some(ProposalId(0))),
        expect![[r#"
        {"answered":{"id":1,"answer":{"became":"overtaken"},"by":"harness"}}
    "#]],
    );
    check(&proposals.overtaken_by_move(&[node(2)], None), expect![[r#""#]]);
}

#[test]
fn the_same_question_is_asked_once_as_long_as_it_stands() {
    let (mut tree, proposals, _) = proposed();
    let asks = |tree: &MessageTree, category, prompts: &[NodeId]| {
        proposals.is_asked(tree, &asked(category), prompts)
    };
    assert!(asks(&tree, Category::Failure, &[node(2)]));
    assert!(!asks(&tree, Category::Tangent, &[node(2)]));
    assert!(!asks(&tree, Category::Failure, &[node(2), node(3)]));
    tree = notation::parse_tree(&format!("{TREE}\nhead n1")).unwrap();
    assert!(!asks(&tree, Category::Failure, &[node(2)]));
}

#[test]
fn a_turn_adds_its_tests_up_and_a_call_without_a_result_has_failed() {
    let tree = notation::parse_tree("n0 assistant:\n+ call c1 f {}\n+ call c2 f {}").unwrap();
    let message = tree.node(node(0)).unwrap().message();
    let result = ToolResult { call_id: "c1".to_owned(), content: vec![Part::text("ok")], is_error: false };
    let lines = ["3 passed; 1 failed", "no tests here", "2 passed"];
    let turn = Observation::of_turn(node(2), message, &[&result], lines);
    assert_eq!(turn.tests, Some(Tests { passed: 5, failed: 1 }));
    assert_eq!(turn.calls.iter().map(|call: &Seen| call.failed).collect::<Vec<_>>(), [false, true]);
    assert_eq!(Observation::of_turn(node(2), message, &[], []).tests, None);
}
