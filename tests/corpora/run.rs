//! Goes through all exchanges of a folder.

use std::collections::BTreeMap;

use serde_json::Value;
use trunkline_message_tree::{Content, Message, ToolChoice};
use trunkline_providers::{EncodeError, Request, Wire};

use super::answers::{self, Said};
use super::compare::{Rule, compare};
use super::decode::{Outcome, decode};
use super::report::{Report, WireReport};
use super::rules;
use crate::recorded::{self, Exchange, Protocol, Recordings};

/// Runs every wire over the recordings; each answer is decoded under so many random splits.
pub fn run(recordings: &Recordings, splits: u32) -> Report {
    let mut report =
        Report { files: recordings.files, unread: recordings.unread.clone(), ..Report::default() };
    let rules: BTreeMap<Protocol, Vec<Rule>> =
        Protocol::ALL.into_iter().map(|protocol| (protocol, rules::of(protocol))).collect();
    for exchange in &recordings.exchanges {
        report.exchanges += 1;
        match Protocol::of(exchange) {
            Err(shape) => report.elsewhere.entry(shape).or_default().push(exchange.place()),
            Ok(protocol) => {
                let rules = rules.get(&protocol).map(Vec::as_slice).unwrap_or_default();
                let wire = report.wires.entry(protocol).or_insert_with(|| WireReport::new(rules));
                one(exchange, protocol, rules, splits, wire);
            }
        }
    }
    report
}

fn one(exchange: &Exchange, protocol: Protocol, rules: &[Rule], splits: u32, report: &mut WireReport) {
    let (place, body) = (exchange.place(), exchange.body());
    report.exchanges += 1;
    let Some(wire) = recorded::wire(protocol, &exchange.service, body) else {
        report.without_wire += 1;
        return;
    };
    let reading = recorded::read(protocol, exchange, body);
    if !exchange.is_accepted() {
        let answer = exchange.answer.as_deref().unwrap_or_default();
        let error = wire.error(exchange.status, &exchange.headers, answer);
        let kind = error.kind().map_or_else(|| "no answer of an API".to_owned(), |kind| kind.to_string());
        *report.refused.entry((kind, exchange.status)).or_default() += 1;
        return;
    }
    report.accepted += 1;
    let reading = match reading {
        Ok(reading) => Some(reading),
        Err(problem) => {
            report.not_read.entry(problem).or_default().push(place.clone());
            None
        }
    };
    let request =
        reading.as_ref().map_or_else(|| Request::new("m", Vec::<Message>::new()), |one| one.request());
    let outcome = decode(exchange, protocol, &*wire, &request, splits);
    if let (Outcome::Message { message, .. }, Ok(body)) = (&outcome, &exchange.answer) {
        let documents = answers::documents(body);
        let (theirs, ours) = (answers::said(protocol, &documents), Said::of(message));
        if theirs != ours {
            report.failed.push(format!("{place}: {theirs:?} was folded to {ours:?}"));
        }
        for field in answers::not_taken(protocol, &documents) {
            report.not_taken.entry(field).or_default().push(place.clone());
        }
    }
    answer(outcome, &*wire, &request, &place, report);
    if reading.is_none() {
        return;
    }
    if !request.provider_tools.is_empty() {
        report.extra.entry("tools of the provider".to_owned()).or_default().push(place.clone());
    }
    for (name, _) in &request.extra {
        report.extra.entry(name.clone()).or_default().push(place.clone());
    }
    match wire.encode(&request) {
        Err(error) => {
            let refusal = refusal(&error, &request);
            let known = refusal.is_some();
            let words = refusal.map_or_else(|| generic(&error), str::to_owned);
            report.not_encoded.entry((known, words)).or_default().push(place);
        }
        Ok(http) => {
            let mut ours: Value = serde_json::from_slice(&http.body.to_vec()).unwrap_or_default();
            let mut theirs = body.clone();
            // What the path says is a part of the request.
            for (side, path) in [(&mut theirs, exchange.path.as_str()), (&mut ours, http.path.as_str())] {
                let asked = recorded::asked_in_path(protocol, path);
                if let Some(fields) = side.as_object_mut().filter(|_| !asked.is_empty()) {
                    fields.insert("(path)".to_owned(), asked.into());
                }
            }
            let comparison = compare(&theirs, &ours, rules, &exchange.service);
            report.compared(&place, comparison);
        }
    }
}

fn answer(outcome: Outcome, wire: &dyn Wire, request: &Request, place: &str, report: &mut WireReport) {
    let mut list = |what: &str, why: String| {
        report.not_decoded.entry((what.to_owned(), why)).or_default().push(place.to_owned());
    };
    match outcome {
        Outcome::Message { message, streamed } => {
            let counter = if streamed { &mut report.streams } else { &mut report.wholes };
            *counter += 1;
            for block in &message.content {
                *report.blocks.entry(kind(block)).or_default() += 1;
            }
            if let Err(error) = goes_on(wire, request, message) {
                report.not_taken_back.entry(generic(&error)).or_default().push(place.to_owned());
            }
        }
        Outcome::Reported(words) => list("the service reported a failure inside its answer", words),
        Outcome::RecordingCut => list("the recording ends before the answer does", String::new()),
        Outcome::NoBody => list("the recording has no body", String::new()),
        Outcome::NotAnApi(words) => list("no answer of an API", words),
        Outcome::NotRead(words) => list("the body cannot be had from the recording", words),
        Outcome::Failed(words) => report.failed.push(format!("{place}: {words}")),
        Outcome::Splits(words) => report.split_differences.push(format!("{place}: {words}")),
    }
}

/// What a block is called in the report.
fn kind(block: &Content) -> String {
    let of = |json: &str| {
        let block: Value = serde_json::from_str(json).unwrap_or_default();
        let first = block.as_object().and_then(|fields| fields.keys().next().cloned()).unwrap_or_default();
        block["type"].as_str().map_or(first, str::to_owned)
    };
    match block {
        Content::Text { .. } => "text".to_owned(),
        Content::Thinking { signature: Some(_), .. } => "signed reasoning".to_owned(),
        Content::Thinking { signature: None, .. } => "reasoning".to_owned(),
        Content::RedactedThinking { .. } => "encrypted reasoning".to_owned(),
        Content::Image(_) => "picture".to_owned(),
        Content::Document(_) => "document".to_owned(),
        Content::ToolCall(_) => "call".to_owned(),
        Content::ToolResult(_) => "result".to_owned(),
        Content::ServerCall { json, .. } | Content::ServerResult { json, .. } => {
            format!("carried: {}", of(json))
        }
        Content::Opaque { json, .. } => format!("carried: {}", of(json)),
    }
}

/// Encodes the conversation as it goes on from an answer, on the wire that gave it.
fn goes_on(wire: &dyn Wire, request: &Request, message: Message) -> Result<(), EncodeError> {
    let results: Vec<Message> =
        message.calls().map(|call| Message::tool_result(&call.id, "42", false)).collect();
    let mut request = request.clone();
    // A choice that was forced once would be forced again, and what the extra fields hold is of no interest here.
    request.tool_choice = ToolChoice::Auto;
    if request.messages.is_empty() {
        request.messages.push(Message::user("hello").into());
    }
    request.messages.push(message.into());
    request.messages.extend(results.into_iter().map(Into::into));
    request.messages.push(Message::user("go on").into());
    wire.encode(&request).map(|_| ())
}

/// A refusal that is meant, and why.
fn refusal(error: &EncodeError, _request: &Request) -> Option<&'static str> {
    match error {
        EncodeError::LastIsAssistant { .. } => Some(
            "the recorded request puts words into the model's mouth, which newer models refuse and we with them",
        ),
        _ => None,
    }
}

/// An error without the names of this one request, so that equal ones are counted together.
fn generic(error: &EncodeError) -> String {
    let text = error.to_string();
    match text.split_once(": ") {
        Some((place, rest)) if place.starts_with("message ") => rest.to_owned(),
        _ => text,
    }
}
