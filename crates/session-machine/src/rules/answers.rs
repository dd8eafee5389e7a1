//! What an answer of the model has brought: whether there is anything in it, whether the service ran tools for it, and what it cost.

use serde_json::Value;
use trunkline_message_tree::{Content, Message, MessageList, Part, StopReason, Usage};

/// What models put around reasoning that they write as text (DeepSeek R1, Qwen 3 and their kin; chat templates, 2026-11).
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];
/// What is said of an answer that announced a call and brought none.
pub(crate) const UNREAD_CALL: &str = "it announced a call, and none came that can be read";

/// Tokens of a picture or document, whose size says little of them.
const MEDIA_TOKENS: u64 = 1000;

/// Says of an answer that came to its end whether it brought nothing: no words that can be seen, no call. A refusal is an
/// answer, and one that ran into a limit may go on. Words beside a call that was announced and did not come are none: the
/// model meant to go on.
pub(crate) fn brought_nothing(message: &Message) -> Option<String> {
    if message.calls().next().is_some() {
        return None;
    }
    let announced = match &message.stop {
        Some(
            StopReason::Refusal
            | StopReason::MaxTokens
            | StopReason::ContextWindow
            | StopReason::Pause
            | StopReason::Cancelled
            | StopReason::Cut,
        ) => return None,
        Some(StopReason::ToolUse) => !ran_tools(message),
        Some(StopReason::Other(reason)) => names_a_call(reason),
        _ => false,
    };
    if message.content.iter().any(is_seen) && !announced {
        return None;
    }
    let thought = message.content.iter().any(|block| match block {
        Content::Thinking { .. } | Content::RedactedThinking { .. } => true,
        Content::Opaque { json, .. } => json.contains("reasoning"),
        Content::Text { text } => text.trim_start().starts_with("<think"),
        _ => false,
    });
    let what = match (announced, thought) {
        (true, _) => UNREAD_CALL,
        (false, true) => "there was only reasoning in it",
        (false, false) => "there was nothing in it",
    };
    Some(match &message.stop {
        Some(StopReason::Other(reason)) => format!("{what}; the service says {:?}", cut(reason)),
        _ => what.to_owned(),
    })
}

/// Adds to a reason what the service itself said of the end.
pub(crate) fn remarked(why: String, remark: Option<&str>) -> String {
    match remark {
        Some(words) if !why.contains(words) => format!("{why}; the service says: {}", cut(words)),
        _ => why,
    }
}

/// Whether a reason speaks of a call, as Gemini's `MALFORMED_FUNCTION_CALL` and Bedrock's `malformed_tool_use` do.
fn names_a_call(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["function_call", "tool_call", "tool_use"].iter().any(|word| reason.contains(word))
}

fn cut(reason: &str) -> String {
    reason.chars().take(200).collect()
}

/// Whether somebody who reads an answer sees this block.
fn is_seen(block: &Content) -> bool {
    // White space, and characters that take no room.
    let is_blank = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    match block {
        Content::Text { text } => !after_tagged_reasoning(text).chars().all(is_blank),
        Content::Image(_) | Content::Document(_) => true,
        Content::Opaque { json, .. } => {
            // A picture that the service drew is an answer; reasoning and searches are only the way to one.
            json.contains("\"image_generation_call\"") || json.contains("\"inlineData\"")
        }
        _ => false,
    }
}

/// Returns what stands behind the reasoning that models write as text where no server takes it out, as `<think>…</think>`. What
/// was not closed is reasoning to its end.
fn after_tagged_reasoning(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((tag, end)) = TAGS.iter().find(|(tag, _)| rest.starts_with(tag)) {
        let inside = rest.get(tag.len()..).unwrap_or_default();
        rest = inside.find(end).and_then(|at| inside.get(at + end.len()..)).unwrap_or_default().trim_start();
    }
    rest
}

/// Whether the service ran tools of its own for an answer: asked for again, it would run them again.
pub(crate) fn ran_tools(message: &Message) -> bool {
    message.content.iter().any(|block| match block {
        Content::ServerCall { .. } | Content::ServerResult { .. } => true,
        Content::Opaque { json, .. } => {
            let Ok(Value::Object(block)) = serde_json::from_str(json) else { return false };
            let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
            let named = ["_call", "_tool_use", "_tool_result"].iter().any(|end| kind.ends_with(end));
            named || block.contains_key("executableCode") || block.contains_key("codeExecutionResult")
        }
        _ => false,
    })
}

/// Completes what the service said of the tokens of an answer that was cut, and says whether anything had to be estimated:
/// four bytes each, the usual estimate for English and code.
pub fn completed(said: Option<Usage>, sent: &MessageList, came: &Message) -> (Usage, bool) {
    let mut usage = said.unwrap_or_default();
    let before = usage;
    if usage.input_tokens == 0 {
        usage.input_tokens = sent.iter().map(|message| tokens(message)).fold(0, u64::saturating_add);
    }
    // What was counted before the end says less than what is there.
    usage.output_tokens = usage.output_tokens.max(tokens(came));
    (usage, usage != before)
}

fn tokens(message: &Message) -> u64 {
    let bytes = |text: &str| (text.len() as u64).div_ceil(4);
    let part = |part: &Part| match part {
        Part::Text { text } | Part::Opaque { json: text, .. } => bytes(text),
        Part::Image(_) | Part::Document(_) => MEDIA_TOKENS,
    };
    let block = |block: &Content| match block {
        Content::Text { text } | Content::Thinking { text, .. } => bytes(text),
        Content::RedactedThinking { data } => bytes(data),
        Content::Image(_) | Content::Document(_) => MEDIA_TOKENS,
        Content::ToolCall(call) => bytes(&call.name).saturating_add(bytes(&call.arguments)),
        Content::ToolResult(result) => result.content.iter().map(part).fold(0, u64::saturating_add),
        Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. }
        | Content::Opaque { json, .. } => bytes(json),
    };
    message.content.iter().map(block).fold(0, u64::saturating_add)
}
