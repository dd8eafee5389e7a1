//! How the model is brought to decide, and how it is left alone.

use expect_test::expect;
use trunkline_resolve_queue::{Attempt, ChoiceQueue, Forcing, Policy, ProposalId, Scene, Wire};

use crate::choice_script::{check, gate};

#[test]
fn soft_first_reminds_and_demands_only_after_a_turn_that_did_something_else() {
    check(
        "waits p1-0
         plan
         called read edit
         plan
         called resolve
         waits
         plan",
        expect![[r#"
            plan
                remind of p1-0
            called read edit
                declined
            plan
                choice [resolve]
            called resolve
                complied
            plan
                free
        "#]],
    );
}

#[test]
fn at_once_demands_in_the_very_next_turn() {
    check(
        "policy at-once 2
         plan
         said
         waits p1-0
         plan
         called resolve
         waits
         plan",
        expect![[r#"
            plan
                free
            said
                nothing was asked
            plan
                choice [resolve]; remind of p1-0
            called resolve
                complied
            plan
                free
        "#]],
    );
}

#[test]
fn a_resolve_beside_other_calls_complies() {
    check(
        "waits p1-0 p2-0
         plan
         called read resolve edit
         waits p2-0
         plan
         called read
         plan",
        expect![[r#"
            plan
                remind of p1-0 p2-0
            called read resolve edit
                complied
            plan
                free
            called read
                declined
            plan
                choice [resolve]
        "#]],
    );
}

#[test]
fn words_to_a_person_are_never_answered_with_a_demand() {
    check(
        "waits p1-0
         plan
         said
         plan
         said
         plan
         said
         plan",
        expect![[r#"
            plan
                remind of p1-0
            said
                spoke, may be asked again
            plan
                free
            said
                spoke, may be asked again
            plan
                free
            said
                spoke, is left alone
            plan
                gave up on p1-0
        "#]],
    );
}

#[test]
fn after_so_many_turns_it_is_left_alone_and_says_so_once() {
    check(
        "policy soft 1 2
         waits p1-0
         plan
         called read
         plan
         called read
         plan
         called read
         plan
         called read
         plan
         waits p1-0 p2-0
         plan",
        expect![[r#"
            plan
                remind of p1-0
            called read
                declined
            plan
                choice [resolve]
            called read
                declined
            plan
                choice [resolve]
            called read
                declined
            plan
                gave up on p1-0
            called read
                nothing was asked
            plan
                free
            plan
                remind of p2-0
        "#]],
    );
}

#[test]
fn turns_that_are_cut_off_count_too_so_there_is_always_an_end() {
    check(
        "policy at-once 2
         waits p1-0
         plan
         aborted
         plan
         error
         plan",
        expect![[r#"
            plan
                choice [resolve]; remind of p1-0
            aborted
                lost: aborted
            plan
                choice [resolve]
            error
                lost: error
            plan
                gave up on p1-0
        "#]],
    );
}

#[test]
fn where_nothing_can_be_demanded_less_is_offered_and_where_even_that_is_not_there_are_words() {
    check(
        "policy at-once 3
         waits p1-0
         wire any
         plan
         called read
         wire no
         plan
         called read
         wire no wide
         plan",
        expect![[r#"
            plan
                choice any; only resolve; remind of p1-0
            called read
                declined
            plan
                only resolve
            called read
                declined
            plan
                remind of p1-0
        "#]],
    );
}

#[test]
fn nothing_is_demanded_beside_thinking() {
    check(
        "policy at-once 9
         waits p1-0
         wire named thinking
         plan
         called read
         wire any thinking wide
         plan
         called read
         push last look read
         plan
         wire named
         plan",
        expect![[r#"
            plan
                only resolve; remind of p1-0
            called read
                declined
            plan
                remind of p1-0
            called read
                declined
            plan
                remind of p1-0; look [read] impossible, dropped
            plan
                refused: the turn that was asked for resolve has not ended; report its end before the next is planned
        "#]],
    );
}

#[test]
fn an_apply_that_failed_renews_the_reminder_and_the_demand() {
    check(
        "policy at-once 1
         waits p1-0
         plan
         called resolve
         waits p1-1
         plan
         called resolve
         waits p1-2
         plan
         called resolve
         waits p1-3
         plan",
        expect![[r#"
            plan
                choice [resolve]; remind of p1-0
            called resolve
                complied
            plan
                choice [resolve]; remind of p1-1
            called resolve
                complied
            plan
                choice [resolve]; remind of p1-2
            called resolve
                complied
            plan
                free
        "#]],
    );
}

#[test]
fn a_reminder_is_said_again_when_it_is_not_before_the_models_eyes_any_more() {
    check(
        "policy soft 9 3
         waits p1-0
         plan
         called read
         plan
         called read
         reminded
         plan
         called read
         waits p1-0 p2-0
         plan",
        expect![[r#"
            plan
                remind of p1-0
            called read
                declined
            plan
                free
            called read
                declined
            plan
                remind of p1-0
            called read
                declined
            plan
                remind of p1-0 p2-0
        "#]],
    );
}

#[test]
fn a_turn_that_its_caller_wants_otherwise_is_not_asked() {
    check(
        "policy at-once 3
         waits p1-0
         own none
         plan
         own read
         plan
         own resolve
         plan
         said
         own auto
         tools read
         plan",
        expect![[r#"
            plan
                free
            plan
                free
            plan
                choice [resolve]; remind of p1-0
            said
                spoke, may be asked again
            plan
                resolve [resolve] unavailable, again
        "#]],
    );
}

#[test]
fn directives_come_before_proposals() {
    check(
        "policy at-once 3
         push last look read,none
         waits p1-0
         plan
         called read
         plan
         said
         plan
         flying",
        expect![[r#"
            plan
                choice [read]
            called read
                look [read] resolved
            plan
                choice none
            said
                look none resolved
            plan
                choice [resolve]; remind of p1-0
            flying
                resolve [resolve]
        "#]],
    );
}

#[test]
fn what_cannot_be_asked_now_does_not_hold_up_what_can() {
    check(
        "push last look missing requeue 1
         push last once missing
         push last edit edit
         plan
         queue
         called edit
         plan
         queue",
        expect![[r#"
            plan
                choice [edit]; look [missing] unavailable, again; once [missing] unavailable, dropped
            queue
                ["look"]
            called edit
                edit [edit] resolved
            plan
                look [missing] unavailable, dropped
            queue
                []
        "#]],
    );
}

#[test]
fn a_queue_that_was_stored_goes_on_under_another_policy() {
    let gate = gate(&[Attempt { proposal: ProposalId(1), number: 0 }]);
    let tools = ["read", "resolve"];
    let mut scene = Scene::new(Wire::new(Forcing::Named), &tools);
    scene.gate = gate.as_ref();
    let mut queue = ChoiceQueue::new(Policy::AtOnce { turns: 3 });
    for _ in 0..2 {
        assert!(queue.plan(&scene).unwrap().choice.is_some());
        queue.end_turn(trunkline_resolve_queue::TurnEnd::Done { called: &["read"] });
    }
    // What was asked before counts.
    let mut queue = queue.under(Policy::AtOnce { turns: 2 });
    assert!(queue.plan(&scene).unwrap().choice.is_none());
    assert!(queue.in_flight().is_none());
}

#[test]
fn nothing_in_flight_is_overwritten() {
    check(
        "push last look read
         plan
         push first now edit
         plan
         flying
         called read
         plan",
        expect![[r#"
            plan
                choice [read]
            plan
                refused: the turn that was asked for look has not ended; report its end before the next is planned
            flying
                look [read]
            called read
                look [read] resolved
            plan
                choice [edit]
        "#]],
    );
}

#[test]
fn a_reminder_names_the_proposals_and_not_too_many() {
    let waiting: Vec<Attempt> = (1..=22)
        .map(|number| Attempt { proposal: ProposalId(number), number: u32::from(number == 2) })
        .collect();
    let gate = gate(&waiting);
    let mut scene = Scene::new(Wire::new(Forcing::Named), &["resolve"]);
    scene.gate = gate.as_ref();
    let plan = ChoiceQueue::new(Policy::default()).plan(&scene).expect("nothing is in flight");
    expect!["Not done yet, and waiting for you: p1, p2 (its apply failed), p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, 2 more. Call `resolve` with action apply or discard, a reason, and the id."].assert_eq(&plan.reminder.map(|reminder| reminder.text).unwrap_or_default());
}

#[test]
fn who_is_never_asked_is_neither_reminded_nor_held_and_nobody_has_given_up() {
    check(
        "policy at-once 0
         waits p1-0
         plan
         called read
         plan
         said
         plan",
        expect![[r#"
            plan
                free
            called read
                nothing was asked
            plan
                free
            said
                nothing was asked
            plan
                free
        "#]],
    );
    assert_eq!(Policy::NEVER, Policy::AtOnce { turns: 0 });
}
