//! SHA-256 of bytes, and the hexadecimal spelling that digests and git names share.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::Invalid;
use crate::invalid::excerpt;
use crate::json::{Place, Spelled, place};

/// A SHA-256, printed as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Takes a digest that was computed elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spelling(&mut place()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Spelled for Digest {
    fn spelling<'a>(&'a self, place: &'a mut Place) -> &'a str {
        hex(&self.0, place)
    }
}

impl FromStr for Digest {
    type Err = Invalid;

    /// Reads 64 hexadecimal digits of either case.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        decode_hex(text).map(Self).ok_or_else(|| Invalid::Digest { text: excerpt(text) })
    }
}

/// Prints up to 32 bytes.
pub(crate) fn hex<'a>(bytes: &[u8], place: &'a mut Place) -> &'a str {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in place.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    let length = place.len().min(2 * bytes.len());
    std::str::from_utf8(&place[..length]).expect("hexadecimal digits are ASCII")
}

/// Reads exactly `2 * N` digits, or nothing.
pub(crate) fn decode_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

const fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        b'A'..=b'F' => Some(letter - b'A' + 10),
        _ => None,
    }
}
