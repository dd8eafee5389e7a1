//! A summary that comes later is no second note.

use trunkline_message_tree::NodeId;
use trunkline_revert::{Category, LiveContext, Note, NoteState, Request, mark, note_states, render, turn};

use crate::story::Story;

#[test]
fn a_late_summary_takes_no_second_place_among_the_newest() {
    let mut story = Story::new("n0 system: s\nn1 user: go");
    for lesson in ["one", "two", "three"] {
        story.append(trunkline_message_tree::Message::assistant("try"));
        story.person_reverts(&Request::new(Category::Failure, NodeId::new(1), Some(lesson)));
    }
    let late: Vec<Note> = story.notes[1..]
        .iter()
        .map(|note| Note::late(note, "in other words", note.anchor, turn(&story.tree)))
        .collect();
    story.notes.extend(late);
    story.play(&"tools work\n".repeat(10));
    let states = note_states(&story.tree, &story.notes, &story.policy, turn(&story.tree));
    assert_eq!(states, [NoteState::Shown; 5]);
    let mut live = LiveContext::new(story.policy);
    live.refresh(&story.tree, &story.notes, &[]);
    let anew = mark(render(&story.tree, &story.notes, &story.policy, turn(&story.tree)));
    assert!(live.messages().iter().map(|one| &**one).eq(&anew));

    // A fourth branch takes the place of the first, whatever is said of the others.
    story.append(trunkline_message_tree::Message::assistant("try"));
    let head = story.tree.trunk().ids()[story.tree.trunk().ids().len() - 2];
    story.person_reverts(&Request::new(Category::Failure, head, Some("four")));
    story.play("tools work");
    let states = note_states(&story.tree, &story.notes, &story.policy, turn(&story.tree));
    assert_eq!(states[0], NoteState::Decayed);
    assert!(states[1..].iter().all(|state| *state == NoteState::Shown), "{states:?}");
    live.refresh(&story.tree, &story.notes, &[]);
    let anew = mark(render(&story.tree, &story.notes, &story.policy, turn(&story.tree)));
    assert!(live.messages().iter().map(|one| &**one).eq(&anew));
}
