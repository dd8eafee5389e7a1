//! The arguments of a call while they come in: what a piece adds, and what it only says again.
//!
//! By the specifications a piece is more of the same. Some servers send all of it again at the end, some in every piece
//! all that there is so far. A piece is taken for a repetition only where it cannot be anything else: where all of it was
//! said already, or where the arguments could not go on with it in any way.

use serde_json::Value;

/// How far JSON has come that should be one object; holds none of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    begun: bool,
    // The last byte that was no white space.
    last: u8,
}

impl Scan {
    /// Takes in the next piece.
    pub(crate) fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if !byte.is_ascii_whitespace() {
                (self.begun, self.last) = (true, byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Returns whether an object or a list has begun and ended.
    pub(crate) fn is_whole(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string && matches!(self.last, b'}' | b']')
    }
}

/// The arguments of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    sent: String,
    scan: Scan,
}

impl Arguments {
    /// Returns what came so far.
    pub(crate) fn sent(&self) -> &str {
        &self.sent
    }

    /// Returns whether an object or a list has begun and ended.
    pub(crate) fn is_whole(&self) -> bool {
        self.scan.is_whole()
    }

    /// Takes in a piece and returns what of it is new.
    pub(crate) fn more<'a>(&mut self, piece: &'a str) -> &'a str {
        let new = match piece.strip_prefix(self.sent.as_str()) {
            _ if self.sent.is_empty() => piece,
            _ if self.scan.is_whole() && says_the_same(&self.sent, piece) => "",
            Some(rest) if self.cannot_go_on_with_itself() => rest,
            _ => piece,
        };
        self.sent.push_str(new);
        self.scan.push(new);
        new
    }

    /// Returns whether the arguments, followed by their own beginning, could never become JSON, whatever came then.
    fn cannot_go_on_with_itself(&self) -> bool {
        let Some(inside) = self.sent.strip_prefix('{') else { return false };
        if self.scan.in_string {
            // `{"` would end the string, and what follows there is none of what may follow a string.
            let key = inside.strip_prefix('"').and_then(|key| key.chars().next());
            return !self.scan.escaped
                && key.is_some_and(|c| !c.is_whitespace() && !matches!(c, ':' | ',' | '}' | ']'));
        }
        // An object cannot begin here: behind a value, behind what opens an object, or behind the end.
        self.scan.is_whole() || !matches!(self.scan.last, b':' | b'[' | b',')
    }
}

fn says_the_same(sent: &str, piece: &str) -> bool {
    if sent.trim() == piece.trim() {
        return true;
    }
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    piece.trim_start().starts_with(['{', '[']) && read(piece).is_some_and(|piece| read(sent) == Some(piece))
}
