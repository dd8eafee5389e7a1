//! Our request to the body of a Responses request.
//!
//! Items carry no ids of ours: an id makes the service look for what belongs to it (`Item 'msg_…' … was provided without
//! its required 'reasoning' item`), and one that was made up is refused (`Expected an ID that begins with 'fc'`). Only
//! raw items keep theirs.

use std::borrow::Cow;

use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolChoice, ToolResult,
};

use super::NAME;
use super::shapes::{
    Body, Choice, Item, Kind, KnownItem, KnownPart, PartShape, ReasoningSwitch, Tool, Words,
};
use crate::{EncodeError, Place, Request, Thinking, request, shape};

// "string too long. Expected a string with maximum length 64", quoted by users of several services in 2026.
const CALL_ID_LIMIT: usize = 64;

/// Writes the body, or says what is not legal in it.
pub(super) fn body(request: &Request, encrypted_reasoning: bool) -> Result<Vec<u8>, EncodeError> {
    shape::check_roles(&request.messages)?;
    shape::check_pairing(&request.messages, shape::After::Turn)?;
    shape::check_tools(request, NAME)?;

    let input = Input::of(&request.messages)?;
    let tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|tool| Tool {
            kind: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            // Left out, OpenAI tries to make the schema strict, and optional arguments become required.
            strict: false,
        })
        .collect();
    let choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Any => Some(Choice::Word("required")),
        ToolChoice::Named(name) => Some(Choice::Named { kind: "function", name }),
    };
    let reasoning = match request.thinking {
        Thinking::Off => None,
        Thinking::Budget(budget) => Some(ReasoningSwitch { effort: request::effort(budget) }),
    };
    // A field of the caller's own replaces ours; two of one name would be refused or, worse, not.
    let ours = |name: &str| !request.extra.contains_key(name);
    let body = Body {
        model: Some(request.model.as_str()).filter(|_| ours("model")),
        input: Some(input).filter(|_| ours("input")),
        tool_choice: choice.filter(|_| !tools.is_empty() && ours("tool_choice")),
        tools: Some(tools).filter(|tools| !tools.is_empty() && ours("tools")),
        max_output_tokens: Some(request.max_output_tokens).filter(|_| ours("max_output_tokens")),
        temperature: request.temperature.filter(|_| ours("temperature")),
        reasoning: reasoning.filter(|_| ours("reasoning")),
        store: Some(false).filter(|_| ours("store")),
        include: Some(["reasoning.encrypted_content"]).filter(|_| encrypted_reasoning && ours("include")),
        stream: request.stream.then_some(true).filter(|_| ours("stream")),
        extra: &request.extra,
    };
    serde_json::to_vec(&body).map_err(|fault| EncodeError::Json { reason: fault.to_string() })
}

/// The conversation as a flat list.
#[derive(Default)]
struct Input<'a> {
    items: Vec<Item<'a>>,
    // The message with a reasoning item that nothing of the model's follows yet.
    lone: Option<Place>,
}

impl<'a> Input<'a> {
    fn of(messages: &'a [Message]) -> Result<Vec<Item<'a>>, EncodeError> {
        let (leading, rest) = shape::split_system(messages);
        let mut input = Input::default();
        for (index, message) in messages.iter().enumerate() {
            // Instructions that say nothing are not sent, unless there is nothing else to send.
            if index < leading.len() && shape::is_silent(message) && !rest.is_empty() {
                continue;
            }
            input.push(message, Place::of(index, message))?;
        }
        input.settle()?;
        if input.items.is_empty() { Err(EncodeError::NoMessages) } else { Ok(input.items) }
    }

    fn push(&mut self, message: &'a Message, node: Place) -> Result<(), EncodeError> {
        if message.role == Role::Assistant {
            return self.push_assistant(message, node);
        }
        self.settle()?;
        let role = if message.role == Role::System { "system" } else { "user" };
        let mut parts = Vec::new();
        for content in &message.content {
            parts.push(match content {
                Content::Text { text } => PartShape::Known(KnownPart::InputText { text }),
                Content::Image(media) => PartShape::Known(image(media)),
                Content::Document(media) => PartShape::Known(document(media)),
                Content::ToolResult(result) => {
                    let output = result_words(result);
                    self.items.push(Item::Known(KnownItem::FunctionCallOutput {
                        call_id: &result.call_id,
                        output,
                    }));
                    continue;
                }
                Content::Opaque { wire, json } if wire == NAME => {
                    let raw = shape::raw(json, NAME, node)?;
                    // Parts of a message are named like this, items are not.
                    if !kind_of(json).starts_with("input_") {
                        self.items.extend(words_item(role, std::mem::take(&mut parts)));
                        self.items.push(Item::Raw(raw));
                        continue;
                    }
                    PartShape::Raw(raw)
                }
                other => return Err(unsupported(other, node)),
            });
        }
        self.items.extend(words_item(role, parts));
        Ok(())
    }

    fn push_assistant(&mut self, message: &'a Message, node: Place) -> Result<(), EncodeError> {
        for content in &message.content {
            let item = match content {
                Content::Text { text } => {
                    Item::Message { role: "assistant", content: Words::Text(Cow::Borrowed(text)) }
                }
                Content::ToolCall(call) => Item::Known(function_call(call, node)?),
                // The wire takes reasoning in items of its own only, and the model does not miss it.
                Content::Thinking { .. } => continue,
                Content::Opaque { wire, json } if wire == NAME => Item::Raw(shape::raw(json, NAME, node)?),
                other => return Err(unsupported(other, node)),
            };
            let reasoning = matches!(content, Content::Opaque { json, .. } if kind_of(json) == "reasoning");
            self.lone = reasoning.then_some(node);
            self.items.push(item);
        }
        Ok(())
    }

    /// Refuses reasoning that led to nothing.
    fn settle(&self) -> Result<(), EncodeError> {
        match self.lone {
            Some(node) => Err(EncodeError::LoneReasoning { node }),
            None => Ok(()),
        }
    }
}

/// A string wherever it can be: some servers take nothing else.
fn words_item<'a>(role: &'static str, mut parts: Vec<PartShape<'a>>) -> Option<Item<'a>> {
    let content = match parts.pop() {
        None => return None,
        Some(PartShape::Known(KnownPart::InputText { text })) if parts.is_empty() => {
            Words::Text(Cow::Borrowed(text))
        }
        Some(last) => {
            parts.push(last);
            Words::Parts(parts)
        }
    };
    Some(Item::Message { role, content })
}

fn function_call(call: &ToolCall, node: Place) -> Result<KnownItem<'_>, EncodeError> {
    if call.id.is_empty() || call.id.chars().count() > CALL_ID_LIMIT {
        return Err(EncodeError::CallId { call: call.id.clone(), node });
    }
    let arguments = shape::arguments(call, node)?.get();
    Ok(KnownItem::FunctionCall { call_id: &call.id, name: &call.name, arguments })
}

/// The wire has no word for failure: the text must say it.
fn result_words(result: &ToolResult) -> Words<'_> {
    if let [Part::Text { text }] = result.content.as_slice() {
        return Words::Text(Cow::Borrowed(text));
    }
    if result.content.iter().all(|part| matches!(part, Part::Text { .. })) {
        return Words::Text(Cow::Owned(result.text()));
    }
    Words::Parts(result.content.iter().map(|part| PartShape::Known(result_part(part))).collect())
}

fn result_part(part: &Part) -> KnownPart<'_> {
    match part {
        Part::Text { text } => KnownPart::InputText { text },
        Part::Image(media) => image(media),
        Part::Document(media) => document(media),
    }
}

fn image(media: &Media) -> KnownPart<'_> {
    let image_url = match &media.source {
        MediaSource::Url(url) => Cow::Borrowed(url.as_str()),
        MediaSource::Base64(data) => Cow::Owned(data_url(media, data)),
    };
    KnownPart::InputImage { image_url }
}

fn document(media: &Media) -> KnownPart<'_> {
    match &media.source {
        MediaSource::Url(url) => {
            KnownPart::InputFile { filename: None, file_data: None, file_url: Some(url) }
        }
        MediaSource::Base64(data) => KnownPart::InputFile {
            filename: Some("document.pdf"),
            file_data: Some(data_url(media, data)),
            file_url: None,
        },
    }
}

fn data_url(media: &Media, data: &str) -> String {
    format!("data:{};base64,{data}", media.media_type)
}

fn kind_of(json: &str) -> Cow<'_, str> {
    serde_json::from_str::<Kind<'_>>(json).map(|kind| kind.kind).unwrap_or_default()
}

fn unsupported(content: &Content, node: Place) -> EncodeError {
    EncodeError::UnsupportedBlock { wire: NAME, block: shape::name_of(content), node }
}
