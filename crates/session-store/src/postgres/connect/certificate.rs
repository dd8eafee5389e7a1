//! Reads of a certificate what rustls does not tell, and of certificates of version 1, which it does not read.
//!
//! Whether a certificate is believed is decided elsewhere. This is a reader of DER that takes nothing for granted: whatever
//! does not fit gives nothing.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// Names of things in DER, without tag and length.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x1e];
const PKCS1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// A certificate, in pieces of its bytes.
pub(super) struct Certificate<'a> {
    /// What its issuer has signed, how, and the signature.
    pub(super) signed: &'a [u8],
    pub(super) algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    pub(super) is_version_1: bool,
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// From when to when it is valid, in seconds since 1970.
    valid: (i64, i64),
    /// The kind of its key, and the key.
    pub(super) key_kind: &'a [u8],
    pub(super) key: &'a [u8],
    extensions: &'a [u8],
}

impl<'a> Certificate<'a> {
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let mut whole = only(SEQUENCE, der)?;
        let (signed, mut fields) = element(SEQUENCE, &mut whole)?;
        let (_, algorithm) = element(SEQUENCE, &mut whole)?;
        let (_, signature) = element(BITS, &mut whole)?;
        let version = explicit(0, &mut fields);
        element(INTEGER, &mut fields)?;
        element(SEQUENCE, &mut fields)?;
        let (_, issuer) = element(SEQUENCE, &mut fields)?;
        let (_, mut valid) = element(SEQUENCE, &mut fields)?;
        let valid = (time(&mut valid)?, time(&mut valid)?);
        let (_, subject) = element(SEQUENCE, &mut fields)?;
        let (_, mut key) = element(SEQUENCE, &mut fields)?;
        let (_, key_kind) = element(SEQUENCE, &mut key)?;
        let (_, key) = element(BITS, &mut key)?;
        let mut extensions: &[u8] = &[];
        while let Some((tag, _, contents)) = any(&mut fields) {
            if tag == 0xa3 {
                extensions = only(SEQUENCE, contents)?;
            }
        }
        // 0 is version 1, which is also what is meant where nothing is said.
        let is_version_1 = version.is_none_or(|version| only(INTEGER, version) == Some(&[0]));
        if is_version_1 && !extensions.is_empty() {
            return None;
        }
        Some(Certificate {
            signed,
            algorithm,
            signature: whole_bytes(signature)?,
            is_version_1,
            issuer,
            subject,
            valid,
            key_kind,
            key: whole_bytes(key)?,
            extensions,
        })
    }

    pub(super) fn is_valid_at(&self, seconds: i64) -> bool {
        self.valid.0 <= seconds && seconds <= self.valid.1
    }

    /// Returns whether it may issue certificates for servers directly, whatever they are called.
    pub(super) fn may_issue(&self) -> bool {
        if self.is_version_1 {
            return self.issuer == self.subject;
        }
        let is_authority = self.extension(BASIC_CONSTRAINTS).and_then(|value| {
            let mut fields = only(SEQUENCE, value)?;
            Some(element(0x01, &mut fields)?.1 == [0xff])
        });
        // The sixth bit: signs certificates. RFC 5280, 4.2.1.3.
        let signs = self.extension(KEY_USAGE).is_none_or(|value| {
            only(BITS, value).and_then(|bits| bits.get(1)).is_some_and(|byte| byte & 0x04 != 0)
        });
        is_authority == Some(true) && signs && self.extension(NAME_CONSTRAINTS).is_none()
    }

    /// Returns whether it names, beside the one that it is issued to, hosts or, if `address`, addresses.
    pub(super) fn has_alternative_names(&self, address: bool) -> bool {
        // RFC 5280, 4.2.1.6: dNSName and iPAddress.
        let wanted = if address { 0x87 } else { 0x82 };
        let Some(value) = self.extension(ALTERNATIVE_NAMES) else { return false };
        let Some(mut names) = only(SEQUENCE, value) else { return true };
        while !names.is_empty() {
            // What cannot be read may be one.
            let Some((tag, _, _)) = any(&mut names) else { return true };
            if tag == wanted {
                return true;
            }
        }
        false
    }

    /// Returns the first common name of the one it is issued to.
    pub(super) fn common_name(&self) -> Option<&'a str> {
        let mut names = self.subject;
        while let Some((_, mut set)) = element(SET, &mut names) {
            while let Some((_, mut pair)) = element(SEQUENCE, &mut set) {
                if element(OBJECT, &mut pair)?.1 == COMMON_NAME {
                    let (tag, _, value) = any(&mut pair)?;
                    // UTF8String, PrintableString, TeletexString, IA5String.
                    let is_text = [0x0c, 0x13, 0x14, 0x16].contains(&tag) && !value.contains(&0);
                    return std::str::from_utf8(value).ok().filter(|_| is_text);
                }
            }
        }
        None
    }

    fn extension(&self, wanted: &[u8]) -> Option<&'a [u8]> {
        let mut extensions = self.extensions;
        while let Some((_, mut extension)) = element(SEQUENCE, &mut extensions) {
            if element(OBJECT, &mut extension)?.1 == wanted {
                // Whether it is critical may stand between.
                let (tag, _, mut value) = any(&mut extension)?;
                if tag != OCTETS {
                    value = element(OCTETS, &mut extension)?.1;
                }
                return Some(value);
            }
        }
        None
    }
}

/// Returns what a server's certificate binds a connection to: `tls-server-end-point`, RFC 5929, 4.1.
pub(super) fn end_point(der: &[u8]) -> Option<Vec<u8>> {
    let mut algorithm = Certificate::read(der)?.algorithm;
    let (_, name) = element(OBJECT, &mut algorithm)?;
    let digest = match (name.strip_prefix(PKCS1), name.strip_prefix(ECDSA)) {
        // RSASSA-PSS says its digest beside; SHA-1 where it does not.
        (Some([0x0a]), _) => {
            match only(SEQUENCE, algorithm).and_then(|mut fields| explicit(0, &mut fields)) {
                None => 1,
                Some(digest) => {
                    let mut digest = only(SEQUENCE, digest)?;
                    match element(OBJECT, &mut digest)?.1.strip_prefix(SHA2) {
                        Some([digest]) => [1, 256, 384, 512, 224].get(usize::from(*digest)).copied()?,
                        _ => 1,
                    }
                }
            }
        }
        (Some([0x04 | 0x05]), _) | (_, Some([0x01])) => 1,
        (Some([0x0e]), _) | (_, Some([0x03, 0x01])) => 224,
        (Some([0x0b]), _) | (_, Some([0x03, 0x02])) => 256,
        (Some([0x0c]), _) | (_, Some([0x03, 0x03])) => 384,
        (Some([0x0d]), _) | (_, Some([0x03, 0x04])) => 512,
        // Ed25519 has no digest of its own.
        _ => return None,
    };
    Some(match digest {
        224 => Sha224::digest(der).to_vec(),
        384 => Sha384::digest(der).to_vec(),
        512 => Sha512::digest(der).to_vec(),
        // MD5 and SHA-1 are replaced by SHA-256.
        _ => Sha256::digest(der).to_vec(),
    })
}

/// Takes the next element: its tag, all of its bytes, and its contents.
fn any<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8], &'a [u8])> {
    let all = *input;
    let (tag, length, mut rest) = match all {
        [tag, length, rest @ ..] => (*tag, *length, rest),
        _ => return None,
    };
    // Tags of more than one byte stand in no certificate.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let length = match length {
        0..=0x7f => usize::from(length),
        0x81..=0x83 => {
            let (bytes, after) = rest.split_at_checked(usize::from(length & 0x7f))?;
            rest = after;
            bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
        }
        _ => return None,
    };
    let (contents, after) = rest.split_at_checked(length)?;
    *input = after;
    Some((tag, all.get(..all.len() - after.len())?, contents))
}

fn element<'a>(wanted: u8, input: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut rest = *input;
    let (_, whole, contents) = any(&mut rest).filter(|(tag, _, _)| *tag == wanted)?;
    *input = rest;
    Some((whole, contents))
}

/// Returns the contents of what is one element and nothing else.
fn only(wanted: u8, mut input: &[u8]) -> Option<&[u8]> {
    let (_, contents) = element(wanted, &mut input)?;
    input.is_empty().then_some(contents)
}

fn explicit<'a>(number: u8, input: &mut &'a [u8]) -> Option<&'a [u8]> {
    element(0xa0 | number, input).map(|(_, contents)| contents)
}

/// Returns a string of bits that ends with a byte.
fn whole_bytes(bits: &[u8]) -> Option<&[u8]> {
    bits.strip_prefix(&[0])
}

fn time(input: &mut &[u8]) -> Option<i64> {
    let (tag, _, text) = any(input)?;
    let text = std::str::from_utf8(text.strip_suffix(b"Z")?).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (tag, text.len()) {
        (UTC_TIME, 12) => {
            let year: i64 = text.get(..2)?.parse().ok()?;
            (year + if year < 50 { 2000 } else { 1900 }, text.get(2..)?)
        }
        (GENERALIZED_TIME, 14) => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    let part = |at: usize| rest.get(at..at + 2).and_then(|part| part.parse::<i64>().ok());
    let (month, day) = (part(0)?, part(2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970-01-01, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + part(4)?) * 60 + part(6)?) * 60 + part(8)?)
}
