//! The digest that records are chained with.
//!
//! SHA-256, because everybody has a tool that checks it and processors have instructions for it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::SessionId;

/// A SHA-256 digest, printed as 64 lower-case hexadecimal digits.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// Returns what stands before the first record of a session, so that no record of one session can pass for
    /// another's.
    pub fn genesis(session: &SessionId) -> Self {
        Digest::of(format!("trunkline session {session}").as_bytes())
    }

    /// Returns the digest that has these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    /// Returns its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads a digest exactly as it is printed.
    ///
    /// # Errors
    ///
    /// [`ParseDigestError`] for everything else.
    pub fn parse(text: &str) -> Result<Self, ParseDigestError> {
        let fault = || ParseDigestError { text: text.chars().take(80).collect() };
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(fault()) };
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() {
            return Err(fault());
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low).ok_or_else(fault)?;
        }
        Ok(Digest(bytes))
    }
}

/// Makes the digest of many lines, each with its line feed.
#[derive(Clone, Default)]
#[cfg(feature = "store")]
pub(crate) struct Hasher(Sha256);

#[cfg(feature = "store")]
impl Hasher {
    /// Adds a line, which is given without its end.
    pub(crate) fn line(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    /// Adds bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all of it.
    pub(crate) fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(feature = "store")]
impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        f.write_str(str::from_utf8(&text).expect("digits are text"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is not a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: {text:?}; it has 64 digits from 0-9 and a-f")]
pub struct ParseDigestError {
    /// What was given, cut after 80 characters.
    pub text: String,
}
