//! Times, sizes and receipts as people type them.

use std::time::Duration;

use trunkline_session_store::Digest;

const HOUR: u64 = 3_600_000;
/// Those of the metric system, and those of memory.
const SIZES: [(&str, u64); 11] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("b", 1),
];
/// How long a rule can count at most. What is meant to count for longer needs no end.
const LONGEST_RULE: u64 = 10 * 365 * 24 * HOUR;
const TIMES: [(&str, u64); 4] = [("h", HOUR), ("d", 24 * HOUR), ("w", 7 * 24 * HOUR), ("y", 365 * 24 * HOUR)];

/// Reads a time such as `90d` in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    scaled(text, &TIMES).ok_or_else(|| "write it like 12h, 90d, 8w or 1y".to_owned())
}

/// Prints a time as [`milliseconds`] reads it.
pub(crate) fn age(milliseconds: u64) -> String {
    match milliseconds {
        days if days % (24 * HOUR) == 0 => format!("{}d", days / (24 * HOUR)),
        hours => format!("{}h", hours / HOUR),
    }
}

/// Reads for how long a rule counts, such as `30m`.
pub(crate) fn of_rule(text: &str) -> Result<u64, String> {
    let minutes = [("min", 60_000), ("m", 60_000)];
    let time = scaled(text, &[&minutes[..], &TIMES].concat());
    let time = time.ok_or_else(|| "write it like 30m, 12h, 8d or 2w".to_owned())?;
    match time {
        0 => Err("it would never count".to_owned()),
        time if time > LONGEST_RULE => Err("10y is the most; without --for it has no end".to_owned()),
        time => Ok(time),
    }
}

/// Reads for how long something is tried again, such as `20m`.
pub(crate) fn of_wait(text: &str) -> Result<u64, String> {
    let short = [("min", 60_000), ("m", 60_000), ("s", 1_000)];
    let time = scaled(text, &[&short[..], &TIMES].concat());
    time.ok_or_else(|| "write it like 30s, 20m or 2h".to_owned())
}

/// Reads it too where it is a number of seconds.
pub(crate) fn seconds_or_wait(text: &str) -> Result<u64, String> {
    let seconds = text.trim().parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000));
    seconds.map_or_else(|| of_wait(text).map_err(|_| "write it like 600, 30s or 10m".to_owned()), Ok)
}

/// Prints such a time as it is typed.
pub(crate) fn wait(milliseconds: u64) -> String {
    match milliseconds {
        whole if whole % 60_000 == 0 => format!("{}m", whole / 60_000),
        whole if whole % 1_000 == 0 => format!("{}s", whole / 1_000),
        part => format!("{}.{}s", part / 1_000, part % 1_000 / 100),
    }
}

/// Reads a size such as `2GB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    scaled(text, &SIZES).ok_or_else(|| "write it like 500MB, 2GB or 2GiB".to_owned())
}

/// Reads a receipt such as `412:9f86d0…`.
pub(crate) fn receipt(text: &str) -> Result<(u64, Digest), String> {
    let parts =
        text.split_once(':').and_then(|(seq, digest)| Some((seq.parse().ok()?, Digest::parse(digest).ok()?)));
    parts.ok_or_else(|| "write it like 412: and the 64 digits of a digest".to_owned())
}

/// Prints a size: `812 B`, `3.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000_u64)];
    match units.iter().find(|(_, unit)| bytes >= *unit) {
        // Tenths, cut off and not rounded, so that nothing becomes `1000.0 kB`.
        Some((word, unit)) => format!("{}.{} {word}", bytes / unit, bytes % unit / (unit / 10)),
        None => format!("{bytes} B"),
    }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let (word, unit) = units.iter().find(|(word, _)| lower.ends_with(word))?;
    let number = lower.strip_suffix(word)?.trim();
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(tenths) || tenths.len() > 1 {
        return None;
    }
    let tenths: u64 = tenths.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(*unit)?.checked_add(unit / 10 * tenths)
}

/// Prints how long something took: `812 ms`, `3.4 s`.
pub(crate) fn duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
