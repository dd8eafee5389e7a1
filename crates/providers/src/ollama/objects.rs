//! Cuts a body into JSON objects.
//!
//! A stream has one object on each line; an answer that was asked for whole is one object, which servers and gateways
//! also print over several lines. So it is the braces that are counted, and line breaks are white space, until the
//! first object has shown that it lies on one line: from there on a line that ends too early is a broken one. So is one
//! that ends inside of a string. The next line is read again.

use crate::sse::EVENT_LIMIT;
use crate::{DecodeError, error};

// As much of what is no JSON as an error message can show.
const STRAY_LIMIT: usize = 200;

/// What is to be done with the rest of the body.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Rest {
    Read,
    Ignore,
}

/// What was found.
pub(super) enum Found<'a> {
    Object(&'a [u8]),
    /// A line that is none, and what is wrong with it.
    Stray(DecodeError),
}

/// Cuts bytes into objects.
pub(super) struct Objects {
    // The most bytes of one object.
    limit: usize,
    // The beginning of an object whose end has not come.
    partial: Vec<u8>,
    // How many braces and brackets are open.
    depth: usize,
    in_string: bool,
    escaped: bool,
    // Whether there was a line break inside this object.
    broken: bool,
    // Whether an object has begun, and whether one has shown that objects do not span lines.
    begun: bool,
    one_a_line: bool,
    // What stands where an object should begin; collected so that the error shows more than one byte of it.
    stray: Option<Vec<u8>>,
    over: bool,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            limit: EVENT_LIMIT,
            partial: Vec::new(),
            depth: 0,
            in_string: false,
            escaped: false,
            broken: false,
            begun: false,
            one_a_line: false,
            stray: None,
            over: false,
        }
    }
}

impl Objects {
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes in the next bytes and gives out each object that they complete.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(Found<'_>) -> Result<Rest, DecodeError>,
    ) -> Result<(), DecodeError> {
        // Where the object in hand begins in these bytes.
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.over {
                return Ok(());
            }
            if let Some(stray) = &mut self.stray {
                if matches!(byte, b'\n' | b'\r') {
                    let fault = not_json(stray);
                    self.stray = None;
                    give(Found::Stray(fault))?;
                } else if stray.len() < STRAY_LIMIT {
                    stray.push(*byte);
                }
                continue;
            }
            if self.depth == 0 {
                match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => {}
                    // A byte-order mark.
                    0xef | 0xbb | 0xbf if !self.begun => {}
                    b'<' if !self.begun => return Err(DecodeError::Html),
                    b'{' => {
                        (self.depth, self.begun, self.broken) = (1, true, false);
                        start = at;
                    }
                    other => self.stray = Some(vec![*other]),
                }
                continue;
            }
            if !self.inside(*byte) {
                continue;
            }
            let tail = bytes.get(start..=at).unwrap_or_default();
            if self.depth > 0 {
                let fault = self.broken_line(tail);
                (self.depth, self.in_string, self.escaped) = (0, false, false);
                self.partial = Vec::new();
                give(Found::Stray(fault))?;
                continue;
            }
            let rest = if self.partial.is_empty() {
                self.object(tail, &mut give)?
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(tail);
                self.object(&whole, &mut give)?
            };
            self.over = rest == Rest::Ignore;
            self.one_a_line |= !self.broken;
        }
        if self.depth > 0 && !self.over {
            self.partial.extend_from_slice(bytes.get(start..).unwrap_or_default());
            if self.partial.len() > self.limit {
                return Err(DecodeError::TooLarge { limit: self.limit });
            }
        }
        Ok(())
    }

    /// Ends the body. A last object needs no line break after it.
    pub(super) fn finish(&mut self) -> Result<(), DecodeError> {
        match &self.stray {
            Some(stray) => Err(not_json(stray)),
            None if self.depth > 0 => Err(DecodeError::Cut),
            None => Ok(()),
        }
    }

    /// Takes in a byte of an object; returns whether the object, or the line that it should be on, ends with it.
    fn inside(&mut self, byte: u8) -> bool {
        if matches!(byte, b'\n' | b'\r') {
            self.broken = true;
            return self.one_a_line || self.in_string;
        }
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }

    fn object(
        &self,
        bytes: &[u8],
        give: &mut impl FnMut(Found<'_>) -> Result<Rest, DecodeError>,
    ) -> Result<Rest, DecodeError> {
        // The same for an object that came at once: the outcome does not depend on where the bytes were cut.
        if bytes.len() > self.limit {
            return Err(DecodeError::TooLarge { limit: self.limit });
        }
        give(Found::Object(bytes))
    }

    fn broken_line(&self, tail: &[u8]) -> DecodeError {
        let line: Vec<u8> = self.partial.iter().chain(tail).take(4 * STRAY_LIMIT).copied().collect();
        DecodeError::malformed("a line ends inside its JSON object", &String::from_utf8_lossy(&line))
    }
}

fn not_json(stray: &[u8]) -> DecodeError {
    DecodeError::Malformed {
        reason: "not a JSON object".to_owned(),
        excerpt: error::one_line(&String::from_utf8_lossy(stray), STRAY_LIMIT),
    }
}
