//! The body of a Messages response to events.
//!
//! A whole message is read as a stream that came at once: each block starts with all it has and stops.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline_message_tree::{Content, StopReason, Usage};

use super::NAME;
use super::shapes::{BlockStart, Caller, Delta, StreamEvent, UsageShape, WholeMessage};
use crate::arguments::Arguments;
use crate::event::CALL_LIMIT;
use crate::framing::{self, Frame, Framing};
use crate::front::Inner;
use crate::sse::EVENT_LIMIT;
use crate::{Bounds, Decode, DecodeError, Event, Trait, api_error, beside, text};

// No answer has nearly as many at once; keeps a hostile endpoint from making each event cost more than the one before.
const OPEN_LIMIT: usize = 256;

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
        self.message.limit = bounds.event;
    }
}

impl Inner for Decoder {
    fn mended(&self) -> bool {
        self.framing.mended()
    }

    fn lost_call(&self) -> bool {
        self.message.lost_call
    }
}

/// How far the message has come.
struct Progress {
    // The most bytes of a block that is carried.
    limit: usize,
    started: bool,
    blocks: Vec<(u64, Open)>,
    // Whether any came.
    came: bool,
    // The block whose words are being given out, and what they are.
    speaking: Option<(u64, Words)>,
    // Each call with the number of its block.
    calls: Vec<(u64, String)>,
    // How many bytes of blocks that are carried came after their start.
    held: usize,
    usage: Counts,
    stop: Option<StopReason>,
    remark: Option<String>,
    // Whether a piece of a call came whose beginning did not.
    lost_call: bool,
    stopped: bool,
    // Whether reasoning came in words, and whether any of it was signed.
    thought: bool,
    signed: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            limit: EVENT_LIMIT,
            started: false,
            blocks: Vec::new(),
            came: false,
            speaking: None,
            calls: Vec::new(),
            held: 0,
            usage: Counts::default(),
            stop: None,
            remark: None,
            lost_call: false,
            stopped: false,
            thought: false,
            signed: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Words {
    Text,
    Reasoning,
}

/// A block that has started and not stopped.
enum Open {
    /// Text or reasoning; `cited` are the places that the words were taken from, as JSON.
    Words { cited: Vec<String> },
    /// A call; `input` is what its start held, unless deltas replace it. `beside` is what else its start said.
    Call { index: usize, input: Option<String>, arguments: Arguments, beside: Option<Content> },
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
            // A gateway's word that nothing is missing; some say it in any case, so no block must be open.
            Frame::Event(event) if event.data.trim() == "[DONE]" && self.came && self.blocks.is_empty() => {
                self.end(events);
                Ok(())
            }
            Frame::Event(event) if matches!(event.data.trim(), "" | "[DONE]") => Ok(()),
            Frame::Event(event) if event.name == "error" => Err(api_error::reported(event.data)),
            Frame::Event(event) => framing::each(event.data, events, |data, events| {
                let before = events.len();
                let outcome = self.event(data, events);
                if events.len() > before && !self.started {
                    self.started = true;
                    events.insert(before, Event::Started { model: String::new(), id: None });
                }
                outcome
            }),
            Frame::Whole(text) => self.whole(text, events),
        }
    }

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let event: StreamEvent<'_> = parse(data)?;
        match event.kind.0.as_ref() {
            "content_block_delta" => {
                let delta = event.delta.ok_or_else(|| DecodeError::malformed("no delta", data))?;
                return self.delta(event.index.unwrap_or_default(), delta, data, events);
            }
            "content_block_start" => {
                let block = event
                    .content_block
                    .ok_or_else(|| DecodeError::malformed("a start without a block", data))?;
                // A server that forgot to end the block before.
                self.close(events);
                return self.begin(event.index.unwrap_or_default(), block.get(), events);
            }
            "content_block_stop" => return self.end_block(event.index.unwrap_or_default(), events),
            "message_start" => {
                let message =
                    event.message.ok_or_else(|| DecodeError::malformed("a start without a message", data))?;
                let message: WholeMessage<'_> = parse(message.get())?;
                self.start(&message, events);
                self.count(message.usage, events);
            }
            "message_delta" => {
                let more = event.delta.and_then(|delta| delta.more).unwrap_or_default();
                self.remark = text::remark(more.stop_details).or(self.remark.take());
                self.stop = more.stop_reason.some().map(stop_reason).or(self.stop.take());
                self.count(event.usage, events);
            }
            "message_stop" => self.end(events),
            "ping" if self.started => events.push(Event::Ping),
            "error" => return Err(api_error::reported(data)),
            // A gateway's own error, without a type at the top.
            "" if event.error.is_some_and(text::says_something) => return Err(api_error::reported(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let head: StreamEvent<'_> = parse(text)?;
        if head.kind.0 != "message" {
            return Err(api_error::reported(text));
        }
        let message: WholeMessage<'_> = parse(text)?;
        self.start(&message, events);
        for (index, block) in (0..).zip(message.content.iter().flatten()) {
            self.begin(index, block.get(), events)?;
            self.end_block(index, events)?;
        }
        self.count(message.usage, events);
        self.remark = text::remark(message.stop_details);
        self.stop = message.stop_reason.some().map(stop_reason);
        self.end(events);
        Ok(())
    }

    fn start(&mut self, message: &WholeMessage<'_>, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            let id = Some(message.id.0.to_string()).filter(|id| !id.is_empty());
            events.push(Event::Started { model: message.model.0.to_string(), id });
        }
    }

    /// Begins a block.
    fn begin(&mut self, number: u64, json: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let start: BlockStart<'_> = parse(json)?;
        if self.is_repeated(number, &start, json) {
            return Ok(());
        }
        self.end_block(number, events)?;
        if self.blocks.len() >= OPEN_LIMIT {
            return Err(DecodeError::TooMany { what: "open blocks", limit: OPEN_LIMIT });
        }
        let open = match start.kind.0.as_ref() {
            "text" => {
                let cited = citations(start.citations);
                self.say(number, Words::Text, start.text.some().map(Event::TextDelta), events);
                Open::Words { cited }
            }
            "thinking" => {
                self.say(number, Words::Reasoning, start.thinking.some().map(Event::ThinkingDelta), events);
                self.say(number, Words::Reasoning, start.signature.some().map(Event::Signature), events);
                Open::Words { cited: Vec::new() }
            }
            "redacted_thinking" => {
                let data = start.data.0.into_owned();
                events.push(Event::Block(Content::RedactedThinking { data }));
                Open::Done
            }
            "tool_use" => {
                let beside = beside_call(&start);
                let (index, id) = (self.calls.len(), start.id.0.into_owned());
                if self.calls.len() >= CALL_LIMIT {
                    return Err(DecodeError::TooMany { what: "calls", limit: CALL_LIMIT });
                }
                self.calls.push((number, id.clone()));
                events.push(Event::CallStarted { index, id, name: start.name.0.into_owned() });
                let input = start.input.map(text::string).transpose()?.map(Cow::into_owned);
                Open::Call { index, input, arguments: Arguments::default(), beside }
            }
            _ => Open::Raw { json: json.to_owned(), edited: None, input: String::new() },
        };
        self.blocks.push((number, open));
        Ok(())
    }

    /// Returns whether a block has begun already that this one only says again, as a line does that came twice. A call must
    /// not become two by that.
    fn is_repeated(&self, number: u64, start: &BlockStart<'_>, json: &str) -> bool {
        let open = self.blocks.iter().rfind(|(at, _)| *at == number).map(|(_, open)| open);
        match start.kind.0.as_ref() {
            "tool_use" => {
                !start.id.is_empty() && self.calls.iter().any(|(at, id)| *at == number && start.id.0 == *id)
            }
            "redacted_thinking" => matches!(open, Some(Open::Done)),
            _ => matches!(open, Some(Open::Raw { json: before, .. }) if before == json),
        }
    }

    fn delta(
        &mut self,
        number: u64,
        delta: Delta<'_>,
        data: &str,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let words = matches!(delta.kind.0.as_ref(), "text_delta" | "thinking_delta" | "signature_delta");
        let known = self.blocks.iter().any(|(at, _)| *at == number);
        if !known && words && self.blocks.len() < OPEN_LIMIT {
            // Its beginning was lost, and told nothing that the words themselves do not.
            self.blocks.push((number, Open::Words { cited: Vec::new() }));
        }
        self.lost_call |= !known && delta.kind.0 == "input_json_delta";
        let open = self.blocks.iter_mut().rfind(|(at, _)| *at == number);
        let (_, open) =
            open.ok_or_else(|| DecodeError::malformed("a delta of a block that never began", data))?;
        match open {
            Open::Words { cited } => {
                if let Some(citation) = delta.more.as_ref().and_then(|more| more.citation) {
                    self.held = self.held.saturating_add(citation.get().len());
                    if self.held > self.limit {
                        return Err(DecodeError::TooLarge { limit: self.limit });
                    }
                    cited.push(citation.get().to_owned());
                    return Ok(());
                }
                let (words, event) = match delta.kind.0.as_ref() {
                    "text_delta" => (Words::Text, delta.words.some().map(Event::TextDelta)),
                    "thinking_delta" => (Words::Reasoning, delta.words.some().map(Event::ThinkingDelta)),
                    "signature_delta" => (Words::Reasoning, delta.words.some().map(Event::Signature)),
                    _ => return Ok(()),
                };
                self.say(number, words, event, events);
            }
            Open::Call { index, input, arguments, .. } => {
                let new = arguments.more(&delta.words.0);
                if !new.is_empty() {
                    *input = None;
                    events.push(Event::ArgumentsDelta { index: *index, text: new.to_owned() });
                }
            }
            Open::Raw { json, edited, input } => {
                self.held = self.held.saturating_add(data.len());
                if self.held > self.limit {
                    return Err(DecodeError::TooLarge { limit: self.limit });
                }
                if delta.kind.0 == "input_json_delta" {
                    input.push_str(&delta.words.0);
                    return Ok(());
                }
                // From here on the block's bytes are ours; its meaning stays the provider's.
                let block = edited.get_or_insert_with(|| serde_json::from_str(json).unwrap_or_default());
                append(block, "text", Value::String(delta.words.0.into_owned()));
                let more = delta.more.unwrap_or_default();
                if let Some(content) = more.content {
                    append(block, "content", parse(content.get())?);
                }
                if let Some(citation) = more.citation {
                    append(block, "citations", Value::Array(vec![parse(citation.get())?]));
                }
            }
            Open::Done => {}
        }
        Ok(())
    }

    /// Gives words out; they continue what the same block said last.
    fn say(&mut self, number: u64, words: Words, event: Option<Event>, events: &mut Vec<Event>) {
        let Some(event) = event else { return };
        self.thought |= matches!(event, Event::ThinkingDelta(_));
        self.signed |= matches!(event, Event::Signature(_));
        if self.speaking != Some((number, words)) {
            self.close(events);
            self.speaking = Some((number, words));
        }
        events.push(event);
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        events.extend(self.speaking.take().map(|_| Event::BlockDone));
    }

    fn end_block(&mut self, number: u64, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let Some(at) = self.blocks.iter().rposition(|(at, _)| *at == number) else { return Ok(()) };
        self.came = true;
        match self.blocks.remove(at).1 {
            Open::Words { cited } => {
                if self.speaking.is_some_and(|(at, _)| at == number) {
                    self.close(events);
                    events.extend(beside_text(&cited).map(Event::Block));
                }
            }
            Open::Call { index, input, beside, .. } => {
                // `{}` at the start only means that deltas follow; no deltas then mean no arguments.
                if let Some(text) = input.filter(|input| !matches!(input.as_str(), "{}" | "")) {
                    events.push(Event::ArgumentsDelta { index, text });
                }
                events.push(Event::CallDone { index });
                // Behind another block it would be that one's.
                events.extend(beside.filter(|_| index + 1 == self.calls.len()).map(Event::Block));
            }
            Open::Raw { json, edited, input } => {
                self.close(events);
                events.push(Event::Block(carried(json, edited, &input)?));
            }
            Open::Done => {}
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        while let Some(number) = self.blocks.first().map(|(number, _)| *number) {
            // A block that cannot be read is no reason to lose the others.
            if let Err(fault) = self.end_block(number, events) {
                events.push(framing::unread(fault));
            }
        }
        self.close(events);
        let stop = match self.stop.take() {
            Some(StopReason::ToolUse) if self.calls.is_empty() => {
                StopReason::Other("tool_use without a call".to_owned())
            }
            Some(stop) => stop,
            None if self.calls.is_empty() => StopReason::EndTurn,
            None => StopReason::ToolUse,
        };
        // What was cut off may have lost its signature on the way.
        if self.thought && !self.signed && matches!(stop, StopReason::EndTurn | StopReason::ToolUse) {
            events.push(Event::Wants(Trait::UnsignedReasoning));
        }
        events.extend(self.remark.take().map(Event::Remark));
        events.push(Event::Stopped(stop));
        self.stopped = true;
    }

    fn count(&mut self, usage: Option<&RawValue>, events: &mut Vec<Event>) {
        // Counts that make no sense are no reason to lose the answer.
        let usage = usage.and_then(|usage| serde_json::from_str::<UsageShape>(usage.get()).ok());
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

fn citations(list: Option<&RawValue>) -> Vec<String> {
    let list: Vec<&RawValue> =
        list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
    list.into_iter().map(|one| one.get().to_owned()).collect()
}

/// Returns the block that keeps where words were taken from.
fn beside_text(cited: &[String]) -> Option<Content> {
    let list = format!("[{}]", cited.join(","));
    let list: &RawValue = serde_json::from_str(&list).ok().filter(|_| !cited.is_empty())?;
    beside::block(NAME, beside::Of::Text, beside::Members::from([("citations".into(), list)]))
}

/// Returns the block that keeps who made a call, if it was not the model itself, and of which set its tool is.
fn beside_call(start: &BlockStart<'_>) -> Option<Content> {
    let itself = |caller: &&RawValue| {
        serde_json::from_str::<Caller<'_>>(caller.get()).is_ok_and(|caller| caller.kind.0 != "direct")
    };
    let named = [("caller", start.caller.filter(itself)), ("toolset_name", start.toolset_name)];
    let members = named.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
    beside::block(NAME, beside::Of::Call, members.collect())
}

fn append(block: &mut Map<String, Value>, field: &str, more: Value) {
    match (block.get_mut(field), more) {
        (_, Value::String(more)) if more.is_empty() => {}
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
        (_, more) => {
            block.insert(field.to_owned(), more);
        }
    }
}

fn carried(json: String, edited: Option<Map<String, Value>>, input: &str) -> Result<Content, DecodeError> {
    let start: BlockStart<'_> = parse(&json)?;
    let kind = start.kind.0.to_string();
    let (id, call_id) = (start.id.0.to_string(), start.tool_use_id.0.to_string());
    let json = match (edited, input) {
        (None, "") => json,
        (edited, input) => {
            let mut block = match edited {
                Some(block) => block,
                None => parse(&json)?,
            };
            if !input.is_empty() {
                block.insert("input".to_owned(), parse(input)?);
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

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))
}
