//! Cuts a body into JSON objects.
//!
//! A stream has one object on each line; an answer that was asked for whole is one object, which servers and gateways
//! also print over several lines. So it is the braces that are counted, and line breaks are white space, until the
//! first object has shown that it lies on one line: from there on a line that ends too early is a broken one.

use crate::{DecodeError, error};

// No honest line comes near it; whole answers of models are smaller. Bounds memory against a hostile endpoint.
const OBJECT_LIMIT: usize = 16 * 1024 * 1024;
// As much of what is no JSON as an error message can show.
const STRAY_LIMIT: usize = 200;

/// What is to be done with the rest of the body.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Rest {
    Read,
    Ignore,
}

/// Cuts bytes into objects.
#[derive(Default)]
pub(super) struct Objects {
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

impl Objects {
    /// Takes in the next bytes and gives out each object that they complete.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(&str) -> Result<Rest, DecodeError>,
    ) -> Result<(), DecodeError> {
        // Where the object in hand begins in these bytes.
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.over {
                return Ok(());
            }
            if let Some(stray) = &mut self.stray {
                if matches!(byte, b'\n' | b'\r') || stray.len() >= STRAY_LIMIT {
                    return Err(not_json(stray));
                }
                stray.push(*byte);
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
                return Err(self.broken_line(tail));
            }
            let rest = if self.partial.is_empty() {
                object(tail, &mut give)?
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(tail);
                object(&whole, &mut give)?
            };
            self.over = rest == Rest::Ignore;
            self.one_a_line |= !self.broken;
        }
        if self.depth > 0 && !self.over {
            self.partial.extend_from_slice(bytes.get(start..).unwrap_or_default());
            if self.partial.len() > OBJECT_LIMIT {
                return Err(DecodeError::TooLarge { limit: OBJECT_LIMIT });
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
            return self.one_a_line;
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

    fn broken_line(&self, tail: &[u8]) -> DecodeError {
        let line: Vec<u8> = self.partial.iter().chain(tail).take(4 * STRAY_LIMIT).copied().collect();
        DecodeError::malformed("a line ends inside its JSON object", &String::from_utf8_lossy(&line))
    }
}

fn object(
    bytes: &[u8],
    give: &mut impl FnMut(&str) -> Result<Rest, DecodeError>,
) -> Result<Rest, DecodeError> {
    // The same for an object that came at once: the outcome does not depend on where the bytes were cut.
    if bytes.len() > OBJECT_LIMIT {
        return Err(DecodeError::TooLarge { limit: OBJECT_LIMIT });
    }
    give(str::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8)?)
}

fn not_json(stray: &[u8]) -> DecodeError {
    DecodeError::Malformed {
        reason: "not a JSON object".to_owned(),
        excerpt: error::one_line(&String::from_utf8_lossy(stray), STRAY_LIMIT),
    }
}
