//! Compares each crate's public API with the text under `docs/api/`, so that every addition is a reviewed line.
//!
//! Rustdoc's JSON needs an unstable flag. Only rustdoc gets it: this program stands in for it and calls it with
//! `RUSTC_BOOTSTRAP` set. If cargo itself had the variable, build scripts that probe for a nightly compiler would
//! run again, and half of the dependencies be built twice.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo::{cargo, passes, text_of};
use crate::report::Tally;
use crate::workspace::{Crate, Workspace};

/// Where the texts stand.
const FOLDER: &str = "docs/api";

/// Says that this process stands in for rustdoc; set only by [`run`] for the cargo that it starts.
const STAND_IN: &str = "XTASK_STANDS_IN_FOR_RUSTDOC";

/// What to do with a difference.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// Show it and fail.
    Compare,
    /// Write it down.
    Bless,
}

/// Compares or writes the API of each library among the crates.
pub(crate) fn run(workspace: &Workspace, crates: &[Crate], mode: Mode) -> Result<Tally, String> {
    let printer = build_printer(workspace)?;
    let mut sum = Tally::default();
    for one in crates.iter().filter(|one| one.is_library()) {
        sum += Tally::of(settle(workspace, one, &printer, mode).unwrap_or_else(|problem| {
            println!("{}: {problem}", one.name);
            false
        }));
    }
    sum += Tally::of(nothing_left_over(workspace, mode)?);
    Ok(sum)
}

/// Takes rustdoc's place if that is what this process was started for.
pub(crate) fn stand_in() -> Option<ExitCode> {
    let rustdoc = std::env::var_os(STAND_IN)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let status = Command::new(rustdoc).args(arguments).env("RUSTC_BOOTSTRAP", "1").status();
    Some(match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn settle(workspace: &Workspace, one: &Crate, printer: &Path, mode: Mode) -> Result<bool, String> {
    let now = text_of(Command::new(printer).arg(json_of(workspace, one)?))?;
    let path = format!("{FOLDER}/{}.txt", one.name);
    let written = workspace.text_or_nothing(&path);
    if now == written {
        println!("{}: ok, {} lines", one.name, now.lines().count());
        return Ok(true);
    }
    if !written.is_empty() {
        show_difference(&written, &now);
    }
    if mode == Mode::Bless {
        let folder = workspace.root.join(FOLDER);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(workspace.root.join(&path), &now))
            .map_err(|error| format!("cannot write {path}: {error}"))?;
        println!("{}: written to {path}", one.name);
        return Ok(true);
    }
    let problem = if written.is_empty() { "is not there" } else { "says otherwise" };
    println!("{}: {path} {problem}; if it is meant so, `cargo xtask api --bless {}`", one.name, one.name);
    Ok(false)
}

/// Lets rustdoc describe the crate with all features, and returns the file.
fn json_of(workspace: &Workspace, one: &Crate) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let call = ["rustdoc", "--quiet", "--lib", "--all-features", "--package", &one.package];
    let flags = ["--", "-Z", "unstable-options", "--output-format", "json"];
    let mut command = cargo(workspace, call.iter().chain(&flags));
    if !passes(command.env("RUSTDOC", own).env(STAND_IN, rustdoc))? {
        return Err("rustdoc could not describe it".to_owned());
    }
    Ok(workspace.target.join("doc").join(format!("{}.json", one.package.replace('-', "_"))))
}

/// Builds the helper that reads rustdoc's JSON; it has a workspace and a lockfile of its own.
fn build_printer(workspace: &Workspace) -> Result<PathBuf, String> {
    let target = workspace.target.join("xtask-api");
    let folder = target.display().to_string();
    let call =
        ["build", "--quiet", "--locked", "--manifest-path", "xtask/api/Cargo.toml", "--target-dir", &folder];
    if !passes(&mut cargo(workspace, call))? {
        return Err("the helper in xtask/api does not build".to_owned());
    }
    Ok(target.join("debug/xtask-api"))
}

/// A text whose crate is gone must go too.
fn nothing_left_over(workspace: &Workspace, mode: Mode) -> Result<bool, String> {
    let mut clean = true;
    for entry in fs::read_dir(workspace.root.join(FOLDER)).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let is_text = path.extension().is_some_and(|end| end == "txt");
        let is_ours = workspace.crates.iter().any(|one| one.name == name && one.is_library());
        if is_text && !is_ours {
            if mode == Mode::Bless {
                fs::remove_file(&path)
                    .map_err(|error| format!("cannot delete {FOLDER}/{name}.txt: {error}"))?;
                println!("{FOLDER}/{name}.txt: deleted, its crate is gone");
            } else {
                println!(
                    "{FOLDER}/{name}.txt: no library of that name; `cargo xtask api --bless` deletes it"
                );
                clean = false;
            }
        }
    }
    Ok(clean)
}

/// Prints lines that went and lines that came. No text has a line twice, so sets will do.
fn show_difference(before: &str, after: &str) {
    let old: BTreeSet<&str> = before.lines().collect();
    let new: BTreeSet<&str> = after.lines().collect();
    for line in before.lines().filter(|line| !new.contains(line)) {
        println!("- {line}");
    }
    for line in after.lines().filter(|line| !old.contains(line)) {
        println!("+ {line}");
    }
}
