//! Who decides: on commands, which wait as calls, and on edits, which wait as proposals.

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_message_tree::{
    Author, Content, Message, MessageTree, Origin, Role, Timestamp, ToolCall, ToolSpec,
};
use trunkline_providers::Support;
use trunkline_session_machine::acts::asked::Asked;
use trunkline_session_machine::acts::question::{Answer, Pause, Question};
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::next::{Facts, Step, next};
use trunkline_session_machine::setup::{AskedModel, Setup};
use trunkline_session_machine::state::State;
use trunkline_session_machine::{Access, Approval, Gate};
use trunkline_session_store::Record;

use crate::play::{check, play};

#[test]
fn a_command_waits_for_a_person_and_runs_once_it_is_approved() {
    check(
        r#"
        model: shell c1 {"command":"make"}
        model: It is built.
        > build
        approve p1
        resume
        "#,
        expect![[r#"
            > build
                + n1 under n0 person: build
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              settle
                + n3 under n2 tool: c1: done
              request
                + n4 under n3 model: It is built.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_command_that_is_declined_is_answered_with_the_reason() {
    check(
        r#"
        model: shell c1 {"command":"rm -rf /"}
        model: Then not.
        > clean
        discard p1 not that one
        resume
        "#,
        expect![[r#"
            > clean
                + n1 under n0 person: clean
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run rm -rf /
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            discard p1 not that one
                + resolve/event p1 discarded
            resume
              answer c1 "not run: the person declined it: not that one"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: the person declined it: not that one
              request
                + n4 under n3 model: Then not.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn what_comes_after_a_command_that_waits_is_held() {
    check(
        r#"
        model: shell c1 {"command":"make"}; read c2 {"path":"out"}; edit c3 {"path":"a"}
        propose c3 a = new
        > build and look
        "#,
        expect![[r#"
            > build and look
                + n1 under n0 person: build and look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 read c2 edit c3
              run read c2
                + runtime/call_started
                + runtime/call_finished
              run edit c3
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              gate c1 run make
                + resolve/event p2 pending
                + resolve/gated
              ask about p2
        "#]],
    );
}

#[test]
fn an_edit_is_applied_as_it_was_approved() {
    check(
        r#"
        file a = old
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > edit a
        approve p1
        model: It is in.
        resume
        "#,
        expect![[r#"
            > edit a
                + n1 under n0 person: edit a
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              apply p1
                + 3 bytes
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: A person approved p1, and it was applied. written
              request
                + n5 under n4 model: It is in.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn an_edit_is_not_applied_to_a_file_that_is_another_one_by_now() {
    check(
        r#"
        file a = old
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > edit a
        file a = other
        approve p1
        model: I see.
        resume
        "#,
        expect![[r#"
            > edit a
                + n1 under n0 person: edit a
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              apply p1
                + resolve/event p1 stale
                + resolve/event p1 discarded
                + n4 under n3 harness: p1 was not applied and is dropped: a changed after the preview. Look again and propose anew.
              request
                + n5 under n4 model: I see.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_policy_applies_at_once() {
    check(
        r#"
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: Done.
        > write a
        "#,
        expect![[r#"
            > write a
                + n1 under n0 person: write a
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              approve p1
                + resolve/event p1 approved
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: Applied p1. written
              request
                + n5 under n4 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_model_decides_on_its_own_edits_with_its_tool() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: resolve c2 {"action":"apply","reason":"as planned"}
        model: Done.
        > write a
        "#,
        expect![[r#"
            > write a
                + n1 under n0 person: write a
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: resolve c2
                + resolve/choices
              resolve c2
                + resolve/event p1 approved
                + resolve/resolving
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: Applied p1. written
              request
                + resolve/choices
                + n6 under n5 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn an_attempt_that_was_cut_off_before_it_wrote_is_approved_again() {
    check(
        r#"
        file a = old
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > edit a
        approve p1
        crash p1
        model: It is in.
        resume
        "#,
        expect![[r#"
            > edit a
                + n1 under n0 person: edit a
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              ask about p1
            approve p1
                + resolve/event p1 approved
            crash p1
                + 3 bytes
                + resolve/kept
                + resolve/event p1 applying
            resume
                + resolve/event p1 approved
              apply p1
                + 3 bytes
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: A person approved p1, and it was applied. written
              request
                + n5 under n4 model: It is in.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn an_attempt_that_was_cut_off_after_it_wrote_is_found_to_be_done() {
    check(
        r#"
        file a = old
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > edit a
        approve p1
        crash p1 after
        model: It is in.
        resume
        "#,
        expect![[r#"
            > edit a
                + n1 under n0 person: edit a
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
              ask about p1
            approve p1
                + resolve/event p1 approved
            crash p1 after
                + 3 bytes
                + resolve/kept
                + resolve/event p1 applying
            resume
                + resolve/event p1 applied
                + n4 under n3 harness: p1 (write a) was applied before the program ended.
              request
                + n5 under n4 model: It is in.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

/// Rules and policies count by the clock, and clocks are set back.
#[test]
fn an_answer_without_the_gate_lets_nothing_run_once_the_gate_counts() {
    let call = |id: &str| {
        let (id, name, arguments) = (id.to_owned(), "shell".to_owned(), r#"{"command":"make"}"#.to_owned());
        Content::ToolCall(ToolCall { id, name, arguments, signature: None })
    };
    let at = Timestamp(1_000);
    let tree = MessageTree::new(Message::system("Be short."), at);
    let mut state = State::begin(Some(&Record::Entry(tree.root_entry()))).unwrap();
    let mut draft = tree.draft();
    for message in [Message::user("build"), Message::new(Role::Assistant, Author::Model, vec![call("c1")])] {
        draft.append(message, at).unwrap();
    }
    draft.into_entries().into_iter().for_each(|entry| state.record(&Record::Entry(entry)).unwrap());
    let mut setup = Setup::new(AskedModel::new(Origin::new("made-up", "parrot"), "none", |_| Support::None));
    let spec = ToolSpec::new("shell", "Runs a command", json!({ "type": "object" }));
    setup.catalogue.add(spec, Access::Exclusive);
    let pass = |setup: &mut Setup, approval, known: &[(Question, Answer)]| {
        setup.resolve.approval = approval;
        setup.complete();
        next(&View::new(&state, setup, at), &mut Asked::of(known), &Facts::default())
    };
    let asked = |step| match step {
        Err(Pause::Needs(question, 0)) => *question,
        _ => panic!("the calls are asked about, and no answer counts"),
    };

    let without = asked(pass(&mut setup, Approval::Always, &[]));
    let known = [(without, Answer::Calls(vec![Ok(None)]))];
    assert!(matches!(pass(&mut setup, Approval::Always, &known), Ok(Step::Run(_))));

    let with = asked(pass(&mut setup, Approval::Person, &known));
    let gate = Gate::new("run make".to_owned(), "make".to_owned()).of_command("make");
    let known = [(with, Answer::Calls(vec![Ok(Some(gate))]))];
    assert!(matches!(pass(&mut setup, Approval::Person, &known), Ok(Step::Gate(..))));
    // The other way about costs nothing: what was asked too much is known.
    assert!(matches!(pass(&mut setup, Approval::Always, &known), Ok(Step::Run(_))));
}

/// What a person wrote after a kill may be all that differs: nothing tells how much of it is the run's, and nothing is put back over it.
#[test]
fn a_file_that_somebody_wrote_while_an_apply_was_cut_off_cannot_be_rolled_back() {
    let played = play(
        r#"
        folder
        file a = old
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        hush
        > do it
        approve p1
        crash p1
        file a = mine
        resume
        "#,
    );
    let mut lefts = played.log.iter().filter_map(|record| match record {
        Record::Note(note) if note.kind == "left" => serde_json::from_str::<Value>(&note.body).ok(),
        _ => None,
    });
    let left = lefts.next_back().expect("the run has ended");
    assert_eq!((&left["files"], &left["unknown"]), (&json!([]), &json!(["a"])));
}
