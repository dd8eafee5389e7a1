//! `ast_edit`: pieces of code of one shape, in many files, as one proposal.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_agent_traits::Cancel;
use trunkline_agent_traits::resolve_queue::{Entry, Outcome};

use crate::scene::{Scene, framed, part_of};

fn call(language: &str, pattern: &str, replacement: &str) -> Value {
    json!({"language": language, "pattern": pattern, "replacement": replacement})
}

/// What a call says in a workspace of these files, none of which it writes.
fn check(files: &[(&str, &str)], call: Value, said: Expect) {
    let scene = Scene::new();
    for (path, content) in files {
        scene.write(path, content);
    }
    let before = scene.files();
    said.assert_eq(&framed(&scene.said("ast_edit", call)));
    assert_eq!(scene.files(), before, "staging wrote");
}

/// What becomes of one file, or what is said instead.
fn becomes(path: &str, old: &str, (language, pattern, replacement): (&str, &str, &str)) -> String {
    let scene = Scene::new();
    scene.write(path, old);
    let output = scene.call("ast_edit", call(language, pattern, replacement));
    match output.proposals.into_iter().next() {
        Some(proposal) => {
            assert_eq!(scene.apply_entry(&Entry::in_attempt(proposal)), Outcome::Applied);
            scene.read(path).unwrap()
        }
        None => scene.said("ast_edit", call(language, pattern, replacement)),
    }
}

#[test]
fn a_shape_is_replaced_in_all_files_by_one_proposal() {
    check(
        &[
            ("src/a.rs", "fn a() {\n    old(1, two(2, 3));\n    // old(1) in words\n}\n"),
            ("src/deep/b.rs", "fn b() -> u8 {\n    old( \n        7,\n    )\n}\n"),
            ("src/c.rs", "fn c() { \"old(1)\"; older(1); }\n"),
            ("a.py", "old(1)\n"),
        ],
        call("rust", "old($A, $$$REST)", "new($$$REST, $A)"),
        expect![[r#"
            |error: src/deep/b.rs: with the replacement it could not be parsed any more, at line 2, column 11; look at the replacement, perhaps something around it belongs into the pattern|
        "#]],
    );
    check(
        &[
            ("src/a.rs", "fn a() {\n    old(1, two(2, 3));\n    // old(1) in words\n}\n"),
            ("src/deep/b.rs", "fn b() -> u8 {\n    old( \n        7,\n    )\n}\n"),
            ("src/c.rs", "fn c() { \"old(1)\"; older(1); }\n"),
        ],
        call("rust", "old($$$ALL)", "new($$$ALL)"),
        expect![[r#"
            |Staged: edit 2 files (+2 −4): src/a.rs, src/deep/b.rs. This is a proposal; nothing is written yet.|
            |--- a/src/a.rs|
            |+++ b/src/a.rs|
            |@@ -1,4 +1,4 @@|
            | fn a() {|
            |-    old(1, two(2, 3));|
            |+    new(1, two(2, 3));|
            |     // old(1) in words|
            | }|
            |--- a/src/deep/b.rs|
            |+++ b/src/deep/b.rs|
            |@@ -1,5 +1,3 @@|
            | fn b() -> u8 {|
            |-    old( |
            |-        7,|
            |-    )|
            |+    new(7,)|
            | }|
            |[2 replacements]|
        "#]],
    );
}

#[test]
fn every_language_is_understood() {
    let cases = [
        ("a.rs", "fn f() { a.b().unwrap(); }\n", ("rust", "$A.unwrap()", "$A?")),
        ("a.rs", "struct S { a: Vec<u8>, b: u8 }\n", ("rust", "Vec<$T>", "Box<[$T]>")),
        ("a.rs", "struct S { a: Vec<u8>, b: u8 }\n", ("rust", "b: $T", "c: $T")),
        ("a.rs", "fn f() { let a = 1; }\n", ("rust", "let $A = $B;", "let $A: u8 = $B;")),
        (
            "a.rs",
            "pub fn f(a: u8) -> u8 { a }\n",
            ("rust", "pub fn $F($$$A) -> $R { $$$B }", "fn $F($$$A) -> $R { $$$B }"),
        ),
        ("a.py", "def f(x):\n    print(x, 1)\n    return x\n", ("python", "print($$$A)", "log.info($$$A)")),
        ("a.js", "var a = 1; let b = f(2)\n", ("javascript", "var $A = $B", "let $A = $B")),
        ("a.jsx", "const a = <p>{f(1)}</p>\n", ("javascript", "f($A)", "g($A)")),
        (
            "a.go",
            "package a\n\nfunc f() { fmt.Println(1, 2) }\n",
            ("go", "fmt.Println($$$A)", "log.Print($$$A)"),
        ),
        (
            "a.go",
            "package a\n\nfunc f(a int) int { return a }\n",
            ("go", "func $F($$$A) int { $$$B }", "func $F($$$A) int64 { $$$B }"),
        ),
        ("a.ts", "interface A { a: Array<B> }\n", ("typescript", "Array<$T>", "$T[]")),
        ("a.ts", "const a: X = <X>f(1)\n", ("typescript", "f($A)", "g($A)")),
        ("a.tsx", "const a: X = <p>{f(1)}</p>\n", ("tsx", "f($A)", "g($A)")),
    ];
    let told: String = cases.iter().map(|(path, old, call)| becomes(path, old, *call)).collect();
    expect![[r#"
        fn f() { a.b()?; }
        struct S { a: Box<[u8]>, b: u8 }
        struct S { a: Vec<u8>, c: u8 }
        fn f() { let a: u8 = 1; }
        fn f(a: u8) -> u8 { a }
        def f(x):
            log.info(x, 1)
            return x
        let a = 1; let b = f(2)
        const a = <p>{g(1)}</p>
        package a

        func f() { log.Print(1, 2) }
        package a

        func f(a int) int64 { return a }
        interface A { a: B[] }
        const a: X = <X>g(1)
        const a: X = <p>{g(1)}</p>
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_pattern_or_a_replacement_that_is_wrong_is_told_with_its_place() {
    let bad = [
        ("rust", "fn foo( {", ""),
        ("rust", "foo($A);\nbar($B)) ", ""),
        ("rust", "foo(1); bar(2);", ""),
        ("rust", "", ""),
        ("rust", "  \n ", ""),
        ("rust", "$A", "x"),
        ("rust", "$$$A", "x"),
        ("rust", "// only words", "x"),
        ("rust", "foo($A, $_B, $$$C)", "f($A, $B)"),
        ("rust", "foo($A, $_B, $$$C)", "f($A,\n  $C)"),
        ("rust", "foo($A, $_B, $$$C)", "f($$$A, $_B)"),
        ("rust", "foo()", "f($A)"),
        ("rust", "x } fn g() { y", ""),
        ("rust", "foo(µ, $A $B)", ""),
        ("python", "def f(:", ""),
        ("python", "if $A:", ""),
        ("javascript", "let = = 3", ""),
        ("go", "func (", ""),
        ("typescript", "let a: = 3", ""),
        ("cobol", "a", "b"),
    ];
    let scene = Scene::new();
    scene.write("a.rs", "fn f() { foo(1, 2); }\n");
    let told: String = bad
        .iter()
        .map(|(language, pattern, replacement)| {
            format!("{pattern:?} {}", scene.said("ast_edit", call(language, pattern, replacement)))
        })
        .collect();
    expect![[r#"
        "fn foo( {" error: bad pattern at line 1, column 1: it cannot be parsed as rust; give one whole expression, statement or item
        "foo($A);\nbar($B)) " error: bad pattern at line 2, column 8: it cannot be parsed as rust; give one whole expression, statement or item
        "foo(1); bar(2);" error: bad pattern at line 1, column 9: a second expression starts here; give one whole expression, statement or item
        "" error: the pattern is empty
        "  \n " error: the pattern is empty
        "$A" error: the pattern matches whatever there is; put a word or a sign of the code into it
        "$$$A" error: the pattern matches whatever there is; put a word or a sign of the code into it
        "// only words" no matches: nothing is staged; 1 file searched
        "foo($A, $_B, $$$C)" error: bad replacement at line 1, column 7: $B is not in the pattern, which has $A, $$$C
        "foo($A, $_B, $$$C)" error: bad replacement at line 2, column 3: $C is not in the pattern, which has $A, $$$C
        "foo($A, $_B, $$$C)" error: bad replacement at line 1, column 3: $$$A is not in the pattern, which has $A, $$$C
        "foo()" error: bad replacement at line 1, column 3: $A is not in the pattern, which has none
        "x } fn g() { y" error: bad pattern at line 1, column 5: a second expression starts here; give one whole expression, statement or item
        "foo(µ, $A $B)" error: bad pattern at line 1, column 11: it cannot be parsed as rust; give one whole expression, statement or item
        "def f(:" error: bad pattern at line 1, column 7: it cannot be parsed as python; give one whole expression, statement or item
        "if $A:" no matches: nothing is staged; 0 files searched
        "let = = 3" error: bad pattern at line 1, column 7: it cannot be parsed as javascript; give one whole expression, statement or item
        "func (" error: bad pattern at line 1, column 1: it cannot be parsed as go; give one whole expression, statement or item
        "let a: = 3" error: bad pattern at line 1, column 8: it cannot be parsed as typescript; give one whole expression, statement or item
        "a" error: there is no language "cobol"; there are go, javascript, python, rust, tsx, typescript
    "#]].assert_eq(&told);
}

#[test]
fn what_is_too_long_or_too_deep_is_refused_and_nothing_breaks() {
    let deep = |depth: usize| format!("{}x{}", "f(".repeat(depth), ")".repeat(depth));
    let scene = Scene::new();
    scene.write("a.rs", format!("fn f() {{ {} }}\n", deep(20_000)));
    // As deep as is worked on, and compared as a whole: both sides are the same.
    scene.write("b.rs", format!("fn f() {{ same({}, {}); }}\n", deep(900), deep(900)));
    scene.write("c.rs", format!("fn f() {{ f(1); {} }}\n", "x;".repeat(600_000)));
    let long = scene.said("ast_edit", call("rust", &deep(4_000), "x"));
    let deep = scene.said("ast_edit", call("rust", &deep(1_500), "x"));
    let huge = scene.said("ast_edit", call("rust", "f(1)", &"y".repeat(200_000)));
    let same = scene.said("ast_edit", call("rust", "same($A, $A)", "once($A)"));
    let inner = scene.said("ast_edit", call("rust", "f(x)", "y"));
    let inner = inner.lines().filter(|line| !line.starts_with(['-', '+'])).collect::<Vec<_>>().join("\n");
    let same = same.lines().filter(|line| !line.starts_with(['-', '+'])).collect::<Vec<_>>().join("\n");
    expect![[r#"
        error: the pattern has 12001 bytes; the limit is 10000
        error: bad pattern: it cannot be parsed since it is nested more than 2000 deep

        error: the replacement has 200000 bytes; the limit is 100000
        Staged: edit b.rs (+1 −1). This is a proposal; nothing is written yet.
        @@ -1 +1 @@
        [2 more lines]
        [1 replacement]
        [1 file not searched: links, not text, or of more than 1000000 bytes]
        Staged: edit b.rs (+1 −1). This is a proposal; nothing is written yet.
        @@ -1 +1 @@
        [2 more lines]
        [2 replacements]
        [not changed, because it cannot be parsed: a.rs since it is nested more than 2000 deep]
        [1 file not searched: links, not text, or of more than 1000000 bytes]
    "#]]
    .assert_eq(&format!("{long}{deep}\n{huge}{same}\n{inner}\n"));
}

#[test]
fn a_file_that_cannot_be_parsed_is_told_and_stays() {
    let files = [
        ("good.rs", "fn a() { old(1) }\n"),
        ("bad.rs", "fn a() {\n    old(1);\n    let = ;\n}\n"),
        ("other.rs", "fn ( {\n"),
    ];
    check(
        &files,
        call("rust", "old($A)", "new($A)"),
        expect![[r#"
            |Staged: edit good.rs (+1 −1). This is a proposal; nothing is written yet.|
            |--- a/good.rs|
            |+++ b/good.rs|
            |@@ -1 +1 @@|
            |-fn a() { old(1) }|
            |+fn a() { new(1) }|
            |[1 replacement]|
            |[not changed, because it cannot be parsed: bad.rs at line 3, column 5]|
        "#]],
    );
    let scene = Scene::new();
    files.iter().for_each(|(path, text)| scene.write(path, text));
    let proposal = scene.stage("ast_edit", call("rust", "old($A)", "new($A)"));
    expect![[r#"
        edit good.rs (+1 −1)
        [not changed, because it cannot be parsed: bad.rs at line 3, column 5]"#]]
    .assert_eq(&proposal.preview.text);
    check(
        &files[1..],
        call("rust", "old($A)", "new($A)"),
        expect![[r#"
        |no matches: nothing is staged; 2 files searched|
        |[not changed, because it cannot be parsed: bad.rs at line 3, column 5]|
    "#]],
    );
}

#[test]
fn what_is_not_found_is_said() {
    check(
        &[("a.rs", "fn a() { other() }\n")],
        call("rust", "old($A)", "x"),
        expect![[r#"
            |no matches: nothing is staged; 1 file searched|
        "#]],
    );
    check(
        &[("a.rs", "fn a() { old(1) }\n")],
        call("rust", "old($A)", "old($A)"),
        expect![[r#"
            |nothing staged: a.rs already has this content|
        "#]],
    );
    // Macros are words to a parser, and comments and texts are not code.
    check(
        &[("a.rs", "fn a() { println!(\"{}\", old(1)) }\n")],
        call("rust", "old($A)", "x"),
        expect![[r#"
            |no matches: nothing is staged; 1 file searched|
        "#]],
    );
}

#[test]
fn matches_that_overlap_are_refused() {
    check(
        &[("a.rs", "fn a() {\n    old(old(1));\n}\n")],
        call("rust", "old($A)", "new($A)"),
        expect![[r#"
            |error: a.rs: matches overlap, at line 2, column 5 and at line 2, column 9: narrow the pattern, or replace the inner ones first|
        "#]],
    );
}

#[test]
fn a_replacement_that_breaks_the_file_is_refused() {
    check(
        &[("a.rs", "fn a() {\n    old(1);\n}\n")],
        call("rust", "old($A)", "new($A"),
        expect![[r#"
            |error: a.rs: with the replacement it could not be parsed any more, at line 2, column 10; look at the replacement, perhaps something around it belongs into the pattern|
        "#]],
    );
}

#[test]
fn line_ends_and_marks_are_those_of_the_file() {
    let old = "\u{feff}fn a() {\r\n    old(\r\n        1,\r\n    );\r\n}\r\n";
    let new = becomes("a.rs", old, ("rust", "old($$$A)", "{\n    let b = 1;\n    new($$$A)\n}"));
    expect![[r#""\u{feff}fn a() {\r\n    {\r\n        let b = 1;\r\n        new(1,)\r\n    };\r\n}\r\n""#]]
        .assert_eq(&format!("{new:?}"));
    let lf = "fn a() {\n    old(1);\n}\n";
    let new = becomes("a.rs", lf, ("rust", "old($$$A)", "{\r\n    new($$$A)\r\n}"));
    expect![[r#""fn a() {\n    {\n        new(1)\n    };\n}\n""#]].assert_eq(&format!("{new:?}"));
}

#[test]
fn files_are_those_that_other_tools_search_and_write() {
    let scene = Scene::new();
    let text = "fn a() { old(1) }\n";
    for path in [".gitignore", "ignored/a.rs", ".hidden/a.rs", "src/a.rs", ".git/a.rs", "b.rs.txt"] {
        scene.write(path, if path == ".gitignore" { "ignored/\n" } else { text });
    }
    fs::write(scene.root().join("bytes.rs"), b"fn a() { old(1) } // \xff\n").unwrap();
    fs::write(scene.outside("secret.rs"), text).unwrap();
    symlink(scene.outside("secret.rs"), scene.root().join("link.rs")).unwrap();
    let named = |arguments: Value| {
        let mut call = call("rust", "old($A)", "new($A)");
        call.as_object_mut().unwrap().extend(crate::scene::object(arguments));
        let output = scene.call("ast_edit", call);
        let files: Vec<String> = output
            .proposals
            .iter()
            .flat_map(|proposal| proposal.fingerprints.iter().map(|one| one.subject.clone()))
            .collect();
        format!("{files:?} {}\n", scene.words(&output).lines().last().unwrap_or_default())
    };
    let told: String = [
        json!({}),
        json!({"path": "src"}),
        json!({"glob": "src/**/*.rs"}),
        json!({"glob": "[a-"}),
        json!({"path": "ignored"}),
        json!({"path": ".git"}),
        json!({"path": "link.rs"}),
        json!({"path": ".."}),
        json!({"path": "none"}),
    ]
    .into_iter()
    .map(named)
    .collect();
    expect![[r#"
        [".hidden/a.rs", "src/a.rs"] [2 files not searched: links, not text, or of more than 1000000 bytes]
        ["src/a.rs"] [1 replacement]
        ["src/a.rs"] [1 replacement]
        [] error: bad glob: error parsing glob '[a-': unclosed character class; missing ']'
        ["ignored/a.rs"] [1 replacement]
        [] [1 file not searched: links, not text, or of more than 1000000 bytes]
        [] error: link.rs leads out of the workspace /folder
        [] error: .. leads out of the workspace /folder
        [] error: there is no none in the workspace
    "#]]
    .assert_eq(&told);
}

#[test]
fn there_are_limits_of_files_and_matches_and_it_can_be_cancelled() {
    let scene = Scene::new();
    for number in 0..65 {
        scene.write(&format!("many/{number}.rs"), "fn a() { old(1) }\n");
    }
    scene.write("large/a.rs", format!("fn a() {{ {} }}\n", "old(1);".repeat(1_001)));
    let mut told = String::new();
    for path in ["many", "large"] {
        let mut call = call("rust", "old($A)", "new($A)");
        call["path"] = json!(path);
        told.push_str(&scene.said("ast_edit", call));
    }
    let cancel = Cancel::new();
    cancel.cancel();
    told.push_str(&scene.words(&scene.call_until("ast_edit", call("rust", "old($A)", "x"), &cancel)));
    expect![[r#"
        error: more than 64 files match; narrow it with path or glob, and propose them in parts
        error: there are more than 1000 matches; narrow it with path or glob, and propose them in parts
        error: cancelled
    "#]]
    .assert_eq(&told);
}

#[test]
fn what_is_applied_is_what_was_shown_and_can_be_taken_back() {
    let scene = Scene::new();
    for path in ["a.rs", "b.rs", "c.rs"] {
        scene.write(path, "fn f() { old(1) }\n");
    }
    let before = scene.files();
    let proposal = scene.stage("ast_edit", call("rust", "old($A)", "new($A)"));
    // One is written meanwhile: none is.
    scene.write("c.rs", "fn f() { old(2) }\n");
    let reason = "c.rs: c.rs has changed since the proposal was made";
    let outcome = scene.apply_entry(&Entry::in_attempt(proposal.clone()));
    assert!(matches!(&outcome, Outcome::Failed { reason: told } if reason.ends_with(told)), "{outcome:?}");
    scene.write("c.rs", "fn f() { old(1) }\n");
    assert_eq!(scene.files(), before);
    // A part of it, and back.
    let entry = part_of(proposal, &["a.rs", "c.rs"]);
    let kept = scene.keep(&entry);
    assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
    assert_eq!(scene.read("a.rs").as_deref(), Some("fn f() { new(1) }\n"));
    assert_eq!(scene.read("b.rs").as_deref(), Some("fn f() { old(1) }\n"));
    let undo = Entry::in_attempt(scene.undo(&entry, &kept).unwrap());
    assert_eq!(scene.apply_entry(&undo), Outcome::Applied);
    assert_eq!(scene.files(), before);
}

#[test]
fn what_would_grow_beyond_all_bounds_is_refused_before_it_is_built() {
    let many = |name: &str, times: usize| vec![name; times].join(",");
    let mut told = String::new();
    for (text, replacement) in [
        (format!("fn x() {{ f(\"{}\"); }}\n", "y".repeat(900_000)), format!("g({})", many("$A", 33_000))),
        // Each line of what was found is indented anew.
        (
            format!("fn x() {{\n{}f(\"{}\");\n}}\n", " ".repeat(500), "\n".repeat(900_000)),
            format!("g(\n{}$A)", " ".repeat(500)),
        ),
        (format!("fn x() {{ {} }}\n", format!("f(\"{}\");", "y".repeat(20_000)).repeat(40)), many("$A", 100)),
    ] {
        let scene = Scene::new();
        scene.write("a.rs", text);
        told.push_str(&scene.said("ast_edit", call("rust", "f($A)", &replacement)));
    }
    expect![[r#"
        error: a.rs: the file would have 29701065020 bytes; the limit is 10000000
        error: a.rs: the file would have 902701527 bytes; the limit is 10000000
        error: a.rs: the file would have 10802747 bytes; the limit is 10000000
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_pattern_that_takes_for_ever_ends_with_the_call() {
    let nested = |depth: usize| format!("{}x{}", "f($$$, ".repeat(depth), ")".repeat(depth));
    let deep = |depth: usize| format!("fn a() {{ {}x{}; }}\n", "f(".repeat(depth), ")".repeat(depth));
    let wide = format!("fn a() {{ f({}x, {}z); }}\n", "1,".repeat(100_000), "1,".repeat(100_000));
    for (text, pattern) in [(deep(60), nested(60)), (wide, "f($$$A, x, $$$B, y)".to_owned())] {
        let scene = Scene::new();
        scene.write("a.rs", text);
        let cancel = Cancel::new();
        let giver = {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(300));
                cancel.cancel();
            })
        };
        let output = scene.call_until("ast_edit", call("rust", &pattern, "z"), &cancel);
        giver.join().unwrap();
        assert_eq!(scene.words(&output), "error: cancelled\n", "{pattern}");
    }
}
