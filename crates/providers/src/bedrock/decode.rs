//! The body of a Converse response to events.
//!
//! A stream gives a block's text without a start, and its usage after its end. A whole message is read as a stream that
//! came at once.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline_message_tree::{Content, StopReason, Usage};

use super::NAME;
use super::frames::{self, Frame, FrameParser, Last};
use super::shapes::{
    BlockShape, CallStart, Delta, ReasoningDelta, StartShape, StreamEvent, UsageShape, WholeAnswer,
};
use super::{failure, shapes};
use crate::arguments::Arguments;
use crate::event::CALL_LIMIT;
use crate::framing::{self, Framing};
use crate::front::Inner;
use crate::sse::EVENT_LIMIT;
use crate::{Bounds, Decode, DecodeError, Event, beside};

pub(super) struct Decoder {
    // The most bytes of one frame.
    limit: usize,
    body: Body,
    message: Progress,
}

enum Body {
    Unknown,
    Frames(FrameParser),
    /// One JSON object, or nothing that we know.
    Other(Framing),
}

impl Decoder {
    /// Returns a decoder; answers do not name the model, so it is the one that was asked.
    pub(super) fn new(model: &str) -> Self {
        let message = Progress { model: model.to_owned(), ..Progress::default() };
        Decoder { limit: EVENT_LIMIT, body: Body::Unknown, message }
    }
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if let (Body::Unknown, Some(first)) = (&self.body, bytes.first()) {
            self.body = match frames::begins(*first) {
                true => Body::Frames(FrameParser::with_limit(self.limit)),
                false => {
                    let mut framing = Framing::default();
                    framing.set_limit(self.limit);
                    Body::Other(framing)
                }
            };
        }
        let message = &mut self.message;
        match &mut self.body {
            Body::Unknown => Ok(()),
            Body::Frames(parser) => parser.push(bytes, |frame| message.frame(frame, events)),
            Body::Other(framing) => framing.push(bytes, |frame| message.other(&frame, events)),
        }
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let message = &mut self.message;
        if let Body::Other(framing) = &mut self.body {
            framing.finish(|frame| message.other(&frame, events))?;
        }
        // Only the usage is missing, and the message is whole.
        if message.stop.is_some() {
            message.end(events);
        }
        if message.stopped { Ok(()) } else { Err(DecodeError::Cut) }
    }

    fn bound(&mut self, bounds: &Bounds) {
        (self.limit, self.message.limit) = (bounds.event, bounds.event);
    }
}

impl Inner for Decoder {
    fn mended(&self) -> bool {
        self.message.mended || matches!(&self.body, Body::Other(framing) if framing.mended())
    }

    fn lost_call(&self) -> bool {
        self.message.lost_call
    }
}

/// How far the message has come.
struct Progress {
    // The most bytes of what is held until it is whole.
    limit: usize,
    held: usize,
    mended: bool,
    // Whether a piece of a call came whose beginning did not.
    lost_call: bool,
    model: String,
    started: bool,
    /// Text or reasoning that is open; there is at most one.
    words: Option<(u64, Words)>,
    /// The number among all calls of each call that is open, by its block.
    calls: BTreeMap<u64, (usize, Arguments)>,
    /// The block and the id of each call that began.
    began: Vec<(u64, String)>,
    /// Blocks that are carried and not complete.
    carried: BTreeMap<u64, Map<String, Value>>,
    /// The places that the open words were taken from, as JSON.
    cited: Vec<String>,
    counted: bool,
    stop: Option<StopReason>,
    stopped: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            limit: EVENT_LIMIT,
            held: 0,
            mended: false,
            lost_call: false,
            model: String::new(),
            started: false,
            words: None,
            calls: BTreeMap::new(),
            began: Vec::new(),
            carried: BTreeMap::new(),
            cited: Vec::new(),
            counted: false,
            stop: None,
            stopped: false,
        }
    }
}

enum Words {
    Text,
    /// Its signature is given out when it is whole.
    Reasoning {
        signature: String,
    },
    /// Nothing is given out before it is whole.
    Redacted {
        data: String,
    },
}

impl Progress {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<Event>) -> Result<Last, DecodeError> {
        match (frame.message_type, frame.event_type, frame.exception_type) {
            (Some("exception"), _, name) | (None, None, name @ Some(_)) => {
                return Err(failure::in_stream(name.unwrap_or("an exception"), frame.payload, None));
            }
            (Some("error"), ..) => {
                let name = frame.error_code.unwrap_or("an error");
                return Err(failure::in_stream(name, frame.payload, frame.error_message));
            }
            (Some("event") | None, Some(kind), _) => self.event(kind, frame.payload, events)?,
            // Of a kind that does not exist yet.
            _ => {}
        }
        Ok(if self.stopped { Last::Yes } else { Last::No })
    }

    fn event(&mut self, kind: &str, payload: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let known = [
            "messageStart",
            "contentBlockStart",
            "contentBlockDelta",
            "contentBlockStop",
            "messageStop",
            "metadata",
        ];
        if !known.contains(&kind) {
            return Ok(());
        }
        let text = framing::readable(payload, &mut self.mended);
        framing::each(&text, events, |text, events| self.known_event(kind, text, events))
    }

    fn known_event(&mut self, kind: &str, text: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let event: StreamEvent<'_> =
            serde_json::from_str(text).map_err(|fault| DecodeError::malformed(fault, text))?;
        let index = event.index.unwrap_or_default();
        self.start(events);
        match kind {
            "metadata" => {
                self.count(event.usage, events);
                if self.stop.is_some() {
                    self.end(events);
                }
            }
            // Between the stop and the usage nothing of the message can come.
            _ if self.stop.is_some() => {}
            "contentBlockStart" => match event.start {
                Some(start) => self.start_block(index, start, events)?,
                None => self.stop_words(events),
            },
            "contentBlockDelta" => match event.delta {
                Some(delta) => self.delta(index, delta, events)?,
                None => return Err(DecodeError::malformed("no delta", text)),
            },
            "contentBlockStop" => self.stop_block(index, events)?,
            "messageStop" => {
                self.stop_all(events);
                self.stop = Some(self.stop_reason(event.stop_reason.some()));
                if self.counted {
                    self.end(events);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a body that is no stream of frames.
    fn other(&mut self, frame: &framing::Frame<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let text = match frame {
            framing::Frame::Whole(text) => *text,
            framing::Frame::Event(event) => {
                return Err(DecodeError::malformed(
                    "server-sent events instead of binary frames",
                    event.data,
                ));
            }
        };
        let answer: WholeAnswer<'_> =
            serde_json::from_str(text).map_err(|fault| DecodeError::malformed(fault, text))?;
        let Some(message) = answer.output.and_then(|output| output.message) else {
            return Err(match shapes::reported_name(text) {
                Some(name) => failure::in_stream(&name, text.as_bytes(), None),
                None => DecodeError::malformed("no message in it", text),
            });
        };
        self.start(events);
        for (index, block) in (0..).zip(message.content) {
            self.whole_block(index, block, events)?;
        }
        self.count(answer.usage, events);
        self.stop = Some(self.stop_reason(answer.stop_reason.some()));
        self.end(events);
        Ok(())
    }

    fn whole_block(
        &mut self,
        index: u64,
        block: &RawValue,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let json = block.get();
        let shape: BlockShape<'_> =
            serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))?;
        if let Some(text) = shape.text {
            self.text(index, text, events)?;
        } else if let Some(cited) = shape.cited() {
            self.text(index, cited, events)?;
            self.stop_block(index, events)?;
            let beside = beside::block(NAME, beside::Of::Text, shape.beside());
            events.extend(beside.map(Event::Block));
        } else if let Some(reasoning) = shape.reasoning {
            let text = reasoning.text.unwrap_or_default();
            let delta =
                ReasoningDelta { text: text.text, signature: text.signature, redacted: reasoning.redacted };
            self.reasoning(index, delta, events)?;
        } else if let Some(call) = shape.call.filter(|call| !call.is_of_service()) {
            self.begin(events);
            self.start_call(index, call.id, call.name, events)?;
            if let Some(input) = call.input {
                self.arguments(index, shapes::piece(input), events)?;
            }
        } else {
            let json = json.to_owned();
            events.push(Event::Block(Content::Opaque { wire: NAME.to_owned(), json }));
        }
        self.stop_block(index, events)
    }

    fn start(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            events.push(Event::Started { model: self.model.clone(), id: None });
        }
    }

    fn start_block(
        &mut self,
        index: u64,
        start: &RawValue,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let json = start.get();
        let malformed = |fault| DecodeError::malformed(fault, json);
        let shape: StartShape = serde_json::from_str(json).map_err(malformed)?;
        let call = shape.call.filter(|call| !call.is_of_service());
        let again = |call: &CallStart| {
            !call.id.is_empty() && self.began.iter().any(|(at, id)| *at == index && *id == call.id)
        };
        // A frame that came twice must not make two calls of one.
        if call.as_ref().is_some_and(again) {
            return Ok(());
        }
        // A server that forgot to end the block before.
        self.stop_block(index, events)?;
        self.begin(events);
        match call {
            Some(call) => self.start_call(index, call.id, call.name, events)?,
            None => {
                let block: Map<String, Value> = serde_json::from_str(json).map_err(malformed)?;
                if block.keys().all(|kind| matches!(kind.as_str(), "text" | "reasoningContent")) {
                    return self.delta(index, start, events);
                }
                self.carried.insert(index, block);
            }
        }
        Ok(())
    }

    /// Makes room for a block: words end, and what is carried is complete, where a server forgot to say so.
    fn begin(&mut self, events: &mut Vec<Event>) {
        self.stop_words(events);
        for (_, block) in std::mem::take(&mut self.carried) {
            // A block that cannot be read is no reason to lose the others.
            events.push(complete(block).map_or_else(framing::unread, Event::Block));
        }
    }

    fn start_call(
        &mut self,
        index: u64,
        id: String,
        name: String,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let number = self.began.len();
        if number >= CALL_LIMIT {
            return Err(DecodeError::TooMany { what: "calls", limit: CALL_LIMIT });
        }
        self.began.push((index, id.clone()));
        self.calls.insert(index, (number, Arguments::default()));
        events.push(Event::CallStarted { index: number, id, name });
        Ok(())
    }

    /// Counts what is held until it is whole.
    fn hold(&mut self, more: usize) -> Result<(), DecodeError> {
        self.held = self.held.saturating_add(more);
        if self.held > self.limit { Err(DecodeError::TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    fn stop_reason(&self, reason: Option<String>) -> StopReason {
        let called = !self.began.is_empty();
        match reason.map(stop_reason) {
            Some(StopReason::ToolUse) if !called => StopReason::Other("tool_use without a call".to_owned()),
            Some(stop) => stop,
            None if called => StopReason::ToolUse,
            None => StopReason::EndTurn,
        }
    }

    fn delta(&mut self, index: u64, delta: &RawValue, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let json = delta.get();
        let malformed = |fault| DecodeError::malformed(fault, json);
        if self.carried.contains_key(&index) {
            self.hold(json.len())?;
        }
        if let Some(block) = self.carried.get_mut(&index) {
            let more: Map<String, Value> = serde_json::from_str(json).map_err(malformed)?;
            more.into_iter().for_each(|(kind, more)| append(block, kind, more));
            return Ok(());
        }
        let delta: Delta<'_> = serde_json::from_str(json).map_err(malformed)?;
        if let (Some(citation), Some((open, Words::Text))) = (delta.citation, &self.words)
            && *open == index
        {
            self.hold(citation.get().len())?;
            self.cited.push(citation.get().to_owned());
        }
        if let Some(text) = delta.text {
            self.text(index, text, events)?;
        }
        if let Some(reasoning) = delta.reasoning {
            self.reasoning(index, reasoning, events)?;
        }
        match delta.call {
            Some(call) => self.arguments(index, shapes::piece(call.input), events),
            None => Ok(()),
        }
    }

    fn text(&mut self, index: u64, text: String, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if text.is_empty() {
            return Ok(());
        }
        if !matches!(self.words, Some((open, Words::Text)) if open == index) {
            self.begin(events);
            self.words = Some((index, Words::Text));
        }
        events.push(Event::TextDelta(text));
        Ok(())
    }

    fn reasoning(
        &mut self,
        index: u64,
        delta: ReasoningDelta,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let text = delta.text.unwrap_or_default();
        let more = delta.signature.unwrap_or_default();
        self.hold(more.len() + delta.redacted.as_ref().map_or(0, String::len))?;
        if !(text.is_empty() && more.is_empty()) {
            match &mut self.words {
                Some((open, Words::Reasoning { signature })) if *open == index => signature.push_str(&more),
                _ => {
                    self.begin(events);
                    self.words = Some((index, Words::Reasoning { signature: more }));
                }
            }
            events.extend((!text.is_empty()).then_some(Event::ThinkingDelta(text)));
        }
        if let Some(more) = delta.redacted.filter(|more| !more.is_empty()) {
            match &mut self.words {
                // What ends in `=` is complete: nothing can be added to it without decoding both.
                Some((open, Words::Redacted { data })) if *open == index && !data.ends_with('=') => {
                    data.push_str(&more);
                }
                _ => {
                    self.begin(events);
                    self.words = Some((index, Words::Redacted { data: more }));
                }
            }
        }
        Ok(())
    }

    fn arguments(&mut self, index: u64, text: String, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        match self.calls.get_mut(&index) {
            _ if text.is_empty() => Ok(()),
            Some((call, arguments)) => {
                let new = arguments.more(&text);
                if !new.is_empty() {
                    events.push(Event::ArgumentsDelta { index: *call, text: new.to_owned() });
                }
                Ok(())
            }
            None => {
                self.lost_call = true;
                Err(DecodeError::malformed("arguments of a call that never began", &text))
            }
        }
    }

    fn stop_block(&mut self, index: u64, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if self.words.as_ref().is_some_and(|(open, _)| *open == index) {
            self.stop_words(events);
        }
        if let Some((call, _)) = self.calls.remove(&index) {
            events.push(Event::CallDone { index: call });
        }
        if let Some(block) = self.carried.remove(&index) {
            self.stop_words(events);
            events.push(Event::Block(complete(block)?));
        }
        Ok(())
    }

    fn stop_words(&mut self, events: &mut Vec<Event>) {
        match self.words.take() {
            None => {}
            Some((_, Words::Text)) => {
                events.push(Event::BlockDone);
                let list = format!("[{}]", std::mem::take(&mut self.cited).join(","));
                let list = serde_json::from_str::<Vec<&RawValue>>(&list)
                    .is_ok_and(|list| !list.is_empty())
                    .then_some(list);
                events.extend(list.and_then(|list| {
                    let list: &RawValue = serde_json::from_str(&list).ok()?;
                    let members = beside::Members::from([("citations".into(), list)]);
                    beside::block(NAME, beside::Of::Text, members).map(Event::Block)
                }));
            }
            Some((_, Words::Reasoning { signature })) => {
                events.extend((!signature.is_empty()).then_some(Event::Signature(signature)));
                events.push(Event::BlockDone);
            }
            Some((_, Words::Redacted { data })) => {
                events.push(Event::Block(Content::RedactedThinking { data }));
            }
        }
    }

    fn stop_all(&mut self, events: &mut Vec<Event>) {
        self.begin(events);
        for (_, (call, _)) in std::mem::take(&mut self.calls) {
            events.push(Event::CallDone { index: call });
        }
    }

    fn count(&mut self, usage: Option<&RawValue>, events: &mut Vec<Event>) {
        // Counts that make no sense are no reason to lose the answer.
        let usage = usage.and_then(|usage| serde_json::from_str::<UsageShape>(usage.get()).ok());
        let Some(usage) = usage else { return };
        self.counted = true;
        let (read, written) = (usage.cache_read.unwrap_or(0), usage.cache_write.unwrap_or(0));
        events.push(Event::Usage(Usage {
            // `inputTokens` leaves the cached ones out (recorded: the total is the sum of all four).
            input_tokens: usage.input.unwrap_or(0).saturating_add(read).saturating_add(written),
            output_tokens: usage.output.unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: 0,
        }));
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        if let Some(stop) = self.stop.take() {
            events.push(Event::Stopped(stop));
            self.stopped = true;
        }
    }
}

/// Adds a piece to a block that is carried: text goes on, lists grow, and a list goes on with an object's content.
fn append(block: &mut Map<String, Value>, kind: String, more: Value) {
    match (block.get_mut(&kind), more) {
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (Some(Value::Array(list)), Value::Array(more)) => {
            for item in more {
                let said = item.get("text").and_then(Value::as_str);
                match (list.last_mut().and_then(|last| last.get_mut("text")), said) {
                    (Some(Value::String(text)), Some(more)) => text.push_str(more),
                    _ => list.push(item),
                }
            }
        }
        (Some(Value::Object(object)), Value::Object(more)) => {
            more.into_iter().for_each(|(kind, more)| append(object, kind, more));
        }
        (Some(Value::Object(object)), more @ Value::Array(_)) => append(object, "content".to_owned(), more),
        (_, more) => {
            block.insert(kind, more);
        }
    }
}

/// Puts a carried block into the form in which a message holds it.
fn complete(mut block: Map<String, Value>) -> Result<Content, DecodeError> {
    if let Some(Value::Object(call)) = block.get_mut("toolUse") {
        let input = match call.get("input") {
            Some(Value::String(text)) if !text.trim().is_empty() => {
                serde_json::from_str(text).map_err(|fault| DecodeError::malformed(fault, text))?
            }
            Some(whole @ Value::Object(_)) => whole.clone(),
            _ => Value::Object(Map::new()),
        };
        call.insert("input".to_owned(), input);
    }
    Ok(Content::Opaque { wire: NAME.to_owned(), json: Value::Object(block).to_string() })
}

fn stop_reason(reason: String) -> StopReason {
    match reason.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "guardrail_intervened" | "content_filtered" | "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "pause_turn" => StopReason::Pause,
        _ => StopReason::Other(reason),
    }
}
