//! Proposals that nobody decides in time.

use expect_test::expect;

use crate::play::check;

#[test]
fn an_edit_that_nobody_decides_in_time_is_not_applied_and_the_model_is_told() {
    check(
        r#"
        offers 10 s
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: well
        > go
        pass 9996 ms
        resume
        pass 1 ms
        approve p1
        resume
        show decisions
        show sent
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
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
            resume
              ask about p1
            approve p1
                the time of p1 is over; propose it again if it is still wanted
            resume
                + resolve/event p1 expired
                + n4 under n3 harness: Expired, and not applied, because the time for it is over: p1 (write a). Propose it again if it is still wanted.
              request
                + n5 under n4 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 expired
            show sent
                system: Be short.
                user: go
                assistant:
                + call c1 edit {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c1: done
                ++ text: Staged as p1. Nothing is written before it is approved; you will be told.
                harness: Expired, and not applied, because the time for it is over: p1 (write a). Propose it again if it is still wanted.
        "#]],
    );
}

#[test]
fn what_was_approved_and_not_begun_in_time_is_not_applied_either() {
    check(
        r#"
        offers 10 s
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: well
        > go
        approve p1
        pass 11 s
        resume
        show decisions
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
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
                + resolve/event p1 expired
                + n4 under n3 harness: Expired, and not applied, because the time for it is over: p1 (write a). Propose it again if it is still wanted.
              request
                + n5 under n4 model: well
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 expired, decided by person:
        "#]],
    );
}

#[test]
fn a_call_that_nobody_decides_in_time_is_answered() {
    check(
        r#"
        offers 10 s
        model: shell c1 {"command":"make"}
        model: done
        > go
        pass 11 s
        resume
        show decisions
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            resume
                + resolve/event p1 expired
              answer c1 "not run: nobody decided on it in time"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: nobody decided on it in time
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 expired
        "#]],
    );
}
