//! Recorded exchanges with Bedrock, where they are there; its streams are base64 of binary frames.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::path::PathBuf;

use serde::Deserialize as _;
use serde_yaml_ng::Value;
use trunkline_message_tree::{Message, ToolSpec, notation};
use trunkline_providers::{Bedrock, Request, Wire};

use crate::grammar;
use crate::replies::{decode, fold};
use crate::splits::cut;

#[test]
fn recorded_answers_decode_at_any_split() {
    let Some(folder) = std::env::var_os("TRUNKLINE_CORPORA").map(PathBuf::from) else {
        eprintln!("SKIPPED: TRUNKLINE_CORPORA is not set, no recorded answer was decoded");
        return;
    };
    let folder = folder.join("wires/bedrock-converse");
    let wire = Bedrock::new();
    let (mut streams, mut wholes, mut errors) = (0, 0, 0);
    let mut failures = Vec::new();
    let mut check = |model: &str, status: u16, body: &[u8], name: &str| {
        if status != 200 {
            errors += 1;
            let error = wire.error(status, &[], body);
            assert!(!error.is_retryable(), "{name}: {error}");
            return;
        }
        *if body.starts_with(b"{") { &mut wholes } else { &mut streams } += 1;
        let whole = decode(&wire, [body]);
        if let Err(fault) = grammar::check(&whole.0, &whole.1) {
            failures.push(format!("{name}: {fault}"));
        }
        let message = fold("bedrock", &whole.0).finish();
        if let Err(error) = &whole.1 {
            failures.push(format!("{name}: {error}"));
        }
        if notation::parse(&notation::print(std::slice::from_ref(&message))).is_err() {
            failures.push(format!("{name}: does not print"));
        }
        if let Err(refusal) = send_back(model, message) {
            failures.push(format!("{name}: is not taken back: {refusal}"));
        }
        for seed in 1_usize..40 {
            let lengths: Vec<usize> = (1_usize..64).map(|step| 1 + step * step * seed * 7919 % 97).collect();
            if decode(&wire, cut(body, &lengths)) != whole {
                failures.push(format!("{name}: differs when cut"));
            }
        }
    };
    let files = std::fs::read_dir(&folder).expect("the folder of recordings");
    for file in files.map(|entry| entry.expect("an entry").path()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("a recording");
        for document in serde_yaml_ng::Deserializer::from_str(&text) {
            let document = Value::deserialize(document).expect("YAML");
            let pairs = document["interactions"].as_sequence().into_iter().flatten();
            let pairs = pairs.map(|pair| (&pair["request"]["uri"], &pair["response"]));
            for (path, response) in pairs.chain([(&document["when"]["path"], &document["then"])]) {
                let Some(model) = path.as_str().and_then(|path| path.split("/model/").nth(1)) else {
                    continue;
                };
                let status = response["status"].as_u64().or_else(|| response["status"]["code"].as_u64());
                let status = status.and_then(|status| u16::try_from(status).ok()).expect("a status");
                check(model, status, &body_of(response), &name);
            }
        }
    }
    eprintln!("bedrock: {streams} streams, {wholes} whole answers, {errors} errors");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(streams > 4, "no recordings below {}", folder.display());
}

/// Encodes the history that goes on from an answer.
fn send_back(model: &str, message: Message) -> Result<(), trunkline_providers::EncodeError> {
    let results: Vec<Message> =
        message.calls().map(|call| Message::tool_result(&call.id, "42", false)).collect();
    let mut messages = vec![Message::user("hi"), message];
    messages.extend(results);
    messages.push(Message::user("go on"));
    let mut request = Request::new(model.replace("%3A", ":"), messages);
    request.tools = vec![ToolSpec::new("f", "", serde_json::json!({"type": "object"}))];
    Bedrock::new().encode(&request).map(|_| ())
}

fn body_of(response: &Value) -> Vec<u8> {
    let body = &response["body"];
    let text = match body {
        Value::String(text) if response["body_encoding"] == "base64" => text,
        Value::String(text) => return text.clone().into_bytes(),
        Value::Mapping(_) => match &body["string"] {
            Value::Tagged(tagged) => tagged.value.as_str().expect("text"),
            plain => plain.as_str().expect("text"),
        },
        _ => return serde_json::to_vec(&response["parsed_body"]).expect("JSON was recorded as YAML"),
    };
    base64(text)
}

fn base64(text: &str) -> Vec<u8> {
    let text: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(text).expect("the recording is base64")
}
