//! Unified diffs of one file.

use std::borrow::Cow;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::{line_ends, shown};

/// The shortest diff of large unlike texts takes time that nobody has; after this a longer one will do.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is put behind a carriage return at the end of a text.
const SIGNS: [char; 2] = ['\0', '\u{1}'];

/// A diff and its size.
pub(crate) struct Diff {
    pub(crate) text: String,
    pub(crate) size: Size,
}

/// How many lines come and go.
#[derive(Copy, Clone, Default)]
pub(crate) struct Size {
    added: usize,
    deleted: usize,
}

/// Compares two texts of a file, one of `files`; `None` for a file that is not there.
pub(crate) fn diff(path: &str, old: Option<&str>, new: Option<&str>, files: usize) -> Diff {
    let mut comparison = TextDiff::configure();
    let share = u32::try_from(files.div_ceil(4).max(1)).unwrap_or(u32::MAX);
    comparison.timeout(PATIENCE / share).newline_terminated(true);
    // Split here, as git does it: `diff_lines` would also end lines at a lone carriage return.
    let (old_text, new_text) = (old.unwrap_or(""), new.unwrap_or(""));
    let (old_shown, new_shown) = (closed(old_text, new_text), closed(new_text, old_text));
    let (before, after) = (split(&old_shown), split(&new_shown));
    let lines = comparison.diff_slices(&before, &after);
    let count = |tag| lines.iter_all_changes().filter(|change| change.tag() == tag).count();
    // A name with line breaks must not be able to write lines of a diff.
    let path = shown::name(path);
    let header = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let text = lines.unified_diff().header(&header("a", old), &header("b", new)).to_string();
    let text = opened(text);
    Diff {
        // A line whose end alone is another would look the same on both sides.
        text: if line_ends::differ(old, new) { text.replace("\r\n", "\\r\n") } else { text },
        size: Size { added: count(ChangeTag::Insert), deleted: count(ChangeTag::Delete) },
    }
}

/// Puts a sign behind a carriage return that ends a text: it would be taken for the end of a line of the diff, and the next line
/// would stand in the same one. [`opened`] takes it out.
fn closed<'t>(text: &'t str, other: &str) -> Cow<'t, str> {
    match (text.ends_with('\r'), other.ends_with(SIGNS[0])) {
        (false, _) => Cow::Borrowed(text),
        // The other text must not come to be equal.
        (true, is_taken) => Cow::Owned(format!("{text}{}", SIGNS[usize::from(is_taken)])),
    }
}

/// Spells out the carriage returns that [`closed`] has put a sign behind. No line of a text begins with the backslash that
/// follows.
fn opened(diff: String) -> String {
    SIGNS.iter().fold(diff, |diff, sign| diff.replace(&format!("\r{sign}\n\\ No"), "\\u{d}\n\\ No"))
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

impl Size {
    pub(crate) fn and(self, other: Size) -> Self {
        Size { added: self.added + other.added, deleted: self.deleted + other.deleted }
    }
}

impl std::fmt::Display for Size {
    /// As `+2 −1`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.added, self.deleted) {
            (added, 0) => write!(f, "+{added}"),
            (0, deleted) => write!(f, "−{deleted}"),
            (added, deleted) => write!(f, "+{added} −{deleted}"),
        }
    }
}
