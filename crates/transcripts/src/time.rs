//! The times of log records, `2026-02-11T20:36:45.693Z`, to milliseconds and back.
//!
//! Records say UTC. A time with an offset or without a zone is read as none: a wrong time is worse than no time.

use trunkline_message_tree::Timestamp;

/// Reads a time in UTC; fractions below a millisecond are cut.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = three(date.split('-'))?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [hour, minute, second] = three(clock.split(':'))?;
    let legal = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !legal || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut millis = 0;
    for place in 0..3 {
        let digit = fraction
            .as_bytes()
            .get(place)
            .map_or(Some(0), |byte| byte.is_ascii_digit().then(|| u64::from(byte - b'0')))?;
        millis = millis * 10 + digit;
    }
    // Days since the epoch, counted in years that begin in March, so that the leap day comes last.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = 365 * shifted_year + leap_days + (153 * shifted_month + 2) / 5 + day - 1 - 719_468;
    Some(Timestamp((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis))
}

/// Prints a time the way the records have it.
pub(crate) fn print(at: Timestamp) -> String {
    // The last moment of the year 9999: more digits than four nobody reads.
    let millis = at.0.min(253_402_300_799_999);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

fn three<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<[u64; 3]> {
    let mut number = || {
        let part = parts.next()?;
        (!part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| part.parse().ok())
            .flatten()
    };
    let numbers = [number()?, number()?, number()?];
    parts.next().is_none().then_some(numbers)
}
