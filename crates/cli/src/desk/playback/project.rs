//! The small repository of the demo: a shell function, its test, and a first commit in which the test fails.

use std::path::Path;
use std::process::Command;

use crate::term::fault::Fault;

pub(crate) const SOURCE: &str = "slug.sh";
pub(crate) const TEST: &str = "test.sh";

const SOURCE_TEXT: &str = r#"# Prints a title as a slug: lower case, words joined by one dash each.
slug() {
  printf '%s' "$1" | tr 'A-Z ' 'a-z-'
}
"#;

const TEST_TEXT: &str = r#"#!/bin/sh
# Run with: sh test.sh
. ./slug.sh
failed=0
check() {
  found=$(slug "$1")
  if [ "$found" = "$2" ]; then
    echo "ok    $1 -> $found"
  else
    echo "FAIL  $1 -> $found (expected $2)"
    failed=1
  fi
}
check "Hello World" hello-world
check "Rust & C" rust-c
check "What, again?" what-again
exit $failed
"#;

/// Writes the project into an empty folder and commits it.
pub(crate) fn create(folder: &Path) -> Result<(), Fault> {
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text)
            .map_err(|error| Fault::new(format!("cannot write {name}: {error}")))
    };
    write(SOURCE, SOURCE_TEXT)?;
    write(TEST, TEST_TEXT)?;
    git(folder, &["init", "--quiet", "--initial-branch=main"])?;
    git(folder, &["config", "user.name", "Trunkline demo"])?;
    git(folder, &["config", "user.email", "demo@trunkline.invalid"])?;
    git(folder, &["config", "commit.gpgsign", "false"])?;
    git(folder, &["add", "--all"])?;
    git(folder, &["commit", "--quiet", "--message", "A slug, and a test that fails"])?;
    Ok(())
}

/// Runs git and returns what it printed.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String, Fault> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments);
    // A hook that starts us must not have us write into its repository, and templates and hooks of the user have no
    // business in a throw-away one.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_TEMPLATE_DIR", "");
    let output = command.output().map_err(|error| {
        Fault::new(format!("cannot run git: {error}"))
            .hint("the demo needs git and a POSIX shell, nothing else")
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Fault::new(format!("git {} failed: {}", arguments.first().unwrap_or(&""), said.trim())))
}
