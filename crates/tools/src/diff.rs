//! Unified diffs of one file.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::shown;

/// A diff and its size.
pub(crate) struct Diff {
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) deleted: usize,
}

/// Compares two texts of a file; `None` for a file that is not there.
pub(crate) fn diff(path: &str, old: Option<&str>, new: &str) -> Diff {
    // The shortest diff of two large unlike texts takes time that nobody has; after this a longer one will do.
    let mut comparison = TextDiff::configure();
    comparison.timeout(Duration::from_millis(500)).newline_terminated(true);
    // Split here, as git does it: `diff_lines` would also end lines at a lone carriage return.
    let (before, after) = (split(old.unwrap_or("")), split(new));
    let lines = comparison.diff_slices(&before, &after);
    let count = |tag| lines.iter_all_changes().filter(|change| change.tag() == tag).count();
    // A name with line breaks must not be able to write lines of a diff.
    let path = shown::name(path);
    let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    Diff {
        text: lines.unified_diff().header(&from, &format!("b/{path}")).to_string(),
        added: count(ChangeTag::Insert),
        deleted: count(ChangeTag::Delete),
    }
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

impl Diff {
    /// Returns the size as `+2 −1`.
    pub(crate) fn size(&self) -> String {
        match (self.added, self.deleted) {
            (added, 0) => format!("+{added}"),
            (0, deleted) => format!("−{deleted}"),
            (added, deleted) => format!("+{added} −{deleted}"),
        }
    }
}
