//! Rules on commands, and on tools for which nobody is asked.

use expect_test::expect;

use crate::play::check;

#[test]
fn commands_are_allowed_asked_about_and_forbidden_by_their_words() {
    check(
        r#"
        rule allow command cargo test
        rule deny command git push because ask Anna
        model: shell c1 {"command":"cargo test --all"}; shell c2 {"command":"git push"}; shell c3 {"command":"make"}
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule allow command cargo test
                + resolve/rule
            rule deny command git push because ask Anna
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 shell c2 shell c3
              gate c1 run cargo test --all
                + resolve/event p1 pending
                + resolve/gated
                + resolve/event p1 approved
                + resolve/rule
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              gate c2 run git push
                + resolve/event p2 pending
                + resolve/gated
                + resolve/event p2 discarded
                + resolve/rule
              answer c2 "not run: forbidden by r2 (ask Anna)"
                + runtime/call_finished
              gate c3 run make
                + resolve/event p3 pending
                + resolve/gated
              ask about p3
            show rules
                r1 allow used 1
                r2 deny used 1
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 discarded, decided by policy r2: forbidden by r2 (ask Anna)
                p3 proposed
        "#]],
    );
}

#[test]
fn what_no_rule_speaks_of_goes_as_if_there_were_none_where_everything_is_allowed() {
    check(
        r#"
        approval always
        rule allow command cargo test
        rule deny command git push because ask Anna
        model: shell c1 {"command":"cargo test --all"}; shell c2 {"command":"git push"}; shell c3 {"command":"make"}
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule allow command cargo test
                + resolve/rule
            rule deny command git push because ask Anna
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 shell c2 shell c3
              gate c1 run cargo test --all
                + resolve/event p1 pending
                + resolve/gated
                + resolve/event p1 approved
                + resolve/rule
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              gate c2 run git push
                + resolve/event p2 pending
                + resolve/gated
                + resolve/event p2 discarded
                + resolve/rule
              answer c2 "not run: forbidden by r2 (ask Anna)"
                + runtime/call_finished
              run shell c3
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 harness: c2: not run: forbidden by r2 (ask Anna)
                + n5 under n4 tool: c3: done
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 allow used 1
                r2 deny used 1
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 discarded, decided by policy r2: forbidden by r2 (ask Anna)
        "#]],
    );
}

#[test]
fn what_no_rule_speaks_of_goes_as_if_there_were_none_where_the_model_decides() {
    check(
        r#"
        approval model
        rule allow command cargo test
        rule deny command git push because ask Anna
        model: shell c1 {"command":"cargo test --all"}; shell c2 {"command":"git push"}; shell c3 {"command":"make"}
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule allow command cargo test
                + resolve/rule
            rule deny command git push because ask Anna
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 shell c2 shell c3
              gate c1 run cargo test --all
                + resolve/event p1 pending
                + resolve/gated
                + resolve/event p1 approved
                + resolve/rule
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              gate c2 run git push
                + resolve/event p2 pending
                + resolve/gated
                + resolve/event p2 discarded
                + resolve/rule
              answer c2 "not run: forbidden by r2 (ask Anna)"
                + runtime/call_finished
              run shell c3
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 harness: c2: not run: forbidden by r2 (ask Anna)
                + n5 under n4 tool: c3: done
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 allow used 1
                r2 deny used 1
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 discarded, decided by policy r2: forbidden by r2 (ask Anna)
        "#]],
    );
}

#[test]
fn a_rule_that_asks_holds_where_everything_is_allowed() {
    check(
        r#"
        approval always
        rule ask path src/**
        rule ask command make
        model: edit c1 {"path":"src/a"}; shell c2 {"command":"make all"}
        propose c1 src/a = new
        model: done
        > do it
        approve p1
        resume
        approve p2
        resume
        show rules
        "#,
        expect![[r#"
            rule ask path src/**
                + resolve/rule
            rule ask command make
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 shell c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              ask about p1
            approve p1
                + resolve/event p1 approved
                + resolve/rule
            resume
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/untold
              gate c2 run make all
                + resolve/event p2 pending
                + resolve/gated
              ask about p2
            approve p2
                + resolve/event p2 approved
                + resolve/rule
            resume
              run shell c2
                + runtime/call_started
                + resolve/event p2 applying
                + runtime/call_finished
                + resolve/event p2 applied
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 tool: c2: done
                + n5 under n4 harness: A person approved p1, and it was applied. written
                + resolve/told
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 ask used 1
                r2 ask used 1
        "#]],
    );
}

#[test]
fn a_rule_that_asks_holds_where_the_model_decides() {
    check(
        r#"
        approval model
        rule ask path src/**
        rule ask command make
        model: edit c1 {"path":"src/a"}; shell c2 {"command":"make all"}
        propose c1 src/a = new
        model: done
        > do it
        approve p1
        resume
        approve p2
        resume
        show rules
        "#,
        expect![[r#"
            rule ask path src/**
                + resolve/rule
            rule ask command make
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 shell c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              ask about p1
            approve p1
                + resolve/event p1 approved
                + resolve/rule
            resume
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/untold
              gate c2 run make all
                + resolve/event p2 pending
                + resolve/gated
              ask about p2
            approve p2
                + resolve/event p2 approved
                + resolve/rule
            resume
              run shell c2
                + runtime/call_started
                + resolve/event p2 applying
                + runtime/call_finished
                + resolve/event p2 applied
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 tool: c2: done
                + n5 under n4 harness: A person approved p1, and it was applied. written
                + resolve/told
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 ask used 1
                r2 ask used 1
        "#]],
    );
}

#[test]
fn what_is_forbidden_is_forbidden_without_a_gate_too() {
    check(
        r#"
        approval always
        rule deny tool own because not here
        tool own
        model: own c1 {}; read c2 {"path":"a"}
        model: done
        > do it
        show rules
        "#,
        expect![[r#"
            rule deny tool own because not here
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: own c1 read c2
              run read c2
                + runtime/call_started
                + runtime/call_finished
              gate c1 call own
                + resolve/event p1 pending
                + resolve/gated
                + resolve/event p1 discarded
                + resolve/rule
              answer c1 "not run: forbidden by r1 (not here)"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: forbidden by r1 (not here)
                + n4 under n3 tool: c2: done
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 deny used 1
        "#]],
    );
}

#[test]
fn where_there_is_no_gate_nobody_is_asked() {
    check(
        r#"
        approval always
        rule ask tool own
        tool own
        model: own c1 {}; read c2 {"path":"a"}
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule ask tool own
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: own c1 read c2
              run own c1
                + runtime/call_started
                + runtime/call_finished
              run read c2
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 tool: c2: done
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 ask used 0
            show decisions
        "#]],
    );
}

#[test]
fn a_command_that_waits_runs_by_a_rule_that_comes_later() {
    check(
        r#"
        model: shell c1 {"command":"make all"}
        model: done
        > do it
        give allow command make
        resume
        show rules
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make all
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            give allow command make
                + resolve/rule
            resume
              approve p1
                + resolve/event p1 approved
                + resolve/rule
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              settle
                + n3 under n2 tool: c1: done
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 allow used 1
        "#]],
    );
}

#[test]
fn a_command_that_waits_is_forbidden_by_a_rule_that_comes_later() {
    check(
        r#"
        model: shell c1 {"command":"make all"}
        model: done
        > do it
        give deny command make
        resume
        show rules
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run make all
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            give deny command make
                + resolve/rule
            resume
              approve p1
                + resolve/event p1 discarded
                + resolve/rule
              answer c1 "not run: forbidden by r1"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: forbidden by r1
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 deny used 1
        "#]],
    );
}
