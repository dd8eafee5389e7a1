//! Builds tests by `cargo test`, runs them, shows them, and counts them.
//!
//! All features are on here, so every test of a crate runs; `alone` runs the tests again as somebody gets them who
//! takes one crate with its default features.

pub(crate) mod binaries;

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use crate::cargo::{cannot_start, cargo, line_of};
use crate::git_internal;
use crate::lanes::Lanes;
use crate::postgres::Postgres;
use crate::report::Tally;
use crate::under_dbos;
use crate::workspace::{Crate, PREFIX, Workspace};

/// The test binaries that take longest, in this order: measured on 2026-11-29, the times of their tests added up.
const LONGEST: &[&str] = &["session-store", "cli", "runtime", "stories", "disk", "tools", "providers"];

/// The test binary that mostly waits for a server and for leases to end: it gets more threads than there are cores, unless a person
/// says how many.
const WAITING: (&str, &str) = ("session-store", "3");
const THREADS: &str = "RUST_TEST_THREADS";

/// Which packages to test.
pub(crate) enum Packages {
    /// All of the workspace.
    All,
    /// One, by its package name.
    One(String),
    /// The one beside git-internal, a workspace of its own.
    GitInternal,
    /// The one that runs sessions under DBOS, likewise; by its name only.
    UnderDbos,
}

impl Packages {
    /// Resolves the word that a person typed.
    pub(crate) fn named(workspace: &Workspace, name: Option<&str>) -> Result<Packages, String> {
        match name {
            None => Ok(Packages::All),
            Some("git-internal") => Ok(Packages::GitInternal),
            Some("dbos") => Ok(Packages::UnderDbos),
            Some("xtask") => Ok(Packages::One("xtask".to_owned())),
            Some(name @ ("tests" | "disk")) => Ok(Packages::One(format!("{PREFIX}{name}"))),
            Some(name) => workspace.named(name).map(|one| Packages::One(one.package.clone())),
        }
    }

    /// Whether there can be doctests; cargo refuses to look for them in a package that is only a program.
    fn have_a_library(&self, workspace: &Workspace) -> bool {
        match self {
            Packages::All => true,
            Packages::GitInternal | Packages::UnderDbos => false,
            Packages::One(package) if package == "xtask" => false,
            Packages::One(package) => workspace.named(package).map_or(true, Crate::is_library),
        }
    }
}

/// Takes `[CRATE] [-- ARGS]` apart.
pub(crate) fn words<'a, 'b>(words: &'b [&'a str]) -> Result<(Option<&'a str>, &'b [&'a str]), String> {
    let (before, after) = match words.iter().position(|word| *word == "--") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &words[..0]),
    };
    match before {
        [] => Ok((None, after)),
        [name] if !name.starts_with('-') => Ok((Some(name), after)),
        [first, ..] => {
            Err(format!("test takes one crate; arguments for the test binaries go after `--`: `{first}`"))
        }
    }
}

/// Runs the tests and doctests of the packages with all features.
pub(crate) fn run(
    workspace: &Workspace,
    postgres: &mut Postgres,
    packages: &Packages,
    arguments: &[&str],
) -> Result<Tally, String> {
    let (flags, package) = match packages {
        Packages::All => (vec!["--workspace", "--all-features", "--no-fail-fast"], None),
        Packages::One(package) => {
            (vec!["--package", package, "--all-features", "--no-fail-fast"], Some(package.as_str()))
        }
        Packages::GitInternal => return cargo_test(&mut beside_git_internal(workspace, arguments)),
        Packages::UnderDbos => {
            let mut command = under_dbos::test(workspace);
            if !arguments.is_empty() {
                command.arg("--").args(arguments);
            }
            postgres.offer(Some("tests"), &mut command)?;
            return cargo_test(&mut command);
        }
    };
    let Some(mut binaries) = binaries::build(&mut cargo(workspace, ["test"].iter().chain(&flags)))? else {
        return Ok(Tally::of(false));
    };
    // Whoever has the last long test to itself should not begin last.
    binaries.sort_by_key(|one| LONGEST.iter().position(|name| one.name == *name).unwrap_or(LONGEST.len()));
    let mut lanes = Lanes::open();
    for (place, binary) in binaries.iter().enumerate() {
        let mut command = binary.command(arguments);
        if binary.name == WAITING.0 && std::env::var_os(THREADS).is_none() {
            command.env(THREADS, WAITING.1);
        }
        postgres.offer(package, &mut command)?;
        lanes.run(binary.title(workspace), command);
        // Early, because it builds a hundred crates first, beside the binary that waits most.
        if place == 0 && package.is_none() {
            let beside = beside_git_internal(workspace, arguments);
            lanes.run(line_of(&beside), beside);
        }
    }
    if packages.have_a_library(workspace) {
        let mut doctests = cargo(workspace, ["test", "--doc"].iter().chain(&flags));
        if !arguments.is_empty() {
            doctests.arg("--").args(arguments);
        }
        postgres.offer(package, &mut doctests)?;
        lanes.run(line_of(&doctests), doctests);
    }
    lanes.close()
}

/// The tests that hold our decision objects beside the real git-internal.
fn beside_git_internal(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = git_internal::cargo(workspace, "test", &[]);
    command.arg("--no-fail-fast");
    if !arguments.is_empty() {
        command.arg("--").args(arguments);
    }
    // Texts are rewritten from the package's folder; without this it would be looked for from ours.
    command.env("CARGO_WORKSPACE_DIR", workspace.root.join(git_internal::FOLDER));
    command
}

/// Runs one `cargo test` call and sums the result lines of its binaries.
pub(crate) fn cargo_test(command: &mut Command) -> Result<Tally, String> {
    println!("$ {}", line_of(command));
    let listing = is_listing(command);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| cannot_start(command, &error))?;
    let mut found: Option<Tally> = None;
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        // Bytes, not lines: a test may print anything.
        while output
            .read_until(b'\n', &mut line)
            .map_err(|error| format!("lost the tests' output: {error}"))?
            > 0
        {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            if let Some(result) = result_line(&text) {
                *found.get_or_insert_default() += result;
            }
            line.clear();
        }
    }
    let status = child.wait().map_err(|error| format!("lost cargo: {error}"))?;
    let (sum, complaint) = sum_after(found, status, listing);
    print!("{complaint}");
    Ok(sum)
}

/// Whether a call names tests and runs none.
pub(crate) fn is_listing(command: &Command) -> bool {
    command.get_args().any(|argument| argument == "--list")
}

/// What the result lines come to with the way that the program ended, and a line about it where one is due.
///
/// A program that failed without a failing test is a failure, and so is one that ended well and has no result line: a
/// test, or the code under test, ended it, and the tests that were to come did not run. A listing runs none.
pub(crate) fn sum_after(found: Option<Tally>, status: ExitStatus, is_listing: bool) -> (Tally, String) {
    let mut sum = found.unwrap_or_default();
    let complaint = if !status.success() && sum.failed == 0 {
        format!("no test failed, but the program did ({status}): it died, or something did not build\n")
    } else if status.success() && found.is_none() && !is_listing {
        "no `test result` line, though the program ended well: something in it ended the program before its tests \
         were done\n"
            .to_owned()
    } else {
        return (sum, String::new());
    };
    sum.failed += 1;
    (sum, complaint)
}

/// Reads a closing line of libtest.
pub(crate) fn result_line(line: &str) -> Option<Tally> {
    let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    counted(counts)
}

/// Reads the closing line of this program out of a log; the last one counts.
pub(crate) fn closing_line(log: &str) -> Option<Tally> {
    log.lines().rev().find(|line| line.ends_with(" failed") && line.contains(" passed, ")).and_then(counted)
}

/// What a log says of its failures: the tests by name, checks, programs that died, and the first words of each panic. A log
/// that passed has none.
pub(crate) fn failures(log: &str) -> Vec<String> {
    /// As many as a person reads.
    const MOST: usize = 60;
    if closing_line(log).is_some_and(|sum| sum.failed == 0) {
        return Vec::new();
    }
    let fails = |line: &str| {
        (line.starts_with("test ") && line.ends_with(" ... FAILED"))
            || line.starts_with("FAIL ")
            || line.starts_with("SKIPPED")
            || line.starts_with("error")
            || line.starts_with("no test failed, but")
            || line.starts_with("no line says FAIL")
            || line.starts_with("no `test result` line")
    };
    let mut found = Vec::new();
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        if line.contains("panicked at ") {
            // What was not as expected stands on the next lines.
            let words: Vec<&str> = lines.by_ref().take(3).collect();
            found.push(format!("{line} {}", words.join(" ")).chars().take(400).collect());
        } else if fails(line) {
            found.push(line.to_owned());
        }
    }
    // Tests that expect a panic print one too, so the names come first.
    found.sort_by_key(|line: &String| line.contains("panicked at "));
    found.truncate(MOST);
    found
}

fn counted(text: &str) -> Option<Tally> {
    let mut tally = (None, None);
    for part in text.split([';', ',']) {
        if let Some((number, word)) = part.trim().split_once(' ') {
            match word {
                "passed" => tally.0 = number.parse().ok(),
                "failed" => tally.1 = number.parse().ok(),
                _ => {}
            }
        }
    }
    Some(Tally { passed: tally.0?, failed: tally.1? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        assert_eq!(result_line(line), Some(Tally { passed: 12, failed: 3 }));
    }

    #[test]
    fn other_lines_are_not_counted() {
        assert_eq!(result_line("test a_result ... ok"), None);
        assert_eq!(result_line("12 passed; 3 failed"), None);
        assert_eq!(result_line("test result: "), None);
    }

    #[test]
    fn the_last_closing_line_of_a_log_counts() {
        let log = "1 passed, 1 failed\ntest   0.1 min     7 passed    0 failed  ok\n7 passed, 0 failed\n";
        assert_eq!(closing_line(log), Some(Tally { passed: 7, failed: 0 }));
        assert_eq!(closing_line("error: could not compile"), None);
    }

    #[test]
    fn a_log_tells_its_failures() {
        let log = "test a ... ok\nthread 'b' (7) panicked at b.rs:1:2:\nno\nnote: x\n\ntest b ... FAILED\nFAIL  forks: 1\n\
                   1 passed, 2 failed\n";
        let told = failures(log);
        assert_eq!(told[..2], ["test b ... FAILED", "FAIL  forks: 1"]);
        assert!(told[2].starts_with("thread 'b' (7) panicked at b.rs:1:2: no"), "{told:?}");
        assert_eq!(failures("FAIL  in a test's own text\n2 passed, 0 failed\n"), Vec::<String>::new());
    }

    #[test]
    fn words_after_two_dashes_belong_to_the_test_binaries() {
        assert_eq!(words(&["sanitize", "--", "--nocapture"]), Ok((Some("sanitize"), &["--nocapture"][..])));
        assert_eq!(words(&[]), Ok((None, &[][..])));
        assert!(words(&["a", "b"]).is_err());
        assert!(words(&["--nocapture"]).is_err());
    }
}
