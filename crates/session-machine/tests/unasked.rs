//! Calls that run unasked unless a rule forbids them, and calls whose tool means something else once they are approved.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_runs_unasked_does_not_begin_where_a_rule_forbids_it() {
    check(
        r#"
        script
        rule deny tool script
        model: script c1 {"command":"./bump.sh"}
        model: done
        > do it
        "#,
        expect![[r#"
            rule deny tool script
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: script c1
              gate c1 run ./bump.sh
                + resolve/event p1 pending
                + resolve/gated
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
        "#]],
    );
    check(
        r#"
        script
        rule deny command ./bump.sh
        model: script c1 {"command":"./bump.sh"}; script c2 {"command":"./other.sh"}
        model: done
        > do it
        "#,
        expect![[r#"
            rule deny command ./bump.sh
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: script c1 script c2
              run script c2
                + runtime/call_started
                + runtime/call_finished
              gate c1 run ./bump.sh
                + resolve/event p1 pending
                + resolve/gated
                + resolve/event p1 discarded
                + resolve/rule
              answer c1 "not run: forbidden by r1"
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: not run: forbidden by r1
                + n4 under n3 tool: c2: done
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn what_was_approved_is_what_runs_or_nothing_does() {
    check(
        r#"
        model: shell c1 {"command":"touch harmless"}
        model: done
        > do it
        means touch other
        approve p1
        resume
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1
              gate c1 run touch harmless
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              answer c1 "not run: what it would run is not what was approved any more; call it again, so that this is decided on"
                + runtime/call_finished
                + resolve/event p1 superseded
              settle
                + n3 under n2 harness: c1: not run: what it would run is not what was approved any more; call it again, so that this is decided on
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}
