//! Makes bytes parsable that somebody cut carelessly.
//!
//! A client that shortens text by UTF-16 units leaves half of an emoji behind. The half is legal in a JavaScript
//! string and in the file, and nowhere else: parsers refuse it, and so do the providers. A disk that lost its power
//! leaves NULs where bytes should be. Nothing here adds or takes away a line end, so that lines keep their numbers.

use std::borrow::Cow;

use memchr::memmem;

use crate::fault::{Fault, FaultKind};

/// Returns the bytes as text that holds no half of a surrogate pair and no character that JSON cannot hold, without
/// the mark that an editor put in front, and reports each line that was mended. Sound text is not copied.
pub(crate) fn mend<'a>(bytes: &'a [u8], faults: &mut Vec<Fault>) -> Cow<'a, str> {
    let bytes = without_mark(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
                if std::str::from_utf8(line).is_err() {
                    faults.push(Fault { line: index + 1, kind: FaultKind::NotUtf8 });
                }
            }
            Cow::Owned(String::from_utf8_lossy(bytes).into_owned())
        }
    };
    let text = if has_controls(text.as_bytes()) { Cow::Owned(without_controls(&text, faults)) } else { text };
    // The search for the first letters is quick, and most files have none of them.
    let has = |text: &str, units: &str| memmem::find(text.as_bytes(), units.as_bytes()).is_some();
    let has_units = |text: &str| has(text, "\\u") && (has(text, "\\ud") || has(text, "\\uD"));
    if has_units(&text) { without_halves(text, faults) } else { text }
}

/// Returns the bytes without the byte-order marks that they begin with.
fn without_mark(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        bytes = rest;
    }
    bytes
}

/// Tells whether a byte is a control character that no JSON may hold raw; white space may stand between its parts.
fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')
}

fn has_controls(bytes: &[u8]) -> bool {
    // Without a way out inside of a chunk, which is what lets it be looked at many bytes at a time.
    bytes.chunks(4096).any(|chunk| chunk.iter().fold(false, |found, byte| found | is_control(*byte)))
}

/// Replaces control characters: each run of them inside of a string by one U+FFFD, and elsewhere by a blank.
fn without_controls(text: &str, faults: &mut Vec<Fault>) -> String {
    let mut mended = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            mended.push('\n');
        }
        if !line.bytes().any(is_control) {
            mended.push_str(line);
            continue;
        }
        let (mut count, mut inside, mut escaped, mut run) = (0, false, false, false);
        for sign in line.chars() {
            if u8::try_from(sign).is_ok_and(is_control) {
                count += 1;
                if !run {
                    mended.push(if inside { '\u{fffd}' } else { ' ' });
                }
                (run, escaped) = (true, false);
                continue;
            }
            run = false;
            mended.push(sign);
            match sign {
                _ if escaped => escaped = false,
                '\\' => escaped = inside,
                '"' => inside = !inside,
                _ => {}
            }
        }
        faults.push(Fault { line: index + 1, kind: FaultKind::ControlCharacters { count } });
    }
    mended
}

fn without_halves<'a>(text: Cow<'a, str>, faults: &mut Vec<Fault>) -> Cow<'a, str> {
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
    Cow::Owned(mended)
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
