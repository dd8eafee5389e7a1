//! Holds every wire against a folder of recorded exchanges.
//!
//! This program knows none of our crates, so the work is done by one of the package `tests`, which takes a few seconds
//! for several hundred exchanges.

use std::path::Path;

use crate::cargo::{cargo, passes};
use crate::report::Tally;
use crate::workspace::{PREFIX, Workspace};

/// The variable that names the folder if no argument does.
pub(crate) const VARIABLE: &str = "TRUNKLINE_CORPORA";

/// Runs the wires over a folder; `rest` goes to the program.
pub(crate) fn run(workspace: &Workspace, folder: Option<&str>, rest: &[&str]) -> Result<Tally, String> {
    let folder = match (folder, std::env::var(VARIABLE)) {
        (Some(folder), _) => folder.to_owned(),
        (None, Ok(folder)) => folder,
        (None, Err(_)) => return Err(format!("name a folder of recorded exchanges, or set {VARIABLE}")),
    };
    // Cargo runs at the root; the folder is meant from where the person stands.
    let folder =
        Path::new(&folder).canonicalize().map_err(|error| format!("cannot read {folder}: {error}"))?;
    let mut command = cargo(workspace, ["run", "--quiet", "--package"]);
    command.arg(format!("{PREFIX}tests")).args(["--bin", "corpora", "--"]).arg(&folder).args(rest);
    passes(&mut command).map(Tally::of)
}
