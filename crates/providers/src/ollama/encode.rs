//! Our request to the body of a chat request.
//!
//! Content is always a string, empty beside calls and pictures; the service refuses anything else.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolChoice, ToolResult,
};

use super::shapes::{Body, Call, CallFunction, Function, Options, Rest, Think, Tool};
use super::{NAME, known_id};
use crate::history::{Inserts, Out, Round, WriteRound};
use crate::{
    Effort, EncodeError, Feature, HttpRequest, Memo, Place, Request, Thinking, assemble, shape, traits,
};

// Members of a message that come from blocks of ours. Pictures are not among them: those of an answer come back raw.
const OURS: [&str; 6] = ["role", "content", "thinking", "tool_calls", "tool_name", "tool_call_id"];

/// Writes the request, or says what is not legal in it.
pub(super) fn request(request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
    let Some(last) = request.messages.last() else { return Err(EncodeError::NoMessages) };
    shape::check_tools(request, NAME, |name| !name.is_empty())?;
    request.check_features(NAME, super::support)?;
    let request = &*traits::fitted(request);
    let (_, rest) = shape::split_system(&request.messages);
    // Instructions that say nothing are not sent, unless there is nothing else to send.
    memo.update(&request.messages, 0, &Messages { keep_silent: rest.len() == 0 })?;

    // There is no field for it; whether words will do was asked above.
    let softened = match request.tool_choice {
        ToolChoice::Any => Some(Feature::ChoiceAny),
        ToolChoice::Named(_) => Some(Feature::ChoiceNamed),
        ToolChoice::Auto | ToolChoice::None => None,
    };
    let demand = softened.map(|_| shape::demand(&request.tool_choice));
    let words_last = last.role == Role::User && memo.has_tail();
    let tail =
        demand.as_deref().filter(|_| words_last).map(|demand| format!("\\n\\n{}", demand.trim_matches('"')));
    let mut elements = memo.elements(Inserts { tail, ..Inserts::none() });
    if let Some(demand) = demand.filter(|_| !words_last) {
        let comma = if memo.is_empty() { "" } else { "," };
        elements.push(format!("{comma}{{\"role\":\"user\",\"content\":{demand}}}").into());
    }

    let body = Body {
        model: &request.model,
        tools: tools(request),
        format: request.output.as_ref().map(|output| &output.schema),
        think: think(request.thinking),
        options: options(request),
        stream: request.stream,
    };
    let body = assemble::body(&body, ("messages", elements), &request.extra)?;
    let mut http = HttpRequest::post_json("/api/chat", body);
    http.softened.extend(softened);
    Ok(http)
}

/// Returns the tools on offer: a tool that is not offered cannot be called, and nothing else keeps a model from it.
fn tools(request: &Request) -> Vec<Tool<'_>> {
    if request.tool_choice == ToolChoice::None {
        return Vec::new();
    }
    let tools = request.tools.iter().map(|tool| Tool {
        kind: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
        },
    });
    tools.collect()
}

fn think(thinking: Thinking) -> Option<Think> {
    Some(match thinking {
        Thinking::Unsaid => return None,
        Thinking::Off => Think::Switch(false),
        // Most models know on and off only, and the service refuses a level for them.
        Thinking::Budget(_) => Think::Switch(true),
        // Its description names three levels; `max` is known to newer servers only (read 2026-11).
        Thinking::Effort(effort) => Think::Level(effort.clamp(Effort::Low, Effort::High).word()),
    })
}

fn options(request: &Request) -> Options<'_> {
    Options {
        num_predict: request.max_output_tokens,
        temperature: request.temperature,
        top_p: request.top_p,
        top_k: request.top_k,
        frequency_penalty: request.frequency_penalty,
        presence_penalty: request.presence_penalty,
        seed: request.seed,
        stop: &request.stop,
    }
}

/// Writes each message of ours, and each result as one of its own.
struct Messages {
    // Whether instructions that say nothing are sent.
    keep_silent: bool,
}

impl WriteRound for Messages {
    fn key(&self) -> String {
        format!("{NAME} {}", self.keep_silent)
    }

    fn pairing(&self) -> shape::After {
        shape::After::Message
    }

    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
        let mut calls: Vec<&ToolCall> = Vec::new();
        let mut results = Vec::new();
        for (node, message) in round.places() {
            if round.leads && shape::is_silent(message) && !self.keep_silent {
                continue;
            }
            results.extend(message.results().map(|result| (node, result)));
            // A message of results only; others may follow.
            if message.content.iter().all(|content| content.as_result().is_some()) && !results.is_empty() {
                continue;
            }
            write_results(&mut results, &calls, out)?;
            calls = message.calls().collect();
            let (role, rest) = match message.role {
                Role::System => ("system", user(message, node)?),
                Role::User => ("user", user(message, node)?),
                Role::Assistant => ("assistant", assistant(message, node)?),
                // It would have words only, which no tool message can have.
                Role::Tool => continue,
            };
            write(role, &texts(message), &rest, out)?;
        }
        write_results(&mut results, &calls, out)
    }
}

/// Writes results in the order of their calls: on this wire the order says what they answer.
fn write_results(
    results: &mut Vec<(Place, &ToolResult)>,
    calls: &[&ToolCall],
    out: &mut Out<'_>,
) -> Result<(), EncodeError> {
    let place = |result: &ToolResult| calls.iter().position(|call| call.id == result.call_id);
    results.sort_by_key(|(_, result)| place(result));
    for (node, result) in results.drain(..) {
        let call = place(result).and_then(|at| calls.get(at));
        let mut rest = result_rest(result, node)?;
        rest.tool_name = call.map(|call| call.name.as_str());
        rest.tool_call_id = known_id(&result.call_id);
        let words = match result.content.as_slice() {
            [Part::Text { text }] => Cow::Borrowed(text.as_str()),
            _ => Cow::Owned(result.text()),
        };
        write("tool", &words, &rest, out)?;
    }
    Ok(())
}

fn write(role: &str, content: &str, rest: &Rest<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
    let bytes = out.begin();
    bytes.extend_from_slice(format!("{{\"role\":\"{role}\",\"content\":").as_bytes());
    shape::write(bytes, &content)?;
    let end_of_words = bytes.len() - 1;
    let named =
        serde_json::to_string(rest).map_err(|fault| EncodeError::Json { reason: fault.to_string() })?;
    for object in std::iter::once(named.as_str()).chain(rest.raw.iter().map(|raw| raw.get())) {
        let members =
            object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim();
        if !members.is_empty() {
            bytes.push(b',');
            bytes.extend_from_slice(members.as_bytes());
        }
    }
    bytes.push(b'}');
    match role {
        "user" => out.tail_at(end_of_words),
        _ => out.no_tail(),
    }
    Ok(())
}

fn texts(message: &Message) -> Cow<'_, str> {
    match message.content.as_slice() {
        [Content::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(message.text()),
    }
}

fn user(message: &Message, node: Place) -> Result<Rest<'_>, EncodeError> {
    let mut rest = Rest::default();
    for content in &message.content {
        match content {
            Content::Text { .. } | Content::ToolResult(_) => {}
            Content::Image(Media { source: MediaSource::Base64(data), .. }) => rest.images.push(data),
            Content::Image(_) => return Err(unsupported("a picture by its address", node)),
            other => self::other(other, node, &mut rest)?,
        }
    }
    Ok(rest)
}

fn assistant(message: &Message, node: Place) -> Result<Rest<'_>, EncodeError> {
    let mut rest = Rest::default();
    for content in &message.content {
        match content {
            Content::Text { .. } => {}
            // Nothing is signed here: a signature was given by another provider.
            Content::Thinking { signature: Some(_), .. } => {}
            Content::Thinking { text, .. } => match &mut rest.thinking {
                Some(earlier) => earlier.to_mut().push_str(text),
                None => rest.thinking = Some(Cow::Borrowed(text)),
            },
            Content::ToolCall(call) => rest.tool_calls.push(Call {
                id: known_id(&call.id),
                function: CallFunction { name: &call.name, arguments: shape::arguments(call, node)? },
            }),
            other => self::other(other, node, &mut rest)?,
        }
    }
    Ok(rest)
}

/// The wire takes only text as a tool's answer, and has no word for failure: the text must say it.
fn result_rest(result: &ToolResult, node: Place) -> Result<Rest<'_>, EncodeError> {
    let mut rest = Rest::default();
    for part in &result.content {
        match part {
            Part::Text { .. } => {}
            Part::Image(_) => return Err(unsupported("an image in a result", node)),
            Part::Document(_) => return Err(unsupported("a document in a result", node)),
            Part::Opaque { wire, json } => raw(wire, json, node, &mut rest)?,
        }
    }
    Ok(rest)
}

/// Takes in what is not said in the message's words.
fn other<'a>(content: &'a Content, node: Place, rest: &mut Rest<'a>) -> Result<(), EncodeError> {
    match content {
        Content::Opaque { wire, json } => raw(wire, json, node, rest),
        other => Err(unsupported(shape::name_of(other), node)),
    }
}

/// Takes in a raw block: an object with members of the message that we have no word for.
fn raw<'a>(wire: &str, json: &'a str, node: Place, rest: &mut Rest<'a>) -> Result<(), EncodeError> {
    let foreign = EncodeError::ForeignBlock { wire: NAME, node };
    if wire != NAME {
        return Err(foreign);
    }
    let object = shape::raw(json, NAME, node)?;
    if rest.raw.iter().any(|known| known.get() == object.get()) {
        return Ok(());
    }
    // One that we write ourselves would be there twice.
    match serde_json::from_str::<BTreeMap<String, IgnoredAny>>(object.get()) {
        Ok(members) if !OURS.iter().any(|name| members.contains_key(*name)) => rest.raw.push(object),
        _ => return Err(foreign),
    }
    Ok(())
}

fn unsupported(block: &'static str, node: Place) -> EncodeError {
    EncodeError::UnsupportedBlock { wire: NAME, block, node }
}
