//! Finds a Python and installs packages into environments of their own.
//!
//! An environment is good once everything is in it: a note beside its packages says what for, and without the right
//! note it is made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cannot_start, line_of};

/// The packages are built for these (their own pages, read 2026-11).
const OLDEST: (u32, u32) = (3, 10);
/// How many lines of a failed call are shown.
const LAST_LINES: usize = 12;

/// Returns a Python that is new enough: the one that `PYTHON` names, else `python3` or `python`.
pub(super) fn find() -> Result<PathBuf, String> {
    let named = std::env::var_os("PYTHON").filter(|name| !name.is_empty());
    let names = match named {
        Some(name) => vec![PathBuf::from(name)],
        None => vec![PathBuf::from("python3"), PathBuf::from("python")],
    };
    let mut seen = Vec::new();
    for name in names {
        match version(&name) {
            Some(version) if version >= OLDEST => return Ok(name),
            Some((major, minor)) => seen.push(format!("{} is {major}.{minor}", name.display())),
            None => seen.push(format!("{} does not run", name.display())),
        }
    }
    Err(format!(
        "Python {}.{} or newer is needed, and {}; install one (Debian: apt-get install python3 python3-venv) \
         or name it, as in `PYTHON=/usr/bin/python3.12 cargo xtask live`",
        OLDEST.0,
        OLDEST.1,
        seen.join(", ")
    ))
}

fn version(python: &Path) -> Option<(u32, u32)> {
    let mut command = Command::new(python);
    command.args(["-c", "import sys; print(*sys.version_info[:2])"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the Python of an environment with these packages, each with what `pip install` takes beside it; makes it if
/// it is not there.
pub(super) fn environment(
    python: &Path,
    folder: &Path,
    name: &str,
    packages: &[&[&str]],
) -> Result<PathBuf, String> {
    let environment = folder.join(name);
    let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let program = environment.join(program);
    let note = environment.join("packages.txt");
    let wanted = packages.iter().map(|call| call.join(" ") + "\n").collect::<String>();
    // The first word proves that the Python below it is still there.
    if fs::read_to_string(&note).is_ok_and(|found| found == wanted) && version(&program).is_some() {
        return Ok(program);
    }
    if environment.exists() {
        let problem = |error| format!("cannot remove the unfinished {}: {error}", environment.display());
        fs::remove_dir_all(&environment).map_err(problem)?;
    }
    println!("installing into {}: {}", environment.display(), wanted.trim_end().replace('\n', ", "));
    let mut make = Command::new(python);
    make.args(["-m", "venv"]).arg(&environment);
    call(&mut make, "is the venv module there? Debian: apt-get install python3-venv")?;
    for package in packages {
        let mut install = Command::new(&program);
        install.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
        // Nothing is compiled: what has no wheel for this machine is refused at once.
        install.args(["--only-binary", ":all:", "--retries", "2", "--timeout", "30"]).args(*package);
        call(
            &mut install,
            "is there a network? Packages come from pypi.org, or from where PIP_INDEX_URL says; if pip finds no \
             version, there is none for this system or this Python, and PYTHON names another",
        )?;
    }
    fs::write(&note, wanted).map_err(|error| format!("cannot write {}: {error}", note.display()))?;
    Ok(program)
}

/// Runs a call; a failure shows the last lines of what it said, and the advice.
fn call(command: &mut Command, advice: &str) -> Result<(), String> {
    println!("$ {}", line_of(command));
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(format!("`{}` ended with {}\n{}\n{advice}", line_of(command), output.status, last_lines(&said)))
}

/// Returns the end of a text.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_shown_without_blank_lines() {
        let text: String = (0..20).map(|line| format!("{line}\n\n")).collect();
        assert_eq!(last_lines(&text).lines().next(), Some("8"));
        assert_eq!(last_lines("one\n"), "one");
        assert_eq!(last_lines(""), "");
    }
}
