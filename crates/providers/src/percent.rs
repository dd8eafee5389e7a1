//! Percent-encoding, as AWS wants it: of everything that is not plainly harmless.

use std::fmt::Write as _;

/// Appends bytes, with all but letters, digits and `-._~` percent-encoded.
pub(crate) fn encode_into(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
}
