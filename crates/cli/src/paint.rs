//! Colours, and the two ways out: data to stdout, everything else to stderr.
//!
//! Colours are always written and taken out again where nobody wants them (`NO_COLOR`, `--color`, a pipe). A reader that
//! goes away, as `head` does, ends the program without a complaint.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};

use crate::fault::Fault;
use crate::{fit, text};

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

/// Writes data to stdout.
pub(crate) fn print(text: &str) -> Result<(), Fault> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Fault::stdout)
}

/// Returns whole lines, broken where the screen is narrower and its width is known.
pub(crate) fn page(text: &str) -> Cow<'_, str> {
    match columns() {
        Some(width) => fit::fitted(text, width),
        None => Cow::Borrowed(text),
    }
}

/// Writes a page to stdout.
pub(crate) fn print_page(text: &str) -> Result<(), Fault> {
    print(&page(text))
}

/// Writes bytes to stdout exactly as they are.
pub(crate) fn print_raw(bytes: &[u8]) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Fault::stdout)
}

/// Writes a JSON value to stdout, for people to read and programs to parse.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Fault> {
    print_foreign(format!("{value:#}\n").as_bytes())
}

/// Writes what others wrote to stdout: to a terminal made safe, else exactly as it is.
pub(crate) fn print_foreign(bytes: &[u8]) -> Result<(), Fault> {
    match std::io::stdout().is_terminal() {
        true => print_raw(text::safe(&String::from_utf8_lossy(bytes)).as_bytes()),
        false => print_raw(bytes),
    }
}

/// Writes lines of JSON to stdout: to a terminal with escapes for what could move its cursor, else exactly as they are.
pub(crate) fn print_lines(json: &[u8]) -> Result<(), Fault> {
    match std::io::stdout().is_terminal() {
        true => print_raw(text::escaped(&String::from_utf8_lossy(json)).as_bytes()),
        false => print_raw(json),
    }
}

/// Prints what was done while more is done. A print that fails stops none of it: it is said at the end.
#[derive(Debug, Default)]
pub(crate) struct Acts {
    fault: Option<Fault>,
}

impl Acts {
    pub(crate) fn print(&mut self, text: &str) {
        if self.fault.is_none() {
            self.fault = print_page(text).err();
        }
    }

    /// Returns the first print that failed.
    pub(crate) fn end(self) -> Result<(), Fault> {
        self.fault.map_or(Ok(()), |fault| Err(fault.after_acts()))
    }
}

/// Tells something on stderr. Nobody to tell it to is no reason to stop.
pub(crate) fn tell(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Tells a page on stderr.
pub(crate) fn tell_page(text: &str) {
    tell(&page(text));
}

/// Tells what can be typed next, after what it is for.
pub(crate) fn tell_command(what: &str, command: &str) {
    tell(&command_line(DIM, what, command));
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
