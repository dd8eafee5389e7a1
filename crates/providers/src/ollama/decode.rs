//! The body of a chat response to events.
//!
//! An answer that was asked for whole is a stream with a single object, so there is one way through here. Calls come
//! whole; servers before 0.12 give them no id.

use std::borrow::Cow;

use serde_json::Value;
use trunkline_message_tree::{Content, StopReason, Usage};

use super::objects::{Objects, Rest};
use super::shapes::{CallShape, Line, MessageShape};
use super::{NAME, made_up_id};
use crate::event::CALL_LIMIT;
use crate::framing::Unpack;
use crate::{Decode, DecodeError, Event, api_error};

#[derive(Default)]
pub(super) struct Decoder {
    unpack: Unpack,
    objects: Objects,
    message: Progress,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let (objects, message) = (&mut self.objects, &mut self.message);
        self.unpack.push(bytes, |bytes| objects.push(bytes, |object| message.line(object, events)))
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
}

/// How far the message has come.
#[derive(Default)]
struct Progress {
    started: bool,
    open: Option<Words>,
    // The ids of the calls, in order.
    calls: Vec<String>,
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
    fn line(&mut self, json: &str, events: &mut Vec<Event>) -> Result<Rest, DecodeError> {
        let line: Line<'_> =
            serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))?;
        let done = line.done == Some(true);
        if line.error.is_some_and(|error| !matches!(error.get(), "null" | "\"\"")) {
            return Err(reported(json));
        }
        if line.message.is_none() && !done {
            // Progress of another kind inside a stream; alone it is the answer of something else.
            if !self.started && self.strange.is_none() {
                self.strange = Some(reported(json));
            }
            return Ok(Rest::Read);
        }
        if !self.started {
            (self.started, self.strange) = (true, None);
            let model = line.model.as_deref().unwrap_or_default().to_owned();
            events.push(Event::Started { model, id: None });
        }
        if let Some(message) = line.message {
            self.message(message, events)?;
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
        events.push(Event::Stopped(self.stop_reason(line.done_reason.as_deref().unwrap_or_default())));
        self.stopped = true;
        Ok(Rest::Ignore)
    }

    fn message(&mut self, message: MessageShape<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.words(Words::Reasoning, message.thinking, events);
        self.words(Words::Text, message.content, events);
        if let Some(images) = message.images.filter(|images| !matches!(images.get(), "null" | "[]")) {
            self.close(events);
            let json = format!("{{\"images\":{}}}", images.get());
            events.push(Event::Block(Content::Opaque { wire: NAME.to_owned(), json }));
        }
        for call in message.tool_calls.into_iter().flatten() {
            self.close(events);
            self.call(call, events)?;
        }
        Ok(())
    }

    fn call(&mut self, call: CallShape<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let function = call.function.unwrap_or_default();
        let Some(name) = function.name.filter(|name| !name.is_empty()) else {
            return Err(DecodeError::malformed(
                "a call without a name",
                call.id.as_deref().unwrap_or_default(),
            ));
        };
        let text = match function.arguments.map_or("null", |arguments| arguments.get()) {
            "null" => String::new(),
            // The service sends objects; some that imitate it send them as Chat does.
            string if string.starts_with('"') => {
                serde_json::from_str(string).map_err(|fault| DecodeError::malformed(fault, string))?
            }
            object => object.to_owned(),
        };
        let index = self.calls.len();
        let id = match call.id.filter(|id| !id.is_empty() && !self.calls.contains(id)) {
            Some(id) => id,
            None => self.free_id(),
        };
        if self.calls.len() >= CALL_LIMIT {
            return Err(DecodeError::malformed("more calls than an answer has", &id));
        }
        self.calls.push(id.clone());
        events.push(Event::CallStarted { index, id, name: name.into_owned() });
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

    fn words(&mut self, kind: Words, text: Option<Cow<'_, str>>, events: &mut Vec<Event>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
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
            "length" => StopReason::MaxTokens,
            // `load` and `unload`: there was nothing to answer, the model was moved in or out of memory.
            other => StopReason::Other(other.to_owned()),
        }
    }
}

fn reported(json: &str) -> DecodeError {
    match serde_json::from_str::<Value>(json) {
        Ok(body) => {
            let (kind, message) = api_error::in_stream(&body);
            DecodeError::Reported { kind, message }
        }
        Err(fault) => DecodeError::malformed(fault, json),
    }
}
