//! Taking back what was applied, by putting back what was there.

use expect_test::expect;

use crate::script::check;

#[test]
fn an_undo_is_a_proposal_that_begins_only_in_the_world_that_the_apply_left() {
    check(
        "file a 1
         stage a=2 b=2
         approve p1
         begin p1 keeping a b
         write p1
         finish p1-1 applied
         undo p1
         file b 9
         approve p2
         begin p2
         file b 2
         check p2
         begin p2 keeping a b
         write p2
         finish p2-1 applied
         undo p2
         approve p3
         begin p3",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a b
                p1 is applying, key p1-1
            finish p1-1 applied
                p1 is applied
            undo p1
                p2 is proposed
            approve p2
                p2 is approved
            begin p2
                p2 is stale; b: expected 2, found 9
            check p2
                p2 is approved
            begin p2 keeping a b
                p2 is applying, key p2-1
            finish p2-1 applied
                p2 is applied
            undo p2
                p3 is proposed
            approve p3
                p3 is approved
            begin p3
                p3 is applying, key p3-1
        "#]],
    );
}

#[test]
fn without_what_was_there_nothing_is_taken_back() {
    check(
        "file a 1
         undo p1
         stage a=2 b=2
         undo p1
         approve p1
         begin p1 keeping a
         write p1
         finish p1-1 applied
         undo p1
         stage c=2 effect irreversible
         approve p2
         begin p2 keeping c
         finish p2-1 applied
         undo p2",
        expect![[r#"
            undo p1
                refused: no proposal p1; open: nothing
            stage a=2 b=2
                p1 is proposed
            undo p1
                refused: p1 cannot be undone: it is proposed
            approve p1
                p1 is approved
            begin p1 keeping a
                p1 is applying, key p1-1
            finish p1-1 applied
                p1 is applied
            undo p1
                refused: p1 cannot be undone: no pre-image of b was kept
            stage c=2 effect irreversible
                p2 is proposed
            approve p2
                p2 is approved
            begin p2 keeping c
                p2 is applying, key p2-1
            finish p2-1 applied
                p2 is applied
            undo p2
                refused: p2 cannot be undone: its effect is irreversible
        "#]],
    );
}

#[test]
fn a_part_is_taken_back_as_a_part() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2 divisible
         approve p1 person anna only b
         begin p1 keeping b
         write p1
         finish p1-1 applied
         file a 7
         undo p1
         approve p2
         begin p2
         begin p2",
        expect![[r#"
            stage a=2 b=2 divisible
                p1 is proposed
            approve p1 person anna only b
                p1 is approved
            begin p1 keeping b
                p1 is applying, key p1-1
            finish p1-1 applied
                p1 is applied
            undo p1
                p2 is proposed
            approve p2
                p2 is approved
            begin p2
                p2 is applying, key p2-1
            begin p2
                refused: cannot begin p2: it is applying; possible now: finish, recover
        "#]],
    );
}

#[test]
fn a_pre_image_is_of_what_is_replaced() {
    check(
        "file a 1
         file c 1
         stage a=2 reads c
         approve p1
         begin p1 keeping c
         begin p1 keeping b
         file a 9
         begin p1 keeping a
         file a 1
         check p1
         begin p1 keeping a",
        expect![[r#"
            stage a=2 reads c
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping c
                refused: the pre-image of c is not what p1 replaces; look again before you begin
            begin p1 keeping b
                refused: the pre-image of b is not what p1 replaces; look again before you begin
            begin p1 keeping a
                p1 is stale; a: expected 1, found 9
            check p1
                p1 is approved
            begin p1 keeping a
                p1 is applying, key p1-1
        "#]],
    );
}
