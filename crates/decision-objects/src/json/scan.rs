//! The entries of an object, found in one pass over its bytes.
//!
//! Nearly every text is plain, and then this is several times as fast as asking the JSON library for each value. What it
//! takes is JSON; what it does not take may be JSON all the same, and is left to the library, which also says what is
//! wrong with it. So no error comes from here, and nothing is read in two ways.

use std::borrow::Cow;

use super::fields::Entry;

/// How many brackets may be open at once; the JSON library goes deeper, and knows where to stop.
const DEPTH: usize = 32;

/// The entries of a text that is one object with plain keys, in their order; `None` for every other text.
pub(super) fn entries(text: &str) -> Option<Vec<Entry<'_>>> {
    let mut rest = Ahead::open(text)?;
    let mut entries = Vec::with_capacity(12);
    while !rest.ended {
        let key = rest.scan.plain_key()?;
        entries.push(Entry { key: Cow::Borrowed(key), json: rest.under_key()?, taken: false });
    }
    rest.close()?;
    Some(entries)
}

/// An object that is read as its keys come.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    /// At a key, or after the end.
    scan: Scan<'a>,
    ended: bool,
}

impl<'a> Ahead<'a> {
    pub(super) fn open(text: &'a str) -> Option<Self> {
        let mut scan = Scan { text, at: 0 };
        scan.white_space();
        scan.byte(b'{')?;
        scan.white_space();
        let ended = scan.byte(b'}').is_some();
        Some(Self { scan, ended })
    }

    /// The value under the key, if that is the next one.
    pub(super) fn take(&mut self, key: &str) -> Option<&'a str> {
        if self.ended {
            return None;
        }
        let start = self.scan.at;
        let value = match self.scan.plain_key() {
            Some(next) if next == key => self.under_key(),
            _ => None,
        };
        if value.is_none() {
            self.scan.at = start;
        }
        value
    }

    /// Whether nothing was left.
    pub(super) fn close(mut self) -> Option<()> {
        self.scan.white_space();
        (self.ended && self.scan.at == self.scan.text.len()).then_some(())
    }

    fn under_key(&mut self) -> Option<&'a str> {
        self.scan.colon()?;
        let start = self.scan.at;
        self.scan.value(DEPTH)?;
        let value = self.scan.text.get(start..self.scan.at)?;
        self.ended = self.scan.comma_or(b'}')?;
        Some(value)
    }
}

/// The items of a text that is one array, in their order; `None` for every other text.
pub(super) fn items(text: &str) -> Option<Vec<&str>> {
    let mut rest = Scan { text, at: 0 };
    rest.byte(b'[')?;
    rest.white_space();
    let mut items = Vec::new();
    if rest.byte(b']').is_none() {
        loop {
            let start = rest.at;
            rest.value(DEPTH)?;
            items.push(text.get(start..rest.at)?);
            if rest.comma_or(b']')? {
                break;
            }
        }
    }
    (rest.at == text.len()).then_some(items)
}

/// The value that a text begins with.
pub(crate) fn first(text: &str) -> Option<&str> {
    let mut rest = Scan { text, at: 0 };
    rest.value(DEPTH)?;
    text.get(..rest.at)
}

/// A text and how far it was read.
#[derive(Debug)]
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then(|| self.at += 1)
    }

    fn white_space(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn colon(&mut self) -> Option<()> {
        self.white_space();
        self.byte(b':')?;
        self.white_space();
        Some(())
    }

    /// Whether it ends here; if not, a comma stands here and something follows.
    fn comma_or(&mut self, end: u8) -> Option<bool> {
        self.white_space();
        let ends = self.byte(end).is_some();
        if !ends {
            self.byte(b',')?;
            self.white_space();
        }
        Some(ends)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => self.string(),
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.array(depth.checked_sub(1)?),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.byte(b'{')?;
        self.white_space();
        if self.byte(b'}').is_some() {
            return Some(());
        }
        loop {
            self.string()?;
            self.colon()?;
            self.value(depth)?;
            if self.comma_or(b'}')? {
                return Some(());
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.byte(b'[')?;
        self.white_space();
        if self.byte(b']').is_some() {
            return Some(());
        }
        loop {
            self.value(depth)?;
            if self.comma_or(b']')? {
                return Some(());
            }
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    /// A key without escapes.
    fn plain_key(&mut self) -> Option<&'a str> {
        self.byte(b'"')?;
        let start = self.at;
        self.plain();
        let key = self.text.get(start..self.at)?;
        self.byte(b'"')?;
        Some(key)
    }

    fn string(&mut self) -> Option<()> {
        self.byte(b'"')?;
        loop {
            self.plain();
            if self.byte(b'"').is_some() {
                return Some(());
            }
            self.byte(b'\\')?;
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
                // A letter by its number is rare, and the library knows which numbers are letters.
                _ => return None,
            }
        }
    }

    /// Goes on to the next byte that a string cannot hold as it is.
    fn plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let (words, tail) = rest.as_chunks::<8>();
        for word in words {
            let found = marked(u64::from_le_bytes(*word));
            if found != 0 {
                self.at += found.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
        let ends = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        self.at += tail.iter().position(ends).unwrap_or(tail.len());
    }

    fn number(&mut self) -> Option<()> {
        let _sign = self.byte(b'-');
        if self.byte(b'0').is_none() {
            self.digits()?;
        }
        if self.byte(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.next(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.next(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        (digits > 0).then_some(())
    }
}

/// Eight bytes at once: the lowest bit that is set is in the first control character, quote or backslash.
const fn marked(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // A byte that is less borrows its highest bit; a borrow from a neighbour comes only after one that was found.
    const fn less(word: u64, than: u64) -> u64 {
        word.wrapping_sub(EACH * than) & !word
    }
    (less(word, 0x20) | less(word ^ (EACH * 0x22), 1) | less(word ^ (EACH * 0x5c), 1)) & (EACH * 0x80)
}
