//! Cuts the power under SQLite and under the store, for as long as one likes.
//!
//! The work is done by the package `tests/disk`, in release: a state is rebuilt, opened and read in a millisecond or two.

use crate::cargo::{cargo, passes};
use crate::report::Tally;
use crate::workspace::{PREFIX, Workspace};

/// Runs the program; `rest` goes to it.
pub(crate) fn run(workspace: &Workspace, rest: &[&str]) -> Result<Tally, String> {
    let mut command = cargo(workspace, ["run", "--quiet", "--release", "--package"]);
    command.arg(format!("{PREFIX}disk")).args(["--bin", "power-loss", "--"]).args(rest);
    passes(&mut command).map(Tally::of)
}
