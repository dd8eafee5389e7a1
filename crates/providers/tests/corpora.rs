//! Recorded exchanges with real services, where they are there.
//!
//! `TRUNKLINE_CORPORA` names the folder; without it nothing is checked, and the test says so. The recordings are read
//! at run time and are no part of this repository.

use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_yaml_ng::Value;
use trunkline_message_tree::{Message, notation};
use trunkline_providers::{
    Anthropic, EncodeError, Gemini, Ollama, OpenAiChat, OpenAiResponses, Request, Wire,
};

use crate::grammar;
use crate::replies::{decode, fold};
use crate::splits::cut;

struct Recorded {
    name: String,
    status: u64,
    body: String,
}

#[test]
fn recorded_answers_decode_at_any_split() {
    let Some(folder) = std::env::var_os("TRUNKLINE_CORPORA").map(PathBuf::from) else {
        eprintln!("SKIPPED: TRUNKLINE_CORPORA is not set, no recorded answer was decoded");
        return;
    };
    let wires: [(&str, &str, Box<dyn Wire>); 5] = [
        ("anthropic", "/v1/messages", Box::new(Anthropic::new())),
        ("openai-chat", "chat/completions", Box::new(OpenAiChat::default())),
        ("openai-responses", "/responses", Box::new(OpenAiResponses::new())),
        ("ollama", "/api/chat", Box::new(Ollama::new())),
        ("gemini", "enerateContent", Box::new(Gemini::new())),
    ];
    let mut failures = Vec::new();
    for (folder_name, path, wire) in wires {
        let recorded = answers(&folder.join("wires").join(folder_name), path);
        let (mut streams, mut wholes, mut gzip, mut errors, mut foreign) = (0, 0, 0, 0, Vec::new());
        let mut refusals = Vec::new();
        for answer in &recorded {
            let unpacked = packed(&answer.body);
            let body = unpacked.as_deref().unwrap_or(answer.body.as_bytes());
            if answer.status != 200 {
                errors += 1;
                let status = u16::try_from(answer.status).expect("a status");
                let error = wire.error(status, &[], body);
                if std::env::var_os("TRUNKLINE_CORPORA_SHOW").is_some() {
                    eprintln!("{}: {error}", answer.name);
                }
                continue;
            }
            if answer.body.trim_start().starts_with('{') {
                wholes += 1;
            } else if unpacked.is_some() {
                gzip += 1;
            } else if !answer.body.contains('{') {
                // Not of the service at all.
                foreign.push(answer.name.as_str());
                continue;
            } else {
                streams += 1;
            }
            let whole = decode(wire.as_ref(), [body]);
            if let Err(fault) = grammar::check(&whole.0, &whole.1) {
                failures.push(format!("{}: {fault}", answer.name));
            }
            // An error that the service reported inside the stream was read as what it is.
            let reported = ["event: error", "data: {\"error\"", "event: response.failed"]
                .iter()
                .any(|sign| answer.body.contains(sign));
            match &whole.1 {
                Ok(()) => {
                    let message = fold(folder_name, &whole.0).finish();
                    if notation::parse(&notation::print(std::slice::from_ref(&message))).is_err() {
                        failures.push(format!("{}: does not print", answer.name));
                    }
                    if let Err(refusal) = send_back(wire.as_ref(), message) {
                        refusals.push(format!("{}: {refusal}", answer.name));
                    }
                }
                Err(error) if !reported => failures.push(format!("{}: {error}", answer.name)),
                Err(_) => errors += 1,
            }
            for seed in 1_usize..9 {
                // Scattered enough; the same each time.
                let lengths: Vec<usize> =
                    (1_usize..64).map(|step| 1 + step * step * seed * 7919 % 97).collect();
                if decode(wire.as_ref(), cut(body, &lengths)) != whole {
                    failures.push(format!("{}: differs when cut", answer.name));
                }
            }
        }
        eprintln!(
            "{folder_name}: {streams} streams, {wholes} whole answers, {gzip} packed, {errors} errors; not read: {foreign:?}"
        );
        eprintln!("  not sent back: {refusals:?}");
        // An answer without a block, arguments that are `null`, reasoning that led to nothing: a handful in all.
        assert!(refusals.len() < 3, "{folder_name} does not take its own answers back: {refusals:?}");
        assert!(streams + wholes > 10, "no recordings of {folder_name} below {}", folder.display());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the bytes of a packed body, which recorders write as base64.
fn packed(body: &str) -> Option<Vec<u8>> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // The first bytes of gzip in this form.
    body.strip_prefix("H4sI")?;
    let digits = body.chars().filter_map(|letter| LETTERS.find(letter)).collect::<Vec<_>>();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - four.len()));
        [bits >> 16, bits >> 8, bits].into_iter().take(four.len() - 1).map(|byte| (byte & 0xff) as u8)
    });
    Some(bytes.collect())
}

/// Encodes the history that goes on from an answer.
fn send_back(wire: &dyn Wire, message: Message) -> Result<(), EncodeError> {
    let results: Vec<Message> =
        message.calls().map(|call| Message::tool_result(&call.id, "42", false)).collect();
    let mut messages = vec![Message::user("hi"), message];
    messages.extend(results);
    messages.push(Message::user("go on"));
    wire.encode(&Request::new("m", messages)).map(|_| ())
}

fn answers(folder: &Path, path: &str) -> Vec<Recorded> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of recordings")
        .map(|entry| entry.expect("an entry").path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    let mut answers = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a recording");
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for document in serde_yaml_ng::Deserializer::from_str(&text) {
            let document = Value::deserialize(document).expect("YAML");
            answers.extend(exchange(&name, path, &document["when"]["path"], &document["then"]));
            for pair in document["interactions"].as_sequence().into_iter().flatten() {
                answers.extend(exchange(&name, path, &pair["request"]["uri"], &pair["response"]));
            }
        }
    }
    answers
}

fn exchange(name: &str, path: &str, asked: &Value, response: &Value) -> Option<Recorded> {
    asked.as_str().filter(|asked| asked.split('?').next().unwrap_or_default().ends_with(path))?;
    let status = response["status"].as_u64().or_else(|| response["status"]["code"].as_u64())?;
    let body = match (&response["body"], &response["parsed_body"]) {
        (Value::String(body), _) => body.clone(),
        (Value::Mapping(body), _) => body.get("string")?.as_str()?.to_owned(),
        (_, Value::Null) => return None,
        (_, parsed) => serde_json::to_string(parsed).expect("JSON was recorded as YAML"),
    };
    Some(Recorded { name: name.to_owned(), status, body })
}
