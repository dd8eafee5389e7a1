//! What can still be read of a line that is not JSON.
//!
//! A writer that died in the middle of a line leaves half a record, and the next one appends to it; one that lost its
//! line end leaves two records on one line. What is whole is read, wherever on the line it begins.

use serde_json::Deserializer;

use crate::fault::FaultKind;
use crate::json::{self, Fields};

/// What could be read of a line.
#[derive(Debug)]
pub(crate) struct Salvaged<'a> {
    /// The records that are whole, in order, with their bytes.
    pub(crate) records: Vec<(&'a str, Fields<'a>)>,
    /// What is to be said of the line.
    pub(crate) fault: FaultKind,
}

/// Which records are looked for.
#[derive(Copy, Clone, PartialEq)]
pub(crate) enum Records {
    /// Those of a session, each with an id.
    WithId,
    /// Messages of a list.
    WithoutId,
}

/// What may stand around a record.
pub(crate) const BLANK: [char; 4] = ['\r', ' ', '\t', '\u{feff}'];

/// Finds the records on a line that is not JSON, for the `reason` that its parser gave.
///
/// `is_record` tells a record from a part of one: the pieces of a torn record are objects too, and some hold a record of
/// somebody else, as the progress of a sub-agent or the arguments of a call. Such a piece goes on in the record around it;
/// what a later writer has put there is the last thing on the line, or the next one begins behind it.
pub(crate) fn salvage<'a>(
    line: &'a str,
    reason: &serde_json::Error,
    kind: Records,
    is_record: impl Fn(&Fields<'a>) -> bool,
) -> Salvaged<'a> {
    // Each object that is left open is read from each of its openings. So many times may the line be read in all: far
    // more than a torn record needs, and little enough for one that was made to be slow.
    const READINGS: usize = 16;
    let mut left = line.len().saturating_mul(READINGS);
    let mut records = Vec::new();
    let mut is_whole = true;
    // Where the object begins that is torn, while it may still go on.
    let mut torn = None;
    let mut at = 0;
    while let Some(rest) = line.get(at..) {
        let Some(start) = opening(rest) else {
            is_whole &= is_blank(rest);
            break;
        };
        is_whole &= rest.get(..start).is_some_and(is_blank);
        let Some(object) = rest.get(start..).filter(|_| left > 0) else {
            is_whole = false;
            break;
        };
        let mut values = Deserializer::from_str(object).into_iter::<Fields<'a>>();
        at += start;
        match values.next() {
            Some(Ok(fields)) => {
                let length = values.byte_offset();
                let behind = object.get(length..).unwrap_or_default();
                let inside = torn.and_then(|from| line.get(from..at));
                let is_piece = inside.is_some_and(|before| is_piece(before, behind, kind));
                match object.get(..length).filter(|_| !is_piece && is_record(&fields)) {
                    Some(raw) => {
                        records.push((raw, fields));
                        torn = None;
                    }
                    None => is_whole = false,
                }
                at += length.max(1);
            }
            Some(Err(fault)) => {
                is_whole = false;
                torn.get_or_insert(at);
                left = left.saturating_sub(fault.column().max(1));
                at += 1;
            }
            None => break,
        }
    }
    let reason = json::reason(reason);
    let fault = match records.len() {
        0 => FaultKind::NotJson { reason },
        count if is_whole => FaultKind::SharedLine { count },
        count => FaultKind::TornLine { count, reason },
    };
    Salvaged { records, fault }
}

/// Whether an object is a part of the torn record that stands before it, by that and by what stands behind.
fn is_piece(before: &str, behind: &str, kind: Records) -> bool {
    // U+FFFD stands for what a power cut has left.
    let behind = behind.trim_start_matches(|c| c == '\u{fffd}' || BLANK.contains(&c));
    if !behind.is_empty() && !behind.starts_with('{') {
        return true;
    }
    // A record with an id of its own may have been written anywhere; one without is a value where a value is due.
    let is_value = || before.trim_end_matches(BLANK).ends_with([':', ',', '[']) && !ends_in_string(before);
    kind == Records::WithoutId && is_value()
}

/// Whether the end of a torn object lies within a string.
fn ends_in_string(before: &str) -> bool {
    let (mut inside, mut escaped) = (false, false);
    for byte in before.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            _ => {}
        }
    }
    inside
}

fn is_blank(text: &str) -> bool {
    text.trim_matches(BLANK).is_empty()
}

/// Returns where the next object begins that has a field.
fn opening(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices('{').map(|(at, _)| at).find(|at| {
        let after = bytes.get(at + 1..).unwrap_or_default();
        after.iter().find(|byte| !matches!(byte, b' ' | b'\t')) == Some(&b'"')
    })
}
