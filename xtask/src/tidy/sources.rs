//! Rules for single Rust files.

use super::place;
use crate::layers;
use crate::report::Complaint;
use crate::rust_text::{code_only, declared_module, has_word};

/// A file of this many lines gets a warning, one of [`TOO_LONG`] fails.
const LONG: usize = 500;
const TOO_LONG: usize = 600;

/// Module names that cannot refuse anything.
pub(crate) const NAMES_THAT_REFUSE_NOTHING: &[&str] =
    &["common", "core", "helper", "helpers", "misc", "shared", "types", "util", "utils"];

/// Code that does not go in, and what to do instead.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "finish it or leave it out"),
    ("unimplemented!", "finish it or leave it out"),
    ("#[ignore", "a test that does not run proves nothing: make it fast and offline, or delete it"),
    ("expect(missing_docs", "write the docs instead of silencing the lint"),
    ("allow(missing_docs", "write the docs instead of silencing the lint"),
];

/// What a pure crate does not ask the world.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "Uuid::new_v4",
    "Uuid::now_v7",
    "async fn",
];

/// Parts of a crate that asks the world which do not: they hold to the same, and wait for nothing.
const PURE_PARTS: &[&str] = &["crates/cli/src/shown/", "crates/session-machine/src/"];
const WAITS: &[&str] = &[".await", "async", "tokio", "dyn"];

/// Checks one file.
pub(super) fn check(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = length(path, text);
    complaints.extend(empty_docs(path, text));
    if path.starts_with("xtask/") {
        complaints.extend(head(path, text));
        return complaints;
    }
    let code = code_only(text);
    complaints.extend(unfinished(path, &code));
    if let Some((name, inside)) = place(path)
        && inside.starts_with("src/")
    {
        complaints.extend(head(path, text));
        complaints.extend(module_names(path, &code));
        complaints.extend(unwraps(path, &code));
        complaints.extend(includes(path, text));
        if layers::is_pure(name) {
            complaints.extend(impure(path, &code, IMPURE));
        }
        if PURE_PARTS.iter().any(|part| path.starts_with(part)) {
            complaints.extend(impure(path, &code, IMPURE));
            complaints.extend(impure(path, &code, WAITS));
        }
    }
    complaints
}

fn length(path: &str, text: &str) -> Vec<Complaint> {
    let lines = text.lines().count();
    if lines > TOO_LONG {
        return vec![Complaint::file(
            path,
            format!("{lines} lines: cut it where its reasons differ ({TOO_LONG} at most)"),
        )];
    }
    if lines > LONG {
        println!("{path}: warning: {lines} lines; at {TOO_LONG} it must be cut");
    }
    Vec::new()
}

fn head(path: &str, text: &str) -> Vec<Complaint> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let says_something = first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty());
    if says_something || first.starts_with("#![doc = include_str!") {
        return Vec::new();
    }
    vec![Complaint::file(path, "begin with `//!`: what the module is for and one thing that is not obvious")]
}

/// A doc comment without a word silences `missing_docs` and helps nobody.
fn empty_docs(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut block: Option<(usize, bool)> = None;
    for (index, line) in text.lines().chain([""]).enumerate() {
        let line = line.trim();
        let words =
            line.strip_prefix("///").filter(|words| !words.starts_with('/')).or(line.strip_prefix("//!"));
        match (words, &mut block) {
            (Some(words), Some((_, says_something))) => *says_something |= !words.trim().is_empty(),
            (Some(words), None) => block = Some((index, !words.trim().is_empty())),
            (None, _) => {
                if let Some((start, false)) = block.take() {
                    complaints.push(Complaint::line(
                        path,
                        start,
                        "an empty doc comment: write the sentence or delete it",
                    ));
                }
            }
        }
    }
    complaints
}

fn unfinished(path: &str, code: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for (word, advice) in UNFINISHED {
            if has_word(line, word) {
                complaints.push(Complaint::line(path, index, format!("`{word}`: {advice}")));
            }
        }
    }
    complaints
}

fn module_names(path: &str, code: &str) -> Vec<Complaint> {
    let advice = |name: &str| {
        format!(
            "a module named `{name}` refuses nothing: name a thing or an act, or put each function beside its caller"
        )
    };
    let inline = code.lines().enumerate().filter_map(|(index, line)| {
        let name = declared_module(line)?;
        NAMES_THAT_REFUSE_NOTHING.contains(&name).then(|| Complaint::line(path, index, advice(name)))
    });
    inline.collect()
}

fn unwraps(path: &str, code: &str) -> Vec<Complaint> {
    let found = code.lines().enumerate().filter(|(_, line)| has_word(line, ".unwrap()"));
    found
        .map(|(index, _)| {
            Complaint::line(
                path,
                index,
                "`unwrap`: return an error, or `expect` with the reason why it cannot fail",
            )
        })
        .collect()
}

/// A file outside the package is not in what gets published.
fn includes(path: &str, text: &str) -> Vec<Complaint> {
    let depth = place(path).map_or(0, |(_, inside)| inside.matches('/').count());
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for part in line.split("include_str!(\"").skip(1).chain(line.split("include_bytes!(\"").skip(1)) {
            if part.split('/').take_while(|step| *step == "..").count() > depth {
                complaints.push(Complaint::line(
                    path,
                    index,
                    "includes a file outside its package, which a published crate lacks: move it in",
                ));
            }
        }
    }
    complaints
}

fn impure(path: &str, code: &str, words: &[&str]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for word in words.iter().filter(|word| has_word(line, word)) {
            complaints.push(Complaint::line(
                path,
                index,
                format!("`{word}` in what asks the world nothing: let the caller hand the value in"),
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said about a file, as `line: first words`.
    fn check_as(path: &str, text: &str, expected: &[&str]) {
        let said: Vec<String> = check(path, text).iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains(expected), "{said} lacks {expected}");
        }
    }

    #[test]
    fn a_fine_file_is_left_alone() {
        let text = "//! Joins.\n//!\n//! Nothing is lost.\n\n/// Joins.\n///\n/// Twice.\nfn join() {} // todo! is a word\n";
        check_as("crates/sanitize/src/join.rs", text, &[]);
        check_as("crates/sanitize/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n", &[]);
    }

    #[test]
    fn a_module_without_a_head_is_named() {
        check_as("crates/cli/src/a.rs", "fn f() {}\n", &["a.rs: begin with"]);
        check_as("crates/cli/src/a.rs", "//!\nfn f() {}\n", &[":1: an empty doc", "begin with"]);
    }

    #[test]
    fn an_empty_doc_line_alone_is_refused() {
        check_as("tests/lib.rs", "struct A {\n    ///\n    b: u8,\n}\n", &[":2: an empty doc comment"]);
    }

    #[test]
    fn unfinished_code_is_refused_in_tests_too() {
        check_as(
            "crates/cli/tests/a.rs",
            "#[ignore = \"slow\"]\nfn f() { todo!() }\n",
            &[":1: `#[ignore`", ":2: `todo!`"],
        );
    }

    #[test]
    fn unwrap_and_bad_names_are_refused_in_src() {
        let text = "//! A.\nmod utils;\nfn f() { g().unwrap(); \".unwrap()\"; }\n";
        check_as("crates/cli/src/a.rs", text, &[":2: a module named `utils`", ":3: `unwrap`"]);
    }

    #[test]
    fn a_pure_crate_does_not_read_the_clock() {
        let text = "//! A.\nfn f() { std::time::Instant::now(); }\n";
        check_as("crates/revert/src/a.rs", text, &[":2: `Instant::now`"]);
        check_as("crates/cli/src/a.rs", text, &[]);
    }

    #[test]
    fn an_act_does_not_wait() {
        let text = "//! A.\nfn f() { tool.apply().await; }\n";
        check_as("crates/session-machine/src/a.rs", text, &[":2: `.await`"]);
        check_as("crates/runtime/src/a.rs", text, &[]);
    }

    #[test]
    fn a_file_outside_the_package_cannot_be_included() {
        check_as(
            "crates/cli/src/a.rs",
            "//! A.\nconst A: &str = include_str!(\"../../b.txt\");\n",
            &[":2: includes"],
        );
        check_as("crates/cli/src/a/b.rs", "//! A.\nconst A: &str = include_str!(\"../../b.txt\");\n", &[]);
    }
}
