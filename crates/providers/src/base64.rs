//! Standard base64 with padding: bodies of cassettes that are no text, and documents that a wire wants as text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns bytes as text.
pub(crate) fn print(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = ALPHABET.get((bits >> (18 - 6 * place)) as usize & 63).copied().unwrap_or(b'A');
            text.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// Returns the bytes of a text; `None` if it is not exactly what [`print`] writes.
pub(crate) fn parse(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let digits = group.iter().take_while(|digit| **digit != b'=').count();
        let padded = group.iter().skip(digits).all(|digit| *digit == b'=');
        if group.len() != 4 || digits < 2 || !padded {
            return None;
        }
        let mut bits = 0;
        for place in 0..4 {
            let digit = group.get(place).filter(|_| place < digits).unwrap_or(&b'A');
            let value = ALPHABET.iter().position(|known| known == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bytes.extend(bits.to_be_bytes().iter().skip(1).take(digits - 1));
    }
    // Padding in the middle, or bits that no byte has.
    (print(&bytes) == text).then_some(bytes)
}
