//! Of which ends of what they have staged tools are told, and with which cause.

use expect_test::expect;

use crate::play::check;

#[test]
fn every_end_without_an_apply_is_told_with_its_cause_and_an_apply_is_not() {
    check(
        r#"
        hook edit
        reverts
        offers 100 s
        rule deny path secret
        file a = old
        model: edit c1 {"path":"secret"}; edit c2 {"path":"a"}; edit c3 {"path":"b"}; edit c4 {"path":"b"}
        propose c1 secret = new
        propose c2 a = new
        propose c3 b = one
        propose c4 b = two
        > denied at once, and replaced
        give deny path b
        resume
        file a = changed
        approve p2
        resume
        model: edit c5 {"path":"c"}; edit c6 {"path":"d"}
        propose c5 c = new
        propose c6 d = unwritable
        > one of these is applied
        approve p5
        approve p6
        resume
        approve p6
        resume
        approve p6
        resume
        model: edit c7 {"path":"e"}
        propose c7 e = new
        > in time
        approve p7
        pass 101 s
        resume
        model: edit c8 {"path":"f"}
        propose c8 f = new
        > and left
        approve p8
        back n1
        resume
        show decisions
        "#,
        expect![[r#"
            rule deny path secret
                + resolve/rule
            > denied at once, and replaced
                + n1 under n0 person: denied at once, and replaced
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 edit c2 edit c3 edit c4
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
                + resolve/event p1 discarded
                + resolve/rule
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: denied
                + resolve/discard_hook
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
              run edit c3
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p3 pending
              run edit c4
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p4 pending
                + resolve/event p3 superseded
              call hook p3
                + resolve/discard_hook
                hook p3-end-1: replaced by p4
                + resolve/discard_hook
              settle
                + n3 under n2 tool: c1: done / p1 (write secret) was discarded: forbidden by r1. Nothing is written.
                + n4 under n3 tool: c2: done / Staged as p2. Nothing is written before it is approved; you will be told.
                + n5 under n4 tool: c3: done / Staged as p3. Nothing is written before it is approved; you will be told.
                + n6 under n5 tool: c4: done / Staged as p4, in place of p3. Nothing is written before it is approved; you will be told.
              ask about p2, p4
            give deny path b
                + resolve/rule
            resume
              forbid p4
                + resolve/event p4 discarded
                + resolve/rule
                + n7 under n6 harness: p4 (write b) was discarded: forbidden by r2.
              call hook p4
                + resolve/discard_hook
                hook p4-end-1: denied
                + resolve/discard_hook
              ask about p2
            approve p2
                + resolve/event p2 approved
            resume
              apply p2
                + resolve/event p2 stale
                + resolve/event p2 discarded
                + n8 under n7 harness: p2 was not applied and is dropped: a changed after the preview. Look again and propose anew.
              call hook p2
                + resolve/discard_hook
                hook p2-end-1: stale, approved
                + resolve/discard_hook
              request
                the model has no more answers
            > one of these is applied
                + n9 under n8 person: one of these is applied
              request
                + n10 under n9 model: edit c5 edit c6
              run edit c5
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p5 pending
              run edit c6
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p6 pending
              settle
                + n11 under n10 tool: c5: done / Staged as p5. Nothing is written before it is approved; you will be told.
                + n12 under n11 tool: c6: done / Staged as p6. Nothing is written before it is approved; you will be told.
              ask about p5, p6
            approve p5
                + resolve/event p5 approved
            approve p6
                + resolve/event p6 approved
            resume
              apply p5
                + resolve/kept
                + resolve/event p5 applying
                + resolve/event p5 applied
                + n13 under n12 harness: A person approved p5, and it was applied. written
              apply p6
                + resolve/kept
                + resolve/event p6 applying
                + resolve/event p6 failed
                + n14 under n13 harness: p6 could not be applied: the disk is full. It is kept: apply it again or discard it.
              ask about p6
            approve p6
                + resolve/event p6 approved
            resume
              apply p6
                + resolve/kept
                + resolve/event p6 applying
                + resolve/event p6 failed
                + n15 under n14 harness: p6 could not be applied: the disk is full. It is kept: apply it again or discard it.
              ask about p6
            approve p6
                + resolve/event p6 approved
            resume
              apply p6
                + resolve/kept
                + resolve/event p6 applying
                + resolve/event p6 failed
                + n16 under n15 harness: p6 could not be applied: the disk is full. It is kept: apply it again or discard it.
              drop p6
                + resolve/event p6 discarded
                + n17 under n16 harness: p6 was dropped: it could not be applied. Nothing is left to do for it.
              call hook p6
                + resolve/discard_hook
                hook p6-end-1: given up, approved
                + resolve/discard_hook
              request
                the model has no more answers
            > in time
                + n18 under n17 person: in time
              request
                + n19 under n18 model: edit c7
              run edit c7
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p7 pending
              settle
                + n20 under n19 tool: c7: done / Staged as p7. Nothing is written before it is approved; you will be told.
              ask about p7
            approve p7
                + resolve/event p7 approved
            resume
                + resolve/event p7 expired
                + n21 under n20 harness: Expired, and not applied, because the time for it is over: p7 (write e). Propose it again if it is still wanted.
              call hook p7
                + resolve/discard_hook
                hook p7-end-1: expired, approved
                + resolve/discard_hook
              request
                the model has no more answers
            > and left
                + n22 under n21 person: and left
              request
                + n23 under n22 model: edit c8
              run edit c8
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p8 pending
              settle
                + n24 under n23 tool: c8: done / Staged as p8. Nothing is written before it is approved; you will be told.
              ask about p8
            approve p8
                + resolve/event p8 approved
            back n1
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p8 superseded
            resume
              call hook p8
                + resolve/discard_hook
                hook p8-end-1: branch left, approved
                + resolve/discard_hook
              request
                the model has no more answers
            show decisions
                p1 discarded, decided by policy r1: forbidden by r1
                p2 discarded, decided by harness: the files changed after the preview
                p3 superseded
                p4 discarded, decided by policy r2: forbidden by r2
                p5 applied, decided by person:
                p6 discarded, decided by harness: it could not be applied
                p7 expired, decided by person:
                p8 superseded
        "#]],
    );
}

#[test]
fn what_comes_back_before_its_tool_was_told_is_told_of_its_next_end_alone() {
    check(
        r#"
        hook edit
        reverts
        model: edit c1 {"path":"a"}
        propose c1 a = new
        hush
        > do it
        tell
        back n1
        undo
        resume
        back n1
        resume
        undo
        discard p1 no
        resume
        "#,
        expect![[r#"
            back n1
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
            undo
                + head to n3
                + revert/note
                + resolve/event p1 stale
            resume
              check p1
                + resolve/event p1 pending
              ask about p1
            back n1
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-2: branch left
                + resolve/discard_hook
              request
                the model has no more answers
            undo
                + head to n3
                + revert/note
                + resolve/event p1 stale
            discard p1 no
                + resolve/event p1 discarded
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-3: discarded
                + resolve/discard_hook
                + n4 under n3 harness: A person declined p1. Discarded: write a. Reason: no
              request
                the model has no more answers
        "#]],
    );
}

#[test]
fn an_attempt_that_was_cut_off_and_cannot_be_told_is_an_end_as_well() {
    check(
        r#"
        hook edit
        file a = old
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        hush
        > do it
        approve p1
        crash p1
        file a = other
        tell
        resume
        "#,
        expect![[r#"
            resume
                + resolve/event p1 unknown
                + resolve/event p1 stale
                + resolve/event p1 discarded
                + n4 under n3 harness: p1 (write a) was cut off while it was applied, and somebody else has written to a meanwhile, which was left as it is. It is dropped; look at the files before you go on.
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: unclear
                + resolve/discard_hook
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn what_rules_forbid_is_denied_and_not_given_up_also_after_it_failed() {
    check(
        r#"
        hook edit
        model: edit c1 {"path":"x"}; edit c2 {"path":"x"}
        propose c1 .trunkline/x = unwritable
        propose c2 x = unwritable
        hush
        > both fail
        approve p1
        approve p2
        resume
        give deny tool edit
        tell
        resume
        show decisions
        "#,
        expect![[r#"
            resume
              forbid p1
                + resolve/event p1 discarded
                + resolve/rule
                + n7 under n6 harness: p1 (write .trunkline/x) was discarded: forbidden by r1.
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: denied, approved
                + resolve/discard_hook
              forbid p2
                + resolve/event p2 discarded
                + resolve/rule
                + n8 under n7 harness: p2 (write x) was discarded: forbidden by r1.
              call hook p2
                + resolve/discard_hook
                hook p2-end-1: denied, approved
                + resolve/discard_hook
              request
                the model has no more answers
            show decisions
                p1 discarded, decided by harness r1: forbidden by r1
                p2 discarded, decided by policy r1: forbidden by r1
        "#]],
    );
}

/// Words behind an abandon would be something to go on from.
#[test]
fn what_a_hook_says_behind_an_abandon_waits_for_the_next_prompt() {
    check(
        r#"
        hook edit
        hears p1 = the lock is gone
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: done
        hush
        > do it
        discard p1 not so
        close abandon it is not wanted
        tell
        resume
        model: hello
        > say hello
        show results
        "#,
        expect![[r#"
            resume
              call hook p1
                + resolve/discard_hook
                hook p1-end-1: discarded
                + resolve/discard_hook
                + resolve/untold
              rest
            > say hello
                + n4 under n3 person: say hello
                + decision/opened
                + decision/run
                + n5 under n4 harness: A person declined p1. the lock is gone
                + resolve/told
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show results
                done / Staged as p1. Nothing is written before it is approved; you will be told.
        "#]],
    );
}
