//! The package that runs sessions under DBOS, an engine for durable execution.
//!
//! A workspace of its own, because DBOS brings a second driver for PostgreSQL. It is not part of all tests: built from nothing it
//! takes a minute, and its test waits two more for leases to end.

use std::process::Command;

use crate::workspace::Workspace;

/// Where it stands.
pub(crate) const FOLDER: &str = "tests/dbos";

/// Its tests.
pub(crate) fn test(workspace: &Workspace) -> Command {
    let manifest = format!("{FOLDER}/Cargo.toml");
    let target = workspace.target.join("dbos").display().to_string();
    let call = ["test", "--quiet", "--locked", "--manifest-path", &manifest, "--target-dir", &target];
    crate::cargo::cargo(workspace, call)
}
