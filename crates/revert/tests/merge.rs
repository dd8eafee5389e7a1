//! What a merge carries into the trunk, and what it refuses.

use std::collections::HashSet;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{HeadMove, Message, MessageTree, MoveKind, NodeId};
use trunkline_revert::{Category, Merge, MergeReason, MergeRecord, Note, Request, Sentence, mark, merge};

use crate::story::{AT, Story};

fn n(index: u32) -> NodeId {
    NodeId::new(index)
}

/// Merges into the story's trunk, as a driver does, and returns the record.
fn carry_out(story: &mut Story, merge: &Merge) -> MergeRecord {
    let outcome = merge.outcome(AT);
    let mut draft = story.tree.draft();
    draft.move_head(outcome.head_move).unwrap();
    let node = draft.merge(outcome.with, outcome.message, AT).unwrap();
    for entry in draft.into_entries() {
        story.tree.record(entry).unwrap();
    }
    merge.record(node)
}

fn go(tree: &mut MessageTree, to: NodeId) {
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

fn told(tree: &MessageTree, notes: &[Note], tips: &[u32]) -> String {
    let tips: Vec<NodeId> = tips.iter().copied().map(n).collect();
    match merge(tree, notes, &tips) {
        Ok(merge) => merge.text(),
        Err(refusal) => refusal.to_string(),
    }
}

const START: &str = "
    n0 system: be brief
    n1 user: which parser?";

/// A conversation of branches: reverts, forks, undos and merges in any order.
#[derive(Clone, Debug)]
enum Act {
    Say(String),
    Tools(String),
    Harness,
    Revert(usize, u8, String),
    Person(usize, u8, String),
    Fork(usize),
    Undo,
    Redo,
    Merge(Vec<usize>),
}

/// Words with everything that could be taken for something else.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "[n3]",
        "(n3)",
        "(n1, n2)",
        "[revert-lesson]",
        "a.rs",
        "so.",
        "Then",
        "done。",
        "`x. Y`",
        "\n",
        "\n\n",
        "- ",
        "```",
        "e.g.",
        "[",
        "(",
        "n3",
        "]",
        ")",
        "\u{7}",
        " ",
        "**It works.**",
        "row[n3]",
        "f(n1)",
        "é",
    ]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => words().prop_map(Act::Say),
        2 => words().prop_map(Act::Tools),
        1 => Just(Act::Harness),
        3 => (0..200usize, 0..4u8, words()).prop_map(|(to, kind, why)| Act::Revert(to, kind, why)),
        2 => (0..200usize, 0..4u8, words()).prop_map(|(to, kind, why)| Act::Person(to, kind, why)),
        4 => (0..200usize).prop_map(Act::Fork),
        1 => Just(Act::Undo),
        1 => Just(Act::Redo),
        1 => prop::collection::vec(0..200usize, 1..3).prop_map(Act::Merge),
    ];
    prop::collection::vec(act, 0..30)
}

fn at(part: usize, tree: &MessageTree) -> NodeId {
    n((part * tree.len() / 200) as u32)
}

fn play(acts: &[Act]) -> Story {
    let mut story = Story::new(START);
    for act in acts {
        match act {
            Act::Say(text) => story.append(Message::assistant(text.clone())),
            Act::Tools(name) => story.tools(&["read_file", &format!("SECRET {name}")]),
            Act::Harness => story.append(Message::harness("SECRET harness. Go on.")),
            Act::Revert(to, kind, why) => {
                let (category, step) =
                    (Category::ALL[usize::from(*kind)].name(), at(*to, &story.tree).to_string());
                let asked = serde_json::json!({ "category": category, "step": step, "summary": why });
                story.model_reverts(&[asked.to_string()]);
            }
            Act::Person(to, kind, why) => {
                let target = at(*to, &story.tree);
                story.person_reverts(&Request::new(Category::ALL[usize::from(*kind)], target, Some(why)));
            }
            Act::Fork(to) => {
                let to = at(*to, &story.tree);
                go(&mut story.tree, to);
            }
            Act::Undo => story.undo(),
            Act::Redo => story.redo(),
            Act::Merge(parts) => {
                let tips: Vec<NodeId> = parts.iter().map(|part| at(*part, &story.tree)).collect();
                if let Ok(merge) = merge(&story.tree, &story.notes, &tips) {
                    carry_out(&mut story, &merge);
                }
            }
        }
    }
    story
}

/// Every branch that can be merged alone, by trying each node.
fn mergeable(story: &Story) -> Vec<NodeId> {
    let all = story.tree.nodes().map(|(id, _)| id);
    all.filter(|id| merge(&story.tree, &story.notes, &[*id]).is_ok()).collect()
}

/// Some tips that can be merged together, in two orders.
fn together(story: &Story, picks: &[usize]) -> Option<(Merge, Merge)> {
    let mut tips: Vec<NodeId> = Vec::new();
    for pick in picks {
        let off = story.tree.nodes().map(|(id, _)| id).filter(|id| !story.tree.is_on_trunk(*id));
        let off: Vec<NodeId> = off.collect();
        tips.push(*off.get(pick * off.len() / 200)?);
        if merge(&story.tree, &story.notes, &tips).is_err() {
            tips.pop();
        }
    }
    let first = merge(&story.tree, &story.notes, &tips).ok()?;
    tips.reverse();
    let second = merge(&story.tree, &story.notes, &tips).expect("the order of the tips refuses nothing");
    Some((first, second))
}

fn line(tree: &MessageTree, tip: NodeId) -> Vec<NodeId> {
    let line = tree.ancestry(tip).unwrap().map(|(id, _)| id);
    line.take_while(|id| !tree.is_on_trunk(*id)).collect()
}

/// Reads the nodes at the end of a line back.
fn sources(line: &str) -> Vec<NodeId> {
    let (_, last) = line.strip_suffix(')').unwrap().rsplit_once(" (").unwrap();
    last.split(", ").map(|name| name.parse().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_same_merge_always_says_the_same_and_survives_storage(acts in acts(), picks in picks()) {
        let story = play(&acts);
        if let Some((merged, _)) = together(&story, &picks) {
            let again = merge(&story.tree, &story.notes, &merged.with).unwrap();
            prop_assert_eq!(again.text(), merged.text());
            prop_assert_eq!(&again, &merged);
            let json = serde_json::to_string(&merged.record(n(7))).unwrap();
            prop_assert_eq!(serde_json::from_str::<MergeRecord>(&json).unwrap(), merged.record(n(7)));
        }
    }

    #[test]
    fn the_order_of_the_tips_orders_the_branches_and_nothing_else(acts in acts(), picks in picks()) {
        let story = play(&acts);
        if let Some((one, other)) = together(&story, &picks) {
            let sorted = |merge: &Merge| {
                let mut sentences = merge.sentences.clone();
                sentences.sort_by(|a, b| a.text.cmp(&b.text));
                sentences
            };
            prop_assert_eq!(sorted(&one), sorted(&other));
            prop_assert_eq!(one.left_out, other.left_out);
            prop_assert_eq!(one.text().len(), other.text().len());
        }
    }

    #[test]
    fn every_source_lies_on_a_branch_and_every_branch_is_a_source(acts in acts(), picks in picks()) {
        let story = play(&acts);
        if let Some((merge, _)) = together(&story, &picks) {
            for Sentence { from, .. } in &merge.sentences {
                prop_assert!(!from.is_empty() && from.is_sorted_by(|a, b| a < b));
                prop_assert!(from.iter().all(|id| merge.with.iter().any(|tip| line(&story.tree, *tip).contains(id))));
            }
            for tip in &merge.with {
                let on = line(&story.tree, *tip);
                prop_assert!(merge.sentences.iter().any(|sentence| sentence.from.iter().any(|id| on.contains(id))));
            }
        }
    }

    #[test]
    fn a_sentence_is_said_once_in_one_line_that_ends_in_its_sources(acts in acts(), picks in picks()) {
        let story = play(&acts);
        if let Some((merge, _)) = together(&story, &picks) {
            let text = merge.text();
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
            prop_assert_eq!(lines.len(), merge.sentences.len());
            let mut said = HashSet::new();
            for (line, sentence) in lines.iter().zip(&merge.sentences) {
                prop_assert!(said.insert(&sentence.text));
                prop_assert_eq!(sources(line), sentence.from.clone());
                // No other list of nodes stands apart in the line.
                prop_assert!(!sentence.text.contains(" (n3)") && !sentence.text.starts_with("(n3)"), "{line}");
                prop_assert!(!sentence.text.contains(|sign: char| sign.is_control()));
            }
            prop_assert!(!text.contains("SECRET"));
        }
    }

    #[test]
    fn marking_adds_the_mark_and_changes_no_word(acts in acts(), picks in picks()) {
        let mut story = play(&acts);
        if let Some((merge, _)) = together(&story, &picks) {
            let node = carry_out(&mut story, &merge).node;
            let marked = mark(vec![story.tree.node(node).unwrap().message().clone()]);
            prop_assert_eq!(marked[0].text(), format!("[{node}]\n{}", merge.text()));
        }
    }

    #[test]
    fn what_was_rendered_goes_on_and_an_undo_restores_it(acts in acts(), picks in picks()) {
        let mut story = play(&acts);
        if let Some((merge, _)) = together(&story, &picks) {
            let (before, trunk) = (mark(story.rendered()), story.tree.trunk().ids().to_vec());
            let (states, epoch) = (story.states(), story.tree.epoch());
            let record = carry_out(&mut story, &merge);
            let after = mark(story.rendered());
            prop_assert_eq!(&after[..before.len()], &before[..]);
            prop_assert_eq!(after.len(), before.len() + 1);
            prop_assert_eq!((story.states(), story.tree.epoch()), (states, epoch));
            prop_assert_eq!(story.tree.moves()[record.move_id.index()].kind, MoveKind::Merge);
            prop_assert_eq!(story.tree.node(record.node).unwrap().link().further_parents(), &merge.with[..]);

            story.undo();
            prop_assert_eq!(story.tree.trunk().ids(), &trunk[..]);
            story.redo();
            prop_assert_eq!(story.tree.head(), record.node);
        }
    }

    #[test]
    fn what_was_merged_is_merged_once(acts in acts(), picks in picks()) {
        let mut story = play(&acts);
        if let Some((merged, _)) = together(&story, &picks) {
            let by = carry_out(&mut story, &merged).node;
            for tip in merged.with {
                let refusal = merge(&story.tree, &story.notes, &[tip]).unwrap_err();
                prop_assert_eq!(refusal.reason, MergeReason::AlreadyMerged { tip, by });
            }
        }
    }

    #[test]
    fn a_refusal_names_exactly_the_newest_branches_that_work(acts in acts(), at in 0..300usize) {
        let story = play(&acts);
        let tip = n((at * story.tree.len() / 200) as u32);
        let Err(refusal) = merge(&story.tree, &story.notes, &[tip, tip]) else { unreachable!("named twice") };
        let is_end = |id: &NodeId| story.tree.children(*id).next().is_none();
        let ends: Vec<NodeId> = mergeable(&story).into_iter().filter(is_end).collect();
        prop_assert_eq!(&refusal.works, &ends[ends.len().saturating_sub(8)..]);
    }

    #[test]
    fn the_text_is_bounded(count in 1..65u32, words in "(a{1,700}\\. B| ){0,4}", notes in 0..30u8) {
        let mut story = Story::new(START);
        for branch in 0..count {
            for note in 0..notes % 6 {
                story.append(Message::assistant("so"));
                let head = story.tree.head();
                story.append(Message::assistant("then"));
                let why = format!("{branch} {note} {words}");
                story.person_reverts(&Request::new(Category::Failure, head, Some(&why)));
            }
            story.append(Message::assistant(format!("{branch} {words}")));
            go(&mut story.tree, n(1));
        }
        let mut tips: Vec<NodeId> = story.tree.moves().iter().map(|head_move| head_move.from).collect();
        tips.retain(|tip| story.tree.children(*tip).next().is_none());
        tips.retain(|tip| story.tree.node(*tip).unwrap().message().text().starts_with(char::is_numeric));
        let merge = merge(&story.tree, &story.notes, &tips).unwrap();
        let said: usize = merge.sentences.iter().map(|sentence| sentence.text.chars().count()).sum();
        prop_assert!(said <= 16_000 && said <= 1_600 * tips.len());
        prop_assert!(merge.text().chars().count() <= 16_000 + 200 + 12 * tips.len() + 40 * merge.sentences.len());
    }

    #[test]
    fn sentences_are_words_of_the_model_in_their_order(text in "(a|B|é|1|\\. |! |。|`|\n|- |# |~~~\n|\\.|\\)){0,60}") {
        let mut story = Story::new(START);
        story.append(Message::assistant(text.clone()));
        go(&mut story.tree, n(1));
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let text = bare(&text);
        let mut rest = text.as_str();
        if let Ok(merge) = merge(&story.tree, &[], &[n(2)]) {
            // Equal sentences are said once, so the order of the first ones counts.
            for sentence in &merge.sentences {
                let sentence = bare(&sentence.text);
                let found = rest.find(&sentence);
                prop_assert!(found.is_some(), "{sentence} in {text}");
                rest = &rest[found.unwrap_or_default() + sentence.len()..];
            }
        }
    }

    #[test]
    fn any_words_of_a_model_can_be_cut(text in "(\\PC|\n|\\. |。|`|```\n|- |1\\. ){0,80}") {
        let mut story = Story::new(START);
        story.append(Message::assistant(text));
        go(&mut story.tree, n(1));
        let _ = told(&story.tree, &[], &[2]);
    }

    #[test]
    fn notes_of_another_tree_are_harmless(acts in acts(), other in acts()) {
        let (story, stranger) = (play(&acts), play(&other));
        for (id, _) in story.tree.nodes() {
            let _ = merge(&story.tree, &stranger.notes, &[id]);
        }
    }
}

fn picks() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..200usize, 1..6)
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
        4 more sentences were left out."#]]
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
