//! The list that a model is sent: covered spans, and notes that mind the cache.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::{Message, notation};
use trunkline_revert::{Break, Clock, Decay, NoteState, Rendered, note_states, render_at, turn};

use crate::laws::{Act, acts, play};
use crate::story::{AT, Story};

const START: &str = "n0 system: be brief\nn1 user: fix the test";

#[test]
fn a_covered_span_is_read_as_what_stands_for_it_and_its_notes() {
    let mut story = Story::new(START);
    story.play(
        "tools read_file\nassistant one\nharness on\nrevert failure n3 a lock fails\ntools edit_file\nassistant two\nharness on
         revert completion n8 the edit is done\nassistant three\nuser next",
    );
    let trunk = story.tree.trunk().ids().to_vec();
    let mut draft = story.tree.draft();
    draft.cover(trunk[2], trunk[trunk.len() - 2], Message::harness("[summary] read and edited"), AT).unwrap();
    for entry in draft.into_entries() {
        story.tree.record(entry).unwrap();
    }
    expect![[r#"
        system: be brief
        user: fix the test
        harness: [summary] read and edited
        harness: [revert-lesson] a lock fails — left 4 messages\nThis step back is complete; go on from here by another way.
        harness: [revert-outcome] the edit is done — left 4 messages\nThat work is done and need not be repeated; go on from here with what comes next.
        user: next
    "#]]
    .assert_eq(&notation::print(&story.rendered()));
}

#[test]
fn a_note_that_has_had_its_time_stays_until_the_cache_is_lost_behind_it() {
    let mut story = Story::new(START);
    story.policy.lesson_window_turns = 1;
    story.policy.lesson_window_count = 0;
    story.policy.decay = Decay::CacheMinding;
    story.play("tools try\nrevert failure n1 it fails\ntools one\ntools two\ntools three");
    let shown = |breaks: &[Break]| -> (usize, Vec<(usize, usize)>) {
        let Rendered { messages, delayed, .. } = at(&story, breaks);
        (messages.iter().filter(|message| message.text().starts_with("[revert-lesson]")).count(), delayed)
    };
    let now = turn(&story.tree);
    assert_eq!(shown(&[]), (1, vec![(0, 6)]), "six messages stay in the cache for it");
    assert_eq!(shown(&[Break::new(now, 0)]), (0, vec![]), "everything had to be written anew");
    assert_eq!(shown(&[Break::new(now, 4)]), (1, vec![(0, 6)]), "only what is behind it was lost");
    assert_eq!(
        shown(&[Break::new(story.notes[0].turn, 0)]),
        (1, vec![(0, 6)]),
        "it was fresh at that moment"
    );
}

fn at(story: &Story, breaks: &[Break]) -> Rendered {
    let clock = Clock::new(turn(&story.tree)).with_breaks(breaks);
    render_at(&story.tree, &story.notes, &story.policy, &clock)
}

fn steps(acts: &[Act], mut law: impl FnMut(&Story, &[Break], bool)) {
    let mut story = Story::new(START);
    story.policy.lesson_window_turns = 1;
    story.policy.lesson_window_count = 1;
    story.policy.finding_window_turns = 2;
    story.policy.finding_window_count = 0;
    story.policy.decay = Decay::CacheMinding;
    let mut breaks = Vec::new();
    for act in acts {
        let (moves, before) = (story.tree.moves().len(), story.tree.trunk().ids().to_vec());
        play(&mut story, act);
        let moved = story.tree.moves().len() > moves;
        if moved {
            let ids = story.tree.trunk().ids();
            let shared = ids.iter().zip(&before).take_while(|(one, other)| one == other).count();
            breaks.push(Break::new(turn(&story.tree), shared));
        }
        law(&story, &breaks, moved);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn minding_the_cache_only_ever_adds_to_the_list(acts in acts()) {
        let mut sent: Vec<Message> = Vec::new();
        steps(&acts, |story, breaks, moved| {
            let now = at(story, breaks).messages;
            if !moved {
                assert!(now.starts_with(&sent), "what was sent:\n{}now:\n{}", notation::print(&sent), notation::print(&now));
            }
            sent = now;
        });
    }

    #[test]
    fn what_was_delayed_is_what_exact_decay_leaves_out(acts in acts()) {
        steps(&acts, |story, breaks, _| {
            let states = note_states(&story.tree, &story.notes, &story.policy, turn(&story.tree));
            let rendered = at(story, breaks);
            let notes = rendered.messages.iter().filter(|message| message.node.is_none());
            let shown = notes.filter(|message| !message.text().starts_with("[revert-note]")).count();
            let fresh = states.iter().filter(|state| **state == NoteState::Shown).count();
            assert_eq!(shown, fresh + rendered.delayed.len());
            assert!(rendered.delayed.iter().all(|(note, _)| states[*note] == NoteState::Decayed));
        });
    }
}

#[test]
fn findings_have_a_window_of_their_own() {
    let mut story = Story::new(START);
    story.policy.finding_window_turns = 0;
    story.policy.finding_window_count = 0;
    story.play("tools a\nrevert tangent n1 found\ntools b\nrevert failure n1 learned\ntools c");
    assert_eq!(story.states(), [NoteState::Decayed, NoteState::Shown]);
}
