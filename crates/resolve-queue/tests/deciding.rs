//! Who may decide, and what a second decision is told.

use expect_test::expect;
use trunkline_resolve_queue::discard_text;

use crate::script::check;

#[test]
fn the_same_decision_again_changes_nothing() {
    check(
        "stage a=2
         approve p1 person anna: fine
         approve p1 person bert: fine too
         begin p1
         approve p1 person bert
         write p1
         finish p1-1 applied
         approve p1 person bert",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1 person anna: fine
                p1 is approved
            approve p1 person bert: fine too
                already, by person anna
            begin p1
                p1 is applying, key p1-1
            approve p1 person bert
                already, by person anna
            finish p1-1 applied
                p1 is applied
            approve p1 person bert
                already, by person anna
        "#]],
    );
}

#[test]
fn the_opposite_decision_is_told_of_the_first() {
    check(
        "stage a=2
         stage b=2
         approve p1 person anna: fine
         discard p1 person bert
         discard p2 model: wrong file
         approve p2 person anna
         discard p2 person anna",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage b=2
                p2 is proposed
            approve p1 person anna: fine
                p1 is approved
            discard p1 person bert
                refused: p1 was already approved by person anna (fine); it is approved
            discard p2 model: wrong file
                p2 is discarded
            approve p2 person anna
                refused: p2 was already discarded by model (wrong file); it is discarded
            discard p2 person anna
                already, by model
        "#]],
    );
}

#[test]
fn an_id_that_does_not_exist_is_answered_with_those_that_do() {
    check(
        "approve p1
         stage a=2
         stage b=2
         stage c=2
         discard p2
         approve p9
         begin p9
         finish p9-1 applied",
        expect![[r#"
            approve p1
                refused: no proposal p1; open: nothing
            stage a=2
                p1 is proposed
            stage b=2
                p2 is proposed
            stage c=2
                p3 is proposed
            discard p2
                p2 is discarded
            approve p9
                refused: no proposal p9; open: p1, p3
            begin p9
                refused: no proposal p9; open: p1, p3
            finish p9-1 applied
                refused: no proposal p9; open: p1, p3
        "#]],
    );
}

#[test]
fn approval_takes_a_permitted_actor_and_the_harness_never_is_one() {
    check(
        "stage a=2
         stage b=2 for policy,person
         stage c=2 for model,harness
         approve p1 model
         approve p1 policy yes
         approve p2 policy yes
         approve p3 harness
         approve p3 model",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage b=2 for policy,person
                p2 is proposed
            stage c=2 for model,harness
                p3 is proposed
            approve p1 model
                refused: model may not approve p1; may: person
            approve p1 policy yes
                refused: policy yes may not approve p1; may: person
            approve p2 policy yes
                p2 is approved
            approve p3 harness
                refused: harness may not approve p3; may: model
            approve p3 model
                p3 is approved
        "#]],
    );
}

#[test]
fn the_proposer_and_the_harness_may_always_discard() {
    check(
        "stage a=2
         stage b=2
         stage c=2
         discard p1 model
         discard p2 harness
         discard p3 policy no",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage b=2
                p2 is proposed
            stage c=2
                p3 is proposed
            discard p1 model
                p1 is discarded
            discard p2 harness
                p2 is discarded
            discard p3 policy no
                refused: policy no may not discard p3; may: person
        "#]],
    );
}

#[test]
fn what_failed_can_be_approved_again_or_discarded() {
    check(
        "stage a=2
         approve p1 person anna
         begin p1
         finish p1-1 failed: disk full
         begin p1
         approve p1 person anna: there is space now
         begin p1
         finish p1-1 applied
         finish p1-2 failed: disk full
         discard p1 person anna: enough",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1 person anna
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            finish p1-1 failed: disk full
                p1 is failed
            begin p1
                refused: cannot begin p1: it is failed; possible now: approve, discard, supersede
            approve p1 person anna: there is space now
                p1 is approved
            begin p1
                p1 is applying, key p1-2
            finish p1-1 applied
                refused: p1-1 is not the attempt at hand; that is p1-2
            finish p1-2 failed: disk full
                p1 is failed
            discard p1 person anna: enough
                p1 is discarded
        "#]],
    );
}

#[test]
fn a_discard_has_words_of_its_own() {
    expect!["Discarded: edit a. Reason: wrong file"].assert_eq(&discard_text("edit a", "wrong file"));
}
