//! The body of a response to events.
//!
//! A whole response is read as a stream that came at once: all its items are complete from the beginning.

use serde::Deserialize;
use trunkline_message_tree::{StopReason, Usage};

use super::items::Items;
use super::shapes::{Head, ResponseEvent, ResponseShape, UsageShape};
use crate::framing::{Frame, Framing};
use crate::{Decode, DecodeError, Event, api_error};

#[derive(Default)]
pub(super) struct Decoder {
    framing: Framing,
    message: Progress,
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let message = &mut self.message;
        self.framing.push(bytes, |frame| message.frame(&frame, events))
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let message = &mut self.message;
        if !message.stopped {
            self.framing.finish(|frame| message.frame(&frame, events))?;
        }
        if message.stopped { Ok(()) } else { Err(DecodeError::Cut) }
    }
}

/// How far the message has come.
#[derive(Default)]
struct Progress {
    started: bool,
    items: Items,
    stopped: bool,
}

impl Progress {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        match frame {
            // What follows the end, such as a gateway's `[DONE]`, says nothing about the message.
            Frame::Event(_) if self.stopped => Ok(()),
            Frame::Event(event) if event.data.is_empty() || event.data.trim() == "[DONE]" => Ok(()),
            Frame::Event(event) if event.name == "error" => Err(api_error::reported(event.data)),
            Frame::Event(event) => self.event(event.data, events),
            Frame::Whole(text) => self.whole(text, events),
        }
    }

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let head: Head<'_> = parse(data)?;
        match head.kind.0.as_ref() {
            "response.created" | "response.queued" | "response.in_progress" => {
                let response: ResponseEvent<'_> = parse(data)?;
                self.start(&parse(response.response.get())?, events);
                Ok(())
            }
            "response.completed" | "response.incomplete" => {
                let response: ResponseEvent<'_> = parse(data)?;
                let incomplete = head.kind.0 == "response.incomplete";
                self.end(&parse(response.response.get())?, incomplete, events)
            }
            "response.failed" => {
                let response: ResponseEvent<'_> = parse(data)?;
                Err(api_error::reported(response.response.get()))
            }
            "error" => Err(api_error::reported(data)),
            // A gateway's own error, without a type at the top.
            "" if head.error.is_some() => Err(api_error::reported(data)),
            _ => {
                let before = events.len();
                let outcome = self.items.event(head, data, events);
                if events.len() > before && !self.started {
                    self.started = true;
                    events.insert(before, Event::Started { model: String::new(), id: None });
                }
                outcome
            }
        }
    }

    fn whole(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let response: ResponseShape<'_> = parse(text)?;
        match response.status.0.as_ref() {
            // An answer that goes on in the background is read from elsewhere, by its id.
            "in_progress" | "queued" => {
                self.start(&response, events);
                Err(DecodeError::Cut)
            }
            _ if response.output.is_none() => Err(api_error::reported(text)),
            "failed" => Err(api_error::reported(text)),
            "cancelled" => Err(DecodeError::Cut),
            status => self.end(&response, status == "incomplete", events),
        }
    }

    fn start(&mut self, response: &ResponseShape<'_>, events: &mut Vec<Event>) {
        if !self.started {
            self.started = true;
            let id = Some(response.id.0.to_string()).filter(|id| !id.is_empty());
            events.push(Event::Started { model: response.model.0.to_string(), id });
        }
    }

    fn end(
        &mut self,
        response: &ResponseShape<'_>,
        incomplete: bool,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        self.start(response, events);
        self.items.settle(response.output.as_deref().unwrap_or_default(), events)?;
        // Counts that make no sense are no reason to lose the answer.
        let usage = response.usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
        events.extend(usage.map(|usage| Event::Usage(counted(&usage))));
        let stop = if incomplete {
            match response.incomplete_details.as_ref().map_or("", |details| details.reason.0.as_ref()) {
                "max_output_tokens" => StopReason::MaxTokens,
                "content_filter" => StopReason::Refusal,
                "" => StopReason::Other("incomplete".to_owned()),
                reason => StopReason::Other(reason.to_owned()),
            }
        } else if self.items.refused() {
            StopReason::Refusal
        } else if self.items.calls() > 0 {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        events.push(Event::Stopped(stop));
        self.stopped = true;
        Ok(())
    }
}

fn counted(usage: &UsageShape) -> Usage {
    let input = usage.input_tokens_details.as_ref();
    let output = usage.output_tokens_details.as_ref();
    Usage {
        // Cached tokens are in it on this wire.
        input_tokens: usage.input_tokens.unwrap_or_default(),
        output_tokens: usage.output_tokens.unwrap_or_default(),
        cache_read_tokens: input.and_then(|details| details.cached_tokens).unwrap_or_default(),
        cache_write_tokens: input.and_then(|details| details.cache_write_tokens).unwrap_or_default(),
        reasoning_tokens: output.and_then(|details| details.reasoning_tokens).unwrap_or_default(),
    }
}

fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(data).map_err(|fault| DecodeError::malformed(fault, data))
}
