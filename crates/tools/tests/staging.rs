//! `edit_file` and `write_file` propose and never write.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::scene::{Scene, framed, names};

const FILE: &str = "fn one() {\n    1\n}\n\nfn two() {\n    1\n}\n";

fn check(tool: &str, arguments: Value, said: Expect) {
    let scene = Scene::new();
    scene.write("a.rs", FILE);
    said.assert_eq(&framed(&scene.said(tool, arguments)));
    assert_eq!(scene.read("a.rs").as_deref(), Some(FILE), "staging wrote");
    assert_eq!(names(&scene.root()), ["a.rs"], "staging wrote");
}

#[test]
fn an_edit_shows_its_diff_and_says_that_nothing_is_written() {
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "two() {\n    1", "new_text": "two() {\n    2"}),
        expect![[r#"
            |Staged: edit a.rs (+1 −1). This is a proposal; nothing is written yet.|
            |--- a/a.rs|
            |+++ b/a.rs|
            |@@ -3,5 +3,5 @@|
            | }|
            | |
            | fn two() {|
            |-    1|
            |+    2|
            | }|
        "#]],
    );
}

#[test]
fn a_text_that_is_there_twice_is_refused_with_the_count() {
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "    1\n", "new_text": "    2\n"}),
        expect![[r#"
            |error: old_text occurs 2 times in a.rs; add lines around it until it is there once, or set replace_all|
        "#]],
    );
}

#[test]
fn all_occurrences_are_replaced_if_asked_for() {
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "    1\n", "new_text": "    2\n", "replace_all": true}),
        expect![[r#"
            |Staged: edit a.rs (+2 −2). This is a proposal; nothing is written yet.|
            |--- a/a.rs|
            |+++ b/a.rs|
            |@@ -1,7 +1,7 @@|
            | fn one() {|
            |-    1|
            |+    2|
            | }|
            | |
            | fn two() {|
            |-    1|
            |+    2|
            | }|
        "#]],
    );
}

#[test]
fn a_text_that_is_not_there_is_answered_with_what_comes_near() {
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "fn two() {\n  1", "new_text": ""}),
        expect![[r#"
            |error: old_text is not in a.rs; its first line is like line 5, compare white space and what follows: fn two() {|
        "#]],
    );
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "fn three", "new_text": ""}),
        expect![[r#"
            |error: old_text is not in a.rs; read the file again and copy the text exactly, without line numbers|
        "#]],
    );
}

#[test]
fn an_edit_that_changes_nothing_stages_nothing() {
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "two", "new_text": "two"}),
        expect![[r#"
            |nothing staged: a.rs already has this content|
        "#]],
    );
    check(
        "write_file",
        json!({"path": "a.rs", "content": FILE}),
        expect![[r#"
            |nothing staged: a.rs already has this content|
        "#]],
    );
}

#[test]
fn an_empty_old_text_is_refused() {
    check(
        "edit_file",
        json!({"path": "a.rs", "old_text": "", "new_text": "x"}),
        expect![[r#"
            |error: old_text is empty; use write_file to write a whole file|
        "#]],
    );
}

#[test]
fn a_file_that_is_missing_cannot_be_edited() {
    check(
        "edit_file",
        json!({"path": "b.rs", "old_text": "x", "new_text": "y"}),
        expect![[r#"
            |error: there is no b.rs in the workspace|
        "#]],
    );
}

#[test]
fn a_new_file_in_a_new_folder_is_only_a_proposal() {
    check(
        "write_file",
        json!({"path": "src/deep/b.rs", "content": "fn b() {}\n"}),
        expect![[r#"
            |Staged: create src/deep/b.rs (+1). This is a proposal; nothing is written yet.|
            |--- /dev/null|
            |+++ b/src/deep/b.rs|
            |@@ -0,0 +1 @@|
            |+fn b() {}|
        "#]],
    );
}

#[test]
fn an_overwrite_is_called_one() {
    check(
        "write_file",
        json!({"path": "a.rs", "content": "fn one() {}\n"}),
        expect![[r#"
            |Staged: overwrite a.rs (+1 −7). This is a proposal; nothing is written yet.|
            |--- a/a.rs|
            |+++ b/a.rs|
            |@@ -1,7 +1 @@|
            |-fn one() {|
            |-    1|
            |-}|
            |-|
            |-fn two() {|
            |-    1|
            |-}|
            |+fn one() {}|
        "#]],
    );
}

#[test]
fn a_proposal_carries_the_bytes_and_what_it_was_computed_from() {
    let scene = Scene::new();
    scene.write("a.rs", "one\n");
    let proposal = scene.stage("edit_file", json!({"path": "./a.rs", "old_text": "one", "new_text": "two"}));
    expect![[r#"
        {
          "label": "edit a.rs (+1 −1)",
          "source_tool": "edit_file",
          "payload": {
            "files": [
              {
                "before_digest": "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806",
                "content": "two\n",
                "path": "a.rs"
              }
            ]
          },
          "preview": {
            "text": "edit a.rs (+1 −1)",
            "diff": "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-one\n+two\n"
          },
          "fingerprints": [
            {
              "subject": "a.rs",
              "state": {
                "digest": "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
              }
            }
          ],
          "after": [
            {
              "subject": "a.rs",
              "state": {
                "digest": "sha256:27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
              }
            }
          ],
          "effect": "reversible",
          "proposed_by": {
            "kind": "model"
          },
          "deciders": [
            "person"
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&proposal).unwrap());
    assert_eq!(scene.observe("a.rs"), proposal.fingerprints);
}

#[test]
fn a_preview_cannot_forge_the_terminal() {
    let scene = Scene::new();
    let content = "\u{1b}[1A\u{1b}[2Kharmless\n\u{202e}reversed\rover\n";
    let proposal = scene.stage("write_file", json!({"path": "a\u{1b}[2J\nb", "content": content}));
    assert_eq!(proposal.label, r"create a\u{1b}[2J\nb (+2)");
    let diff = proposal.preview.diff.unwrap();
    assert!(diff.contains(r"+\u{1b}[1A\u{1b}[2Kharmless"), "{diff}");
    assert!(diff.contains(r"+\u{202e}reversed\u{d}over"), "{diff}");
    assert_eq!(
        proposal.payload["files"][0]["content"],
        json!(content),
        "the bytes themselves stay as they are"
    );
}

#[test]
fn an_edit_that_would_grow_beyond_measure_is_refused_before_it_is_made() {
    let scene = Scene::new();
    scene.write("a", "x".repeat(1_000_000));
    let arguments =
        json!({"path": "a", "old_text": "x", "new_text": "y".repeat(1_000_000), "replace_all": true});
    assert_eq!(
        scene.said("edit_file", arguments),
        "error: the file would have 1000000000000 bytes; the limit is 10000000\n"
    );
}

#[test]
fn a_binary_file_is_not_overwritten_unseen() {
    let scene = Scene::new();
    scene.write("a", b"\xff\xfe");
    assert_eq!(
        scene.said("write_file", json!({"path": "a", "content": "text"})),
        "error: a is not text: it is not valid UTF-8 from byte 0 on\n"
    );
}

#[test]
fn line_ends_of_both_kinds_are_given_as_the_reason() {
    let scene = Scene::new();
    scene.write("a", "one\r\ntwo\r\nthree\n");
    assert_eq!(
        scene.said("edit_file", json!({"path": "a", "old_text": "one\ntwo", "new_text": "x"})),
        "error: old_text is not in a; some of its lines end with \\r\\n and some with \\n; write each as it is in old_text\n"
    );
}

#[test]
fn a_name_with_line_breaks_writes_no_lines_into_the_diff() {
    let scene = Scene::new();
    let path = "evil.sh\n@@ -0,0 +1 @@\n+harmless";
    let output = scene.call("write_file", serde_json::json!({ "path": path, "content": "rm -rf\n" }));
    let diff = output.proposals[0].preview.diff.clone().unwrap();
    assert_eq!(diff.lines().filter(|line| line.starts_with('+')).count(), 2, "{diff}");
}
