//! The behaviours that the seed's own tests name, each held here or answered with what is done instead.
//!
//! | seed | here |
//! |---|---|
//! | undefined when empty | `an_empty_queue_asks_for_nothing` |
//! | pushOnce yields once | `one_choice_is_asked_once` |
//! | pushSequence in order | `a_sequence_is_asked_in_order` |
//! | now prepends; multiple directives FIFO | `directives_are_asked_in_order_and_what_belongs_to_now_first` |
//! | onResolved gets the served choice | `a_turn_that_did_what_was_asked_is_told_with_what_was_asked` |
//! | requeue replays the lost yield then continues | `what_was_lost_is_asked_again_before_what_follows_it` |
//! | drop discards; default drops | `what_may_not_be_asked_again_is_dropped_with_what_follows_it` |
//! | reject no-op when nothing in flight | `without_anything_in_flight_a_turn_ends_like_any_other` |
//! | passes the reason | `every_rejection_has_its_reason` |
//! | requeued keeps onRejected | `what_is_asked_again_keeps_its_label_and_its_promise` |
//! | removeByLabel leaves others and rejects in-flight "removed" | `taking_a_label_out_leaves_the_others` |
//! | clear empties even if requeue | `clearing_asks_nothing_again` |
//! | consumeLastServedLabel once | `the_last_label_is_told_once` |
//! | hasInFlight; none when idle | `something_is_in_flight_from_its_plan_to_its_report` |
//! | onInvoked through peekInFlightInvoker | `a_call_is_noted_when_it_is_made` |
//! | carried across requeue | `what_is_asked_again_keeps_its_label_and_its_promise` |
//! | (fork) maxRejections caps | `asking_again_has_an_end` |
//! | requeues a forced choice whose tool is filtered out | `a_tool_that_is_not_there_is_waited_for_as_often_as_was_promised` |
//! | throws `Tool "read" is not currently active.` | `a_tool_that_is_not_there_is_waited_for_as_often_as_was_promised`: a notice, not an error |
//! | drains a phantom gate; no-invoker apply and discard drain stale markers | `weak_points::r25_nothing_waits_for_a_proposal_that_is_gone`: there is nothing to drain |
//! | ast_edit: registers an action that apply writes; fails a stale apply; globbed apply | `fingerprints`, `laws`: for any payload, before the first byte |

use expect_test::expect;

use crate::choice_script::check;

#[test]
fn an_empty_queue_asks_for_nothing() {
    check(
        "plan
         queue
         flying",
        expect![[r#"
            plan
                free
            queue
                []
            flying
                nothing
        "#]],
    );
}

#[test]
fn one_choice_is_asked_once() {
    check(
        "push last look read
         plan
         called read
         plan",
        expect![[r#"
            plan
                choice [read]
            called read
                look [read] resolved
            plan
                free
        "#]],
    );
}

#[test]
fn a_sequence_is_asked_in_order() {
    check(
        "push last look read,any,none
         plan
         called read
         plan
         called edit
         plan
         said
         plan",
        expect![[r#"
            plan
                choice [read]
            called read
                look [read] resolved
            plan
                choice any
            called edit
                look any resolved
            plan
                choice none
            said
                look none resolved
            plan
                free
        "#]],
    );
}

#[test]
fn directives_are_asked_in_order_and_what_belongs_to_now_first() {
    check(
        "push last one read
         push last two edit
         push first now any
         queue
         plan
         called read
         plan
         called read
         plan
         called edit",
        expect![[r#"
            queue
                ["now", "one", "two"]
            plan
                choice any
            called read
                now any resolved
            plan
                choice [read]
            called read
                one [read] resolved
            plan
                choice [edit]
            called edit
                two [edit] resolved
        "#]],
    );
}

#[test]
fn a_turn_that_did_what_was_asked_is_told_with_what_was_asked() {
    check(
        "push last look read
         plan
         called read edit",
        expect![[r#"
            plan
                choice [read]
            called read edit
                look [read] resolved
        "#]],
    );
}

#[test]
fn what_was_lost_is_asked_again_before_what_follows_it() {
    check(
        "push last look read,none requeue 2
         push last two edit
         plan
         push first now any
         aborted
         queue
         plan
         called read
         plan
         called read
         plan
         said",
        expect![[r#"
            plan
                choice [read]
            aborted
                look [read] aborted, again
            queue
                ["look", "now", "two"]
            plan
                choice [read]
            called read
                look [read] resolved
            plan
                choice none
            called read
                look none resolved
            plan
                choice any
            said
                now any resolved
        "#]],
    );
}

#[test]
fn what_may_not_be_asked_again_is_dropped_with_what_follows_it() {
    check(
        "push last look read,none
         push last two edit
         plan
         error
         queue",
        expect![[r#"
            plan
                choice [read]
            error
                look [read] error, dropped
            queue
                ["two"]
        "#]],
    );
}

#[test]
fn without_anything_in_flight_a_turn_ends_like_any_other() {
    check(
        "aborted
         error
         called read
         remove look
         clear",
        expect![[r#"
            aborted
                nothing was asked
            error
                nothing was asked
            called read
                nothing was asked
            remove look
                nothing
            clear
                nothing
        "#]],
    );
}

#[test]
fn every_rejection_has_its_reason() {
    check(
        "push last a read must
         plan
         aborted
         push last a read must
         plan
         error
         push last a read must
         plan
         said
         push last a missing
         plan
         push last a read
         wire no wide
         plan
         wire named
         push last a read
         plan
         remove a
         push last a read
         plan
         clear",
        expect![[r#"
            plan
                choice [read]
            aborted
                a [read] aborted, dropped
            plan
                choice [read]
            error
                a [read] error, dropped
            plan
                choice [read]
            said
                a [read] not invoked, dropped
            plan
                a [missing] unavailable, dropped
            plan
                a [read] impossible, dropped
            plan
                choice [read]
            remove a
                a [read] removed, dropped
            plan
                choice [read]
            clear
                a [read] cleared, dropped
        "#]],
    );
}

#[test]
fn what_is_asked_again_keeps_its_label_and_its_promise() {
    check(
        "push last look read must requeue 2
         plan
         called edit
         queue
         plan
         called edit
         queue
         plan
         called read",
        expect![[r#"
            plan
                choice [read]
            called edit
                look [read] not invoked, again
            queue
                ["look"]
            plan
                choice [read]
            called edit
                look [read] not invoked, again
            queue
                ["look"]
            plan
                choice [read]
            called read
                look [read] resolved
        "#]],
    );
}

#[test]
fn taking_a_label_out_leaves_the_others() {
    check(
        "push last look read requeue 9
         push last other edit
         push last look any
         plan
         remove look
         flying
         queue
         called read",
        expect![[r#"
            plan
                choice [read]
            remove look
                look [read] removed, dropped; look any removed, dropped
            flying
                nothing
            queue
                ["other"]
            called read
                nothing was asked
        "#]],
    );
}

#[test]
fn clearing_asks_nothing_again() {
    check(
        "push last look read requeue 9
         push last other edit requeue 9
         plan
         clear
         queue
         flying",
        expect![[r#"
            plan
                choice [read]
            clear
                look [read] cleared, dropped; other [edit] cleared, dropped
            queue
                []
            flying
                nothing
        "#]],
    );
}

#[test]
fn the_last_label_is_told_once() {
    check(
        "push last look read
         plan
         called read
         last
         last",
        expect![[r#"
            plan
                choice [read]
            called read
                look [read] resolved
            last
                Some("look")
            last
                None
        "#]],
    );
}

#[test]
fn something_is_in_flight_from_its_plan_to_its_report() {
    check(
        "flying
         push last look read
         flying
         plan
         flying
         called read
         flying",
        expect![[r#"
            flying
                nothing
            flying
                nothing
            plan
                choice [read]
            flying
                look [read]
            called read
                look [read] resolved
            flying
                nothing
        "#]],
    );
}

#[test]
fn a_call_is_noted_when_it_is_made() {
    check(
        "push last look read must
         plan
         invoked edit
         flying
         invoked read
         flying
         said",
        expect![[r#"
            plan
                choice [read]
            flying
                look [read]
            flying
                look [read], invoked
            said
                look [read] resolved
        "#]],
    );
}

#[test]
fn asking_again_has_an_end() {
    check(
        "push last look read requeue 2
         plan
         aborted
         plan
         aborted
         plan
         aborted
         plan",
        expect![[r#"
            plan
                choice [read]
            aborted
                look [read] aborted, again
            plan
                choice [read]
            aborted
                look [read] aborted, again
            plan
                choice [read]
            aborted
                look [read] aborted, dropped
            plan
                free
        "#]],
    );
}

#[test]
fn a_tool_that_is_not_there_is_waited_for_as_often_as_was_promised() {
    check(
        "tools edit
         push last look read requeue 1
         plan
         tools edit read
         plan
         called read
         tools edit
         push last look read requeue 1
         plan
         plan
         plan",
        expect![[r#"
            plan
                look [read] unavailable, again
            plan
                choice [read]
            called read
                look [read] resolved
            plan
                look [read] unavailable, again
            plan
                look [read] unavailable, dropped
            plan
                free
        "#]],
    );
}
