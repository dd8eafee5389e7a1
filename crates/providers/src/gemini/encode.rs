//! Our request to the body of a `generateContent` request.
//!
//! What the assistant says in a row is one turn, or the service refuses its calls (`Please ensure that function call turn
//! comes immediately after a user turn or after a function response turn.`). Its results are one turn; user messages stay
//! turns of their own, which was recorded to be taken after results and after each other.

use std::borrow::Cow;

use serde_json::value::RawValue;
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Messages, Part, Role, ToolCall, ToolChoice, ToolResult, ToolSpec,
};

use super::NAME;
use super::shapes::{self, Answer, BesideText};
use crate::beside::Members;
use crate::history::{Inserts, Out, Round, WriteRound};
use crate::{
    Effort, EncodeError, HttpRequest, Memo, Place, Request, Thinking, assemble, beside, shape, traits,
};

// "The set of character sequences (up to 5)" (Google's reference, read 2026-11).
const STOP_LIMIT: usize = 5;
// The seed is an `int32` (Google's reference, read 2026-11).
const SEED_LIMIT: u64 = i32::MAX as u64;
// Digits that a double keeps: numbers in a result become doubles at the service.
const EXACT_DIGITS: usize = 15;
// The largest budget that all models take that have one (Google's documents, read 2026-11).
const BUDGET_LIMIT: u32 = 24_576;

/// Writes the request, or says what is not legal in it.
pub(super) fn request(
    request: &Request,
    call_ids: bool,
    memo: &mut Memo,
) -> Result<HttpRequest, EncodeError> {
    let (system, rest) = shape::split_system(&request.messages);
    shape::check_tools(request, NAME, is_name)?;
    request.check_features(NAME, super::support)?;
    let request = &*traits::fitted(request);
    check_settings(request)?;
    check_first(&rest, system.len())?;
    memo.update(&request.messages, system.len(), &Turns { call_ids })?;
    check_last(&rest, system.len())?;

    let body = shapes::Body {
        system_instruction: instructions(system)?,
        tools: tools(request),
        tool_config: choice(request),
        generation_config: config(request),
        labels: Some(&request.metadata).filter(|labels| !labels.is_empty()),
        service_tier: request.service_tier.as_deref(),
    };
    let elements = memo.elements(Inserts::none());
    let body = assemble::body(&body, ("contents", elements), &request.extra)?;
    Ok(HttpRequest::post_json(path(request), body))
}

/// The model stands in the path; with its collection or without.
fn path(request: &Request) -> String {
    let (collection, model) = match request.model.split_once('/') {
        Some((collection @ ("models" | "tunedModels"), model)) => (collection, model),
        _ => ("models", request.model.as_str()),
    };
    let mut path = format!("/v1beta/{collection}/");
    for byte in model.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => path.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path.push_str(if request.stream { ":streamGenerateContent?alt=sse" } else { ":generateContent" });
    path
}

/// Writes the instructions; those that say nothing are left out.
fn instructions(system: Messages<'_>) -> Result<Option<shapes::Instructions<'_>>, EncodeError> {
    let mut parts = Vec::new();
    for (index, message) in system.enumerate().filter(|(_, message)| !shape::is_silent(message)) {
        let node = Place::of(index, message);
        for content in &message.content {
            match content {
                Content::Text { text } => parts.push(shapes::Part::Text { text }),
                other => return Err(EncodeError::Misplaced { block: shape::name_of(other), node }),
            }
        }
    }
    Ok((!parts.is_empty()).then_some(shapes::Instructions { parts }))
}

fn tools(request: &Request) -> Option<Vec<shapes::Tools<'_>>> {
    let functions: Vec<_> = request.tools.iter().map(function).collect();
    let ours = (!functions.is_empty()).then_some(shapes::Tools::Ours { function_declarations: functions });
    let tools: Vec<_> =
        ours.into_iter().chain(request.provider_tools.iter().map(shapes::Tools::Theirs)).collect();
    (!tools.is_empty()).then_some(tools)
}

fn choice(request: &Request) -> Option<shapes::ToolConfig<'_>> {
    let (mode, name) = match &request.tool_choice {
        _ if request.tools.is_empty() => return None,
        ToolChoice::Auto => return None,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Any => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some([name.as_str()])),
    };
    let function_calling_config = shapes::Choice { mode, allowed_function_names: name };
    Some(shapes::ToolConfig { function_calling_config })
}

fn config(request: &Request) -> shapes::GenerationConfig<'_> {
    let schema = request.output.as_ref().map(|output| &output.schema);
    let stop = request.stop.as_slice();
    shapes::GenerationConfig {
        max_output_tokens: request.max_output_tokens,
        temperature: request.temperature,
        top_p: request.top_p,
        top_k: request.top_k,
        frequency_penalty: request.frequency_penalty,
        presence_penalty: request.presence_penalty,
        seed: request.seed,
        stop_sequences: Some(stop).filter(|stop| !stop.is_empty()),
        thinking_config: thinking(request),
        response_mime_type: schema.map(|_| "application/json"),
        response_json_schema: schema,
    }
}

/// Models from Gemini 3 on reason by level and refuse budgets; the others refuse levels (`Thinking level is not supported
/// for this model.`).
fn thinking(request: &Request) -> Option<shapes::ThinkingConfig> {
    let (by_budget, effort) = match request.thinking {
        Thinking::Unsaid => return None,
        Thinking::Off => (0, Effort::Minimal),
        Thinking::Budget(budget) => (budget, Effort::of_budget(budget)),
        Thinking::Effort(effort) => (effort.budget().min(BUDGET_LIMIT), effort),
    };
    let off = request.thinking == Thinking::Off;
    let levels = takes_levels(&request.model);
    Some(shapes::ThinkingConfig {
        thinking_budget: (!levels).then_some(by_budget),
        thinking_level: levels.then_some(match effort {
            Effort::Minimal => "MINIMAL",
            Effort::Low => "LOW",
            Effort::Medium => "MEDIUM",
            Effort::High | Effort::XHigh | Effort::Max => "HIGH",
        }),
        // What is thought is shown, as on other wires.
        include_thoughts: (!off).then_some(true),
    })
}

/// A name without a number is that of a newer model, such as `gemini-flash-latest`.
fn takes_levels(model: &str) -> bool {
    let generation = model.rsplit_once("gemini-").map_or("", |(_, rest)| rest);
    !generation.starts_with(['1', '2'])
}

fn check_settings(request: &Request) -> Result<(), EncodeError> {
    if request.stop.len() > STOP_LIMIT {
        return Err(EncodeError::Unsupported { wire: NAME, what: "more than five stop sequences" });
    }
    if request.seed.is_some_and(|seed| seed > SEED_LIMIT) {
        return Err(EncodeError::Unsupported { wire: NAME, what: "a seed above 2147483647" });
    }
    Ok(())
}

fn check_first(rest: &Messages<'_>, lead: usize) -> Result<(), EncodeError> {
    match rest.clone().next() {
        None => Err(EncodeError::NoMessages),
        // What the model says first is taken; what it calls must follow the user's words or results.
        Some(first) if first.role == Role::Assistant && first.calls().next().is_some() => {
            Err(EncodeError::FirstNotUser { node: Place::of(lead, first) })
        }
        _ => Ok(()),
    }
}

fn check_last(rest: &Messages<'_>, lead: usize) -> Result<(), EncodeError> {
    match rest.clone().next_back() {
        Some(last) if last.role == Role::Assistant => {
            Err(EncodeError::LastIsAssistant { node: Place::of(lead + rest.len() - 1, last) })
        }
        _ => Ok(()),
    }
}

/// Writes the conversation as turns.
struct Turns {
    call_ids: bool,
}

impl WriteRound for Turns {
    fn key(&self) -> String {
        format!("{NAME} {}", self.call_ids)
    }

    fn pairing(&self) -> shape::After {
        shape::After::Turn
    }

    fn takes_name(&self, name: &str) -> bool {
        is_name(name)
    }

    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
        let mut calls: Vec<&ToolCall> = Vec::new();
        let mut said = Vec::new();
        let mut results = Vec::new();
        let mut asked = Vec::new();
        for (node, message) in round.places() {
            match message.role {
                Role::System => return Err(EncodeError::SystemNotFirst { node }),
                Role::Assistant => {
                    calls.extend(message.calls());
                    self.push_said(message, node, &mut said)?;
                }
                Role::User | Role::Tool => {
                    let mut parts = Vec::new();
                    for content in &message.content {
                        match content {
                            Content::ToolResult(result) => {
                                results.push(self.result(result, &calls, node)?);
                            }
                            own if beside::read(own, NAME).is_some() => {}
                            other => parts.push(user_part(other, node)?),
                        }
                    }
                    asked.extend((!parts.is_empty()).then_some(parts));
                }
            }
        }
        results.sort_by_key(|(call, _)| *call);
        let results: Vec<_> = results.into_iter().map(|(_, result)| result).collect();
        let turns = [("model", said), ("user", results)].into_iter().filter(|(_, parts)| !parts.is_empty());
        for (role, parts) in turns.chain(asked.into_iter().map(|parts| ("user", parts))) {
            out.element(&shapes::Content { role, parts })?;
        }
        Ok(())
    }
}

/// Whether the wire takes the name of a tool: "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain
/// underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64." (its error text, read 2026-11).
fn is_name(name: &str) -> bool {
    let leads = |first: u8| first.is_ascii_alphabetic() || first == b'_';
    name.len() <= 64
        && name.bytes().next().is_some_and(leads)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-'))
}

impl Turns {
    fn push_said<'a>(
        &self,
        message: &'a Message,
        node: Place,
        parts: &mut Vec<shapes::Part<'a>>,
    ) -> Result<(), EncodeError> {
        let mut blocks = message.content.iter().peekable();
        while let Some(content) = blocks.next() {
            match content {
                // It was put where it belongs, or what it belonged to is gone.
                own if beside::read(own, NAME).is_some() => {}
                Content::Text { text } => {
                    let mut beside = Vec::new();
                    while let Some(next) = blocks.peek().and_then(|next| beside_text(next)) {
                        beside.push(next);
                        blocks.next();
                    }
                    push_words(text, beside, parts);
                }
                Content::Thinking { text, signature } => {
                    let thought_signature = signature.as_deref().filter(|signature| !signature.is_empty());
                    // Neither words nor a proof: there is nothing to send.
                    let says = thought_signature.is_some() || !text.is_empty();
                    let part = shapes::Part::Thought { text, thought: true, thought_signature };
                    parts.extend(says.then_some(part));
                }
                Content::ToolCall(call) => {
                    let signature = call.signature.as_deref().filter(|signature| !signature.is_empty());
                    parts.push(shapes::Part::Call {
                        function_call: shapes::Call {
                            id: self.id(&call.id),
                            name: &call.name,
                            args: shape::arguments(call, node)?,
                        },
                        thought_signature: signature,
                        beside: match blocks.peek().and_then(|next| beside::read(next, NAME)) {
                            Some((beside::Of::Call, beside)) => beside,
                            _ => Members::new(),
                        },
                    });
                }
                other => parts.push(raw_part(other, node)?),
            }
        }
        Ok(())
    }

    /// Returns a result, with the position of its call.
    fn result<'a>(
        &self,
        result: &'a ToolResult,
        calls: &[&'a ToolCall],
        node: Place,
    ) -> Result<(usize, shapes::Part<'a>), EncodeError> {
        let position = calls.iter().position(|call| call.id == result.call_id);
        let Some((position, call)) = position.and_then(|at| Some((at, calls.get(at)?))) else {
            return Err(EncodeError::OrphanResult { call: result.call_id.clone(), node });
        };
        let mut parts = Vec::new();
        for part in &result.content {
            parts.push(match part {
                Part::Text { .. } => continue,
                Part::Image(media) | Part::Document(media) => media_part(media),
                Part::Opaque { wire, json } if wire == NAME => {
                    shapes::Part::Raw(shape::raw(json, NAME, node)?)
                }
                Part::Opaque { .. } => return Err(EncodeError::ForeignBlock { wire: NAME, node }),
            });
        }
        let function_response = shapes::ResultOfCall {
            id: self.id(&result.call_id),
            name: &call.name,
            response: answer(result),
            parts,
        };
        Ok((position, shapes::Part::Result { function_response }))
    }

    fn id<'a>(&self, id: &'a str) -> Option<&'a str> {
        Some(id).filter(|id| self.call_ids && !id.is_empty())
    }
}

fn function(tool: &ToolSpec) -> shapes::Function<'_> {
    shapes::Function {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.input_schema,
    }
}

fn user_part(content: &Content, node: Place) -> Result<shapes::Part<'_>, EncodeError> {
    match content {
        Content::Text { text } => Ok(shapes::Part::Text { text }),
        Content::Image(media) | Content::Document(media) => Ok(media_part(media)),
        other => raw_part(other, node),
    }
}

fn media_part(media: &Media) -> shapes::Part<'_> {
    let mime_type = media.media_type.as_str();
    match &media.source {
        MediaSource::Base64(data) => shapes::Part::Inline { inline_data: shapes::Inline { mime_type, data } },
        MediaSource::Url(file_uri) => shapes::Part::File { file_data: shapes::File { mime_type, file_uri } },
    }
}

fn raw_part(content: &Content, node: Place) -> Result<shapes::Part<'_>, EncodeError> {
    if let Some(beside) = beside_text(content) {
        // The words that it belonged to are gone.
        return Ok(signed("", beside));
    }
    match content {
        Content::Opaque { wire, json } if wire == NAME => {
            Ok(shapes::Part::Raw(shape::raw(json, NAME, node)?))
        }
        Content::Opaque { .. } => Err(EncodeError::ForeignBlock { wire: NAME, node }),
        other => Err(EncodeError::UnsupportedBlock { wire: NAME, block: shape::name_of(other), node }),
    }
}

/// Reads what the decoder kept of a text part besides its words.
fn beside_text(content: &Content) -> Option<BesideText<'_>> {
    match content {
        Content::Opaque { wire, json } if wire == NAME && json.contains("\"textBytes\"") => {
            serde_json::from_str(json).ok()
        }
        _ => None,
    }
}

/// Writes a text as the parts that it came in: signed ones apart, the words between them joined.
fn push_words<'a>(text: &'a str, beside: Vec<BesideText<'a>>, parts: &mut Vec<shapes::Part<'a>>) {
    if beside.is_empty() {
        parts.push(shapes::Part::Text { text });
        return;
    }
    let mut words = Vec::new();
    let mut from = 0;
    for BesideText { range: (start, end), .. } in &beside {
        // Somebody changed the text.
        let (Some(before), Some(within)) = (text.get(from..*start), text.get(*start..*end)) else {
            parts.extend((!text.trim().is_empty()).then_some(shapes::Part::Text { text }));
            parts.extend(beside.into_iter().map(|beside| signed("", beside)));
            return;
        };
        words.push((before, within));
        from = *end;
    }
    for ((before, within), beside) in words.into_iter().zip(beside) {
        parts.extend((!before.is_empty()).then_some(shapes::Part::Text { text: before }));
        parts.push(signed(within, beside));
    }
    let after = text.get(from..).unwrap_or_default();
    parts.extend((!after.is_empty()).then_some(shapes::Part::Text { text: after }));
}

fn signed<'a>(text: &'a str, beside: BesideText<'a>) -> shapes::Part<'a> {
    shapes::Part::Signed { text, beside: beside.members }
}

/// `output` and `error` are the names that the service knows; an object without them is the output as a whole.
fn answer(result: &ToolResult) -> Answer<'_> {
    let mut texts = result.content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image(_) | Part::Document(_) | Part::Opaque { .. } => None,
    });
    let words = match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(text), None) => match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) if !result.is_error && is_data(text) => return Answer::Data(raw),
            _ => Cow::Borrowed(text),
        },
        _ => Cow::Owned(result.text()),
    };
    if result.is_error { Answer::Error { error: words } } else { Answer::Output { output: words } }
}

/// Whether JSON is an object that means the same after the service has read it: a file with its line breaks and a number
/// that a double cannot hold do not.
fn is_data(json: &str) -> bool {
    let (mut in_string, mut escaped, mut digits) = (false, false, 0);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b' ' | b'\t' | b'\r' | b'\n' => return false,
            b'0'..=b'9' if digits == EXACT_DIGITS => return false,
            b'0'..=b'9' => digits += 1,
            b'.' => {}
            _ => digits = 0,
        }
    }
    json.starts_with('{')
}
