//! `read_file`.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::scene::{Scene, framed};

fn check(content: &[u8], arguments: Value, said: Expect) {
    let scene = Scene::new();
    scene.write("a.txt", content);
    let mut arguments = arguments;
    arguments["path"] = json!("a.txt");
    // A zero byte cannot stand in what is expected.
    said.assert_eq(&framed(&scene.said("read_file", arguments)).replace('\0', "-"));
}

#[test]
fn lines_come_with_their_numbers() {
    check(
        b"one\ntwo\n\nfour",
        json!({}),
        expect![[r#"
            |    1	one|
            |    2	two|
            |    3	|
            |    4	four|
        "#]],
    );
}

#[test]
fn a_page_says_where_to_go_on() {
    check(
        b"one\ntwo\nthree\nfour\n",
        json!({"offset": 2, "limit": 2}),
        expect![[r#"
            |    2	two|
            |    3	three|
            |[lines 2 to 3 of 4; go on with offset 4]|
        "#]],
    );
}

#[test]
fn an_offset_behind_the_end_is_told_the_length() {
    check(
        b"one\n",
        json!({"offset": 7}),
        expect![[r#"
            |error: offset 7 is behind the end: the file has 1 lines|
        "#]],
    );
}

#[test]
fn an_empty_file_says_so() {
    check(
        b"",
        json!({}),
        expect![[r#"
        |[the file is empty]|
    "#]],
    );
}

#[test]
fn line_ends_of_another_system_are_named() {
    check(
        b"one\r\ntwo\r\n",
        json!({}),
        expect![[r#"
            |    1	one|
            |    2	two|
            |[lines end with \r\n]|
        "#]],
    );
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    check(
        b"ab\xff\x00",
        json!({}),
        expect![[r#"
            |error: a.txt is not text: it is not valid UTF-8 from byte 2 on|
        "#]],
    );
}

#[test]
fn a_long_line_is_cut_with_a_mark() {
    let scene = Scene::new();
    scene.write("a.txt", "x".repeat(2_345));
    let said = scene.said("read_file", json!({"path": "a.txt"}));
    assert!(said.ends_with("x… [345 more characters]\n"), "{said}");
}

#[test]
fn many_long_lines_make_pages_of_bounded_size() {
    let scene = Scene::new();
    scene.write("a.txt", format!("{}\n", "x".repeat(1_900)).repeat(1_000));
    let said = scene.said("read_file", json!({"path": "a.txt"}));
    assert!(said.len() < 101_000, "{}", said.len());
    assert!(
        said.ends_with("[lines 1 to 52 of 1000; go on with offset 53]\n"),
        "{}",
        said.lines().last().unwrap()
    );
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let scene = Scene::new();
    let file = std::fs::File::create(scene.root().join("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_eq!(
        scene.said("read_file", json!({"path": "huge"})),
        "error: huge has 1099511627776 bytes; the limit is 10000000\n"
    );
}

#[test]
fn wrong_arguments_are_an_error_in_words() {
    let scene = Scene::new();
    assert_eq!(scene.said("read_file", json!({})), "error: wrong arguments: missing field `path`\n");
}

#[test]
fn line_ends_of_both_kinds_marks_and_zero_bytes_are_told() {
    check(
        b"a\nb\r\nc\n",
        json!({"limit": 1}),
        expect![[r#"
            |    1	a|
            |[lines 1 to 1 of 3; go on with offset 2]|
            |[some lines end with \r\n]|
        "#]],
    );
    check(
        "\u{feff}a\u{0}b\n".as_bytes(),
        json!({}),
        expect![[r#"
            |    1	a-b|
            |[the file begins with a byte-order mark, which stays when it is edited]|
            |[1 NUL byte in the file]|
        "#]],
    );
    check(
        "\u{feff}".as_bytes(),
        json!({}),
        expect![[r#"
            |[the file is empty but for a byte-order mark]|
        "#]],
    );
}
