//! The times of log records, `2026-02-11T20:36:45.693Z`, to milliseconds and back.
//!
//! Records say UTC. A time with an offset or without a zone is read as none: a wrong time is worse than no time.

use trunkline_message_tree::Timestamp;

/// Reads a time in UTC; fractions below a millisecond are cut.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    // What the calendar does not have, such as 31 February, is refused by whoever knows calendars.
    let is_plain = text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    let at: jiff::Timestamp = is_plain.then(|| text.parse().ok()).flatten()?;
    u64::try_from(at.as_millisecond()).ok().map(Timestamp)
}

/// Prints a time the way the records have it.
pub(crate) fn print(at: Timestamp) -> String {
    let at = i64::try_from(at.0).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    // A year of more digits than four nobody reads.
    format!("{:.3}", at.unwrap_or(jiff::Timestamp::MAX))
}
