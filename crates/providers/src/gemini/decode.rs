//! The body of a response to events.
//!
//! A stream is a row of whole responses, each with the parts that are new; a response that came at once is a row of one.
//! The end is a finish reason and then the end of the body: counts, signatures and even parts may come after the reason.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_message_tree::{Content, MessageList, StopReason, Usage};

use super::NAME;
use super::shapes::{BesideText, CallOfPart, Candidate, ResponseShape, UsageShape};
use crate::beside::Members;
use crate::event::CALL_LIMIT;
use crate::framing::{self, Frame, Framing};
use crate::front::Inner;
use crate::{Bounds, Decode, DecodeError, Event, Request, api_error, beside, text};

// What is taken of a response's id into the ids of its calls: longer ones are refused by other wires.
const ID_LIMIT: usize = 28;

pub(super) struct Decoder {
    framing: Framing,
    answer: Answer,
}

impl Decoder {
    pub(super) fn new(request: &Request) -> Self {
        let answer = Answer {
            asked: request.model.clone(),
            conversation: request.messages.clone(),
            started: false,
            id: None,
            open: Open::Nothing,
            calls: HashSet::new(),
            said_again: HashSet::new(),
            earlier_calls: None,
            usage: Usage::default(),
            candidates_tokens: 0,
            tool_use_tokens: 0,
            prompt_tokens: 0,
            finish: None,
            remark: None,
            lost_call: false,
            blocked: false,
            over: false,
        };
        Decoder { framing: Framing::default(), answer }
    }
}

impl Decode for Decoder {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let answer = &mut self.answer;
        self.framing.push(bytes, |frame| answer.frame(&frame, events))
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let answer = &mut self.answer;
        if answer.finish.is_none() && !answer.blocked {
            self.framing.finish(|frame| answer.frame(&frame, events))?;
        }
        answer.over |= self.framing.is_over();
        answer.end(events)
    }

    fn bound(&mut self, bounds: &Bounds) {
        self.framing.set_limit(bounds.event);
    }
}

impl Inner for Decoder {
    fn mended(&self) -> bool {
        self.framing.mended()
    }

    fn lost_call(&self) -> bool {
        self.answer.lost_call
    }
}

/// How far the answer has come.
struct Answer {
    // The model of the request, and its messages.
    asked: String,
    conversation: MessageList,
    started: bool,
    id: Option<String>,
    open: Open,
    // The ids of the calls of this answer, and, once they are asked for, those of the conversation.
    calls: HashSet<String>,
    // Calls as they came, of those to which the service gave an id of its own.
    said_again: HashSet<String>,
    earlier_calls: Option<HashSet<String>>,
    usage: Usage,
    prompt_tokens: u64,
    tool_use_tokens: u64,
    candidates_tokens: u64,
    finish: Option<String>,
    remark: Option<String>,
    lost_call: bool,
    blocked: bool,
    // Whether the body said by its own form that nothing is missing.
    over: bool,
}

/// The block that takes further words.
enum Open {
    Nothing,
    Thoughts,
    /// A row of text parts is one block, or a signature in the middle of a sentence would break it. `signed` are the parts
    /// that have more than words, with the range of their words in the block.
    Text {
        length: usize,
        signed: Vec<(usize, usize, Box<str>)>,
    },
}

impl Answer {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        match frame {
            Frame::Event(event) if event.data.trim() == "[DONE]" => {
                self.over |= self.started;
                Ok(())
            }
            Frame::Event(event) if event.data.is_empty() => Ok(()),
            Frame::Event(event) if event.name == "error" => Err(api_error::reported(event.data)),
            Frame::Event(event) => {
                framing::each(event.data, events, |data, events| self.response(data, false, events))
            }
            Frame::Whole(text) => {
                self.response(text, true, events)?;
                // It has its own end, and something in it.
                self.over = !self.calls.is_empty() || !matches!(self.open, Open::Nothing);
                Ok(())
            }
        }
    }

    fn response(&mut self, json: &str, whole: bool, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let response: ResponseShape<'_> = parse(json)?;
        if response.error.is_some_and(text::says_something) {
            return Err(api_error::reported(json));
        }
        let says_something = response.candidates.is_some() || response.prompt_feedback.is_some();
        if !says_something && response.usage_metadata.is_none() {
            // In a stream something that is not known; as a whole body not an answer.
            return if whole { Err(api_error::reported(json)) } else { Ok(()) };
        }
        if !self.started {
            self.started = true;
            self.id = response.response_id.some();
            let model = response.model_version.some().unwrap_or_else(|| self.asked.clone());
            events.push(Event::Started { model, id: self.id.clone() });
        }
        let ours = |candidate: &Candidate<'_>| candidate.index.unwrap_or_default() == 0;
        for candidate in response.candidates.into_iter().flatten().filter(ours) {
            let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
            for part in parts {
                // A part that cannot be read is no reason to lose the others, and the reason to stop.
                match self.part(part.get(), events) {
                    Err(fault @ DecodeError::Malformed { .. }) => {
                        self.lost_call |= part.get().contains("\"functionCall\"");
                        events.push(framing::unread(fault));
                    }
                    outcome => outcome?,
                }
            }
            let reason =
                candidate.finish_reason.some().filter(|reason| reason != "FINISH_REASON_UNSPECIFIED");
            self.finish = reason.or(self.finish.take());
            self.remark = text::remark(candidate.finish_message).or(self.remark.take());
        }
        if let Some(feedback) = response.prompt_feedback {
            let reason = feedback.block_reason.some().filter(|reason| reason != "BLOCKED_REASON_UNSPECIFIED");
            self.blocked |= reason.is_some();
            self.remark = text::remark(feedback.block_reason_message).or(reason).or(self.remark.take());
        }
        // Counts that make no sense are no reason to lose the answer.
        let usage = response.usage_metadata.and_then(|usage| parse::<UsageShape>(usage.get()).ok());
        if let Some(usage) = &usage {
            self.count(usage, events);
        }
        Ok(())
    }

    fn part(&mut self, json: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if !json.starts_with('{') {
            return Ok(());
        }
        let mut members: Members<'_> = parse(json)?;
        members.retain(|_, value| value.get() != "null");
        let renamed;
        let mut json = json;
        if members.keys().any(|name| name.contains('_')) {
            members = members.into_iter().map(|(name, value)| (in_camel_case(name), value)).collect();
            // What is carried is carried under the names that everybody else looks for.
            renamed = serde_json::to_string(&members).map_err(|fault| DecodeError::malformed(fault, json))?;
            json = renamed.as_str();
        }
        let thought = members.get("thought").is_some_and(|thought| thought.get() == "true");
        if let Some(call) = members.remove("functionCall") {
            // A part has one content by the service's definition; of one that has two neither is lost.
            match members.remove("text").filter(|text| text.get().starts_with('"')) {
                Some(text) if thought => self.thought(&parse::<String>(text.get())?, None, events),
                Some(text) => self.text(parse(text.get())?, None, events),
                None => {}
            }
            let signature = signature(&members);
            members.remove("thoughtSignature");
            self.call(&parse(call.get())?, signature, events)?;
            events.extend(beside::block(NAME, beside::Of::Call, members).map(Event::Block));
            return Ok(());
        }
        match members.get("text").filter(|text| text.get().starts_with('"')) {
            Some(text) if thought => self.thought(&parse::<String>(text.get())?, signature(&members), events),
            Some(text) => {
                let beside = members.keys().any(|name| !matches!(name.as_ref(), "text" | "thought"));
                self.text(parse(text.get())?, beside.then_some(json), events);
            }
            None if members.keys().all(|name| matches!(name.as_ref(), "thought" | "thoughtSignature")) => {
                // Nothing but a signature. A part must have something in it when it goes back (`required oneof field
                // 'data' must have one initialized field`), if only words that are empty.
                match members.get("thoughtSignature") {
                    Some(_) if thought => self.thought("", signature(&members), events),
                    Some(raw) => {
                        let part = format!("{{\"text\":\"\",\"thoughtSignature\":{raw}}}");
                        self.text(String::new(), Some(&part), events);
                    }
                    None => {}
                }
            }
            None => {
                self.close(events);
                events.push(carried(json.to_owned()));
            }
        }
        Ok(())
    }

    fn thought(&mut self, text: &str, signature: Option<String>, events: &mut Vec<Event>) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        // A signed part stands alone.
        if signature.is_some() || !matches!(self.open, Open::Thoughts) {
            self.close(events);
        }
        if !text.is_empty() {
            events.push(Event::ThinkingDelta(text.to_owned()));
        }
        self.open = Open::Thoughts;
        if let Some(signature) = signature {
            events.push(Event::Signature(signature));
            self.close(events);
        }
    }

    /// Takes the words of a text part, and the whole part if there is more in it.
    fn text(&mut self, text: String, signed: Option<&str>, events: &mut Vec<Event>) {
        if !matches!(self.open, Open::Text { .. }) {
            if text.is_empty() {
                // Nothing stands before it that it could belong to.
                if let Some(part) = signed {
                    self.close(events);
                    events.push(carried(part.to_owned()));
                }
                return;
            }
            self.close(events);
            self.open = Open::Text { length: 0, signed: Vec::new() };
        }
        if let Open::Text { length, signed: parts } = &mut self.open {
            let start = *length;
            *length += text.len();
            parts.extend(signed.map(|part| (start, *length, part.into())));
        }
        if !text.is_empty() {
            events.push(Event::TextDelta(text));
        }
    }

    fn call(
        &mut self,
        call: &CallOfPart<'_>,
        signature: Option<String>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let name = call.name.clone().unwrap_or_default();
        if call.partial_args.is_some() || call.will_continue == Some(true) {
            return Err(DecodeError::malformed("a call in pieces, for which nobody asked", &name));
        }
        if name.is_empty() {
            return Err(DecodeError::malformed("a call without a name", call.args.map_or("", RawValue::get)));
        }
        if call.id.as_ref().is_some_and(|id| !id.is_empty()) {
            let args = call.args.map_or("", RawValue::get);
            let said = format!("{} {name} {args}", call.id.as_deref().unwrap_or_default());
            // The same call in a later response, under the same id.
            if !self.said_again.insert(said) {
                return Ok(());
            }
        }
        self.close(events);
        let index = self.calls.len();
        let id = call.id.clone().filter(|id| !id.is_empty() && !self.calls.contains(id));
        let id = id.unwrap_or_else(|| self.free_id());
        if self.calls.len() >= CALL_LIMIT {
            return Err(DecodeError::TooMany { what: "calls", limit: CALL_LIMIT });
        }
        self.calls.insert(id.clone());
        events.push(Event::CallStarted { index, id, name });
        // Some that imitate the service send them as a string.
        let text = call.args.map(text::string).transpose()?.unwrap_or_default();
        if !text.is_empty() {
            events.push(Event::ArgumentsDelta { index, text: text.into_owned() });
        }
        events.extend(signature.map(|signature| Event::CallSignature { index, signature }));
        events.push(Event::CallDone { index });
        Ok(())
    }

    /// Returns an id for a call that came without one: models before Gemini 3 give none.
    ///
    /// It is made of the response's id, else of the number of calls so far, and is none that the conversation has.
    fn free_id(&mut self) -> String {
        let earlier = self.earlier_calls.get_or_insert_with(|| {
            self.conversation.iter().flat_map(|message| message.calls()).map(|call| call.id.clone()).collect()
        });
        let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let response: String = self.id.iter().flat_map(|id| id.chars()).filter(fits).take(ID_LIMIT).collect();
        let (prefix, first) = if response.is_empty() {
            ("call_".to_owned(), earlier.len() + self.calls.len())
        } else {
            (format!("call_{response}_"), self.calls.len())
        };
        let free = |id: &String| !self.calls.contains(id) && !earlier.contains(id);
        // As many numbers as there are ids cannot all be taken.
        let last = first + earlier.len() + self.calls.len();
        (first..=last).map(|number| format!("{prefix}{number}")).find(free).unwrap_or_default()
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Thoughts => events.push(Event::BlockDone),
            Open::Text { length, signed } => {
                events.push(Event::BlockDone);
                for (start, end, part) in signed {
                    // A signature after the last word is a part of its own, as it came.
                    let after = start == length;
                    let kept = if after { Some(part.into_string()) } else { beside(&part, start, end) };
                    events.extend(kept.map(carried));
                }
            }
        }
    }

    fn count(&mut self, usage: &UsageShape, events: &mut Vec<Event>) {
        let before = self.usage;
        self.prompt_tokens = usage.prompt_token_count.unwrap_or(self.prompt_tokens);
        self.tool_use_tokens = usage.tool_use_prompt_token_count.unwrap_or(self.tool_use_tokens);
        self.candidates_tokens = usage.candidates_token_count.unwrap_or(self.candidates_tokens);
        let counted = &mut self.usage;
        counted.reasoning_tokens = usage.thoughts_token_count.unwrap_or(counted.reasoning_tokens);
        counted.cache_read_tokens = usage.cached_content_token_count.unwrap_or(counted.cache_read_tokens);
        // Cached tokens are in the prompt's on this wire; thoughts are not in the candidates'. Added up like this they
        // give the total that the service reports (recorded).
        counted.input_tokens = self.prompt_tokens.saturating_add(self.tool_use_tokens);
        counted.output_tokens = self.candidates_tokens.saturating_add(counted.reasoning_tokens);
        if *counted != before {
            events.push(Event::Usage(*counted));
        }
    }

    fn end(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let calls = !self.calls.is_empty();
        let stop = match self.finish.take() {
            Some(reason) => stop_reason(reason, calls),
            None if self.blocked => StopReason::Refusal,
            None if self.over && self.started && calls => StopReason::ToolUse,
            None if self.over && self.started => StopReason::EndTurn,
            None => return Err(DecodeError::Cut),
        };
        self.close(events);
        // Of an end like any other the service has nothing to say.
        let remark =
            self.remark.take().filter(|_| !matches!(stop, StopReason::EndTurn | StopReason::ToolUse));
        let stop = match (stop, &remark) {
            (StopReason::Other(reason), Some(words)) => StopReason::Other(format!("{reason}: {words}")),
            (stop, _) => stop,
        };
        events.extend(remark.map(Event::Remark));
        events.push(Event::Stopped(stop));
        Ok(())
    }
}

/// The reason is `STOP` even for calls, and for stop sequences (recorded).
fn stop_reason(reason: String, calls: bool) -> StopReason {
    match reason.as_str() {
        "FUNCTION_CALL" if !calls => StopReason::Other("FUNCTION_CALL without a call".to_owned()),
        // A call of a tool that was not offered (recorded): like any other call of a tool that does not exist. The last
        // is what stand-ins for the service say.
        "STOP" | "UNEXPECTED_TOOL_CALL" | "FUNCTION_CALL" if calls => StopReason::ToolUse,
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "ESCALATION"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::Refusal,
        _ => StopReason::Other(reason),
    }
}

fn in_camel_case(name: Cow<'_, str>) -> Cow<'_, str> {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    if camel == name { name } else { Cow::Owned(camel) }
}

fn carried(json: String) -> Event {
    Event::Block(Content::Opaque { wire: NAME.to_owned(), json })
}

/// Returns what a text part has besides its words.
fn beside(part: &str, start: usize, end: usize) -> Option<String> {
    let mut members: Members<'_> = serde_json::from_str(part).ok()?;
    members.retain(|name, value| !matches!(name.as_ref(), "text" | "thought") && value.get() != "null");
    serde_json::to_string(&BesideText { range: (start, end), members }).ok()
}

fn signature(members: &Members<'_>) -> Option<String> {
    let signature = members.get("thoughtSignature")?;
    serde_json::from_str(signature.get()).ok().filter(|signature: &String| !signature.is_empty())
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))
}
