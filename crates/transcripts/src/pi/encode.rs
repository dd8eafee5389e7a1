//! Our blocks to those of a record.

use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, StopReason, ToolCall, ToolResult, Usage,
};

use super::{REASONING, REDACTED, UNKNOWN, WIRE};
use crate::json::{Fields, object, quote};
use crate::source::{Losses, Reuse};

/// Writes the blocks of a message, each as it was read where it was not changed; results stand in records of their own.
pub(super) fn blocks(message: &Message, reuse: &mut Reuse<'_>, losses: &mut Losses<'_>) -> Vec<String> {
    let others = message.content.iter().filter(|block| block.as_result().is_none());
    let one = |block: &Content| {
        if let Some(what) = unfit(block, message.role) {
            losses.note(what);
            return None;
        }
        // A block that oh-my-pi wraps into other words has no bytes that could stand here.
        let raw = reuse.take(block).map(|raw| raw.block());
        raw.filter(|raw| raw.starts_with('{')).or_else(|| encode(block, message, losses))
    };
    others.filter_map(one).collect()
}

/// Says what has no place in a message of a role.
fn unfit(block: &Content, role: Role) -> Option<String> {
    let what = match block {
        Content::Text { .. } | Content::ToolResult(_) => return None,
        Content::Thinking { .. } | Content::RedactedThinking { .. } | Content::ToolCall(_)
            if role == Role::Assistant =>
        {
            return None;
        }
        Content::Image(Media { source: MediaSource::Base64(_), .. })
            if matches!(role, Role::User | Role::Tool) =>
        {
            return None;
        }
        Content::Opaque { wire, json } if wire == WIRE && Fields::parse(json).is_ok() => return None,
        Content::Thinking { .. } | Content::RedactedThinking { .. } => {
            "reasoning of another than the model".to_owned()
        }
        Content::ToolCall(call) => format!("call {:?} of another than the model", call.id),
        Content::Image(Media { source: MediaSource::Url(url), .. }) if role != Role::Assistant => {
            format!("a picture at an address: {url:?}")
        }
        Content::Image(_) => "a picture in words of the model or in instructions".to_owned(),
        Content::Document(_) => "a document".to_owned(),
        Content::ServerCall { id, .. } => format!("server call {id:?}"),
        Content::ServerResult { call_id, .. } => format!("the result of server call {call_id:?}"),
        Content::Opaque { wire, .. } => format!("a block that only {wire} understands"),
    };
    Some(what)
}

fn encode(block: &Content, message: &Message, losses: &mut Losses<'_>) -> Option<String> {
    Some(match block {
        Content::Text { text } => words(text),
        Content::Thinking { text, signature } => {
            let is_open = message.origin.as_ref().is_some_and(|origin| origin.provider == "openai-chat");
            let field = || is_open.then(|| REASONING[0].to_owned());
            let signature = signature.clone().or_else(field).map(|signature| quote(&signature));
            typed("thinking", &[("thinking", Some(quote(text))), ("thinkingSignature", signature)])
        }
        Content::RedactedThinking { data } => {
            let (text, data) = (Some(quote(REDACTED)), Some(quote(data)));
            let redacted = Some("true".to_owned());
            typed("thinking", &[("thinking", text), ("thinkingSignature", data), ("redacted", redacted)])
        }
        Content::Image(media) => picture(media)?,
        Content::ToolCall(call) => tool_call(call, losses),
        Content::Opaque { json, .. } => json.clone(),
        Content::Document(_)
        | Content::ToolResult(_)
        | Content::ServerCall { .. }
        | Content::ServerResult { .. } => return None,
    })
}

fn typed(kind: &str, fields: &[(&str, Option<String>)]) -> String {
    let mut all = vec![("type", Some(quote(kind)))];
    all.extend_from_slice(fields);
    object(&all)
}

/// Writes words as a block.
fn words(text: &str) -> String {
    typed("text", &[("text", Some(quote(text)))])
}

fn picture(media: &Media) -> Option<String> {
    let MediaSource::Base64(data) = &media.source else { return None };
    Some(typed("image", &[("data", Some(quote(data))), ("mimeType", Some(quote(&media.media_type)))]))
}

fn tool_call(call: &ToolCall, losses: &mut Losses<'_>) -> String {
    let arguments = match call.arguments.trim() {
        "" => "{}".to_owned(),
        arguments if Fields::parse(arguments).is_ok() => arguments.to_owned(),
        arguments => {
            let what = "are no JSON object; they became a string in one";
            losses.note(format!("the arguments of call {:?} {what}", call.id));
            object(&[("arguments", Some(quote(arguments)))])
        }
    };
    let fields = [
        ("id", Some(quote(&call.id))),
        ("name", Some(quote(&call.name))),
        ("arguments", Some(arguments)),
        ("thoughtSignature", call.signature.as_deref().map(quote)),
    ];
    typed("toolCall", &fields)
}

/// Writes what a tool returned.
pub(super) fn parts(result: &ToolResult, losses: &mut Losses<'_>) -> String {
    let mut parts = Vec::new();
    for part in &result.content {
        let lost = match part {
            Part::Text { text } => {
                parts.push(words(text));
                continue;
            }
            Part::Image(media) => match picture(media) {
                Some(picture) => {
                    parts.push(picture);
                    continue;
                }
                None => "the address of a picture".to_owned(),
            },
            Part::Document(_) => "the document".to_owned(),
            Part::Opaque { wire, json } if wire == WIRE && Fields::parse(json).is_ok() => {
                parts.push(json.clone());
                continue;
            }
            Part::Opaque { wire, .. } => format!("a part that only {wire} understands"),
        };
        losses.note(format!("{lost} in the result of call {:?}", result.call_id));
    }
    format!("[{}]", parts.join(","))
}

/// Writes what a request cost; what it cost in money is not known.
pub(super) fn usage(usage: &Usage) -> String {
    let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
    let number = |number: u64| Some(number.to_string());
    let zero = || number(0);
    let cost = [
        ("input", zero()),
        ("output", zero()),
        ("cacheRead", zero()),
        ("cacheWrite", zero()),
        ("total", zero()),
    ];
    object(&[
        ("input", number(usage.input_tokens.saturating_sub(cached))),
        ("output", number(usage.output_tokens)),
        ("cacheRead", number(usage.cache_read_tokens)),
        ("cacheWrite", number(usage.cache_write_tokens)),
        ("reasoning", number(usage.reasoning_tokens).filter(|_| usage.reasoning_tokens > 0)),
        ("totalTokens", number(usage.input_tokens.max(cached).saturating_add(usage.output_tokens))),
        ("cost", Some(object(&cost))),
    ])
}

/// Returns API, provider and model of a message, as JSON.
pub(super) fn origin(message: &Message, losses: &mut Losses<'_>) -> [(&'static str, Option<String>); 3] {
    let (api, provider, model) = match &message.origin {
        None => ("openai-completions", UNKNOWN, UNKNOWN),
        Some(origin) => {
            let (api, provider) = match origin.provider.as_str() {
                "anthropic" => ("anthropic-messages", "anthropic"),
                "openai-responses" => ("openai-responses", "openai"),
                "gemini" => ("google-generative-ai", "google"),
                "openai-chat" => ("openai-completions", "openai"),
                other => {
                    losses.note(format!("that the model was asked over the wire {other:?}"));
                    ("openai-completions", other)
                }
            };
            (api, provider, origin.model.as_str())
        }
    };
    [("api", Some(quote(api))), ("provider", Some(quote(provider))), ("model", Some(quote(model)))]
}

/// Returns why the model stopped: the client's word, and the provider's where it says more.
///
/// The client sends no answer that was cut off; if a call in it is answered, the results would stand alone.
pub(super) fn stop(
    message: &Message,
    is_answered: bool,
    losses: &mut Losses<'_>,
) -> (&'static str, Option<&'static str>) {
    let calls = message.calls().next().is_some();
    let done = if calls { "toolUse" } else { "stop" };
    match &message.stop {
        // The client wants a word; an empty one beside it tells that there was none.
        None => (done, Some("")),
        Some(StopReason::EndTurn) => ("stop", None),
        Some(StopReason::ToolUse) => ("toolUse", None),
        Some(StopReason::MaxTokens) => ("length", None),
        Some(StopReason::StopSequence) => ("stop", Some("stop_sequence")),
        Some(StopReason::Refusal) => ("error", Some("refusal")),
        Some(StopReason::ContextWindow) => ("length", Some("model_context_window_exceeded")),
        Some(StopReason::Pause) => ("stop", Some("pause_turn")),
        Some(StopReason::Cancelled | StopReason::Cut) if is_answered => {
            losses.note("that the answer was cut off, since its calls are answered".to_owned());
            (done, None)
        }
        Some(StopReason::Cancelled) => ("aborted", None),
        Some(StopReason::Cut) => ("error", None),
        Some(StopReason::Other(other)) => {
            losses.note(format!("why the model stopped: {other:?}"));
            (done, Some(""))
        }
        Some(_) => {
            losses.note("why the model stopped".to_owned());
            (done, Some(""))
        }
    }
}
