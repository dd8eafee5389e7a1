//! Who applies something, and for how long others keep away.

use expect_test::expect;

use crate::script::check;

#[test]
fn while_a_lease_stands_nobody_else_begins_or_recovers() {
    check(
        "stage a=2
         approve p1
         begin p1 until 50 by one
         begin p1 until 60 by two
         recover p1 harness
         renew p1-1 60
         at 55
         recover p1 harness
         write p1
         finish p1-1 applied
         recover p1 harness",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 until 50 by one
                p1 is applying, key p1-1
            begin p1 until 60 by two
                refused: p1-1 is being applied by one until 50 ms; wait for its end
            recover p1 harness
                refused: p1-1 is being applied by one until 50 ms; wait for its end
            renew p1-1 60
                p1 is applying
            recover p1 harness
                refused: p1-1 is being applied by one until 60 ms; wait for its end
            finish p1-1 applied
                p1 is applied
            recover p1 harness
                refused: cannot recover p1: it is applied; possible now: nothing
        "#]],
    );
}

#[test]
fn a_lease_that_is_over_is_recovered_and_never_begun_over() {
    check(
        "stage a=2
         approve p1
         begin p1 until 50 by one
         at 50
         begin p1 until 90 by two
         recover p1 harness
         finish p1-1 applied
         begin p1 until 90 by two
         finish p1-1 applied
         finish p1-2 applied",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 until 50 by one
                p1 is applying, key p1-1
            begin p1 until 90 by two
                refused: p1-1 was begun by one and did not end before its lease did, at 50 ms; look at what it left and recover it
            recover p1 harness
                Before: p1 is approved
            finish p1-1 applied
                refused: cannot finish p1: it is approved; possible now: begin, check, supersede
            begin p1 until 90 by two
                p1 is applying, key p1-2
            finish p1-1 applied
                refused: p1-1 is not the attempt at hand; that is p1-2
            finish p1-2 applied
                p1 is applied
        "#]],
    );
}

#[test]
fn whoever_knows_that_the_holder_is_gone_need_not_wait() {
    check(
        "stage a=2
         approve p1
         begin p1 until 50 by one
         recover p1 fenced harness
         renew p1-1 70
         begin p1 until 60 by two
         renew p1-1 70
         renew p1-2 60
         renew p1-2 70",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 until 50 by one
                p1 is applying, key p1-1
            recover p1 fenced harness
                Before: p1 is approved
            renew p1-1 70
                refused: cannot renew p1: it is approved; possible now: begin, check, supersede
            begin p1 until 60 by two
                p1 is applying, key p1-2
            renew p1-1 70
                refused: p1-1 is not the attempt at hand; that is p1-2
            renew p1-2 60
                refused: a lease of p1 until 60 ms would not hold at 60 ms; give it more time
            renew p1-2 70
                p1 is applying
        "#]],
    );
}

#[test]
fn a_lease_must_hold() {
    check(
        "stage a=2
         approve p1
         begin p1 until 3 by one
         begin p1
         renew p1-1 90",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 until 3 by one
                refused: a lease of p1 until 3 ms would not hold at 3 ms; give it more time
            begin p1
                p1 is applying, key p1-1
            renew p1-1 90
                refused: p1-1 was begun without a lease
        "#]],
    );
}

#[test]
fn whoever_takes_over_is_alone_with_what_was_left() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2
         takeover p1 until 80 by two
         approve p1
         begin p1 until 50 by one keeping a b
         file b 2
         takeover p1 until 80 by two
         at 50
         takeover p1 until 20 by two
         takeover p1 until 80 by two
         takeover p1 until 90 by three
         recover p1 harness
         finish p1-1 applied
         traces p1
         file b 1
         takeover p1 until 95 by three fenced
         at 95
         recover p1 harness
         begin p1 keeping a b
         write p1
         finish p1-4 applied",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            takeover p1 until 80 by two
                refused: cannot take over p1: it is proposed; possible now: approve, discard, check, supersede
            approve p1
                p1 is approved
            begin p1 until 50 by one keeping a b
                p1 is applying, key p1-1
            takeover p1 until 80 by two
                refused: p1-1 is being applied by one until 50 ms; wait for its end
            takeover p1 until 20 by two
                refused: a lease of p1 until 20 ms would not hold at 51 ms; give it more time
            takeover p1 until 80 by two
                p1 is applying
            takeover p1 until 90 by three
                refused: p1-2 is being applied by two until 80 ms; wait for its end
            recover p1 harness
                refused: p1-2 is being applied by two until 80 ms; wait for its end
            finish p1-1 applied
                refused: p1-1 is not the attempt at hand; that is p1-2
            traces p1
                a Before, b After
            takeover p1 until 95 by three fenced
                p1 is applying
            recover p1 harness
                Before: p1 is approved
            begin p1 keeping a b
                p1 is applying, key p1-4
            finish p1-4 applied
                p1 is applied
        "#]],
    );
}
