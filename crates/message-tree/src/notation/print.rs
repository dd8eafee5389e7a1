//! From messages to text.

use std::borrow::Borrow;
use std::fmt::Write;

use crate::{
    Author, Content, Entry, Link, Media, MediaSource, Message, MessageTree, MoveKind, NodeId, Part, Role,
    StopReason,
};

/// Prints a list of messages, owned or shared, a line for each and one for each further block.
pub fn print<M: Borrow<Message>>(messages: &[M]) -> String {
    let mut out = String::new();
    for message in messages {
        push_message(&mut out, "", message.borrow());
    }
    out
}

/// Prints everything that happened to a tree, in order: nodes, and moves of the head as lines of their own.
pub fn print_tree(tree: &MessageTree) -> String {
    let mut out = String::new();
    for entry in tree.entries() {
        match entry {
            Entry::Node { id, parent, link, message, .. } => {
                let parent = parent.unwrap_or(NodeId::ROOT);
                let how = match link {
                    Link::Next => String::new(),
                    Link::Filed => format!("* {parent} "),
                    Link::Merge { with } => {
                        let with: Vec<String> = with.iter().map(NodeId::to_string).collect();
                        format!("& {} ", with.join(","))
                    }
                    Link::Cover { from } => format!("# {from}..{parent} "),
                };
                push_message(&mut out, &format!("{id} {how}"), &message);
            }
            Entry::Move(head_move) => push_line(
                &mut out,
                &match head_move.kind {
                    MoveKind::ModelRevert => format!("head {} by model", head_move.to),
                    MoveKind::PersonRevert => format!("head {}", head_move.to),
                    MoveKind::Fork => format!("head {} as fork", head_move.to),
                    MoveKind::Import => format!("head {} as import", head_move.to),
                    MoveKind::Merge => format!("head {} as merge", head_move.to),
                    MoveKind::Undo { .. } => "undo".to_owned(),
                    MoveKind::Redo { .. } => "redo".to_owned(),
                },
            ),
        }
    }
    out
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end_matches(' '));
    out.push('\n');
}

fn push_message(out: &mut String, prefix: &str, message: &Message) {
    let (head, usual_author, mut rest) = head_of(message);
    push_line(out, &format!("{prefix}{head}"));
    // The parts of a result that the head line has no room for.
    if let (Role::Tool, Some(Content::ToolResult(result))) = (message.role, message.content.first()) {
        push_parts(out, &result.content[inline_parts(&result.content)..]);
    }
    for block in rest.by_ref() {
        push_block(out, block);
    }
    if message.author != usual_author {
        push_line(out, &format!("+ author {}", author_word(message.author)));
    }
    if let Some(origin) = &message.origin {
        let address =
            origin.address.as_deref().map(|address| format!(" {}", word(address))).unwrap_or_default();
        push_line(out, &format!("+ origin {} {}{address}", word(&origin.provider), word(&origin.model)));
    }
    if let Some(stop) = &message.stop {
        push_line(out, &format!("+ stop {}", stop_word(stop)));
    }
}

/// Returns the head line, the author that it implies, and the blocks that it does not show.
fn head_of(message: &Message) -> (String, Author, std::slice::Iter<'_, Content>) {
    let mut rest = message.content.iter();
    if let (Role::Tool, Some(Content::ToolResult(result))) = (message.role, message.content.first()) {
        rest.next();
        return (result_line(&result.call_id, result.is_error, &result.content), Author::Tool, rest);
    }
    let (role, author) = match (message.role, message.author) {
        (Role::System, _) => ("system", Author::Harness),
        (Role::User, Author::Harness) => ("harness", Author::Harness),
        (Role::User, _) => ("user", Author::Person),
        (Role::Assistant, _) => ("assistant", Author::Model),
        (Role::Tool, _) => ("tool", Author::Tool),
    };
    let text = match message.content.first() {
        Some(Content::Text { text }) if !text.is_empty() => {
            rest.next();
            escape(text)
        }
        _ => String::new(),
    };
    (format!("{role}: {text}"), author, rest)
}

fn result_line(call_id: &str, is_error: bool, parts: &[Part]) -> String {
    let mark = if is_error { "!" } else { "" };
    let text = match parts.first() {
        Some(Part::Text { text }) if inline_parts(parts) == 1 => escape(text),
        _ => String::new(),
    };
    format!("result {}{mark}: {text}", word(call_id))
}

/// How many parts stand on the line of their result: a first text that is not empty, or none.
fn inline_parts(parts: &[Part]) -> usize {
    usize::from(matches!(parts.first(), Some(Part::Text { text }) if !text.is_empty()))
}

fn push_parts(out: &mut String, parts: &[Part]) {
    for part in parts {
        let line = match part {
            Part::Text { text } => format!("++ text: {}", escape(text)),
            Part::Image(media) => format!("++ image {}", media_words(media)),
            Part::Document(media) => format!("++ document {}", media_words(media)),
            Part::Opaque { wire, json } => format!("++ opaque {} {}", word(wire), escape(json)),
        };
        push_line(out, &line);
    }
}

fn push_block(out: &mut String, block: &Content) {
    let line = match block {
        Content::Text { text } => format!("+ text: {}", escape(text)),
        Content::Thinking { text, signature: None } => format!("+ thinking: {}", escape(text)),
        Content::Thinking { text, signature: Some(signature) } => {
            format!("+ thinking {}: {}", word(signature), escape(text))
        }
        Content::RedactedThinking { data } => format!("+ redacted: {}", escape(data)),
        Content::Image(media) => format!("+ image {}", media_words(media)),
        Content::Document(media) => format!("+ document {}", media_words(media)),
        Content::ToolCall(call) => {
            format!("+ call {} {} {}", word(&call.id), word(&call.name), escape(&call.arguments))
        }
        Content::ToolResult(result) => {
            format!("+ {}", result_line(&result.call_id, result.is_error, &result.content))
        }
        Content::ServerCall { id, json } => format!("+ server-call {} {}", word(id), escape(json)),
        Content::ServerResult { call_id, json } => {
            format!("+ server-result {} {}", word(call_id), escape(json))
        }
        Content::Opaque { wire, json } => format!("+ opaque {} {}", word(wire), escape(json)),
    };
    push_line(out, &line);
    match block {
        Content::ToolResult(result) => push_parts(out, &result.content[inline_parts(&result.content)..]),
        Content::ToolCall(call) => {
            if let Some(signature) = &call.signature {
                push_line(out, &format!("++ signature {}", word(signature)));
            }
        }
        _ => {}
    }
}

fn media_words(media: &Media) -> String {
    match &media.source {
        MediaSource::Base64(data) => format!("{} base64 {}", word(&media.media_type), word(data)),
        MediaSource::Url(url) => format!("{} url {}", word(&media.media_type), word(url)),
    }
}

fn author_word(author: Author) -> &'static str {
    match author {
        Author::Person => "person",
        Author::Model => "model",
        Author::Tool => "tool",
        Author::Harness => "harness",
    }
}

fn stop_word(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end_turn".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::StopSequence => "stop_sequence".to_owned(),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::ContextWindow => "context_window".to_owned(),
        StopReason::Pause => "pause".to_owned(),
        StopReason::Cancelled => "cancelled".to_owned(),
        StopReason::Cut => "cut".to_owned(),
        StopReason::Other(reason) => format!("other {}", word(reason)),
    }
}

/// Writes a word bare where it can stand alone, else as a JSON string.
fn word(text: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_.|/-".contains(&byte);
    if !text.is_empty() && text.bytes().all(bare) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let last = text.len();
    for (index, character) in text.char_indices() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' if index == 0 || index + 1 == last => out.push_str("\\s"),
            // Other white space at an end would be trimmed, other line breaks would split the line.
            c if c != ' ' && (c.is_whitespace() || c.is_control()) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}
