//! Everything that is not data, told on stderr.

use std::io::Write;

use crate::term::screen::{command_line, page};
use crate::term::style::DIM;

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
