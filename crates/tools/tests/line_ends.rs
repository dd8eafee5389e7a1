//! Line ends and byte-order marks: they follow the file, or are told.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_tools::CodingTools;

use crate::scene::{Scene, block_on, context, object};

/// Stages a call on `a`, applies it, and tells the label, the diff and the bytes.
fn check(old: Option<&str>, tool: &str, arguments: Value, expected: Expect) {
    let scene = Scene::new();
    if let Some(old) = old {
        scene.write("a", old);
    }
    let mut arguments = arguments;
    arguments["path"] = json!("a");
    let arguments = if tool == "edit_files" { json!({"edits": [arguments]}) } else { arguments };
    let proposal = scene.stage(tool, arguments);
    let diff = proposal.preview.diff.clone().unwrap().replace('\r', "␍");
    scene.apply(&proposal);
    let written = scene.read("a").unwrap();
    // What was approved is what is written.
    assert_eq!(proposal.payload["files"][0]["content"], json!(written));
    expected.assert_eq(&format!("{}\n{diff}{written:?}\n", proposal.label));
}

#[test]
fn new_text_of_an_edit_follows_the_file() {
    for tool in ["edit_file", "edit_files"] {
        check(
            Some("\u{feff}one\r\ntwo\r\n"),
            tool,
            json!({"old_text": "one", "new_text": "1\n1b"}),
            expect![[r#"
                edit a (+2 −1)
                --- a/a
                +++ b/a
                @@ -1,2 +1,3 @@
                -\u{feff}one␍
                +\u{feff}1␍
                +1b␍
                 two␍
                "\u{feff}1\r\n1b\r\ntwo\r\n"
            "#]],
        );
        check(
            Some("one\ntwo\n"),
            tool,
            json!({"old_text": "one\r\ntwo", "new_text": "1\r\n2"}),
            expect![[r#"
                edit a (+2 −2)
                --- a/a
                +++ b/a
                @@ -1,2 +1,2 @@
                -one
                -two
                +1
                +2
                "1\n2\n"
            "#]],
        );
        check(
            Some("\u{feff}one\r\ntwo\r\n"),
            tool,
            json!({"old_text": "\u{feff}one\ntwo", "new_text": "x"}),
            expect![[r#"
                edit a (+1 −2)
                --- a/a
                +++ b/a
                @@ -1,2 +1 @@
                -\u{feff}one␍
                -two␍
                +\u{feff}x␍
                "\u{feff}x\r\n"
            "#]],
        );
    }
}

#[test]
fn an_edit_of_a_file_with_both_is_as_written_and_shows_them() {
    check(
        Some("one\r\ntwo\nthree\n"),
        "edit_file",
        json!({"old_text": "one\r\n", "new_text": "one\n"}),
        expect![[r#"
            edit a (+1 −1), line ends: LF and CRLF → LF
            --- a/a
            +++ b/a
            @@ -1,3 +1,3 @@
            -one\r
            +one
             two
             three
            "one\ntwo\nthree\n"
        "#]],
    );
}

#[test]
fn a_whole_file_follows_the_one_that_it_takes_the_place_of() {
    for (tool, verb) in [("write_file", "overwrite"), ("edit_files", "edit")] {
        let scene = Scene::new();
        scene.write("a", "\u{feff}one\r\ntwo\r\n");
        let arguments = json!({"path": "a", "content": "one\n2\n"});
        let arguments = if tool == "edit_files" { json!({"edits": [arguments]}) } else { arguments };
        let proposal = scene.stage(tool, arguments);
        assert_eq!(proposal.label, format!("{verb} a (+1 −1)"));
        scene.apply(&proposal);
        assert_eq!(scene.read("a").unwrap(), "\u{feff}one\r\n2\r\n");
    }
    check(
        Some("one\ntwo\n"),
        "write_file",
        json!({"content": "\u{feff}one\r\ntwo\r\n"}),
        expect![[r#"
            overwrite a (+2 −2), line ends: LF → CRLF, mark added
            --- a/a
            +++ b/a
            @@ -1,2 +1,2 @@
            -one
            -two
            +\u{feff}one\r
            +two\r
            "\u{feff}one\r\ntwo\r\n"
        "#]],
    );
    check(
        Some("one\r\ntwo\n"),
        "write_file",
        json!({"content": "one\ntwo\n"}),
        expect![[r#"
            overwrite a (+1 −1), line ends: LF and CRLF → LF
            --- a/a
            +++ b/a
            @@ -1,2 +1,2 @@
            -one\r
            +one
             two
            "one\ntwo\n"
        "#]],
    );
    check(
        None,
        "write_file",
        json!({"content": "one\r\n"}),
        expect![[r#"
            create a (+1), line ends: CRLF
            --- /dev/null
            +++ b/a
            @@ -0,0 +1 @@
            +one␍
            "one\r\n"
        "#]],
    );
}

#[test]
fn what_would_change_line_ends_and_mark_alone_stages_nothing_and_says_why() {
    let scene = Scene::new();
    scene.write("a", "\u{feff}one\r\n");
    assert_eq!(
        scene.said("write_file", json!({"path": "a", "content": "one\n"})),
        "nothing staged: a already has this content; line ends and byte-order marks stay as they are"
    );
}

#[test]
fn each_of_several_files_is_told_by_itself() {
    let scene = Scene::new();
    scene.write("a", "one\r\ntwo\n");
    scene.write("b", "one\n");
    let proposal = scene.stage(
        "edit_files",
        json!({"edits": [{"path": "a", "content": "one\ntwo\n"}, {"path": "b", "old_text": "one", "new_text": "1"}]}),
    );
    expect![[r#"
        edit 2 files (+2 −2): a, b
        edit a (+1 −1), line ends: LF and CRLF → LF
        edit b (+1 −1)"#]]
    .assert_eq(&proposal.preview.text);
}

#[test]
fn a_carriage_return_at_the_end_of_a_file_ends_no_line_of_the_diff() {
    check(
        Some("a\rb\rc\r"),
        "edit_file",
        json!({"old_text": "b", "new_text": "B\nB2"}),
        expect![[r#"
            edit a (+2 −1)
            --- a/a
            +++ b/a
            @@ -1 +1,2 @@
            -a\u{d}b\u{d}c\u{d}
            \ No newline at end of file
            +a\u{d}B
            +B2\u{d}c\u{d}
            \ No newline at end of file
            "a\rB\nB2\rc\r"
        "#]],
    );
    check(
        Some("a\nb\r"),
        "write_file",
        json!({"content": "a\nb\\u{d}"}),
        expect![[r#"
            overwrite a (+1 −1)
            --- a/a
            +++ b/a
            @@ -1,2 +1,2 @@
             a
            -b\u{d}
            \ No newline at end of file
            +b\u{d}
            \ No newline at end of file
            "a\nb\\u{d}"
        "#]],
    );
    check(
        Some("a\nb"),
        "write_file",
        json!({"content": "a\nb\r"}),
        expect![[r#"
            overwrite a (+1 −1)
            --- a/a
            +++ b/a
            @@ -1,2 +1,2 @@
             a
            -b
            \ No newline at end of file
            +b\u{d}
            \ No newline at end of file
            "a\nb\r"
        "#]],
    );
}

proptest! {
    #[test]
    fn a_file_with_one_kind_of_line_ends_has_one_kind_after_an_edit(
        lines in prop::collection::vec("[ab]{0,3}", 2..6),
        marked: bool,
        ends in prop::sample::select(vec!["\n", "\r\n"]),
        new in "([xy]|\r\n|\n){0,6}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mark = if marked { "\u{feff}" } else { "" };
        let unique = format!("{}Z", lines.join(ends));
        let old = format!("{mark}{unique}{ends}");
        std::fs::write(folder.path().join("a"), &old).unwrap();
        let tools = CodingTools::new(folder.path()).unwrap().into_tools();
        let edit = tools.iter().find(|tool| tool.spec().name == "edit_file").unwrap();
        let arguments = object(json!({"path": "a", "old_text": "Z", "new_text": new}));
        let output = block_on(edit.run(arguments, &context(&trunkline_agent_traits::Cancel::new())));
        prop_assert!(!output.is_error);
        for proposal in output.proposals {
            let written = proposal.payload["files"][0]["content"].as_str().unwrap().to_owned();
            prop_assert_eq!(written.starts_with('\u{feff}'), marked);
            let (both, all) = (written.matches("\r\n").count(), written.matches('\n').count());
            prop_assert_eq!(both, if ends == "\n" { 0 } else { all });
            prop_assert!(!proposal.label.contains("line ends"));
        }
    }
}
