//! Our request to the body of a Converse request.
//!
//! Roles alternate here, so that what one side says in a row is one message on the wire, results first.

use serde_json::{Map, Value, json};
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Messages as List, Part, Role, StopReason, ToolChoice, ToolResult,
};

use super::NAME;
use super::model::Model;
use super::shapes::{
    Block, Body, CacheHolder, CachePoint, Choice, CitedText, Format, InferenceConfig, Known, MediaBlock,
    OutputConfig, Reasoning, ServiceTier, Source, Tool, ToolConfig,
};
use crate::history::{Inserts, Out, Round, WriteRound};
use crate::percent;
use crate::{
    Cache, EncodeError, Feature, HttpRequest, Memo, Place, Request, assemble, beside, shape, traits,
};

// As on Anthropic's own wire; Amazon's documents say the same of all models (read 2026-11).
const BREAKPOINT_LIMIT: usize = 4;
// The newest user message, where the next request goes on, and the one before it, which is the newest again when this
// one is taken back.
const NEWEST: usize = 2;
// From the service's own model.
const METADATA_LIMIT: usize = 16;
const METADATA_LENGTH: usize = 256;
// "If you include a ContentBlock with a document field, you must also include a ContentBlock with a text field"
// (Amazon's API reference, read 2026-11).
const WORDS_BESIDE_DOCUMENTS: &str = "See the attached document.";

/// Writes the request, or says what is not legal in it.
pub(super) fn request(request: &Request, model: Model, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
    let (system, rest) = shape::split_system(&request.messages);
    shape::check_tools(request, NAME, is_name)?;
    request.check_features(NAME, super::support)?;
    let request = &*traits::fitted(request);
    check_metadata(request)?;
    if rest.len() == 0 {
        return Err(EncodeError::NoMessages);
    }
    memo.update(
        &request.messages,
        system.len(),
        &Messages { claude: model.is_claude(), tools: request.offers_tools() },
    )?;
    check_last(&rest, system.len())?;

    let mut fields = model.fields(request)?;
    let softened = softened(request, model, &fields)?;
    let demand = softened.map(|_| format!("{{\"text\":{}}}", shape::demand(&request.tool_choice)));
    let (point, mark) = cache_point(request.cache, model);
    let mut left = BREAKPOINT_LIMIT.saturating_sub(memo.carried());
    let marks = memo.places(NEWEST.min(if point.is_some() { left } else { 0 }));
    left -= marks;
    let mut system = system_blocks(system)?;
    if let Some(point) = point.filter(|_| left > 0 && !system.is_empty()) {
        system.push(Block::Known(Known::CachePoint(point)));
        left -= 1;
    }
    // Beside results some models take no words; then it stands among the instructions.
    let (tail, instead) = match memo.has_tail() {
        true => (demand.map(|demand| format!(",{demand}")), None),
        false => (None, demand),
    };
    if let Some(instead) = &instead {
        let instead = serde_json::from_str(instead);
        system.push(Block::Raw(instead.map_err(|fault| EncodeError::Json { reason: fault.to_string() })?));
    }
    // Converse has no word for it, and Claude's own is refused beside any other choice.
    if request.tool_choice == ToolChoice::None && softened.is_none() && request.offers_tools() {
        fields.insert("tool_choice".to_owned(), json!({ "type": "none" }));
    }

    let body = Body {
        system: Some(system).filter(|blocks| !blocks.is_empty()),
        inference_config: inference_config(request),
        tool_config: tool_config(request, softened, point.filter(|_| left > 0 && model.caches_tools())),
        fields: Some(fields).filter(|fields| !fields.is_empty()),
        output_config: output_config(request),
        metadata: Some(&request.metadata).filter(|labels| !labels.is_empty()),
        service_tier: request.service_tier.as_deref().map(|kind| ServiceTier { kind }),
    };
    let elements = memo.elements(Inserts { mark, marks, lead: false, tail });
    let body = assemble::body(&body, ("messages", elements), &request.extra)?;
    let mut http = HttpRequest::post_json(path(request), body);
    http.softened.extend(softened);
    Ok(http)
}

fn path(request: &Request) -> String {
    let mut path = "/model/".to_owned();
    percent::encode_into(request.model.as_bytes(), &mut path);
    path.push_str(if request.stream { "/converse-stream" } else { "/converse" });
    path
}

/// Returns a breakpoint, and how it is put behind a block that is already written.
fn cache_point(cache: Cache, model: Model) -> (Option<CachePoint>, &'static str) {
    match cache {
        _ if !model.caches() => (None, ""),
        Cache::Off => (None, ""),
        Cache::Long if model.caches_long() => {
            (Some(CachePoint::new(Some("1h"))), ",{\"cachePoint\":{\"type\":\"default\",\"ttl\":\"1h\"}}")
        }
        Cache::Short | Cache::Long => {
            (Some(CachePoint::new(None)), ",{\"cachePoint\":{\"type\":\"default\"}}")
        }
    }
}

/// Writes the instructions; those that say nothing are left out.
fn system_blocks(system: List<'_>) -> Result<Vec<Block<'_>>, EncodeError> {
    let mut blocks = Vec::new();
    for (index, message) in system.enumerate().filter(|(_, message)| !shape::is_silent(message)) {
        let node = Place::of(index, message);
        for content in &message.content {
            match content {
                Content::Text { text } => blocks.push(Block::Known(text_block(text, node)?)),
                other => return Err(EncodeError::Misplaced { block: shape::name_of(other), node }),
            }
        }
    }
    Ok(blocks)
}

fn inference_config(request: &Request) -> Option<InferenceConfig<'_>> {
    let config = InferenceConfig {
        max_tokens: request.max_output_tokens,
        temperature: request.temperature.map(decimal),
        top_p: request.top_p.map(decimal),
        stop_sequences: Some(request.stop.as_slice()).filter(|stop| !stop.is_empty()),
    };
    (config != InferenceConfig::default()).then_some(config)
}

/// Returns the number that a person would write, which widening alone does not give.
fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

fn tool_config(
    request: &Request,
    softened: Option<Feature>,
    point: Option<CachePoint>,
) -> Option<ToolConfig<'_>> {
    if !request.offers_tools() {
        return None;
    }
    let theirs = request.provider_tools.iter().map(Tool::Theirs);
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(Tool::of).chain(theirs).collect();
    tools.extend(point.map(Tool::CachePoint));
    let choice = match &request.tool_choice {
        _ if softened.is_some() => None,
        // The default, which some models refuse to hear.
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Any => Some(Choice::Any {}),
        ToolChoice::Named(name) => Some(Choice::Tool { name }),
    };
    Some(ToolConfig { tools, choice })
}

fn output_config(request: &Request) -> Option<OutputConfig<'_>> {
    let output = request.output.as_ref()?;
    Some(OutputConfig { text_format: Format::of(&output.name, output.schema.to_string()) })
}

fn check_metadata(request: &Request) -> Result<(), EncodeError> {
    let fits = |text: &str| {
        let plain =
            |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || ":_@$#=/+,-.".contains(c);
        text.len() <= METADATA_LENGTH && text.chars().all(plain)
    };
    let all = request.metadata.iter().all(|(name, value)| !name.is_empty() && fits(name) && fits(value));
    match all && request.metadata.len() <= METADATA_LIMIT {
        true => Ok(()),
        false => Err(EncodeError::Unsupported {
            wire: NAME,
            what: "more than 16 labels, labels of more than 256 characters, or with others than letters, digits, white \
                   space and :_@$#=/+,-.",
        }),
    }
}

fn check_last(rest: &List<'_>, lead: usize) -> Result<(), EncodeError> {
    match rest.clone().next_back() {
        Some(last) if last.role == Role::Assistant && last.stop != Some(StopReason::Pause) => {
            Err(EncodeError::LastIsAssistant { node: Place::of(lead + rest.len() - 1, last) })
        }
        _ => Ok(()),
    }
}

/// Says whether a choice is only asked for: Converse has no `none`, and Claude is not forced while it reasons by budget.
fn softened(
    request: &Request,
    model: Model,
    fields: &Map<String, Value>,
) -> Result<Option<Feature>, EncodeError> {
    let by_budget = model.is_claude()
        && fields
            .get("thinking")
            .is_some_and(|thinking| thinking.get("type") == Some(&Value::from("enabled")));
    let feature = match request.tool_choice {
        ToolChoice::None if !model.is_claude() && request.offers_tools() => Feature::ChoiceNone,
        ToolChoice::Any if by_budget => Feature::ChoiceAny,
        ToolChoice::Named(_) if by_budget => Feature::ChoiceNamed,
        _ => return Ok(None),
    };
    match request.soft_choice {
        true => Ok(Some(feature)),
        false => {
            Err(EncodeError::Unsupported { wire: NAME, what: "reasoning together with a forced tool choice" })
        }
    }
}

/// Writes messages as the wire wants them: what one side says in a row is one.
struct Messages {
    claude: bool,
    tools: bool,
}

impl WriteRound for Messages {
    fn key(&self) -> String {
        format!("{NAME} claude={} tools={}", self.claude, self.tools)
    }

    fn pairing(&self) -> shape::After {
        shape::After::Message
    }

    fn takes_name(&self, name: &str) -> bool {
        is_name(name)
    }

    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
        let places: Vec<(Place, &Message)> = round.places().collect();
        for said in places.chunk_by(|(_, one), (_, next)| role(one) == role(next)) {
            let role = said.first().map_or("user", |(_, message)| role(message));
            out.begin().extend_from_slice(format!("{{\"role\":\"{role}\",\"content\":[").as_bytes());
            out.no_tail();
            let contents = || said.iter().flat_map(|(_, message)| &message.content);
            let mut wordless = !contents().any(|content| matches!(content, Content::Text { .. }));
            let mut first = true;
            let mut mark = None;
            for (node, message) in said {
                for (number, content) in message.content.iter().enumerate() {
                    // It was put where it belongs, or what it belonged to is gone.
                    if beside::read(content, NAME).is_some() {
                        continue;
                    }
                    let mut begin = |out: &mut Out<'_>| {
                        if !std::mem::replace(&mut first, false) {
                            out.bytes().push(b',');
                        }
                    };
                    if wordless && matches!(content, Content::Document(_)) {
                        wordless = false;
                        begin(out);
                        shape::write(out.bytes(), &Known::Text(WORDS_BESIDE_DOCUMENTS))?;
                    }
                    begin(out);
                    let rest = message.content.get(number + 1..).unwrap_or_default();
                    let block = match content {
                        Content::Text { text } => cited(text, beside::of_next(rest, beside::Of::Text, NAME)),
                        _ => self.block(content, *node, number)?,
                    };
                    shape::write(out.bytes(), &block)?;
                    match (&block, content) {
                        (Block::Raw(raw), _) if is_cache_point(raw.get()) => {
                            out.carries_mark();
                            mark = None;
                        }
                        // A breakpoint right behind a document is refused, unless it is a PDF.
                        (_, Content::Document(_)) => {}
                        _ => mark = Some(out.bytes().len()),
                    }
                }
            }
            if role == "user" {
                mark.into_iter().for_each(|at| out.mark_at(at));
                // Models other than Claude refuse words beside results.
                let takes_words = self.claude || !contents().any(|content| content.as_result().is_some());
                if takes_words && !first {
                    let end = out.bytes().len();
                    out.tail_at(end);
                }
            }
            out.bytes().extend_from_slice(b"]}");
        }
        Ok(())
    }
}

/// Whether the wire takes the name of a tool.
fn is_name(name: &str) -> bool {
    // From the service's own model (botocore 1.44.5).
    shape::is_word(name, 64)
}

impl Messages {
    fn block<'a>(&self, content: &'a Content, node: Place, number: usize) -> Result<Block<'a>, EncodeError> {
        let known = match content {
            Content::Text { text } => Known::Text(text),
            Content::Thinking { text, signature } => {
                let signature = signature.as_deref().filter(|signature| !signature.is_empty());
                if self.claude && signature.is_none() {
                    return Err(EncodeError::UnsignedThinking { node });
                }
                Known::ReasoningContent(Reasoning::ReasoningText { text, signature })
            }
            Content::RedactedThinking { data } => Known::ReasoningContent(Reasoning::RedactedContent(data)),
            Content::Image(media) => image(media, node)?,
            Content::Document(media) => document(media, node, number, 0)?,
            Content::ToolCall(_) if !self.tools => {
                return Err(needs_tools("a call without tools on offer", node));
            }
            Content::ToolCall(call) if is_id(&call.id) => {
                let input = shape::arguments(call, node)?;
                Known::ToolUse { tool_use_id: &call.id, name: &call.name, input }
            }
            Content::ToolCall(call) => return Err(EncodeError::CallId { call: call.id.clone(), node }),
            Content::ToolResult(_) if !self.tools => {
                return Err(needs_tools("a result without tools on offer", node));
            }
            Content::ToolResult(result) => result_block(result, node, number)?,
            Content::ServerCall { .. } | Content::ServerResult { .. } => {
                return Err(EncodeError::UnsupportedBlock {
                    wire: NAME,
                    block: shape::name_of(content),
                    node,
                });
            }
            Content::Opaque { wire, .. } if wire != NAME => {
                return Err(EncodeError::ForeignBlock { wire: NAME, node });
            }
            Content::Opaque { json, .. } => return Ok(Block::Raw(shape::raw(json, NAME, node)?)),
        };
        Ok(Block::Known(known))
    }
}

/// "The toolConfig field must be defined when using toolUse and toolResult content blocks." (quoted by users, 2026)
fn needs_tools(block: &'static str, node: Place) -> EncodeError {
    EncodeError::UnsupportedBlock { wire: NAME, block, node }
}

/// Instructions may stand among the messages too (from the service's own model), where models take them.
fn role(message: &Message) -> &'static str {
    match message.role {
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
        Role::System => "system",
    }
}

/// Words with the places that they were taken from are a block of another kind. It keeps the pieces that they came in.
fn cited<'a>(text: &'a str, mut beside: beside::Members<'a>) -> Block<'a> {
    if beside.is_empty() {
        return Block::Known(Known::Text(text));
    }
    let pieces = beside.remove("content").and_then(|pieces| {
        let pieces: Vec<CitedText<'a>> = serde_json::from_str(pieces.get()).ok()?;
        (pieces.iter().map(|piece| piece.text.as_ref()).collect::<String>() == text).then_some(pieces)
    });
    let content = pieces.unwrap_or_else(|| vec![CitedText { text: text.into() }]);
    Block::Known(Known::CitationsContent { content, beside })
}

fn text_block(text: &str, node: Place) -> Result<Known<'_>, EncodeError> {
    if text.trim().is_empty() {
        return Err(EncodeError::BlankText { node });
    }
    Ok(Known::Text(text))
}

fn result_block(result: &ToolResult, node: Place, number: usize) -> Result<Known<'_>, EncodeError> {
    // "The content field at … cannot be empty when status value is error" (quoted by users, 2026).
    if result.is_error && result.content.is_empty() {
        return Err(EncodeError::BlankText { node });
    }
    let mut content = Vec::with_capacity(result.content.len());
    for (part, place) in result.content.iter().zip(1..) {
        content.push(Block::Known(match part {
            Part::Text { text } => Known::Text(text),
            Part::Image(media) => image(media, node)?,
            Part::Document(media) => document(media, node, number, place)?,
            Part::Opaque { wire, json } if wire == NAME => {
                content.push(Block::Raw(shape::raw(json, NAME, node)?));
                continue;
            }
            Part::Opaque { .. } => return Err(EncodeError::ForeignBlock { wire: NAME, node }),
        }));
    }
    let status = result.is_error.then_some("error");
    Ok(Known::ToolResult { tool_use_id: &result.call_id, content, status })
}

fn image(media: &Media, node: Place) -> Result<Known<'_>, EncodeError> {
    let format = match essence(media).as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => return Err(unsupported("an image of this type", node)),
    };
    Ok(Known::Image(MediaBlock {
        format,
        name: None,
        source: source(media, "an image by its address", node)?,
    }))
}

/// The name must be unique, and may hold letters, digits, hyphens and little else.
fn document(media: &Media, node: Place, number: usize, part: usize) -> Result<Known<'_>, EncodeError> {
    let format = match essence(media).as_str() {
        "application/pdf" => "pdf",
        "text/csv" => "csv",
        "application/msword" => "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "application/vnd.ms-excel" => "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        "text/html" => "html",
        "text/markdown" => "md",
        "application/json" | "application/xml" => "txt",
        text if text.starts_with("text/") => "txt",
        _ => return Err(unsupported("a document of this type", node)),
    };
    let source = source(media, "a document by its address", node)?;
    let name = format!("document-{}-{number}-{part}", node.index);
    Ok(Known::Document(MediaBlock { format, name: Some(name), source }))
}

/// Returns the media type without parameters, in lower case.
fn essence(media: &Media) -> String {
    media.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn source<'a>(media: &'a Media, block: &'static str, node: Place) -> Result<Source<'a>, EncodeError> {
    match &media.source {
        MediaSource::Base64(data) => Ok(Source::Bytes(data)),
        MediaSource::Url(uri) if uri.starts_with("s3://") => Ok(Source::S3Location { uri }),
        MediaSource::Url(_) => Err(unsupported(block, node)),
    }
}

fn unsupported(block: &'static str, node: Place) -> EncodeError {
    EncodeError::UnsupportedBlock { wire: NAME, block, node }
}

/// From the service's own model.
fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-');
    (1..=64).contains(&id.len()) && id.bytes().all(plain)
}

fn is_cache_point(raw: &str) -> bool {
    serde_json::from_str::<CacheHolder>(raw).is_ok_and(|block| block.cache_point.is_some())
}
