//! Conversations as text, and session files from short lines.

use std::fmt::Write;

use trunkline_message_tree::{Message, notation};
use trunkline_transcripts::{Conversation, Format, Kind, Transcript, read, read_as};

/// Returns the main conversation.
pub(crate) fn main(transcript: &Transcript) -> Conversation {
    transcript.conversation(0).expect("there always is one")
}

/// Prints everything that was read: conversations, then faults.
pub(crate) fn show(transcript: &Transcript) -> String {
    let mut out = String::new();
    for (index, conversation) in transcript.conversations().enumerate() {
        if index > 0 {
            let kind = match &conversation.kind {
                Kind::Sidechain { call_id: Some(call) } => format!("sidechain of {call}"),
                Kind::Sidechain { call_id: None } => "sidechain".to_owned(),
                other => format!("{other:?}").to_lowercase(),
            };
            writeln!(out, "== {kind} {}", conversation.id).expect("a string takes everything");
        }
        out.push_str(&text(&conversation.messages));
    }
    for fault in &transcript.faults {
        writeln!(out, "-- {fault}").expect("a string takes everything");
    }
    out
}

/// Prints messages without their nodes.
pub(crate) fn text(messages: &[Message]) -> String {
    let printed = notation::print(messages);
    if printed.is_empty() || printed.ends_with('\n') { printed } else { printed + "\n" }
}

/// Reads a file of any format and shows it.
pub(crate) fn shown(file: &str) -> String {
    show(&read(file.as_bytes()).expect("the file is of a known format"))
}

/// Reads a file of one format.
pub(crate) fn transcript(file: &str, format: Format) -> Transcript {
    read_as(file.as_bytes(), format).expect("the file is of that format")
}

/// Writes a session file from short lines: `ID < PARENT KIND JSON`.
///
/// KIND is `user` or `assistant` with the content, `ai=MESSAGE` with the content as a line of that message and of the
/// request `r-MESSAGE`, or another type with further fields. Times are minutes by line unless the fields give one.
pub(crate) fn session(lines: &str) -> String {
    let mut file = String::new();
    for (minute, line) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let Some((id, rest)) = line.split_once(" < ") else {
            writeln!(file, "{line}").expect("a string takes everything");
            continue;
        };
        let mut words = rest.splitn(3, ' ');
        let (parent, kind) = (words.next().unwrap_or("-"), words.next().unwrap_or("progress"));
        let json = words.next().unwrap_or("{}");
        let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
        let (json, more) = json.split_once(" & ").unwrap_or((json, "{}"));
        let more = more.strip_prefix('{').and_then(|more| more.strip_suffix('}')).unwrap_or_default();
        let more = if more.is_empty() { String::new() } else { format!(",{more}") };
        let time = if more.contains("timestamp") {
            String::new()
        } else {
            format!(",\"timestamp\":\"2026-02-01T10:{:02}:00.000Z\"", minute % 60)
        };
        let body = match kind.split_once('=') {
            Some((_, message)) => format!(
                r#""type":"assistant","requestId":"r-{message}","message":{{"id":"{message}","role":"assistant","model":"claude-x","content":{json}}}"#
            ),
            None if kind == "user" || kind == "assistant" => {
                format!(r#""type":"{kind}","message":{{"role":"{kind}","content":{json}}}"#)
            }
            None => format!(r#""type":"{kind}","data":{json}"#),
        };
        let side = if more.contains("isSidechain") { "" } else { ",\"isSidechain\":false" };
        writeln!(
            file,
            r#"{{"parentUuid":{parent}{side},"cwd":"/p","sessionId":"s1","version":"2.1.0",{body},"uuid":"{id}"{time}{more}}}"#
        )
        .expect("a string takes everything");
    }
    file
}
