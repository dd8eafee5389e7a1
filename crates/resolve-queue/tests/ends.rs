//! How proposals end without having been applied, and what is handed over with a decision.

use expect_test::expect;

use crate::script::check;

#[test]
fn each_end_has_its_cause_and_a_key_and_an_apply_is_none() {
    check(
        "file a 1
         file b 1
         stage a=2
         end p1
         discard p1 person anna: no
         end p1
         stage a=2
         discard p2 model: no
         end p2
         stage a=2 for policy
         discard p3 policy: denied by r1
         end p3
         stage a=2
         discard p4 harness: denied by r1
         end p4
         stage a=2
         file a 3
         check p5
         end p5
         discard p5 harness: stale
         end p5
         stage a=4
         approve p6
         file a 5
         begin p6
         discard p6 harness: stale
         end p6
         stage a=6 expires 60
         approve p7
         at 70
         expire p7
         end p7
         offer a=7
         offer a=8
         end p8
         approve p9
         begin p9
         finish p9-1 failed
         end p9
         discard p9 harness: it could not be applied
         end p9
         stage a=9
         approve p10
         begin p10
         write p10
         finish p10-1 applied
         end p10",
        expect![[r#"
            stage a=2
                p1 is proposed
            end p1
                has not ended
            discard p1 person anna: no
                p1 is discarded
            end p1
                p1-end-1: discarded
            stage a=2
                p2 is proposed
            discard p2 model: no
                p2 is discarded
            end p2
                p2-end-1: discarded
            stage a=2 for policy
                p3 is proposed
            discard p3 policy: denied by r1
                p3 is discarded
            end p3
                p3-end-1: denied
            stage a=2
                p4 is proposed
            discard p4 harness: denied by r1
                p4 is discarded
            end p4
                p4-end-1: denied
            stage a=2
                p5 is proposed
            check p5
                p5 is stale; a: expected 1, found 3
            end p5
                has not ended
            discard p5 harness: stale
                p5 is discarded
            end p5
                p5-end-1: stale
            stage a=4
                p6 is proposed
            approve p6
                p6 is approved
            begin p6
                p6 is stale; a: expected 3, found 5
            discard p6 harness: stale
                p6 is discarded
            end p6
                p6-end-1: stale, approved
            stage a=6 expires 60
                p7 is proposed
            approve p7
                p7 is approved
            expire p7
                p7 is expired
            end p7
                p7-end-1: expired, approved
            offer a=7
                p8 is proposed
            offer a=8
                p9 is proposed, p8 is superseded
            end p8
                p8-end-1: replaced by p9
            approve p9
                p9 is approved
            begin p9
                p9 is applying, key p9-1
            finish p9-1 failed
                p9 is failed
            end p9
                has not ended
            discard p9 harness: it could not be applied
                p9 is discarded
            end p9
                p9-end-1: given up, approved
            stage a=9
                p10 is proposed
            approve p10
                p10 is approved
            begin p10
                p10 is applying, key p10-1
            finish p10-1 applied
                p10 is applied
            end p10
                has not ended
        "#]],
    );
}

#[test]
fn what_comes_back_has_not_ended_and_ends_under_another_key() {
    check(
        "file a 1
         stage a=2
         approve p1
         supersede p1 left
         end p1
         restore p1
         end p1
         check p1
         end p1
         discard p1 person: no
         end p1",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            supersede p1 left
                p1 is superseded
            end p1
                p1-end-1: branch left, approved
            restore p1
                p1 is stale
            end p1
                has not ended
            check p1
                p1 is proposed
            end p1
                has not ended
            discard p1 person: no
                p1 is discarded
            end p1
                p1-end-2: discarded
        "#]],
    );
}

#[test]
fn an_attempt_of_which_nothing_is_known_makes_the_end_unclear_unless_it_is_tried_again() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2
         approve p1
         begin p1
         file a 7
         recover p1
         recover p1
         discard p1 harness: unknown
         end p1
         file b 1
         stage b=2
         approve p2
         begin p2
         file b 7
         recover p2
         recover p2
         file b 1
         check p2
         end p2
         file b 8
         check p2
         discard p2 harness: stale
         end p2",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            recover p1
                Unclear: p1 is unknown
            recover p1
                Unclear: p1 is stale
            discard p1 harness: unknown
                p1 is discarded
            end p1
                p1-end-1: unclear
            stage b=2
                p2 is proposed
            approve p2
                p2 is approved
            begin p2
                p2 is applying, key p2-1
            recover p2
                Unclear: p2 is unknown
            recover p2
                Unclear: p2 is stale
            check p2
                p2 is proposed
            end p2
                has not ended
            check p2
                p2 is stale; b: expected 1, found 8
            discard p2 harness: stale
                p2 is discarded
            end p2
                p2-end-1: stale
        "#]],
    );
}

#[test]
fn what_is_handed_over_belongs_to_the_decision_that_stands() {
    check(
        "file a 1
         stage a=2
         approve p1 person anna with mode=dry
         handed p1
         approve p1 person anna with mode=dry
         approve p1 person bert
         approve p1 person bert with mode=wet
         approve p1 model with mode=wet
         handed p1
         begin p1
         finish p1-1 failed
         approve p1 person bert
         handed p1",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1 person anna with mode=dry
                p1 is approved
            handed p1
                {"mode":"dry"}
            approve p1 person anna with mode=dry
                already, by person anna
            approve p1 person bert
                already, by person anna
            approve p1 person bert with mode=wet
                refused: p1 was already approved with {"mode":"dry"} by person anna; it is approved
            approve p1 model with mode=wet
                refused: p1 was already approved with {"mode":"dry"} by person anna; it is approved
            handed p1
                {"mode":"dry"}
            begin p1
                p1 is applying, key p1-1
            finish p1-1 failed
                p1 is failed
            approve p1 person bert
                p1 is approved
            handed p1
                null
        "#]],
    );
}

#[test]
fn what_failed_is_given_up_by_the_harness_alone_and_denied_where_rules_have_their_name_in_it() {
    check(
        "file a 1
         stage a=2
         approve p1
         begin p1
         finish p1-1 failed
         discard p1 harness r1: forbidden by r1
         end p1
         stage a=2
         approve p2
         begin p2
         finish p2-1 failed
         discard p2 harness: it could not be applied
         end p2",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            finish p1-1 failed
                p1 is failed
            discard p1 harness r1: forbidden by r1
                p1 is discarded
            end p1
                p1-end-1: denied, approved
            stage a=2
                p2 is proposed
            approve p2
                p2 is approved
            begin p2
                p2 is applying, key p2-1
            finish p2-1 failed
                p2 is failed
            discard p2 harness: it could not be applied
                p2 is discarded
            end p2
                p2-end-1: given up, approved
        "#]],
    );
}
