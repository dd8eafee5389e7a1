//! Rules on what is written: what may be done unasked, what must be asked, what never, whatever the approval says.

use expect_test::expect;

use crate::play::check;

#[test]
fn what_a_rule_allows_is_approved_by_it_in_the_batch_that_stages_it() {
    check(
        r#"
        rule allow path src/**
        model: edit c1 {"path":"src/a.rs"}
        propose c1 src/a.rs = new
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule allow path src/**
                + resolve/rule
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
                + resolve/event p1 approved
                + resolve/rule
              settle
                + n3 under n2 tool: c1: done / Staged as p1 and approved: allowed by r1. Nothing more is needed; you will be told when it is written.
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: Applied p1. written
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 allow used 1
            show decisions
                p1 applied, decided by policy r1: allowed by r1
        "#]],
    );
}

#[test]
fn what_a_rule_forbids_is_discarded_and_the_model_is_told_which() {
    check(
        "
        approval always
        rule deny path gen/** because it is \u{1b}[31mmade\\nby a script
        model: edit c1 {\"path\":\"gen/a.rs\"}
        propose c1 gen/a.rs = new
        model: done
        > do it
        show rules
        show decisions
        ",
        expect![[r#"
            rule deny path gen/** because it is \u{1b}[31mmade\nby a script
                + resolve/rule
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
                + resolve/event p1 discarded
                + resolve/rule
              settle
                + n3 under n2 tool: c1: done / p1 (write gen/a.rs) was discarded: forbidden by r1 (it is [31mmade by a script). Nothing is written.
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 deny used 1
            show decisions
                p1 discarded, decided by policy r1: forbidden by r1 (it is [31mmade by a script)
        "#]],
    );
}

#[test]
fn a_preview_that_changes_nothing_is_neither_forbidden_nor_staged() {
    check(
        r#"
        rule deny path **
        file a = new
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule deny path **
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done / Nothing staged: write a would change nothing.
              request
                + n4 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 deny used 0
            show decisions
        "#]],
    );
}

#[test]
fn a_rule_lets_the_model_decide_where_a_person_would() {
    check(
        r#"
        rule ask path src/** model
        model: edit c1 {"path":"src/a"}; edit c2 {"path":"b"}
        propose c1 src/a = new
        propose c2 b = new
        model: resolve c3 {"action":"apply","reason":"because"}
        model: done
        > do it
        approve p2
        resume
        show rules
        show decisions
        "#,
        expect![[r#"
            rule ask path src/** model
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 edit c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                + n4 under n3 tool: c2: done / Staged as p2. Nothing is written before it is approved; you will be told.
              ask about p2
            approve p2
                + resolve/event p2 approved
            resume
              apply p2
                + resolve/kept
                + resolve/event p2 applying
                + resolve/event p2 applied
                + n5 under n4 harness: A person approved p2, and it was applied. written
              request
                + resolve/choices
                + n6 under n5 model: resolve c3
                + resolve/choices
              resolve c3
                + resolve/event p1 approved
                + resolve/rule
                + resolve/resolving
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + runtime/call_finished
              settle
                + n7 under n6 tool: c3: Applied p1. written
              request
                + resolve/choices
                + n8 under n7 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 ask used 1
            show decisions
                p1 applied, decided by model: because
                p2 applied, decided by person:
        "#]],
    );
}

#[test]
fn a_session_in_which_the_model_has_no_tool_to_decide_with_asks_a_person_instead() {
    check(
        r#"
        give ask model
        model: edit c1 {"path":"src/a"}
        propose c1 src/a = new
        model: done
        > do it
        show tools
        "#,
        expect![[r#"
            give ask model
                + resolve/rule
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
fn a_rule_that_counts_once_counts_once_and_keeps_for_when_nothing_else_allows() {
    check(
        r#"
        rule allow path src/**
        give allow once
        model: edit c1 {"path":"src/a"}
        propose c1 src/a = new
        model: edit c2 {"path":"b"}
        propose c2 b = new
        model: edit c3 {"path":"c"}
        propose c3 c = new
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule allow path src/**
                + resolve/rule
            give allow once
                + resolve/rule
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
                + resolve/event p1 approved
                + resolve/rule
              settle
                + n3 under n2 tool: c1: done / Staged as p1 and approved: allowed by r1. Nothing more is needed; you will be told when it is written.
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: Applied p1. written
              request
                + n5 under n4 model: edit c2
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
                + resolve/event p2 approved
                + resolve/rule
              settle
                + n6 under n5 tool: c2: done / Staged as p2 and approved: allowed by r2. Nothing more is needed; you will be told when it is written.
              apply p2
                + resolve/kept
                + resolve/event p2 applying
                + resolve/event p2 applied
                + n7 under n6 harness: Applied p2. written
              request
                + n8 under n7 model: edit c3
              run edit c3
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p3 pending
              settle
                + n9 under n8 tool: c3: done / Staged as p3. Nothing is written before it is approved; you will be told.
              ask about p3
            show rules
                r1 allow used 1
                r2 allow used 1
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 applied, decided by policy r2: allowed by r2
                p3 proposed
        "#]],
    );
}

#[test]
fn a_rule_that_comes_later_decides_what_waits() {
    check(
        r#"
        model: edit c1 {"path":"src/a"}; edit c2 {"path":"gen/b"}
        propose c1 src/a = new
        propose c2 gen/b = new
        model: done
        > do it
        give allow path src/**
        give deny path gen/** because made by a script
        resume
        show rules
        show decisions
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 edit c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 tool: c2: done / Staged as p2. Nothing is written before it is approved; you will be told.
              ask about p1, p2
            give allow path src/**
                + resolve/rule
            give deny path gen/** because made by a script
                + resolve/rule
            resume
              approve p1
                + resolve/event p1 approved
                + resolve/rule
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n5 under n4 harness: Applied p1. written
              forbid p2
                + resolve/event p2 discarded
                + resolve/rule
                + n6 under n5 harness: p2 (write gen/b) was discarded: forbidden by r2 (made by a script).
              request
                + n7 under n6 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show rules
                r1 allow used 1
                r2 deny used 1
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 discarded, decided by policy r2: forbidden by r2 (made by a script)
        "#]],
    );
}

#[test]
fn a_rule_ends_at_its_time() {
    check(
        r#"
        rule allow until 1
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        > do it
        show rules
        "#,
        expect![[r#"
            rule allow until 1
                + resolve/rule
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
            show rules
                r1 allow used 0
        "#]],
    );
}

#[test]
fn after_a_failed_apply_a_rule_that_allows_does_not_try_again() {
    check(
        r#"
        rule allow
        model: edit c1 {"path":"a"}
        propose c1 a = unwritable
        model: done
        > do it
        show rules
        show decisions
        "#,
        expect![[r#"
            rule allow
                + resolve/rule
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
                + resolve/event p1 approved
                + resolve/rule
              settle
                + n3 under n2 tool: c1: done / Staged as p1 and approved: allowed by r1. Nothing more is needed; you will be told when it is written.
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 failed
                + n4 under n3 harness: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
              ask about p1
            show rules
                r1 allow used 1
            show decisions
                p1 failed, decided by policy r1: allowed by r1
        "#]],
    );
}
