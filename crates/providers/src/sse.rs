//! Server-sent events, cut out of bytes that may be split anywhere.
//!
//! Follows the WHATWG text on event streams (read 2026-11) where it matters here: `\n`, `\r\n` and `\r` end a line, a
//! byte-order mark may lead, `data` lines are joined by `\n`, comments are ignored, and an event that no blank line
//! ended is never given out. `id` and `retry` are ignored: a model's answer cannot be resumed.

use crate::DecodeError;

// No honest event comes near it; whole answers of models are smaller. Bounds memory against a hostile endpoint.
const EVENT_LIMIT: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// The `event` field; empty if there was none.
    pub name: &'a str,
    /// The `data` lines, joined.
    pub data: &'a str,
}

/// Cuts bytes into events.
///
/// ```
/// use trunkline_providers::SseParser;
///
/// let mut parser = SseParser::new();
/// let mut seen = Vec::new();
/// for byte in "\u{feff}data: gr\r\ndata: üß\r\n\r\n: comment\n\ndata: never ended".bytes() {
///     parser.push(&[byte], |event| Ok(seen.push(event.data.to_owned())))?;
/// }
/// assert_eq!(seen, ["gr\nüß"]);
/// # Ok::<(), trunkline_providers::DecodeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SseParser {
    // The beginning of a line whose end has not come.
    partial: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    // The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    begun: bool,
}

impl SseParser {
    /// Returns a parser at the beginning of a stream.
    pub fn new() -> Self {
        SseParser::default()
    }

    /// Takes in the next bytes and gives out each event that they complete.
    ///
    /// # Errors
    ///
    /// [`DecodeError::TooLarge`] above 16 MiB for one event, [`DecodeError::NotUtf8`], and whatever `give` returns.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(SseEvent<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, tail) = rest.split_at(at);
            rest = match tail {
                [b'\r', b'\n', tail @ ..] => tail,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, tail @ ..] => tail,
                [] => &[],
            };
            if self.partial.is_empty() {
                self.line(line, &mut give)?;
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.line(&whole, &mut give)?;
                whole.clear();
                self.partial = whole;
            }
        }
        self.partial.extend_from_slice(rest);
        if self.partial.len() + self.data.len() > EVENT_LIMIT {
            return Err(DecodeError::TooLarge { limit: EVENT_LIMIT });
        }
        Ok(())
    }

    fn line(
        &mut self,
        line: &[u8],
        give: &mut impl FnMut(SseEvent<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        // The same sum as for a line whose end has not come: the outcome does not depend on where the bytes were cut.
        if line.len() + self.data.len() > EVENT_LIMIT {
            return Err(DecodeError::TooLarge { limit: EVENT_LIMIT });
        }
        let line = if self.begun { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            return self.dispatch(give);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let value = line.get(colon + 1..).unwrap_or_default();
                (line.get(..colon).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        give: &mut impl FnMut(SseEvent<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.has_data {
            let name = str::from_utf8(&self.name).map_err(|_| DecodeError::NotUtf8)?;
            let data = str::from_utf8(&self.data).map_err(|_| DecodeError::NotUtf8)?;
            give(SseEvent { name, data })?;
        }
        self.has_data = false;
        self.name.clear();
        self.data.clear();
        Ok(())
    }
}
