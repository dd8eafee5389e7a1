//! How wide the screen is, and pages that fit it.

use std::borrow::Cow;
use std::io::IsTerminal;

use anstyle::Style;

use crate::term::fit;
use crate::term::style::{DIM, paint};

/// Returns whole lines, broken where the screen is narrower and its width is known.
pub(crate) fn page(text: &str) -> Cow<'_, str> {
    match columns() {
        Some(width) => fit::fitted(text, width),
        None => Cow::Borrowed(text),
    }
}

/// Returns the lines of a command, after what it is for. They fit the screen and are no part of a page, which would break
/// them once more and leave a shell two commands.
pub(crate) fn command_line(style: Style, what: &str, command: &str) -> String {
    let words = what.trim_end();
    let (what, gap) = (paint(style, words), &what[words.len()..]);
    match columns() {
        Some(width) if fit::columns(&format!("  {what}{gap}{command}")) > width => {
            let what = format!("  {what}\n");
            let what = if words.is_empty() { Cow::Borrowed("") } else { fit::fitted(&what, width) };
            let command = fit::fitted_command(&format!("    {command}"), width);
            format!("{what}{}\n", paint(DIM, &command))
        }
        _ => format!("  {what}{gap}{}\n", paint(DIM, command)),
    }
}

/// Returns how wide the screen is, where `COLUMNS` says so. On less than 20 columns nothing can be told.
pub(crate) fn columns() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.parse().ok();
    columns.filter(|columns| *columns > 0).map(|columns: usize| columns.max(20))
}

/// Returns how wide a picture may be: `COLUMNS`, or 100.
pub(crate) fn width() -> usize {
    columns().filter(|columns| *columns >= 40).unwrap_or(100)
}

/// Returns whether one person sees both stdout and stderr, so that nothing needs to be said twice.
pub(crate) fn one_screen() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}
