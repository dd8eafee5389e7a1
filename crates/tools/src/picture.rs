//! What people and models see of a change to one file or several: a label, a list and one diff.

use trunkline_agent_traits::resolve_queue::Preview;

use crate::diff::{Diff, Size, diff};
use crate::{line_ends, shown};

/// A person must be able to see all of it; above this nobody reads it line by line.
const PREVIEW_DIFF_BYTES: usize = 200_000;
/// A label is one line in a list.
const LABEL_NAMES: usize = 60;
const NAME_CHARACTERS: usize = 200;

/// One file before and after; `None` for a file that is not there.
pub(crate) struct Pictured<'t> {
    pub(crate) path: &'t str,
    pub(crate) old: Option<&'t str>,
    pub(crate) new: Option<&'t str>,
    /// What is done to it, in one word.
    pub(crate) verb: &'t str,
}

/// A change as it is shown.
pub(crate) struct Picture {
    /// One line.
    pub(crate) label: String,
    /// Of all files, one after another; not yet safe for a terminal, and not cut.
    pub(crate) diff: String,
    /// The label, and below it every file if there are several.
    text: String,
}

/// Draws it; `verb` stands for all files, if there are several.
pub(crate) fn picture(verb: &str, files: &[Pictured<'_>]) -> Picture {
    let drawn: Vec<(&Pictured<'_>, Diff)> =
        files.iter().map(|file| (file, diff(file.path, file.old, file.new, files.len()))).collect();
    let line = |file: &Pictured<'_>, size: Size| {
        let ends =
            line_ends::difference(file.old, file.new).map(|told| format!(", {told}")).unwrap_or_default();
        format!("{} {} ({size}){ends}", file.verb, shown::cut(&shown::name(file.path), NAME_CHARACTERS))
    };
    let lines: Vec<String> = drawn.iter().map(|(file, diff)| line(file, diff.size)).collect();
    let label = match lines.as_slice() {
        [only] => only.clone(),
        _ => {
            let size = drawn.iter().fold(Size::default(), |size, (_, diff)| size.and(diff.size));
            format!("{verb} {} files ({size}): {}", files.len(), names(files))
        }
    };
    let text = match lines.as_slice() {
        [_] => label.clone(),
        _ => format!("{label}\n{}", lines.join("\n")),
    };
    let diff = drawn.into_iter().map(|(_, diff)| diff.text).collect();
    Picture { label, diff, text }
}

/// Draws the move of a file, in the words of git's diffs.
pub(crate) fn moved(from: &str, to: &str) -> Picture {
    let named = |path| shown::cut(&shown::name(path), NAME_CHARACTERS);
    let label = format!("move {} to {}", named(from), named(to));
    let (from, to) = (shown::name(from), shown::name(to));
    let diff = format!("rename from {from}\nrename to {to}\n");
    Picture { text: label.clone(), diff, label }
}

/// Draws a file that comes or goes and is no text.
pub(crate) fn not_text(path: &str, verb: &str, bytes: usize, comes: bool) -> Picture {
    let path = shown::name(path);
    let size = shown::count(bytes, "byte");
    let label = format!("{verb} {} (not text, {size})", shown::cut(&path, NAME_CHARACTERS));
    let diff = match comes {
        true => format!("Binary files /dev/null and b/{path} differ\n"),
        false => format!("Binary files a/{path} and /dev/null differ\n"),
    };
    Picture { text: label.clone(), diff, label }
}

/// As many names as one line takes, at least one.
fn names(files: &[Pictured<'_>]) -> String {
    let mut named = String::new();
    for (index, file) in files.iter().enumerate() {
        let name = shown::cut(&shown::name(file.path), LABEL_NAMES);
        if index > 0 {
            if named.chars().count() + name.chars().count() > LABEL_NAMES {
                named.push_str(", …");
                break;
            }
            named.push_str(", ");
        }
        named.push_str(&name);
    }
    named
}

impl Picture {
    /// Returns what a decider is shown.
    pub(crate) fn preview(&self) -> Preview {
        Preview {
            text: self.text.clone(),
            diff: Some(shown::cut_lines(&shown::safe(&self.diff), PREVIEW_DIFF_BYTES)),
        }
    }
}
