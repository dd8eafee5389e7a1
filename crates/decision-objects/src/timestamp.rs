//! Points in time, to the nanosecond.
//!
//! There is no `now` here: the caller owns the clock.
//! The printed form has 0, 3, 6 or 9 fraction digits, the fewest that lose nothing, because git-internal writes it so
//! and one spelling per instant is what a digest needs.

use std::fmt;
use std::str::FromStr;

use jiff::tz::Offset;

use crate::Invalid;
use crate::invalid::excerpt;

/// A point in time between the years 1970 and 9999, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Takes milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// [`Invalid::TimestampRange`] before 1970 or after 9999.
    pub fn from_milliseconds(milliseconds: i64) -> Result<Self, Invalid> {
        let range = || Invalid::TimestampRange { text: milliseconds.to_string() };
        jiff::Timestamp::from_millisecond(milliseconds).ok().and_then(Self::in_range).ok_or_else(range)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, the finer part cut off.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        self.0.as_millisecond()
    }

    fn in_range(instant: jiff::Timestamp) -> Option<Self> {
        (instant >= jiff::Timestamp::UNIX_EPOCH).then_some(Self(instant))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = Offset::UTC.to_datetime(self.0);
        let (date, time) = (civil.date(), civil.time());
        write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())?;
        write!(f, "T{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        match time.subsec_nanosecond() {
            0 => {}
            nanos if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000)?,
            nanos if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000)?,
            nanos => write!(f, ".{nanos:09}")?,
        }
        f.write_str("Z")
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    /// Reads RFC 3339 with up to nine fraction digits and any offset; a space may stand for the `T`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match shape(text) {
            Shape::Rfc3339 => {
                let instant: jiff::Timestamp =
                    text.parse().map_err(|_| Invalid::Timestamp { text: excerpt(text) })?;
                Self::in_range(instant).ok_or_else(|| Invalid::TimestampRange { text: excerpt(text) })
            }
            Shape::SignedYear => Err(Invalid::TimestampRange { text: excerpt(text) }),
            Shape::Other => Err(Invalid::Timestamp { text: excerpt(text) }),
        }
    }
}

enum Shape {
    Rfc3339,
    /// A year with a sign, as some writers print it after 9999 or before 0000.
    SignedYear,
    Other,
}

/// Compares the text with the patterns, digit by digit.
///
/// The date library reads more than RFC 3339 (basic dates, zone names in brackets); what it reads would then be ours too.
fn shape(text: &str) -> Shape {
    let Some((head, tail)) = text.split_once([':']) else { return Shape::Other };
    let tail = match tail.split_at_checked(5) {
        Some((minutes, tail)) if fits(minutes, "00:00") => tail,
        _ => return Shape::Other,
    };
    let offset = match tail.strip_prefix('.') {
        Some(fraction) => {
            let offset = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if !(1..=9).contains(&(fraction.len() - offset.len())) {
                return Shape::Other;
            }
            offset
        }
        None => tail,
    };
    if !["Z", "z", "+00:00", "-00:00"].iter().any(|pattern| fits(offset, pattern)) {
        return Shape::Other;
    }
    if ["0000-00-00T00", "0000-00-00t00", "0000-00-00 00"].iter().any(|pattern| fits(head, pattern)) {
        return Shape::Rfc3339;
    }
    let unsigned = head.strip_prefix(['+', '-']).unwrap_or_default();
    let signed =
        ["0000-00-00T00", "00000-00-00T00", "000000-00-00T00"].iter().any(|pattern| fits(unsigned, pattern));
    if signed { Shape::SignedYear } else { Shape::Other }
}

/// Whether the text is the pattern, where `0` stands for any digit.
fn fits(text: &str, pattern: &str) -> bool {
    let same =
        |(letter, wanted): (u8, u8)| if wanted == b'0' { letter.is_ascii_digit() } else { letter == wanted };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(same)
}
