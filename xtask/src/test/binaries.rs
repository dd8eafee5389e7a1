//! The test binaries that a cargo call makes, as cargo itself lists them: nothing is found by a name or a folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cannot_start, line_of};
use crate::workspace::Workspace;

/// One of them.
#[derive(Debug, PartialEq)]
pub(crate) struct Binary {
    /// The name of its target, `sanitize`.
    pub(crate) name: String,
    /// The folder of its package, where cargo runs it.
    folder: PathBuf,
    path: PathBuf,
}

impl Binary {
    /// Runs it as `cargo test` does.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(&self.path);
        // Expected texts are found and rewritten by the variable; the one that we have ourselves names `xtask`.
        command.args(arguments).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.stdin(Stdio::null());
        command
    }

    /// What to call it in front of what it prints.
    pub(crate) fn title(&self, workspace: &Workspace) -> String {
        let path = self.path.strip_prefix(&workspace.root).unwrap_or(&self.path);
        format!("{} ({})", self.name, path.display())
    }
}

/// Builds what a `cargo test` call would run, and lists the binaries; `None` if something does not build.
pub(crate) fn build(command: &mut Command) -> Result<Option<Vec<Binary>>, String> {
    command.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    println!("$ {}", line_of(command));
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        println!("something did not build: `cargo test` ended with {}", output.status);
        return Ok(None);
    }
    listed(&String::from_utf8_lossy(&output.stdout)).map(Some)
}

/// Reads the lines of cargo's JSON that tell of a binary with tests.
fn listed(messages: &str) -> Result<Vec<Binary>, String> {
    let mut binaries = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with(r#"{"reason":"compiler-artifact""#)) {
        let of_tests = line
            .split_once(r#""profile":{"#)
            .and_then(|(_, rest)| rest.split_once('}'))
            .is_some_and(|(profile, _)| profile.contains(r#""test":true"#));
        if !of_tests {
            continue;
        }
        let path = text_after(line, r#""executable":"#);
        let name = line.split_once(r#""target":{"#).and_then(|(_, rest)| text_after(rest, r#""name":"#));
        let folder = text_after(line, r#""manifest_path":"#)
            .and_then(|manifest| Path::new(&manifest).parent().map(Path::to_path_buf));
        match (name, folder, path) {
            (Some(name), Some(folder), Some(path)) => {
                binaries.push(Binary { name, folder, path: PathBuf::from(path) });
            }
            _ => {
                return Err(format!("cargo tells of a test binary in words that are not known here: {line}"));
            }
        }
    }
    Ok(binaries)
}

/// The string behind a key; `None` if there is another value or none.
fn text_after(line: &str, key: &str) -> Option<String> {
    let (_, rest) = line.split_once(key)?;
    let mut text = String::new();
    let mut signs = rest.strip_prefix('"')?.chars();
    loop {
        match signs.next()? {
            '"' => return Some(text),
            // The other escapes stand for signs that no path of ours has.
            '\\' => text.push(signs.next().filter(|sign| matches!(sign, '"' | '\\' | '/'))?),
            sign => text.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As cargo 1.95 writes them, with shorter paths.
    const LIBRARY: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/x#trunkline-x@0.1.0","manifest_path":"/w/crates/x/Cargo.toml","target":{"kind":["lib"],"crate_types":["lib"],"name":"trunkline_x","src_path":"/w/crates/x/src/lib.rs","edition":"2024","doc":true,"doctest":true,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":false},"features":[],"filenames":["/w/target/debug/libtrunkline_x.rlib"],"executable":null,"fresh":true}"#;
    const PROGRAM: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/x#trunkline-x@0.1.0","manifest_path":"/w/crates/x/Cargo.toml","target":{"kind":["bin"],"crate_types":["bin"],"name":"x","src_path":"/w/crates/x/src/main.rs","edition":"2024","doc":true,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":false},"features":[],"filenames":["/w/target/debug/x"],"executable":"/w/target/debug/x","fresh":true}"#;
    const TESTS: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/x#trunkline-x@0.1.0","manifest_path":"/w/crates/x/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"x","src_path":"/w/crates/x/tests/main.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":true},"features":["default"],"filenames":["/w/\"t\"/debug/deps/x-1"],"executable":"/w/\"t\"/debug/deps/x-1","fresh":false}"#;

    #[test]
    fn only_binaries_with_tests_are_listed() {
        let messages =
            [r#"{"reason":"build-script-executed","executable":"/no"}"#, LIBRARY, PROGRAM, TESTS, "words"];
        let expected = Binary {
            name: "x".to_owned(),
            folder: PathBuf::from("/w/crates/x"),
            path: PathBuf::from("/w/\"t\"/debug/deps/x-1"),
        };
        assert_eq!(listed(&messages.join("\n")), Ok(vec![expected]));
    }

    #[test]
    fn a_test_binary_that_is_not_understood_is_not_left_out() {
        for (known, unknown) in
            [("manifest_path", "manifest"), (r#""executable":""#, r#""executable":"\u0041"#)]
        {
            assert!(listed(&TESTS.replace(known, unknown)).is_err(), "{unknown}");
        }
    }
}
