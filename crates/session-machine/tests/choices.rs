//! How a model is brought to decide on what it has proposed.

use expect_test::expect;

use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::Policy;
use trunkline_session_machine::acts::hold;
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::state::State;

use crate::play::{START, check, play};

#[test]
fn words_to_a_person_are_never_answered_with_a_demand() {
    check(
        r#"
        demands
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: read c2 {"path":"b"}
        model: Which file did you mean?
        model: Really, which?
        model: I wait.
        model: As you say.
        model: nothing
        > do it
        > the first one
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
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
                + n4 under n3 model: read c2
                + resolve/choices
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: done
              request
                + resolve/choices
                held to Named("resolve")
                + n6 under n5 model: Which file did you mean?
                + resolve/choices
              request
                + n7 under n6 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n8 under n7 model: Really, which?
                + resolve/choices
              request
                + n9 under n8 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                + n10 under n9 model: I wait.
                + resolve/choices
              ask about p1
            > the first one
                + n11 under n10 person: the first one
              request
                + resolve/choices
                ! gave up p1
                + n12 under n11 model: As you say.
              ask about p1
        "#]],
    );
}

#[test]
fn after_the_stated_number_of_turns_it_is_left_alone_and_a_person_is_asked() {
    check(
        r#"
        demands
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        10 times model: read c {"path":"b"}
        hush
        > do it
        show decisions
        show results
        "#,
        expect![[r#"
                held to Named("resolve")
                held to Named("resolve")
                held to Named("resolve")
                ! gave up p1
            show decisions
                p1 proposed
            show results
                done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                done
                done
                done
                done
                done
                done
                done
                done
                done
                done
        "#]],
    );
}

#[test]
fn held_at_once_it_is_left_alone_after_the_stated_number_of_turns_too() {
    check(
        r#"
        demands
        approval model
        choices once 2
        model: edit c1 {"path":"a"}
        propose c1 a = new
        10 times model: read c {"path":"b"}
        hush
        > do it
        show decisions
        show results
        "#,
        expect![[r#"
                held to Named("resolve")
                held to Named("resolve")
                ! gave up p1
            show decisions
                p1 proposed
            show results
                done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                done
                done
                done
                done
                done
                done
                done
                done
                done
                done
        "#]],
    );
}

#[test]
fn a_patient_demand_comes_later_and_for_as_long_as_was_stated() {
    check(
        r#"
        demands
        approval model
        choices soft 2 1
        model: edit c1 {"path":"a"}
        propose c1 a = new
        10 times model: read c {"path":"b"}
        hush
        > do it
        show decisions
        show results
        "#,
        expect![[r#"
                held to Named("resolve")
                ! gave up p1
            show decisions
                p1 proposed
            show results
                done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                done
                done
                done
                done
                done
                done
                done
                done
                done
                done
        "#]],
    );
}

#[test]
fn r26_a_reminder_that_a_revert_took_from_the_models_eyes_is_said_again() {
    check(
        r#"
        demands
        reverts
        approval model
        choices soft 9 9
        model: edit c1 {"path":"a"}
        propose c1 a = unwritable
        model: resolve c2 {"action":"apply","reason":"because"}
        model: read c3 {"path":"b"}
        unauthorized: read c4 {"path":"b"}
        model: resolve c5 {"action":"discard","reason":"because"}
        model: done
        hush
        > do it
        show sent
        back n5
        resume
        show sent
        "#,
        expect![[r#"
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c1 edit {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c1: [n3]
                ++ text: done
                ++ text: Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                assistant:
                + call c2 resolve {"action":"apply","reason":"because"}
                + origin made-up parrot
                + stop end_turn
                result c2!: [n5]
                ++ text: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
                harness: [n6]
                + text: Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id.
                assistant:
                + call c3 read {"path":"b"}
                + origin made-up parrot
                + stop end_turn
                result c3: [n8]
                ++ text: done
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c1 edit {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c1: [n3]
                ++ text: done
                ++ text: Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                assistant:
                + call c2 resolve {"action":"apply","reason":"because"}
                + origin made-up parrot
                + stop end_turn
                result c2!: [n5]
                ++ text: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
                harness: [revert-lesson] the user went back here; what was left: called read — left 3 messages\nReads: b\nThis step back is complete; go on from here by another way.
                harness: [n10]
                + text: Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id.
                assistant:
                + call c5 resolve {"action":"discard","reason":"because"}
                + origin made-up parrot
                + stop end_turn
                result c5: [n12]
                ++ text: Discarded: write a. Reason: because
        "#]],
    );
}

#[test]
fn a_model_that_decides_nothing_is_offered_nothing_to_decide_with() {
    check(
        r#"
        model: edit c1 {"path":"a"}
        propose c1 a = new
        > do it
        show tools
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
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
            show tools
                edit, read, shell
        "#]],
    );
}

#[test]
fn where_everything_is_allowed_the_model_is_offered_nothing_to_decide_with() {
    check(
        r#"
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: read c2 {"path":"b"}
        model: done
        > do it
        show tools
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
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
                + n5 under n4 model: read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n6 under n5 tool: c2: done
              request
                + n7 under n6 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show tools
                edit, read, shell
        "#]],
    );
}

#[test]
fn a_turn_that_is_cut_is_reported_and_asked_again() {
    check(
        r#"
        demands
        approval model
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: read c2 {"path":"b"}
        cut: I
        model: resolve c3 {"action":"apply","reason":"because"}
        model: done
        > do it
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
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
                + n4 under n3 model: read c2
                + resolve/choices
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: done
              request
                + resolve/choices
                held to Named("resolve")
                + n6 under n5 filed model: I
                + runtime/attempt
                + resolve/choices
              wait until +515 ms
              request
                + resolve/choices
                held to Named("resolve")
                + n7 under n5 model: resolve c3
                + resolve/choices
              resolve c3
                + resolve/event p1 approved
                + resolve/resolving
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + runtime/call_finished
              settle
                + n8 under n7 tool: c3: Applied p1. written
              request
                + resolve/choices
                + n9 under n8 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn how_a_model_is_brought_to_decide_is_stored_with_the_session_unless_its_agent_was_told() {
    check(
        r#"
        approval model
        demands
        stored once 0
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: read c2 {"path":"b"}
        model: well
        > do it
        stored once 2
        model: read c3 {"path":"b"}
        model: resolve c4 {"action":"discard","reason":"because"}
        model: done
        resume
        "#,
        expect![[r#"
                + resolve/choices
            > do it
                + n1 under n0 person: do it
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
                + n4 under n3 model: read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: done
              request
                + n6 under n5 model: well
              ask about p1
                + resolve/choices
            resume
              request
                + n7 under n6 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                held to Named("resolve")
                + n8 under n7 model: read c3
                + resolve/choices
              run read c3
                + runtime/call_started
                + runtime/call_finished
              settle
                + n9 under n8 tool: c3: done
              request
                + resolve/choices
                held to Named("resolve")
                + n10 under n9 model: resolve c4
                + resolve/choices
              resolve c4
                + resolve/event p1 discarded
                + resolve/resolving
                + runtime/call_finished
              settle
                + n11 under n10 tool: c4: Discarded: write a. Reason: because
              request
                + resolve/choices
                + n12 under n11 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

/// The policy by which an agent goes on that was told of none.
fn policy_after(script: &str) -> Policy {
    let mut play = play(script);
    play.setup.choices.policy = None;
    let mut state = State::begin(play.log.first()).unwrap();
    play.log.iter().skip(1).try_for_each(|record| state.record(record)).unwrap();
    let told = hold::queue(&View::new(&state, &play.setup, Timestamp(START))).policy();
    assert_eq!(told, hold::queue(&play.view()).policy());
    told
}

#[test]
fn what_an_agent_was_told_itself_is_stored_for_nobody_else() {
    let run = r#"
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: read c2 {"path":"b"}
        model: well
        > do it
    "#;
    // As logs of earlier versions have it, too: the queue is recorded with the policy that counted.
    let own = policy_after(&format!("approval model\ndemands\nchoices once 3\n{run}"));
    assert_eq!(own, Policy::default());
    for (agent, stored) in [("once 3", "soft 2 2"), ("soft 2 2", "once 0"), ("once 3", "once 0")] {
        let script = format!("approval model\ndemands\nchoices {agent}\nstored {stored}\n{run}");
        assert_eq!(policy_after(&script), crate::play_lines::policy_of(stored), "{agent}, {stored}");
        let script = format!("{script}\nstored once 7\nresume");
        assert_eq!(policy_after(&script), Policy::AtOnce { turns: 7 });
    }
}
