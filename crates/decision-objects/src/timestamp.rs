//! Points in time, to the nanosecond.
//!
//! There is no `now` here: the caller owns the clock.
//! The printed form has 0, 3, 6 or 9 fraction digits, the fewest that lose nothing, because git-internal writes it so
//! and one spelling per instant is what a digest needs.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::Invalid;
use crate::invalid::excerpt;
use crate::json::{Place, Spelled, place};

/// A point in time in UTC, from the year 1970 to 9999-12-30T22:00:00.999999999Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Takes milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// [`Invalid::TimestampRange`] before 1970 or after 9999-12-30T22:00:00.999Z.
    pub fn from_milliseconds(milliseconds: i64) -> Result<Self, Invalid> {
        let range = || Invalid::TimestampRange { text: milliseconds.to_string() };
        let part = i32::try_from(milliseconds.rem_euclid(1000)).map_err(|_| range())?;
        // In milliseconds the date library ends a second earlier.
        let instant = jiff::Timestamp::new(milliseconds.div_euclid(1000), part * 1_000_000);
        instant.ok().and_then(Self::in_range).ok_or_else(range)
    }

    /// Whether it is later than another by more than so many milliseconds.
    pub(crate) fn is_later(self, than: Self, by_more_than: i64) -> bool {
        self.0.as_nanosecond() - than.0.as_nanosecond() > i128::from(by_more_than) * 1_000_000
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, the finer part cut off.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Reads the printed form, with any number of fraction digits up to nine; `None` for every other text.
    pub(crate) fn of_plain(text: &str) -> Option<Self> {
        let text = text.strip_suffix('Z')?;
        let (seconds, fraction) = text.split_at_checked(19)?;
        if !fits(seconds, "0000-00-00T00:00:00") {
            return None;
        }
        let nanosecond = match fraction.strip_prefix('.') {
            Some(digits) if (1..=9).contains(&digits.len()) => {
                10_i32.pow(9 - u32::try_from(digits.len()).ok()?) * number(digits)?
            }
            Some(_) => return None,
            None if fraction.is_empty() => 0,
            None => return None,
        };
        let part = |from: usize, to: usize| i8::try_from(number(seconds.get(from..to)?)?).ok();
        let year = i16::try_from(number(seconds.get(..4)?)?).ok()?;
        let (month, day) = (part(5, 7)?, part(8, 10)?);
        let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
        let civil = DateTime::new(year, month, day, hour, minute, second, nanosecond).ok()?;
        Offset::UTC.to_timestamp(civil).ok().and_then(Self::in_range)
    }

    fn in_range(instant: jiff::Timestamp) -> Option<Self> {
        (instant >= jiff::Timestamp::UNIX_EPOCH).then_some(Self(instant))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spelling(&mut place()))
    }
}

impl Spelled for Timestamp {
    fn spelling<'a>(&'a self, place: &'a mut Place) -> &'a str {
        let civil = Offset::UTC.to_datetime(self.0);
        let nanoseconds = civil.subsec_nanosecond();
        place[..30].copy_from_slice(b"0000-00-00T00:00:00.000000000Z");
        put(&mut place[0..4], civil.year().into());
        put(&mut place[5..7], civil.month().into());
        put(&mut place[8..10], civil.day().into());
        put(&mut place[11..13], civil.hour().into());
        put(&mut place[14..16], civil.minute().into());
        put(&mut place[17..19], civil.second().into());
        put(&mut place[20..29], nanoseconds);
        let end = match nanoseconds {
            0 => 19,
            nanoseconds if nanoseconds % 1_000_000 == 0 => 23,
            nanoseconds if nanoseconds % 1_000 == 0 => 26,
            _ => 29,
        };
        place[end] = b'Z';
        std::str::from_utf8(&place[..=end]).expect("digits and their separators are ASCII")
    }
}

/// Writes a number in as many digits as there is place for.
fn put(place: &mut [u8], mut number: i32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    /// Reads RFC 3339 with up to nine fraction digits and any offset; a space may stand for the `T`.
    ///
    /// A leap second is refused, as [`Invalid::LeapSecond`].
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(plain) = Self::of_plain(text) {
            return Ok(plain);
        }
        match shape(text) {
            Shape::Rfc3339 => {
                let instant: jiff::Timestamp = text.parse().map_err(|_| {
                    // The date library ends before the year does.
                    let civil = text.get(..19).and_then(|civil| civil.parse::<DateTime>().ok());
                    match civil.is_some_and(|civil| civil.year() == 9999) {
                        true => Invalid::TimestampRange { text: excerpt(text) },
                        false => Invalid::Timestamp { text: excerpt(text) },
                    }
                })?;
                // The date library takes it for the second before.
                if text.get(17..19) == Some("60") {
                    return Err(Invalid::LeapSecond { text: excerpt(text) });
                }
                Self::in_range(instant).ok_or_else(|| Invalid::TimestampRange { text: excerpt(text) })
            }
            Shape::SignedYear => Err(Invalid::TimestampRange { text: excerpt(text) }),
            Shape::Other => Err(Invalid::Timestamp { text: excerpt(text) }),
        }
    }
}

/// A number of up to nine digits, and nothing but digits.
fn number(digits: &str) -> Option<i32> {
    digits
        .bytes()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0')))
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
    // The date library takes offsets of more than a day.
    if offset.get(1..3).is_some_and(|hours| hours > "23")
        || offset.get(4..).is_some_and(|minutes| minutes > "59")
    {
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
