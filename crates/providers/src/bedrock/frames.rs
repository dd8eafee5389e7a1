//! AWS's binary event stream: frames with two checksums, cut out of bytes that come in any pieces.
//!
//! A frame is its total length, the length of its headers, a checksum of these eight bytes, the headers, the payload,
//! and a checksum of all before; numbers are big-endian. From AWS's documents and botocore 1.44.5, read 2026-11.

use crate::DecodeError;

// The eight bytes of the lengths and their checksum.
const PRELUDE: usize = 12;
// A frame without headers and payload: the prelude and the last checksum.
const SMALLEST: usize = PRELUDE + 4;
// 128 KiB of headers and 24 MiB of payload: botocore 1.44.5.
const HEADERS: usize = 128 * 1024;
const LIMIT: usize = HEADERS + 24 * 1024 * 1024 + SMALLEST;

/// One frame, as far as we look at it.
#[derive(Default)]
pub(super) struct Frame<'a> {
    /// `event`, `exception` or `error`.
    pub(super) message_type: Option<&'a str>,
    pub(super) event_type: Option<&'a str>,
    pub(super) exception_type: Option<&'a str>,
    pub(super) error_code: Option<&'a str>,
    pub(super) error_message: Option<&'a str>,
    pub(super) payload: &'a [u8],
}

/// Whether a body that begins with this byte is a stream of frames: the first byte of a length within the limit.
pub(super) fn begins(byte: u8) -> bool {
    byte <= 1
}

/// Cuts frames out of bytes; holds at most one that is not complete.
pub(super) struct FrameParser {
    // The most bytes of one frame.
    limit: usize,
    held: Vec<u8>,
    done: bool,
}

impl FrameParser {
    /// Returns a parser of frames of at most so many bytes, or of fewer: the service sends none that are larger than its own
    /// limit.
    pub(super) fn with_limit(limit: usize) -> Self {
        FrameParser {
            limit: limit.saturating_add(HEADERS + SMALLEST).min(LIMIT),
            held: Vec::new(),
            done: false,
        }
    }

    /// Takes in the next bytes and gives out the frames that they complete, until `give` says that it was the last.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        mut give: impl FnMut(&Frame<'_>) -> Result<Last, DecodeError>,
    ) -> Result<(), DecodeError> {
        while !self.done && !bytes.is_empty() {
            // A frame that came whole is read where it lies.
            if self.held.is_empty()
                && let Some(total) = length(bytes, self.limit)?
                && let Some((frame, rest)) = bytes.split_at_checked(total)
            {
                bytes = rest;
                self.done = give(&read(frame)?)? == Last::Yes;
                continue;
            }
            let wanted = length(&self.held, self.limit)?.unwrap_or(PRELUDE);
            let taken = bytes.len().min(wanted.saturating_sub(self.held.len()));
            let (taken, rest) = bytes.split_at(taken);
            self.held.extend_from_slice(taken);
            bytes = rest;
            if length(&self.held, self.limit)? == Some(self.held.len()) {
                self.done = give(&read(&self.held)?)? == Last::Yes;
                self.held.clear();
            }
        }
        Ok(())
    }
}

/// Whether nothing after a frame is of interest.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Last {
    Yes,
    No,
}

/// Returns the length of the frame that begins here, once its prelude is there and right.
fn length(bytes: &[u8], limit: usize) -> Result<Option<usize>, DecodeError> {
    let Some((prelude, _)) = bytes.split_at_checked(PRELUDE) else { return Ok(None) };
    let (lengths, sum) = prelude.split_at(PRELUDE - 4);
    // First, so that no length is believed that was damaged on the way.
    if crc32fast::hash(lengths) != number(sum) {
        return Err(malformed("the checksum of a frame's lengths is wrong", prelude));
    }
    let (total, headers) = lengths.split_at(4);
    let (total, headers) = (number(total) as usize, number(headers) as usize);
    if total > limit {
        return Err(DecodeError::TooLarge { limit });
    }
    if total < SMALLEST || headers > total - SMALLEST {
        return Err(malformed("the lengths of a frame contradict each other", prelude));
    }
    Ok(Some(total))
}

/// Reads a complete frame whose prelude is right.
fn read(frame: &[u8]) -> Result<Frame<'_>, DecodeError> {
    let (body, sum) = frame.split_at_checked(frame.len().saturating_sub(4)).unwrap_or_default();
    if crc32fast::hash(body) != number(sum) {
        return Err(malformed("the checksum of a frame is wrong", body));
    }
    let mut rest = Reader(body);
    let broken = || malformed("the headers of a frame cannot be read", body);
    let (_, headers, _) = (rest.number(4), rest.number(4), rest.number(4));
    let headers = headers.and_then(|length| rest.take(length)).ok_or_else(broken)?;
    let mut read = Frame { payload: rest.0, ..Frame::default() };
    let mut headers = Reader(headers);
    while !headers.0.is_empty() {
        let (name, value) = headers.header().ok_or_else(broken)?;
        let slot = match name {
            b":message-type" => &mut read.message_type,
            b":event-type" => &mut read.event_type,
            b":exception-type" => &mut read.exception_type,
            b":error-code" => &mut read.error_code,
            b":error-message" => &mut read.error_message,
            _ => continue,
        };
        *slot = value.and_then(|value| str::from_utf8(value).ok());
    }
    Ok(read)
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, length: usize) -> Option<usize> {
        self.take(length).map(|bytes| number(bytes) as usize)
    }

    /// Returns the next header's name, and its value if that is text.
    fn header(&mut self) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let length = self.number(1)?;
        let name = self.take(length)?;
        let length = match self.number(1)? {
            // True and false have no value besides their type.
            0 | 1 => 0,
            // Byte, short, integer, long.
            2 => 1,
            3 => 2,
            4 => 4,
            5 => 8,
            6 => self.number(2)?,
            7 => {
                let length = self.number(2)?;
                return Some((name, Some(self.take(length)?)));
            }
            // Time stamp, UUID.
            8 => 8,
            9 => 16,
            _ => return None,
        };
        self.take(length)?;
        Some((name, None))
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn malformed(reason: &str, bytes: &[u8]) -> DecodeError {
    let shown: Vec<String> = bytes.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
    DecodeError::malformed(reason, &shown.join(" "))
}
