//! The body of a response to events.
//!
//! A whole response is read as a stream that came at once: all its items are complete from the beginning.

use serde::Deserialize;
use trunkline_message_tree::{StopReason, Usage};

use super::items::Items;
use super::shapes::{Head, IncompleteDetails, ResponseEvent, ResponseShape, UsageShape};
use crate::error::one_line;
use crate::framing::{self, Frame, Framing};
use crate::front::Inner;
use crate::{Bounds, Decode, DecodeError, Event, api_error, text};

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

    fn bound(&mut self, bounds: &Bounds) {
        self.framing.set_limit(bounds.event);
        self.message.items.set_limit(bounds.event);
    }
}

impl Inner for Decoder {
    fn mended(&self) -> bool {
        self.framing.mended()
    }

    fn lost_call(&self) -> bool {
        self.message.items.lost_call()
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
            // A gateway's word that nothing is missing; some say it in any case, so no item must be open.
            Frame::Event(event) if event.data.trim() == "[DONE]" && self.items.all_done() => {
                self.end(&ResponseShape::default(), false, events);
                Ok(())
            }
            Frame::Event(event) if matches!(event.data.trim(), "" | "[DONE]") => Ok(()),
            Frame::Event(event) if event.name == "error" => Err(api_error::reported(event.data)),
            Frame::Event(event) => framing::each(event.data, events, |data, events| self.event(data, events)),
            Frame::Whole(text) => self.whole(text, events),
        }
    }

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let head: Head<'_> = parse(data)?;
        match head.kind.0.as_ref() {
            "response.created" | "response.queued" | "response.in_progress" => {
                self.start(&response(data)?, events);
                Ok(())
            }
            "response.completed" | "response.incomplete" => {
                self.end(&response(data)?, head.kind.0 == "response.incomplete", events);
                Ok(())
            }
            // The word of OpenAI's realtime service, which some servers took over: it says in the status how it ended.
            "response.done" => self.done(data, events),
            "response.failed" => {
                let event: ResponseEvent<'_> = parse(data)?;
                Err(api_error::failed(event.response.map_or(data, |response| response.get())))
            }
            "error" => Err(api_error::reported(data)),
            // A gateway's own error, without a type at the top.
            "" if head.error.is_some_and(text::says_something) => Err(api_error::reported(data)),
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

    fn done(&mut self, data: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let response = response(data)?;
        match response.status.0.as_ref() {
            "failed" => {
                let event: ResponseEvent<'_> = parse(data)?;
                Err(api_error::failed(event.response.map_or(data, |response| response.get())))
            }
            "cancelled" => Err(DecodeError::Cut),
            // By its own word it is not over.
            "in_progress" | "queued" => {
                self.start(&response, events);
                Ok(())
            }
            status => {
                self.end(&response, status == "incomplete", events);
                Ok(())
            }
        }
    }

    fn whole(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let response: ResponseShape<'_> = parse(text)?;
        match response.status.0.as_ref() {
            // An answer that goes on in the background is read from elsewhere, by its id.
            "in_progress" | "queued" => {
                self.start(&response, events);
                let id = one_line(&response.id.0, 200);
                Err(if id.is_empty() { DecodeError::Cut } else { DecodeError::Unfinished { id } })
            }
            _ if response.output.is_none() => Err(api_error::reported(text)),
            "failed" => Err(api_error::failed(text)),
            "cancelled" => Err(DecodeError::Cut),
            status => {
                self.end(&response, status == "incomplete", events);
                Ok(())
            }
        }
    }

    fn start(&mut self, response: &ResponseShape<'_>, events: &mut Vec<Event>) {
        if !self.started {
            self.started = true;
            let id = Some(response.id.0.to_string()).filter(|id| !id.is_empty());
            events.push(Event::Started { model: response.model.0.to_string(), id });
        }
    }

    fn end(&mut self, response: &ResponseShape<'_>, incomplete: bool, events: &mut Vec<Event>) {
        self.start(response, events);
        self.items.settle(response.output.as_deref().unwrap_or_default(), events);
        // Counts that make no sense are no reason to lose the answer.
        let usage = response.usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
        events.extend(usage.map(|usage| Event::Usage(counted(&usage))));
        let details = response.incomplete_details.and_then(|details| parse(details.get()).ok());
        let details: IncompleteDetails<'_> = details.unwrap_or_default();
        let stop = if incomplete {
            events.extend(text::remark(details.message).map(Event::Remark));
            match details.reason.0.as_ref() {
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
    }
}

/// Returns the response that an event is about; one that leaves it out says no less.
fn response(data: &str) -> Result<ResponseShape<'_>, DecodeError> {
    let event: ResponseEvent<'_> = parse(data)?;
    event.response.map_or_else(|| Ok(ResponseShape::default()), |response| parse(response.get()))
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
