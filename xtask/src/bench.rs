//! Runs the measurements of the crates and holds them against their bars.
//!
//! A measurement is an example, not a test: it runs in release, on a quiet machine, and not in `ci`. It prints lines
//! `name  value  bar  ok` or `name  value  bar  SHORT`.

use std::process::{Command, Stdio};

use crate::cargo::{cannot_start, cargo, line_of};
use crate::git_internal;
use crate::postgres::Postgres;
use crate::report::Tally;
use crate::workspace::{Crate, Workspace};

/// The crate that is also measured beside git-internal, in a package of its own.
const BESIDE_GIT_INTERNAL: &str = "decision-objects";

/// The name of a crate's example that measures: `bench_sanitize`. All examples of a workspace land in one folder.
pub(crate) fn example(one: &Crate) -> String {
    format!("bench_{}", one.name.replace('-', "_"))
}

/// Runs the measurements of the crates that have some. `named` means that a person asked for these very crates.
pub(crate) fn run(
    workspace: &Workspace,
    postgres: &mut Postgres,
    crates: &[Crate],
    named: bool,
) -> Result<Tally, String> {
    let mut sum = Tally::default();
    for one in crates {
        let example = example(one);
        let beside = one.name == BESIDE_GIT_INTERNAL;
        if beside {
            sum += measured(&mut git_internal::cargo(
                workspace,
                "run",
                &["--release", "--example", "bench_git_internal"],
            ))?;
        }
        if !one.examples().contains(&example) {
            if named && !beside {
                return Err(format!(
                    "crates/{}/examples/{example}.rs is not there: nothing to measure",
                    one.name
                ));
            }
            continue;
        }
        let call = [
            "run",
            "--quiet",
            "--release",
            "--all-features",
            "--package",
            &one.package,
            "--example",
            &example,
        ];
        let mut command = cargo(workspace, call);
        postgres.offer(Some(&one.package), &mut command)?;
        sum += measured(&mut command)?;
    }
    Ok(sum)
}

/// Runs one measurement in the open and counts its lines.
fn measured(command: &mut Command) -> Result<Tally, String> {
    println!("$ {}", line_of(command));
    command.stderr(Stdio::inherit());
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    let lines = String::from_utf8_lossy(&output.stdout);
    print!("{lines}");
    let mut tally = counted(&lines);
    if !output.status.success() && tally.failed == 0 {
        println!("no line says SHORT, but the run ended with {}", output.status);
        tally.failed = 1;
    }
    Ok(tally)
}

/// Counts the lines by their last word.
fn counted(lines: &str) -> Tally {
    let mut tally = Tally::default();
    for line in lines.lines() {
        match line.split_whitespace().next_back() {
            Some("ok") => tally.passed += 1,
            Some("SHORT") => tally.failed += 1,
            _ => {}
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_their_last_word() {
        let lines = "name  value  bar\nappend  12k/s  10k/s  ok\nopen  90 ms  50 ms  SHORT\n";
        assert_eq!(counted(lines), Tally { passed: 1, failed: 1 });
    }
}
