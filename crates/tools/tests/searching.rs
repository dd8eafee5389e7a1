//! `search_text`.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_agent_traits::Cancel;

use crate::scene::Scene;

fn check(arguments: Value, said: Expect) {
    let scene = Scene::new();
    scene.write("src/b.rs", "fn beta() {}\nlet alpha = 1;\n");
    scene.write("src/a.rs", "fn alpha() {}\n");
    scene.write("notes.md", "Alpha\n");
    scene.write("image", b"alpha\0\xff");
    scene.write("ignored.rs", "alpha");
    scene.write(".gitignore", "ignored.rs");
    said.assert_eq(&scene.said("search_text", arguments));
}

#[test]
fn matches_are_sorted_by_path_and_what_was_skipped_is_said() {
    check(
        json!({"pattern": "(?i)alpha"}),
        expect![[r#"
        notes.md:1: Alpha
        src/a.rs:1: fn alpha() {}
        src/b.rs:2: let alpha = 1;
        [1 files were not searched: links, binary or too large]
    "#]],
    );
}

#[test]
fn a_glob_and_a_path_narrow_it() {
    check(
        json!({"pattern": "alpha", "glob": "*.rs", "path": "src/b.rs"}),
        expect![[r#"
        src/b.rs:2: let alpha = 1;
    "#]],
    );
}

#[test]
fn no_match_is_an_answer() {
    check(
        json!({"pattern": "gamma", "path": "src"}),
        expect![[r#"
        [no matches]
    "#]],
    );
}

#[test]
fn an_expression_that_would_be_huge_is_refused() {
    check(
        json!({"pattern": r"(\w{1000}){1000}"}),
        expect![[r#"
        error: bad pattern: Compiled regex exceeds size limit of 1048576 bytes.
    "#]],
    );
}

#[test]
fn an_expression_that_makes_others_backtrack_is_quick() {
    let scene = Scene::new();
    scene.write("a", "a".repeat(100_000) + "b");
    assert_eq!(scene.said("search_text", json!({"pattern": "^(a+)+$"})), "[no matches]\n");
}

#[test]
fn many_matches_stop_at_a_limit() {
    let scene = Scene::new();
    scene.write("a", "x\n".repeat(501));
    let said = scene.said("search_text", json!({"pattern": "x"}));
    assert_eq!(said.lines().count(), 501);
    assert!(said.ends_with("a:500: x\n[more matches are not shown; narrow the pattern, `path` or `glob`]\n"));
}

#[test]
fn a_cancelled_search_stops() {
    let scene = Scene::new();
    scene.write("a", "x");
    let cancel = Cancel::new();
    cancel.cancel();
    let output = scene.call_until("search_text", json!({"pattern": "x"}), &cancel);
    assert_eq!(scene.words(&output), "error: cancelled\n");
}

#[test]
fn bytes_that_are_not_text_are_told_and_a_mark_begins_no_line() {
    let scene = Scene::new();
    scene.write("a.txt", b"gr\xfc\xdfe\r\nother \xff\n");
    scene.write("b.txt", "\u{feff}gray\n");
    expect![[r#"
        a.txt:1: gr��e
        b.txt:1: gray
        [2 bytes that are no UTF-8 are shown as U+FFFD]
    "#]]
    .assert_eq(&scene.said("search_text", json!({"pattern": "^gr"})));
}
