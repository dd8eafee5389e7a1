//! The package that holds our decision objects beside the real git-internal.
//!
//! A workspace of its own, because git-internal brings a hundred crates: its lockfile is its own, and so is its folder of
//! builds, in which nothing of ours is built twice but the one crate that it is about.

use std::process::Command;

use crate::workspace::Workspace;

/// Where it stands.
pub(crate) const FOLDER: &str = "tests/git-internal";

/// A cargo call there.
pub(crate) fn cargo(workspace: &Workspace, what: &str, flags: &[&str]) -> Command {
    let manifest = format!("{FOLDER}/Cargo.toml");
    let target = workspace.target.join("git-internal").display().to_string();
    let call = [what, "--quiet", "--locked", "--manifest-path", &manifest, "--target-dir", &target];
    crate::cargo::cargo(workspace, call.iter().chain(flags))
}
