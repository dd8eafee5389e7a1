//! Data, written to stdout.
//!
//! A reader that goes away, as `head` does, ends the program without a complaint.

use std::io::{IsTerminal, Write};

use crate::term::fault::Fault;
use crate::term::screen::page;
use crate::term::text;

/// Writes data to stdout.
pub(crate) fn print(text: &str) -> Result<(), Fault> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Fault::stdout)
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
