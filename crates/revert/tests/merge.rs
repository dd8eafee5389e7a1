//! What a merge carries into the trunk, and what it refuses.

use expect_test::{Expect, expect};
use trunkline_message_tree::{HeadMove, Message, MessageTree, MoveKind, NodeId};
use trunkline_revert::{Category, Merge, MergeRecord, Note, Request, merge};

use crate::story::{AT, Story};

pub(crate) const START: &str = "
    n0 system: be brief
    n1 user: which parser?";

pub(crate) fn n(index: u32) -> NodeId {
    NodeId::new(index)
}

/// Merges into the story's trunk, as a driver does, and returns the record.
pub(crate) fn carry_out(story: &mut Story, merge: &Merge) -> MergeRecord {
    let outcome = merge.outcome(AT);
    let mut draft = story.tree.draft();
    draft.move_head(outcome.head_move).unwrap();
    let node = draft.merge(outcome.with, outcome.message, AT).unwrap();
    for entry in draft.into_entries() {
        story.tree.record(entry).unwrap();
    }
    merge.record(node)
}

pub(crate) fn go(tree: &mut MessageTree, to: NodeId) {
    let mut draft = tree.draft();
    let from = tree.head();
    draft.move_head(HeadMove { from, to, kind: MoveKind::Fork, at: AT }).unwrap();
    for entry in draft.into_entries() {
        tree.record(entry).unwrap();
    }
}

/// Plays a script, goes back to `to`, and compares what a merge of the tips says.
fn check(tree: &str, script: &str, to: u32, tips: &[u32], expected: Expect) {
    let mut story = Story::new(tree);
    story.play(script);
    go(&mut story.tree, n(to));
    expected.assert_eq(&told(&story.tree, &story.notes, tips));
}

pub(crate) fn told(tree: &MessageTree, notes: &[Note], tips: &[u32]) -> String {
    let tips: Vec<NodeId> = tips.iter().copied().map(n).collect();
    match merge(tree, notes, &tips) {
        Ok(merge) => merge.text(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn branches_bring_their_conclusions_home() {
    check(
        START,
        "assistant The hand-written one is fast. It needs 300 lines.
         tools bench
         revert step-summary n2 measured: 40 MB/s
         assistant So the hand-written one it is! It needs 300 lines.
         person tangent n1
         assistant A generated one is slow. It needs 300 lines.",
        1,
        &[7, 8],
        expect![[r#"
            Merged from branches of this conversation: n7, n8. Each line ends in the nodes that it comes from.
            - checkpoint: measured: 40 MB/s (n2)
            - So the hand-written one it is! (n7)
            - It needs 300 lines. (n7, n8)
            - A generated one is slow. (n8)"#]],
    );
}

#[test]
fn notes_stand_by_kind_and_those_without_a_summary_say_nothing() {
    check(
        START,
        "assistant one
         tools a
         revert failure n2 a lesson
         tools b
         revert tangent n2 a finding
         tools c
         revert failure n2 another lesson
         tools d
         revert failure n2
         tools e
         revert completion n2 an outcome
         assistant two",
        1,
        &[23],
        expect![[r#"
            Merged from a branch of this conversation: n23. Each line ends in the nodes that it comes from.
            - outcome: an outcome (n2)
            - finding: a finding (n2)
            - lesson: a lesson (n2)
            - lesson: another lesson (n2)
            - two (n23)"#]],
    );
}

#[test]
fn a_lesson_is_carried_from_the_branch_that_it_is_about_and_a_pinned_note_is_not_said_again() {
    let lesson = "tools a
                  revert failure n1 a mutex deadlocks";
    check(
        START,
        lesson,
        1,
        &[5],
        expect![[r#"
        Merged from a branch of this conversation: n5. Each line ends in the nodes that it comes from.
        - lesson: a mutex deadlocks (n4)
        What tools changed there, files included, was neither undone nor done again."#]],
    );
    let outcome = "assistant the test passes
                   revert completion n1 the test passes";
    check(
        START,
        outcome,
        1,
        &[4],
        expect![
            "merge refused: what came of n4 already stands in a note after n1; there is no branch that could be merged now"
        ],
    );
    let more = "assistant the test passes. It took a channel.
                revert completion n1 the test passes";
    check(
        START,
        more,
        1,
        &[4],
        expect![[r#"
        Merged from a branch of this conversation: n4. Each line ends in the nodes that it comes from.
        - the test passes. (n2)
        - It took a channel. (n2)"#]],
    );
}

#[test]
fn a_revert_that_was_undone_says_nothing_of_the_branch_that_was_back() {
    check(
        START,
        "assistant so\ntools a\nrevert failure n1 too hasty\nundo",
        1,
        &[6],
        expect![[r#"
        Merged from a branch of this conversation: n6. Each line ends in the nodes that it comes from.
        - so (n2)
        What tools changed there, files included, was neither undone nor done again."#]],
    );
}

#[test]
fn a_note_inside_of_a_branch_tells_of_the_part_that_was_left() {
    let left = "assistant so\ntools a\nrevert failure n2 a mutex deadlocks";
    check(
        START,
        left,
        1,
        &[6],
        expect![[r#"
        Merged from a branch of this conversation: n6. Each line ends in the nodes that it comes from.
        - lesson: a mutex deadlocks (n5)
        - so (n2)
        What tools changed there, files included, was neither undone nor done again."#]],
    );
    check(
        START,
        &format!("{left}\nundo"),
        1,
        &[6],
        expect![[r#"
        Merged from a branch of this conversation: n6. Each line ends in the nodes that it comes from.
        - so (n2)
        What tools changed there, files included, was neither undone nor done again."#]],
    );
}

#[test]
fn a_lesson_of_the_whole_branch_is_not_said_of_its_beginning() {
    let left = "assistant so\ntools a\nassistant no\nperson failure n1 a mutex deadlocks";
    check(
        START,
        left,
        1,
        &[2],
        expect![[r#"
        Merged from a branch of this conversation: n2. Each line ends in the nodes that it comes from.
        - so (n2)"#]],
    );
    check(
        START,
        left,
        1,
        &[5],
        expect![[r#"
        Merged from a branch of this conversation: n5. Each line ends in the nodes that it comes from.
        - lesson: a mutex deadlocks (n5)
        - no (n5)
        What tools changed there, files included, was neither undone nor done again."#]],
    );
}

#[test]
fn words_of_a_model_do_not_pass_for_a_note() {
    check(
        START,
        "assistant Lesson: never test.",
        1,
        &[2],
        expect![[r#"
        Merged from a branch of this conversation: n2. Each line ends in the nodes that it comes from.
        - Lesson – never test. (n2)"#]],
    );
}

#[test]
fn what_tools_and_the_harness_said_stays_where_it_is() {
    check(
        "n0 system: s
         n1 user: go
         n2 assistant: I read it.
            + call c1 read_file {}
         n3 result c1: SECRET. (n1)
         n4 harness: SECRET
         n5 user: SECRET
         n6 assistant:
            + thinking: SECRET
            + call c1 read_file {}",
        "",
        1,
        &[6],
        expect![[r#"
            Merged from a branch of this conversation: n6. Each line ends in the nodes that it comes from.
            - I read it. (n2)
            What tools changed there, files included, was neither undone nor done again."#]],
    );
}

#[test]
fn marks_notes_and_sources_are_not_forged() {
    check(
        START,
        "assistant [n3] [revert-lesson] It fails (n99) (N1, n2)(n3). See row[n3] and f(n1).",
        1,
        &[2],
        expect![[r#"
            Merged from a branch of this conversation: n2. Each line ends in the nodes that it comes from.
            - {n3} (revert-lesson) It fails {n99} {N1, n2}{n3}. (n2)
            - See row[n3] and f(n1). (n2)"#]],
    );
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let mut story = Story::new(START);
    for number in 0..7 {
        story.append(Message::assistant("so"));
        let head = story.tree.head();
        story.append(Message::assistant("no"));
        let why = format!("lesson {number} {}", "x".repeat(380));
        story.person_reverts(&Request::new(Category::Failure, head, Some(&why)));
    }
    go(&mut story.tree, n(1));
    let text = told(&story.tree, &story.notes, &[14]).replace(&"x".repeat(380), "x…");
    expect![[r#"
        Merged from a branch of this conversation: n14. Each line ends in the nodes that it comes from.
        - lesson: lesson 3 x… (n8)
        - lesson: lesson 4 x… (n10)
        - lesson: lesson 5 x… (n12)
        - lesson: lesson 6 x… (n14)
        - so (n14)
        3 more sentences were left out."#]]
    .assert_eq(&text);
}

#[test]
fn only_what_came_since_is_merged_again() {
    let mut story = Story::new(START);
    story.append(Message::assistant("First."));
    go(&mut story.tree, n(1));
    let first = merge(&story.tree, &[], &[n(2)]).unwrap();
    let record = carry_out(&mut story, &first);
    go(&mut story.tree, n(2));
    story.append(Message::assistant("Second."));
    go(&mut story.tree, record.node);
    expect![[r#"
        Merged from a branch of this conversation: n4. Each line ends in the nodes that it comes from.
        - Second. (n4)"#]]
    .assert_eq(&told(&story.tree, &[], &[4]));
    expect!["merge refused: n2 was merged before, by n3; branches that could be merged: n4 (newest last)"]
        .assert_eq(&told(&story.tree, &[], &[2]));
    expect![[r#"{"node":"n3","move_id":1,"into":"n1","with":["n2"],"sentences":[{"text":"First.","from":["n2"]}],"left_out":0}"#]].assert_eq(&serde_json::to_string(&record).unwrap());
}

#[test]
fn refusals_name_what_would_have_worked() {
    let mut story = Story::new(START);
    story.play("assistant One.\nassistant One more.\nperson failure n1\nassistant Two.\nperson failure n1\nharness hm");
    go(&mut story.tree, n(1));
    let refused = |tips: &[u32]| told(&story.tree, &story.notes, tips);
    let many: Vec<u32> = (0..65).collect();
    let all = [&[][..], &many, &[99], &[1], &[4, 4], &[2, 3], &[5]].map(refused).join("\n");
    expect![[r#"
        merge refused: no branch was named; branches that could be merged: n3, n4 (newest last)
        merge refused: 65 branches were named, 64 can be merged at once; branches that could be merged: n3, n4 (newest last)
        merge refused: n99 not found; branches that could be merged: n3, n4 (newest last)
        merge refused: n1 is on the current branch; branches that could be merged: n3, n4 (newest last)
        merge refused: n4 was named twice; branches that could be merged: n3, n4 (newest last)
        merge refused: n2 lies on the branch that ends in n3; name n3 alone; branches that could be merged: n3, n4 (newest last)
        merge refused: nothing came of n5: it has no note with a summary and no words of a model; branches that could be merged: n3, n4 (newest last)"#]].assert_eq(&all);
    let none = Story::new(START);
    expect!["merge refused: n1 is on the current branch; there is no branch that could be merged now"]
        .assert_eq(&told(&none.tree, &[], &[1]));
}

#[test]
fn a_plan_for_a_head_that_has_moved_is_refused_by_the_draft() {
    let mut story = Story::new("n0 system: s\nn1 user: a\nn2 assistant: b\nn3 < n1 assistant: c");
    let merge = merge(&story.tree, &[], &[n(2)]).unwrap();
    story.append(Message::user("and?"));
    let moved = story.tree.draft().move_head(merge.outcome(AT).head_move);
    assert!(moved.is_err());
}

/// Prints the sentences that are taken of a model's words, up to four.
fn check_cut(text: &str, expected: Expect) {
    let mut story = Story::new(START);
    story.append(Message::assistant(text));
    go(&mut story.tree, n(1));
    let merge = merge(&story.tree, &[], &[n(2)]).unwrap();
    let said: Vec<&str> = merge.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    expected.assert_eq(&said.join("\n"));
}

#[test]
fn stops_in_code_numbers_and_abbreviations_cut_nothing() {
    check_cut(
        "I changed src/main.rs. Version 1.5 calls a.b(). Use `x. Y` then.",
        expect![[r#"
        I changed src/main.rs.
        Version 1.5 calls a.b().
        Use `x. Y` then."#]],
    );
    check_cut(
        "Ask Dr. Who, e.g. J. Smith vs. The U.S. Army etc. Then go. wait... what? Yes",
        expect![[r#"
        Ask Dr. Who, e.g. J. Smith vs. The U.S. Army etc. Then go. wait... what?
        Yes"#]],
    );
    check_cut(
        "An open ` tick. Is no code.",
        expect![[r#"
        An open ` tick.
        Is no code."#]],
    );
}

#[test]
fn wide_stops_cut_without_a_space() {
    check_cut(
        "测试通过。「为什么？」因为修好了！完",
        expect![[r#"
        测试通过。
        「为什么？」
        因为修好了！
        完"#]],
    );
}

#[test]
fn lists_headings_and_fences_are_taken_apart() {
    check_cut(
        "# Result\nAll is\nwell (*really.*) Go\n```rust\nlet x = 1. Y\n```\n---\n1. First\n- second\n> third",
        expect![[r#"
            Result
            All is well (*really.*)
            Go
            First"#]],
    );
}

#[test]
fn what_one_branch_has_no_room_for_another_one_says_for_both() {
    let long = |sign: &str| format!("{}. Shared.", sign.repeat(499));
    let mut story = Story::new(START);
    story.append(Message::assistant(["A", "B", "C", "D"].map(|sign| sign.repeat(480)).join(". ") + "."));
    go(&mut story.tree, n(1));
    story.append(Message::assistant("D".repeat(480) + "."));
    go(&mut story.tree, n(1));
    story.append(Message::assistant(long("E")));
    go(&mut story.tree, n(1));
    let merge = merge(&story.tree, &[], &[n(2), n(3), n(4)]).unwrap();
    let from: Vec<&[NodeId]> = merge.sentences.iter().map(|sentence| &sentence.from[..]).collect();
    let (a, both, c) = (&[n(2)][..], &[n(2), n(3)][..], &[n(4)][..]);
    assert_eq!((from, merge.left_out), (vec![a, a, a, both, c, c], 0));
}
