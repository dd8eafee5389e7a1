//! Recognises the objects that models write nearly always, several times faster than a parser.
//!
//! It may be wrong in one direction only: what it says no to is asked of the parser. So it leaves out whatever is rare or
//! where parsers differ: escapes by number, exponents, long numbers, deep nesting, keys that begin with `$`.

/// Deeper than this is left to the parser.
const DEPTH: u32 = 32;
/// A number of that many digits is finite and exact enough for every parser.
const DIGITS: usize = 15;

/// Whether the text is certainly a JSON object.
pub(super) fn is_object(text: &str) -> bool {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.space();
    scan.peek() == Some(b'{') && scan.value() && {
        scan.space();
        scan.at == scan.bytes.len()
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline(always)]
    fn space(&mut self) {
        // Nearly always there is none.
        while self.peek().is_some_and(|byte| byte <= b' ') {
            if !matches!(self.bytes[self.at], b' ' | b'\n' | b'\t' | b'\r') {
                return;
            }
            self.at += 1;
        }
    }

    /// Reads one value without recursion; what is open is a stack of bits, one for an object.
    fn value(&mut self) -> bool {
        let (mut objects, mut depth) = (0_u64, 0);
        loop {
            self.space();
            let Some(byte) = self.peek() else { return false };
            match byte {
                b'{' | b'[' => {
                    if depth == DEPTH {
                        return false;
                    }
                    self.at += 1;
                    depth += 1;
                    objects = objects << 1 | u64::from(byte == b'{');
                    self.space();
                    let closes = if byte == b'{' { b'}' } else { b']' };
                    if self.peek() != Some(closes) {
                        if byte == b'{' && !self.key() {
                            return false;
                        }
                        continue;
                    }
                }
                b'"' if self.string() => {}
                b't' if self.word(b"true") => {}
                b'f' if self.word(b"false") => {}
                b'n' if self.word(b"null") => {}
                b'-' | b'0'..=b'9' if self.number() => {}
                _ => return false,
            }
            // After a value, whatever it ends is closed, until a comma leads to the next one.
            loop {
                if depth == 0 {
                    return true;
                }
                let in_object = objects & 1 == 1;
                self.space();
                if self.eat(b',') {
                    self.space();
                    if in_object && !self.key() {
                        return false;
                    }
                    break;
                }
                if !self.eat(if in_object { b'}' } else { b']' }) {
                    return false;
                }
                depth -= 1;
                objects >>= 1;
            }
        }
    }

    fn key(&mut self) -> bool {
        let plain = self.bytes.get(self.at + 1) != Some(&b'$');
        if !(plain && self.peek() == Some(b'"') && self.string()) {
            return false;
        }
        self.space();
        self.eat(b':')
    }

    /// Reads a string from its opening quote.
    #[inline]
    fn string(&mut self) -> bool {
        self.at += 1;
        loop {
            let Some(rest) = self.bytes.get(self.at..) else { return false };
            let Some(end) = plain_run(rest) else { return false };
            self.at += end + 1;
            match rest[end] {
                b'"' => return true,
                b'\\' => {
                    let Some(b'"' | b'\\' | b'/' | b'n' | b't' | b'r' | b'b' | b'f') = self.peek() else {
                        return false;
                    };
                    self.at += 1;
                }
                _ => return false,
            }
        }
    }

    fn number(&mut self) -> bool {
        self.eat(b'-');
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let whole = digits(rest);
        if whole == 0 || whole > DIGITS || (rest[0] == b'0' && whole > 1) {
            return false;
        }
        self.at += whole;
        match rest.get(whole) {
            Some(b'.') => {
                let fraction = digits(&rest[whole + 1..]);
                self.at += 1 + fraction;
                (1..=DIGITS).contains(&fraction) && !matches!(self.peek(), Some(b'e' | b'E'))
            }
            Some(b'e' | b'E') => false,
            _ => true,
        }
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let found = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += word.len();
        found
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len())
}

/// Returns where the first byte is that is not simply part of a string: a quote, a backslash, or a control character.
fn plain_run(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let zero = |word: u64| below(word, 1);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, chunk) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        // Bits above the first hit may be wrong, that one is not.
        let hits = zero(word ^ (ONES * u64::from(b'"')))
            | zero(word ^ (ONES * u64::from(b'\\')))
            | below(word, 0x20);
        if hits != 0 {
            return Some(index * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let hit = rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    Some(words.len() * 8 + hit)
}
