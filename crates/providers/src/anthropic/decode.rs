//! The body of a Messages response to events.
//!
//! A whole message is read as a stream that came at once: each block starts with all it has and stops.

use serde_json::{Map, Value};
use trunkline_message_tree::{Content, StopReason, Usage};

use super::NAME;
use super::shapes::{BlockStart, Delta, StreamEvent, UsageShape, WholeMessage};
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
        self.framing.finish(|frame| message.frame(&frame, events))?;
        if message.stopped { Ok(()) } else { Err(DecodeError::Cut) }
    }
}

/// How far the message has come.
#[derive(Default)]
struct Progress {
    blocks: Vec<(u64, Open)>,
    calls: usize,
    usage: Counts,
    stop: Option<StopReason>,
    stopped: bool,
}

/// A block that has started and not stopped.
enum Open {
    /// Text or reasoning; `begun` once something of it was given out.
    Words { begun: bool },
    /// A call; `input` is what its start held, unless deltas replace it.
    Call { index: usize, input: Option<String> },
    /// A block that is carried; `input` collects the pieces of a server tool's arguments.
    Raw { json: String, edited: Option<Map<String, Value>>, input: String },
    /// A block that is already given out.
    Done,
}

#[derive(Default)]
struct Counts {
    fresh: u64,
    cache_write: u64,
    cache_read: u64,
    output: u64,
    reasoning: u64,
}

impl Progress {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        match frame {
            // What follows the end, such as a gateway's `[DONE]`, says nothing about the message.
            Frame::Event(_) if self.stopped => Ok(()),
            Frame::Event(event) if event.data == "[DONE]" => Ok(()),
            Frame::Event(event) => self.event(event.data, events),
            Frame::Whole(text) => self.whole(text, events),
        }
    }

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let event: StreamEvent<'_> =
            serde_json::from_str(data).map_err(|fault| DecodeError::malformed(fault, data))?;
        match event.kind.as_ref() {
            "message_start" => {
                let message =
                    event.message.ok_or_else(|| DecodeError::malformed("a start without a message", data))?;
                events.push(Event::Started { model: message.model, id: message.id });
                self.count(message.usage.as_ref(), events);
            }
            "content_block_start" => {
                let block = event
                    .content_block
                    .ok_or_else(|| DecodeError::malformed("a start without a block", data))?;
                // A server that forgot to end the block before.
                self.stop_words(events);
                let open = self.start_block(block.get(), events)?;
                self.blocks.retain(|(index, _)| *index != event.index);
                self.blocks.push((event.index, open));
            }
            "content_block_delta" => {
                let delta = event.delta.ok_or_else(|| DecodeError::malformed("no delta", data))?;
                let open = self.blocks.iter_mut().find(|(index, _)| *index == event.index);
                let (_, open) =
                    open.ok_or_else(|| DecodeError::malformed("a delta of a block that never began", data))?;
                open.delta(&delta, events);
            }
            "content_block_stop" => {
                if let Some(at) = self.blocks.iter().position(|(index, _)| *index == event.index) {
                    self.blocks.remove(at).1.stop(events)?;
                }
            }
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(stop_reason(reason));
                }
                self.count(event.usage.as_ref(), events);
            }
            "message_stop" => self.end(events)?,
            "ping" => events.push(Event::Ping),
            "error" => return Err(reported(data)),
            // A gateway's own error, without a type at the top.
            "" if data.contains("\"error\"") => return Err(reported(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let head: StreamEvent<'_> =
            serde_json::from_str(text).map_err(|fault| DecodeError::malformed(fault, text))?;
        if head.kind != "message" {
            return Err(reported(text));
        }
        let message: WholeMessage<'_> =
            serde_json::from_str(text).map_err(|fault| DecodeError::malformed(fault, text))?;
        events.push(Event::Started { model: message.model, id: message.id });
        for block in message.content {
            self.start_block(block.get(), events)?.stop(events)?;
        }
        self.count(message.usage.as_ref(), events);
        self.stop = message.stop_reason.map(stop_reason);
        self.end(events)
    }

    fn start_block(&mut self, json: &str, events: &mut Vec<Event>) -> Result<Open, DecodeError> {
        let start: BlockStart<'_> =
            serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))?;
        Ok(match start.kind.as_ref() {
            "text" => {
                let begun = !start.text.is_empty();
                events.extend(begun.then_some(Event::TextDelta(start.text)));
                Open::Words { begun }
            }
            "thinking" => {
                let begun = !(start.thinking.is_empty() && start.signature.is_empty());
                if !start.thinking.is_empty() {
                    events.push(Event::ThinkingDelta(start.thinking));
                }
                if !start.signature.is_empty() {
                    events.push(Event::Signature(start.signature));
                }
                Open::Words { begun }
            }
            "redacted_thinking" => {
                events.push(Event::Block(Content::RedactedThinking { data: start.data }));
                Open::Done
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                events.push(Event::CallStarted { index, id: start.id, name: start.name });
                Open::Call { index, input: start.input.map(|input| input.get().to_owned()) }
            }
            _ => Open::Raw { json: json.to_owned(), edited: None, input: String::new() },
        })
    }

    fn stop_words(&mut self, events: &mut Vec<Event>) {
        for (_, open) in &mut self.blocks {
            if let Open::Words { begun: true } = open {
                events.push(Event::BlockDone);
                *open = Open::Done;
            }
        }
    }

    fn end(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for (_, open) in std::mem::take(&mut self.blocks) {
            open.stop(events)?;
        }
        let default = if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        events.push(Event::Stopped(self.stop.take().unwrap_or(default)));
        self.stopped = true;
        Ok(())
    }

    fn count(&mut self, usage: Option<&UsageShape>, events: &mut Vec<Event>) {
        let Some(usage) = usage else { return };
        let counts = &mut self.usage;
        counts.fresh = usage.input_tokens.unwrap_or(counts.fresh);
        counts.cache_write = usage.cache_creation_input_tokens.unwrap_or(counts.cache_write);
        counts.cache_read = usage.cache_read_input_tokens.unwrap_or(counts.cache_read);
        counts.output = usage.output_tokens.unwrap_or(counts.output);
        let reasoning = usage.output_tokens_details.as_ref().and_then(|details| details.thinking_tokens);
        counts.reasoning = reasoning.unwrap_or(counts.reasoning);
        events.push(Event::Usage(Usage {
            // `input_tokens` leaves the cached ones out on this wire.
            input_tokens: counts.fresh.saturating_add(counts.cache_write).saturating_add(counts.cache_read),
            output_tokens: counts.output,
            cache_read_tokens: counts.cache_read,
            cache_write_tokens: counts.cache_write,
            reasoning_tokens: counts.reasoning,
        }));
    }
}

impl Open {
    fn delta(&mut self, delta: &Delta<'_>, events: &mut Vec<Event>) {
        match self {
            Open::Words { begun } => {
                let event = match delta.kind.as_ref() {
                    "text_delta" if !delta.text.is_empty() => Event::TextDelta(delta.text.to_string()),
                    "thinking_delta" if !delta.thinking.is_empty() => {
                        Event::ThinkingDelta(delta.thinking.to_string())
                    }
                    "signature_delta" if !delta.signature.is_empty() => {
                        Event::Signature(delta.signature.to_string())
                    }
                    _ => return,
                };
                *begun = true;
                events.push(event);
            }
            Open::Call { index, input } => {
                if !delta.partial_json.is_empty() {
                    *input = None;
                    let text = delta.partial_json.to_string();
                    events.push(Event::ArgumentsDelta { index: *index, text });
                }
            }
            Open::Raw { json, edited, input } => {
                if delta.kind == "input_json_delta" {
                    input.push_str(&delta.partial_json);
                    return;
                }
                // From here on the block's bytes are ours; its meaning stays the provider's.
                let block = edited.get_or_insert_with(|| serde_json::from_str(json).unwrap_or_default());
                append(block, "text", &Value::String(delta.text.to_string()));
                if let Some(content) = &delta.content {
                    append(block, "content", content);
                }
                if let Some(Value::Array(citations)) = delta
                    .citation
                    .as_ref()
                    .map(|_| block.entry("citations").or_insert(Value::Array(Vec::new())))
                {
                    citations.extend(delta.citation.clone());
                }
            }
            Open::Done => {}
        }
    }

    fn stop(self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        match self {
            Open::Words { begun: true } => events.push(Event::BlockDone),
            Open::Words { begun: false } | Open::Done => {}
            Open::Call { index, input } => {
                // `{}` at the start only means that deltas follow; no deltas then mean no arguments.
                if let Some(text) = input.filter(|input| input != "{}") {
                    events.push(Event::ArgumentsDelta { index, text });
                }
                events.push(Event::CallDone { index });
            }
            Open::Raw { json, edited, input } => events.push(Event::Block(carried(json, edited, &input)?)),
        }
        Ok(())
    }
}

fn append(block: &mut Map<String, Value>, field: &str, more: &Value) {
    match (block.get_mut(field), more) {
        (_, Value::String(more)) if more.is_empty() => {}
        (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
        _ => {
            block.insert(field.to_owned(), more.clone());
        }
    }
}

fn carried(json: String, edited: Option<Map<String, Value>>, input: &str) -> Result<Content, DecodeError> {
    let start: BlockStart<'_> =
        serde_json::from_str(&json).map_err(|fault| DecodeError::malformed(fault, &json))?;
    let (kind, id, call_id) = (start.kind.to_string(), start.id, start.tool_use_id);
    let json = match (edited, input) {
        (None, "") => json,
        (edited, input) => {
            let mut block = match edited {
                Some(block) => block,
                None => serde_json::from_str(&json).map_err(|fault| DecodeError::malformed(fault, &json))?,
            };
            if !input.is_empty() {
                let input =
                    serde_json::from_str(input).map_err(|fault| DecodeError::malformed(fault, input))?;
                block.insert("input".to_owned(), input);
            }
            Value::Object(block).to_string()
        }
    };
    Ok(match kind.as_str() {
        "server_tool_use" | "mcp_tool_use" => Content::ServerCall { id, json },
        _ if kind.ends_with("_tool_result") && !call_id.is_empty() => Content::ServerResult { call_id, json },
        _ => Content::Opaque { wire: NAME.to_owned(), json },
    })
}

fn stop_reason(reason: String) -> StopReason {
    match reason.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other(reason),
    }
}

fn reported(data: &str) -> DecodeError {
    match serde_json::from_str::<Value>(data) {
        Ok(body) => {
            let (kind, message) = api_error::in_stream(&body);
            DecodeError::Reported { kind, message }
        }
        Err(fault) => DecodeError::malformed(fault, data),
    }
}
