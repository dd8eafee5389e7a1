//! A message of JSON to ours.

use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Part, Role, StopReason, ToolCall, ToolResult,
};

use super::{REASONING, WIRE};
use crate::json::{Fields, Value, object, quote};
use crate::source::Parsed;

/// Reads one message.
pub(crate) fn message<'a>(fields: &Fields<'a>) -> Result<Parsed<'a>, String> {
    let role = fields.text("role").ok_or("it has no role")?;
    let (role, author) = match role.as_ref() {
        "system" | "developer" => (Role::System, Author::Harness),
        "user" => (Role::User, Author::Person),
        "assistant" => (Role::Assistant, Author::Model),
        "tool" => return tool(fields, "tool_call_id"),
        // Before there were ids a result named its function, and the call had nothing else either.
        "function" => return tool(fields, "name"),
        other => return Err(format!("its role is {other:?}")),
    };
    let mut blocks = Blocks::default();
    let reasoning = REASONING.iter().find_map(|name| {
        let raw = fields.get(name)?;
        raw.text().filter(|text| !text.is_empty()).map(|text| (text, raw))
    });
    if let Some((text, raw)) = reasoning.filter(|_| role == Role::Assistant) {
        blocks.push(Content::Thinking { text: text.into_owned(), signature: None }, raw);
    }
    let calls = calls(fields, &mut blocks)?;
    let said = if let Some(content) = fields.get("content") {
        said(content, role, !calls.is_empty(), &mut blocks)?
    } else {
        false
    };
    let mut stop = None;
    if let Some(raw) = fields.get("refusal")
        && let Some(text) = raw.text().filter(|_| !said)
    {
        blocks.push(Content::text(text), raw);
        stop = Some(StopReason::Refusal);
    }
    if role != Role::Assistant && !fields.has("content") {
        return Err("it has no content".to_owned());
    }
    for (call, raw) in calls {
        blocks.push(Content::ToolCall(call), &raw);
    }
    let mut message = Message::new(role, author, blocks.contents);
    message.stop = stop;
    Ok(Parsed { message, raws: blocks.raws, exact: !blocks.odd, older: blocks.older })
}

#[derive(Default)]
struct Blocks<'a> {
    contents: Vec<Content>,
    raws: Vec<&'a str>,
    /// Whether something was not as this wire has it.
    odd: bool,
    /// Whether its call is of the form before ids.
    older: bool,
}

impl<'a> Blocks<'a> {
    fn push(&mut self, content: Content, raw: &Value<'a>) {
        self.contents.push(content);
        self.raws.push(raw.get());
    }
}

/// Reads words and parts; tells whether there were any.
fn said<'a>(
    content: &Value<'a>,
    role: Role,
    has_calls: bool,
    blocks: &mut Blocks<'a>,
) -> Result<bool, String> {
    if let Some(text) = content.text() {
        // Beside calls an empty string means nothing was said; many servers write it, and many want it.
        let silent = text.is_empty() && role == Role::Assistant && has_calls;
        if !silent {
            blocks.push(Content::text(text), content);
        }
        return Ok(!silent);
    }
    let parts = content.items().ok_or("its content is neither a string nor parts")?;
    for part in parts.iter() {
        match part.fields() {
            Some(fields) => blocks.push(block(&fields, part.get()), part),
            None => {
                blocks.odd = true;
                if let Some(text) = part.text() {
                    blocks.push(Content::text(text), part);
                }
            }
        }
    }
    Ok(!parts.is_empty())
}

fn block(fields: &Fields<'_>, raw: &str) -> Content {
    let known = match fields.text("type").as_deref() {
        Some("text") => fields.text("text").map(Content::text),
        Some("refusal") => fields.text("refusal").map(Content::text),
        Some("image_url") => image(fields).map(Content::Image),
        Some("file") => {
            fields.object("file").and_then(|file| data_url(&file.text("file_data")?)).map(Content::Document)
        }
        _ => None,
    };
    known.unwrap_or_else(|| Content::Opaque { wire: WIRE.to_owned(), json: raw.to_owned() })
}

fn image(fields: &Fields<'_>) -> Option<Media> {
    let url = fields.object("image_url")?.text("url")?.into_owned();
    data_url(&url).or_else(|| Some(Media { media_type: "image/*".to_owned(), source: MediaSource::Url(url) }))
}

fn data_url(url: &str) -> Option<Media> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let source = MediaSource::Base64(data.to_owned());
    Some(Media { media_type: media_type.to_owned(), source })
}

type Calls<'a> = Vec<(ToolCall, Value<'a>)>;

fn calls<'a>(fields: &Fields<'a>, blocks: &mut Blocks<'a>) -> Result<Calls<'a>, String> {
    let mut calls = Vec::new();
    if let Some(raw) = fields.get("tool_calls") {
        // Some servers write the only call itself in place of a list.
        blocks.odd |= raw.items().is_none();
        for item in fields.items_or_one("tool_calls").ok_or("its tool_calls are no array")?.iter() {
            match item.fields() {
                Some(call) => calls.push((one_call(&call, &mut blocks.odd), item.unread())),
                None => blocks.odd = true,
            }
        }
    }
    if let Some(raw) = fields.get("function_call")
        && let Some(function) = raw.fields()
    {
        let name = function.text("name").unwrap_or_default().into_owned();
        let arguments = arguments(&function, "arguments", &mut blocks.odd);
        // Some servers say a call in both forms; what stands beside calls and is another one goes among them.
        let alone = calls.is_empty();
        let again = calls.iter().any(|(call, _)| call.name == name && call.arguments == arguments);
        // Nor is it one if nothing is in it.
        let is_call = if alone { function.entries().next().is_some() } else { !again && !name.is_empty() };
        blocks.older = alone && is_call;
        blocks.odd |= !blocks.older;
        if is_call {
            calls.push((ToolCall { id: name.clone(), name, arguments, signature: None }, raw.unread()));
        }
    }
    Ok(calls)
}

fn one_call(call: &Fields<'_>, odd: &mut bool) -> ToolCall {
    let id = call.text("id").unwrap_or_default().into_owned();
    let named = |inner: &Fields<'_>| inner.text("name").unwrap_or_default().into_owned();
    let (name, arguments) = match (call.object("custom"), call.object("function")) {
        (Some(custom), _) => (named(&custom), custom_arguments(&arguments(&custom, "input", odd))),
        (None, Some(function)) => (named(&function), arguments(&function, "arguments", odd)),
        (None, None) => (String::new(), String::new()),
    };
    ToolCall { id, name, arguments, signature: None }
}

/// Returns what a custom tool was given as the arguments of a function: it is text of any kind, and arguments are an object.
pub(crate) fn custom_arguments(input: &str) -> String {
    match Fields::parse(input) {
        Ok(_) => input.to_owned(),
        Err(_) => object(&[("input", Some(quote(input)))]),
    }
}

/// Arguments are a string of JSON; some servers write the object itself.
fn arguments(inner: &Fields<'_>, field: &str, odd: &mut bool) -> String {
    let Some(raw) = inner.get(field) else { return String::new() };
    raw.text().map(std::borrow::Cow::into_owned).unwrap_or_else(|| {
        *odd = true;
        raw.get().to_owned()
    })
}

fn tool<'a>(fields: &Fields<'a>, id: &str) -> Result<Parsed<'a>, String> {
    let mut odd = false;
    let mut part = |item: &Value<'_>| {
        let known = item.fields().and_then(|fields| match fields.text("type")?.as_ref() {
            "text" => fields.text("text").map(Part::text),
            "image_url" => image(&fields).map(Part::Image),
            _ => None,
        });
        known.unwrap_or_else(|| {
            odd |= !item.get().starts_with('{');
            Part::text(item.text().unwrap_or(std::borrow::Cow::Borrowed(item.get())))
        })
    };
    let raw = fields.get("content");
    let content = match raw.map(|raw| (raw.text(), raw.items(), raw)) {
        None => Vec::new(),
        Some((Some(text), _, _)) if text.is_empty() => Vec::new(),
        Some((Some(text), _, _)) => vec![Part::text(text)],
        Some((None, Some(items), _)) => items.iter().map(&mut part).collect(),
        Some((None, None, raw)) => {
            odd = true;
            vec![Part::text(raw.get())]
        }
    };
    let call_id = fields.text(id).unwrap_or_default().into_owned();
    let result = ToolResult { call_id, content, is_error: false };
    let message = Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]);
    let older = id == "name";
    // No single value says all of a result here; an empty one is never taken for it.
    Ok(Parsed { message, raws: vec![""], exact: !odd, older })
}
