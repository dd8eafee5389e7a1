//! The replacement of an exact text.

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
    pub(crate) fn apply(&self, file: &str, path: &str) -> Result<String, String> {
        let found = file.matches(self.old_text).count();
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
        let grown = self.new_text.len().saturating_sub(self.old_text.len()).saturating_mul(found);
        admit_size(file.len().saturating_add(grown))?;
        Ok(file.replace(self.old_text, self.new_text))
    }
}

/// Says why a text may not have been found.
fn hint(file: &str, wanted: &str) -> String {
    if file.contains("\r\n") && file.replace("\r\n", "\n").contains(wanted) {
        return "its lines end with \\r\\n; write them so in old_text and new_text".to_owned();
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
