//! Our request to the body of a Chat Completions request.
//!
//! Content is a string wherever it can be: many servers take nothing else, and `null` only OpenAI does.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolChoice, ToolResult,
};

use super::NAME;
use super::dialect::{
    Dialect, DocumentPart, Echo, ForcedChoice, MaxTokensField, ReasoningField, ReasoningPlace,
};
use super::shapes::{
    Body, Call, CallFunction, Carried, Choice, ExtraContent, File, Function, Google, KnownPart, Name,
    NamedSchema, Offer, PartShape, ReasoningSwitch, ResponseFormat, StreamOptions, ThinkingSwitch, Tool, Url,
    WireMessage, Words,
};
use crate::beside::Members;
use crate::history::{Inserts, Out, Round, WriteRound};
use crate::{
    Cache, Effort, EncodeError, Feature, HttpRequest, Memo, Place, Request, Thinking, assemble, beside,
    shape, traits,
};

// At most four breakpoints reach Anthropic; one is kept for the instructions.
const NEWEST: usize = 2;
const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
const LONG_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}";

/// Writes the request, or says what is not legal in it.
pub(super) fn request(
    request: &Request,
    dialect: &Dialect,
    memo: &mut Memo,
) -> Result<HttpRequest, EncodeError> {
    if request.messages.is_empty() {
        return Err(EncodeError::NoMessages);
    }
    shape::check_tools(request, NAME, |name| takes_name(dialect, name))?;
    request.check_features(NAME, |feature| super::support(dialect, feature))?;
    let dialect = &*dialect.with(&request.traits);
    let request = &*traits::fitted(request);
    if dialect.stop_limit.is_some_and(|limit| request.stop.len() > limit) {
        return Err(EncodeError::Unsupported { wire: NAME, what: "so many stop sequences" });
    }
    let (leading, rest) = shape::split_system(&request.messages);
    // Instructions that say nothing are not sent, unless there is nothing else to send.
    let keep_silent = rest.len() == 0 && leading.clone().all(|message| shape::is_silent(message));
    memo.update(&request.messages, 0, &Messages { dialect, keep_silent })?;

    let softened = softened(request, dialect)?;
    let tail = softened.map(|_| {
        let comma = if memo.is_empty() { "" } else { "," };
        format!("{comma}{{\"role\":\"user\",\"content\":{}}}", shape::demand(&request.tool_choice))
    });
    let tools: Vec<Offer<'_>> = request
        .tools
        .iter()
        .map(|tool| {
            Offer::Ours(Tool {
                kind: "function",
                function: Function {
                    name: &tool.name,
                    description: &tool.description,
                    parameters: &tool.input_schema,
                    strict: tool.strict,
                },
            })
        })
        .chain(request.provider_tools.iter().map(Offer::Theirs))
        .collect();
    let offered = !tools.is_empty();
    let limit_in = |field: MaxTokensField| request.max_output_tokens.filter(|_| dialect.max_tokens == field);
    let stop = request.stop.as_slice();
    let seed = dialect.seed.zip(request.seed.map(Into::into));
    let user = dialect.user.zip(request.user.as_deref().map(Into::into));
    let body = Body {
        model: Some(request.model.as_str()),
        tool_choice: choice(request, dialect, softened).filter(|_| offered),
        parallel_tool_calls: request.parallel_calls.filter(|_| offered),
        tools: Some(tools).filter(|tools| !tools.is_empty()),
        max_tokens: limit_in(MaxTokensField::MaxTokens),
        max_completion_tokens: limit_in(MaxTokensField::MaxCompletionTokens),
        stop: Some(stop).filter(|stop| !stop.is_empty()),
        temperature: request.temperature,
        top_p: request.top_p,
        top_k: request.top_k,
        frequency_penalty: request.frequency_penalty,
        presence_penalty: request.presence_penalty,
        reasoning_effort: effort(request.thinking, dialect),
        reasoning: reasoning(request.thinking, dialect),
        thinking: thinking(request.thinking, dialect),
        response_format: response_format(request),
        prompt_cache_key: request.cache_key.as_deref(),
        prompt_cache_retention: (request.cache == Cache::Long && dialect.cache_key).then_some("24h"),
        metadata: Some(&request.metadata).filter(|labels| !labels.is_empty()),
        service_tier: request.service_tier.as_deref(),
        stream: request.stream.then_some(true),
        stream_options: (request.stream && dialect.stream_options)
            .then_some(StreamOptions { include_usage: true }),
        named: [seed, user].into_iter().flatten().collect(),
    };
    let (mark, lead) = match request.cache {
        _ if !dialect.cache_breakpoints => ("", false),
        Cache::Off => ("", false),
        Cache::Short => (MARK, leading.len() > 0),
        Cache::Long => (LONG_MARK, leading.len() > 0),
    };
    let marks = if mark.is_empty() { 0 } else { NEWEST };
    let mut elements = memo.elements(Inserts { mark, marks, lead, tail: None });
    elements.extend(tail.map(Into::into));
    let body = assemble::body(&body, ("messages", elements), &request.extra)?;
    let mut http = HttpRequest::post_json("/v1/chat/completions", body);
    http.softened.extend(softened);
    Ok(http)
}

/// Says whether a choice is only asked for.
fn softened(request: &Request, dialect: &Dialect) -> Result<Option<Feature>, EncodeError> {
    let feature = match request.tool_choice {
        ToolChoice::Any => Feature::ChoiceAny,
        ToolChoice::Named(_) => Feature::ChoiceNamed,
        ToolChoice::Auto | ToolChoice::None => return Ok(None),
    };
    let thinks = !matches!(request.thinking, Thinking::Unsaid | Thinking::Off);
    let forced = match dialect.forced_choice {
        ForcedChoice::Full => true,
        ForcedChoice::Required => feature == Feature::ChoiceAny || request.tools.len() == 1,
        ForcedChoice::Unthinking => !thinks,
    };
    match forced {
        true => Ok(None),
        false if request.soft_choice => Ok(Some(feature)),
        false if thinks => {
            Err(EncodeError::Unsupported { wire: NAME, what: "reasoning together with a forced tool choice" })
        }
        false => Err(EncodeError::Unsupported { wire: NAME, what: feature.name() }),
    }
}

fn choice<'a>(request: &'a Request, dialect: &Dialect, softened: Option<Feature>) -> Option<Choice<'a>> {
    Some(match &request.tool_choice {
        // The default; said only if it is not, because some servers cannot choose at all.
        ToolChoice::Auto => return None,
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Named(_) if dialect.forced_choice == ForcedChoice::Required => Choice::Word("required"),
        _ if softened.is_some() => return None,
        ToolChoice::Any => Choice::Word("required"),
        ToolChoice::Named(name) => Choice::Named { kind: "function", function: Name { name } },
    })
}

fn effort(thinking: Thinking, dialect: &Dialect) -> Option<&'static str> {
    match (thinking, dialect.reasoning) {
        (Thinking::Unsaid, _) | (_, ReasoningField::Budget) => None,
        (Thinking::Off, ReasoningField::Switch) => None,
        // "none" since OpenAI's GPT-5.1; older models cannot be asked (its specification, read 2026-11).
        (Thinking::Off, ReasoningField::Effort) => Some("none"),
        (Thinking::Budget(budget), _) => Some(Effort::of_budget(budget).word()),
        (Thinking::Effort(effort), _) => Some(effort.word()),
    }
}

fn reasoning(thinking: Thinking, dialect: &Dialect) -> Option<ReasoningSwitch> {
    let switch = ReasoningSwitch { enabled: None, max_tokens: None, effort: None };
    match thinking {
        _ if dialect.reasoning != ReasoningField::Budget => None,
        Thinking::Unsaid => None,
        Thinking::Off => Some(ReasoningSwitch { enabled: Some(false), ..switch }),
        Thinking::Budget(budget) => Some(ReasoningSwitch { max_tokens: Some(budget), ..switch }),
        Thinking::Effort(effort) => Some(ReasoningSwitch { effort: Some(effort.word()), ..switch }),
    }
}

fn thinking(thinking: Thinking, dialect: &Dialect) -> Option<ThinkingSwitch> {
    match thinking {
        _ if dialect.reasoning != ReasoningField::Switch => None,
        Thinking::Unsaid => None,
        Thinking::Off => Some(ThinkingSwitch { kind: "disabled" }),
        Thinking::Budget(_) | Thinking::Effort(_) => Some(ThinkingSwitch { kind: "enabled" }),
    }
}

fn response_format(request: &Request) -> Option<ResponseFormat<'_>> {
    let output = request.output.as_ref()?;
    let json_schema = NamedSchema { name: &output.name, strict: output.strict, schema: &output.schema };
    Some(ResponseFormat { kind: "json_schema", json_schema })
}

/// Writes each message of ours, and each result as one of its own.
struct Messages<'a> {
    dialect: &'a Dialect,
    // Whether instructions that say nothing are sent.
    keep_silent: bool,
}

impl WriteRound for Messages<'_> {
    fn key(&self) -> String {
        format!("{NAME} {:?} {}", self.dialect, self.keep_silent)
    }

    fn pairing(&self) -> shape::After {
        shape::After::Message
    }

    fn takes_name(&self, name: &str) -> bool {
        takes_name(self.dialect, name)
    }

    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
        let mut messages = Vec::with_capacity(round.messages.len());
        for (node, message) in round.places() {
            if round.leads && shape::is_silent(message) && !self.keep_silent {
                continue;
            }
            push_message(message, node, self.dialect, &mut messages)?;
        }
        for (message, beside) in &messages {
            let mark = message.takes_mark(self.dialect);
            out.element(message)?;
            let end = out.bytes().len();
            beside::splice(out.bytes(), beside)?;
            if let Some(from_end) = mark {
                out.mark_at(end - from_end);
            }
        }
        Ok(())
    }
}

/// Whether the server takes the name of a tool.
fn takes_name(dialect: &Dialect, name: &str) -> bool {
    if dialect.strict_names { shape::is_word(name, 64) } else { !name.is_empty() }
}

fn push_message<'a>(
    message: &'a Message,
    node: Place,
    dialect: &Dialect,
    wire: &mut Vec<(WireMessage<'a>, Members<'a>)>,
) -> Result<(), EncodeError> {
    let mut beside = Members::new();
    for (of, members) in message.content.iter().filter_map(|content| beside::read(content, NAME)) {
        if of == beside::Of::Message {
            beside.extend(members);
        }
    }
    beside.retain(|name, _| dialect.message_fields.contains(&name.as_ref()));
    let plain = |role, content| WireMessage {
        role,
        content,
        reasoning_content: None,
        reasoning: None,
        reasoning_details: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    };
    match message.role {
        Role::System => {
            wire.push((plain(dialect.instructions, user_content(message, node, dialect)?), beside))
        }
        Role::User => wire.push((plain("user", user_content(message, node, dialect)?), beside)),
        Role::Assistant => wire.push((assistant(message, node, dialect)?, beside)),
        Role::Tool => {
            for result in message.results() {
                let content = result_content(result, node, dialect)?;
                let answer = WireMessage { tool_call_id: Some(&result.call_id), ..plain("tool", content) };
                wire.push((answer, Members::new()));
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

fn user_content<'a>(message: &'a Message, node: Place, dialect: &Dialect) -> Result<Words<'a>, EncodeError> {
    // A breakpoint needs a part to stand on; a list of none is refused.
    if (!dialect.cache_breakpoints || message.content.is_empty()) && message.content.iter().all(is_plain) {
        return Ok(Words::Text(texts(message)));
    }
    content_parts(message, node, dialect).map(Words::Parts)
}

/// Whether a block is words that say nothing but themselves, or nothing that stands in the content.
fn is_plain(content: &Content) -> bool {
    let beside = || beside::read(content, NAME).is_some_and(|(of, _)| of != beside::Of::Text);
    matches!(content, Content::Text { .. }) || beside()
}

fn content_parts<'a>(
    message: &'a Message,
    node: Place,
    dialect: &Dialect,
) -> Result<Vec<PartShape<'a>>, EncodeError> {
    let mut parts = Vec::with_capacity(message.content.len());
    for (number, content) in message.content.iter().enumerate() {
        if beside::read(content, NAME).is_some() {
            continue;
        }
        let rest = message.content.get(number + 1..).unwrap_or_default();
        parts.push(match content {
            Content::Text { text } => PartShape::Known(KnownPart::Text {
                text,
                beside: beside::of_next(rest, beside::Of::Text, NAME),
            }),
            Content::Image(media) if dialect.images => {
                PartShape::Known(KnownPart::ImageUrl { image_url: Url { url: url(media) } })
            }
            // An address here is understood by routers only; OpenAI itself says no.
            Content::Document(Media { source: MediaSource::Url(_), .. }) if !dialect.document_urls => {
                let block = "a document by its address";
                return Err(EncodeError::UnsupportedBlock { wire: NAME, block, node });
            }
            Content::Document(media) if dialect.documents == DocumentPart::File => {
                let filename = shape::file_name(&media.media_type);
                PartShape::Known(KnownPart::File { file: File { filename, file_data: url(media) } })
            }
            Content::Document(media) if dialect.documents == DocumentPart::Url => {
                PartShape::Known(KnownPart::DocumentUrl { document_url: url(media) })
            }
            Content::Opaque { wire, json } if wire == NAME && carried_reasoning(json).is_some() => continue,
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
    let mut details = None;
    let mut raw = false;
    for (number, content) in message.content.iter().enumerate() {
        match content {
            Content::Text { .. } => {}
            own if beside::read(own, NAME).is_some() => raw |= !is_plain(own),
            Content::Opaque { wire, json } if wire == NAME => match carried_reasoning(json) {
                Some(of) if dialect.echo_reasoning_details => details = Some(Cow::Borrowed(of)),
                Some(_) => {}
                None => raw = true,
            },
            Content::Thinking { text, .. } if dialect.echo_reasoning != Echo::None => match &mut reasoning {
                Some(earlier) => earlier.to_mut().push_str(text),
                None => reasoning = Some(Cow::Borrowed(text)),
            },
            // The wire has no place for it, and the model does not miss it.
            Content::Thinking { .. } => {}
            Content::ToolCall(call) => {
                let rest = message.content.get(number + 1..).unwrap_or_default();
                let mut beside = beside::of_next(rest, beside::Of::Call, NAME);
                beside.retain(|name, _| dialect.call_fields.contains(&name.as_ref()));
                tool_calls.push(Call { beside, ..wire_call(call, node, dialect)? });
            }
            other => return Err(unsupported(other, node)),
        }
    }
    // `""` and not `null` beside calls: several servers refuse null, none refuses the empty string (read 2026-11).
    let content =
        if raw { Words::Parts(content_parts(message, node, dialect)?) } else { Words::Text(texts(message)) };
    // DeepSeek refuses a call whose reasoning is not echoed, and takes an empty one for a model that had none.
    let wanted = dialect.echo_reasoning == Echo::BesideCalls && !tool_calls.is_empty();
    let reasoning = reasoning.or(wanted.then_some(Cow::Borrowed("")));
    let (mut reasoning_content, mut beside) = (None, None);
    match (dialect.reasoning_in, reasoning) {
        (ReasoningPlace::Content, reasoning) => reasoning_content = reasoning,
        // The details say the same, and are signed.
        (ReasoningPlace::Reasoning | ReasoningPlace::Details, _) if details.is_some() => {}
        (ReasoningPlace::Reasoning, reasoning) => beside = reasoning,
        (ReasoningPlace::Details, reasoning) => {
            details = reasoning.map(|text| one_detail(&text)).transpose()?.map(Cow::Owned);
        }
    }
    Ok(WireMessage {
        role: "assistant",
        content,
        reasoning_content,
        reasoning: beside,
        reasoning_details: details,
        tool_calls,
        tool_call_id: None,
    })
}

/// Returns reasoning as the list in which it came; what else stood there was not signed.
fn one_detail(text: &str) -> Result<Box<RawValue>, EncodeError> {
    let details = serde_json::json!([{ "type": "reasoning.text", "text": text }]);
    to_raw_value(&details).map_err(|fault| EncodeError::Json { reason: fault.to_string() })
}

fn carried_reasoning(json: &str) -> Option<&RawValue> {
    serde_json::from_str::<Carried<'_>>(json).ok()?.reasoning_details
}

fn wire_call<'a>(call: &'a ToolCall, node: Place, dialect: &Dialect) -> Result<Call<'a>, EncodeError> {
    let too_long = dialect.call_id_limit.is_some_and(|limit| call.id.chars().count() > limit);
    if call.id.is_empty() || too_long {
        return Err(EncodeError::CallId { call: call.id.clone(), node });
    }
    // Checked although it travels as a string: several servers parse it and answer 400 or 500 (read 2026-11).
    // What Groq's models write for no arguments goes back as it is (recorded, 2026).
    let null = call.arguments.trim() == "null";
    let arguments = if null { "null" } else { shape::arguments(call, node)?.get() };
    let signature = call.signature.as_deref().filter(|one| dialect.call_signatures && !one.is_empty());
    let extra_content = signature
        .map(|signature| ExtraContent { google: Google { thought_signature: Cow::Borrowed(signature) } });
    let function = CallFunction { name: &call.name, arguments };
    Ok(Call { id: &call.id, kind: "function", function, extra_content, beside: Members::new() })
}

/// The wire has no word for failure: the text must say it. Text alone travels as a string, which is all that most take.
fn result_content<'a>(
    result: &'a ToolResult,
    node: Place,
    dialect: &Dialect,
) -> Result<Words<'a>, EncodeError> {
    if dialect.results_as_parts {
        return result_parts(result, node, dialect).map(Words::Parts);
    }
    if let [Part::Text { text }] = result.content.as_slice() {
        return Ok(Words::Text(Cow::Borrowed(text)));
    }
    if result.content.iter().all(|part| matches!(part, Part::Text { .. })) {
        return Ok(Words::Text(Cow::Owned(result.text())));
    }
    result_parts(result, node, dialect).map(Words::Parts)
}

fn result_parts<'a>(
    result: &'a ToolResult,
    node: Place,
    dialect: &Dialect,
) -> Result<Vec<PartShape<'a>>, EncodeError> {
    let mut parts = Vec::with_capacity(result.content.len());
    for part in &result.content {
        let block = match part {
            Part::Text { text } => {
                parts.push(PartShape::Known(KnownPart::Text { text, beside: Members::new() }));
                continue;
            }
            Part::Image(media) if dialect.images_in_results => {
                parts.push(PartShape::Known(KnownPart::ImageUrl { image_url: Url { url: url(media) } }));
                continue;
            }
            Part::Opaque { wire, json } if wire == NAME => {
                parts.push(PartShape::Raw(shape::raw(json, NAME, node)?));
                continue;
            }
            Part::Image(_) => "an image in a result",
            Part::Document(_) => "a document in a result",
            Part::Opaque { .. } => return Err(EncodeError::ForeignBlock { wire: NAME, node }),
        };
        return Err(EncodeError::UnsupportedBlock { wire: NAME, block, node });
    }
    Ok(parts)
}

fn unsupported(content: &Content, node: Place) -> EncodeError {
    EncodeError::UnsupportedBlock { wire: NAME, block: shape::name_of(content), node }
}
