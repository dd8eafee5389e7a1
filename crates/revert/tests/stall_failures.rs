//! Calls that fail again and again, in whatever words.

use expect_test::expect;

use crate::stall::check;

#[test]
fn a_call_that_fails_with_another_number_each_time_is_noticed() {
    check(
        "10x fetch x =>!503, request id req-#-of-many",
        expect![[r#"
            9: 8 turns in a row met only failures that were known (fetch), since n1
        "#]],
    );
}

#[test]
fn two_calls_that_fail_in_turn_in_new_words_are_noticed() {
    let both = "fetch x =>!503 req-#a\nfetch y =>!503 req-#b\n";
    check(
        &both.repeat(6),
        expect![[r#"
        9: 8 turns in a row met only failures that were known (fetch), since n1
    "#]],
    );
}

#[test]
fn tests_that_fail_otherwise_after_each_edit_are_work() {
    check(&"edit f# => ok\ntest =>!case # fails\n".repeat(15), expect![""]);
    check("20x edit f# => ok & test =>!case # fails", expect![""]);
    check("20x test =>!case # fails | files #", expect![""]);
}
