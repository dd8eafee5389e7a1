//! One item of the conversation, as the Responses API has it, to our blocks.
//!
//! An item that has no word of ours is carried as the decoder of that wire carries it: raw, as it is sent back.

use std::borrow::Cow;

use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Part, Role, StopReason, ToolCall, ToolResult,
};

use super::{SUMMARY, WIRE};
use crate::json::{Fields, Value};
use crate::openai_chat;

/// What an item is to its reader.
#[derive(Debug)]
pub(super) enum Read<'a> {
    /// A message or a part of one.
    Said(Item<'a>),
    /// It says nothing to the model.
    Silent,
    /// It should say something and does not.
    Not(String),
}

/// A message, or a part of the model's.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) role: Role,
    pub(super) author: Author,
    pub(super) blocks: Vec<Content>,
    /// The bytes of each block; empty where it has none of its own.
    pub(super) raws: Vec<&'a str>,
    /// Whether the agent reads the same in it as we do.
    pub(super) exact: bool,
    /// Whether it begins a turn, and going back takes it away with all behind it.
    pub(super) prompts: bool,
    pub(super) stop: Option<StopReason>,
    /// Whether something in it was left out that is no part of a message.
    pub(super) is_torn: bool,
}

impl<'a> Item<'a> {
    pub(super) fn new(role: Role, author: Author) -> Self {
        Item {
            role,
            author,
            blocks: vec![],
            raws: vec![],
            exact: true,
            prompts: false,
            stop: None,
            is_torn: false,
        }
    }

    pub(super) fn with(mut self, block: Content, raw: &'a str) -> Self {
        self.blocks.push(block);
        self.raws.push(raw);
        self
    }
}

/// Reads one item; `raw` are its bytes.
pub(super) fn read<'a>(kind: &str, fields: &Fields<'a>, raw: &'a str) -> Read<'a> {
    let carried = || Content::Opaque { wire: WIRE.to_owned(), json: raw.to_owned() };
    let model = Item::new(Role::Assistant, Author::Model);
    match kind {
        "message" => message(fields).map_or_else(Read::Not, Read::Said),
        "reasoning" => Read::Said(reasoning(fields, raw, carried)),
        "function_call" => Read::Said(call(fields, raw, "arguments")),
        "custom_tool_call" => Read::Said(call(fields, raw, "input")),
        "local_shell_call" => Read::Said(shell(fields, raw)),
        "function_call_output" | "custom_tool_call_output" => Read::Said(result(fields)),
        "agent_message" => {
            let mut item = words_of_agent(fields)
                .unwrap_or_else(|| Item::new(Role::User, Author::Harness).with(carried(), raw));
            item.prompts = true;
            Read::Said(item)
        }
        // What another service made of a conversation, for its eyes only.
        "compaction" | "compaction_summary" | "context_compaction" => {
            Read::Said(Item::new(Role::User, Author::Harness).with(carried(), raw))
        }
        "ghost_snapshot" | "additional_tools" | "configuration_update" | "compaction_trigger" | "other" => {
            Read::Silent
        }
        // Known or not: who it is from is told by its name, as with all others.
        kind if kind.ends_with("_call") => Read::Said(model.with(carried(), raw)),
        kind if kind.ends_with("_output") => {
            Read::Said(Item::new(Role::User, Author::Harness).with(carried(), raw))
        }
        _ => Read::Silent,
    }
}

fn message<'a>(fields: &Fields<'a>) -> Result<Item<'a>, String> {
    let role = fields.text("role").ok_or("it has no role")?;
    let (role, author) = match role.as_ref() {
        "user" => (Role::User, Author::Person),
        "assistant" => (Role::Assistant, Author::Model),
        "developer" | "system" => (Role::System, Author::Harness),
        other => return Err(format!("its role is {:?}", other.chars().take(40).collect::<String>())),
    };
    let content = fields.get("content").ok_or("it has no content")?;
    let mut item = Item::new(role, author);
    // The agent knows no message without its type.
    item.exact = fields.has("type");
    if let Some(text) = content.text() {
        item.exact = false;
        item = item.with(Content::text(text), content.get());
    } else {
        let parts = content.items().ok_or("its content is neither a string nor parts")?;
        for value in parts.iter() {
            match value.fields() {
                Some(fields) => {
                    if fields.text("type").as_deref() == Some("refusal") {
                        item.stop = Some(StopReason::Refusal);
                    }
                    item = item.with(part(&fields, value.get()), value.get());
                }
                None => {
                    item.exact = false;
                    match value.text() {
                        Some(text) => item = item.with(Content::text(text), value.get()),
                        None => item.is_torn = true,
                    }
                }
            }
        }
    }
    if role == Role::User {
        item.author = author_of(fields, &item.blocks);
        item.prompts = item.author == Author::Person;
    }
    Ok(item)
}

fn part(fields: &Fields<'_>, raw: &str) -> Content {
    let known = match fields.text("type").as_deref() {
        Some("input_text" | "output_text" | "text") => fields.text("text").map(Content::text),
        Some("refusal") => fields.text("refusal").map(Content::text),
        Some("input_image") => fields.text("image_url").map(|url| Content::Image(image(&url))),
        _ => None,
    };
    known.unwrap_or_else(|| Content::Opaque { wire: WIRE.to_owned(), json: raw.to_owned() })
}

/// Returns a picture by its address; the bytes of most stand in it.
pub(super) fn image(url: &str) -> Media {
    let data = url.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
    match data {
        Some((kind, data)) if !kind.is_empty() => {
            Media { media_type: kind.to_owned(), source: MediaSource::Base64(data.to_owned()) }
        }
        _ => Media { media_type: "image/*".to_owned(), source: MediaSource::Url(url.to_owned()) },
    }
}

/// Tells who wrote a message of the user: newer files say it, in older ones it is told by how the words begin.
fn author_of(fields: &Fields<'_>, blocks: &[Content]) -> Author {
    let by_word = |person: bool| if person { Author::Person } else { Author::Harness };
    if let Some(beside) = fields.object("internal_chat_message_metadata_passthrough") {
        let parts = beside.items("content_item_metadata").unwrap_or_default();
        let from = |part: &Value<'_>| part.fields()?.object("provenance")?.text("type").map(Cow::into_owned);
        let from: Vec<String> = parts.iter().filter_map(from).collect();
        if !from.is_empty() {
            return by_word(from.iter().any(|from| from == "user"));
        }
        let kinds = beside.items("content_item_kinds").unwrap_or_default();
        let kinds: Vec<Cow<'_, str>> = kinds.iter().filter_map(Value::text).collect();
        if kinds.iter().any(|kind| kind.starts_with("user.")) {
            return Author::Person;
        }
        if !kinds.is_empty() && !kinds.iter().any(|kind| kind == "unknown") {
            return Author::Harness;
        }
    }
    by_word(!blocks.iter().any(is_injected))
}

/// Tells whether a block is what the client puts beside the words of a person, by its beginning (its
/// `contextual_user_message.rs` and the tags that 0.171 knows, read 2026-11).
pub(super) fn is_injected(block: &Content) -> bool {
    const BEGINNINGS: [&str; 25] = [
        "<environment_context>",
        "# AGENTS.md instructions",
        "<user_instructions>",
        "<permissions instructions>",
        "<skill>",
        "<skills_instructions>",
        "<user_shell_command>",
        "<user_action>",
        "<turn_aborted>",
        "<subagent_notification>",
        "<collaboration_mode>",
        "<codex_internal_context",
        "<codex_delegation>",
        "<goal_context>",
        "<model_switch>",
        "<personality_spec>",
        "<hook_prompt",
        "<recommended_plugins>",
        "<realtime_delegation>",
        "<current_time_reminder>",
        "<agent_message_board_notification>",
        "<external_",
        "Warning: apply_patch was requested via",
        "Warning: Your account was flagged",
        SUMMARY,
    ];
    let Content::Text { text } = block else { return false };
    let text = text.trim_start().as_bytes();
    BEGINNINGS.iter().any(|begin| {
        text.get(..begin.len()).is_some_and(|words| words.eq_ignore_ascii_case(begin.as_bytes()))
    })
}

/// Reads what one agent tells another, unless it is for the service alone.
fn words_of_agent<'a>(fields: &Fields<'a>) -> Option<Item<'a>> {
    let parts = fields.items("content")?;
    let mut item = Item::new(Role::User, Author::Harness);
    for value in parts.iter() {
        let part = value.fields()?;
        part.text("type").filter(|kind| kind == "input_text")?;
        item = item.with(Content::text(part.text("text")?), value.get());
    }
    Some(item).filter(|item| !item.blocks.is_empty())
}

/// Reads reasoning: what may be shown of it, and what goes back to the model.
fn reasoning<'a>(fields: &Fields<'a>, raw: &'a str, carried: impl Fn() -> Content) -> Item<'a> {
    let words = shown(fields);
    let item = Item::new(Role::Assistant, Author::Model);
    let thinking = |text| Content::Thinking { text, signature: None };
    match fields.text("encrypted_content") {
        _ if words.is_empty() => item.with(carried(), raw),
        None => item.with(thinking(words), raw),
        Some(_) => item.with(thinking(words), "").with(carried(), raw),
    }
}

/// Returns what an item of reasoning says to people: its summary, else the reasoning itself.
pub(super) fn shown(fields: &Fields<'_>) -> String {
    let texts = |name: &str| {
        let parts = fields.items(name).unwrap_or_default();
        let texts = parts.iter().filter_map(|part| part.fields()?.text("text").map(Cow::into_owned));
        texts.filter(|text| !text.is_empty()).collect::<Vec<String>>().join("\n\n")
    };
    let summary = texts("summary");
    if summary.is_empty() { texts("content") } else { summary }
}

/// Reads a call whose arguments stand in a field; a custom tool has text of any kind there.
fn call<'a>(fields: &Fields<'a>, raw: &'a str, field: &str) -> Item<'a> {
    let said = fields.get(field);
    let text = said.and_then(Value::text);
    let exact = text.is_some() && fields.text("call_id").is_some() && fields.text("name").is_some();
    let text = text.or_else(|| said.map(|said| Cow::Borrowed(said.get()))).unwrap_or_default();
    let arguments = match field {
        "input" => openai_chat::custom_arguments(&text),
        _ => text.into_owned(),
    };
    let name = fields.text("name").unwrap_or_default().into_owned();
    let mut item = Item::new(Role::Assistant, Author::Model);
    item.exact = exact;
    item.with(Content::ToolCall(ToolCall { id: call_id(fields), name, arguments, signature: None }), raw)
}

/// Reads a command for the shell that the service knows by itself; its result is that of a function.
fn shell<'a>(fields: &Fields<'a>, raw: &'a str) -> Item<'a> {
    let action = fields.get("action").filter(|action| action.fields().is_some());
    let mut item = Item::new(Role::Assistant, Author::Model);
    item.exact = action.is_some();
    let arguments = action.map(|action| action.get().to_owned()).unwrap_or_default();
    let name = "local_shell".to_owned();
    item.with(Content::ToolCall(ToolCall { id: call_id(fields), name, arguments, signature: None }), raw)
}

fn call_id(fields: &Fields<'_>) -> String {
    let id = fields.text("call_id").or_else(|| fields.text("id"));
    id.unwrap_or_default().into_owned()
}

fn result<'a>(fields: &Fields<'a>) -> Item<'a> {
    let mut item = Item::new(Role::Tool, Author::Tool);
    item.exact = fields.text("call_id").is_some();
    let mut is_error = false;
    let content = match fields.get("output") {
        None => {
            item.exact = false;
            Vec::new()
        }
        Some(output) => match (output.text(), output.items(), output.fields()) {
            (Some(text), _, _) => said(&text),
            (_, Some(items), _) => {
                item.exact &= items.iter().all(|item| item.fields().is_some());
                items.iter().map(part_of_result).collect()
            }
            // Before 0.59 a failure was an object.
            (_, _, Some(object)) if object.has("content") || object.has("success") => {
                item.exact = false;
                is_error = object.get("success").is_some_and(|value| value.get() == "false");
                match (object.text("content"), object.items("content")) {
                    (Some(text), _) => said(&text),
                    (_, Some(items)) => items.iter().map(part_of_result).collect(),
                    _ => Vec::new(),
                }
            }
            (_, _, object) => {
                item.exact = false;
                vec![object.map_or_else(|| Part::text(output.get()), |_| part_of_result(output))]
            }
        },
    };
    let call_id = fields.text("call_id").unwrap_or_default().into_owned();
    item.with(Content::ToolResult(ToolResult { call_id, content, is_error }), "")
}

fn said(text: &str) -> Vec<Part> {
    if text.is_empty() { Vec::new() } else { vec![Part::text(text)] }
}

fn part_of_result(value: &Value<'_>) -> Part {
    let known = value.fields().and_then(|fields| match fields.text("type")?.as_ref() {
        "input_text" | "output_text" | "text" => fields.text("text").map(Part::text),
        "input_image" => fields.text("image_url").map(|url| Part::Image(image(&url))),
        _ => None,
    });
    let raw = || match value.fields() {
        Some(_) => Part::Opaque { wire: WIRE.to_owned(), json: value.get().to_owned() },
        None => Part::text(value.text().unwrap_or(Cow::Borrowed(value.get()))),
    };
    known.unwrap_or_else(raw)
}
