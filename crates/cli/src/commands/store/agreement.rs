//! Asking before something is done to a store.

use crate::desk::place::Place;
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::Fault;
use crate::term::tell::tell;

/// Asks whether what was shown is to be done; `unasked` says what is not done where there is no terminal to ask at, and `command`
/// agrees to it beforehand.
pub(super) fn is_agreed(
    yes: bool,
    question: &str,
    unasked: &str,
    command: &str,
    place: &Place,
) -> Result<bool, Fault> {
    match agreed(yes, question) {
        Answer::Yes => Ok(true),
        Answer::No => {
            tell("nothing was changed\n");
            Ok(false)
        }
        Answer::Nobody => Err(Fault::usage(format!("no terminal to ask at, and {unasked} unasked"))
            .hint(format!("agree to it beforehand: {}", place.command(command)))),
    }
}
