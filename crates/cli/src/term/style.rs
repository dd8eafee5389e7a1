//! Colours.
//!
//! They are always written, and taken out again where they are not wanted (`NO_COLOR`, `--color`, a pipe).

use anstyle::{AnsiColor, Style};

use crate::term::text;

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const MAGENTA: Style = AnsiColor::Magenta.on_default();

/// Paints a text that is safe already.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Paints a unified diff, `limit` lines of it, each after `indent`. Tells how many lines are missing.
pub(crate) fn diff(text: &str, indent: &str, limit: usize) -> (String, usize) {
    let (lines, more) = text::first_lines(text, limit);
    let mut painted = String::new();
    for line in lines {
        let style = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => BOLD,
            [b'+', ..] => GREEN,
            [b'-', ..] => RED,
            [b'@', ..] => CYAN,
            _ => PLAIN,
        };
        painted.push_str(&format!("{indent}{}\n", paint(style, &text::safe(line))));
    }
    (painted, more)
}
