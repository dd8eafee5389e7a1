//! Laws of merges: whatever the branches hold, a merge says the same again, once, and each word with its source.

use std::collections::HashSet;

use proptest::prelude::*;
use trunkline_message_tree::{Message, MessageTree, MoveKind, NodeId};
use trunkline_revert::{Category, Merge, MergeReason, MergeRecord, Request, Sentence, mark, merge};

use crate::merge::{START, carry_out, go, n, told};
use crate::story::Story;

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
