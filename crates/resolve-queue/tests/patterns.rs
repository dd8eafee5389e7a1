//! What rules match: narrowly where they allow, widely where they forbid.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_resolve_queue::{BadPattern, CommandPattern, Fit, PathPattern, plain_words};

#[test]
fn paths() {
    check_path(
        "src/**",
        &[
            "src/a.rs",
            "src/a/b.rs",
            "src",
            "srcs/a.rs",
            "lib/src/a.rs",
            "/src/a.rs",
            "SRC/a.rs",
            "src/.env",
            "src/.git/hooks/x",
            "./src/a.rs",
            "src/./a.rs",
            "src//a.rs",
            "src/../a.rs",
            "src/../../etc/passwd",
            "x/../src/a.rs",
            "src/a.rs/",
            "src\\a.rs",
            "src/a\nb",
            "",
            "/",
            "..",
        ],
        expect![[r#"
            allows catches "src/a.rs"
            allows catches "src/a/b.rs"
            allows catches "src"
                           "srcs/a.rs"
                           "lib/src/a.rs"
                           "/src/a.rs"
                   catches "SRC/a.rs"
                   catches "src/.env"
                   catches "src/.git/hooks/x"
                   catches "./src/a.rs"
                   catches "src/./a.rs"
                   catches "src//a.rs"
                           "src/../a.rs"
                           "src/../../etc/passwd"
                   catches "x/../src/a.rs"
                   catches "src/a.rs/"
                   catches "src\\a.rs"
                   catches "src/a\nb"
                           ""
                           "/"
                           ".."
        "#]],
    );
    check_path(
        "**/*.key",
        &["a.key", "x/y/a.key", ".key", "x/.a.key", "A.KEY", "x/../b.key", "a.keys"],
        expect![[r#"
            allows catches "a.key"
            allows catches "x/y/a.key"
                   catches ".key"
                   catches "x/.a.key"
                   catches "A.KEY"
                   catches "x/../b.key"
                           "a.keys"
        "#]],
    );
    check_path(
        "a?c/*",
        &["abc/d", "ac/d", "abc/d/e", "aéc/d", "a/c/d"],
        expect![[r#"
        allows catches "abc/d"
                       "ac/d"
                       "abc/d/e"
        allows catches "aéc/d"
                       "a/c/d"
    "#]],
    );
    check_path(
        "/etc/*",
        &["/etc/passwd", "etc/passwd", "/etc/ssl/x", "/etc/../etc/passwd", "c:/etc/passwd"],
        expect![[r#"
            allows catches "/etc/passwd"
                           "etc/passwd"
                           "/etc/ssl/x"
                   catches "/etc/../etc/passwd"
                           "c:/etc/passwd"
        "#]],
    );
    check_path(
        "app/[id]/{x}.ts",
        &["app/[id]/{x}.ts", "app/i/x.ts"],
        expect![[r#"
        allows catches "app/[id]/{x}.ts"
                       "app/i/x.ts"
    "#]],
    );
    check_path(
        ".github/*",
        &[".github/x.yml", ".github/.x"],
        expect![[r#"
        allows catches ".github/x.yml"
               catches ".github/.x"
    "#]],
    );
}

#[test]
fn patterns_that_seem_to_mean_something_else_are_refused() {
    let said: Vec<String> =
        ["", "src/", "a//b", "../x", "a/./b", "a/**b", "a\\b", "a\tb", "/", &"x".repeat(2_000)]
            .iter()
            .map(|text| match text.parse::<PathPattern>() {
                Ok(pattern) => format!("{pattern} is fine"),
                Err(BadPattern { why, .. }) => {
                    format!("{:?}: {why}", text.chars().take(10).collect::<String>())
                }
            })
            .collect();
    expect![[r#"
        "": write a name between two `/`; for all that is in a folder write `folder/**`
        "src/": write a name between two `/`; for all that is in a folder write `folder/**`
        "a//b": write a name between two `/`; for all that is in a folder write `folder/**`
        "../x": write where it leads, without `.` and `..`
        "a/./b": write where it leads, without `.` and `..`
        "a/**b": `**` stands alone between two `/`
        "a\\b": write `/` between names, and no control characters
        "a\tb": write `/` between names, and no control characters
        "/": write a name between two `/`; for all that is in a folder write `folder/**`
        "xxxxxxxxxx": it is too long"#]]
    .assert_eq(&said.join("\n"));
    let exact =
        |path: &str| PathPattern::exactly(path).map(|pattern| pattern.to_string()).map_err(|e| e.to_string());
    assert_eq!(exact("src/a.rs"), Ok("src/a.rs".to_owned()));
    expect![[r#"Err("\"src/*\" cannot be used as a pattern: its name has a wildcard in it")"#]]
        .assert_eq(&format!("{:?}", exact("src/*")));
    expect![[r#"Err("\"../a\" cannot be used as a pattern: write the path from the project's folder, without `.` and `..`")"#]]
        .assert_eq(&format!("{:?}", exact("../a")));
}

#[test]
fn commands_that_are_not_plain_words_are_never_allowed() {
    let tests = CommandPattern::beginning(["cargo", "test"]).expect("it has words");
    for fine in
        ["cargo test", "cargo   test --all", "cargo test 'a b'", "cargo test \"a b\" x=y", "'cargo' te'st'"]
    {
        assert!(tests.allows(fine), "{fine}");
    }
    let hostile = [
        "cargo test; rm -rf /",
        "cargo test;rm x",
        "cargo test && rm x",
        "cargo test || rm x",
        "cargo test | sh",
        "cargo test & rm x",
        "cargo test\nrm x",
        "cargo test\r\nrm x",
        "cargo test\trm",
        "cargo test $(rm x)",
        "cargo test `rm x`",
        "cargo test \"$(rm x)\"",
        "cargo test \"`rm x`\"",
        "cargo test $HOME",
        "cargo test ${IFS}x",
        "cargo test > /etc/passwd",
        "cargo test < x",
        "cargo test *",
        "cargo test a?",
        "cargo test [a]",
        "cargo test {a,b}",
        "cargo test ~",
        "cargo test #x",
        "cargo test \\\nrm",
        "cargo test 'x",
        "cargo test \"x",
        "cargo test !x",
        "cargo test 'a\nb'",
        "cargo test (x)",
        "cargo test =x",
        "X=1 cargo test",
        "cargo=1 test",
        "time cargo test",
        "eval cargo test",
        "exec cargo test",
        ". cargo test",
        "cargo tests",
        "cargo",
        "./cargo test",
        "/tmp/cargo test",
        "cargo  'te st'",
        "",
        " ",
        "''",
        "'' cargo test",
        "cargo test \u{202e}x",
        "cargo\u{a0}test",
        "cargo test\u{0}",
        "CARGO test",
        "cargo test ^x",
        "(cargo test)",
        "{ cargo test; }",
        "if cargo test",
        "cargo test %s^",
    ];
    for command in hostile {
        assert!(!tests.allows(command), "{command:?}");
    }
    assert!(!tests.allows(&format!("cargo test {}", "x".repeat(70_000))));
    let one = CommandPattern::exactly(["git", "push"]).expect("it has words");
    assert!(one.allows("git push") && one.allows("git  'push'") && !one.allows("git push --force"));
}

#[test]
fn what_makes_a_command_of_its_words_is_no_program() {
    for word in ["eval", "exec", "command", "builtin", "source", ".", "time", "trap", "if", "function"] {
        let pattern = CommandPattern::beginning([word]).expect("it has words");
        assert!(!pattern.allows(&format!("{word} 'rm x'")), "{word}");
    }
}

#[test]
fn what_is_forbidden_is_seen_through_the_usual_disguises_and_asked_about_in_others() {
    let remove = CommandPattern::beginning(["rm", "-rf"]).expect("it has words");
    let said: Vec<String> = [
        "rm -rf x",
        "rm  -rf",
        "RM -RF x",
        "/bin/rm -rf x",
        "'rm' \"-rf\" x",
        "r''m -rf x",
        "ls; rm -rf x",
        "ls && rm -rf x",
        "ls\nrm -rf x",
        "(rm -rf x)",
        "$(rm -rf x)",
        "`rm -rf x`",
        "sudo rm -rf x",
        "time rm -rf x",
        "sh -c 'rm -rf x'",
        "eval \"rm -rf x\"",
        "X=1 rm -rf x",
        "git commit -m 'rm -rf it'",
        "echo rm -rf",
        "rm -r -f x",
        "rm x",
        "rmdir -rf",
        "r\\m -rf x",
        "$X -rf",
        "{r,}m -rf x",
        "sh -c 'r\\m -rf x'",
        "git commit -m 'confirm -rf (again)'",
        "X=1 ls",
        "cargo test 2>&1 | tail -5",
        "ls",
    ]
    .iter()
    .map(|command| format!("{:7} {command:?}", format!("{:?}", remove.catches(command))))
    .collect();
    expect![[r#"
        Yes     "rm -rf x"
        Yes     "rm  -rf"
        Yes     "RM -RF x"
        Yes     "/bin/rm -rf x"
        Yes     "'rm' \"-rf\" x"
        Yes     "r''m -rf x"
        Yes     "ls; rm -rf x"
        Yes     "ls && rm -rf x"
        Yes     "ls\nrm -rf x"
        Yes     "(rm -rf x)"
        Yes     "$(rm -rf x)"
        Yes     "`rm -rf x`"
        Perhaps "sudo rm -rf x"
        Perhaps "time rm -rf x"
        Perhaps "sh -c 'rm -rf x'"
        Perhaps "eval \"rm -rf x\""
        Perhaps "X=1 rm -rf x"
        Perhaps "git commit -m 'rm -rf it'"
        Perhaps "echo rm -rf"
        Perhaps "rm -r -f x"
        No      "rm x"
        No      "rmdir -rf"
        Perhaps "r\\m -rf x"
        Perhaps "$X -rf"
        Perhaps "{r,}m -rf x"
        Perhaps "sh -c 'r\\m -rf x'"
        No      "git commit -m 'confirm -rf (again)'"
        Perhaps "X=1 ls"
        No      "cargo test 2>&1 | tail -5"
        No      "ls""#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn patterns_of_commands_have_words() {
    let said = |words: &[&str]| match CommandPattern::beginning(words.iter().copied()) {
        Ok(pattern) => pattern.to_string(),
        Err(error) => error.to_string(),
    };
    let push = CommandPattern::exactly(["git", "push"]).expect("it has words");
    let fits = |command: &str| push.catches(command);
    assert_eq!((fits("git push"), fits("git push origin")), (Fit::Yes, Fit::No));
    assert_eq!((fits("ls; git push"), fits("sh -c 'git push'")), (Fit::Yes, Fit::Perhaps));
    expect!["cargo test …"].assert_eq(&said(&["cargo", "test"]));
    expect![[r#"echo "a b" …"#]].assert_eq(&said(&["echo", "a b"]));
    expect![[
        r#""" cannot be used as a pattern: it needs a word; a rule for every command names the tool alone"#
    ]]
    .assert_eq(&said(&[]));
    expect![[r#""rm " cannot be used as a pattern: a word is empty"#]].assert_eq(&said(&["rm", ""]));
    assert!(serde_json::from_str::<CommandPattern>(r#"{"words":[]}"#).is_err());
    assert!(serde_json::from_str::<PathPattern>(r#""../x""#).is_err());
}

/// What a shell makes of words that are quoted for it.
fn quoted(words: &[String]) -> String {
    let one = |word: &String| format!("'{word}'");
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn what_is_allowed_is_caught_too(path in "[a-c.*?/]{0,8}", pattern in "[a-c.*?/]{1,8}") {
        if let Ok(pattern) = pattern.parse::<PathPattern>() && pattern.allows(&path) {
            prop_assert_eq!(pattern.catches(&path), Fit::Yes);
        }
    }

    #[test]
    fn an_allowed_path_stays_where_its_pattern_begins(path in "(src|[.]{1,2}|a|/|\\\\){0,10}") {
        let pattern: PathPattern = "src/**".parse().expect("it is a pattern");
        if pattern.allows(&path) {
            prop_assert!(path == "src" || path.starts_with("src/"));
            prop_assert!(!path.split('/').any(|name| name.starts_with('.')));
        }
    }

    #[test]
    fn an_exact_pattern_allows_its_path_alone(path in "[a-b.\\[/ é-]{1,10}", other in "[a-b.\\[/ é-]{1,10}") {
        if let Ok(pattern) = PathPattern::exactly(&path) {
            prop_assert!(pattern.allows(&path));
            prop_assert_eq!(pattern.allows(&other), path == other);
        }
    }

    #[test]
    fn quoted_words_are_read_back(words in prop::collection::vec("[a-z $;&|`*\"\\\\.-]{1,8}", 1..5)) {
        let read = plain_words(&quoted(&words));
        prop_assert!(read.is_none_or(|read| read == words));
    }

    #[test]
    fn whatever_is_appended_behind_a_sign_of_the_shell_is_not_allowed(
        before in "[a-z ]{0,6}",
        sign in "[;&|`$<>(){}\n\r\\\\#*?~!\\[\\]^\t\u{0}]",
        after in "\\PC{0,12}",
    ) {
        let pattern = CommandPattern::beginning(["ls"]).expect("it has words");
        let command = format!("ls {before}{sign}{after}");
        prop_assert!(!pattern.allows(&command), "{:?}", command);
    }

    #[test]
    fn a_program_that_is_forbidden_is_seen_or_doubted_in_whatever_stands_around_it(
        before in "\\PC{0,8}",
        sign in "[;&|(`\n]",
        name in prop::sample::select(vec!["rm", "'rm'", "r''m", "\\rm", "r\\m", "\"rm\"", "/bin/rm", "$(echo rm)", "RM"]),
        after in "[ a-z;&|)`'\"-]{0,8}",
    ) {
        let pattern = CommandPattern::beginning(["rm"]).expect("it has words");
        let command = format!("{before}{sign}{name} {after}");
        prop_assert_ne!(pattern.catches(&command), Fit::No, "{:?}", command);
    }

    #[test]
    fn any_text_is_looked_at(text: String, pattern: String) {
        let pattern = pattern.parse::<PathPattern>().unwrap_or_else(|_| "**".parse().expect("it is a pattern"));
        let _ = (pattern.allows(&text), pattern.catches(&text), plain_words(&text));
        let command = CommandPattern::beginning([text.clone()]);
        let _ = command.map(|command| (command.allows(&text), command.catches(&text)));
    }
}

#[track_caller]
fn check_path(pattern: &str, paths: &[&str], expected: Expect) {
    let pattern: PathPattern = pattern.parse().expect("it is a pattern");
    let lines: Vec<String> = paths
        .iter()
        .map(|path| {
            let allows = if pattern.allows(path) { "allows" } else { "" };
            let catches = if pattern.catches(path) == Fit::No { "" } else { "catches" };
            format!("{allows:6} {catches:7} {path:?}")
        })
        .collect();
    expected.assert_eq(&format!("{}\n", lines.join("\n")));
}
