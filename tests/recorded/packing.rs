//! Undoes what a transport and a recorder did to the bytes of a body.

use std::io::Read as _;

use flate2::read::{MultiGzDecoder, ZlibDecoder};

// Far more than any recording; a bomb ends here.
const LIMIT: u64 = 256 * 1024 * 1024;

/// Undoes the packing that the headers name, or that the bytes show.
///
/// # Errors
///
/// Words for a person if the packing is broken, or one that is not read here.
pub(super) fn unpack(body: Vec<u8>, headers: &[(String, String)]) -> Result<Vec<u8>, String> {
    let encoding = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
    let encoding = encoding.map(|(_, value)| value.trim().to_ascii_lowercase()).unwrap_or_default();
    if body.starts_with(&[0x1f, 0x8b]) {
        return all(MultiGzDecoder::new(body.as_slice()), "gzip");
    }
    // Recorders unpack a body and leave the header as it was: text is what it looks like.
    if body.is_empty() || std::str::from_utf8(&body).is_ok() {
        return Ok(body);
    }
    match encoding.as_str() {
        "deflate" => all(ZlibDecoder::new(body.as_slice()), "deflate"),
        "br" | "zstd" | "compress" => Err(format!("packed with {encoding}, which is not read here")),
        _ => Ok(body),
    }
}

fn all(reader: impl std::io::Read, packing: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader
        .take(LIMIT)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("packed with {packing}, and broken: {error}"))?;
    Ok(bytes)
}

/// Returns what a text in base64 stands for, in either alphabet, with or without padding and line breaks.
///
/// # Errors
///
/// Words for a person if it is not base64.
pub(super) fn base64(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace() && *letter != b'=') {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            other => return Err(format!("{:?} is no letter of base64", char::from(other))),
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap_or_default());
        }
    }
    Ok(bytes)
}
