//! git-internal's times: what its reader takes, and how they are written again.
//!
//! It reads more than RFC 3339 (spaces, single digits, years with a sign, offsets without a colon, `UTC`) and ours reads
//! less, so what is no time of ours is read here, and written as its library, chrono, writes it.

use std::fmt;

use crate::invalid::excerpt;
use crate::json::{Place, Spelled};
use crate::{Invalid, Timestamp};

/// A time, in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Time {
    /// One that our own type holds.
    Ours(Timestamp),
    /// One outside our years.
    Far(String),
    /// A second with the number 60.
    Leap(String),
}

impl Time {
    pub(super) fn spelling<'a>(&'a self, place: &'a mut Place) -> &'a str {
        match self {
            Self::Ours(time) => time.spelling(place),
            Self::Far(text) | Self::Leap(text) => text,
        }
    }
}

/// Reads what chrono 0.4 takes for a `DateTime<Utc>` in JSON.
pub(super) fn parse(text: &str) -> Result<Time, Invalid> {
    // The form in which nearly all of them come; in others the two libraries part ways (a second 60, an offset of a day).
    if let Some(time) = Timestamp::of_plain(text) {
        return Ok(Time::Ours(time));
    }
    let unreadable = || Invalid::Timestamp { text: excerpt(text) };
    let time = Parts::read(text).ok_or_else(unreadable)?;
    let printed = time.in_utc().ok_or_else(unreadable)?.to_string();
    Ok(if time.second == 60 {
        Time::Leap(printed)
    } else {
        match printed.parse() {
            Ok(time) => Time::Ours(time),
            Err(_) => Time::Far(printed),
        }
    })
}

/// The years that chrono counts.
const YEARS: std::ops::RangeInclusive<i64> = -262_143..=262_142;

#[derive(Clone, Copy)]
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    /// Up to 60.
    second: i64,
    nanosecond: u32,
    /// Seconds that this clock is before UTC.
    offset: i64,
}

impl Parts {
    fn read(text: &str) -> Option<Self> {
        let mut rest = Rest(text);
        let year = rest.year()?;
        rest.literal('-')?;
        let month = rest.number(2)?;
        rest.literal('-')?;
        let day = rest.number(2)?;
        rest.0 = rest.0.strip_prefix(['t', 'T', ' '])?;
        let hour = rest.number(2)?;
        rest.literal(':')?;
        let minute = rest.number(2)?;
        rest.literal(':')?;
        let second = rest.number(2)?;
        let nanosecond = rest.fraction()?;
        let offset = rest.offset()?;
        let legal = rest.0.trim_start().is_empty()
            && YEARS.contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_of_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        legal.then_some(Self { year, month, day, hour, minute, second, nanosecond, offset })
    }

    /// The same instant on the clock of UTC; `None` if that is outside the years.
    fn in_utc(self) -> Option<Self> {
        const DAY: i64 = 86_400;
        // A second 60 stays one: it is moved as the second 59 that it follows.
        let second = self.second.min(59);
        let clock = self.hour * 3_600 + self.minute * 60 + second - self.offset;
        let (year, month, day) = civil(days(self.year, self.month, self.day) + clock.div_euclid(DAY));
        let clock = clock.rem_euclid(DAY);
        let moved = Self {
            year,
            month,
            day,
            hour: clock / 3_600,
            minute: clock / 60 % 60,
            second: clock % 60 + (self.second - second),
            offset: 0,
            ..self
        };
        YEARS.contains(&year).then_some(moved)
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, nanosecond, .. } = self;
        if (0..=9999).contains(year) {
            write!(f, "{year:04}")?
        } else {
            write!(f, "{year:+05}")?
        }
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match nanosecond {
            0 => {}
            nanos if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000)?,
            nanos if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000)?,
            nanos => write!(f, ".{nanos:09}")?,
        }
        f.write_str("Z")
    }
}

/// What has not been read yet.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// With a sign it has as many digits as it likes, without one at most four.
    fn year(&mut self) -> Option<i64> {
        self.0 = self.0.trim_start();
        let (sign, digits) = match self.0.as_bytes().first() {
            Some(b'-') => (-1, usize::MAX),
            Some(b'+') => (1, usize::MAX),
            _ => return self.number(4),
        };
        self.0 = self.0.get(1..)?;
        self.digits(digits).map(|year| sign * year)
    }

    fn number(&mut self, most: usize) -> Option<i64> {
        self.0 = self.0.trim_start();
        self.digits(most)
    }

    fn digits(&mut self, most: usize) -> Option<i64> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        digits.parse().ok()
    }

    fn literal(&mut self, letter: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(letter)?;
        Some(())
    }

    /// What comes after the ninth digit is dropped.
    fn fraction(&mut self) -> Option<u32> {
        let Some(rest) = self.0.strip_prefix('.') else { return Some(0) };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = rest.split_at(digits);
        self.0 = rest;
        let kept = digits.get(..digits.len().min(9))?;
        if kept.is_empty() { None } else { format!("{kept:0<9}").parse().ok() }
    }

    fn offset(&mut self) -> Option<i64> {
        self.0 = self.0.trim_start();
        if let Some(name) = self.0.get(..3)
            && name.eq_ignore_ascii_case("utc")
        {
            self.0 = self.0.get(3..)?;
            return Some(0);
        }
        if let Some(rest) = self.0.strip_prefix(['Z', 'z']) {
            self.0 = rest;
            return Some(0);
        }
        let sign = if self.0.starts_with('+') { 1 } else { -1 };
        // U+2212 is the minus sign of typographers.
        self.0 = self.0.strip_prefix(['+', '-', '\u{2212}'])?;
        let hours = self.two_digits()?;
        self.0 = self.0.trim_start_matches(|letter: char| letter == ':' || letter.is_whitespace());
        let minutes = self.two_digits().filter(|minutes| *minutes < 60)?;
        (hours < 24).then_some(sign * (hours * 3_600 + minutes * 60))
    }

    fn two_digits(&mut self) -> Option<i64> {
        let digits = self.0.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.0 = self.0.get(2..)?;
        digits.parse().ok()
    }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar, as if it had always been there.
///
/// Years are counted from March, so that the day that comes and goes is the last one: Howard Hinnant's `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}
