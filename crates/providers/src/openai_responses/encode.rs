//! Our request to the body of a Responses request.
//!
//! Items carry no ids of ours: an id makes the service look for what belongs to it (`Item 'msg_…' … was provided without
//! its required 'reasoning' item`), and one that was made up is refused (`Expected an ID that begins with 'fc'`). Only
//! raw items keep theirs.

use std::borrow::Cow;

use serde_json::Value;
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolChoice, ToolResult,
};

use super::NAME;
use super::shapes::{
    Body, Choice, Format, Item, Kind, KnownItem, KnownPart, Offer, OutputText, PartShape, ReasoningSwitch,
    Said, TextForm, Tool, Words,
};
use crate::beside::Members;
use crate::history::{Inserts, Out, Round, WriteRound};
use crate::{
    Cache, Effort, EncodeError, HttpRequest, Memo, Place, Request, Thinking, Trait, assemble, beside,
    percent, shape, traits,
};

// "string too long. Expected a string with maximum length 64", quoted by users of several services in 2026.
const CALL_ID_LIMIT: usize = 64;
// Fields of the caller's own that say where the service keeps the conversation until here.
const KEPT: [&str; 2] = ["previous_response_id", "conversation"];

// What a model that reasons has to get back.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Writes the request, or says what is not legal in it.
pub(super) fn request(
    request: &Request,
    encrypted_reasoning: bool,
    memo: &mut Memo,
) -> Result<HttpRequest, EncodeError> {
    shape::check_tools(request, NAME, is_name)?;
    request.check_features(NAME, super::support)?;
    let request = &*traits::fitted(request);
    let (_, rest) = shape::split_system(&request.messages);
    // Instructions that say nothing are not sent, unless there is nothing else to send.
    let kept = |name: &&str| request.extra.get(*name).is_some_and(|kept| !kept.is_null());
    let mut goes_on = KEPT.iter().any(kept);
    let mut write = |goes_on: bool| {
        memo.update(&request.messages, 0, &Items { keep_silent: rest.len() == 0 && !goes_on, goes_on })
    };
    if let Err(fault) = write(goes_on) {
        goes_on = !goes_on && refers(request);
        if !goes_on {
            return Err(fault);
        }
        write(goes_on)?;
    }
    if memo.is_empty() && !goes_on {
        return Err(EncodeError::NoMessages);
    }
    let tools: Vec<Offer<'_>> = request
        .tools
        .iter()
        .map(|tool| {
            Offer::Ours(Tool {
                kind: "function",
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
                // Left out, OpenAI tries to make the schema strict, and optional arguments become required.
                strict: tool.strict.unwrap_or(false),
            })
        })
        .chain(request.provider_tools.iter().map(Offer::Theirs))
        .collect();
    let offered = !tools.is_empty();
    let choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Any => Some(Choice::Word("required")),
        ToolChoice::Named(name) => Some(Choice::Named { kind: "function", name }),
    };
    let effort = match request.thinking {
        Thinking::Unsaid => None,
        // Since GPT-5.1; older models cannot be asked (OpenAI's specification, read 2026-11).
        Thinking::Off => Some("none"),
        Thinking::Budget(budget) => Some(Effort::of_budget(budget).word()),
        Thinking::Effort(effort) => Some(effort.word()),
    };
    let text = request.output.as_ref().map(|output| TextForm {
        format: Format {
            kind: "json_schema",
            name: &output.name,
            strict: output.strict,
            schema: &output.schema,
        },
    });
    let long = request.cache == Cache::Long;
    let body = Body {
        model: Some(request.model.as_str()),
        tool_choice: choice.filter(|_| offered),
        parallel_tool_calls: request.parallel_calls.filter(|_| offered),
        tools: Some(tools).filter(|tools| !tools.is_empty()),
        max_output_tokens: request.max_output_tokens,
        temperature: request.temperature,
        top_p: request.top_p,
        reasoning: effort.map(|effort| ReasoningSwitch { effort }),
        text,
        prompt_cache_key: request.cache_key.as_deref(),
        prompt_cache_retention: long.then_some("24h"),
        safety_identifier: request.user.as_deref(),
        metadata: Some(&request.metadata).filter(|labels| !labels.is_empty()),
        service_tier: request.service_tier.as_deref(),
        // What is made in the background is fetched from where it is stored, and refused where nothing may be (OpenAI's guide to
        // background mode, read 2026-11).
        store: (!is_in_background(request)).then_some(false),
        include: Some([ENCRYPTED]).filter(|_| wants_encrypted(request, encrypted_reasoning)),
        stream: request.stream.then_some(true),
    };
    let elements = memo.elements(Inserts::none());
    let body = assemble::body(&body, ("input", elements), &request.extra)?;
    Ok(HttpRequest::post_json("/v1/responses", body))
}

/// Writes what fetches an answer that the service makes in the background.
pub(super) fn fetch(request: &Request, encrypted_reasoning: bool, id: &str) -> Option<HttpRequest> {
    if !is_in_background(request) || id.is_empty() {
        return None;
    }
    let mut path = format!("/v1/responses/{}", percent_encoded(id));
    if wants_encrypted(request, encrypted_reasoning) {
        path.push_str(&format!("?include[]={ENCRYPTED}"));
    }
    Some(HttpRequest::get(path))
}

fn percent_encoded(id: &str) -> String {
    let mut text = String::new();
    percent::encode_into(id.as_bytes(), &mut text);
    text
}

fn is_in_background(request: &Request) -> bool {
    request.extra.get("background") == Some(&Value::Bool(true))
}

fn wants_encrypted(request: &Request, encrypted_reasoning: bool) -> bool {
    encrypted_reasoning && !request.traits.has(Trait::NoEncryptedReasoning)
}

/// Whether an item is only named and stays with the service, so that nobody else can see what is answered.
fn refers(request: &Request) -> bool {
    let is_reference = |content: &Content| match content {
        Content::Opaque { wire, json } => wire == NAME && kind_of(json) == "item_reference",
        _ => false,
    };
    request.messages.iter().flat_map(|message| &message.content).any(is_reference)
}

/// Writes the conversation as a flat list of items.
struct Items {
    // Whether instructions that say nothing are sent.
    keep_silent: bool,
    // Whether the service keeps what came before.
    goes_on: bool,
}

impl WriteRound for Items {
    fn key(&self) -> String {
        format!("{NAME} {} {}", self.keep_silent, self.goes_on)
    }

    fn pairing(&self) -> shape::After {
        // The service asks for an output to each call and minds neither its place nor an id that comes again.
        if self.goes_on { shape::After::Kept } else { shape::After::Anywhere }
    }

    fn takes_name(&self, name: &str) -> bool {
        is_name(name)
    }

    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
        let mut input = Input::default();
        for (node, message) in round.places() {
            if round.leads && shape::is_silent(message) && !self.keep_silent {
                continue;
            }
            input.push(message, node)?;
        }
        input.settle()?;
        input.items.iter().try_for_each(|item| out.element(item))
    }
}

/// Whether the wire takes the name of a tool.
fn is_name(name: &str) -> bool {
    // The pattern is in its error text; its specification gives a name 64, or 128 (read 2026-11).
    shape::is_word(name, 128)
}

/// The items of one round.
#[derive(Default)]
struct Input<'a> {
    items: Vec<Item<'a>>,
    // The message with a reasoning item that nothing of the model's follows yet.
    lone: Option<Place>,
}

impl<'a> Input<'a> {
    fn push(&mut self, message: &'a Message, node: Place) -> Result<(), EncodeError> {
        if message.role == Role::Assistant {
            return self.push_assistant(message, node);
        }
        self.settle()?;
        let role = if message.role == Role::System { "system" } else { "user" };
        let mut parts = Vec::new();
        for (number, content) in message.content.iter().enumerate() {
            if beside::read(content, NAME).is_some() {
                continue;
            }
            parts.push(match content {
                Content::Text { text } => {
                    let rest = message.content.get(number + 1..).unwrap_or_default();
                    let beside = beside::of_next(rest, beside::Of::Text, NAME);
                    PartShape::Known(KnownPart::InputText { text, beside })
                }
                Content::Image(media) => PartShape::Known(image(media)),
                Content::Document(media) => PartShape::Known(document(media)),
                Content::ToolResult(result) => {
                    let output = result_words(result, node)?;
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
        for (number, content) in message.content.iter().enumerate() {
            if beside::read(content, NAME).is_some() {
                continue;
            }
            let rest = message.content.get(number + 1..).unwrap_or_default();
            let item = match content {
                Content::Text { text } => said(text, beside::of_next(rest, beside::Of::Text, NAME)),
                Content::ToolCall(call) => {
                    let beside = beside::of_next(rest, beside::Of::Call, NAME);
                    Item::Known(function_call(call, beside, node)?)
                }
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
        Some(PartShape::Known(KnownPart::InputText { text, beside }))
            if parts.is_empty() && beside.is_empty() =>
        {
            Words::Text(Cow::Borrowed(text))
        }
        Some(last) => {
            parts.push(last);
            Words::Parts(parts)
        }
    };
    Some(Item::Message { role, content })
}

/// Words of the model; what belongs to their part, and not to the message, are citations and probabilities.
fn said<'a>(text: &'a str, mut beside: Members<'a>) -> Item<'a> {
    if beside.is_empty() {
        return Item::Known(KnownItem::Message { role: "assistant", content: text });
    }
    let of_part = beside.extract_if(.., |name, _| matches!(name.as_ref(), "annotations" | "logprobs"));
    let part = OutputText { kind: "output_text", text, beside: of_part.collect() };
    Item::Said(Said { kind: "message", role: "assistant", content: [part], beside })
}

fn function_call<'a>(
    call: &'a ToolCall,
    beside: Members<'a>,
    node: Place,
) -> Result<KnownItem<'a>, EncodeError> {
    if call.id.is_empty() || call.id.chars().count() > CALL_ID_LIMIT {
        return Err(EncodeError::CallId { call: call.id.clone(), node });
    }
    let arguments = shape::arguments(call, node)?.get();
    Ok(KnownItem::FunctionCall { call_id: &call.id, name: &call.name, arguments, beside })
}

/// The wire has no word for failure: the text must say it.
fn result_words(result: &ToolResult, node: Place) -> Result<Words<'_>, EncodeError> {
    if let [Part::Text { text }] = result.content.as_slice() {
        return Ok(Words::Text(Cow::Borrowed(text)));
    }
    if result.content.iter().all(|part| matches!(part, Part::Text { .. })) {
        return Ok(Words::Text(Cow::Owned(result.text())));
    }
    let parts = result.content.iter().map(|part| result_part(part, node));
    Ok(Words::Parts(parts.collect::<Result<_, _>>()?))
}

fn result_part(part: &Part, node: Place) -> Result<PartShape<'_>, EncodeError> {
    Ok(PartShape::Known(match part {
        Part::Text { text } => KnownPart::InputText { text, beside: Members::new() },
        Part::Image(media) => image(media),
        Part::Document(media) => document(media),
        Part::Opaque { wire, json } if wire == NAME => {
            return Ok(PartShape::Raw(shape::raw(json, NAME, node)?));
        }
        Part::Opaque { .. } => return Err(EncodeError::ForeignBlock { wire: NAME, node }),
    }))
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
            filename: Some(shape::file_name(&media.media_type)),
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
