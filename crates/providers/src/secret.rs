//! A key that does not print itself.

use std::fmt;

/// A provider's key. Its `Debug` shows `***`, and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key. White space around it, as files and shells leave it, is taken off.
    pub fn new(key: impl AsRef<str>) -> Self {
        Secret(key.as_ref().trim().to_owned())
    }

    /// Returns the key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

#[cfg(feature = "http")]
impl Secret {
    /// Puts `***` in place of the key in a text that somebody else wrote.
    ///
    /// Keys of eight bytes and more are found also when they are percent-encoded, broken by white space, or cut off at
    /// the end of the text; shorter ones are words such as `none` and only taken out as they are.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        if self.0.len() < TELLING {
            return text.replace(&self.0, "***");
        }
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let length = match quoted(self.0.as_bytes(), rest.as_bytes()) {
                Some(length) => {
                    shown.push_str("***");
                    length
                }
                None => {
                    shown.push(next);
                    next.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        shown
    }
}

// As much of a key as could not stand there by chance.
#[cfg(feature = "http")]
const TELLING: usize = 8;

/// Returns how many bytes of the text's beginning quote the key.
#[cfg(feature = "http")]
fn quoted(key: &[u8], text: &[u8]) -> Option<usize> {
    let mut found = 0;
    let mut at = 0;
    while let Some(wanted) = key.get(found) {
        let rest = text.get(at..).unwrap_or_default();
        match rest {
            [byte, ..] if byte == wanted => (found, at) = (found + 1, at + 1),
            [b'%', high, low, ..] if hexadecimal(*high, *low) == Some(*wanted) => {
                (found, at) = (found + 1, at + 3);
            }
            [b'\\', b'n' | b'r' | b't', ..] if found > 0 => at += 2,
            [byte, ..] if found > 0 && (byte.is_ascii_whitespace() || *byte == b'\\') => at += 1,
            _ => {
                let ends = rest.is_empty() || rest.starts_with("…".as_bytes());
                return (found >= TELLING && ends).then_some(at);
            }
        }
    }
    Some(at)
}

#[cfg(feature = "http")]
fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
