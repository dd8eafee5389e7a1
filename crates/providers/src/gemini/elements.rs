//! A JSON array of responses, cut into its elements.
//!
//! Without `alt=sse` the service streams one array, and gateways wrap even a single error in one. Only one element is
//! held at a time.

use crate::DecodeError;

// As for one server-sent event: no honest one comes near it.
const ELEMENT_LIMIT: usize = 16 * 1024 * 1024;

/// Cuts the bytes after the opening bracket.
#[derive(Default)]
pub(super) struct Elements {
    element: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    ended: bool,
}

impl Elements {
    /// Takes in the next bytes and gives out each object that they complete.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(&str) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        for byte in bytes {
            if self.ended {
                break;
            }
            if self.depth == 0 {
                match byte {
                    b' ' | b'\t' | b'\r' | b'\n' | b',' => continue,
                    b']' => {
                        self.ended = true;
                        continue;
                    }
                    b'{' => {}
                    _ => {
                        let found = char::from(*byte).escape_default().to_string();
                        return Err(DecodeError::malformed(
                            "an array of something else than objects",
                            &found,
                        ));
                    }
                }
            }
            if self.element.len() >= ELEMENT_LIMIT {
                return Err(DecodeError::TooLarge { limit: ELEMENT_LIMIT });
            }
            self.element.push(*byte);
            self.follow(*byte);
            if self.depth == 0 {
                give(str::from_utf8(&self.element).map_err(|_| DecodeError::NotUtf8)?)?;
                self.element.clear();
            }
        }
        Ok(())
    }

    fn follow(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }
}
