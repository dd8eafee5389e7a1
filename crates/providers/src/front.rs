//! What every answer passes on its way out of a decoder, whatever its wire.
//!
//! Halves of characters are put together again, across events, and what could not be read is judged: it is no reason to
//! lose an answer, but a call that it may have been a piece of must not run.

use trunkline_message_tree::{Content, Part, StopReason};

use crate::arguments::Scan;
use crate::{Bounds, Decode, DecodeError, Event, mend};

// More of it is no answer with a fault but something else.
const UNREAD_LIMIT: usize = 64;

/// A decoder whose events may have marks in them, see [`mend`].
pub(crate) trait Inner: Decode {
    /// Returns whether there may be marks in what was given out so far.
    fn mended(&self) -> bool;

    /// Returns whether a call came that could not be read: without it the answer is not what the model said.
    fn lost_call(&self) -> bool;
}

/// A decoder without marks and doubtful calls.
pub(crate) struct Front<D> {
    inner: D,
    // The halves at the end of the last delta, and what it is one of.
    held: Option<(Delta, String)>,
    calls: Vec<Call>,
    // How many parts could not be read, and what is wrong with the first of them.
    unread: usize,
    fault: Option<DecodeError>,
    said: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Delta {
    Text,
    Thinking,
    Arguments(usize),
}

struct Call {
    arguments: Scan,
    done: bool,
    // Whether what could not be read may have been a piece of it.
    broken: bool,
}

impl<D: Inner> Front<D> {
    pub(crate) fn new(inner: D) -> Self {
        Front { inner, held: None, calls: Vec::new(), unread: 0, fault: None, said: false }
    }

    fn pass(
        &mut self,
        from: usize,
        outcome: Result<(), DecodeError>,
        ends: bool,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        if self.inner.mended() {
            let new = events.split_off(from.min(events.len()));
            new.into_iter().for_each(|event| self.join(event, events));
            if ends || outcome.is_err() {
                self.give_held(events);
            }
        }
        for at in from..events.len() {
            let Some(event) = events.get(at) else { break };
            if let Err(fault) = self.judge(event) {
                events.truncate(at);
                return Err(fault);
            }
        }
        match (outcome, &self.fault) {
            // That nothing could be read says more than that nothing came.
            (Err(DecodeError::Cut), Some(fault)) if !self.said => Err(fault.clone()),
            (outcome, _) => outcome,
        }
    }

    /// Puts the halves in an event together, with those that came before it.
    fn join(&mut self, mut event: Event, events: &mut Vec<Event>) {
        let (delta, text) = match &mut event {
            Event::TextDelta(text) => (Delta::Text, text),
            Event::ThinkingDelta(text) => (Delta::Thinking, text),
            Event::ArgumentsDelta { index, text } => (Delta::Arguments(*index), text),
            // They stand beside what is said, and end nothing.
            Event::Usage(_) | Event::Ping => return events.push(event),
            Event::Unread { .. } => {
                clean(&mut event);
                return events.push(event);
            }
            _ => {
                self.give_held(events);
                clean(&mut event);
                return events.push(event);
            }
        };
        if self.held.as_ref().is_some_and(|(of, _)| *of != delta) {
            self.give_held(events);
        }
        if let Some((_, before)) = self.held.take() {
            text.insert_str(0, &before);
        }
        let (whole, open) = mend::split_open(text);
        if !open.is_empty() {
            self.held = Some((delta, open.to_owned()));
        }
        let whole = mend::plain(whole).into_owned();
        if !whole.is_empty() {
            *text = whole;
            events.push(event);
        }
    }

    fn give_held(&mut self, events: &mut Vec<Event>) {
        let Some((delta, halves)) = self.held.take() else { return };
        let text = mend::plain(&halves).into_owned();
        events.push(match delta {
            Delta::Text => Event::TextDelta(text),
            Delta::Thinking => Event::ThinkingDelta(text),
            Delta::Arguments(index) => Event::ArgumentsDelta { index, text },
        });
    }

    /// Keeps account of calls, and refuses the end of an answer whose calls are in doubt.
    fn judge(&mut self, event: &Event) -> Result<(), DecodeError> {
        self.said |= event.says();
        match event {
            Event::CallStarted { .. } => {
                self.calls.push(Call { arguments: Scan::default(), done: false, broken: false });
            }
            Event::ArgumentsDelta { index, text } => {
                if let Some(call) = self.calls.get_mut(*index) {
                    call.arguments.push(text);
                }
            }
            Event::CallDone { index } => {
                if let Some(call) = self.calls.get_mut(*index) {
                    call.done = true;
                }
            }
            Event::Unread { text, cause } => {
                let fault = DecodeError::Malformed { reason: cause.clone(), excerpt: text.clone() };
                self.unread += 1;
                for call in self.calls.iter_mut().filter(|call| !call.done) {
                    call.broken |= !call.arguments.is_whole();
                }
                if self.unread > UNREAD_LIMIT {
                    return Err(fault);
                }
                self.fault.get_or_insert(fault);
            }
            Event::Stopped(_) if self.calls.iter().any(|call| call.broken) => {
                return Err(self.fault.clone().unwrap_or(DecodeError::Cut));
            }
            Event::Stopped(_) if self.inner.lost_call() => {
                return Err(match self.fault.clone() {
                    Some(DecodeError::Malformed { reason, excerpt }) => {
                        DecodeError::UnreadCall { reason, excerpt }
                    }
                    fault => fault.unwrap_or(DecodeError::Cut),
                });
            }
            _ => {}
        }
        Ok(())
    }
}

impl<D: Inner> Decode for Front<D> {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let from = events.len();
        let outcome = self.inner.push(bytes, events);
        self.pass(from, outcome, false, events)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let from = events.len();
        let outcome = self.inner.finish(events);
        self.pass(from, outcome, true, events)
    }

    fn bound(&mut self, bounds: &Bounds) {
        self.inner.bound(bounds);
    }
}

/// Takes the marks out of everything that an event says.
fn clean(event: &mut Event) {
    let texts: Vec<&mut String> = match event {
        Event::Started { model, id } => id.iter_mut().chain([model]).collect(),
        Event::Signature(text) | Event::Remark(text) | Event::Stopped(StopReason::Other(text)) => vec![text],
        Event::CallStarted { id, name, .. } => vec![id, name],
        Event::CallName { name, .. } => vec![name],
        Event::CallSignature { signature, .. } => vec![signature],
        Event::Unread { text, cause } => vec![text, cause],
        Event::Block(block) | Event::Replace { with: block, .. } => match block {
            Content::Text { text } => vec![text],
            Content::Thinking { text, signature } => signature.iter_mut().chain([text]).collect(),
            Content::RedactedThinking { data } => vec![data],
            Content::ServerCall { id, json } => vec![id, json],
            Content::ServerResult { call_id, json } => vec![call_id, json],
            Content::Opaque { json, .. } => vec![json],
            Content::ToolCall(call) => vec![&mut call.id, &mut call.name, &mut call.arguments],
            Content::ToolResult(result) => {
                let texts = result.content.iter_mut().filter_map(|part| match part {
                    Part::Text { text } => Some(text),
                    _ => None,
                });
                texts.collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    for text in texts {
        if let std::borrow::Cow::Owned(plain) = mend::plain(text) {
            *text = plain;
        }
    }
}
