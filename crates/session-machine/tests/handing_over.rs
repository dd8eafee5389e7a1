//! What is handed to a tool with a decision.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_a_person_hands_over_is_part_of_what_they_approved() {
    check(
        r#"
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        hush
        > do it
        tell
        approve p1 with {"mode":"dry"} fine
        approve p1 with {"mode":"wet"}
        resume
        show decisions
        "#,
        expect![[r#"
            approve p1 with {"mode":"dry"} fine
                + resolve/event p1 approved
            approve p1 with {"mode":"wet"}
                p1 was already approved with {"mode":"dry"} by person (fine); it is approved
            resume
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: A person approved p1 with {"mode":"dry"}, and it was applied. written
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 applied, decided by person with {"mode":"dry"}: fine
        "#]],
    );
}

#[test]
fn nothing_that_a_model_hands_over_reaches_what_a_person_approved() {
    check(
        r#"
        approval model
        rule ask tool shell
        model: edit c1 {"path":"a"}; edit c2 {"path":"b"}
        propose c1 a = unwritable
        propose c2 b = new
        model: resolve c3 {"action":"apply","reason":"because","id":"p1","extra":{"mode":"wet"}}
        limit: well
        hush
        > do it
        show decisions
        approve p1 seen
        show decisions
        model: shell c4 {"command":"make"}; resolve c5 {"action":"apply","reason":"because","id":"p2","extra":{"mode":"wet"}}
        model: done
        resume
        approve p2 with {"mode":"dry"}
        approve p3
        tell
        resume
        show decisions
        "#,
        expect![[r#"
            rule ask tool shell
                + resolve/rule
            show decisions
                p1 failed, decided by model with {"mode":"wet"}: because
                p2 proposed
            show decisions
                p1 approved, decided by person: seen
                p2 proposed
            resume
              run shell c4
                + runtime/call_started
                + resolve/event p3 applying
                + runtime/call_finished
                + resolve/event p3 applied
              resolve c5
                + resolve/resolving
                + resolve/kept
                + resolve/event p2 applying
                + resolve/event p2 applied
                + runtime/call_finished
              settle
                + n13 under n12 tool: c4: done
                + n14 under n13 tool: c5: A person approved p2 with {"mode":"dry"}, and it was applied. written
              request
                + resolve/choices
                + n15 under n14 model: done
                + resolve/choices
              request
                + n16 under n15 harness: Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                the model has no more answers
            show decisions
                p1 failed, decided by person: seen
                p2 applied, decided by person with {"mode":"dry"}:
                p3 applied, decided by person:
        "#]],
    );
}

#[test]
fn what_is_handed_over_too_deep_to_be_stored_is_refused_and_stops_nothing() {
    let deep = format!("{}1{}", "[".repeat(80), "]".repeat(80));
    let script = format!(
        r#"
        approval model
        model: edit c1 {{"path":"a"}}
        propose c1 a = new
        model: resolve c2 {{"action":"apply","reason":"because","extra":{{"deep":{deep}}}}}
        model: resolve c3 {{"action":"discard","reason":"because","extra":{{"deep":[1]}}}}
        model: done
        hush
        > do it
        tell
        show decisions
        show results
        approve p1 with {{"deep":{deep}}}
        "#
    );
    let expected = expect![[r#"
        show decisions
            p1 discarded, decided by model with {"deep":[1]}: because
        show results
            done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
            not done: `extra` is nested deeper than 64 levels
            Discarded: write a. Reason: because
        approve p1 with {"deep":DEEP}
            `extra` is nested deeper than 64 levels
    "#]];
    expected.assert_eq(&crate::play::play(&script).told.replace(&deep, "DEEP"));
}

#[test]
fn what_a_model_handed_over_in_vain_is_not_recorded_as_handed_over() {
    let played = crate::play::play(
        r#"
        approval model
        rule ask tool shell
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: shell c2 {"command":"make"}; resolve c3 {"action":"apply","reason":"because","id":"p1","extra":{"mode":"wet"}}
        model: done
        > do it
        approve p1 with {"mode":"dry"}
        approve p2
        resume
        "#,
    );
    let resolved: Vec<_> =
        played.state.resolve.choices.resolved().map(|(_, details)| &details.extra).collect();
    assert_eq!(resolved, [&None], "{}", played.told);
}
