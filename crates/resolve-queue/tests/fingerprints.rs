//! Nothing begins in a world that is not the one of the preview.

use expect_test::expect;
use trunkline_resolve_queue::{Fingerprint, differences};

use crate::script::check;

#[test]
fn what_is_not_approved_does_not_begin() {
    check(
        "stage a=2
         begin p1
         discard p1
         begin p1",
        expect![[r#"
            stage a=2
                p1 is proposed
            begin p1
                refused: cannot begin p1: it is proposed; possible now: approve, discard, check, supersede
            discard p1
                p1 is discarded
            begin p1
                refused: cannot begin p1: it is discarded; possible now: nothing
        "#]],
    );
}

#[test]
fn a_file_that_was_only_read_makes_it_stale_too() {
    check(
        "file a 1
         file c 1
         stage a=2 reads c
         approve p1
         file c 2
         begin p1
         approve p1
         check p1
         file c 1
         check p1
         begin p1",
        expect![[r#"
            stage a=2 reads c
                p1 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is stale; c: expected 1, found 2
            approve p1
                refused: cannot approve p1: it is stale; possible now: check, discard, supersede
            check p1
                still stale; c: expected 1, found 2
            check p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
        "#]],
    );
}

#[test]
fn a_file_that_appeared_or_went_differs() {
    check(
        "file a 1
         stage a=2 b=2
         file a -
         file b 1
         check p1
         file b -
         file a 1
         check p1
         check p1",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            check p1
                p1 is stale; a: expected 1, found absent; b: expected absent, found 1
            check p1
                p1 is proposed
            check p1
                holds
        "#]],
    );
}

#[test]
fn an_approval_does_not_outlive_its_branch() {
    check(
        "stage a=2
         approve p1
         supersede p1 left
         begin p1
         restore p1
         begin p1
         check p1
         begin p1
         approve p1 person: still fine
         begin p1",
        expect![[r#"
            stage a=2
                p1 is proposed
            approve p1
                p1 is approved
            supersede p1 left
                p1 is superseded
            begin p1
                refused: cannot begin p1: it is superseded; possible now: restore
            restore p1
                p1 is stale
            begin p1
                refused: cannot begin p1: it is stale; possible now: check, discard, supersede
            check p1
                p1 is proposed
            begin p1
                refused: cannot begin p1: it is proposed; possible now: approve, discard, check, supersede
            approve p1 person: still fine
                p1 is approved
            begin p1
                p1 is applying, key p1-1
        "#]],
    );
}

#[test]
fn what_nobody_looked_at_differs_and_two_looks_must_agree() {
    let expected = [Fingerprint::digest("a", "1"), Fingerprint::absent("b")];
    let observed = [Fingerprint::digest("a", "1"), Fingerprint::digest("a", "2"), Fingerprint::absent("c")];
    let lines: Vec<String> = differences(&expected, &observed).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["a: expected 1, found 2", "b: expected absent, not looked at"]);
}
