//! Every screen of `decisions` and `decide` on narrow terminals: no line is longer than the screen, but for a single word.

use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::binding::{git, make};
use crate::fake::{Answer, Scene, calls, says};

// The command has no library; what breaks its lines is tested from here.
#[path = "../src/term/fit.rs"]
#[expect(dead_code, reason = "pages are looked at as the binary prints them")]
mod fit;

const WIDTHS: [usize; 7] = [20, 21, 29, 37, 40, 53, 60];
/// A script without blanks, whose characters take two columns each.
const WIDE: &str = "\u{6f22}\u{5b57}\u{304b}\u{306a}";

/// Columns of a line as a terminal counts those that occur here. Colours take none.
fn columns(line: &str) -> usize {
    let mut columns = 0;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                characters.by_ref().find(|end| end.is_ascii_alphabetic());
            }
            '\u{300}'..='\u{36f}' => {}
            '\u{3000}'..='\u{9fff}' | '\u{1f300}'..='\u{1faff}' => columns += 2,
            _ => columns += 1,
        }
    }
    columns
}

fn fits(line: &str, width: usize) -> bool {
    // What marks a line of a diff, or that a command goes on, stands beside its word.
    // What stands in backticks is one word.
    let mut inside = false;
    let joined = |sign: char| {
        inside ^= sign == '`';
        if inside && sign == ' ' { '_' } else { sign }
    };
    let joined: String = line.chars().map(joined).collect();
    let words = joined.split_whitespace().filter(|word| !matches!(*word, "\\" | "+" | "-" | "hint:"));
    columns(line) <= width
        || (words.clone().count() == 1 && words.clone().all(|word| columns(word) + 2 > width))
}

fn check(scene: &Scene, arguments: &[&str]) -> String {
    let mut shown = String::new();
    for width in WIDTHS {
        for colour in ["never", "always"] {
            let mut command = scene.command(arguments);
            command.env("COLUMNS", width.to_string()).args(["--color", colour]);
            let output = command.output().expect("it runs");
            for stream in [output.stdout, output.stderr] {
                let text = String::from_utf8(stream).expect("UTF-8");
                for line in text.lines() {
                    assert!(fits(line, width), "{width} columns, {arguments:?}: {line:?} in\n{text}");
                    assert!(!line.contains('\u{7}'), "{line:?}");
                }
                shown.push_str(&text);
            }
        }
    }
    assert!(!shown.is_empty(), "{arguments:?} shows something");
    shown
}

/// A run with long and wide words everywhere, committed and bound.
fn scene() -> Scene {
    let wide = WIDE.repeat(30);
    let content =
        format!("{wide}\n{} e\u{301}e\u{301}\u{301} \u{1f600}\u{1f600}\n", "many words in a line ".repeat(9));
    let arguments = serde_json::json!({ "path": "a.txt", "content": content }).to_string();
    let answers: Vec<Answer> = vec![
        calls("write_file", &arguments),
        says(&format!("{} {wide} \u{1b}[31mred\u{7} \u{1b}]0;x", "I wrote it, word by word. ".repeat(8))),
    ];
    let (scene, _endpoint) = Scene::with(answers);
    make(&scene.work(), "init -q -b main");
    let goal = format!("write a.txt {wide} {}", "and then write it once more ".repeat(5));
    scene.ok(&["run", &goal, "--yes", "--commit", "--bind", "-q"]);
    scene
}

#[test]
fn what_is_listed_shown_and_checked_fits() {
    let scene = scene();
    let bad = scene.path("bad.jsonl");
    let (long, wide) = ("so long a key ".repeat(20), WIDE.repeat(20));
    std::fs::write(&bad, format!("{{\"type\":\"decision\",\"{long}\":1,\"{wide}\":2}}\nnot JSON\n"))
        .expect("written");
    let bad = bad.to_str().expect("a plain path");
    let screens: [&[&str]; 11] = [
        &["decisions"],
        &["decisions", "--all"],
        &["decisions", "last"],
        &["decisions", "last", "--diff", "--full"],
        &["decisions", "--node", "n1"],
        &["decisions", "--node", "n99"],
        &["decisions", "--check"],
        &["decisions", "--check", bad],
        &["decisions", "--git"],
        &["decisions", "--commit", "HEAD"],
        &["decisions", "ffff"],
    ];
    for screen in screens {
        check(&scene, screen);
    }
    assert!(check(&scene, &["decisions", "--commit", "HEAD~1"]).contains("no decision"));
}

#[test]
fn what_is_decided_and_refused_fits() {
    let scene = scene();
    let shown = check(&scene, &["decide", "rollback", "last", "--dry-run"]);
    assert!(shown.contains(WIDE), "{shown}");
    check(&scene, &["decide", "abandon", "nothing is open"]);
    check(&scene, &["decide", "abandon", " "]);
    check(&scene, &["decide", "rollback", "ffff"]);
    check(&scene, &["decide", "rollback", "last"]);
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    let shown = check(&scene, &["decide", "rollback", "last", "--yes"]);
    assert!(shown.contains("a.txt"), "{shown}");
    git(&scene, "checkout -q a.txt");
    // Each of them rolls the one before it back.
    check(&scene, &["decide", "rollback", "last", "--yes", "--commit", "--bind"]);
}

/// The commands that a text tells of, each as a shell would take it.
fn commands(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let (piece, more) = match line.strip_suffix(" \\") {
            Some(piece) => (piece, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some(last) if goes_on => last.push_str(&format!(" {}", piece.trim_start())),
            _ => lines.push(piece.to_owned()),
        }
        goes_on = more;
    }
    let command = |(at, _): (usize, &str), line: &str| line[at..].split('`').next().unwrap_or("").to_owned();
    lines.iter().flat_map(|line| line.match_indices("trunkline ").map(|at| command(at, line))).collect()
}

#[test]
fn a_command_that_is_broken_is_still_one_command() {
    let scene = scene();
    let same = |arguments: &[&str]| {
        let said = |width: &str| {
            let mut command = scene.command(arguments);
            let output = command.env("COLUMNS", width).output().expect("it runs");
            let text = [output.stdout, b"\n".to_vec(), output.stderr].concat();
            String::from_utf8(text).expect("UTF-8")
        };
        let whole = commands(&said("1000"));
        assert!(!whole.is_empty(), "{arguments:?} tells of commands: {}", said("1000"));
        for width in [80, 100].iter().chain(&WIDTHS) {
            let told = said(&width.to_string());
            assert_eq!(commands(&told), whole, "{width} columns, {arguments:?}: {told}");
        }
    };
    same(&["decisions", "last"]);
    same(&["decisions", "--git"]);
    same(&["decisions", "--commit", "HEAD"]);
    // Hints, and lines of what is meant.
    same(&["decisions", "--commit", "HEAD~1"]);
    same(&["decisions", "ffff"]);
    same(&["decisions", "0"]);
    let reference = git(&scene, "for-each-ref --format=%(refname) refs/trunkline");
    git(&scene, &format!("update-ref -d {}", reference.trim()));
    same(&["decisions", "--git"]);
    same(&["decisions", "--commit", "HEAD"]);
}

#[test]
fn a_broken_command_is_the_same_words_to_a_shell() {
    let letters =
        prop::sample::select(vec!['a', '/', '\'', '"', ' ', '\\', '\t', '$', '\u{6f22}', '\u{5b57}']);
    let word =
        prop::collection::vec(letters, 0..40).prop_map(|letters| letters.into_iter().collect::<String>());
    let strategy = (prop::collection::vec((word, any::<bool>()), 1..5), 20_usize..60);
    let law = |(words, width): (Vec<(String, bool)>, usize)| {
        let written = |(word, by_quotes): &(String, bool)| match *by_quotes || word.is_empty() {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word.chars().map(|letter| format!("\\{letter}")).collect(),
        };
        let line = words.iter().map(written).collect::<Vec<_>>().join(" ");
        let fitted = fit::fitted_command(&format!("    {line}"), width);
        let script = format!("printf '%s\\0' {fitted}");
        let output = Command::new("sh").args(["-c", &script]).output().expect("sh runs");
        let expected: String = words.iter().map(|(word, _)| format!("{word}\0")).collect();
        prop_assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", fitted);
        Ok(())
    };
    TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(400) })
        .run(&strategy, law)
        .expect("the law holds");
}

#[test]
fn where_the_width_is_not_known_lines_are_whole() {
    let scene = scene();
    let whole = scene.run(&["decisions", "last"]);
    for columns in ["", "0", "wide", "-1"] {
        let mut command = scene.command(&["decisions", "last"]);
        command.env("COLUMNS", columns);
        assert_eq!(scene.said(command.output().expect("it runs")).out, whole.out, "{columns:?}");
    }
}
