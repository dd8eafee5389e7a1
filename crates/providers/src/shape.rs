//! What every wire demands of a history: who may say what, and that calls and results stand together.
//!
//! Written apart from the crate that repairs histories, on purpose: two opinions that must agree. Pairing goes by
//! place, never by a set of all ids, because ids come again in long sessions.

use std::collections::HashMap;

use serde_json::value::RawValue;
use trunkline_message_tree::{Content, Message, MessageList, Messages, Role, ToolCall, ToolChoice};

use crate::history::Round;
use crate::{EncodeError, Place, Request};

/// Splits the leading system messages off.
pub(crate) fn split_system(messages: &MessageList) -> (Messages<'_>, Messages<'_>) {
    let lead = messages.iter().take_while(|message| message.role == Role::System).count();
    (messages.range(..lead), messages.range(lead..))
}

/// Whether a leading system message says nothing, as the root of a session without instructions does.
pub(crate) fn is_silent(message: &Message) -> bool {
    message.content.iter().all(|content| matches!(content, Content::Text { text } if text.trim().is_empty()))
}

/// Checks the roles and the pairs of one round.
pub(crate) fn check_round(round: Round<'_>, after: After) -> Result<(), EncodeError> {
    round.places().try_for_each(|(node, message)| check_roles(message, node, round.leads))?;
    match after {
        After::Message | After::MessageAndInstructions | After::Turn => check_pairing(round, after),
        After::Anywhere | After::Kept => Ok(()),
    }
}

/// Whether a round answers all of its calls, and nothing else.
pub(crate) fn is_paired(round: Round<'_>) -> bool {
    check_pairing(round, After::Turn).is_ok()
}

/// Checks that each call of a whole conversation is answered once, however late; an id may come again after that.
pub(crate) fn check_late_pairing(messages: &MessageList) -> Result<(), EncodeError> {
    // Each call with whether it was answered; of those with the same id the newest.
    let mut calls: HashMap<&str, (Place, bool)> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        let node = Place::of(index, message);
        let mut other_block = false;
        for content in &message.content {
            let Content::ToolResult(result) = content else {
                other_block = true;
                continue;
            };
            let call = result.call_id.clone();
            match calls.get_mut(result.call_id.as_str()) {
                _ if other_block => return Err(EncodeError::ResultsNotFirst { node }),
                None => return Err(EncodeError::OrphanResult { call, node }),
                Some((_, true)) => return Err(EncodeError::DuplicateResult { call, node }),
                Some((_, answered)) => *answered = true,
            }
        }
        for call in message.calls() {
            if matches!(calls.insert(&call.id, (node, false)), Some((_, false))) {
                return Err(EncodeError::DuplicateCall { call: call.id.clone(), node });
            }
        }
    }
    let open = calls.into_iter().filter(|(_, (_, answered))| !answered);
    match open.min_by_key(|(_, (node, _))| node.index) {
        Some((call, (node, _))) => Err(EncodeError::UnansweredCall { call: call.to_owned(), node }),
        None => Ok(()),
    }
}

/// Checks that each block is in a message of a role that can have it.
fn check_roles(message: &Message, node: Place, leads: bool) -> Result<(), EncodeError> {
    if message.content.is_empty() && !leads {
        return Err(EncodeError::EmptyMessage { node });
    }
    for content in &message.content {
        let fits = match content {
            Content::Text { .. } => message.role != Role::Tool,
            Content::ToolResult(_) => matches!(message.role, Role::Tool | Role::User),
            Content::Image(_) | Content::Document(_) => message.role == Role::User,
            Content::Thinking { .. }
            | Content::RedactedThinking { .. }
            | Content::ToolCall(_)
            | Content::ServerCall { .. }
            | Content::ServerResult { .. } => message.role == Role::Assistant,
            // Late instructions may bring tools along or take them away; wires that do not know such blocks say so.
            Content::Opaque { .. } => message.role != Role::Tool,
        };
        if !fits {
            return Err(EncodeError::Misplaced { block: name_of(content), node });
        }
    }
    Ok(())
}

/// After what a wire looks for results.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum After {
    /// Each message that calls.
    Message,
    /// The same, and instructions in between part nobody's turn.
    MessageAndInstructions,
    /// All that the assistant says in a row.
    Turn,
    /// Anything: a result may come late, as long as it comes.
    Anywhere,
    /// What the service itself keeps of the conversation: nobody else can see what is answered.
    Kept,
}

/// Checks that each call is answered once, directly after its message or turn, and that nothing else is answered.
fn check_pairing(round: Round<'_>, after: After) -> Result<(), EncodeError> {
    // The calls of the assistant message whose results are due, with whether each was answered.
    let mut due: Vec<(&str, bool)> = Vec::new();
    let mut caller: Option<Place> = None;
    let mut speaker = None;
    for (node, message) in round.places() {
        let mut other_block = false;
        for content in &message.content {
            match content {
                Content::ToolResult(_) if other_block => return Err(EncodeError::ResultsNotFirst { node }),
                Content::ToolResult(result) => {
                    let call = result.call_id.clone();
                    match due.iter_mut().find(|(id, _)| *id == result.call_id) {
                        None => return Err(EncodeError::OrphanResult { call, node }),
                        Some((_, true)) => return Err(EncodeError::DuplicateResult { call, node }),
                        Some((_, answered)) => *answered = true,
                    }
                }
                _ => other_block = true,
            }
        }
        let instructs = message.role == Role::System && due.iter().any(|(_, answered)| !answered);
        if instructs && after == After::MessageAndInstructions {
            continue;
        }
        // A user message is the last one that can hold results; tool messages come in runs.
        if other_block || message.role == Role::User {
            let goes_on = message.role == Role::Assistant && speaker == Some(Role::Assistant);
            if !(goes_on && after == After::Turn) {
                settle(&due, caller)?;
                due.clear();
            }
            for call in message.calls() {
                if due.iter().any(|(id, _)| *id == call.id) {
                    return Err(EncodeError::DuplicateCall { call: call.id.clone(), node });
                }
                due.push((&call.id, false));
            }
            caller = Some(node);
        }
        speaker = Some(message.role);
    }
    settle(&due, caller)
}

fn settle(due: &[(&str, bool)], caller: Option<Place>) -> Result<(), EncodeError> {
    match (due.iter().find(|(_, answered)| !answered), caller) {
        (Some((call, _)), Some(node)) => Err(EncodeError::UnansweredCall { call: (*call).to_owned(), node }),
        _ => Ok(()),
    }
}

/// Whether a name has letters, digits, `_` and `-` only, and no more than so many of them.
pub(crate) fn is_word(name: &str, most: usize) -> bool {
    (1..=most).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Checks what is offered and what is demanded of it. `takes_name` says which names of tools the wire takes.
pub(crate) fn check_tools(
    request: &Request,
    wire: &'static str,
    takes_name: impl Fn(&str) -> bool,
) -> Result<(), EncodeError> {
    for tool in &request.tools {
        if !takes_name(&tool.name) {
            return Err(EncodeError::OfferedName { name: tool.name.clone() });
        }
        // Anthropic refuses any other root; the rest would only fail later (read 2026-11).
        if tool.input_schema.get("type").and_then(serde_json::Value::as_str) != Some("object") {
            return Err(EncodeError::Schema { name: tool.name.clone() });
        }
    }
    let is_offered = |name: &String| {
        let theirs =
            |tool: &serde_json::Value| tool.get("name").and_then(|name| name.as_str().map(str::to_owned));
        request.tools.iter().any(|tool| tool.name == *name)
            || request.provider_tools.iter().any(|tool| theirs(tool).as_ref() == Some(name))
    };
    match &request.tool_choice {
        ToolChoice::Named(name) if !is_offered(name) => Err(EncodeError::NoSuchTool { name: name.clone() }),
        ToolChoice::Any if !request.offers_tools() => {
            Err(EncodeError::Unsupported { wire, what: "a forced tool choice without tools" })
        }
        _ => Ok(()),
    }
}

/// Returns the arguments as every wire wants them: the model's bytes, or `{}` if it wrote none.
pub(crate) fn arguments(call: &ToolCall, node: Place) -> Result<&RawValue, EncodeError> {
    let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.trim() };
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if raw.get().starts_with('{') => Ok(raw),
        _ => Err(EncodeError::ArgumentsNotObject { call: call.id.clone(), node }),
    }
}

/// Returns a block that is carried as it came, if it is a JSON object.
pub(crate) fn raw<'a>(json: &'a str, wire: &'static str, node: Place) -> Result<&'a RawValue, EncodeError> {
    match serde_json::from_str::<&RawValue>(json) {
        Ok(raw) if raw.get().starts_with('{') => Ok(raw),
        _ => Err(EncodeError::ForeignBlock { wire, node }),
    }
}

/// Returns what a block is called in errors.
pub(crate) fn name_of(content: &Content) -> &'static str {
    match content {
        Content::Text { .. } => "text",
        Content::Thinking { .. } => "reasoning",
        Content::RedactedThinking { .. } => "encrypted reasoning",
        Content::Image(_) => "an image",
        Content::Document(_) => "a document",
        Content::ToolCall(_) => "a call",
        Content::ToolResult(_) => "a result",
        Content::ServerCall { .. } => "a call of the provider's own tool",
        Content::ServerResult { .. } => "a result of the provider's own tool",
        Content::Opaque { .. } => "a raw block",
    }
}

/// Appends a value as JSON.
pub(crate) fn write(bytes: &mut Vec<u8>, value: &impl serde::Serialize) -> Result<(), EncodeError> {
    serde_json::to_writer(bytes, value).map_err(|fault| EncodeError::Json { reason: fault.to_string() })
}

/// Returns what is said to a model whose choice cannot be forced, as a JSON string.
pub(crate) fn demand(choice: &ToolChoice) -> String {
    let words = match choice {
        ToolChoice::Auto => String::new(),
        ToolChoice::None => "Answer in words; do not call a tool.".to_owned(),
        ToolChoice::Any => "Answer with a call of one of the tools, not in words.".to_owned(),
        ToolChoice::Named(name) => format!("Answer with a call of the tool {name}, not in words."),
    };
    serde_json::Value::String(words).to_string()
}

/// Returns a name for a document: services tell by its end what it is.
pub(crate) fn file_name(media_type: &str) -> &'static str {
    match media_type {
        "text/plain" => "document.txt",
        "text/markdown" => "document.md",
        "text/html" => "document.html",
        "text/csv" => "document.csv",
        "application/json" => "document.json",
        "application/msword" => "document.doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "document.docx",
        "application/vnd.ms-excel" => "document.xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "document.xlsx",
        _ => "document.pdf",
    }
}
