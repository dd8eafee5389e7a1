//! A stream that comes as one JSON array: each element is given out as soon as it is whole.

use crate::DecodeError;

/// Cuts an array into its elements.
pub(super) struct Elements {
    // The most bytes of one element.
    limit: usize,
    at: At,
    // The element that has begun.
    element: Vec<u8>,
    // How many braces and brackets are open in it.
    depth: usize,
    text: InText,
}

#[derive(Clone, Copy, PartialEq)]
enum At {
    /// Before the array.
    Start,
    /// Between two elements.
    Gap,
    Element,
    /// Behind the array.
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum InText {
    No,
    Yes,
    /// Behind a backslash.
    Escaped,
}

impl Elements {
    pub(super) fn with_limit(limit: usize) -> Self {
        Elements { limit, at: At::Start, element: Vec::new(), depth: 0, text: InText::No }
    }

    /// Returns whether the array has ended.
    pub(super) fn is_over(&self) -> bool {
        self.at == At::End
    }

    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        // Where in `bytes` the part of the open element begins that is not kept yet.
        let mut begin = 0;
        for (at, byte) in bytes.iter().enumerate() {
            match self.at {
                At::Start => self.at = At::Gap,
                At::Gap => match byte {
                    b']' => self.at = At::End,
                    b',' | b' ' | b'\t' | b'\r' | b'\n' => {}
                    _ => {
                        self.at = At::Element;
                        begin = at;
                        self.step(*byte);
                    }
                },
                At::Element => {
                    // A number or a word ends with what follows it.
                    let bare = self.depth == 0 && self.text == InText::No;
                    let ends_before = bare && matches!(byte, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                    if !ends_before {
                        self.step(*byte);
                    }
                    let closed = self.depth == 0 && self.text == InText::No && matches!(byte, b'}' | b']');
                    let ends = ends_before || closed;
                    if ends {
                        let end = at + usize::from(!ends_before);
                        self.keep(bytes.get(begin..end).unwrap_or_default())?;
                        self.at = if ends_before && *byte == b']' { At::End } else { At::Gap };
                        give(&self.element)?;
                        self.element.clear();
                    }
                }
                At::End => break,
            }
        }
        if self.at == At::Element {
            self.keep(bytes.get(begin..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if self.element.len() + bytes.len() > self.limit {
            return Err(DecodeError::TooLarge { limit: self.limit });
        }
        self.element.extend_from_slice(bytes);
        Ok(())
    }

    fn step(&mut self, byte: u8) {
        self.text = match (self.text, byte) {
            (InText::Yes, b'\\') => InText::Escaped,
            (InText::No, b'"') => InText::Yes,
            (InText::Yes, b'"') => InText::No,
            (InText::No, b'{' | b'[') => {
                self.depth += 1;
                InText::No
            }
            (InText::No, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                InText::No
            }
            (InText::No, _) => InText::No,
            _ => InText::Yes,
        };
    }
}
