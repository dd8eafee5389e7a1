//! The replacement of an exact text.

use std::borrow::Cow;

use crate::line_ends::{self, Ends};
use crate::shown;
use crate::stage::admit_size;

/// What is to be replaced by what.
pub(crate) struct Replacement<'t> {
    pub(crate) old_text: &'t str,
    pub(crate) new_text: &'t str,
    pub(crate) replace_all: bool,
}

impl Replacement<'_> {
    /// Returns the new text of a file; `path` is for saying why not.
    ///
    /// In a file with one kind of line ends both texts are taken for having them, and its mark stays in front.
    pub(crate) fn apply(&self, file: &str, path: &str) -> Result<String, String> {
        let ends = Ends::of(file);
        let new_text = ends.given_to(self.new_text);
        let mut old_text = Cow::Borrowed(self.old_text);
        let mut found = file.matches(self.old_text).count();
        if found == 0 {
            old_text = ends.given_to(self.old_text);
            found = file.matches(&*old_text).count();
        }
        match found {
            0 => return Err(format!("old_text is not in {path}; {}", hint(file, self.old_text))),
            1 => {}
            _ if self.replace_all => {}
            _ => {
                return Err(format!(
                    "old_text occurs {found} times in {path}; add lines around it until it is there once, or set replace_all"
                ));
            }
        }
        // Reckoned before it is done: a short text in a large file may stand for a very large one.
        let grown = new_text.len().saturating_sub(old_text.len()).saturating_mul(found);
        admit_size(file.len().saturating_add(grown))?;
        Ok(line_ends::marked_as(file, file.replace(&*old_text, &new_text)))
    }
}

/// Says why a text may not have been found.
fn hint(file: &str, wanted: &str) -> String {
    if file.contains("\r\n") && file.replace("\r\n", "\n").contains(&wanted.replace("\r\n", "\n")) {
        return "some of its lines end with \\r\\n and some with \\n; write each as it is in old_text"
            .to_owned();
    }
    let first = wanted.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match (1_u64..).zip(file.lines()).find(|(_, line)| !first.is_empty() && line.trim() == first) {
        Some((number, line)) => {
            format!(
                "its first line is like line {number}, compare white space and what follows: {}",
                shown::cut(line, 200)
            )
        }
        None => "read the file again and copy the text exactly, without line numbers".to_owned(),
    }
}
