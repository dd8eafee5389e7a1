//! Asks somebody whether what was shown shall be done.

use std::io::{BufRead, IsTerminal};

use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;

/// Whether somebody has agreed.
pub(crate) enum Answer {
    Yes,
    No,
    /// There is nobody to ask.
    Nobody,
}

/// Asks once, unless that was answered on the command line.
pub(crate) fn agreed(yes: bool, question: &str) -> Answer {
    if yes {
        return Answer::Yes;
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Answer::Nobody;
    }
    tell(&format!("{} [y/N] ", paint(YELLOW, question)));
    let mut line = String::new();
    // Nothing typed, or a terminal that went away, is no consent.
    let _ = std::io::stdin().lock().read_line(&mut line);
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}
