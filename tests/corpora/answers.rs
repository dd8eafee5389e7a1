//! Reads recorded answers a second time, apart from our decoders: what words and calls are in them, and which of their
//! fields our decoders do not look at.

use serde_json::{Value, json};
use trunkline_message_tree::{Content, Message};

use super::known;
use crate::recorded::Protocol;

/// The words and calls of an answer.
#[derive(Debug, Default, PartialEq)]
pub struct Said {
    /// All text, in order, without a break.
    pub text: String,
    /// The name and the arguments of each call.
    pub calls: Vec<(String, Value)>,
}

impl Said {
    /// Returns the words and calls of a message of ours.
    pub fn of(message: &Message) -> Self {
        let text = message.content.iter().filter_map(|block| match block {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let calls = message.calls().map(|call| (call.name.clone(), arguments(&call.arguments)));
        Said { text: text.collect(), calls: calls.collect() }
    }

    fn call(&mut self, name: &Value, arguments: Value) {
        self.calls.push((name.as_str().unwrap_or_default().to_owned(), arguments));
    }

    fn add(&mut self, text: &Value) {
        self.text.push_str(text.as_str().unwrap_or_default());
    }
}

/// Reads arguments; no text means none, and what is cut short stays a text.
fn arguments(text: &str) -> Value {
    match text.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    }
}

/// Returns the JSON documents of a body, whatever frames them.
pub fn documents(body: &[u8]) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_slice(body) {
        return vec![whole];
    }
    let frames = frames(body);
    if !frames.is_empty() {
        return frames;
    }
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
    let mut documents = Vec::new();
    for event in text.split("\n\n") {
        let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        documents.extend(serde_json::from_str::<Value>(&data.join("\n")));
    }
    if documents.is_empty() {
        documents.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
    }
    documents
}

/// Returns the payloads of an event stream in Amazon's binary frames, each under the name of its event.
fn frames(body: &[u8]) -> Vec<Value> {
    let number = |at: usize| {
        let bytes = body.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    };
    let (mut at, mut documents) = (0, Vec::new());
    while let (Some(length), Some(headers)) = (number(at), number(at + 4)) {
        // Length, length of the headers, checksum; headers; payload; checksum.
        let Some(frame) = body.get(at..at.saturating_add(length)).filter(|frame| frame.len() > 16 + headers)
        else {
            break;
        };
        let name = String::from_utf8_lossy(&frame[12..12 + headers]).into_owned();
        // A name of a header, its kind (7: a string), two bytes of length, the string.
        let name = name.split_once(":event-type\u{7}\0").map(|(_, rest)| {
            let letters = rest.chars().skip(1).take_while(char::is_ascii_alphabetic);
            letters.collect::<String>()
        });
        if let (Ok(payload), Some(name)) =
            (serde_json::from_slice::<Value>(&frame[12 + headers..length - 4]), name)
        {
            documents.push(json!({name: payload}));
        }
        at += length;
    }
    documents
}

/// Returns the words and calls in an answer, by a reading of our own.
pub fn said(protocol: Protocol, documents: &[Value]) -> Said {
    let mut said = Said::default();
    match protocol {
        Protocol::Anthropic => anthropic(documents, &mut said),
        Protocol::OpenAiChat => openai_chat(documents, &mut said),
        Protocol::OpenAiResponses => openai_responses(documents, &mut said),
        Protocol::Gemini => gemini(documents, &mut said),
        Protocol::Bedrock => bedrock(documents, &mut said),
        Protocol::Ollama => {
            for message in documents.iter().map(|line| &line["message"]) {
                said.add(&message["content"]);
                for call in each(&message["tool_calls"]) {
                    said.call(&call["function"]["name"], call["function"]["arguments"].clone());
                }
            }
        }
    }
    said
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Calls that come in pieces, by the number that the service gives them.
#[derive(Default)]
struct Pieces(Vec<(Value, String, String)>);

impl Pieces {
    fn add(&mut self, number: &Value, name: &Value, arguments: &Value) {
        let at = match self.0.iter().rposition(|(known, ..)| known == number) {
            Some(at) if name.is_null() || name == "" || *name == self.0[at].1.as_str() => at,
            _ => {
                self.0.push((number.clone(), String::new(), String::new()));
                self.0.len() - 1
            }
        };
        let call = &mut self.0[at];
        if call.1.is_empty() {
            name.as_str().unwrap_or_default().clone_into(&mut call.1);
        }
        match arguments {
            Value::String(text) => call.2.push_str(text),
            Value::Null => {}
            other => call.2 = other.to_string(),
        }
    }

    fn into(self, said: &mut Said) {
        said.calls.extend(self.0.into_iter().map(|(_, name, text)| (name, arguments(&text))));
    }
}

fn anthropic(documents: &[Value], said: &mut Said) {
    let mut calls = Pieces::default();
    for document in documents {
        for block in each(&document["content"]) {
            said.add(&block["text"]);
            if block["type"] == "tool_use" {
                said.call(&block["name"], block["input"].clone());
            }
        }
        let (block, delta, index) = (&document["content_block"], &document["delta"], &document["index"]);
        match block["type"].as_str() {
            Some("tool_use") => calls.add(index, &block["name"], &Value::Null),
            Some("text") => said.add(&block["text"]),
            // A call of the provider's own tool: its pieces are not those of a call of ours.
            _ => {}
        }
        match delta["type"].as_str() {
            Some("text_delta") => said.add(&delta["text"]),
            Some("input_json_delta") if calls.0.iter().any(|(number, ..)| number == index) => {
                calls.add(index, &Value::Null, &delta["partial_json"]);
            }
            _ => {}
        }
    }
    calls.into(said);
}

fn openai_chat(documents: &[Value], said: &mut Said) {
    let mut calls = Pieces::default();
    for choice in documents.iter().flat_map(|document| each(&document["choices"])) {
        if choice["index"].as_u64().unwrap_or_default() != 0 {
            continue;
        }
        let whole = !choice["message"].is_null();
        let message = if whole { &choice["message"] } else { &choice["delta"] };
        said.add(&message["content"]);
        said.add(&message["refusal"]);
        each(&message["content"]).for_each(|part| said.add(&part["text"]));
        for (place, call) in (0_u64..).zip(each(&message["tool_calls"])) {
            let number = if whole || call["index"].is_null() { json!(place) } else { call["index"].clone() };
            calls.add(&number, &call["function"]["name"], &call["function"]["arguments"]);
        }
    }
    calls.into(said);
}

fn openai_responses(documents: &[Value], said: &mut Said) {
    let done = documents.iter().filter(|event| event["type"] == "response.output_item.done");
    let mut items: Vec<&Value> = done.map(|event| &event["item"]).collect();
    let mut outputs = documents.iter().map(|event| match &event["response"]["output"] {
        Value::Null => &event["output"],
        output => output,
    });
    if items.is_empty() {
        items = outputs
            .rfind(|output| output.as_array().is_some_and(|items| !items.is_empty()))
            .map_or(items, |output| each(output).collect());
    }
    for item in items {
        match item["type"].as_str() {
            Some("message") => {
                for part in each(&item["content"]) {
                    said.add(&part["text"]);
                    said.add(&part["refusal"]);
                }
            }
            Some("function_call") => {
                said.call(&item["name"], arguments(item["arguments"].as_str().unwrap_or_default()));
            }
            _ => {}
        }
    }
}

fn gemini(documents: &[Value], said: &mut Said) {
    // Without framing of its own a stream is one list.
    let chunks = documents.iter().flat_map(|document| match document {
        Value::Array(chunks) => chunks.iter().collect(),
        chunk => vec![chunk],
    });
    for part in chunks.flat_map(|chunk| each(&chunk["candidates"][0]["content"]["parts"])) {
        if part["thought"] != true {
            said.add(&part["text"]);
        }
        let call = &part["functionCall"];
        if !call.is_null() {
            said.call(&call["name"], if call["args"].is_null() { json!({}) } else { call["args"].clone() });
        }
    }
}

fn bedrock(documents: &[Value], said: &mut Said) {
    let mut calls = Pieces::default();
    for document in documents {
        for block in each(&document["output"]["message"]["content"]) {
            said.add(&block["text"]);
            let call = &block["toolUse"];
            if !call.is_null() && call["type"] != "server_tool_use" {
                said.call(&call["name"], call["input"].clone());
            }
        }
        let (start, delta) = (&document["contentBlockStart"], &document["contentBlockDelta"]);
        let call = &start["start"]["toolUse"];
        if !call.is_null() && call["type"] != "server_tool_use" {
            calls.add(&start["contentBlockIndex"], &call["name"], &Value::Null);
        }
        said.add(&delta["delta"]["text"]);
        let number = &delta["contentBlockIndex"];
        if calls.0.iter().any(|(known, ..)| known == number) {
            calls.add(number, &Value::Null, &delta["delta"]["toolUse"]["input"]);
        }
    }
    calls.into(said);
}

/// Returns the fields of an answer that our decoder does not look at, each once.
pub fn not_taken(protocol: Protocol, documents: &[Value]) -> Vec<String> {
    let mut paths = Vec::new();
    for document in documents {
        fields(protocol, document, "", &mut paths);
        // What an event says of the whole answer is an answer.
        fields(protocol, &document["response"], "", &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
}

fn fields(protocol: Protocol, value: &Value, path: &str, paths: &mut Vec<String>) {
    let empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => value.as_f64() == Some(0.0),
    };
    let kind = value["type"].as_str().unwrap_or_default();
    let known = known::of(protocol);
    if empty || known.contains(&path) || known::is_carried(protocol, path, kind) {
        return;
    }
    let inside = |known: &&str| {
        let rest = known.strip_prefix(path);
        path.is_empty() || rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    match value {
        Value::Object(members) if known.iter().any(inside) => {
            for (name, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                fields(protocol, value, &format!("{path}{dot}{name}"), paths);
            }
        }
        Value::Array(list) if known.iter().any(inside) || path.is_empty() => {
            // A stream without framing is a list of answers.
            let element = if path.is_empty() { String::new() } else { format!("{path}[]") };
            list.iter().for_each(|value| fields(protocol, value, &element, paths));
        }
        _ => paths.push(path.to_owned()),
    }
}
