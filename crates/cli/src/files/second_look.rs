//! What was just written, read again and judged.
//!
//! A mistake in a writer is found here and not by the provider, when the given file is perhaps no longer there.

use trunkline_sanitize::{RequestFacts, WireRules};
use trunkline_transcripts::{Fault as Flaw, Format, ReadError, read_as};

use crate::args::foreign::End;
use crate::files::beside;
use crate::files::findings::{damaged, fault_note, halves};
use crate::files::history::{History, is_own, own_wire};
use crate::term::fault::Fault;
use crate::term::text::{count, one_line};

/// How many problems are named where none should be.
const SHOWN: usize = 10;

/// Reads bytes and returns what is still wrong with them, a line each; nothing if they are good.
///
/// `before` is what was wrong with the lines of the given file: those may have been carried over.
pub(crate) fn problems_left(
    bytes: &[u8],
    format: Format,
    before: &[Flaw],
    rules: &WireRules,
    facts: &RequestFacts,
    end: End,
) -> Result<Vec<String>, ReadError> {
    let again = read_as(bytes, format)?;
    let mut facts = facts.clone();
    // A new session holds the repaired conversation as its main one; a list has no other.
    let messages = again.conversation(0).map(|conversation| conversation.messages).unwrap_or_default();
    let is_own = is_own(own_wire(format, &messages), rules);
    facts.fields = if is_own { beside::fields(&again) } else { Vec::new() };
    let mut violations = History::new(&messages, format, rules, &facts, end).violations();
    if format.is_session() {
        // What an agent keeps beside an answer, such as a summary of its reasoning, is not sent: it stays with its record.
        violations.retain(|violation| !violation.is_conversion());
    }
    let mut left: Vec<String> =
        violations.iter().map(|violation| one_line(&violation.to_string(), 300)).collect();
    if damaged(&again.faults) > damaged(before) || !halves(&again.faults).is_empty() {
        left.extend(again.faults.iter().filter(|fault| fault.kind.is_damage()).map(fault_note));
    }
    Ok(left)
}

/// Returns the fault of a writer that left problems.
pub(crate) fn fault(what: &str, left: &[String]) -> Fault {
    let fault = Fault::new(format!("{what} still has {}", count(left.len(), "problem")));
    let fault = left.iter().take(SHOWN).fold(fault, |fault, line| fault.line(line));
    fault.hint("what you gave is as it was; please report this")
}
