//! The parts that a message is made of, to our blocks and back.
//!
//! They are those of the service, and are kept as its wire keeps them: what stands beside the words or the call of a
//! part becomes a raw block behind it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_message_tree::{Content, Media, MediaSource, Part, ToolCall, ToolResult};

use super::WIRE;
use super::words::one_line;
use crate::json::{Fields, Value, object, quote};
use crate::source::Losses;

/// Members of a part, each as it was written.
type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// What a text part has besides its words, and which bytes of the block before it they are.
#[derive(Serialize, Deserialize)]
struct BesideText<'a> {
    #[serde(rename = "textBytes")]
    range: (usize, usize),
    #[serde(borrow, rename = "part")]
    members: Members<'a>,
}

/// What a part with a call has besides it.
#[derive(Serialize, Deserialize)]
struct BesideCall<'a> {
    #[serde(borrow, rename = "besideCall")]
    members: Members<'a>,
}

/// Reads a part into blocks, and tells whether they are one block with the bytes of the part. Results are read by
/// [`result`].
pub(super) fn blocks(value: &Value<'_>) -> (Vec<Content>, bool) {
    if let Some(text) = value.text() {
        let words = (!text.is_empty()).then(|| Content::text(text));
        return (words.into_iter().collect(), true);
    }
    let Some(fields) = value.fields() else { return (Vec::new(), false) };
    if let Some(call) = fields.object("functionCall") {
        return of_call(&fields, &call, value.get());
    }
    let names = fields.names();
    let beside = names.iter().any(|name| !matches!(*name, "text" | "thought"));
    let signature = fields.text("thoughtSignature").filter(|text| !text.is_empty());
    let says_more = names.iter().any(|name| !matches!(*name, "text" | "thought" | "thoughtSignature"));
    match fields.text("text") {
        _ if names.is_empty() => (Vec::new(), false),
        Some(text) if fields.flag("thought") && !says_more => {
            let says = !text.is_empty() || signature.is_some();
            let thought = Content::Thinking {
                text: text.into_owned(),
                signature: signature.map(|text| text.into_owned()),
            };
            (says.then_some(thought).into_iter().collect(), true)
        }
        Some(text) if fields.flag("thought") || (text.is_empty() && beside) => {
            (vec![opaque(value.get())], true)
        }
        Some(text) if text.is_empty() => (Vec::new(), true),
        Some(text) if beside => {
            let kept =
                beside_text(value.get(), text.len()).unwrap_or_else(|| one_line(value.get()).into_owned());
            (vec![Content::text(text), Content::Opaque { wire: WIRE.to_owned(), json: kept }], false)
        }
        Some(text) => (vec![Content::text(text)], true),
        None => {
            let block = media(&fields).map(|media| match is_picture(&media) {
                true => Content::Image(media),
                false => Content::Document(media),
            });
            (vec![block.unwrap_or_else(|| opaque(value.get()))], true)
        }
    }
}

fn opaque(json: &str) -> Content {
    Content::Opaque { wire: WIRE.to_owned(), json: one_line(json).into_owned() }
}

/// Reads a part with a call, and words in the same part.
fn of_call(fields: &Fields<'_>, call: &Fields<'_>, raw: &str) -> (Vec<Content>, bool) {
    let signature = fields.text("thoughtSignature").filter(|text| !text.is_empty());
    let words = fields.text("text").filter(|text| !text.is_empty()).map(|text| {
        let text = text.into_owned();
        if fields.flag("thought") {
            Content::Thinking { text, signature: None }
        } else {
            Content::Text { text }
        }
    });
    let alone = words.is_none();
    let mut blocks: Vec<Content> = words.into_iter().collect();
    blocks.push(Content::ToolCall(ToolCall {
        id: call.text("id").unwrap_or_default().into_owned(),
        name: call.text("name").unwrap_or_default().into_owned(),
        arguments: call.get("args").map(|args| one_line(args.get()).into_owned()).unwrap_or_default(),
        signature: signature.map(|text| text.into_owned()),
    }));
    let mut members: Members<'_> = serde_json::from_str(raw).unwrap_or_default();
    members.retain(|name, value| {
        !matches!(name.as_ref(), "functionCall" | "thoughtSignature" | "text" | "thought")
            && value.get() != "null"
    });
    let kept = (!members.is_empty()).then(|| serde_json::to_string(&BesideCall { members }).ok()).flatten();
    let alone = alone && kept.is_none();
    blocks.extend(kept.map(|json| opaque(&json)));
    (blocks, alone)
}

fn beside_text(part: &str, length: usize) -> Option<String> {
    let mut members: Members<'_> = serde_json::from_str(part).ok()?;
    members.retain(|name, value| !matches!(name.as_ref(), "text" | "thought") && value.get() != "null");
    let json = serde_json::to_string(&BesideText { range: (0, length), members }).ok()?;
    Some(one_line(&json).into_owned())
}

/// Reads bytes or their address, of kinds that we have a word for.
fn media(fields: &Fields<'_>) -> Option<Media> {
    let [name] = fields.names()[..] else { return None };
    let data = fields.object(name)?;
    let source = match name {
        "inlineData" => MediaSource::Base64(data.text("data")?.into_owned()),
        "fileData" => MediaSource::Url(data.text("fileUri")?.into_owned()),
        _ => return None,
    };
    let media_type = data.text("mimeType")?.into_owned();
    let is_document = media_type.starts_with("application/") || media_type.starts_with("text/");
    let media = Media { media_type, source };
    (is_picture(&media) || is_document).then_some(media)
}

fn is_picture(media: &Media) -> bool {
    media.media_type.starts_with("image/")
}

/// Reads a part that stands in a result or beside one.
pub(super) fn result_part(value: &Value<'_>) -> Option<Part> {
    if let Some(text) = value.text() {
        return (!text.is_empty()).then(|| Part::text(text));
    }
    let fields = value.fields()?;
    if let [_] = fields.names()[..]
        && let Some(text) = fields.text("text")
    {
        return (!text.is_empty()).then(|| Part::text(text));
    }
    Some(match media(&fields) {
        Some(media) if is_picture(&media) => Part::Image(media),
        Some(media) => Part::Document(media),
        None => Part::Opaque { wire: WIRE.to_owned(), json: one_line(value.get()).into_owned() },
    })
}

/// Reads the part that holds a result; its id may be empty.
pub(super) fn result(response: &Fields<'_>) -> ToolResult {
    let mut content = Vec::new();
    let mut is_error = false;
    match response.get("response") {
        None => {}
        Some(value) => {
            let fields = value.fields();
            let only = fields.as_ref().and_then(|fields| match fields.names()[..] {
                [name @ ("output" | "error")] => {
                    fields.text(name).map(|text| (name == "error", text.into_owned()))
                }
                _ => None,
            });
            is_error = only.as_ref().is_some_and(|(is_error, _)| *is_error);
            let is_empty = fields.is_some_and(|fields| fields.names().is_empty());
            let text = match only {
                Some((_, text)) => text,
                None if is_empty => String::new(),
                None => {
                    value.text().map_or_else(|| one_line(value.get()).into_owned(), |text| text.into_owned())
                }
            };
            content.extend((!text.is_empty()).then(|| Part::text(text)));
        }
    }
    let nested = response.items("parts").unwrap_or_default();
    content.extend(nested.iter().filter_map(result_part));
    ToolResult { call_id: response.text("id").unwrap_or_default().into_owned(), content, is_error }
}

/// Writes the parts of a message; each block is given with the bytes that it had, if any. Results are left out.
///
/// `is_foreign` tells that the message was written by a model that speaks another wire, whose signatures mean nothing
/// here.
pub(super) fn write<'a>(
    content: impl IntoIterator<Item = (&'a Content, Option<&'a str>)>,
    is_foreign: bool,
    losses: &mut Losses<'_>,
) -> Vec<String> {
    let mut parts = Vec::new();
    let mut blocks = content.into_iter().peekable();
    while let Some((block, raw)) = blocks.next() {
        if let Some(raw) = raw {
            let raw = one_line(raw);
            parts.push(if raw.starts_with('"') { format!(r#"{{"text":{raw}}}"#) } else { raw.into_owned() });
            continue;
        }
        let mut next = || blocks.next_if(|(next, _)| is_beside(next)).map(|(next, _)| next);
        match block {
            Content::Text { text } => {
                let beside: Vec<&Content> = std::iter::from_fn(next).collect();
                if text.is_empty() && beside.is_empty() {
                    losses.note("empty words".to_owned());
                }
                words(text, &beside, &mut parts);
            }
            Content::ToolCall(call) => {
                let part = call_part(call, next(), is_foreign, losses);
                parts.push(part);
            }
            other => parts.extend(encode(other, is_foreign, losses)),
        }
    }
    parts
}

fn is_beside(content: &Content) -> bool {
    matches!(content, Content::Opaque { wire, json } if wire == WIRE
        && (json.starts_with("{\"textBytes\"") || json.starts_with("{\"besideCall\"")))
}

/// Writes words as the parts that they were in: those with something beside them apart.
fn words(text: &str, beside: &[&Content], parts: &mut Vec<String>) {
    let mut from = 0;
    let plain = |text: &str| (!text.is_empty()).then(|| format!(r#"{{"text":{}}}"#, quote(text)));
    for block in beside {
        let Content::Opaque { json, .. } = block else { continue };
        let Ok(BesideText { range: (start, end), members }) = serde_json::from_str(json) else { continue };
        // Words that were changed since have lost what stood beside them.
        let (Some(before), Some(within)) = (text.get(from..start), text.get(start..end)) else { continue };
        parts.extend(plain(before));
        parts.push(with(format!(r#"{{"text":{}}}"#, quote(within)), &members));
        from = end;
    }
    let rest = text.get(from..).unwrap_or_default();
    parts.extend(plain(rest));
}

/// Adds members to an object that has some.
fn with(mut part: String, members: &Members<'_>) -> String {
    for (name, value) in members {
        part.pop();
        part.push_str(&format!(",{}:{}}}", quote(name), one_line(value.get())));
    }
    part
}

fn call_part(call: &ToolCall, beside: Option<&Content>, is_foreign: bool, losses: &mut Losses<'_>) -> String {
    let signature = call.signature.as_deref().filter(|text| !text.is_empty());
    if is_foreign && signature.is_some() {
        losses.note(format!("the signature of call {:?}, which is of another wire", call.id));
    }
    let function = object(&[
        ("id", Some(quote(&call.id)).filter(|_| !call.id.is_empty())),
        ("name", Some(quote(&call.name))),
        ("args", arguments(call, losses)),
    ]);
    let part = object(&[
        ("functionCall", Some(function)),
        ("thoughtSignature", signature.filter(|_| !is_foreign).map(quote)),
    ]);
    match beside {
        Some(Content::Opaque { json, .. }) => match serde_json::from_str::<BesideCall<'_>>(json) {
            Ok(beside) => with(part, &beside.members),
            Err(_) => part,
        },
        _ => part,
    }
}

/// Writes the arguments of a call, which must be an object here.
fn arguments(call: &ToolCall, losses: &mut Losses<'_>) -> Option<String> {
    let text = call.arguments.trim();
    if text.is_empty() {
        return None;
    }
    match Fields::parse(text) {
        Ok(_) => {
            let line = one_line(text);
            if line.len() < call.arguments.len() {
                losses.note(format!("the white space around the arguments of call {:?}", call.id));
            }
            Some(line.into_owned())
        }
        Err(_) => {
            losses.note(format!("that the arguments of call {:?} are no JSON object", call.id));
            Some(object(&[("arguments", Some(quote(&call.arguments)))]))
        }
    }
}

/// Writes a block that is neither words nor a call nor a result.
fn encode(content: &Content, is_foreign: bool, losses: &mut Losses<'_>) -> Option<String> {
    match content {
        Content::Thinking { text, signature } => {
            let signature = signature.as_deref().filter(|text| !text.is_empty());
            if is_foreign && signature.is_some() {
                losses.note("the signature of its reasoning, which is of another wire".to_owned());
            }
            let signature = signature.filter(|_| !is_foreign);
            if text.is_empty() && signature.is_none() {
                losses.note("empty reasoning".to_owned());
                return None;
            }
            Some(object(&[
                ("text", Some(quote(text))),
                ("thought", Some("true".to_owned())),
                ("thoughtSignature", signature.map(quote)),
            ]))
        }
        Content::Image(media) | Content::Document(media) => Some(media_part(media)),
        Content::Opaque { wire, json } if wire == WIRE && Fields::parse(json).is_ok() => {
            (!is_beside(content)).then(|| one_line(json).into_owned())
        }
        Content::RedactedThinking { .. } => {
            losses.note("reasoning that its provider encrypted".to_owned());
            None
        }
        Content::ServerCall { .. } | Content::ServerResult { .. } => {
            losses.note("what a tool of the provider was asked or said".to_owned());
            None
        }
        Content::Opaque { wire, .. } => {
            losses.note(format!("a block that only {wire} understands"));
            None
        }
        Content::Text { .. } | Content::ToolCall(_) | Content::ToolResult(_) => None,
    }
}

fn media_part(media: &Media) -> String {
    let kind = ("mimeType", Some(quote(&media.media_type)));
    match &media.source {
        MediaSource::Base64(data) => {
            object(&[("inlineData", Some(object(&[kind, ("data", Some(quote(data)))])))])
        }
        MediaSource::Url(uri) => {
            object(&[("fileData", Some(object(&[kind, ("fileUri", Some(quote(uri)))])))])
        }
    }
}

/// Writes a result: its first words as what the function gave, and all else beside it.
pub(super) fn result_parts(result: &ToolResult, name: &str, losses: &mut Losses<'_>) -> Vec<String> {
    let (first, rest) = match result.content.split_first() {
        Some((Part::Text { text }, rest)) if !text.is_empty() => (text.as_str(), rest),
        _ => ("", result.content.as_slice()),
    };
    let key = if result.is_error { "error" } else { "output" };
    let function = object(&[
        ("id", Some(quote(&result.call_id))),
        ("name", Some(quote(name))),
        ("response", Some(object(&[(key, Some(quote(first)))]))),
    ]);
    let mut parts = vec![object(&[("functionResponse", Some(function))])];
    for part in rest {
        match part {
            Part::Text { text } => parts.push(object(&[("text", Some(quote(text)))])),
            Part::Image(media) | Part::Document(media) => parts.push(media_part(media)),
            Part::Opaque { wire, json } if wire == WIRE && Fields::parse(json).is_ok() => {
                parts.push(one_line(json).into_owned());
            }
            Part::Opaque { wire, .. } => losses.note(format!(
                "a part of the result of call {:?} that only {wire} understands",
                result.call_id
            )),
        }
    }
    parts
}
