//! Tells what kind of body a service really sent.
//!
//! Asked for a stream, some servers answer with one JSON value, some pack what nobody asked them to pack, and a wrong base
//! URL answers with a web page, all with status 200. The first byte that is not white space settles it, whatever the headers
//! say.

mod array;
mod packed;

use std::borrow::Cow;

use self::array::Elements;
pub(crate) use self::packed::{Unpack, unpacked};
use crate::sse::{EVENT_LIMIT, SseEvent, SseParser};
use crate::{DecodeError, Event, error, mend};

// As much of a body that is nothing we know as an error message can show.
const HEAD_LIMIT: usize = 200;

/// One event of a stream, or the whole body if it is one JSON object.
///
/// A body that is a JSON array is a stream in another dress: each element is an event without a name.
pub(crate) enum Frame<'a> {
    Event(SseEvent<'a>),
    Whole(&'a str),
}

/// Cuts a body into frames. What is no text in them, or half a character, is marked: see [`mend`].
pub(crate) struct Framing {
    // The most bytes of one frame.
    limit: usize,
    body: Body,
    head: Vec<u8>,
    seen: bool,
    mended: bool,
    unpack: Unpack,
}

impl Default for Framing {
    fn default() -> Self {
        Framing {
            limit: EVENT_LIMIT,
            body: Body::Unknown,
            head: Vec::new(),
            seen: false,
            mended: false,
            unpack: Unpack::default(),
        }
    }
}

enum Body {
    Unknown,
    Events(SseParser),
    Json(Vec<u8>),
    Array(Elements),
}

impl Framing {
    /// Sets the most bytes of one frame; for a body that has not begun.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Returns whether there were marks in what was given out.
    pub(crate) fn mended(&self) -> bool {
        self.mended
    }

    /// Returns whether the body said by its own form that nothing follows: as an array does with its bracket.
    pub(crate) fn is_over(&self) -> bool {
        matches!(&self.body, Body::Array(elements) if elements.is_over())
    }

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
                Some(b'[') => Body::Array(Elements::with_limit(self.limit)),
                Some(_) => Body::Events(SseParser::with_limit(self.limit)),
            };
        }
        let (seen, mended) = (&mut self.seen, &mut self.mended);
        match &mut self.body {
            Body::Unknown => Ok(()),
            Body::Events(parser) => parser.push_bytes(bytes, |event| {
                *seen = true;
                let (name, data) = (readable(event.name, mended), readable(event.data, mended));
                give(Frame::Event(SseEvent { name: &name, data: &data }))
            }),
            Body::Array(elements) => elements.push(bytes, |element| {
                give(Frame::Event(SseEvent { name: "", data: &readable(element, mended) }))
            }),
            Body::Json(whole) => {
                if whole.len() + bytes.len() > self.limit {
                    return Err(DecodeError::TooLarge { limit: self.limit });
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
        match &mut self.body {
            Body::Json(whole) => {
                let whole = std::mem::take(whole);
                let text = readable(&whole, &mut self.mended);
                match syntax(&text) {
                    Syntax::Good => match give(Frame::Whole(&text)) {
                        // What a field says twice is found only by who reads the field, before anything else.
                        Err(DecodeError::Malformed { reason, .. }) if reason.contains("duplicate field") => {
                            give(Frame::Whole(mend::json(&text).as_deref().unwrap_or(&text)))
                        }
                        outcome => outcome,
                    },
                    Syntax::Cut => Err(DecodeError::Cut),
                    Syntax::Odd => match mend::json(&text) {
                        Some(mended) if matches!(syntax(&mended), Syntax::Cut) => Err(DecodeError::Cut),
                        mended => give(Frame::Whole(mended.as_deref().unwrap_or(&text))),
                    },
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

/// Reads one part of a body, an event or a line. One that cannot be read does not lose the answer: it becomes an
/// [`Event::Unread`], and what `decode` made of it until then stands.
pub(crate) fn each(
    data: &str,
    events: &mut Vec<Event>,
    mut decode: impl FnMut(&str, &mut Vec<Event>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let before = events.len();
    let (cause, mut text) = match decode(data, events) {
        Err(DecodeError::Malformed { reason, excerpt }) => (reason, excerpt),
        outcome => return outcome,
    };
    if events.len() == before
        && let Some(mended) = mend::json(data)
    {
        match decode(&mended, events) {
            // Told of what came, not of what we made of it.
            Err(DecodeError::Malformed { .. }) => {}
            outcome => return outcome,
        }
    }
    if text.is_empty() {
        text = error::one_line(data, HEAD_LIMIT);
    }
    events.push(Event::Unread { text, cause });
    Ok(())
}

/// Returns the event that tells of a part that could not be read.
pub(crate) fn unread(fault: DecodeError) -> Event {
    match fault {
        DecodeError::Malformed { reason, excerpt } => Event::Unread { text: excerpt, cause: reason },
        other => Event::Unread { text: String::new(), cause: other.to_string() },
    }
}

/// Returns a part of a body as text, with marks where it is none; `mended` says that there are some.
pub(crate) fn readable<'a>(bytes: &'a [u8], mended: &mut bool) -> Cow<'a, str> {
    let text = mend::text(bytes);
    let marked = mend::halves(&text).map(Cow::Owned);
    *mended |= marked.is_some() || matches!(text, Cow::Owned(_));
    marked.unwrap_or(text)
}

enum Syntax {
    Good,
    /// It ends inside of its object.
    Cut,
    Odd,
}

fn syntax(text: &str) -> Syntax {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Syntax::Good,
        Err(fault) if fault.is_eof() || is_at_end(&fault, text) => Syntax::Cut,
        Err(_) => Syntax::Odd,
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
