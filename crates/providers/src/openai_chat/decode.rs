//! The body of a Chat Completions response to events.
//!
//! Reasons and usage come in any order near the end, so the stop is given out last of all: at `[DONE]`, or at the end
//! of the body for servers that do not send it. Some servers say the whole message again in their last chunks.

use std::borrow::Cow;

use serde_json::value::RawValue;
use trunkline_message_tree::{Content, StopReason, Usage};

use super::NAME;
use super::calls::Calls;
use super::details::Details;
use super::shapes::{CallPiece, Chunk, ContentPart, Delta, FlatError, FunctionPiece, Groq, Said, UsageShape};
use crate::framing::{self, Frame, Framing};
use crate::front::Inner;
use crate::sse::EVENT_LIMIT;
use crate::{Bounds, Decode, DecodeError, ErrorKind, Event, Trait, api_error, beside, text};

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
        match message.stop {
            _ if message.stopped => Ok(()),
            Some(_) => message.end(events),
            // The body said by its own form that nothing is missing.
            None if message.started && self.framing.is_over() => message.end(events),
            None => Err(DecodeError::Cut),
        }
    }

    fn bound(&mut self, bounds: &Bounds) {
        self.framing.set_limit(bounds.event);
        self.message.details.set_limit(bounds.event);
    }
}

impl Inner for Decoder {
    fn mended(&self) -> bool {
        self.framing.mended()
    }

    fn lost_call(&self) -> bool {
        self.message.calls.lost()
    }
}

// A text of fewer bytes may well be one token that a model writes twice.
const REPEATED_AT_LEAST: usize = 24;

/// How far the message has come.
#[derive(Default)]
struct Progress {
    started: bool,
    open: Option<Words>,
    // What was said so far: a message that says it again says nothing.
    text: Spoken,
    reasoning: Spoken,
    details: Details,
    calls: Calls,
    annotations: Vec<String>,
    // How many bytes of them came.
    annotated: usize,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    // The reason as it was written, and the one of the service behind a router.
    reason: String,
    native: String,
    // Whether the model declined in words of their own kind, and whether a whole message came.
    refused: bool,
    whole: bool,
    stopped: bool,
    // The fields in which reasoning came.
    reasoned_in: ReasonedIn,
}

#[derive(Default)]
struct ReasonedIn {
    old_name: bool,
    new_name: bool,
    details: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Words {
    Text,
    Reasoning,
}

impl Progress {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        match frame {
            Frame::Event(_) if self.stopped => Ok(()),
            // The server's word that nothing is missing, whether or not it gave a reason.
            Frame::Event(event) if event.data.trim() == "[DONE]" && self.started => self.end(events),
            Frame::Event(event) if event.name == "error" => Err(api_error::reported(event.data)),
            Frame::Event(event) if matches!(event.data.trim(), "" | "[DONE]") => Ok(()),
            Frame::Event(event) => {
                framing::each(event.data, events, |data, events| self.chunk(data, events))?;
                if let Some(Event::Unread { .. }) = events.last() {
                    self.calls.doubt();
                }
                Ok(())
            }
            Frame::Whole(text) => {
                self.chunk(text, events)?;
                if !self.started {
                    return Err(api_error::reported(text));
                }
                if self.whole {
                    self.stop.get_or_insert(StopReason::EndTurn);
                }
                if self.stop.is_some() { self.end(events) } else { Err(DecodeError::Cut) }
            }
        }
    }

    fn chunk(&mut self, data: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let chunk: Chunk<'_> =
            serde_json::from_str(data).map_err(|fault| DecodeError::malformed(fault, data))?;
        if chunk.error.is_some_and(text::says_something) {
            return Err(api_error::reported(data));
        }
        let Some(choices) = chunk.choices else {
            // An error without a frame around it, as vLLM and Mistral send it; anything else says nothing.
            let flat = serde_json::from_str::<FlatError<'_>>(data).is_ok_and(|flat| flat.is_error());
            return if flat { Err(api_error::reported(data)) } else { Ok(()) };
        };
        // Only one answer was asked for.
        let choices = choices.into_iter().filter(|choice| matches!(choice.index, None | Some(0)));
        let mut read = Vec::with_capacity(1);
        for choice in choices {
            // Before anything is given out: what cannot be read is then nobody's half.
            let message = choice.message.filter(|message| message.get().starts_with('{'));
            let message = message.map(|message| {
                serde_json::from_str(message.get())
                    .map_err(|fault| DecodeError::malformed(fault, message.get()))
            });
            read.push((choice, message.transpose()?));
        }
        if !self.started {
            self.started = true;
            events.push(Event::Started { model: chunk.model.0.into_owned(), id: chunk.id.some() });
        }
        for (choice, message) in read {
            if let Some(mut delta) = choice.delta {
                let ends = !choice.finish_reason.is_empty();
                if self.repeats(&delta.content, message.is_some(), ends) {
                    delta.content = Said::Words(Cow::Borrowed(""));
                }
                self.delta(delta, events)?;
            }
            if let Some(message) = message {
                self.whole = true;
                self.message(message, events)?;
            }
            if !choice.native_finish_reason.is_empty() {
                self.native = choice.native_finish_reason.0.into_owned();
            }
            match choice.finish_reason.0.as_ref() {
                "" => {}
                "error" => {
                    return Err(DecodeError::reported(
                        ErrorKind::Server,
                        "the provider broke the answer off",
                    ));
                }
                // Some servers send a second reason; a plain stop does not take the first one back.
                "stop" if self.stop.is_some() => {}
                reason => {
                    self.stop = Some(stop_reason(reason));
                    self.reason = reason.to_owned();
                }
            }
        }
        // Counts that make no sense are no reason to lose the answer.
        let usage = chunk.usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
        let older = || chunk.x_groq.and_then(|groq| serde_json::from_str::<Groq>(groq.get()).ok()?.usage);
        let usage = usage.or_else(older).map(|usage| counted(&usage));
        if usage.is_some() && usage != self.usage {
            self.usage = usage;
            events.extend(usage.map(Event::Usage));
        }
        Ok(())
    }

    /// Whether a delta says the whole text again, as the last one of some services does: beside a whole message that does, or
    /// at the end of a text that came in pieces, none of which is as long.
    fn repeats(&self, content: &Said<'_>, beside_whole: bool, ends: bool) -> bool {
        let Said::Words(words) = content else { return false };
        let is_text = words.len() >= REPEATED_AT_LEAST && self.text.pieces > 1;
        self.text.is(words) && (beside_whole || (ends && is_text))
    }

    fn delta(&mut self, delta: Delta<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let details = delta.reasoning_details.map(|pieces| self.details.push(pieces)).transpose()?;
        self.reasoned_in.old_name |= delta.by_old_name;
        self.reasoned_in.new_name |= !delta.by_old_name && !delta.reasoning.is_empty();
        let reasoning = match details {
            Some(words) if delta.reasoning.is_empty() => {
                self.reasoned_in.details |= !words.is_empty();
                Cow::Owned(words)
            }
            _ => delta.reasoning.0,
        };
        self.words(Words::Reasoning, reasoning, events);
        match delta.content {
            Said::Words(words) => self.words(Words::Text, words, events),
            Said::Parts(parts) => self.parts(parts, events)?,
        }
        if let Some(list) = delta.annotations {
            self.annotate(list)?;
        }
        if let Some(refusal) = delta.refusal {
            self.words(Words::Text, refusal.0, events);
            self.refused = true;
        }
        for piece in delta.tool_calls {
            self.close(events);
            self.calls.push(piece, events)?;
        }
        self.older_call(delta.function_call, events)
    }

    /// Takes in a whole message, as it comes instead of a stream, or behind one and then says all of it again.
    fn message(&mut self, mut message: Delta<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let calls = std::mem::take(&mut message.tool_calls);
        let older = message.function_call.take();
        if self.text.is_empty() && self.reasoning.is_empty() {
            self.delta(message, events)?;
        } else {
            let text = match message.content {
                Said::Words(words) => words.into_owned(),
                Said::Parts(parts) => {
                    parts.into_iter().filter(|part| part.thinking.is_none()).map(|part| part.text.0).collect()
                }
            };
            let reasoning = self.reasoning.unsaid(&message.reasoning.0).to_owned();
            self.words(Words::Reasoning, reasoning.into(), events);
            let refusal = message.refusal.map(|refusal| refusal.0).unwrap_or_default();
            self.refused |= !refusal.is_empty();
            let text = format!("{text}{refusal}");
            let text = self.text.unsaid(&text).to_owned();
            self.words(Words::Text, text.into(), events);
        }
        if !calls.is_empty() {
            self.close(events);
            self.calls.push_whole(calls, events)?;
        }
        self.older_call(older, events)
    }

    fn older_call(
        &mut self,
        call: Option<Box<FunctionPiece<'_>>>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let Some(function) = call else { return Ok(()) };
        self.close(events);
        self.calls.push_older(CallPiece { function: Some(*function), ..CallPiece::default() }, events)
    }

    /// Keeps where words were taken from, and what a router read in a file.
    fn annotate(&mut self, list: &RawValue) -> Result<(), DecodeError> {
        let list: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        for one in list {
            self.annotated = self.annotated.saturating_add(one.get().len());
            if self.annotated > EVENT_LIMIT {
                return Err(DecodeError::TooLarge { limit: EVENT_LIMIT });
            }
            self.annotations.push(one.get().to_owned());
        }
        Ok(())
    }

    /// Returns the block that keeps them.
    fn beside(&mut self) -> Option<Content> {
        let annotations = std::mem::take(&mut self.annotations);
        let list = format!("[{}]", annotations.join(","));
        let list: &RawValue = serde_json::from_str(&list).ok().filter(|_| !annotations.is_empty())?;
        beside::block(NAME, beside::Of::Message, beside::Members::from([("annotations".into(), list)]))
    }

    fn parts(&mut self, parts: Vec<ContentPart<'_>>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        for part in parts {
            match (part.kind.0.as_ref(), part.thinking) {
                ("thinking", Some(thinking)) if thinking.get().starts_with('[') => {
                    let inner: Vec<ContentPart<'_>> = serde_json::from_str(thinking.get())
                        .map_err(|fault| DecodeError::malformed(fault, thinking.get()))?;
                    for part in inner {
                        self.words(Words::Reasoning, part.text.0, events);
                    }
                }
                ("thinking", Some(thinking)) if thinking.get().starts_with('"') => {
                    self.words(Words::Reasoning, text::string(thinking)?, events);
                }
                _ => self.words(Words::Text, part.text.0, events),
            }
        }
        Ok(())
    }

    fn words(&mut self, kind: Words, text: Cow<'_, str>, events: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        if self.open != Some(kind) {
            self.close(events);
            // What follows them is not part of them.
            self.calls.announce(events);
            self.open = Some(kind);
        }
        match kind {
            Words::Text => self.text.push(&text),
            Words::Reasoning => self.reasoning.push(&text),
        }
        let text = text.into_owned();
        events.push(match kind {
            Words::Text => Event::TextDelta(text),
            Words::Reasoning => Event::ThinkingDelta(text),
        });
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        events.extend(self.open.take().map(|_| Event::BlockDone));
    }

    /// Takes the server's word that the answer is complete.
    fn end(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.close(events);
        self.calls.finish(events);
        let (calls, native) = (self.calls.count() > 0, self.native.to_ascii_lowercase());
        // Some servers stop plainly after calls, above all after forced ones; some give no reason at all.
        let stop = match self.stop.take().unwrap_or(StopReason::EndTurn) {
            StopReason::EndTurn if self.refused => StopReason::Refusal,
            StopReason::EndTurn if calls => StopReason::ToolUse,
            // The call was none: a router says so only in the words of the service behind it.
            StopReason::EndTurn if self.text.is_empty() && native.contains("call") => {
                StopReason::Other(std::mem::take(&mut self.native))
            }
            StopReason::ToolUse if !calls => StopReason::Other(format!("{} without a call", self.reason)),
            stop => stop,
        };
        events.extend(self.beside().map(Event::Block));
        // Before what it led to, wherever it came.
        events.extend(self.details.carried().map(|with| Event::Replace { blocks: 0..0, with }));
        events.extend(self.shown().map(Event::Wants));
        events.push(Event::Stopped(stop));
        self.stopped = true;
        Ok(())
    }

    /// Returns how reasoning has to go back, if not in the field that most have.
    fn shown(&self) -> Option<Trait> {
        match self.reasoned_in {
            ReasonedIn { old_name: true, .. } => None,
            ReasonedIn { new_name: true, .. } => Some(Trait::ReasoningInReasoning),
            // What is signed goes back whole.
            ReasonedIn { details: true, .. } if self.details.carried().is_none() => {
                Some(Trait::ReasoningInDetails)
            }
            ReasonedIn { .. } => None,
        }
    }
}

/// Words that were said, as their length and a sum (FNV-1a): enough to know them again, whatever their size.
struct Spoken {
    length: usize,
    sum: u64,
    pieces: usize,
}

impl Default for Spoken {
    fn default() -> Self {
        Spoken { length: 0, sum: 0xcbf2_9ce4_8422_2325, pieces: 0 }
    }
}

impl Spoken {
    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn push(&mut self, text: &str) {
        self.pieces += 1;
        self.length += text.len();
        for byte in text.bytes() {
            self.sum = (self.sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Returns whether a text is all of these words.
    fn is(&self, text: &str) -> bool {
        let mut same = Spoken::default();
        if text.len() == self.length {
            same.push(text);
        }
        !text.is_empty() && (same.length, same.sum) == (self.length, self.sum)
    }

    /// Returns what a whole text says beyond these words. Words that were shown cannot be taken back.
    fn unsaid<'a>(&self, whole: &'a str) -> &'a str {
        let Some((said, rest)) = whole.split_at_checked(self.length) else { return "" };
        let mut same = Spoken::default();
        same.push(said);
        if same.sum == self.sum { rest } else { "" }
    }
}

fn counted(usage: &UsageShape) -> Usage {
    let prompt = usage.prompt_tokens_details.as_ref();
    let cached = prompt.and_then(|details| details.cached_tokens).or(usage.prompt_cache_hit_tokens);
    let completion = usage.completion_tokens_details.as_ref();
    Usage {
        // Cached tokens are in it on this wire.
        input_tokens: usage.prompt_tokens.unwrap_or_default(),
        output_tokens: usage.completion_tokens.unwrap_or_default(),
        cache_read_tokens: cached.unwrap_or_default(),
        cache_write_tokens: prompt.and_then(|details| details.cache_write_tokens).unwrap_or_default(),
        reasoning_tokens: completion.and_then(|details| details.reasoning_tokens).unwrap_or_default(),
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" => StopReason::EndTurn,
        "length" | "max_tokens" => StopReason::MaxTokens,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}
