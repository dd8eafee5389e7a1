//! Conversations as text.

use expect_test::{Expect, expect};
use trunkline_message_tree::notation::{parse, parse_tree, print, print_tree};

/// Reads and prints again; the second round must change nothing.
fn check(text: &str, expected: Expect) {
    let printed = match parse(text) {
        Ok(messages) => {
            let printed = print(&messages);
            assert_eq!(parse(&printed).as_ref(), Ok(&messages), "printing and parsing are inverse");
            printed
        }
        Err(fault) => fault.to_string(),
    };
    expected.assert_eq(&printed);
}

#[test]
fn every_kind_of_block_has_a_line() {
    check(
        r#"
        system: be brief
        user: look
          + image image/png base64 AAAA
          + document application/pdf url "https://example.org/a.pdf"
        assistant:
          + thinking sig/1: hm
          + redacted: ZZ
          + text: so
          + call c1 read_file {"path":"a b.rs"}
          ++ signature s1
          + server-call srv_1 {"x":1}
          + server-result srv_1 {"y":2}
          + opaque anthropic {"type":"new"}
          + origin anthropic m-1
          + stop tool_use
        result c1!: no such file\nat all
          ++ text: really
          ++ image image/png base64 BBBB
        tool:
        harness: go on
        "#,
        expect![[r#"
            system: be brief
            user: look
            + image image/png base64 AAAA
            + document application/pdf url "https://example.org/a.pdf"
            assistant:
            + thinking sig/1: hm
            + redacted: ZZ
            + text: so
            + call c1 read_file {"path":"a b.rs"}
            ++ signature s1
            + server-call srv_1 {"x":1}
            + server-result srv_1 {"y":2}
            + opaque anthropic {"type":"new"}
            + origin anthropic m-1
            + stop tool_use
            result c1!: no such file\nat all
            ++ text: really
            ++ image image/png base64 BBBB
            tool:
            harness: go on
        "#]],
    );
}

#[test]
fn damage_can_be_written_down() {
    check(
        r#"
        user:
          + text:
          + text: \s \n\s
          + result "": x
        assistant:
          + call "" "" {"cut
        result "functions.x:0": \s
        "#,
        expect![[r#"
            user:
            + text:
            + text: \s \n\s
            + result "": x
            assistant:
            + call "" "" {"cut
            result "functions.x:0": \s
        "#]],
    );
}

#[test]
fn a_fault_names_its_line() {
    check("user: a\nuesr: b", expect![[r#"line 2: no role is called "uesr""#]]);
    check("+ text: a", expect!["line 1: there is no message above"]);
    check("user: a\n++ text: b", expect!["line 2: `++ text` does not belong to the block above"]);
    check("user: \\q", expect!["line 1: no escape is called Some('q')"]);
    check("assistant:\n+ call c1", expect![[r#"line 2: a word is missing before """#]]);
}

fn check_tree(text: &str, expected: Expect) {
    let printed = match parse_tree(text) {
        Ok(tree) => {
            let printed = print_tree(&tree);
            let again = parse_tree(&printed).expect("what was printed can be read");
            assert_eq!(print_tree(&again), printed);
            assert_eq!(again.trunk().ids(), tree.trunk().ids());
            format!("{printed}-- trunk {:?}, epoch {}\n", tree.trunk().ids(), tree.epoch())
        }
        Err(fault) => format!("{fault}\n"),
    };
    expected.assert_eq(&printed);
}

#[test]
fn a_tree_keeps_what_was_left() {
    check_tree(
        "n0 system: s
         n1 user: a
         n2 assistant: b
         n3 < n1 assistant: c
         n4 * n2 result c1: late
         n5 user: d
         head n3 by model
         undo
         redo",
        expect![[r#"
            n0 system: s
            n1 user: a
            n2 assistant: b
            head n1
            n3 assistant: c
            n4 * n2 result c1: late
            n5 user: d
            head n3 by model
            undo
            redo
            -- trunk [n0, n1, n3], epoch 3
        "#]],
    );
}

#[test]
fn a_tree_that_cannot_have_grown_is_refused() {
    check_tree(
        "n1 user: a",
        expect!["line 1: the first entry is not a root: a tree starts with node n0 that has no parent\n"],
    );
    check_tree("n0 system:\nn2 user: a", expect!["line 2: n2 cannot come now: the next node is n1\n"]);
    check_tree("n0 system:\nn1 < n7 user: a", expect!["line 2: n7 does not exist; the newest node is n0\n"]);
    check_tree("n0 system:\nundo", expect!["line 2: there is no move to take back\n"]);
    check_tree(
        "",
        expect!["line 1: the first entry is not a root: a tree starts with node n0 that has no parent\n"],
    );
}
