//! Files that are not the run's, or not as it left them.

use crate::term::style::{YELLOW, paint};
use crate::term::text::one_line;

/// Warns that something else is staged of files that were just committed, and says what to do.
pub(crate) fn still_staged(files: &[String]) -> String {
    let told = named_files("something else is still staged of what was committed", files);
    format!(
        "{}\n  a plain `git commit` takes back there what the run has done: `git add FILE` takes the file as it is now, \
         `git restore --staged FILE` drops what was staged\n",
        paint(YELLOW, &told)
    )
}

/// Names some of the files that are not the run's, or not as it left them.
pub(crate) fn named_files(told: &str, files: &[String]) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> = files.iter().take(NAMED).map(|file| one_line(file, 60)).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("· {told}: {}{more}", named.join(", "))
}
