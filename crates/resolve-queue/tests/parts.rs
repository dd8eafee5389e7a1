//! Some of it, and not the rest.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_part_is_applied_and_the_rest_is_discarded() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2 divisible
         approve p1 person anna only b: a is generated
         approve p1 person anna only b
         approve p1 person anna only a
         approve p1 person bert
         file a 9
         begin p1
         write p1
         recover p1 harness
         begin p1",
        expect![[r#"
            stage a=2 b=2 divisible
                p1 is proposed
            approve p1 person anna only b: a is generated
                p1 is approved
            approve p1 person anna only b
                already, by person anna
            approve p1 person anna only a
                refused: p1 was already approved for b alone by person anna (a is generated); it is approved
            approve p1 person bert
                refused: p1 was already approved for b alone by person anna (a is generated); it is approved
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
fn what_is_only_read_counts_for_every_part() {
    check(
        "file c 1
         stage a=2 b=2 reads c divisible
         approve p1 person anna only b
         file c 2
         begin p1
         file c 1
         check p1
         begin p1",
        expect![[r#"
            stage a=2 b=2 reads c divisible
                p1 is proposed
            approve p1 person anna only b
                p1 is approved
            begin p1
                p1 is stale; c: expected 1, found 2
            check p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
        "#]],
    );
}

#[test]
fn what_was_left_out_once_is_never_applied() {
    check(
        "stage a=2 b=2 c=2 divisible
         approve p1 person anna only a b
         begin p1
         finish p1-1 failed: disk full
         approve p1 person anna only c
         approve p1 person anna only a
         begin p1
         finish p1-2 failed: disk full
         overlapping b=7
         approve p1
         begin p1
         write p1
         recover p1",
        expect![[r#"
            stage a=2 b=2 c=2 divisible
                p1 is proposed
            approve p1 person anna only a b
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            finish p1-1 failed: disk full
                p1 is failed
            approve p1 person anna only c
                refused: c is no part of p1; parts: a, b
            approve p1 person anna only a
                p1 is approved
            begin p1
                p1 is applying, key p1-2
            finish p1-2 failed: disk full
                p1 is failed
            overlapping b=7
                []
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-3
            recover p1
                After: p1 is applied
        "#]],
    );
}

#[test]
fn only_what_has_parts_is_cut_and_only_along_them() {
    check(
        "stage a=2 b=2
         approve p1 person anna only a
         approve p1 person anna only a b
         stage a=3 b=3 divisible
         approve p2 person anna only c
         discard p2 person anna only a
         discard p2 person anna",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1 person anna only a
                refused: p1 has no parts: approve or discard all of it
            approve p1 person anna only a b
                p1 is approved
            stage a=3 b=3 divisible
                p2 is proposed
            approve p2 person anna only c
                refused: c is no part of p2; parts: a, b
            discard p2 person anna only a
                refused: to discard a part of p2, approve the others: b
            discard p2 person anna
                p2 is discarded
        "#]],
    );
}
