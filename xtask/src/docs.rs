//! Keeps what is written true: rustdoc without warnings, doctests that pass, links that lead somewhere.

use std::collections::BTreeMap;

use crate::cargo::{cargo, passes};
use crate::links;
use crate::report::{Complaint, Tally};
use crate::test::cargo_test;
use crate::workspace::Workspace;

/// Builds the pages of all packages; any warning fails.
pub(crate) fn rustdoc(workspace: &Workspace) -> Result<Tally, String> {
    let call = ["doc", "--quiet", "--workspace", "--no-deps", "--all-features"];
    passes(cargo(workspace, call).env("RUSTDOCFLAGS", "-D warnings")).map(Tally::of)
}

/// Runs the examples in the documentation, the READMEs included.
pub(crate) fn doctests(workspace: &Workspace) -> Result<Tally, String> {
    let call = ["test", "--quiet", "--doc", "--workspace", "--all-features", "--no-fail-fast"];
    cargo_test(&mut cargo(workspace, call))
}

/// Follows every relative link of every Markdown file.
pub(crate) fn links(workspace: &Workspace) -> Result<Tally, String> {
    let files = workspace.files()?;
    let mut pages = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".md")) {
        pages.insert(path.as_str(), workspace.text(path)?.unwrap_or_default());
    }
    let mut complaints: Vec<Complaint> = Vec::new();
    for (path, text) in &pages {
        for link in links::of(text) {
            if let Err(problem) = links::follow(path, &link.target, &files, &pages) {
                complaints.push(Complaint::line(path, link.line, problem));
            }
        }
    }
    Ok(Tally::of_complaints(&complaints))
}
