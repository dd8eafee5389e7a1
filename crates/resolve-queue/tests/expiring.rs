//! Time that passes, and questions that are closed without an answer.

use expect_test::expect;

use crate::script::check;

#[test]
fn what_is_past_its_time_can_neither_be_decided_nor_begun() {
    check(
        "stage a=2 expires 50
         stage b=2 expires 50
         stage c=2
         approve p2
         at 50
         approve p1
         discard p1
         check p1
         begin p2
         due
         expire p1
         expire p2
         expire p3
         due
         unsettled
         approve p1
         approve p2
         expire p1",
        expect![[r#"
            stage a=2 expires 50
                p1 is proposed
            stage b=2 expires 50
                p2 is proposed
            stage c=2
                p3 is proposed
            approve p2
                p2 is approved
            approve p1
                refused: the time of p1 is over; propose it again if it is still wanted
            discard p1
                refused: the time of p1 is over; propose it again if it is still wanted
            check p1
                refused: the time of p1 is over; propose it again if it is still wanted
            begin p2
                refused: the time of p2 is over; propose it again if it is still wanted
            due
                [p1 p2]
            expire p1
                p1 is expired
            expire p2
                p2 is expired
            expire p3
                refused: p3 does not expire
            due
                []
            unsettled
                [p3]
            approve p1
                refused: cannot approve p1: it is expired; possible now: nothing
            approve p2
                refused: cannot approve p2: it is expired; possible now: nothing
            expire p1
                refused: cannot expire p1: it is expired; possible now: nothing
        "#]],
    );
}

#[test]
fn before_its_time_nothing_expires() {
    check(
        "stage a=2 expires 50
         due
         expire p1
         at 48
         approve p1",
        expect![[r#"
            stage a=2 expires 50
                p1 is proposed
            due
                []
            expire p1
                refused: p1 does not expire before 50 ms
            approve p1
                p1 is approved
        "#]],
    );
}

#[test]
fn an_attempt_that_began_in_time_goes_on_and_what_it_left_is_found_out() {
    check(
        "stage a=2 expires 50
         approve p1
         begin p1
         at 60
         expire p1
         due
         recover p1
         begin p1
         due
         expire p1",
        expect![[r#"
            stage a=2 expires 50
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            expire p1
                refused: cannot expire p1: it is applying; possible now: finish, recover
            due
                []
            recover p1
                Before: p1 is approved
            begin p1
                refused: the time of p1 is over; propose it again if it is still wanted
            due
                [p1]
            expire p1
                p1 is expired
        "#]],
    );
}

#[test]
fn what_comes_back_with_its_branch_may_be_past_its_time() {
    check(
        "stage a=2 expires 50
         supersede p1 left
         at 60
         expire p1
         restore p1
         check p1
         expire p1",
        expect![[r#"
            stage a=2 expires 50
                p1 is proposed
            supersede p1 left
                p1 is superseded
            expire p1
                refused: cannot expire p1: it is superseded; possible now: restore
            restore p1
                p1 is stale
            check p1
                refused: the time of p1 is over; propose it again if it is still wanted
            expire p1
                p1 is expired
        "#]],
    );
}

#[test]
fn a_question_without_an_answer_decides_nothing() {
    check(
        "stage a=2
         cancel p1 person anna: not now
         pending
         approve p1
         cancel p1
         begin p1
         finish p1-1 failed: disk full
         cancel p1
         approve p1
         discard p1",
        expect![[r#"
            stage a=2
                p1 is proposed
            cancel p1 person anna: not now
                p1 is proposed
            pending
                [p1]
            approve p1
                p1 is approved
            cancel p1
                refused: cannot cancel p1: it is approved; possible now: begin, check, supersede
            begin p1
                p1 is applying, key p1-1
            finish p1-1 failed: disk full
                p1 is failed
            cancel p1
                p1 is failed
            approve p1
                p1 is approved
            discard p1
                refused: p1 was already approved by person; it is approved
        "#]],
    );
}
