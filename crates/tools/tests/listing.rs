//! `list_files`.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_agent_traits::Access;

use crate::scene::Scene;

fn check(arguments: Value, said: Expect) {
    let scene = Scene::new();
    for path in [
        "src/b.rs",
        "src/a.rs",
        "src/deep/c.rs",
        "README.md",
        ".github/ci.yml",
        ".git/config",
        "out/x.o",
        "x.log",
    ] {
        scene.write(path, "x");
    }
    scene.write(".gitignore", "out/\n*.log\n");
    said.assert_eq(&scene.said("list_files", arguments));
}

#[test]
fn ignored_files_are_left_out_and_hidden_ones_are_not() {
    check(
        json!({}),
        expect![[r#"
        .github/ci.yml
        .gitignore
        README.md
        src/a.rs
        src/b.rs
        src/deep/c.rs
    "#]],
    );
}

#[test]
fn a_folder_narrows_the_list_and_paths_stay_whole() {
    check(
        json!({"path": "src/deep"}),
        expect![[r#"
        src/deep/c.rs
    "#]],
    );
}

#[test]
fn a_glob_without_a_slash_matches_in_every_folder() {
    check(
        json!({"pattern": "*.rs"}),
        expect![[r#"
        src/a.rs
        src/b.rs
        src/deep/c.rs
    "#]],
    );
}

#[test]
fn a_glob_does_not_bring_ignored_files_back() {
    check(
        json!({"pattern": "*.log"}),
        expect![[r#"
        [no files]
    "#]],
    );
}

#[test]
fn a_glob_that_makes_no_sense_is_refused() {
    check(
        json!({"pattern": "a[z-"}),
        expect![[r#"
        error: bad glob: error parsing glob 'a[z-': unclosed character class; missing ']'
    "#]],
    );
}

#[test]
fn a_file_is_not_a_folder() {
    check(
        json!({"path": "README.md"}),
        expect![[r#"
        error: README.md is not a folder
    "#]],
    );
}

#[test]
fn more_than_a_thousand_files_are_counted_instead_of_listed() {
    let scene = Scene::new();
    for number in 0..1_003 {
        scene.write(&format!("{number:04}"), "");
    }
    let said = scene.said("list_files", json!({}));
    assert_eq!(said.lines().count(), 1_001);
    assert!(said.ends_with("0999\n[3 more files; name a folder with `path` or a glob with `pattern`]\n"));
}

#[test]
fn a_line_end_in_a_name_does_not_make_two_files() {
    let scene = Scene::new();
    scene.write("a\nb\u{1b}[2J", "");
    assert_eq!(scene.said("list_files", json!({})), "a\\nb\\u{1b}[2J\n");
}

#[test]
fn the_box_holds_six_tools_and_only_commands_run_alone() {
    let scene = Scene::new();
    let tools = ["read_file", "list_files", "search_text", "edit_file", "write_file", "run_command"];
    for name in tools {
        let tool = scene.tool(name);
        assert_eq!(tool.access() == Access::Exclusive, name == "run_command");
        assert_eq!(tool.spec(), tool.spec(), "a spec is part of a cached prompt");
        assert_eq!(tool.spec().input_schema["type"], json!("object"));
    }
}
