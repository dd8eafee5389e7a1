//! Makes bytes parsable that somebody cut carelessly.
//!
//! A client that shortens text by UTF-16 units leaves half of an emoji behind. The half is legal in a JavaScript
//! string and in the file, and nowhere else: parsers refuse it, and so do the providers.

use std::borrow::Cow;

use crate::{Fault, FaultKind};

/// Returns the bytes as text that holds no half of a surrogate pair, and reports each line that was mended.
pub(crate) fn mend(bytes: &[u8], faults: &mut Vec<Fault>) -> String {
    let text = match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => {
            for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
                if std::str::from_utf8(line).is_err() {
                    faults.push(Fault { line: index + 1, kind: FaultKind::NotUtf8 });
                }
            }
            text
        }
    };
    let halves = lone_halves(text.as_bytes());
    if halves.is_empty() {
        return text;
    }
    let mut mended = String::with_capacity(text.len());
    let mut done = 0;
    let mut line = 1;
    for at in halves {
        let before = text.get(done..at).unwrap_or_default();
        line += before.bytes().filter(|byte| *byte == b'\n').count();
        mended.push_str(before);
        mended.push_str("\\ufffd");
        done = at + 6;
        match faults.last_mut() {
            Some(Fault { line: last, kind: FaultKind::LoneSurrogates { count } }) if *last == line => {
                *count += 1
            }
            _ => faults.push(Fault { line, kind: FaultKind::LoneSurrogates { count: 1 } }),
        }
    }
    mended.push_str(text.get(done..).unwrap_or_default());
    mended
}

/// Returns where `\uD83D` and the like stand without their other half.
fn lone_halves(bytes: &[u8]) -> Vec<usize> {
    let mut halves = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let here = at + found;
        at = match unit(bytes, here) {
            Some(0xD800..=0xDBFF) => match unit(bytes, here + 6) {
                Some(0xDC00..=0xDFFF) => here + 12,
                _ => {
                    halves.push(here);
                    here + 6
                }
            },
            Some(0xDC00..=0xDFFF) => {
                halves.push(here);
                here + 6
            }
            Some(_) => here + 6,
            // An escaped character is skipped, so that `\\ud83d` stays the words it is. A line end is not: no JSON
            // string goes past it, and a broken line must not shift the reading of the next.
            None if bytes.get(here + 1) == Some(&b'\n') => here + 1,
            None => here + 2,
        };
    }
    halves
}

/// Returns the UTF-16 unit that an escape at this place stands for.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
