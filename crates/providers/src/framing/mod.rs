//! Tells what kind of body a service really sent.
//!
//! Asked for a stream, some servers answer with one JSON value, some pack what nobody asked them to pack, and a wrong base
//! URL answers with a web page, all with status 200. The first byte that is not white space settles it, whatever the headers
//! say.

mod array;
mod packed;

use self::array::Elements;
pub(crate) use self::packed::{Unpack, unpacked};
use crate::sse::{SseEvent, SseParser};
use crate::{DecodeError, error};

// A whole answer; bounds memory against a hostile endpoint.
const JSON_LIMIT: usize = 64 * 1024 * 1024;
// As much of a body that is nothing we know as an error message can show.
const HEAD_LIMIT: usize = 200;

/// One event of a stream, or the whole body if it is one JSON object.
///
/// A body that is a JSON array is a stream in another dress: each element is an event without a name.
pub(crate) enum Frame<'a> {
    Event(SseEvent<'a>),
    Whole(&'a str),
}

/// Cuts a body into frames.
#[derive(Default)]
pub(crate) struct Framing {
    body: Body,
    head: Vec<u8>,
    seen: bool,
    unpack: Unpack,
}

#[derive(Default)]
enum Body {
    #[default]
    Unknown,
    Events(SseParser),
    Json(Vec<u8>),
    Array(Elements),
}

impl Framing {
    /// Takes in the next bytes and gives out what they complete.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(Frame<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut unpack = std::mem::take(&mut self.unpack);
        let outcome = unpack.push(bytes, |bytes| self.plain(bytes, &mut give));
        self.unpack = unpack;
        outcome
    }

    fn plain(
        &mut self,
        bytes: &[u8],
        give: &mut impl FnMut(Frame<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let room = HEAD_LIMIT.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(room));
        let mut bytes = bytes;
        if matches!(self.body, Body::Unknown) {
            // White space and a byte-order mark before the first word mean nothing in all kinds of body.
            let skipped = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf);
            let start = bytes.iter().position(|byte| !skipped(byte)).unwrap_or(bytes.len());
            bytes = bytes.get(start..).unwrap_or_default();
            self.body = match bytes.first() {
                None => return Ok(()),
                Some(b'<') => return Err(DecodeError::Html),
                Some(b'{') => Body::Json(Vec::new()),
                Some(b'[') => Body::Array(Elements::default()),
                Some(_) => Body::Events(SseParser::new()),
            };
        }
        let seen = &mut self.seen;
        match &mut self.body {
            Body::Unknown => Ok(()),
            Body::Events(parser) => parser.push(bytes, |event| {
                *seen = true;
                give(Frame::Event(event))
            }),
            Body::Array(elements) => {
                elements.push(bytes, |data| give(Frame::Event(SseEvent { name: "", data })))
            }
            Body::Json(whole) => {
                if whole.len() + bytes.len() > JSON_LIMIT {
                    return Err(DecodeError::TooLarge { limit: JSON_LIMIT });
                }
                whole.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Ends the body; gives it out if it is one JSON object.
    ///
    /// Ask only if the message has not ended: what was cut behind its end is no loss.
    pub(crate) fn finish(
        &mut self,
        mut give: impl FnMut(Frame<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        match std::mem::take(&mut self.body) {
            Body::Json(whole) => {
                let text = match str::from_utf8(&whole) {
                    Ok(text) => text,
                    // Cut inside of a character: cut, not malformed.
                    Err(fault) if fault.error_len().is_none() => return Err(DecodeError::Cut),
                    Err(_) => return Err(DecodeError::NotUtf8),
                };
                // A body that ends inside its object was cut, not malformed.
                match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                    Err(fault) if fault.is_eof() || is_at_end(&fault, text) => Err(DecodeError::Cut),
                    _ => give(Frame::Whole(text)),
                }
            }
            Body::Events(_) if !self.seen && !looks_like_events(&self.head) => Err(DecodeError::Malformed {
                reason: "neither events nor JSON".to_owned(),
                excerpt: error::one_line(&String::from_utf8_lossy(&self.head), HEAD_LIMIT),
            }),
            Body::Array(elements) if !elements.is_over() => Err(DecodeError::Cut),
            _ if self.unpack.is_cut() => Err(DecodeError::Cut),
            Body::Events(_) | Body::Array(_) | Body::Unknown => Ok(()),
        }
    }
}

/// Whether nothing follows what is wrong, as in a number that ends in its point. A body that is whole ends in a brace.
fn is_at_end(fault: &serde_json::Error, text: &str) -> bool {
    let (lines, last) = (text.split('\n').count(), text.rsplit('\n').next().unwrap_or_default());
    !text.ends_with('}') && fault.line() == lines && fault.column() >= last.len()
}

fn looks_like_events(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    // Either may be shorter: a stream that was cut inside its first word was a stream.
    ["data", "event", "id", "retry", ":"]
        .iter()
        .any(|field| head.starts_with(field.as_bytes()) || field.as_bytes().starts_with(head))
}
