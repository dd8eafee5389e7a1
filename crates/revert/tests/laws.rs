//! What holds after any sequence of acts.

use std::collections::HashSet;

use proptest::prelude::*;
use trunkline_message_tree::{Message, NodeId, Role, notation};
use trunkline_revert::{
    CallPlace, Category, Mover, NoteState, RenderPolicy, Request, mark, plan, render, targets, turn,
};

use crate::story::Story;

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Prompt,
    Harness,
    Answer,
    Tools(usize),
    /// Targets are parts of the tree's length, so that most exist.
    Model(Vec<(usize, u8)>),
    Person(usize, u8),
    Undo,
    Redo,
}

pub(crate) fn act() -> impl Strategy<Value = Act> {
    let target = (0..200usize, 0..4u8);
    prop_oneof![
        1 => Just(Act::Prompt),
        1 => Just(Act::Harness),
        2 => Just(Act::Answer),
        4 => (1..4usize).prop_map(Act::Tools),
        4 => prop::collection::vec(target.clone(), 1..3).prop_map(Act::Model),
        2 => target.prop_map(|(target, category)| Act::Person(target, category)),
        2 => Just(Act::Undo),
        2 => Just(Act::Redo),
    ]
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 0..40)
}

pub(crate) fn play(story: &mut Story, act: &Act) {
    let node = |part: usize, len: usize| NodeId::new((part * (len + 2) / 200) as u32);
    let category = |index: u8| Category::ALL[usize::from(index)];
    match act {
        Act::Prompt => story.append(Message::user("and [n3] now?")),
        Act::Harness => story.append(Message::harness("go on")),
        Act::Answer => story.append(Message::assistant("so [n2] it is")),
        Act::Tools(count) => story.tools(&["read_file", "run_command", "search"][..*count]),
        Act::Model(asked) => {
            let len = story.tree.len();
            let arguments: Vec<String> = asked
                .iter()
                .map(|(part, index)| {
                    format!(r#"{{"category":"{}","step":"{}"}}"#, category(*index), node(*part, len))
                })
                .collect();
            story.model_reverts(&arguments);
        }
        Act::Person(part, index) => {
            let target = node(*part, story.tree.len());
            story.person_reverts(&Request::new(category(*index), target, Some("a person's [n1] words")));
        }
        Act::Undo => story.undo(),
        Act::Redo => story.redo(),
    }
}

/// The state of the story before an act and the act that follows.
fn every_step(acts: &[Act], mut law: impl FnMut(&mut Story, &Act)) -> Story {
    let mut story = Story::new("n0 system: be brief\nn1 user: go");
    story.policy.lesson_window_turns = 2;
    story.policy.lesson_window_count = 1;
    story.policy.finding_window_turns = 2;
    story.policy.finding_window_count = 1;
    for act in acts {
        law(&mut story, act);
    }
    story
}

fn is_note(message: &Message) -> bool {
    message.node.is_none()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_node_is_lost_or_changed(acts in acts()) {
        let mut seen: Vec<Message> = Vec::new();
        every_step(&acts, |story, act| {
            play(story, act);
            let now: Vec<Message> = story.tree.nodes().map(|(_, node)| node.message().clone()).collect();
            assert_eq!(now[..seen.len()], seen);
            seen = now;
        });
    }

    #[test]
    fn undo_restores_the_trunk(acts in acts()) {
        every_step(&acts, |story, act| {
            let before = story.tree.moves().len();
            let head = story.tree.head();
            play(story, act);
            if story.tree.moves().len() > before && matches!(act, Act::Model(_) | Act::Person(..)) {
                let from = story.tree.moves()[before].from;
                let there = story.tree.trunk().ids().to_vec();
                story.undo();
                assert_eq!(story.tree.head(), from);
                assert!(story.tree.is_on_trunk(head));
                story.redo();
                assert_eq!(story.tree.trunk().ids(), there);
            }
        });
    }

    #[test]
    fn what_is_rendered_without_notes_is_the_trunk(acts in acts()) {
        every_step(&acts, |story, act| {
            play(story, act);
            let rendered: Vec<Message> =
                story.rendered().into_iter().filter(|message| !is_note(message)).collect();
            let trunk: Vec<Message> = story.tree.trunk().messages().cloned().collect();
            assert_eq!(rendered, trunk);
        });
    }

    #[test]
    fn a_note_is_shown_exactly_while_it_is_in_force_and_fresh(acts in acts()) {
        every_step(&acts, |story, act| {
            play(story, act);
            let now = turn(&story.tree);
            for (index, (note, state)) in story.notes.iter().zip(story.states()).enumerate() {
                // Written out once more from the definitions, by the trees of the moves.
                let path: HashSet<NodeId> = story.tree.trunk().ids().iter().copied().collect();
                let in_force = path.contains(&note.anchor)
                    && note.abandoned.iter().all(|node| !path.contains(node))
                    && stands(story, note.made_by.index());
                let newer = story.notes[index + 1..]
                    .iter()
                    .filter(|newer| newer.kind == note.kind && newer.is_in_force(&story.tree))
                    .count();
                let fresh = note.kind.is_pinned()
                    || now - note.turn <= story.policy.lesson_window_turns
                    || newer < story.policy.lesson_window_count;
                let expected = match (in_force, fresh) {
                    (false, _) => NoteState::NotInForce,
                    (true, true) => NoteState::Shown,
                    (true, false) => NoteState::Decayed,
                };
                assert_eq!(state, expected, "{note:?}");
            }
            let shown = story.states().iter().filter(|state| **state == NoteState::Shown).count();
            let rendered = story.rendered();
            let stubs = rendered.iter().filter(|message| message.text().starts_with("[revert-note]")).count();
            assert_eq!(rendered.iter().filter(|message| is_note(message)).count(), shown + stubs);
        });
    }

    #[test]
    fn exactly_the_listed_targets_and_their_groups_work(acts in acts()) {
        let mut story = every_step(&acts, play);
        check_targets(&story, None);
        let call = CallPlace { node: story.tree.next_id().unwrap(), index: 0, call_id: "c1".to_owned() };
        let asks = notation::parse("assistant:\n+ call c1 revert_to_state {}").unwrap().remove(0);
        story.append(asks);
        check_targets(&story, Some(&call));
        story.append(Message::tool_result("c1", "asked", false));
        story.append(Message::harness("go on"));
        check_targets(&story, Some(&call));
    }

    #[test]
    fn at_most_one_request_of_a_turn_moves_the_head(acts in acts()) {
        every_step(&acts, |story, act| {
            let (moves, records) = (story.tree.moves().len(), story.records.len());
            play(story, act);
            if let Act::Model(asked) = act {
                let answered = &story.records[records..];
                assert_eq!(answered.len(), asked.len());
                let applied = answered.iter().filter(|record| record.applied).count();
                assert!(applied <= 1);
                assert_eq!(story.tree.moves().len() - moves, applied);
            }
        });
    }

    #[test]
    fn marks_never_enter_assistant_messages_and_there_is_one_a_message(acts in acts()) {
        let story = every_step(&acts, play);
        let rendered = story.rendered();
        for (raw, marked) in rendered.iter().zip(mark(rendered.clone())) {
            match (raw.role, raw.node) {
                (Role::User | Role::Tool, Some(node)) => {
                    let text = marked.text() + &marked.results().map(|result| result.text()).collect::<String>();
                    assert_eq!(text.matches(&format!("[{node}]")).count(), 1);
                    assert_eq!(text.matches("[n").count(), 1);
                }
                _ => assert_eq!(*raw, marked),
            }
        }
    }

    #[test]
    fn what_was_sent_stays_a_prefix_unless_a_note_decays_or_the_head_moves(acts in acts()) {
        every_step(&acts, |story, act| {
            let before = mark(story.rendered());
            let states = story.states();
            let (moves, notes) = (story.tree.moves().len(), story.notes.len());
            let head = story.tree.head();
            play(story, act);
            let after = mark(story.rendered());
            if story.tree.moves().len() == moves && story.states() == states {
                assert_eq!(after[..before.len()], before);
            }
            // After a revert everything up to its anchor and the older notes there is kept.
            let kept_states = story.states()[..notes] == states[..] || {
                let pairs = states.iter().zip(story.states());
                pairs.into_iter().all(|(old, new)| *old == new || new == NoteState::NotInForce)
            };
            if story.notes.len() > notes && kept_states && matches!(act, Act::Model(_) | Act::Person(..)) {
                let anchor = story.notes[notes].anchor;
                let place = after.iter().position(|message| message.node == Some(anchor)).unwrap();
                assert_eq!(after[..=place], before[..=place], "from {head}");
            }
        });
    }

    #[test]
    fn rendering_never_panics_on_notes_of_another_tree(acts in acts(), other in acts()) {
        let (story, stranger) = (every_step(&acts, play), every_step(&other, play));
        render(&story.tree, &stranger.notes, &RenderPolicy::default(), 0);
    }

    #[test]
    fn any_text_can_be_marked_and_marking_its_outcome_again_changes_no_word(text in "(\\[|\\]|n|N|[0-9]|revert-|x| |\n|\u{200b}|é)*") {
        let once = mark(vec![Message::user(text.clone())]);
        prop_assert_eq!(once[0].text().len(), text.len());
        prop_assert_eq!(mark(once.clone()), once);
    }

    #[test]
    fn any_arguments_are_read_or_refused(text in "\\PC*", step in "\\PC*") {
        let _ = Request::parse(&text);
        let arguments = serde_json::json!({ "category": "failure", "step": step, "summary": text });
        if let Ok(request) = Request::parse(&arguments.to_string()) {
            prop_assert_eq!(request.target, step.parse().unwrap());
        }
    }
}

/// The targets that are listed are those that work, and a refusal names the newest of them.
fn check_targets(story: &Story, call: Option<&CallPlace>) {
    for mover in [Mover::MODEL, Mover::PERSON] {
        let listed: Vec<NodeId> =
            targets(&story.tree, mover, call).iter().map(|target| target.node).collect();
        let mut landings = HashSet::new();
        for index in 0..story.tree.len() as u32 + 2 {
            let mut request = Request::new(Category::Failure, NodeId::new(index), None);
            request.call = call.cloned();
            match plan(&story.tree, &request, mover) {
                Ok(plan) => {
                    landings.insert(plan.target);
                }
                Err(refusal) => assert_eq!(refusal.works, listed[listed.len().saturating_sub(8)..]),
            }
        }
        assert_eq!(landings, listed.iter().copied().collect());
    }
}

/// Returns whether the head move counts, by playing the undos and redos that came after it.
fn stands(story: &Story, index: usize) -> bool {
    use trunkline_message_tree::MoveKind::{Redo, Undo};
    let moves = story.tree.moves();
    let revert_of = |mut index: usize| {
        while let Undo { of } | Redo { of } = moves[index].kind {
            index = of.index();
        }
        index
    };
    let mut standing = vec![true; moves.len()];
    for (index, made) in moves.iter().enumerate() {
        match made.kind {
            Undo { .. } => standing[revert_of(index)] = false,
            Redo { of } => {
                standing[of.index()] = false;
                standing[revert_of(index)] = true;
            }
            _ => {}
        }
    }
    standing[index]
}
