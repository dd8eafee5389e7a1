//! Recognises the objects that models write nearly always, several times faster than a parser.
//!
//! It may be wrong in one direction only: what it says no to is asked of the parser. So it leaves out whatever is rare or
//! where parsers differ: escapes by number, exponents, long numbers, deep nesting, keys that begin with `$`.
//!
//! Each reader takes the text from where it begins and returns what follows, or nothing if it is unsure. Keys and values
//! are short, so that a call would cost as much as what it reads; hence the many `inline`.

/// Deeper than this is left to the parser.
const DEPTH: u32 = 32;
/// A number of that many digits is finite and exact enough for every parser.
const DIGITS: usize = 15;

/// Whether the text is certainly a JSON object.
pub(super) fn is_object(text: &str) -> bool {
    let text = after_space(text.as_bytes());
    text.first() == Some(&b'{') && after_value(text).is_some_and(|rest| after_space(rest).is_empty())
}

#[inline(always)]
fn after_space(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\n' | b'\t' | b'\r', rest @ ..] = text {
        text = rest;
    }
    text
}

/// Reads one value without recursion; what is open is a stack of bits, one for an object.
fn after_value(mut text: &[u8]) -> Option<&[u8]> {
    let (mut objects, mut depth) = (0_u64, 0);
    loop {
        text = after_space(text);
        let (first, rest) = text.split_first()?;
        text = match first {
            b'{' | b'[' => {
                if depth == DEPTH {
                    return None;
                }
                let in_object = *first == b'{';
                depth += 1;
                objects = objects << 1 | u64::from(in_object);
                let rest = after_space(rest);
                let closes = if in_object { b'}' } else { b']' };
                if rest.first() != Some(&closes) {
                    text = if in_object { after_key(rest)? } else { rest };
                    continue;
                }
                rest
            }
            b'"' => after_string(rest)?,
            b't' => rest.strip_prefix(b"rue")?,
            b'f' => rest.strip_prefix(b"alse")?,
            b'n' => rest.strip_prefix(b"ull")?,
            b'-' => after_number(rest)?,
            _ => after_number(text)?,
        };
        // After a value, whatever it ends is closed, until a comma leads to the next one.
        loop {
            if depth == 0 {
                return Some(text);
            }
            let in_object = objects & 1 == 1;
            match after_space(text) {
                [b',', rest @ ..] => {
                    text = if in_object { after_key(after_space(rest))? } else { rest };
                    break;
                }
                [b'}', rest @ ..] if in_object => text = rest,
                [b']', rest @ ..] if !in_object => text = rest,
                _ => return None,
            }
            depth -= 1;
            objects >>= 1;
        }
    }
}

#[inline(always)]
fn after_key(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'"', b'$', ..] => None,
        [b'"', rest @ ..] => after_space(after_string(rest)?).strip_prefix(b":"),
        _ => None,
    }
}

/// Reads a string from behind its opening quote.
#[inline(always)]
fn after_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        match after_plain(text) {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', b'"' | b'\\' | b'/' | b'n' | b't' | b'r' | b'b' | b'f', rest @ ..] => text = rest,
            _ => return None,
        }
    }
}

/// Reads a number from behind its sign.
#[inline(always)]
fn after_number(text: &[u8]) -> Option<&[u8]> {
    let rest = after_digits(text);
    let whole = text.len() - rest.len();
    if whole == 0 || whole > DIGITS || (whole > 1 && text.starts_with(b"0")) {
        return None;
    }
    let rest = match rest {
        [b'.', rest @ ..] => {
            let behind = after_digits(rest);
            if !(1..=DIGITS).contains(&(rest.len() - behind.len())) {
                return None;
            }
            behind
        }
        _ => rest,
    };
    if let [b'e' | b'E', ..] = rest { None } else { Some(rest) }
}

fn after_digits(mut text: &[u8]) -> &[u8] {
    while let [b'0'..=b'9', rest @ ..] = text {
        text = rest;
    }
    text
}

/// Leaves out what is simply part of a string: all but quotes, backslashes and control characters.
#[inline(always)]
fn after_plain(mut text: &[u8]) -> &[u8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit);
    let flip = |word: u64, bits: u8| word ^ (ONES * u64::from(bits));
    while let Some((chunk, rest)) = text.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        // Flipped, a quote follows the control characters and is found with them; a backslash becomes zero.
        let found = below(flip(word, b'"' ^ 0x20), 0x21) | below(flip(word, b'\\'), 1);
        // Bits above the first hit may be wrong, that one is not.
        let hits = found & !word & HIGH;
        if hits != 0 {
            return &text[hits.trailing_zeros() as usize / 8..];
        }
        text = rest;
    }
    while let [byte, rest @ ..] = text
        && !matches!(byte, b'"' | b'\\' | 0..0x20)
    {
        text = rest;
    }
    text
}
