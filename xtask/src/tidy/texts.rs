//! Rules for every text file.

use crate::report::Complaint;

/// Top folders of somebody's machine. Words only, so that this file does not break its own rule.
const FOLDERS_OF_A_MACHINE: &[&str] = &["work", "home", "root", "Users"];

/// Complains about paths that exist on one machine only.
pub(super) fn check(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in FOLDERS_OF_A_MACHINE {
            let folder = format!("/{folder}/");
            if line.match_indices(&folder).any(|(at, _)| begins_a_path(&line[..at])) {
                complaints.push(Complaint::line(
                    path,
                    index,
                    format!("`{folder}` exists on one machine only: write a relative path, or `/project/` in a test"),
                ));
            }
        }
    }
    complaints
}

/// Whether an absolute path may begin after this text; `a/b`, `~/b`, `../b` and `$X/b` go on instead.
fn begins_a_path(before: &str) -> bool {
    !before.ends_with(|sign: char| sign.is_alphanumeric() || "._-~})>*".contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(line: &str) -> usize {
        check("a.md", line).len()
    }

    #[test]
    fn machine_paths_are_found() {
        assert_eq!(complaints(&format!("see /{}/main", "work")), 1);
        assert_eq!(complaints(&format!("\"/{}/somebody/x\"", "home")), 1);
    }

    #[test]
    fn relative_paths_are_fine() {
        assert_eq!(complaints("see docs/work/x, ~/home/x, $HOME/x and https://example.com/home/x"), 0);
    }
}
