//! What a model may do with branches that it left itself, and with no others.

use std::collections::HashMap;

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::{Author, HeadMove, Message, MoveKind, NodeId, notation};
use trunkline_revert::{
    Ask, CallPlace, Category, Granted, Mover, OwnBranches, Prompts, Rates, Request, drain_asks, merge_own,
    outline_branches, plan, plan_return, turn,
};

use crate::story::{AT, Story, check};

const START: &str = "
    n0 system: be brief
    n1 user: which parser?";

#[test]
fn a_model_goes_back_to_its_branch_and_what_it_did_since_is_a_branch_of_its_own() {
    check(
        START,
        "assistant The hand-written one.
         tools bench
         revert tangent n1 300 lines [n7]
         assistant A generated one.
         return failure n3 it is slow
         show
         return completion n7 both are known",
        expect![[r#"
            < revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            < return applied (failure): the conversation goes on from n6, the end of the branch that begins with n2; what came after n1 was left, and a note (lesson) stands behind n6
            system: be brief
            user: which parser?
            assistant: The hand-written one.
            assistant:
            + call c101 bench {}
            result c101: bench answers
            assistant:
            + call c102 revert_to_state {"category":"tangent","step":"n1","summary":"300 lines [n7]"}
            result c102: revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            harness: [revert-lesson] you came back to this branch: the messages from n2 on stand again; what was left for it: it is slow — left 3 messages\nGo on from here.
            < return applied (completion): the conversation goes on from n9, the end of the branch that begins with n7; what came after n1 was left, and a note (outcome) stands behind n9
        "#]],
    );
}

#[test]
fn what_others_left_is_out_of_reach_and_the_refusal_says_who_and_what_would_work() {
    check(
        START,
        "assistant one
         revert failure n1 no
         assistant two
         person failure n1 not that way
         assistant three
         return failure n5 back
         return failure n1 back
         return failure n99 back
         merge n5
         return failure n2 back
         undo
         return failure n2 back
         merge n2",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            ! return refused: you did not leave the branch of n5; the user did; branches that you could go back to: n4 (newest last)
            ! return refused: n1 is on the current branch; branches that you could go back to: n4 (newest last)
            ! return refused: n99 not found; branches that you could go back to: n4 (newest last)
            ! merge refused: you did not leave the branch of n5; the user did; branches that could be merged: n4 (newest last)
            < return applied (failure): the conversation goes on from n4, the end of the branch that begins with n2; what came after n1 was left, and a note (lesson) stands behind n4
            ! return refused: you did not leave the branch of n2; an undo or a redo did; there is no branch that you could go back to now
            ! merge refused: you did not leave the branch of n2; an undo or a redo did; there is no branch that could be merged now
        "#]],
    );
}

#[test]
fn a_branch_behind_one_that_a_person_left_is_out_of_reach() {
    check(
        START,
        "assistant one
         assistant two
         revert failure n2 two is wrong
         assistant three
         person failure n1 none of this
         assistant four
         return failure n3 back
         merge n3",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n2; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            ! return refused: the branch of n3 starts at n2, and the user left n2, not you; there is no branch that you could go back to now
            ! merge refused: the branch of n3 starts at n2, and the user left n2, not you; there is no branch that could be merged now
        "#]],
    );
}

#[test]
fn words_of_a_person_are_not_left_for_a_branch() {
    let script = "
        assistant one
        revert failure n1 no
        assistant two
        user and now?
        return failure n2 back";
    check(
        START,
        script,
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            ! return refused: what would be left contains a user message (n6); there is no branch that you could go back to now
        "#]],
    );
    // Where a rule lets them leave, they do, and no copy follows.
    let mut story = Story::new(START);
    story.play(script);
    let own = OwnBranches::of(&story.tree, &story.notes, &story.records);
    let back = Request::new(Category::Failure, NodeId::new(2), None);
    let leave = Mover { prompts: Prompts::Leave, ..Mover::MODEL };
    let plan = plan_return(&story.tree, &own, &back, leave).unwrap();
    assert_eq!((plan.prompts.len(), plan.copies.len(), plan.target), (1, 0, NodeId::new(4)));
    let ask = Mover { prompts: Prompts::Ask, ..Mover::MODEL };
    assert!(plan_return(&story.tree, &own, &back, ask).is_err());
}

#[test]
fn a_step_that_a_policy_took_is_not_the_models() {
    let mut story = Story::new(START);
    story.play("assistant one");
    let harness = Mover { author: Author::Harness, prompts: Prompts::Refuse };
    let outcome = plan(&story.tree, &Request::new(Category::Failure, NodeId::new(1), None), harness).unwrap();
    let outcome = outcome.outcome(&[], AT, turn(&story.tree));
    let mut draft = story.tree.draft();
    draft.move_head(outcome.head_move).unwrap();
    draft.append(Message::assistant("two"), AT).unwrap();
    draft.into_entries().into_iter().for_each(|entry| story.tree.record(entry).unwrap());
    // As notes of early versions are read, which do not say whose step it was; the record does.
    let mut note = outcome.note.clone();
    note.author = Author::Model;
    for notes in [[outcome.note.clone()], [note]] {
        let own = OwnBranches::of(&story.tree, &notes, std::slice::from_ref(&outcome.record));
        let refused = merge_own(&story.tree, &notes, &own, &[NodeId::new(2)]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "merge refused: you did not leave the branch of n2; the harness did; there is no branch that could be merged now"
        );
        assert_eq!(outline_branches(&own, &notes), "there is no branch that you left");
    }
}

/// Nothing of a log is believed: a note may name a move that was a person's.
#[test]
fn a_note_that_claims_a_move_of_a_person_makes_no_branch_of_the_model() {
    let mut story = Story::new(START);
    story.play("assistant one\nperson failure n1 no\nassistant two");
    story.notes[0].author = Author::Model;
    let own = OwnBranches::of(&story.tree, &story.notes, &[]);
    assert!(own.tip_of(NodeId::new(2)).is_err() && own.newest().is_empty());
}

#[test]
fn a_branch_that_ends_in_open_calls_is_refused() {
    // As in a log that was put together by hand: the head stood on calls when it was moved.
    let mut story = Story::new(START);
    story.play("tools read");
    let mut draft = story.tree.draft();
    draft
        .move_head(HeadMove { from: NodeId::new(3), to: NodeId::new(2), kind: MoveKind::Fork, at: AT })
        .unwrap();
    draft
        .move_head(HeadMove { from: NodeId::new(2), to: NodeId::new(1), kind: MoveKind::ModelRevert, at: AT })
        .unwrap();
    draft.append(Message::assistant("two"), AT).unwrap();
    draft.into_entries().into_iter().for_each(|entry| story.tree.record(entry).unwrap());
    let note = serde_json::json!({
        "kind": "lesson", "anchor": "n1", "made_by": 1, "abandoned": ["n2"], "turn": 1,
    });
    let notes = [serde_json::from_value(note).unwrap()];
    let own = OwnBranches::of(&story.tree, &notes, &[]);
    let back = Request::new(Category::Failure, NodeId::new(2), None);
    let refused = plan_return(&story.tree, &own, &back, Mover::MODEL);
    // n2 can be landed on behind its result, which is not where the head stood.
    assert_eq!(
        refused.unwrap_err().to_string(),
        "return refused: n2 ends in calls that never got their results; there is no branch that you could go back to now"
    );
}

#[test]
fn one_turn_makes_one_move_and_the_others_hear_so() {
    let mut story = Story::new(START);
    story.play("assistant one\nrevert failure n1 no\nassistant two");
    let call = |index| CallPlace { node: story.tree.head(), index, call_id: format!("c{index}") };
    let revert =
        |index| Ask::Revert(Request::new(Category::Failure, NodeId::new(1), None).from_call(call(index)));
    let back =
        |index| Ask::Return(Request::new(Category::Failure, NodeId::new(2), None).from_call(call(index)));
    let merge = |index| Ask::Merge { branches: vec![NodeId::new(3)], call: call(index) };
    let told = |asks: &[Ask]| -> String {
        let known = (story.notes.as_slice(), story.records.as_slice());
        let answers = drain_asks(&story.tree, known, asks, Mover::MODEL);
        let lines = answers.iter().map(|answer| match answer {
            Ok(Granted::Move(plan)) => format!("head to {}\n", plan.target),
            Ok(Granted::Merge(merge)) => format!("merges {:?}\n", merge.with),
            Err(refusal) => format!("{refusal}\n"),
        });
        lines.collect()
    };
    expect![[r#"
        merges [n4]
        revert refused: another request of this turn changed the conversation first
        return refused: another request of this turn changed the conversation first
        merge refused: another request of this turn changed the conversation first
    "#]]
    .assert_eq(&told(&[merge(0), revert(1), back(2), merge(3)]));
    expect![[r#"
        head to n4
        merge refused: another request of this turn changed the conversation first
        revert refused: another request of this turn changed the conversation first
    "#]]
    .assert_eq(&told(&[back(0), merge(1), revert(2)]));
}

#[test]
fn a_return_costs_what_comes_back_and_a_merge_what_it_adds() {
    let mut story = Story::new(START);
    story.play(&format!(
        "assistant {}\nrevert failure n1 no\nassistant {}",
        "one ".repeat(400),
        "two ".repeat(100)
    ));
    let own = OwnBranches::of(&story.tree, &story.notes, &story.records);
    let back = Request::new(Category::Failure, NodeId::new(2), None);
    let outcome = plan_return(&story.tree, &own, &back, Mover::MODEL).unwrap();
    let outcome = outcome.outcome(&[], AT, turn(&story.tree)).with_price(&story.tree, [], &Rates::uncached());
    let merge = merge_own(&story.tree, &story.notes, &own, &[NodeId::new(2)]).unwrap();
    let call = CallPlace { node: story.tree.head(), index: 0, call_id: "c".to_owned() };
    let merge = merge.asked_by(call, &story.tree, &Rates::uncached());
    expect![[r#"
        ~99 prompt tokens leave, ~6 stay (none of them cached), ~482 are read anew; does not pay by its tokens alone
        ~0 prompt tokens leave, ~105 stay (none of them cached), ~261 are read anew; does not pay by its tokens alone
    "#]]
    .assert_eq(&format!("{}\n{}\n", outcome.record.price.unwrap().text(), merge.price.unwrap().text()));
}

/// Something that is done to a conversation, as a script has it; `PART` becomes a node.
fn act() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("assistant on it".to_owned()),
        2 => Just("tools read".to_owned()),
        1 => Just("user and now?".to_owned()),
        4 => Just("revert failure PART why".to_owned()),
        4 => Just("return tangent PART why".to_owned()),
        2 => Just("merge PART".to_owned()),
        2 => Just("person failure PART why".to_owned()),
        2 => Just("undo".to_owned()),
        1 => Just("redo".to_owned()),
        1 => Just("go PART".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Who left a node is seen from the trunk before and after each act, and not from what was recorded of it.
    #[test]
    fn a_model_never_reaches_a_branch_that_it_did_not_leave(acts in prop::collection::vec((act(), 0..1000_usize), 0..40)) {
        let mut story = Story::new(START);
        let mut left_by_model: HashMap<NodeId, bool> = HashMap::new();
        for (act, part) in acts {
            let node = NodeId::new((part % story.tree.len()) as u32);
            let (trunk, length, moves) = (story.tree.trunk().ids().to_vec(), story.tree.len(), story.tree.moves().len());
            if act.starts_with("go") {
                crate::merge::go(&mut story.tree, node);
            } else {
                story.play(&act.replace("PART", &node.to_string()));
            }
            let by_model = ["revert", "return", "merge"].iter().any(|word| act.starts_with(word));
            let came: Vec<NodeId> = story.tree.trunk().ids().iter().copied().filter(|id| id.index() < length && !trunk.contains(id)).collect();
            if by_model {
                let merged = story.tree.nodes().skip(length).flat_map(|(_, node)| node.link().further_parents().to_vec());
                let merged = merged.flat_map(|tip| story.tree.ancestry(tip).unwrap().map(|(id, _)| id).take_while(|id| !story.tree.is_on_trunk(*id)).collect::<Vec<_>>());
                for reached in came.into_iter().chain(merged) {
                    prop_assert_eq!(left_by_model.get(&reached), Some(&true), "{} by {}\n{}", reached, act, notation::print_tree(&story.tree));
                }
                if story.tree.moves().len() == moves {
                    prop_assert_eq!(story.tree.len(), length + 2, "a request that is refused adds its call and its answer");
                }
            }
            for id in trunk.into_iter().chain((length..story.tree.len()).map(|id| NodeId::new(id as u32))) {
                if !story.tree.is_on_trunk(id) {
                    left_by_model.insert(id, by_model);
                }
            }
            // Nothing is listed that is not the model's, and what is listed can be gone to or is barred by words of a person.
            let own = OwnBranches::of(&story.tree, &story.notes, &story.records);
            for tip in own.newest() {
                prop_assert_eq!(left_by_model.get(&tip), Some(&true));
                prop_assert_eq!(own.tip_of(tip), Ok(tip));
            }
        }
    }
}
