//! Real files of other people, where they are at hand: read, written, and read again.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use serde::Deserialize;
use trunkline_message_tree::{Content, Message, Role};
use trunkline_transcripts::{Format, Kind, Transcript, read, read_as, sniff};

use crate::show::main;

fn files(folder: &Path, kinds: &[&str], found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, kinds, found);
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|known| kind == *known)) {
            found.push(path);
        }
    }
}

/// Counts calls whose answer is not in the next message of the user.
fn unanswered(messages: &[Message]) -> usize {
    let mut open = 0;
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1);
        let answered = |id: &str| next.is_some_and(|next| next.results().any(|result| result.call_id == id));
        open += message.calls().filter(|call| !answered(&call.id)).count();
    }
    open
}

#[test]
fn sessions_of_other_people_are_read_and_written() {
    let Some(corpora) = env::var_os("TRUNKLINE_CORPORA") else {
        eprintln!("TRUNKLINE_CORPORA is not set: no real session was read");
        return;
    };
    let mut paths = Vec::new();
    files(&Path::new(&corpora).join("transcripts"), &["json", "jsonl"], &mut paths);
    let (mut sessions, mut messages, mut calls) = (0, 0, 0);
    for path in &paths {
        let bytes = fs::read(path).expect("it was listed");
        let begun = Instant::now();
        let transcript = match read(&bytes) {
            Ok(transcript) => transcript,
            Err(error) => {
                eprintln!("{}: {error}", name(path));
                continue;
            }
        };
        let took = begun.elapsed();
        let main = &main(&transcript).messages;
        let damage = transcript.faults.iter().filter(|fault| fault.kind.is_damage()).count();
        eprintln!(
            "{}: {} {} messages, {} calls, {} unanswered, {} conversations, {damage} damaged, {} faults, {took:?}",
            name(path),
            transcript.format,
            main.len(),
            main.iter().map(|message| message.calls().count()).sum::<usize>(),
            unanswered(main),
            transcript.listed().len(),
            transcript.faults.len(),
        );
        sessions += usize::from(transcript.format == Format::ClaudeCode);
        messages += main.len();
        calls += main.iter().map(|message| message.calls().count()).sum::<usize>();
        round_trip(&transcript, path);
    }
    eprintln!("{sessions} sessions, {messages} messages, {calls} calls");
    assert!(sessions >= 10, "{sessions} sessions were found");
}

fn round_trip(transcript: &Transcript, path: &Path) {
    for (index, conversation) in transcript.conversations().enumerate() {
        let written = transcript.write(index, &conversation.messages, "s-new").expect("it is there");
        assert_eq!(written.losses, [], "{}", path.display());
        if conversation.messages.is_empty() {
            continue;
        }
        let again = read_as(&written.bytes, transcript.format).expect("it was just written");
        let read = &main(&again).messages;
        assert_eq!(read.len(), conversation.messages.len(), "{} {index}", path.display());
        for (one, two) in read.iter().zip(&conversation.messages) {
            assert_eq!(one, two, "{} {index}", path.display());
        }
        assert_eq!(again.listed().len(), 1, "{} {index}", path.display());
    }
}

#[test]
fn no_call_of_a_real_session_lost_its_result() {
    let Some(corpora) = env::var_os("TRUNKLINE_CORPORA") else { return };
    let mut paths = Vec::new();
    files(&Path::new(&corpora).join("transcripts/spotter"), &["jsonl"], &mut paths);
    let mut calls = 0;
    for path in paths {
        let transcript = read(&fs::read(&path).expect("it was listed")).expect("a session");
        for conversation in transcript.conversations() {
            calls += conversation.messages.iter().map(|message| message.calls().count()).sum::<usize>();
            assert_eq!(unanswered(&conversation.messages), 0, "{} {:?}", path.display(), conversation.kind);
            assert!(
                !matches!(conversation.kind, Kind::Branch),
                "{}: no real fork is known to be a rewind",
                path.display()
            );
            assert!(conversation.messages.iter().all(|message| message.role != Role::Tool));
        }
    }
    // Counted by hand: every `tool_use` of the four files is on the way.
    assert_eq!(calls, 186 + 16 + 6 + 2);
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[test]
fn requests_that_were_sent_come_back_byte_for_byte() {
    let Some(corpora) = env::var_os("TRUNKLINE_CORPORA") else { return };
    for (folder, format, least) in
        [("anthropic", Format::Anthropic, 70), ("openai-chat", Format::OpenAiChat, 90)]
    {
        let mut paths = Vec::new();
        files(&Path::new(&corpora).join("wires").join(folder), &["yaml"], &mut paths);
        let mut bodies = Vec::new();
        for path in &paths {
            let text = fs::read_to_string(path).expect("it was listed");
            for document in serde_yaml_ng::Deserializer::from_str(&text) {
                if let Ok(value) = serde_yaml_ng::Value::deserialize(document) {
                    requests(&value, &mut bodies);
                }
            }
        }
        let (mut messages, mut sniffed) = (0, 0);
        for body in &bodies {
            let transcript = read_as(body.as_bytes(), format).expect(body);
            assert_eq!(transcript.faults, [], "{body}");
            let read = &main(&transcript).messages;
            let written = transcript.write(0, read, "").expect("it is there");
            assert_eq!(String::from_utf8_lossy(&written.bytes), *body);
            let opaque = |block: &Content| matches!(block, Content::Opaque { wire, .. } if wire != folder);
            assert!(!read.iter().flat_map(|message| &message.content).any(opaque));
            messages += read.len();
            // Where nothing but words is said, either wire will do.
            sniffed += usize::from(sniff(body.as_bytes()) == Some(format));
        }
        eprintln!("{folder}: {} requests, {messages} messages, {sniffed} told by their shape", bodies.len());
        assert!(bodies.len() >= least, "{} requests of {folder}", bodies.len());
    }
}

/// Collects what looks like the body of a request, as text or already parsed.
fn requests(value: &serde_yaml_ng::Value, found: &mut Vec<String>) {
    match value {
        serde_yaml_ng::Value::String(text) if text.starts_with('{') && text.contains("\"messages\"") => {
            let is_request =
                serde_json::from_str::<serde_json::Value>(text).is_ok_and(|body| body["messages"].is_array());
            found.extend(is_request.then(|| text.clone()));
        }
        serde_yaml_ng::Value::Mapping(fields)
            if fields.get("messages").is_some_and(|list| list.is_sequence()) =>
        {
            found.extend(serde_json::to_string(value));
        }
        serde_yaml_ng::Value::Mapping(fields) => fields.values().for_each(|value| requests(value, found)),
        serde_yaml_ng::Value::Sequence(items) => items.iter().for_each(|value| requests(value, found)),
        _ => {}
    }
}
