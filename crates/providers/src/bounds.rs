//! How much is taken of one answer.
//!
//! A model in a loop and a gateway that never closes go on for ever; memory does not. The bounds stand before any decoder,
//! those of wires of one's own too, and know no transport: a recording is read under them as well.

use trunkline_message_tree::Content;

use crate::{Decode, DecodeError, Event};

// What a block costs besides its bytes, wherever it is kept: without it, blocks of one byte would be free.
const BLOCK: usize = 128;
// A few packed bytes unpack to a thousand times as much, so a decoder gets few of them at once.
const PIECE: usize = 8 * 1024;

/// How much is taken of one answer, in bytes.
///
/// At a bound the answer is over: [`DecodeError::TooLong`] or [`DecodeError::TooLarge`]. What came until then stands.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_providers::{Bounds, DecodeError, Event, Ollama, Request, Wire};
///
/// let wire = Ollama::new();
/// let decoder = wire.decoder(&Request::new("m", [Message::user("go")]));
/// let mut decoder = Bounds::of_answer(5).around(decoder);
/// let mut events = Vec::new();
/// let line = "{\"model\":\"m\",\"message\":{\"content\":\"again and again\"},\"done\":false}\n";
/// assert_eq!(decoder.push(line.as_bytes(), &mut events), Err(DecodeError::TooLong { limit: 5 }));
/// assert_eq!(events.last(), Some(&Event::TextDelta("again".to_owned())));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// What the model writes: words, reasoning, names and arguments of calls, signatures.
    pub words: usize,
    /// Blocks that came whole and are only carried: pictures, results of tools that the service runs.
    pub blocks: usize,
    /// One event of a stream, packed or not, and a body that is no stream.
    pub event: usize,
}

impl Default for Bounds {
    /// 8 MiB of words, 32 MiB of blocks, 16 MiB of one event.
    ///
    /// The longest answers that services offer are of 128 thousand tokens, about half a megabyte; pictures have one to
    /// three megabytes each. An event may hold a whole answer, with as many escapes as letters.
    fn default() -> Self {
        Bounds::of_answer(8 * 1024 * 1024)
    }
}

impl Bounds {
    /// Returns bounds for answers of so many bytes of words; the others follow from it.
    pub fn of_answer(words: usize) -> Self {
        Bounds {
            words,
            blocks: words.saturating_mul(4),
            // A small answer may come in an event with many fields.
            event: words.saturating_mul(2).max(64 * 1024),
        }
    }

    /// Returns a decoder that keeps these bounds.
    pub fn around(self, mut decoder: Box<dyn Decode>) -> Box<dyn Decode> {
        decoder.bound(&self);
        Box::new(Bounded { bounds: self, inner: decoder, words: 0, blocks: 0 })
    }
}

struct Bounded {
    bounds: Bounds,
    inner: Box<dyn Decode>,
    // What came so far.
    words: usize,
    blocks: usize,
}

impl Decode for Bounded {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for piece in bytes.chunks(PIECE) {
            let from = events.len();
            let outcome = self.inner.push(piece, events);
            self.count(from, events)?;
            outcome?;
        }
        Ok(())
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let from = events.len();
        let outcome = self.inner.finish(events);
        self.count(from, events)?;
        outcome
    }

    fn bound(&mut self, bounds: &Bounds) {
        self.bounds = *bounds;
        self.inner.bound(bounds);
    }
}

impl Bounded {
    fn count(&mut self, from: usize, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for at in from..events.len() {
            let Some(event) = events.get_mut(at) else { break };
            let (words, blocks) = size(event);
            self.blocks = self.blocks.saturating_add(blocks);
            let room = self.bounds.words.saturating_sub(self.words);
            self.words = self.words.saturating_add(words);
            if self.blocks > self.bounds.blocks {
                events.truncate(at);
                return Err(DecodeError::TooLong { limit: self.bounds.blocks });
            }
            if self.words > self.bounds.words {
                let kept = shorten(event, room);
                events.truncate(at + usize::from(kept));
                return Err(DecodeError::TooLong { limit: self.bounds.words });
            }
        }
        Ok(())
    }
}

/// Returns how many bytes of words and of blocks an event brings.
fn size(event: &Event) -> (usize, usize) {
    match event {
        Event::TextDelta(text) | Event::ThinkingDelta(text) | Event::Signature(text) => (text.len(), 0),
        Event::ArgumentsDelta { text, .. } => (text.len(), 0),
        Event::CallStarted { id, name, .. } => (id.len() + name.len() + BLOCK, 0),
        Event::CallName { name, .. } => (name.len(), 0),
        Event::CallSignature { signature, .. } => (signature.len(), 0),
        Event::BlockDone => (BLOCK, 0),
        Event::Unread { text, cause } => (text.len() + cause.len(), 0),
        Event::Block(block) | Event::Replace { with: block, .. } => (0, carried(block) + BLOCK),
        _ => (0, 0),
    }
}

fn carried(block: &Content) -> usize {
    match block {
        Content::Text { text } => text.len(),
        Content::Thinking { text, signature } => text.len() + signature.as_ref().map_or(0, String::len),
        Content::RedactedThinking { data } => data.len(),
        Content::ServerCall { id, json } => id.len() + json.len(),
        Content::ServerResult { call_id, json } => call_id.len() + json.len(),
        Content::Opaque { json, .. } => json.len(),
        _ => 0,
    }
}

/// Keeps the beginning of a delta; returns whether anything is left of the event.
fn shorten(event: &mut Event, room: usize) -> bool {
    match event {
        Event::TextDelta(text) | Event::ThinkingDelta(text) | Event::ArgumentsDelta { text, .. } => {
            let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            end > 0
        }
        _ => false,
    }
}
