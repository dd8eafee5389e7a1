//! The body of a chat response to events.
//!
//! An answer that was asked for whole is a stream with a single object, so there is one way through here. Calls come
//! whole; servers before 0.12 give them no id.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;
use trunkline_message_tree::{Content, StopReason, Usage};

use super::objects::{Found, Objects, Rest};
use super::shapes::{CallShape, Line, MessageShape};
use super::{NAME, made_up_id};
use crate::event::CALL_LIMIT;
use crate::framing::{self, Unpack};
use crate::front::Inner;
use crate::{Bounds, Decode, DecodeError, Event, api_error, text};

#[derive(Default)]
pub(super) struct Decoder {
    unpack: Unpack,
    objects: Objects,
    message: Progress,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let (objects, message) = (&mut self.objects, &mut self.message);
        self.unpack.push(bytes, |bytes| objects.push(bytes, |found| message.found(found, events)))
    }

    fn finish(&mut self, _events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if self.message.stopped {
            return Ok(());
        }
        if !self.unpack.is_cut() {
            self.objects.finish()?;
        }
        Err(self.message.strange.take().unwrap_or(DecodeError::Cut))
    }

    fn bound(&mut self, bounds: &Bounds) {
        self.objects.set_limit(bounds.event);
    }
}

impl Inner for Decoder {
    fn mended(&self) -> bool {
        self.message.mended
    }

    fn lost_call(&self) -> bool {
        self.message.lost_call
    }
}

/// How far the message has come.
#[derive(Default)]
struct Progress {
    started: bool,
    open: Option<Words>,
    // The ids of the calls, in order.
    calls: Vec<String>,
    // Calls as they came, of those that the service itself tells apart.
    said_again: HashSet<String>,
    lost_call: bool,
    mended: bool,
    stopped: bool,
    // What there is to say of a body without any part of a message in it.
    strange: Option<DecodeError>,
}

#[derive(Clone, Copy, PartialEq)]
enum Words {
    Text,
    Reasoning,
}

impl Progress {
    fn found(&mut self, found: Found<'_>, events: &mut Vec<Event>) -> Result<Rest, DecodeError> {
        let mut rest = Rest::Read;
        match found {
            Found::Object(bytes) => {
                let json = framing::readable(bytes, &mut self.mended);
                framing::each(&json, events, |json, events| {
                    rest = self.line(json, events)?;
                    Ok(())
                })?;
            }
            Found::Stray(fault) => events.push(framing::unread(fault)),
        }
        Ok(rest)
    }

    fn line(&mut self, json: &str, events: &mut Vec<Event>) -> Result<Rest, DecodeError> {
        let line: Line<'_> =
            serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))?;
        let done = line.done == Some(true);
        if line.error.is_some_and(text::says_something) {
            return Err(api_error::reported(json));
        }
        if line.message.is_none() && !done {
            // Progress of another kind inside a stream; alone it is the answer of something else.
            if !self.started && self.strange.is_none() {
                self.strange = Some(api_error::reported(json));
            }
            return Ok(Rest::Read);
        }
        if !self.started {
            (self.started, self.strange) = (true, None);
            events.push(Event::Started { model: line.model.0.into_owned(), id: None });
        }
        if let Some(message) = line.message {
            // What cannot be read of it is no reason to lose the end that stands beside it.
            match serde_json::from_str(message.get()) {
                Ok(message) => self.message(message, events)?,
                Err(fault) => {
                    events.push(framing::unread(DecodeError::malformed(fault, message.get())));
                }
            }
        }
        if !done {
            return Ok(Rest::Read);
        }
        self.close(events);
        // The count of the prompt is left out where all of it was cached.
        if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
            events.push(Event::Usage(Usage {
                input_tokens: line.prompt_eval_count.unwrap_or_default(),
                output_tokens: line.eval_count.unwrap_or_default(),
                ..Usage::default()
            }));
        }
        events.push(Event::Stopped(self.stop_reason(&line.done_reason.0)));
        self.stopped = true;
        Ok(Rest::Ignore)
    }

    fn message(&mut self, message: MessageShape<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.words(Words::Reasoning, message.thinking.0, events);
        self.words(Words::Text, message.content.0, events);
        if let Some(images) = message.images.filter(|images| !matches!(images.get(), "null" | "[]")) {
            self.close(events);
            let json = format!("{{\"images\":{}}}", images.get());
            events.push(Event::Block(Content::Opaque { wire: NAME.to_owned(), json }));
        }
        let mut new = Vec::new();
        for call in message.tool_calls.map(calls).transpose()?.unwrap_or_default() {
            self.close(events);
            let read =
                serde_json::from_str(call.get()).map_err(|fault| DecodeError::malformed(fault, call.get()));
            match read.and_then(|call| self.call(call, &mut new, events)) {
                Err(fault @ DecodeError::Malformed { .. }) => {
                    self.lost_call = true;
                    events.push(framing::unread(fault));
                }
                outcome => outcome?,
            }
        }
        self.said_again.extend(new);
        Ok(())
    }

    /// Takes in a call; `new` holds those of the same line.
    fn call(
        &mut self,
        call: CallShape<'_>,
        new: &mut Vec<String>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let function = call.function.unwrap_or_default();
        if function.name.is_empty() {
            return Err(DecodeError::malformed("a call without a name", &call.id.0));
        }
        // The service sends objects; some that imitate it send them as Chat does.
        let text = function.arguments.map(text::string).transpose()?.unwrap_or_default().into_owned();
        if !call.id.is_empty() || function.index.is_some() {
            let said = format!("{} {:?} {} {text}", call.id.0, function.index, function.name.0);
            // The same call once more, as some say it in the last line.
            if self.said_again.contains(&said) {
                return Ok(());
            }
            new.push(said);
        }
        let index = self.calls.len();
        let id = match call.id.some().filter(|id| !self.calls.contains(id)) {
            Some(id) => id,
            None => self.free_id(),
        };
        if self.calls.len() >= CALL_LIMIT {
            return Err(DecodeError::TooMany { what: "calls", limit: CALL_LIMIT });
        }
        self.calls.push(id.clone());
        events.push(Event::CallStarted { index, id, name: function.name.0.into_owned() });
        if !text.is_empty() {
            events.push(Event::ArgumentsDelta { index, text });
        }
        events.push(Event::CallDone { index });
        Ok(())
    }

    /// Returns an id for a call that came without one: made of its number in this answer, the same each time.
    fn free_id(&self) -> String {
        let mut number = self.calls.len();
        loop {
            let id = made_up_id(number);
            if !self.calls.contains(&id) {
                return id;
            }
            number += 1;
        }
    }

    fn words(&mut self, kind: Words, text: Cow<'_, str>, events: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        if self.open != Some(kind) {
            self.close(events);
            self.open = Some(kind);
        }
        events.push(match kind {
            Words::Text => Event::TextDelta(text.into_owned()),
            Words::Reasoning => Event::ThinkingDelta(text.into_owned()),
        });
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        events.extend(self.open.take().map(|_| Event::BlockDone));
    }

    fn stop_reason(&self, reason: &str) -> StopReason {
        match reason {
            // It says `stop` after calls too (recorded, 2026).
            "stop" | "tool_calls" | "" if !self.calls.is_empty() => StopReason::ToolUse,
            "stop" | "" => StopReason::EndTurn,
            "tool_calls" => StopReason::Other("tool_calls without a call".to_owned()),
            "length" => StopReason::MaxTokens,
            // `load` and `unload`: there was nothing to answer, the model was moved in or out of memory.
            other => StopReason::Other(other.to_owned()),
        }
    }
}

/// Returns the calls of a message, each as it came.
fn calls(raw: &RawValue) -> Result<Vec<&RawValue>, DecodeError> {
    match raw.get() {
        "{}" => Ok(Vec::new()),
        one if one.starts_with('{') => Ok(vec![raw]),
        list => serde_json::from_str(list).map_err(|fault| DecodeError::malformed(fault, list)),
    }
}
