//! House rules that no compiler knows.
//!
//! Each rule is a plain function from text to complaints, and each complaint says what to do. Files come from git, so
//! what is ignored is not judged, and what is new already is.

mod crates;
mod sources;
mod texts;
mod unsafety;

pub(crate) use crates::LICENCES;
pub(crate) use sources::NAMES_THAT_REFUSE_NOTHING;

use crate::manifest::Manifest;
use crate::report::Tally;
use crate::workspace::Workspace;

/// Checks every rule on every file.
pub(crate) fn run(workspace: &Workspace) -> Result<Tally, String> {
    let files = workspace.files()?;
    let mut complaints = Vec::new();
    for path in &files {
        let Some(text) = workspace.text(path)? else { continue };
        complaints.extend(texts::check(path, &text));
        if path.ends_with(".rs") {
            complaints.extend(sources::check(path, &text));
            complaints.extend(unsafety::check(path, &text));
        }
    }
    for one in &workspace.crates {
        complaints.extend(crates::check(workspace, one, &files)?);
    }
    complaints.extend(crates::undeclared_tests(workspace, &files)?);
    let read = |path| Manifest::parse(&workspace.text_or_nothing(path));
    complaints.extend(unsafety::lints(&read("Cargo.toml"), &read(unsafety::MANIFEST)));
    Ok(Tally::of_complaints(&complaints))
}

/// The crate that a path from the root belongs to, and the rest of the path. A package in a folder of `tests/` counts.
fn place(path: &str) -> Option<(&str, &str)> {
    match path.strip_prefix("tests/disk/") {
        Some(inside) => Some(("disk", inside)),
        None => path.strip_prefix("crates/")?.split_once('/'),
    }
}
