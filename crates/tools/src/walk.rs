//! Finds files the way git sees them.
//!
//! What `.gitignore` and `.ignore` files name is left out, in folders without git too; `.git` always is. Links are
//! not followed. Hidden files are shown: an agent that cannot see `.github` cannot mend it.

use std::path::Path;

use ignore::WalkBuilder;
use ignore::overrides::{Override, OverrideBuilder};
use trunkline_agent_traits::Cancel;

use crate::root::{Inside, Root};

/// More files than this are not looked at; a home folder is not a workspace.
pub(crate) const MAX_FILES: usize = 100_000;

/// What a walk found.
pub(crate) struct Found {
    /// Sorted by path, folder by folder.
    pub(crate) files: Vec<Inside>,
    /// Places that could not be read, or whose names are not text.
    pub(crate) unreadable: usize,
    /// Whether the walk stopped at the limit.
    pub(crate) stopped: bool,
}

/// Finds the files below `start` whose paths match `glob`; `start` may be a file.
pub(crate) fn files(
    root: &Root,
    start: &Inside,
    glob: Option<&str>,
    cancel: &Cancel,
) -> Result<Found, String> {
    let glob = glob.map(|glob| matcher(root.path(), glob)).transpose()?;
    let mut found = Found { files: Vec::new(), unreadable: 0, stopped: false };
    let walk = WalkBuilder::new(root.full(start))
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walk {
        if cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let Ok(entry) = entry else {
            found.unreadable += 1;
            continue;
        };
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        let Some(inside) = entry.path().strip_prefix(root.path()).ok().and_then(Inside::found) else {
            found.unreadable += 1;
            continue;
        };
        if glob.as_ref().is_some_and(|glob| glob.matched(inside.as_str(), false).is_ignore()) {
            continue;
        }
        if found.files.len() == MAX_FILES {
            found.stopped = true;
            break;
        }
        found.files.push(inside);
    }
    Ok(found)
}

impl Found {
    /// Returns what was left out, as lines in brackets.
    pub(crate) fn remarks(&self) -> String {
        let mut remarks = String::new();
        if self.unreadable > 0 {
            remarks.push_str(&format!("[{} places could not be read]\n", self.unreadable));
        }
        if self.stopped {
            remarks.push_str(&format!("[stopped after {MAX_FILES} files; name a folder with `path`]\n"));
        }
        remarks
    }
}

/// Reads a glob as a line of `.gitignore` is read: without a slash it matches names in every folder.
fn matcher(root: &Path, glob: &str) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(root);
    builder.add(glob).and_then(|builder| builder.build()).map_err(|error| format!("bad glob: {error}"))
}
