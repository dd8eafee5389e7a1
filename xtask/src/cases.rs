//! Plays a folder of cases against the built command, and asserts what each of them expects.
//!
//! A case is a small input on which the command once failed, in a folder `NN-name`; most have a `run.sh` that plays it
//! and prints what came of it. The folder is not part of the repository, and says in words what is expected; here it
//! stands as checks of what is printed. A case that no check knows fails, so that none is passed over.

mod expected;
mod seen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cannot_start, cargo, passes};
use crate::report::Tally;
use crate::workspace::{PREFIX, Workspace};
use expected::{CASES, Case, Play};
use seen::Seen;

/// Names the command that is tried in place of the one that is built here.
const VARIABLE: &str = "TRUNKLINE";
/// A case that takes longer hangs. One waits for half a minute of overload on purpose.
const LONGEST: &str = "240";

/// Plays each case of a folder, or one case where `folder` is one.
pub(crate) fn run(workspace: &Workspace, folder: &str) -> Result<Tally, String> {
    let folder =
        Path::new(folder).canonicalize().map_err(|error| format!("cannot read {folder}: {error}"))?;
    let program = program(workspace)?;
    let mut names = names_in(&folder)?;
    let mut root = folder.clone();
    if names.is_empty()
        && let (Some(above), Some(name)) = (folder.parent(), folder.file_name())
    {
        names.push(name.to_string_lossy().into_owned());
        root = above.to_path_buf();
    }
    if names.iter().all(|name| number_of(name).is_none()) {
        return Err(format!("{} has no case: a folder with a name such as 01-name", folder.display()));
    }
    let mut sum = Tally::default();
    for name in names {
        let number = number_of(&name).unwrap_or_default();
        let wrong = match CASES.iter().find(|case| Some(case.number) == number_of(&name)) {
            Some(Case { play: Play::Later(why), .. }) => {
                println!("later  {name}: {why}");
                continue;
            }
            Some(case) => judge(case, &root.join(&name), &program)?,
            None => vec![format!("no check knows number {number}; add one to xtask/src/cases/expected.rs")],
        };
        println!("{}  {name}", if wrong.is_empty() { "holds" } else { "fails" });
        for line in &wrong {
            println!("         {line}");
        }
        sum += Tally::of(wrong.is_empty());
    }
    Ok(sum)
}

/// Returns what is not as it is expected, a line each.
fn judge(case: &Case, folder: &Path, program: &Path) -> Result<Vec<String>, String> {
    let scratch = Scratch::make(case.number)?;
    let seen = play(case, folder, program, &scratch)?;
    let mut wrong = (case.expect)(&seen);
    if seen.hung {
        wrong.insert(0, format!("it was ended after {LONGEST} seconds"));
    }
    if !wrong.is_empty() {
        // What was printed is what a person needs to see why.
        wrong.extend(seen.text.lines().take(40).map(|line| format!("| {line}")));
    }
    Ok(wrong)
}

fn play(case: &Case, folder: &Path, program: &Path, scratch: &Scratch) -> Result<Seen, String> {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", LONGEST, "sh"]);
    match case.play {
        Play::Script => command.arg(folder.join("run.sh")),
        Play::Lines(lines) => command.args(["-c", &format!("set +e\n{lines}")]),
        Play::Later(_) => return Ok(Seen::default()),
    };
    command.current_dir(&scratch.folder).env("CASE", folder).env(VARIABLE, program);
    // What a person has set up here must not decide how a case goes.
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env("TRUNKLINE_STORE", scratch.folder.join("s.db")).env("HOME", &scratch.folder);
    command.stdin(Stdio::null());
    let output = command.output().map_err(|error| cannot_start(&command, &error))?;
    let text = [output.stdout, output.stderr].concat();
    Ok(Seen {
        text: String::from_utf8_lossy(&text).into_owned(),
        folder: folder.to_path_buf(),
        hung: output.status.code().is_none_or(|code| code == 137),
    })
}

/// The command that is tried: what the variable names, else what is built from this checkout.
fn program(workspace: &Workspace) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return fs::canonicalize(&named)
            .map_err(|error| format!("{VARIABLE} names {}: {error}", named.display()));
    }
    let package = format!("{PREFIX}cli");
    if !passes(&mut cargo(workspace, ["build", "--quiet", "--package", &package]))? {
        return Err("the command does not compile".to_owned());
    }
    Ok(workspace.target.join("debug/trunkline"))
}

/// The folders with a number in front, in order.
fn names_in(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let names = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| number_of(name).is_some());
    names.sort();
    Ok(names)
}

/// Returns the number of `07-one-odd-character`.
fn number_of(name: &str) -> Option<u32> {
    name.split_once('-')?.0.parse().ok()
}

/// A folder that goes when the case is over.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn make(number: u32) -> Result<Scratch, String> {
        let folder = std::env::temp_dir().join(format!("trunkline-case-{number}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Scratch { folder })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_known_by_its_number() {
        assert_eq!(number_of("07-one-odd-character"), Some(7));
        assert_eq!(number_of("common.sh"), None);
    }

    #[test]
    fn no_number_has_two_checks() {
        for (at, case) in CASES.iter().enumerate() {
            assert!(CASES.iter().skip(at + 1).all(|other| other.number != case.number), "{}", case.number);
        }
    }

    #[test]
    fn nothing_printed_is_never_what_is_expected() {
        for case in CASES.iter().filter(|case| !matches!(case.play, Play::Later(_))) {
            assert!(!(case.expect)(&Seen::default()).is_empty(), "{}", case.number);
        }
    }
}
