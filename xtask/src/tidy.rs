//! House rules that no compiler knows.
//!
//! Each rule is a plain function from text to complaints, and each complaint says what to do. Files come from git, so
//! what is ignored is not judged, and what is new already is.

mod crates;
mod sources;
mod texts;

pub(crate) use sources::NAMES_THAT_REFUSE_NOTHING;

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
        }
    }
    for one in &workspace.crates {
        complaints.extend(crates::check(workspace, one, &files)?);
    }
    complaints.extend(crates::undeclared_tests(workspace, &files)?);
    Ok(Tally::of_complaints(&complaints))
}

/// The crate that a path from the root belongs to, and the rest of the path.
fn place(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("crates/")?.split_once('/')
}
