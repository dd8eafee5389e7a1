//! Sixty-four bits that say whether two texts mean the same turn.
//!
//! Not a seal: whoever wants two texts to collide can make them. All that a collision costs is a proposal that is
//! missed, or one that somebody declines.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// What a text was, in 64 bits that stay the same between versions and machines. Written as 16 hexadecimal digits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u64);

impl Digest {
    /// Returns the digest of a text as it is; for the state of files, say.
    pub fn of(text: &str) -> Self {
        Fnv::default().write(text.as_bytes()).finish()
    }

    /// Returns the digest of what a tool answered, without what changes by itself from one run to the next.
    ///
    /// Left out are clock times with seconds (`12:52:38.5`), durations with a unit (`0.31s`, `2 min`, `1m12s`),
    /// addresses of 8 to 16 digits (`0x7ffd00aa`), UUIDs, process numbers after `pid` and between `==`, and the first
    /// name under `/tmp/`, `/var/tmp/` or `\Temp\` (four under `/var/folders/`). Everything else counts, above all
    /// plain numbers, percentages and dates: they say how far something is.
    pub fn of_outcome(text: &str) -> Self {
        let mut fnv = Fnv::default();
        let mut rest = text;
        let mut before = '\n';
        while let Some(next) = rest.chars().next() {
            let volatile = if before.is_ascii_alphanumeric() && !may_be_glued(before, rest) {
                None
            } else {
                volatile_prefix(rest, before)
            };
            if let Some((kept, length)) = volatile {
                fnv = fnv.write(&rest.as_bytes()[..kept]).write(b"\0");
                // As if a word had ended: what follows directly belongs to it.
                before = '0';
                rest = &rest[length..];
            } else {
                fnv = fnv.write(&rest.as_bytes()[..next.len_utf8()]);
                before = next;
                rest = &rest[next.len_utf8()..];
            }
        }
        fnv.finish()
    }

    /// Returns the digest of a call's arguments; as JSON, so that the order of names and white space do not count.
    pub fn of_arguments(arguments: &str) -> Self {
        match serde_json::from_str::<Value>(arguments) {
            Ok(value) => write_value(Fnv::default(), &value).finish(),
            Err(_) => Digest::of(arguments),
        }
    }

    /// Returns the digest of a lesson: of its words, whatever their case and the signs between them.
    pub fn of_lesson(lesson: &str) -> Self {
        let words = lesson.split(|c: char| c.is_whitespace() || c.is_ascii_punctuation() || c == '…');
        let words = words.filter(|word| !word.is_empty());
        words.fold(Fnv::default(), |fnv, word| fnv.write(word.to_ascii_lowercase().as_bytes()).end()).finish()
    }

    /// Returns one digest for several, in order.
    pub fn of_all(digests: impl IntoIterator<Item = Digest>) -> Self {
        digests.into_iter().fold(Fnv::default(), |fnv, digest| fnv.write(&digest.0.to_le_bytes())).finish()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Digest {
    /// Writes text: many readers of JSON have only 53 bits for a number.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = digits.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        value.map(Digest).ok_or_else(|| de::Error::custom("a digest has 16 hexadecimal digits"))
    }
}

/// FNV-1a with 64 bits (the constants are those of draft-eastlake-fnv), stirred once at the end.
#[derive(Copy, Clone)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn write(self, bytes: &[u8]) -> Self {
        Fnv(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// Ends a piece, with a byte that no UTF-8 text holds.
    fn end(self) -> Self {
        self.write(&[0xff])
    }

    pub(crate) fn finish(self) -> Digest {
        let stirred = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Digest(stirred ^ (stirred >> 29))
    }
}

/// Hashes JSON with the names of every object in order, whatever features `serde_json` was built with.
fn write_value(fnv: Fnv, value: &Value) -> Fnv {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let inside = fields.iter().fold(fnv.write(b"{"), |fnv, (name, value)| {
                write_value(fnv.write(name.as_bytes()).end(), value)
            });
            inside.write(b"}")
        }
        Value::Array(items) => items.iter().fold(fnv.write(b"["), write_value).write(b"]"),
        Value::String(text) => fnv.write(b"\"").write(text.as_bytes()).end(),
        other => fnv.write(other.to_string().as_bytes()).end(),
    }
}

/// Returns whether something volatile may begin although a letter stands before: the time in `2026-11-22T12:52:38`, and
/// places that are reached from others.
pub(crate) fn may_be_glued(before: char, rest: &str) -> bool {
    (before == 'T' && clock_time(rest).is_some())
        || rest.starts_with("/var/folders/")
        || rest.starts_with("\\Temp\\")
}

/// Returns how many bytes of a volatile beginning still count, and how long it is as a whole.
pub(crate) fn volatile_prefix(rest: &str, before: char) -> Option<(usize, usize)> {
    let first = rest.bytes().next()?;
    match first {
        b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => {
            let number = || if before == '.' { None } else { duration(rest) };
            let found = address(rest).or_else(|| uuid(rest)).or_else(|| clock_time(rest)).or_else(number);
            found.map(|length| (0, length))
        }
        b'p' | b'P' if rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("pid")) => {
            let between = leading(&rest[3..], |c| matches!(c, ' ' | '=' | ':' | '#')).min(2);
            let count = digits(&rest[3 + between..]);
            (between > 0 && count > 0).then_some((3 + between, 3 + between + count))
        }
        b'=' => {
            let count = digits(rest.strip_prefix("==")?);
            (count > 0 && rest[2 + count..].starts_with("==")).then_some((2, 2 + count))
        }
        b'/' | b'\\' => temporary(rest),
        _ => None,
    }
}

fn address(rest: &str) -> Option<usize> {
    let count = leading(rest.strip_prefix("0x")?, |c| c.is_ascii_hexdigit());
    ((8..=16).contains(&count) && word_ends(&rest[2 + count..])).then_some(2 + count)
}

fn uuid(rest: &str) -> Option<usize> {
    let text = rest.get(..36)?;
    let fits = text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && word_ends(&rest[36..])).then_some(36)
}

/// Reads `12:52:38`, with a fraction if there is one. Without seconds it might be a line and a column.
fn clock_time(rest: &str) -> Option<usize> {
    let text = rest.get(..8)?.as_bytes();
    let pair = |at: usize| {
        let (tens, ones) = (text[at], text[at + 1]);
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
    };
    let fits = pair(0)? < 24 && text[2] == b':' && pair(3)? < 60 && text[5] == b':' && pair(6)? <= 60;
    if !fits || digits(&rest[8..]) > 0 {
        return None;
    }
    let fraction = rest[8..].strip_prefix(['.', ',']).map_or(0, digits);
    Some(if fraction > 0 { 9 + fraction } else { 8 })
}

/// Reads a number with a unit of time, and further ones that follow directly or after a space: `1m 12s`.
fn duration(rest: &str) -> Option<usize> {
    const UNITS: [&str; 19] = [
        "ns", "us", "µs", "μs", "ms", "seconds", "second", "secs", "sec", "s", "minutes", "minute", "mins",
        "min", "hours", "hour", "hrs", "hr", "h",
    ];
    let whole = digits(rest);
    if whole == 0 {
        return None;
    }
    let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
    let number = if fraction > 0 { whole + 1 + fraction } else { whole };
    let space = usize::from(rest[number..].starts_with(' '));
    let after = &rest[number + space..];
    // A lone `m` may be metres or million; before seconds it is minutes.
    if let Some(more) = after.strip_prefix('m') {
        let gap = usize::from(more.starts_with(' '));
        if let Some(seconds) = seconds_only(&more[gap..]) {
            return Some(number + space + 1 + gap + seconds);
        }
    }
    let unit = UNITS.iter().find(|unit| after.strip_prefix(**unit).is_some_and(word_ends))?;
    Some(number + space + unit.len())
}

fn seconds_only(rest: &str) -> Option<usize> {
    let whole = digits(rest);
    let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
    let number = if fraction > 0 { whole + 1 + fraction } else { whole };
    (whole > 0 && rest[number..].strip_prefix('s').is_some_and(word_ends)).then_some(number + 1)
}

/// Reads a path in a place for temporary files as far as its random names go.
fn temporary(rest: &str) -> Option<(usize, usize)> {
    const PLACES: [(&str, usize); 4] =
        [("/tmp/", 1), ("/var/tmp/", 1), ("/var/folders/", 4), ("\\Temp\\", 1)];
    let (place, names) = PLACES.iter().find(|(place, _)| rest.starts_with(place))?;
    let mut end = place.len();
    for name in 0..*names {
        let separator = usize::from(name > 0);
        if name > 0 && !rest[end..].starts_with('/') {
            break;
        }
        end += separator;
        end += leading(&rest[end..], |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
    }
    (end > place.len()).then_some((place.len(), end))
}

fn word_ends(rest: &str) -> bool {
    !rest.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn digits(rest: &str) -> usize {
    leading(rest, |c| c.is_ascii_digit())
}

/// Returns the length of the beginning that holds only such characters.
pub(crate) fn leading(rest: &str, fits: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !fits(c)).unwrap_or(rest.len())
}
