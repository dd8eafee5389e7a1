//! How long notes are shown, and what becomes of them when the head moves again.

use expect_test::expect;

use trunkline_message_tree::{Author, NodeId};
use trunkline_revert::{
    Category, EffectClass, Effects, Ledger, Mover, Note, NoteKind, Prompts, Request, plan,
};

use crate::story::{AT, Story, check};

const START: &str = "
    n0 system: be brief
    n1 user: fix the test";

/// Reverts to the prompt from a turn of its own.
fn lesson(number: u32) -> String {
    format!("tools try_{number}\nrevert failure n1 lesson {number}\n")
}

#[test]
fn an_old_lesson_goes_when_three_newer_ones_are_there() {
    // Three newer ones, so that only the window keeps the oldest.
    let script = (1..=4).map(lesson).collect::<String>() + "states\n";
    check(
        START,
        &script,
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            lesson of turn 2: Decayed
            lesson of turn 4: Shown
            lesson of turn 6: Shown
            lesson of turn 8: Shown
        "#]],
    );
}

#[test]
fn the_window_counts_turns_to_the_end_of_the_fifth() {
    let mut story = Story::new(START);
    story.policy.lesson_window_count = 0;
    story.play(&lesson(1));
    for age in 0..8 {
        let shown = story.rendered().len() == story.tree.trunk().ids().len() + 1;
        assert_eq!(shown, age <= 5, "age {age}");
        story.play("assistant still at it\nharness go on");
    }
}

#[test]
fn the_newest_three_of_a_kind_are_shown_whatever_their_age() {
    let mut script: String = (1..=4).map(lesson).collect();
    script +=
        "revert tangent n1 a finding\nrevert completion n1 an outcome\nrevert step-summary n1 a checkpoint\n";
    script += &"tools work\n".repeat(40);
    script += "states";
    check(
        START,
        &script,
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            < revert applied (completion): the conversation goes on from n1; what came after it was left, and a note (outcome) stands there
            < revert applied (step-summary): the conversation goes on from n1; what came after it was left, and a note (checkpoint) stands there
            lesson of turn 2: Decayed
            lesson of turn 4: Shown
            lesson of turn 6: Shown
            lesson of turn 8: Shown
            finding of turn 9: Shown
            outcome of turn 10: Shown
            checkpoint of turn 11: Shown
        "#]],
    );
}

#[test]
fn notes_of_one_anchor_stand_in_the_order_in_which_they_were_made() {
    check(
        START,
        "tools a
         revert failure n1 first
         tools b
         revert completion n1 second
         tools c
         show",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            < revert applied (completion): the conversation goes on from n1; what came after it was left, and a note (outcome) stands there
            system: be brief
            user: fix the test
            harness: [revert-lesson] first — left 4 messages (a)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
            harness: [revert-outcome] second — left 4 messages (b)\nWhat tools changed there, files included, was not undone. That work is done and need not be repeated; go on from here with what comes next.
            assistant:
            + call c105 c {}
            result c105: c answers
        "#]],
    );
}

#[test]
fn a_note_that_decayed_between_two_assistant_messages_leaves_a_stub() {
    let mut story = Story::new(START);
    story.policy.lesson_window_count = 0;
    story.play(
        "assistant first
         harness go on
         tools b
         person failure n2 not this way
         assistant second",
    );
    let before = story.rendered();
    story.play(&"tools work\n".repeat(6));
    let after = story.rendered();
    assert_eq!(before.len(), 5);
    assert_eq!(after[..3], before[..3]);
    assert_eq!(after[4], before[4]);
    expect!["[revert-note] An older note stood here."].assert_eq(&after[3].text());
}

#[test]
fn a_revert_past_a_note_takes_it_out_and_undo_brings_it_back() {
    check(
        START,
        "tools a
         tools b
         revert failure n3 b is wrong
         revert failure n1 a is wrong too
         states
         undo
         states",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            lesson of turn 3: NotInForce
            lesson of turn 4: Shown
            lesson of turn 3: Shown
            lesson of turn 4: NotInForce
            undone of turn 4: Shown
        "#]],
    );
}

#[test]
fn undo_restores_the_branch_and_says_so_there() {
    check(
        START,
        "tools a
         revert failure n1 wrong
         tools b
         undo
         show",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            system: be brief
            user: fix the test
            assistant:
            + call c101 a {}
            result c101: a answers
            assistant:
            + call c102 revert_to_state {"category":"failure","step":"n1","summary":"wrong"}
            result c102: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            harness: [revert-undone] the step back to n1 was undone by the user: the messages from n2 on stand again — left 2 messages (b)\nWhat tools changed there, files included, was not undone. Go on from here.
        "#]],
    );
}

#[test]
fn redo_brings_the_first_note_back_and_takes_that_of_the_undo_out() {
    check(
        START,
        "tools a
         revert failure n1 wrong
         undo
         redo
         states
         show
         undo
         states",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            lesson of turn 2: Shown
            undone of turn 2: NotInForce
            system: be brief
            user: fix the test
            harness: [revert-lesson] wrong — left 4 messages (a)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
            lesson of turn 2: NotInForce
            undone of turn 2: NotInForce
            undone of turn 2: Shown
        "#]],
    );
}

#[test]
fn a_note_goes_with_the_branch_on_which_it_stands() {
    check(
        START,
        "tools a
         tools b
         revert failure n3 b is wrong
         person tangent n1 rest
         states",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
            < revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            lesson of turn 3: NotInForce
            finding of turn 3: Shown
        "#]],
    );
}

#[test]
fn a_note_waits_behind_the_answers_of_open_calls() {
    let mut story = Story::new(
        "n0 system: s
         n1 user: go
         n2 assistant:
            + call c1 run_command {}",
    );
    story.play("person failure n1 no\nundo");
    story.append(trunkline_message_tree::Message::tool_result("c1", "late", false));
    let rendered = story.rendered();
    assert_eq!(rendered[3].results().next().unwrap().text(), "late");
    assert!(rendered[4].text().starts_with("[revert-undone]"));
}

#[test]
fn a_note_without_tools_says_nothing_of_their_effects() {
    check(
        START,
        "assistant hm\nharness go on\nperson tangent n1\nshow",
        expect![[r#"
            < revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            system: be brief
            user: fix the test
            harness: [revert-finding] the user went back here — left 2 messages\nThis step back is complete; go on from here with the task itself.
        "#]],
    );
}

#[test]
fn a_policy_is_stored_as_json_and_missing_fields_take_their_defaults() {
    let policy: trunkline_revert::RenderPolicy =
        serde_json::from_str(r#"{"lesson_window_turns":9}"#).unwrap();
    assert_eq!((policy.lesson_window_turns, policy.lesson_window_count), (9, 3));
    expect![[r#"{"lesson_window_turns":5,"lesson_window_count":3,"finding_window_turns":5,"finding_window_count":3,"decay":"exact"}"#]]
        .assert_eq(&serde_json::to_string(&trunkline_revert::RenderPolicy::default()).unwrap());
}

#[test]
fn a_note_says_who_went_back_if_it_was_not_the_model() {
    let note = |author: Author, ledger: bool| {
        let mut story = Story::new(START);
        story.play("tools read");
        let mover = Mover { author, prompts: Prompts::Leave };
        let request =
            Request::new(Category::Failure, NodeId::new(1), if ledger { None } else { Some("not so") });
        let outcome = plan(&story.tree, &request, mover).unwrap().outcome(&[], AT, 1);
        let outcome = if ledger {
            let done = Ledger::of(&story.tree, &outcome.note.abandoned, |_| Effects::new(EffectClass::Pure));
            outcome.with_ledger(done)
        } else {
            outcome
        };
        let text = outcome.note.text();
        let mut draft = story.tree.draft();
        draft.move_head(outcome.head_move).unwrap();
        draft.into_entries().into_iter().for_each(|entry| story.tree.record(entry).unwrap());
        story.notes.push(outcome.note);
        format!("{}\n({text})\n", story.rendered().last().unwrap().text())
    };
    let authors = [Author::Model, Author::Person, Author::Harness];
    let told: String =
        authors.into_iter().flat_map(|author| [note(author, false), note(author, true)]).collect();
    expect![[r#"
        [revert-lesson] not so — left 2 messages (read)
        What tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        (not so)
        [revert-lesson] called read — left 2 messages
        Also called: read
        This step back is complete; go on from here by another way.
        (called read)
        [revert-lesson] the user went back here: not so — left 2 messages (read)
        What tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        (not so)
        [revert-lesson] the user went back here; what was left: called read — left 2 messages
        Also called: read
        This step back is complete; go on from here by another way.
        (called read)
        [revert-lesson] the harness went back here: not so — left 2 messages (read)
        What tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        (not so)
        [revert-lesson] the harness went back here; what was left: called read — left 2 messages
        Also called: read
        This step back is complete; go on from here by another way.
        (called read)
    "#]].assert_eq(&told);
}

#[test]
fn notes_of_earlier_versions_read_as_they_did() {
    let mut story = Story::new(START);
    story.play("tools a\nperson failure n1 wrong");
    let mut told = String::new();
    for act in ["undo", ""] {
        for note in &mut story.notes {
            let mut stored = serde_json::to_value(&*note).unwrap();
            let fields = stored.as_object_mut().unwrap();
            fields.remove("author");
            if note.kind == NoteKind::Undone {
                fields.remove("summary");
            }
            *note = serde_json::from_value(stored).unwrap();
        }
        told += &story.rendered().last().unwrap().text();
        told += "\n";
        story.play(act);
    }
    expect![[r#"
        [revert-lesson] wrong — left 2 messages (a)
        What tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        [revert-undone] an earlier step back was undone: the messages above stand again
        Go on from here.
    "#]].assert_eq(&told);
}

#[test]
fn an_undo_of_a_step_that_was_made_again_names_the_step_itself() {
    let mut story = Story::new(START);
    story.play("tools a\nrevert failure n1 wrong\nundo\nredo\nundo\nredo\nundo");
    let texts: Vec<String> =
        story.notes.iter().filter(|note| note.kind == NoteKind::Undone).map(Note::text).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    expect!["the step back to n1 was undone by the user: the messages from n2 on stand again"]
        .assert_eq(&texts[0]);
}
