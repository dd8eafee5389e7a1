//! Where a head may stand, and where it is put instead.

use expect_test::{Expect, expect};
use trunkline_message_tree::notation::parse_tree;
use trunkline_message_tree::{MessageTree, NodeId};

/// Says of each node where a head comes to stand that is to be put on it.
#[track_caller]
fn check(text: &str, expected: Expect) {
    let tree = parse_tree(text).expect("a tree in a test is well formed");
    let lines: Vec<String> = tree.nodes().map(|(id, _)| landing(&tree, id)).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

fn landing(tree: &MessageTree, to: NodeId) -> String {
    match tree.landing(to) {
        Ok(end) if end == to => format!("{to}"),
        Ok(end) => format!("{to} -> {end}"),
        Err(error) => format!("{to} refused: {error}"),
    }
}

#[test]
fn words_are_where_they_are() {
    check(
        "n0 system: s\nn1 user: a\nn2 assistant: b\nn3 < n1 assistant: c",
        expect![[r#"
        n0
        n1
        n2
        n3
    "#]],
    );
}

#[test]
fn inside_a_group_the_head_goes_behind_its_last_result() {
    check(
        "n0 system: s
         n1 user: a
         n2 assistant: both
         + call c1 f {}
         + call c2 f {}
         n3 result c1: 1
         n4 result c2: 2
         n5 assistant: done",
        expect![[r#"
            n0
            n1
            n2 -> n4
            n3 -> n4
            n4
            n5
        "#]],
    );
}

#[test]
fn results_in_the_message_of_a_user_are_results() {
    check(
        "n0 system: s
         n1 assistant:
         + call c1 f {}
         n2 user: see
         + result c1: 1
         n3 user: a",
        expect![[r#"
            n0
            n1 -> n2
            n2
            n3
        "#]],
    );
}

#[test]
fn open_calls_are_refused_unless_the_head_is_there() {
    check(
        "n0 system: s
         n1 user: a
         n2 assistant:
         + call c1 f {}
         n3 < n1 assistant: b",
        expect![[r#"
            n0
            n1
            n2 refused: the calls of n2 never got their results; go to n1
            n3
        "#]],
    );
    check(
        "n0 system: s
         n1 user: a
         n2 assistant:
         + call c1 f {}",
        expect![[r#"
            n0
            n1
            n2
        "#]],
    );
}

#[test]
fn a_group_that_got_some_of_its_results_is_taken_as_it_is() {
    check(
        "n0 system: s
         n1 user: a
         n2 assistant: both
         + call c1 f {}
         + call c2 f {}
         n3 result c1: 1
         n4 < n1 user: b",
        expect![[r#"
            n0
            n1
            n2 -> n3
            n3
            n4
        "#]],
    );
}

#[test]
fn of_several_lines_of_results_the_trunk_goes_on() {
    let calls = "n0 system: s
         n1 user: a
         n2 assistant:
         + call c1 f {}
         n3 result c1: 1
         n4 < n2 result c1: 2\n";
    check(
        calls,
        expect![[r#"
        n0
        n1
        n2 -> n4
        n3
        n4
    "#]],
    );
    check(
        &format!("{calls}n5 < n1 user: b"),
        expect![[r#"
        n0
        n1
        n2 -> n3
        n3
        n4
        n5
    "#]],
    );
}

#[test]
fn a_late_result_and_what_covers_others_were_never_a_head() {
    check(
        "n0 system: s
         n1 user: a
         n2 assistant:
         + call c1 f {}
         n3 < n1 assistant: b
         n4 * n2 result c1: late
         n5 user: c
         n6 # n1..n3 harness: sum",
        expect![[r#"
            n0
            n1
            n2 refused: the calls of n2 never got their results; go to n1
            n3
            n4 refused: n4 was only filed under n2, and nothing follows it; go to n1
            n5
            n6 refused: n6 stands for n1 to n3, and nothing follows it; go to n3
        "#]],
    );
}

#[test]
fn where_nothing_above_will_do_nothing_is_named() {
    check(
        "n0 assistant:
         + call c1 f {}
         n1 user: a
         n2 assistant:
         + call c2 f {}
         n3 < n1 user: b",
        expect![[r#"
            n0 refused: the calls of n0 never got their results
            n1
            n2 refused: the calls of n2 never got their results; go to n1
            n3
        "#]],
    );
    let tree = parse_tree("n0 system: s\nn1 user: a").unwrap();
    assert_eq!(landing(&tree, NodeId::new(7)), "n7 refused: n7 does not exist; the newest node is n1");
}
