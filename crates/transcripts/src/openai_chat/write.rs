//! Our message to messages of JSON.
//!
//! Content is a string wherever it can be: many servers take nothing else.

use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolResult};

use super::{REASONING, WIRE};
use crate::json::{Fields, object, quote};
use crate::source::{Losses, Raw, Reuse, words};

/// Writes one message as one or several: results go each by itself, before what else the message says.
///
/// `read` is the message as it was read and `fields` the object it was read from; fields that are not ours stay.
pub(crate) fn write(
    message: &Message,
    read: Option<&Message>,
    fields: Option<&Fields<'_>>,
    reuse: &mut Reuse<'_>,
    losses: &mut Losses<'_>,
    out: &mut Vec<String>,
) {
    let same_role = read.filter(|read| read.role == message.role).and(fields);
    let mut results = message.results().peekable();
    let only_results = message.content.iter().all(|block| block.as_result().is_some());
    let had_results = results.peek().is_some();
    for result in results {
        let edits = [
            ("role", Some(quote("tool"))),
            ("tool_call_id", Some(quote(&result.call_id))),
            ("content", Some(result_text(result, losses))),
        ];
        // Fields beside the result, such as the tool's name, belong to it only where it was read alone.
        let own = same_role.filter(|_| message.role == Role::Tool && message.content.len() == 1);
        out.push(own.map_or_else(|| object(&edits), |fields| fields.rewrite(&edits)));
    }
    if (had_results && only_results) || message.role == Role::Tool {
        return;
    }
    let mut edits = vec![];
    let role = match message.role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    // `developer` is an instruction too; who wrote it so keeps it so.
    if same_role.is_none() {
        edits.push(("role", Some(quote(role))));
    }
    let said = |message: &Message| {
        message.content.iter().filter(|block| is_said(block)).cloned().collect::<Vec<_>>()
    };
    // Words may also have come from a refusal, beside a content that says nothing.
    let stands = |fields: &Fields<'_>, said: &[Content]| {
        fields.get("content").is_some() || (said.is_empty() && message.calls().next().is_some())
    };
    let kept = read.zip(same_role).filter(|(read, fields)| {
        let before = said(read);
        before == said(message) && stands(fields, &before)
    });
    let calls = calls(message, reuse, losses);
    if kept.is_none() {
        edits.push(("content", Some(content(message, reuse, losses))));
    }
    edits.push(("tool_calls", (!calls.is_empty()).then(|| format!("[{}]", calls.join(",")))));
    edits.push(("function_call", None));
    edits.push(("refusal", None));
    reasoning(message, read, same_role, losses, &mut edits);
    out.push(same_role.map_or_else(|| object(&edits), |fields| fields.rewrite(&edits)));
}

fn is_said(block: &Content) -> bool {
    !matches!(
        block,
        Content::Thinking { .. }
            | Content::RedactedThinking { .. }
            | Content::ToolCall(_)
            | Content::ToolResult(_)
    )
}

fn content(message: &Message, reuse: &mut Reuse<'_>, losses: &mut Losses<'_>) -> String {
    let said: Vec<&Content> = message.content.iter().filter(|block| is_said(block)).collect();
    let texts: Vec<&str> = said
        .iter()
        .filter_map(|block| match block {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if texts.len() == said.len() {
        return words(&texts);
    }
    let parts: Vec<String> = said.into_iter().filter_map(|block| part(block, reuse, losses)).collect();
    format!("[{}]", parts.join(","))
}

fn part(block: &Content, reuse: &mut Reuse<'_>, losses: &mut Losses<'_>) -> Option<String> {
    if let Some(raw) = reuse.take(block) {
        return Some(raw.block());
    }
    let lost = match block {
        Content::Text { text } => return Some(typed("text", "text", quote(text))),
        Content::Image(media) => {
            return Some(typed("image_url", "image_url", object(&[("url", Some(quote(&url(media))))])));
        }
        Content::Document(media) => {
            let name = ("filename", Some(quote("document.pdf")));
            return Some(typed("file", "file", object(&[name, ("file_data", Some(quote(&url(media))))])));
        }
        Content::Opaque { wire, json } if wire == WIRE && Fields::parse(json).is_ok() => {
            return Some(json.clone());
        }
        Content::Opaque { wire, .. } => format!("a block that only {wire} understands"),
        Content::ServerCall { id, .. } => format!("server call {id:?}"),
        Content::ServerResult { call_id, .. } => format!("the result of server call {call_id:?}"),
        Content::Thinking { .. }
        | Content::RedactedThinking { .. }
        | Content::ToolCall(_)
        | Content::ToolResult(_) => return None,
    };
    losses.note(lost);
    None
}

fn typed(kind: &str, name: &str, value: String) -> String {
    object(&[("type", Some(quote(kind))), (name, Some(value))])
}

fn url(media: &Media) -> String {
    match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Base64(data) => format!("data:{};base64,{data}", media.media_type),
    }
}

fn calls(message: &Message, reuse: &mut Reuse<'_>, losses: &mut Losses<'_>) -> Vec<String> {
    let mut calls = Vec::new();
    for block in &message.content {
        let Content::ToolCall(call) = block else { continue };
        // A call of the time before ids has to be written anew, also if it has one: it stood in a field of its own.
        let is_listed = |raw: &Raw<'_>| {
            let call = Fields::parse(raw.text);
            call.is_ok_and(|call| {
                call.get("id").is_some() && (call.object("function").or(call.object("custom"))).is_some()
            })
        };
        let raw = reuse.take(block).filter(is_listed);
        calls.push(raw.map_or_else(|| one_call(call, losses), |raw| raw.text.to_owned()));
    }
    calls
}

fn one_call(call: &ToolCall, losses: &mut Losses<'_>) -> String {
    if call.signature.is_some() {
        losses.note(format!("the signature of call {:?}", call.id));
    }
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let (id, name, arguments) = (quote(&call.id), quote(&call.name), quote(arguments));
    format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#)
}

/// The wire takes only text as a tool's answer, and has no word for failure.
fn result_text(result: &ToolResult, losses: &mut Losses<'_>) -> String {
    for part in &result.content {
        let what = match part {
            Part::Text { .. } => continue,
            Part::Image(_) => "image",
            Part::Document(_) => "document",
            Part::Opaque { .. } => "raw part",
        };
        losses.note(format!("the {what} in the result of call {:?}", result.call_id));
    }
    // What failed mostly says so itself.
    if result.is_error && result.text().trim().is_empty() {
        losses.note(format!("that the result of call {:?} is a failure", result.call_id));
    }
    quote(&result.text())
}

/// Keeps reasoning where it was, writes it where it can be read, and lets go of what the message no longer has.
fn reasoning(
    message: &Message,
    read: Option<&Message>,
    fields: Option<&Fields<'_>>,
    losses: &mut Losses<'_>,
    edits: &mut Vec<(&str, Option<String>)>,
) {
    let mut open = Vec::new();
    for block in &message.content {
        match block {
            Content::Thinking { text, signature: None } => open.push(text.as_str()),
            Content::Thinking { .. } => losses.note("reasoning that is signed for another wire".to_owned()),
            Content::RedactedThinking { .. } => {
                losses.note("reasoning that is encrypted for another wire".to_owned())
            }
            _ => {}
        }
    }
    let before: Vec<&str> = read
        .into_iter()
        .flat_map(|read| &read.content)
        .filter_map(|block| match block {
            Content::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if open == before {
        return;
    }
    let field = REASONING.into_iter().find(|name| fields.is_some_and(|fields| fields.get(name).is_some()));
    for name in REASONING.into_iter().chain(["reasoning_details"]) {
        edits.push((
            name,
            (Some(name) == field.or(Some(REASONING[0])) && !open.is_empty()).then(|| words(&open)),
        ));
    }
}
