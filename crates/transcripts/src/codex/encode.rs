//! One message of ours to items of the conversation.

use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolResult,
};

use super::item::{is_injected, shown};
use super::{WIRE, known};
use crate::json::{Fields, object, quote};
use crate::source::{Losses, Reuse};

/// Whether the call that a result answers is one of a custom tool: its result has a type of its own, and the agent
/// drops the other.
pub(super) type IsCustom<'c> = &'c dyn Fn(&str) -> bool;

/// Writes a message as items; the bytes of blocks that are unchanged are used again.
pub(super) fn items(
    message: &Message,
    reuse: &mut Reuse<'_>,
    is_custom: IsCustom<'_>,
    losses: &mut Losses<'_>,
) -> Vec<String> {
    let mut items = Items { role: role_of(message.role), author: message.author, out: vec![], parts: vec![] };
    for (number, content) in message.content.iter().enumerate() {
        let next = message.content.get(number + 1);
        items.block(content, next, reuse, is_custom, losses);
    }
    items.settle();
    if items.out.is_empty() {
        items.words();
    }
    items.out
}

fn role_of(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "developer",
        Role::User | Role::Tool => "user",
    }
}

/// The items of one message.
struct Items {
    role: &'static str,
    author: Author,
    out: Vec<String>,
    /// Parts of the message that goes on, and whether the client would take them for its own words.
    parts: Vec<(String, bool)>,
}

impl Items {
    fn block(
        &mut self,
        content: &Content,
        next: Option<&Content>,
        reuse: &mut Reuse<'_>,
        is_custom: IsCustom<'_>,
        losses: &mut Losses<'_>,
    ) {
        let is_assistant = self.role == "assistant";
        let raw = reuse.take(content).map(|raw| raw.text).filter(|raw| raw.starts_with('{'));
        if let Some((raw, kind)) = raw.and_then(|raw| Some((raw, kind_of(raw)?))) {
            let fits = known::item(&kind).is_some();
            match part_role(&kind) {
                Some(assistant) if assistant == is_assistant => {
                    self.parts.push((raw.to_owned(), is_injected(content)));
                    return;
                }
                None if fits && (is_assistant || !is_of_model(&kind)) => {
                    self.item(raw.to_owned());
                    return;
                }
                _ => {}
            }
        }
        match content {
            Content::Text { text } => {
                let kind = if is_assistant { "output_text" } else { "input_text" };
                let part = object(&[("type", Some(quote(kind))), ("text", Some(quote(text)))]);
                self.parts.push((part, is_injected(content)));
            }
            Content::Image(media) if !is_assistant => self.parts.push((image(media), false)),
            Content::ToolCall(call) if is_assistant => self.item(function_call(call, losses)),
            Content::ToolResult(found) if self.role == "user" => {
                self.item(result(found, is_custom(&found.call_id), losses));
            }
            Content::Opaque { wire, json } if wire == WIRE => self.raw(json, is_assistant, losses),
            // What goes back to the model says it once more.
            Content::Thinking { text, signature: None }
                if is_assistant && next.is_some_and(|next| says(next, text)) => {}
            other => losses.note(lost(other)),
        }
    }

    /// Writes a block that only this wire understands, if the agent knows it: it drops a record with another one.
    fn raw(&mut self, json: &str, is_assistant: bool, losses: &mut Losses<'_>) {
        let kind = kind_of(json);
        let kind = kind.as_deref().unwrap_or_default();
        // The agent reads one record a line.
        let json = json.replace(['\n', '\r'], " ");
        match part_role(kind) {
            Some(assistant) if assistant == is_assistant => self.parts.push((json, false)),
            None if known::item(kind).is_some() && (is_assistant || !is_of_model(kind)) => self.item(json),
            _ => losses.note(format!("a block of type {kind:?}, which the agent does not know here")),
        }
    }

    fn item(&mut self, item: String) {
        self.settle();
        self.out.push(item);
    }

    /// Writes the parts that came together as a message.
    fn settle(&mut self) {
        if !self.parts.is_empty() {
            self.words();
        }
    }

    fn words(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let content: Vec<&str> = parts.iter().map(|(part, _)| part.as_str()).collect();
        let mut fields = vec![
            ("type", Some(quote("message"))),
            ("role", Some(quote(self.role))),
            ("content", Some(format!("[{}]", content.join(",")))),
        ];
        let by_person = self.author == Author::Person;
        let seems_injected = parts.iter().any(|(_, injected)| *injected);
        if self.role == "user" && by_person == seems_injected {
            fields.push(("internal_chat_message_metadata_passthrough", Some(marks(parts.len(), by_person))));
        }
        self.out.push(object(&fields));
    }
}

/// Says who wrote each part, the way the client does it (0.171, run 2026-11).
fn marks(parts: usize, by_person: bool) -> String {
    let (kind, from) = match by_person {
        true => (r#""user.text""#, r#"{"provenance":{"type":"user"}}"#),
        false => (r#""unknown""#, r#"{"provenance":{"type":"harness","hook":false}}"#),
    };
    let each = |what: &str| format!("[{}]", vec![what; parts.max(1)].join(","));
    object(&[("content_item_kinds", Some(each(kind))), ("content_item_metadata", Some(each(from)))])
}

fn kind_of(json: &str) -> Option<String> {
    Some(Fields::parse(json).ok()?.text("type")?.into_owned())
}

/// Tells whether a part of a message is one of the assistant's; nothing for what is no part.
fn part_role(kind: &str) -> Option<bool> {
    match kind {
        "input_text" | "input_image" | "input_audio" => Some(false),
        "output_text" => Some(true),
        _ => None,
    }
}

/// Tells whether an item is the model's.
fn is_of_model(kind: &str) -> bool {
    kind == "reasoning" || kind.ends_with("_call")
}

/// Tells whether a block is an item of reasoning that shows these words.
fn says(content: &Content, words: &str) -> bool {
    let Content::Opaque { wire, json } = content else { return false };
    let fields = Fields::parse(json).ok().filter(|_| wire == WIRE);
    fields.is_some_and(|item| item.text("type").as_deref() == Some("reasoning") && shown(&item) == words)
}

fn lost(content: &Content) -> String {
    match content {
        Content::Text { .. } => "words".to_owned(),
        Content::Thinking { signature: Some(_), .. } => {
            "reasoning that is signed for another wire".to_owned()
        }
        Content::Thinking { .. } => {
            "reasoning: only what its service has encrypted goes back to a model".to_owned()
        }
        Content::RedactedThinking { .. } => "reasoning that another service has encrypted".to_owned(),
        Content::Image(_) => "an image: the model's words have no place for one".to_owned(),
        Content::Document(_) => "a document: the agent knows none".to_owned(),
        Content::ToolCall(call) => format!("call {:?}, which is not the model's", call.id),
        Content::ToolResult(result) => {
            format!("the result of call {:?}, which is the model's", result.call_id)
        }
        Content::ServerCall { id, .. } => format!("server call {id:?}"),
        Content::ServerResult { call_id, .. } => format!("the result of server call {call_id:?}"),
        Content::Opaque { wire, .. } => format!("a block that only {wire} understands"),
    }
}

fn function_call(call: &ToolCall, losses: &mut Losses<'_>) -> String {
    if call.signature.is_some() {
        losses.note(format!("the signature of call {:?}", call.id));
    }
    object(&[
        ("type", Some(quote("function_call"))),
        ("name", Some(quote(&call.name))),
        ("arguments", Some(quote(&call.arguments))),
        ("call_id", Some(quote(&call.id))),
    ])
}

fn result(result: &ToolResult, is_custom: bool, losses: &mut Losses<'_>) -> String {
    if result.is_error {
        losses.note(format!("that the result of call {:?} is a failure", result.call_id));
    }
    let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
    object(&[
        ("type", Some(quote(kind))),
        ("call_id", Some(quote(&result.call_id))),
        ("output", Some(output(result, losses))),
    ])
}

/// Writes what a tool returned: as a string wherever it can be.
fn output(result: &ToolResult, losses: &mut Losses<'_>) -> String {
    match result.content.as_slice() {
        [] => return quote(""),
        // An empty string is nothing.
        [Part::Text { text }] if !text.is_empty() => return quote(text),
        _ => {}
    }
    let id = &result.call_id;
    let mut part = |part: &Part| match part {
        Part::Text { text } => {
            Some(object(&[("type", Some(quote("input_text"))), ("text", Some(quote(text)))]))
        }
        Part::Image(media) => Some(image(media)),
        Part::Document(_) => {
            losses.note(format!("the document in the result of call {id:?}"));
            None
        }
        Part::Opaque { wire, json } => {
            let kind = kind_of(json).filter(|_| wire == WIRE);
            let is_known =
                kind.is_some_and(|kind| matches!(kind.as_str(), "input_audio" | "encrypted_content"));
            if !is_known {
                losses.note(format!("a part of the result of call {id:?} that only {wire} understands"));
            }
            is_known.then(|| json.replace(['\n', '\r'], " "))
        }
    };
    let parts: Vec<String> = result.content.iter().filter_map(&mut part).collect();
    format!("[{}]", parts.join(","))
}

fn image(media: &Media) -> String {
    let url = match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Base64(data) => format!("data:{};base64,{data}", media.media_type),
    };
    object(&[("type", Some(quote("input_image"))), ("image_url", Some(quote(&url)))])
}
