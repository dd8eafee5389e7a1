//! Our request to the body of a Messages request.

use serde_json::value::RawValue;
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, StopReason, ToolChoice, ToolResult,
};

use super::NAME;
use super::shapes::{
    Block, Body, CacheControl, Choice, Known, Marked, ResultContent, Source, ThinkingSwitch, Tool,
    WireMessage,
};
use crate::{EncodeError, Place, Request, Thinking, shape};

const BREAKPOINT: CacheControl = CacheControl { kind: "ephemeral" };
// "A maximum of 4 blocks with cache_control may be provided. Found 5.", quoted by users in 2026.
const BREAKPOINT_LIMIT: usize = 4;

/// Writes the body, or says what is not legal in it.
pub(super) fn body(request: &Request) -> Result<Vec<u8>, EncodeError> {
    let (system, rest) = shape::split_system(&request.messages);
    shape::check_roles(&request.messages)?;
    shape::check_pairing(&request.messages, shape::After::Message)?;
    shape::check_tools(request, NAME)?;
    check_ends(rest, system.len())?;
    check_thinking(request)?;

    let mut system_blocks = Vec::new();
    for (index, message) in system.iter().enumerate().filter(|(_, message)| !shape::is_silent(message)) {
        for content in &message.content {
            system_blocks.push(block(content, message, Place::of(index, message))?);
        }
    }
    let mut messages = wire_messages(rest, system.len())?;
    let mut tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input_schema,
            cache_control: None,
        })
        .collect();
    if request.cache {
        place_breakpoints(&mut tools, &mut system_blocks, &mut messages);
    }

    let choice = match &request.tool_choice {
        _ if tools.is_empty() => None,
        ToolChoice::Auto => Some(Choice::Auto),
        ToolChoice::None => Some(Choice::None),
        ToolChoice::Any => Some(Choice::Any),
        ToolChoice::Named(name) => Some(Choice::Tool { name }),
    };
    let thinking = match request.thinking {
        Thinking::Off => None,
        Thinking::Budget(budget_tokens) => Some(ThinkingSwitch { kind: "enabled", budget_tokens }),
    };
    // A field of the caller's own replaces ours; two of one name would be refused or, worse, not.
    let ours = |name: &str| !request.extra.contains_key(name);
    let body = Body {
        model: Some(request.model.as_str()).filter(|_| ours("model")),
        max_tokens: Some(request.max_output_tokens).filter(|_| ours("max_tokens")),
        system: Some(system_blocks).filter(|blocks| !blocks.is_empty() && ours("system")),
        tools: Some(tools).filter(|tools| !tools.is_empty() && ours("tools")),
        tool_choice: choice.filter(|_| ours("tool_choice")),
        thinking: thinking.filter(|_| ours("thinking")),
        temperature: request.temperature.filter(|_| ours("temperature")),
        messages: Some(messages).filter(|_| ours("messages")),
        stream: request.stream.then_some(true).filter(|_| ours("stream")),
        extra: &request.extra,
    };
    serde_json::to_vec(&body).map_err(|fault| EncodeError::Json { reason: fault.to_string() })
}

fn check_ends(rest: &[Message], lead: usize) -> Result<(), EncodeError> {
    match rest {
        [] => Err(EncodeError::NoMessages),
        [first, ..] if first.role != Role::User => {
            Err(EncodeError::FirstNotUser { node: Place::of(lead, first) })
        }
        // A turn that the provider paused goes on where it stopped; all else would put words into the model's mouth,
        // which newer models refuse.
        [.., last] if last.role == Role::Assistant && last.stop != Some(StopReason::Pause) => {
            Err(EncodeError::LastIsAssistant { node: Place::of(lead + rest.len() - 1, last) })
        }
        _ => Ok(()),
    }
}

fn check_thinking(request: &Request) -> Result<(), EncodeError> {
    let Thinking::Budget(budget) = request.thinking else { return Ok(()) };
    if matches!(request.tool_choice, ToolChoice::Any | ToolChoice::Named(_)) {
        return Err(EncodeError::Unsupported {
            wire: NAME,
            what: "reasoning together with a forced tool choice",
        });
    }
    if budget >= request.max_output_tokens {
        let max_output_tokens = request.max_output_tokens;
        return Err(EncodeError::ThinkingBudget { budget, max_output_tokens });
    }
    Ok(())
}

/// Groups messages as the wire wants them: results and the user message after them in one.
fn wire_messages(rest: &[Message], lead: usize) -> Result<Vec<WireMessage<'_>>, EncodeError> {
    let mut wire: Vec<WireMessage<'_>> = Vec::with_capacity(rest.len());
    let mut ids = std::collections::HashSet::new();
    let mut after_results = false;
    for (index, message) in rest.iter().enumerate() {
        let node = Place::of(lead + index, message);
        for call in message.calls() {
            // `tool_use` ids must be unique in the whole history: a rule of this wire alone.
            if !ids.insert(call.id.as_str()) {
                return Err(EncodeError::DuplicateCall { call: call.id.clone(), node });
            }
        }
        let mut blocks = Vec::with_capacity(message.content.len());
        for content in &message.content {
            blocks.push(block(content, message, node)?);
        }
        match wire.last_mut() {
            Some(open) if after_results => open.content.extend(blocks),
            _ => wire.push(WireMessage { role: role(message.role), content: blocks }),
        }
        after_results = message.role == Role::Tool && rest.get(index + 1).is_some_and(is_user_side);
    }
    Ok(wire)
}

fn is_user_side(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Tool)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
        // In the middle of the list some newer models take it; the others refuse the role, which says what is wrong.
        Role::System => "system",
    }
}

fn block<'a>(content: &'a Content, message: &Message, node: Place) -> Result<Block<'a>, EncodeError> {
    let known = match content {
        // White space beside a call was seen to be accepted in recorded requests; the models write it themselves.
        Content::Text { text } if !text.is_empty() && message.calls().next().is_some() => {
            Known::Text { text, cache_control: None }
        }
        Content::Text { text } => text_block(text, node)?,
        Content::Thinking { text, signature: Some(signature) } if !signature.is_empty() => {
            Known::Thinking { thinking: text, signature }
        }
        Content::Thinking { .. } => return Err(EncodeError::UnsignedThinking { node }),
        Content::RedactedThinking { data } => Known::RedactedThinking { data },
        Content::Image(media) => Known::Image { source: source(media), cache_control: None },
        Content::Document(media) => Known::Document { source: source(media), cache_control: None },
        Content::ToolCall(call) => {
            if !is_id(&call.id) {
                return Err(EncodeError::CallId { call: call.id.clone(), node });
            }
            Known::ToolUse { id: &call.id, name: &call.name, input: shape::arguments(call, node)? }
        }
        Content::ToolResult(result) => result_block(result, node)?,
        Content::Opaque { wire, .. } if wire != NAME => {
            return Err(EncodeError::ForeignBlock { wire: NAME, node });
        }
        Content::Opaque { json, .. }
        | Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. } => {
            return Ok(Block::Raw(shape::raw(json, NAME, node)?));
        }
    };
    Ok(Block::Known(known))
}

fn text_block(text: &str, node: Place) -> Result<Known<'_>, EncodeError> {
    if text.trim().is_empty() {
        return Err(EncodeError::BlankText { node });
    }
    Ok(Known::Text { text, cache_control: None })
}

fn result_block(result: &ToolResult, node: Place) -> Result<Known<'_>, EncodeError> {
    let content = match result.content.as_slice() {
        [] => None,
        // A string may be empty where a block may not.
        [Part::Text { text }] => Some(ResultContent::Text(text)),
        parts => {
            let mut blocks = Vec::with_capacity(parts.len());
            for part in parts {
                blocks.push(Block::Known(match part {
                    Part::Text { text } => text_block(text, node)?,
                    Part::Image(media) => Known::Image { source: source(media), cache_control: None },
                    Part::Document(media) => Known::Document { source: source(media), cache_control: None },
                }));
            }
            Some(ResultContent::Blocks(blocks))
        }
    };
    Ok(Known::ToolResult {
        tool_use_id: &result.call_id,
        content,
        is_error: result.is_error,
        cache_control: None,
    })
}

fn source(media: &Media) -> Source<'_> {
    match &media.source {
        MediaSource::Base64(data) => Source::Base64 { media_type: &media.media_type, data },
        MediaSource::Url(url) => Source::Url { url },
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Marks what can be read from the cache next time: the two newest user messages, the instructions, and the tools.
///
/// The newest message is where the next request continues; the one before it is found again if the newest is taken back.
/// Marks that carried blocks have of their own count, and the deepest of ours are kept.
fn place_breakpoints(tools: &mut [Tool<'_>], system: &mut [Block<'_>], messages: &mut [WireMessage<'_>]) {
    let all = system.iter().chain(messages.iter().flat_map(|message| &message.content));
    let carried = all.filter(|block| matches!(block, Block::Raw(raw) if is_marked(raw))).count();
    let mut left = BREAKPOINT_LIMIT.saturating_sub(carried);
    for message in messages.iter_mut().rev().filter(|message| message.role == "user").take(2) {
        mark_last(&mut message.content, &mut left);
    }
    mark_last(system, &mut left);
    if let Some(tool) = tools.last_mut().filter(|_| left > 0) {
        tool.cache_control = Some(BREAKPOINT);
    }
}

fn is_marked(raw: &RawValue) -> bool {
    let block = serde_json::from_str::<Marked>(raw.get());
    block.is_ok_and(|block| block.cache_control.is_some())
}

fn mark_last(blocks: &mut [Block<'_>], left: &mut usize) {
    for block in blocks.iter_mut().rev().filter(|_| *left > 0) {
        if let Block::Known(
            Known::Text { cache_control, .. }
            | Known::Image { cache_control, .. }
            | Known::Document { cache_control, .. }
            | Known::ToolResult { cache_control, .. },
        ) = block
        {
            *cache_control = Some(BREAKPOINT);
            *left -= 1;
            return;
        }
    }
}
