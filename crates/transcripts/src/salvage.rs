//! What can still be read of a line that is not JSON.
//!
//! A writer that died in the middle of a line leaves half a record, and the next one appends to it; one that lost its
//! line end leaves two records on one line. What is whole is read, wherever on the line it begins.

use serde_json::Deserializer;

use crate::FaultKind;
use crate::json::{self, Fields};

/// What could be read of a line.
#[derive(Debug)]
pub(crate) struct Salvaged<'a> {
    /// The records that are whole, in order, with their bytes.
    pub(crate) records: Vec<(&'a str, Fields<'a>)>,
    /// What is to be said of the line.
    pub(crate) fault: FaultKind,
}

/// What may stand around a record.
pub(crate) const BLANK: [char; 4] = ['\r', ' ', '\t', '\u{feff}'];

/// Finds the records on a line that is not JSON, for the `reason` that its parser gave.
///
/// `is_record` tells a record from a part of one: the pieces of a torn record are objects too.
pub(crate) fn salvage<'a>(
    line: &'a str,
    reason: &serde_json::Error,
    is_record: impl Fn(&Fields<'a>) -> bool,
) -> Salvaged<'a> {
    // Each object that is left open is read from each of its openings. So many times may the line be read in all: far
    // more than a torn record needs, and little enough for one that was made to be slow.
    const READINGS: usize = 16;
    let mut left = line.len().saturating_mul(READINGS);
    let mut records = Vec::new();
    let mut is_whole = true;
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
                match object.get(..length).filter(|_| is_record(&fields)) {
                    Some(raw) => records.push((raw, fields)),
                    None => is_whole = false,
                }
                at += length.max(1);
            }
            Some(Err(fault)) => {
                is_whole = false;
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
