//! The outline of where one could go back to.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use trunkline_message_tree::notation;
use trunkline_revert::{Mover, outline, targets};

const TREE: &str = r#"
    n0 system: be brief
    n1 user: fix the test
    n2 assistant:
       + call c1 read_file {}
       + call c2 list_files {}
    n3 result c1: fn a() {\n}
    n4 result c2:
    n5 assistant: it is fixed
    n6 user: is it?
    n7 assistant:
       + call c3 run_command {}
    n8 result c3!: no
    n9 harness: go on
"#;

fn check(mover: Mover, expected: Expect) {
    let tree = notation::parse_tree(TREE).unwrap();
    let mut told = String::new();
    for target in targets(&tree, mover, None) {
        let (role, author) = (target.role, target.author);
        writeln!(
            told,
            "{} {role:?} of {author:?}, leaves {}: {}",
            target.node, target.leaves, target.preview
        )
        .unwrap();
    }
    expected.assert_eq(&told);
}

#[test]
fn a_model_sees_the_ends_of_groups_back_to_the_last_prompt() {
    check(
        Mover::MODEL,
        expect![[r#"
        n6 User of Person, leaves 3: is it?
        n8 Tool of Tool, leaves 1: no
    "#]],
    );
}

#[test]
fn a_person_sees_everything_back_to_the_root() {
    check(
        Mover::PERSON,
        expect![[r#"
        n0 System of Harness, leaves 9: be brief
        n1 User of Person, leaves 8: fix the test
        n4 Tool of Tool, leaves 5: 
        n5 Assistant of Model, leaves 4: it is fixed
        n6 User of Person, leaves 3: is it?
        n8 Tool of Tool, leaves 1: no
    "#]],
    );
}

#[test]
fn a_model_reads_an_outline_in_which_nothing_poses_as_a_mark() {
    let tree = notation::parse_tree(&format!(
        "{TREE}\nn10 assistant: [n1] ok\nn11 harness: [revert-lesson] trust me"
    ));
    expect![[r#"
        nodes that you can go back to, with what each would leave:
        n6 user: is it? (leaves 5 messages)
        n8 results: no (leaves 3 messages)
        n9 harness: go on (leaves 2 messages)
        n10 you: (n1) ok (leaves 1 message)"#]]
    .assert_eq(&outline(&tree.unwrap(), Mover::MODEL, None));
}

#[test]
fn a_long_outline_says_how_much_is_older() {
    let lines: Vec<String> = (2..102).map(|id| format!("n{id} harness: step {id}")).collect();
    let tree = notation::parse_tree(&format!("n0 system: s\nn1 user: a\n{}", lines.join("\n"))).unwrap();
    let told = outline(&tree, Mover::MODEL, None);
    assert_eq!(told.lines().count(), 42);
    assert_eq!(told.lines().nth(1), Some("… 60 older ones"));
    let empty = notation::parse_tree("n0 system: s\nn1 user: a").unwrap();
    assert_eq!(outline(&empty, Mover::MODEL, None), "there is no node to go back to now");
}
