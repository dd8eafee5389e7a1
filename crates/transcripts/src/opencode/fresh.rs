//! New ids, and new parts of a message.

use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, Timestamp, ToolCall, ToolResult};

use super::word::WIRE;
use crate::json::{Fields, object, quote};
use crate::source::{Losses, words};

/// The fields of a part beside its ids, as JSON.
pub(super) type Made = Vec<(&'static str, Option<String>)>;

/// Ids that follow from the session's own: the same call gives the same file.
#[derive(Debug)]
pub(super) struct Ids {
    seed: String,
    serial: u64,
}

impl Ids {
    /// Begins with what all of them follow from.
    pub(super) fn new(seed: &str) -> Self {
        Ids { seed: seed.to_owned(), serial: 0 }
    }

    /// Returns the next id. The client sorts by them, and those that it makes later are greater: it writes the time
    /// where here a small number stands.
    pub(super) fn next(&mut self, kind: &str) -> String {
        self.serial += 1;
        id(kind, self.serial, &self.seed)
    }
}

/// Returns the id of the session: the one that is asked for, if the client takes it.
pub(super) fn session_id(asked: &str) -> String {
    if asked.starts_with("ses_") {
        return asked.to_owned();
    }
    let [high, _] = hashes(asked, 0);
    id("ses", high >> 16, asked)
}

/// Makes an id as the client does: a kind, twelve hexadecimal digits and fourteen letters or digits.
fn id(kind: &str, number: u64, seed: &str) -> String {
    const SIGNS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let [high, low] = hashes(seed, number);
    let mut rest = (u128::from(high) << 64) | u128::from(low);
    let mut text = format!("{kind}_{:012x}", number & 0xffff_ffff_ffff);
    for _ in 0..14 {
        let sign = usize::try_from(rest % 62).ok().and_then(|place| SIGNS.get(place));
        text.push(sign.map_or('0', |sign| char::from(*sign)));
        rest /= 62;
    }
    text
}

/// FNV-1a, twice from different beginnings: it need not resist anybody, only differ.
fn hashes(seed: &str, number: u64) -> [u64; 2] {
    [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142].map(|begin: u64| {
        let bytes = seed.bytes().chain(number.to_le_bytes());
        bytes.fold(begin, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

/// Writes a span of time that has no length.
pub(super) fn span(at: Timestamp) -> String {
    object(&[("start", Some(at.0.to_string())), ("end", Some(at.0.to_string()))])
}

/// Makes the part for a block of a prompt.
pub(super) fn of_prompt(block: &Content, is_put_in: bool, losses: &mut Losses<'_>) -> Option<Made> {
    match block {
        Content::Text { text } if text.is_empty() => {
            losses.note("an empty text".to_owned());
            None
        }
        Content::Text { text } => Some(vec![
            ("type", Some(quote("text"))),
            ("text", Some(quote(text))),
            ("synthetic", is_put_in.then(|| "true".to_owned())),
        ]),
        Content::Image(media) => file(media, losses),
        Content::Document(media)
            if matches!(media.media_type.as_str(), "text/plain" | "application/x-directory") =>
        {
            losses.note(format!(
                "a document of type {}, which the client sends as words only",
                media.media_type
            ));
            None
        }
        Content::Document(media) => file(media, losses),
        other => foreign(other, losses),
    }
}

/// Makes the part for a block of an answer; calls are made elsewhere.
pub(super) fn of_answer(
    block: &Content,
    message: &Message,
    provider: &str,
    at: Timestamp,
    losses: &mut Losses<'_>,
) -> Option<Made> {
    let thought = |text: &str, metadata: Option<String>| {
        vec![
            ("type", Some(quote("reasoning"))),
            ("text", Some(quote(text))),
            ("metadata", metadata),
            ("time", Some(span(at))),
        ]
    };
    match block {
        Content::Text { text } => Some(vec![("type", Some(quote("text"))), ("text", Some(quote(text)))]),
        Content::Thinking { text, signature } => {
            let wire = message.origin.as_ref().map_or("", |origin| origin.provider.as_str());
            let (name, field) = match wire {
                "openai-responses" => ("openai", "reasoningEncryptedContent"),
                "gemini" => ("google", "thoughtSignature"),
                "anthropic" if provider.contains("bedrock") => ("bedrock", "signature"),
                "anthropic" => ("anthropic", "signature"),
                _ => (provider, "signature"),
            };
            let proof =
                |signature: &String| object(&[(name, Some(object(&[(field, Some(quote(signature)))])))]);
            Some(thought(text, signature.as_ref().map(proof)))
        }
        Content::RedactedThinking { data } => {
            let proof = object(&[("redactedData", Some(quote(data)))]);
            Some(thought("", Some(object(&[("anthropic", Some(proof))]))))
        }
        Content::Image(_) => {
            losses.note("the image in an answer".to_owned());
            None
        }
        Content::Document(_) => {
            losses.note("the document in an answer".to_owned());
            None
        }
        other => foreign(other, losses),
    }
}

/// Makes the part for a block that is the client's own; others have no place.
fn foreign(block: &Content, losses: &mut Losses<'_>) -> Option<Made> {
    let lost = match block {
        Content::Opaque { wire, json } if wire == WIRE => {
            let part = Fields::parse(json).ok();
            return match part.filter(|part| part.text("type").is_some()) {
                // Its fields are written as they are; the caller puts the ids in place.
                Some(_) => Some(vec![("", Some(json.clone()))]),
                None => {
                    losses.note("a part without a type".to_owned());
                    None
                }
            };
        }
        Content::Opaque { wire, .. } => format!("a block that only {wire} understands"),
        Content::ServerCall { id, .. } => format!("server call {id:?}"),
        Content::ServerResult { call_id, .. } => format!("the result of server call {call_id:?}"),
        Content::ToolCall(call) => format!("the call {:?}, which no model made", call.id),
        Content::Thinking { .. } | Content::RedactedThinking { .. } => "reasoning of no model".to_owned(),
        Content::Text { .. } | Content::Image(_) | Content::Document(_) | Content::ToolResult(_) => {
            return None;
        }
    };
    losses.note(lost);
    None
}

/// Makes a part of bytes or their address.
fn file(media: &Media, losses: &mut Losses<'_>) -> Option<Made> {
    let Media { media_type, source } = media;
    let url = match source {
        MediaSource::Base64(data) => format!("data:{media_type};base64,{data}"),
        MediaSource::Url(url) if url.starts_with("http://") || url.starts_with("https://") => url.clone(),
        MediaSource::Url(_) => {
            losses.note(format!("a {media_type} at an address that is not one of the web"));
            return None;
        }
    };
    Some(vec![("type", Some(quote("file"))), ("mime", Some(quote(media_type))), ("url", Some(quote(&url)))])
}

/// Makes what became of a call; `finish` makes a part of an attachment.
pub(super) fn state(
    call: &ToolCall,
    result: Option<&ToolResult>,
    at: Timestamp,
    losses: &mut Losses<'_>,
    finish: impl FnMut(Made) -> String,
) -> String {
    let is_object = Fields::parse(&call.arguments).is_ok();
    let input = if is_object { call.arguments.clone() } else { "{}".to_owned() };
    let is_lost = !is_object && !call.arguments.trim().is_empty();
    let Some(result) = result else {
        if !is_object {
            return object(&[
                ("status", Some(quote("pending"))),
                ("input", Some(input)),
                ("raw", Some(quote(&call.arguments))),
            ]);
        }
        let start = object(&[("start", Some(at.0.to_string()))]);
        return object(&[("status", Some(quote("running"))), ("input", Some(input)), ("time", Some(start))]);
    };
    if is_lost {
        losses.note(arguments_lost(call));
    }
    let (output, attachments) = output(result, losses, finish);
    let time = ("time", Some(span(at)));
    if result.is_error {
        let error = ("error", Some(output));
        return object(&[("status", Some(quote("error"))), ("input", Some(input)), error, time]);
    }
    object(&[
        ("status", Some(quote("completed"))),
        ("input", Some(input)),
        ("output", Some(output)),
        ("title", Some(quote(""))),
        ("metadata", Some("{}".to_owned())),
        time,
        ("attachments", (!attachments.is_empty()).then(|| format!("[{}]", attachments.join(",")))),
    ])
}

/// Says that arguments found no place.
pub(super) fn arguments_lost(call: &ToolCall) -> String {
    const MOST: usize = 100;
    let arguments: String = call.arguments.chars().take(MOST).collect();
    format!("the arguments of call {:?}, which are no object: {arguments:?}", call.id)
}

/// Writes the words of a result as one text, and makes parts of the rest.
fn output(
    result: &ToolResult,
    losses: &mut Losses<'_>,
    mut finish: impl FnMut(Made) -> String,
) -> (String, Vec<String>) {
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    let id = &result.call_id;
    for part in &result.content {
        let (made, what) = match part {
            Part::Text { text } => {
                if !attachments.is_empty() {
                    losses.note(format!("the order of words and attachments in the result of call {id:?}"));
                }
                texts.push(text.as_str());
                continue;
            }
            _ if result.is_error => (None, "what is no text in the failed".to_owned()),
            Part::Image(media) | Part::Document(media) => match file(media, losses) {
                Some(made) => (Some(made), String::new()),
                None => continue,
            },
            Part::Opaque { wire, json } if wire == WIRE && Fields::parse(json).is_ok() => {
                attachments.push(json.clone());
                continue;
            }
            Part::Opaque { wire, .. } => (None, format!("a part that only {wire} understands in the")),
        };
        match made {
            Some(made) => attachments.push(finish(made)),
            None => losses.note(format!("{what} result of call {id:?}")),
        }
    }
    (words(&texts), attachments)
}
