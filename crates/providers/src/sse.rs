//! Server-sent events, cut out of bytes that may be split anywhere.
//!
//! Follows the WHATWG text on event streams (read 2026-11) where it matters here: `\n`, `\r\n` and `\r` end a line, a
//! byte-order mark may lead, `data` lines are joined by `\n`, comments are ignored, and an event that no blank line
//! ended is never given out. `id` and `retry` are ignored: a model's answer cannot be resumed.

use crate::DecodeError;

// No honest event comes near it; whole answers of models are smaller. Bounds memory against a hostile endpoint, where
// nobody sets another bound: see `Bounds`.
pub(crate) const EVENT_LIMIT: usize = 16 * 1024 * 1024;

// More than nearly every event; what a larger one needed is given back.
const KEPT_CAPACITY: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
#[derive(Clone, Debug)]
pub struct SseParser {
    // The most bytes of one event.
    limit: usize,
    // The beginning of a line whose end has not come.
    partial: Vec<u8>,
    // Fields of the open event that came in earlier pieces.
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    // The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    begun: bool,
}

/// Fields of the open event that lie whole in the piece that is being read; they are copied only if its end does not.
#[derive(Default)]
struct Here<'a> {
    name: Option<&'a [u8]>,
    data: Option<&'a [u8]>,
}

/// An event whose fields may be no text.
#[derive(Copy, Clone)]
pub(crate) struct Bytes<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl Default for SseParser {
    fn default() -> Self {
        SseParser::with_limit(EVENT_LIMIT)
    }
}

impl SseParser {
    /// Returns a parser at the beginning of a stream.
    pub fn new() -> Self {
        SseParser::default()
    }

    /// The same for events of at most so many bytes.
    pub(crate) fn with_limit(limit: usize) -> Self {
        SseParser {
            limit,
            partial: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            begun: false,
        }
    }

    /// Returns how many bytes of an event that has not ended are kept.
    pub fn buffered(&self) -> usize {
        self.partial.len() + self.name.len() + self.data.len()
    }

    /// Takes in the next bytes and gives out each event that they complete; what is no UTF-8 in it is U+FFFD.
    ///
    /// # Errors
    ///
    /// [`DecodeError::TooLarge`] above 16 MiB for one event, and whatever `give` returns.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(SseEvent<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.push_bytes(bytes, |event| {
            let (name, data) = (String::from_utf8_lossy(event.name), String::from_utf8_lossy(event.data));
            give(SseEvent { name: &name, data: &data })
        })
    }

    /// The same, and gives out the bytes as they came.
    pub(crate) fn push_bytes(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(Bytes<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut here = Here::default();
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
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
                if line.is_empty() && self.begun {
                    self.dispatch(&mut here, &mut give)?;
                } else {
                    self.line(line, &mut here, &mut give)?;
                }
            } else {
                self.partial.extend_from_slice(line);
                self.partial_line(&mut here, &mut give)?;
            }
        }
        self.keep(&mut here);
        self.partial.extend_from_slice(rest);
        self.check(0)
    }

    /// Takes in a line that lies whole in the piece that is being read.
    fn line<'a>(
        &mut self,
        line: &'a [u8],
        here: &mut Here<'a>,
        give: &mut impl FnMut(Bytes<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let held = here.name.map_or(0, <[u8]>::len) + here.data.map_or(0, <[u8]>::len);
        // The same sum as for a line whose end has not come: the outcome does not depend on where the bytes were cut.
        self.check(held + line.len())?;
        let line = if self.begun { line } else { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) };
        self.begun = true;
        match Field::of(line) {
            Field::End => self.dispatch(here, give)?,
            Field::Data(value) if here.data.is_none() && !self.has_data => here.data = Some(value),
            Field::Data(value) => {
                self.keep(here);
                self.add_data(value);
            }
            Field::Name(value) => {
                self.name.clear();
                here.name = Some(value);
            }
            Field::Other => {}
        }
        Ok(())
    }

    /// Takes in the line that `partial` holds.
    fn partial_line<'a>(
        &mut self,
        here: &mut Here<'a>,
        give: &mut impl FnMut(Bytes<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        // Everything before it came in earlier pieces, so that nothing of the event is only `here`.
        self.check(0)?;
        let mut partial = std::mem::take(&mut self.partial);
        if !std::mem::replace(&mut self.begun, true) && partial.starts_with(BYTE_ORDER_MARK) {
            partial.drain(..BYTE_ORDER_MARK.len());
        }
        match Field::of(&partial) {
            Field::End => self.dispatch(here, give)?,
            // The line's own buffer becomes the event's: a large event is not held twice.
            Field::Data(value) if !self.has_data => {
                let start = partial.len() - value.len();
                partial.drain(..start);
                std::mem::swap(&mut self.data, &mut partial);
                self.has_data = true;
            }
            Field::Data(value) => self.add_data(value),
            Field::Name(value) => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            Field::Other => {}
        }
        partial.clear();
        self.partial = partial;
        Ok(())
    }

    /// Copies what would be gone with the piece that is being read.
    fn keep(&mut self, here: &mut Here<'_>) {
        if let Some(name) = here.name.take() {
            self.name.extend_from_slice(name);
        }
        if let Some(data) = here.data.take() {
            self.add_data(data);
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn check(&self, more: usize) -> Result<(), DecodeError> {
        if self.buffered() + more > self.limit {
            return Err(DecodeError::TooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        here: &mut Here<'_>,
        give: &mut impl FnMut(Bytes<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let Here { name, data } = std::mem::take(here);
        if self.has_data || data.is_some() {
            give(Bytes { name: name.unwrap_or(&self.name), data: data.unwrap_or(&self.data) })?;
        }
        self.has_data = false;
        self.name.clear();
        // One large event does not cost its memory for the rest of the stream.
        if self.data.capacity() > KEPT_CAPACITY {
            self.data = Vec::new();
        }
        self.data.clear();
        Ok(())
    }
}

/// What a line says.
enum Field<'a> {
    End,
    Data(&'a [u8]),
    Name(&'a [u8]),
    Other,
}

impl Field<'_> {
    fn of(line: &[u8]) -> Field<'_> {
        if let Some(value) = line.strip_prefix(b"data:") {
            return Field::Data(value.strip_prefix(b" ").unwrap_or(value));
        }
        if let Some(value) = line.strip_prefix(b"event:") {
            return Field::Name(value.strip_prefix(b" ").unwrap_or(value));
        }
        match line {
            b"" => Field::End,
            b"data" => Field::Data(&[]),
            b"event" => Field::Name(&[]),
            _ => Field::Other,
        }
    }
}
