//! Names of nodes and branches.

use expect_test::expect;
use trunkline_message_tree::notation::parse_tree;
use trunkline_message_tree::{MessageTree, Name, NameKind, Names, Naming, NodeId};

fn tree(text: &str) -> MessageTree {
    parse_tree(text).expect("a tree in a test is well formed")
}

fn named(given: &[(&str, NameKind, Option<u32>)]) -> Names {
    let mut names = Names::default();
    for (name, kind, node) in given {
        let name = Name::parse(name).expect("the name is one");
        names.record(Naming { name, kind: *kind, node: node.map(NodeId::new) });
    }
    names
}

#[test]
fn a_branch_grows_with_the_head_and_a_bookmark_stays() {
    let names = named(&[("way", NameKind::Branch, Some(1)), ("here", NameKind::Bookmark, Some(1))]);
    let at = |text: &str, name: &str| names.find(&tree(text), name).expect("it has that name").to_string();
    let grown = "n0 system: s\nn1 user: a\nn2 assistant: b\n";
    assert_eq!((at(grown, "way"), at(grown, "here")), ("n2".to_owned(), "n1".to_owned()));
    let left = format!("{grown}head n0\nn3 user: c");
    assert_eq!(at(&left, "way"), "n2", "where the head left it");
    let back = format!("{left}\nhead n1\nn4 assistant: d");
    assert_eq!(at(&back, "way"), "n4", "the line goes where the head goes");
}

#[test]
fn a_name_that_was_taken_away_leads_nowhere() {
    let names = named(&[("way", NameKind::Branch, Some(1)), ("way", NameKind::Branch, None)]);
    assert_eq!(names.find(&tree("n0 system: s\nn1 user: a"), "way"), None);
    assert!(names.is_empty());
}

#[test]
fn what_looks_like_a_node_or_hides_something_is_no_name() {
    for good in ["a", "fix/the-lock_2", "N", "n12a", &"a".repeat(64)] {
        assert_eq!(Name::parse(good).expect("it is a name").as_str(), good);
    }
    for bad in [
        "",
        "n12",
        "N3",
        "n4294967296",
        "N99999999999999999999",
        "12",
        "1a",
        "-a",
        "a b",
        "a\n",
        "\u{202e}a",
        &"a".repeat(65),
    ] {
        assert!(Name::parse(bad).is_err(), "{bad:?}");
    }
    expect![[r#""n12" cannot be a name: a name begins with a letter, has at most 64 letters, digits and ._/- and is no node like n12"#]]
        .assert_eq(&Name::parse("n12").expect_err("it is a node").to_string());
    assert!(serde_json::from_str::<Name>("\"a b\"").is_err(), "what is read back is checked too");
}

#[test]
fn a_tool_is_shown_to_people_in_words_that_follow_from_its_name() {
    let shown = [
        ("edit_file", "Edit file"),
        ("run", "Run"),
        ("list-all_files", "List all files"),
        ("functions.list_files", "Functions list files"),
        ("__", ""),
        ("", ""),
        ("two\nlines", "two\nlines"),
        ("größer", "größer"),
    ];
    for (name, label) in shown {
        let label = if label.is_empty() { name } else { label };
        assert_eq!(trunkline_message_tree::tool_label(name), label);
    }
    let long = "a".repeat(65);
    assert_eq!(trunkline_message_tree::tool_label(&long), long);
}
