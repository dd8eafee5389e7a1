//! Our request to the body of a Chat Completions request.
//!
//! Content is a string wherever it can be: many servers take nothing else, and `null` only OpenAI does.

use std::borrow::Cow;

use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolChoice, ToolResult,
};

use super::NAME;
use super::dialect::{Dialect, MaxTokensField, ReasoningField};
use super::shapes::{
    Body, Call, CallFunction, Choice, File, Function, KnownPart, Name, PartShape, ReasoningSwitch,
    StreamOptions, Tool, Url, WireMessage, Words,
};
use crate::{EncodeError, Place, Request, Thinking, request, shape};

/// Writes the body, or says what is not legal in it.
pub(super) fn body(request: &Request, dialect: &Dialect) -> Result<Vec<u8>, EncodeError> {
    if request.messages.is_empty() {
        return Err(EncodeError::NoMessages);
    }
    shape::check_roles(&request.messages)?;
    shape::check_pairing(&request.messages, shape::After::Message)?;
    shape::check_tools(request, NAME)?;

    let mut messages = Vec::with_capacity(request.messages.len());
    let (leading, rest) = shape::split_system(&request.messages);
    for (index, message) in request.messages.iter().enumerate() {
        // Instructions that say nothing are not sent, unless there is nothing else to send.
        if index < leading.len() && shape::is_silent(message) && !rest.is_empty() {
            continue;
        }
        push_message(message, Place::of(index, message), dialect, &mut messages)?;
    }
    let tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|tool| Tool {
            kind: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
            },
        })
        .collect();
    let choice = match &request.tool_choice {
        // The default; said only if it is not, because some servers cannot choose at all.
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Any => Some(Choice::Word("required")),
        ToolChoice::Named(name) => Some(Choice::Named { kind: "function", function: Name { name } }),
    };
    let budget = match request.thinking {
        Thinking::Off => None,
        Thinking::Budget(budget) => Some(budget),
    };
    let effort = budget.filter(|_| dialect.reasoning == ReasoningField::Effort).map(request::effort);
    let reasoning = budget
        .filter(|_| dialect.reasoning == ReasoningField::Budget)
        .map(|max_tokens| ReasoningSwitch { max_tokens });
    let limit_in = |field: MaxTokensField, name: &str| {
        Some(request.max_output_tokens)
            .filter(|_| dialect.max_tokens == field && !request.extra.contains_key(name))
    };
    // A field of the caller's own replaces ours; two of one name would be refused or, worse, not.
    let ours = |name: &str| !request.extra.contains_key(name);
    let body = Body {
        model: Some(request.model.as_str()).filter(|_| ours("model")),
        messages: Some(messages).filter(|_| ours("messages")),
        tool_choice: choice.filter(|_| !tools.is_empty() && ours("tool_choice")),
        tools: Some(tools).filter(|tools| !tools.is_empty() && ours("tools")),
        max_tokens: limit_in(MaxTokensField::MaxTokens, "max_tokens"),
        max_completion_tokens: limit_in(MaxTokensField::MaxCompletionTokens, "max_completion_tokens"),
        temperature: request.temperature.filter(|_| ours("temperature")),
        reasoning_effort: effort.filter(|_| ours("reasoning_effort")),
        reasoning: reasoning.filter(|_| ours("reasoning")),
        stream: request.stream.then_some(true).filter(|_| ours("stream")),
        stream_options: (request.stream && dialect.stream_options && ours("stream_options"))
            .then_some(StreamOptions { include_usage: true }),
        extra: &request.extra,
    };
    serde_json::to_vec(&body).map_err(|fault| EncodeError::Json { reason: fault.to_string() })
}

fn push_message<'a>(
    message: &'a Message,
    node: Place,
    dialect: &Dialect,
    wire: &mut Vec<WireMessage<'a>>,
) -> Result<(), EncodeError> {
    let plain = |role, content| WireMessage {
        role,
        content,
        reasoning_content: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    };
    match message.role {
        Role::System => wire.push(plain("system", Words::Text(texts(message)))),
        Role::User => wire.push(plain("user", user_content(message, node)?)),
        Role::Assistant => wire.push(assistant(message, node, dialect)?),
        Role::Tool => {
            for result in message.results() {
                wire.push(WireMessage {
                    tool_call_id: Some(&result.call_id),
                    ..plain("tool", result_content(result, node, dialect)?)
                });
            }
        }
    }
    Ok(())
}

fn texts(message: &Message) -> Cow<'_, str> {
    match message.content.as_slice() {
        [Content::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(message.text()),
    }
}

fn user_content(message: &Message, node: Place) -> Result<Words<'_>, EncodeError> {
    if message.content.iter().all(|content| matches!(content, Content::Text { .. })) {
        return Ok(Words::Text(texts(message)));
    }
    content_parts(message, node).map(Words::Parts)
}

fn content_parts(message: &Message, node: Place) -> Result<Vec<PartShape<'_>>, EncodeError> {
    let mut parts = Vec::with_capacity(message.content.len());
    for content in &message.content {
        parts.push(match content {
            Content::Text { text } => PartShape::Known(KnownPart::Text { text }),
            Content::Image(media) => {
                PartShape::Known(KnownPart::ImageUrl { image_url: Url { url: url(media) } })
            }
            // An address here is understood by routers only; OpenAI itself says no.
            Content::Document(media) => PartShape::Known(KnownPart::File {
                file: File { filename: "document.pdf", file_data: url(media) },
            }),
            Content::Opaque { wire, json } if wire == NAME => PartShape::Raw(shape::raw(json, NAME, node)?),
            Content::Thinking { .. } | Content::ToolCall(_) => continue,
            other => return Err(unsupported(other, node)),
        });
    }
    Ok(parts)
}

fn url(media: &Media) -> Cow<'_, str> {
    match &media.source {
        MediaSource::Url(url) => Cow::Borrowed(url),
        MediaSource::Base64(data) => Cow::Owned(format!("data:{};base64,{data}", media.media_type)),
    }
}

fn assistant<'a>(
    message: &'a Message,
    node: Place,
    dialect: &Dialect,
) -> Result<WireMessage<'a>, EncodeError> {
    let mut reasoning: Option<Cow<'a, str>> = None;
    let mut tool_calls = Vec::new();
    let mut raw = false;
    for content in &message.content {
        match content {
            Content::Text { .. } => {}
            Content::Opaque { wire, .. } if wire == NAME => raw = true,
            Content::Thinking { text, .. } if dialect.echo_reasoning => match &mut reasoning {
                Some(earlier) => earlier.to_mut().push_str(text),
                None => reasoning = Some(Cow::Borrowed(text)),
            },
            // The wire has no place for it, and the model does not miss it.
            Content::Thinking { .. } => {}
            Content::ToolCall(call) => tool_calls.push(wire_call(call, node)?),
            other => return Err(unsupported(other, node)),
        }
    }
    // `""` and not `null` beside calls: several servers refuse null, none refuses the empty string (read 2026-11).
    let content = if raw { Words::Parts(content_parts(message, node)?) } else { Words::Text(texts(message)) };
    Ok(WireMessage {
        role: "assistant",
        content,
        // DeepSeek refuses a call whose reasoning is not echoed, and takes an empty one for a model that had none.
        reasoning_content: reasoning
            .or((dialect.echo_reasoning && !tool_calls.is_empty()).then_some(Cow::Borrowed(""))),
        tool_calls,
        tool_call_id: None,
    })
}

fn wire_call(call: &ToolCall, node: Place) -> Result<Call<'_>, EncodeError> {
    if call.id.is_empty() {
        return Err(EncodeError::CallId { call: call.id.clone(), node });
    }
    // Checked although it travels as a string: several servers parse it and answer 400 or 500 (read 2026-11).
    // What Groq's models write for no arguments goes back as it is (recorded, 2026).
    let null = call.arguments.trim() == "null";
    let arguments = if null { "null" } else { shape::arguments(call, node)?.get() };
    Ok(Call { id: &call.id, kind: "function", function: CallFunction { name: &call.name, arguments } })
}

/// The wire takes only text as a tool's answer, and has no word for failure: the text must say it.
fn result_content<'a>(
    result: &'a ToolResult,
    node: Place,
    dialect: &Dialect,
) -> Result<Words<'a>, EncodeError> {
    let is_text = |part: &Part| matches!(part, Part::Text { .. });
    let is_document = |part: &Part| matches!(part, Part::Document(_));
    if !dialect.images_in_results
        || result.content.iter().all(is_text)
        || result.content.iter().any(is_document)
    {
        return result_text(result, node).map(Words::Text);
    }
    let parts = result.content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(PartShape::Known(KnownPart::Text { text })),
        Part::Image(media) => {
            Some(PartShape::Known(KnownPart::ImageUrl { image_url: Url { url: url(media) } }))
        }
        Part::Document(_) => None,
    });
    Ok(Words::Parts(parts.collect()))
}

fn result_text(result: &ToolResult, node: Place) -> Result<Cow<'_, str>, EncodeError> {
    for part in &result.content {
        let block = match part {
            Part::Text { .. } => continue,
            Part::Image(_) => "an image in a result",
            Part::Document(_) => "a document in a result",
        };
        return Err(EncodeError::UnsupportedBlock { wire: NAME, block, node });
    }
    Ok(match result.content.as_slice() {
        [Part::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(result.text()),
    })
}

fn unsupported(content: &Content, node: Place) -> EncodeError {
    EncodeError::UnsupportedBlock { wire: NAME, block: shape::name_of(content), node }
}
