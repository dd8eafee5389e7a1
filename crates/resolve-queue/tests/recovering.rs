//! What becomes of an attempt that never reported its end.

use expect_test::expect;

use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Fingerprint, Observation, Proposal, Queue, Start, Step, Verdict, observe,
};

use crate::script::check;

#[test]
fn an_attempt_that_wrote_nothing_is_approved_as_before() {
    check(
        "file a 1
         stage a=2
         approve p1
         begin p1
         recover p1 harness
         begin p1
         write p1
         finish p1-2 applied
         recover p1 harness",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            recover p1 harness
                Before: p1 is approved
            begin p1
                p1 is applying, key p1-2
            finish p1-2 applied
                p1 is applied
            recover p1 harness
                refused: cannot recover p1: it is applied; possible now: nothing
        "#]],
    );
}

#[test]
fn an_attempt_that_wrote_everything_is_applied() {
    check(
        "file a 1
         stage a=2
         approve p1
         begin p1
         write p1
         recover p1 harness
         begin p1",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            recover p1 harness
                After: p1 is applied
            begin p1
                refused: cannot begin p1: it is applied; possible now: nothing
        "#]],
    );
}

#[test]
fn half_an_effect_is_unknown_and_comes_back_only_by_a_new_decision() {
    check(
        "file a 1
         stage a=2 b=2
         approve p1
         begin p1
         file a 2
         recover p1 harness
         begin p1
         discard p1
         recover p1 person
         file a 1
         check p1
         begin p1",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            recover p1 harness
                Unclear: p1 is unknown
            begin p1
                refused: cannot begin p1: it is unknown; possible now: recover
            discard p1
                refused: p1 was already approved by person; it is unknown
            recover p1 person
                Unclear: p1 is stale
            check p1
                p1 is proposed
            begin p1
                refused: cannot begin p1: it is proposed; possible now: approve, discard, check, supersede
        "#]],
    );
}

#[test]
fn unchanged_files_prove_nothing_of_an_effect_that_does_not_show_in_files() {
    check(
        "file a 1
         stage a=2 effect irreversible
         approve p1
         begin p1
         recover p1 harness
         recover p1 person
         begin p1
         approve p1 person: it was not sent
         begin p1",
        expect![[r#"
            stage a=2 effect irreversible
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            recover p1 harness
                Before: p1 is unknown
            recover p1 person
                Before: p1 is failed
            begin p1
                refused: cannot begin p1: it is failed; possible now: approve, discard, supersede
            approve p1 person: it was not sent
                p1 is approved
            begin p1
                p1 is applying, key p1-2
        "#]],
    );
}

#[test]
fn a_file_that_was_only_read_does_not_hide_what_was_written() {
    check(
        "file a 1
         file c 1
         stage a=2 reads c
         stage a=1
         approve p1
         begin p1
         file c 9
         recover p1 harness
         begin p1
         approve p2
         begin p2
         recover p2 harness",
        expect![[r#"
            stage a=2 reads c
                p1 is proposed
            stage a=1
                p2 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            recover p1 harness
                Before: p1 is approved
            begin p1
                p1 is stale; c: expected 1, found 9
            approve p2
                p2 is approved
            begin p2
                p2 is applying, key p2-1
            recover p2 harness
                Unclear: p2 is unknown
        "#]],
    );
}

#[test]
fn an_executor_may_say_that_it_does_not_know() {
    check(
        "file a 1
         stage a=2
         approve p1
         begin p1
         write p1
         finish p1-1 unknown: cancelled
         finish p1-1 applied
         recover p1 person",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            finish p1-1 unknown: cancelled
                p1 is unknown
            finish p1-1 applied
                refused: cannot finish p1: it is unknown; possible now: recover
            recover p1 person
                After: p1 is applied
        "#]],
    );
}

#[test]
fn half_an_effect_can_be_put_back_by_whoever_finds_it() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2 c=2 divisible
         approve p1 person anna only a b
         begin p1 until 50 by one keeping a b
         file a 2
         at 60
         traces p1
         file a 1
         traces p1
         recover p1 harness
         begin p1 until 90 by two keeping a b
         write p1
         file b 9
         traces p1",
        expect![[r#"
            stage a=2 b=2 c=2 divisible
                p1 is proposed
            approve p1 person anna only a b
                p1 is approved
            begin p1 until 50 by one keeping a b
                p1 is applying, key p1-1
            traces p1
                a After, b Before
            traces p1
                a Before, b Before
            recover p1 harness
                Before: p1 is approved
            begin p1 until 90 by two keeping a b
                p1 is applying, key p1-2
            traces p1
                a After, b Unclear
        "#]],
    );
}

#[test]
fn what_is_written_without_having_been_read_is_known_from_its_pre_image_alone() {
    let mut proposal = Proposal::new("edit a and b", "edit", ());
    proposal.fingerprints = vec![Fingerprint::digest("a", "1")];
    proposal.after = vec![Fingerprint::digest("a", "2"), Fingerprint::digest("b", "2")];
    let now = [Fingerprint::digest("a", "1"), Fingerprint::digest("b", "7")];
    assert_eq!(observe(&proposal, &now), Observation::Unclear);

    let begun = |start: Start| {
        let mut queue = Queue::new();
        let staged = queue.stage(proposal.clone(), 1).expect("it makes sense");
        let id = staged.proposal;
        queue.record(staged).expect("it is legal");
        let anna = Actor::new(ActorKind::Person, "anna");
        let Ok(Answer::New(event)) = queue.decide(id, Verdict::Approve, anna, "", 2) else {
            unreachable!("it waits")
        };
        queue.record(event).expect("it is legal");
        let Ok(Step::Apply { event, .. }) = queue.begin_with(id, &now, start, 3) else {
            unreachable!("nothing has changed")
        };
        queue.record(event).expect("it is legal");
        queue.get(id).expect("it was staged").observe(&now)
    };
    assert_eq!(begun(Start::default()), Observation::Unclear);
    assert_eq!(begun(Start::default().keeping(now.to_vec())), Observation::Before);
}
