//! Our blocks to blocks of JSON.

use serde_json::value::RawValue;
use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, StopReason, ToolCall, ToolResult};

use super::WIRE;
use crate::json::{object, quote};
use crate::source::{Losses, Reuse};

/// Writes the blocks of a message, each as it was read where it was not changed.
pub(crate) fn blocks(message: &Message, reuse: &mut Reuse<'_>, losses: &mut Losses<'_>) -> Vec<String> {
    let one = |content| reuse.take(content).map(|raw| raw.block()).or_else(|| encode(content, losses));
    message.content.iter().filter_map(one).collect()
}

/// Writes one block, or notes that the wire has no place for it.
pub(crate) fn encode(content: &Content, losses: &mut Losses<'_>) -> Option<String> {
    let block = match content {
        Content::Text { text } => typed("text", &[("text", Some(quote(text)))]),
        Content::Thinking { text, signature } => {
            let signature = quote(signature.as_deref().unwrap_or_default());
            typed("thinking", &[("thinking", Some(quote(text))), ("signature", Some(signature))])
        }
        Content::RedactedThinking { data } => typed("redacted_thinking", &[("data", Some(quote(data)))]),
        Content::Image(media) => typed("image", &[("source", Some(source(media)))]),
        Content::Document(media) => typed("document", &[("source", Some(source(media)))]),
        Content::ToolCall(call) => tool_use(call, losses),
        Content::ToolResult(result) => tool_result(result, losses),
        Content::ServerCall { json, .. } | Content::ServerResult { json, .. } => {
            return carried(json, losses);
        }
        Content::Opaque { wire, json } if wire == WIRE => return carried(json, losses),
        Content::Opaque { wire, .. } => {
            losses.note(format!("a block that only {wire} understands"));
            return None;
        }
    };
    Some(block)
}

fn typed(kind: &str, fields: &[(&str, Option<String>)]) -> String {
    let mut all = vec![("type", Some(quote(kind)))];
    all.extend_from_slice(fields);
    object(&all)
}

fn tool_result(result: &ToolResult, losses: &mut Losses<'_>) -> String {
    let content = match result.content.as_slice() {
        [] => None,
        // A string may be empty where a block may not.
        [Part::Text { text }] => Some(quote(text)),
        parts => Some(format!(
            "[{}]",
            parts.iter().filter_map(|one| part(one, losses)).collect::<Vec<_>>().join(",")
        )),
    };
    let fields = [
        ("tool_use_id", Some(quote(&result.call_id))),
        ("content", content),
        ("is_error", result.is_error.then(|| "true".to_owned())),
    ];
    typed("tool_result", &fields)
}

fn tool_use(call: &ToolCall, losses: &mut Losses<'_>) -> String {
    if call.signature.is_some() {
        losses.note(format!("the signature of call {:?}", call.id));
    }
    let input = match call.arguments.trim() {
        "" => "{}".to_owned(),
        arguments if serde_json::from_str::<&RawValue>(arguments).is_ok() => arguments.to_owned(),
        arguments => {
            losses.note(format!("the arguments of call {:?} are not JSON; they became a string", call.id));
            quote(arguments)
        }
    };
    let fields = [("id", Some(quote(&call.id))), ("name", Some(quote(&call.name))), ("input", Some(input))];
    typed("tool_use", &fields)
}

fn carried(json: &str, losses: &mut Losses<'_>) -> Option<String> {
    let whole = serde_json::from_str::<&RawValue>(json).is_ok();
    if !whole {
        losses.note("a carried block that is not JSON".to_owned());
    }
    whole.then(|| json.to_owned())
}

fn part(part: &Part, losses: &mut Losses<'_>) -> Option<String> {
    Some(match part {
        Part::Text { text } => typed("text", &[("text", Some(quote(text)))]),
        Part::Image(media) => typed("image", &[("source", Some(source(media)))]),
        Part::Document(media) => typed("document", &[("source", Some(source(media)))]),
        Part::Opaque { wire, json } if wire == WIRE => return carried(json, losses),
        Part::Opaque { wire, .. } => {
            losses.note(format!("a part that only {wire} understands"));
            return None;
        }
    })
}

fn source(media: &Media) -> String {
    match &media.source {
        MediaSource::Base64(data) => {
            typed("base64", &[("media_type", Some(quote(&media.media_type))), ("data", Some(quote(data)))])
        }
        MediaSource::Url(url) => typed("url", &[("url", Some(quote(url)))]),
    }
}

/// Writes why the model stopped.
pub(crate) fn stop_word(stop: &StopReason) -> Option<&str> {
    match stop {
        StopReason::EndTurn => Some("end_turn"),
        StopReason::ToolUse => Some("tool_use"),
        StopReason::MaxTokens => Some("max_tokens"),
        StopReason::StopSequence => Some("stop_sequence"),
        StopReason::Refusal => Some("refusal"),
        StopReason::ContextWindow => Some("model_context_window_exceeded"),
        StopReason::Pause => Some("pause_turn"),
        StopReason::Other(word) => Some(word),
        // Our own words for a message that never got one, and whatever else comes.
        _ => None,
    }
}
