//! Our request to the body of a Messages request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use trunkline_message_tree::{
    Content, Media, MediaSource, Message, Messages as List, Part, Role, StopReason, ToolChoice, ToolResult,
};

use super::NAME;
use super::shapes::{
    Block, Body, Choice, Format, Known, Marked, Metadata, Offer, OutputConfig, ResultContent, Source, System,
    ThinkingSwitch, Tool,
};
use crate::claude::{claude_version, fitting};
use crate::history::{Inserts, Out, Round, WriteRound};
use crate::request::DEFAULT_MAX_OUTPUT_TOKENS;
use crate::{
    Cache, EncodeError, Feature, HttpRequest, Memo, Place, Request, Thinking, Trait, assemble, beside, shape,
    traits,
};

const LEAST_BUDGET: u32 = 1024;
// "A maximum of 4 blocks with cache_control may be provided. Found 5.", quoted by users in 2026.
const BREAKPOINT_LIMIT: usize = 4;
// The newest user message, where the next request goes on, and the one before it, which is the newest again when this
// one is taken back. The service looks back from each mark for what it knows (Anthropic's documents, read 2026-11).
const NEWEST: usize = 2;
// What a call and its result say of the set that their tool is a member of.
const SET: &str = "toolset_name";

/// Writes the request, or says what is not legal in it.
pub(super) fn request(request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
    let (system, rest) = shape::split_system(&request.messages);
    shape::check_tools(request, NAME, is_name)?;
    request.check_features(NAME, super::support)?;
    let request = &*traits::fitted(request);
    // A model whose version is not known gets what was asked for.
    let version = claude_version(&request.model).filter(|_| request.model.starts_with("claude-"));
    let thinking =
        version.map_or(request.thinking, |version| fitting(request.thinking, version, limit(request)));
    check_settings(request, thinking)?;
    check_first(&rest, system.len())?;
    let unsigned = [Trait::UnsignedReasoning, Trait::ReasoningBesideCalls];
    let unsigned = unsigned.into_iter().any(|one| request.traits.has(one));
    memo.update(&request.messages, system.len(), &Messages { unsigned })?;
    check_last(&rest, system.len())?;

    let softened = softened(request, thinking, memo)?;
    let tail =
        softened.map(|_| format!(",{{\"type\":\"text\",\"text\":{}}}", shape::demand(&request.tool_choice)));
    let (breakpoint, mark) = breakpoint(request.cache);
    // Marks that carried blocks have of their own count, and the deepest of ours are kept.
    let mut left = BREAKPOINT_LIMIT.saturating_sub(memo.carried());
    let marks = memo.places(NEWEST.min(if breakpoint.is_some() { left } else { 0 }));
    left -= marks;
    let system = system_blocks(system, breakpoint.filter(|_| left > 0))?;
    left -= usize::from(!system.is_empty()).min(left);
    let mut tools: Vec<Offer<'_>> = request
        .tools
        .iter()
        .map(|tool| {
            Offer::Ours(Tool {
                name: &tool.name,
                description: &tool.description,
                input_schema: &tool.input_schema,
                strict: tool.strict,
                cache_control: None,
            })
        })
        .collect();
    if let Some(Offer::Ours(tool)) = tools.last_mut().filter(|_| left > 0) {
        tool.cache_control = breakpoint;
    }
    tools.extend(request.provider_tools.iter().map(Offer::Theirs));
    let stop = request.stop.as_slice();
    let body = Body {
        model: Some(request.model.as_str()),
        max_tokens: Some(limit(request)),
        system: Some(system).filter(|blocks| !blocks.is_empty()),
        tool_choice: choice(request, softened.is_some()),
        tools: Some(tools).filter(|tools| !tools.is_empty()),
        thinking: switch(thinking),
        output_config: output_config(request, thinking),
        temperature: request.temperature,
        top_p: request.top_p,
        top_k: request.top_k,
        stop_sequences: Some(stop).filter(|stop| !stop.is_empty()),
        metadata: request.user.as_deref().map(|user_id| Metadata { user_id }),
        service_tier: request.service_tier.as_deref(),
        stream: request.stream.then_some(true),
    };
    let elements = memo.elements(Inserts { mark, marks, lead: false, tail });
    let body = assemble::body(&body, ("messages", elements), &request.extra)?;
    let mut http = HttpRequest::post_json("/v1/messages", body);
    http.softened.extend(softened);
    Ok(http)
}

/// The wire demands one.
fn limit(request: &Request) -> u32 {
    request.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS)
}

/// Returns a breakpoint, and how it is added to a block that is already written.
fn breakpoint(cache: Cache) -> (Option<&'static RawValue>, &'static str) {
    let mark = match cache {
        Cache::Off => return (None, ""),
        Cache::Short => ",\"cache_control\":{\"type\":\"ephemeral\"}",
        Cache::Long => ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}",
    };
    let value = mark.split_once(':').and_then(|(_, value)| serde_json::from_str(value).ok());
    (value, mark)
}

/// Writes the instructions; those that say nothing are left out.
fn system_blocks<'a>(
    system: List<'a>,
    breakpoint: Option<&'a RawValue>,
) -> Result<Vec<System<'a>>, EncodeError> {
    let mut blocks = Vec::new();
    for (index, message) in system.enumerate().filter(|(_, message)| !shape::is_silent(message)) {
        let node = Place::of(index, message);
        for content in &message.content {
            let Content::Text { text } = content else {
                return Err(EncodeError::Misplaced { block: shape::name_of(content), node });
            };
            if text.trim().is_empty() {
                return Err(EncodeError::BlankText { node });
            }
            blocks.push(System { text, cache_control: None });
        }
    }
    if let Some(last) = blocks.last_mut() {
        last.cache_control = breakpoint;
    }
    Ok(blocks)
}

fn choice(request: &Request, softened: bool) -> Option<Choice<'_>> {
    if !request.offers_tools() {
        return None;
    }
    let (kind, name) = match &request.tool_choice {
        _ if softened => ("auto", None),
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Any => ("any", None),
        ToolChoice::Named(name) => ("tool", Some(name.as_str())),
    };
    // `none` has no such switch (Anthropic's client, read 2026-11).
    let disable_parallel_tool_use =
        request.parallel_calls.map(|parallel| !parallel).filter(|_| kind != "none");
    Some(Choice { kind, name, disable_parallel_tool_use })
}

fn switch(thinking: Thinking) -> Option<ThinkingSwitch> {
    let (kind, budget_tokens) = match thinking {
        Thinking::Unsaid => return None,
        Thinking::Off => ("disabled", None),
        Thinking::Budget(budget) => ("enabled", Some(budget)),
        Thinking::Effort(_) => ("adaptive", None),
    };
    Some(ThinkingSwitch { kind, budget_tokens })
}

fn output_config(request: &Request, thinking: Thinking) -> Option<OutputConfig<'_>> {
    let effort = match thinking {
        // There is no `minimal` ("Supported levels: high, low, max, medium", recorded 2026).
        Thinking::Effort(effort) => Some(effort.max(crate::Effort::Low).word()),
        _ => None,
    };
    let format = request.output.as_ref().map(|output| Format { kind: "json_schema", schema: &output.schema });
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

fn check_first(rest: &List<'_>, lead: usize) -> Result<(), EncodeError> {
    match rest.clone().next() {
        None => Err(EncodeError::NoMessages),
        Some(first) if first.role != Role::User => {
            Err(EncodeError::FirstNotUser { node: Place::of(lead, first) })
        }
        _ => Ok(()),
    }
}

fn check_last(rest: &List<'_>, lead: usize) -> Result<(), EncodeError> {
    match rest.clone().next_back() {
        // A turn that the provider paused goes on where it stopped; all else would put words into the model's mouth,
        // which newer models refuse.
        Some(last) if last.role == Role::Assistant && last.stop != Some(StopReason::Pause) => {
            Err(EncodeError::LastIsAssistant { node: Place::of(lead + rest.len() - 1, last) })
        }
        _ => Ok(()),
    }
}

/// Says whether a choice is only asked for: "Thinking may not be enabled when tool_choice forces tool use." (quoted by
/// users, 2026). Adaptive reasoning beside a forced choice is taken (recorded, 2026).
fn softened(request: &Request, thinking: Thinking, memo: &Memo) -> Result<Option<Feature>, EncodeError> {
    let feature = match request.tool_choice {
        ToolChoice::Any => Feature::ChoiceAny,
        ToolChoice::Named(_) => Feature::ChoiceNamed,
        ToolChoice::Auto | ToolChoice::None => return Ok(None),
    };
    match thinking {
        Thinking::Unsaid | Thinking::Off | Thinking::Effort(_) => Ok(None),
        _ if request.soft_choice && memo.has_tail() => Ok(Some(feature)),
        _ => {
            Err(EncodeError::Unsupported { wire: NAME, what: "reasoning together with a forced tool choice" })
        }
    }
}

/// What the service takes beside reasoning, and of it (Anthropic's documents, read 2026-11).
fn check_settings(request: &Request, thinking: Thinking) -> Result<(), EncodeError> {
    let refused = |what| Err(EncodeError::Unsupported { wire: NAME, what });
    if request.stop.iter().any(|stop| stop.trim().is_empty()) {
        return refused("a stop sequence of white space");
    }
    if let Thinking::Budget(budget) = thinking {
        let max_output_tokens = limit(request);
        if budget >= max_output_tokens {
            return Err(EncodeError::ThinkingBudget { budget, max_output_tokens });
        }
        if budget < LEAST_BUDGET {
            return refused("a reasoning budget below 1024 tokens");
        }
        if request.temperature.is_some_and(|temperature| temperature != 1.0) || request.top_k.is_some() {
            return refused("a temperature or top-k beside reasoning");
        }
        if request.top_p.is_some_and(|top_p| top_p < 0.95) {
            return refused("a top-p below 0.95 beside reasoning");
        }
    }
    Ok(())
}

/// Writes messages as the wire wants them: results and the user message after them in one.
struct Messages {
    // Whether reasoning goes back without a signature, to a service that gave it so.
    unsigned: bool,
}

impl WriteRound for Messages {
    fn key(&self) -> String {
        format!("{NAME} {}", self.unsigned)
    }

    fn pairing(&self) -> shape::After {
        shape::After::MessageAndInstructions
    }

    fn takes_name(&self, name: &str) -> bool {
        is_name(name)
    }

    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError> {
        let mut after_results = false;
        let mut mark = None;
        let mut inner = false;
        // The calls of tools that are members of a set, whose results have to name it too.
        let mut sets: Vec<(&str, &RawValue)> = Vec::new();
        for (position, (node, message)) in round.places().enumerate() {
            if !after_results {
                let role = role(message.role);
                out.begin().extend_from_slice(format!("{{\"role\":\"{role}\",\"content\":[").as_bytes());
                out.no_tail();
                mark = None;
                inner = false;
            }
            let mut beside_message = beside::Members::new();
            for (number, content) in message.content.iter().enumerate() {
                match beside::read(content, NAME) {
                    Some((beside::Of::Message, members)) => {
                        beside_message = members;
                        continue;
                    }
                    // It was put where it belongs, or what it belonged to is gone.
                    Some(_) => continue,
                    None => {}
                }
                if std::mem::replace(&mut inner, true) {
                    out.bytes().push(b',');
                }
                let block = block(content, message, node, self.unsigned)?;
                shape::write(out.bytes(), &block)?;
                let rest = message.content.get(number + 1..).unwrap_or_default();
                let of = if content.as_call().is_some() { beside::Of::Call } else { beside::Of::Text };
                let beside = match &block {
                    Block::Known(Known::Text { .. }) => beside::of_next(rest, of, NAME),
                    Block::Known(Known::ToolUse { id, .. }) => {
                        let beside = beside::of_next(rest, of, NAME);
                        sets.extend(beside.get(SET).map(|set| (*id, *set)));
                        beside
                    }
                    Block::Known(Known::ToolResult { tool_use_id, .. }) => {
                        let set = sets.iter().find(|(id, _)| id == tool_use_id);
                        set.into_iter().map(|(_, set)| (SET.into(), *set)).collect()
                    }
                    Block::Known(_) | Block::Raw(_) => beside::Members::new(),
                };
                beside::splice(out.bytes(), &beside)?;
                match &block {
                    Block::Known(known) if known.takes_mark() => mark = Some(out.bytes().len() - 1),
                    Block::Raw(raw) if is_marked(raw) => out.carries_mark(),
                    _ => {}
                }
            }
            let next = round.messages.get(position + 1);
            let joined = message.role == Role::Tool && next.is_some_and(|next| is_user_side(next));
            if message.role != Role::Assistant && message.role != Role::System {
                let end = out.bytes().len();
                if inner {
                    out.tail_at(end);
                }
                mark.filter(|_| !joined).into_iter().for_each(|at| out.mark_at(at));
            }
            if !joined {
                out.bytes().extend_from_slice(b"]}");
                beside::splice(out.bytes(), &beside_message)?;
            }
            after_results = joined;
        }
        Ok(())
    }
}

/// Whether the wire takes the name of a tool.
fn is_name(name: &str) -> bool {
    // `^[a-zA-Z0-9_-]{1,128}$` (its error text, read 2026-11).
    shape::is_word(name, 128)
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

fn block<'a>(
    content: &'a Content,
    message: &Message,
    node: Place,
    unsigned: bool,
) -> Result<Block<'a>, EncodeError> {
    let known = match content {
        // White space beside a call was seen to be accepted in recorded requests; the models write it themselves.
        Content::Text { text } if !text.is_empty() && message.calls().next().is_some() => {
            Known::Text { text }
        }
        Content::Text { text } => text_block(text, node)?,
        Content::Thinking { text, signature: Some(signature) } if !signature.is_empty() => {
            Known::Thinking { thinking: text, signature }
        }
        // The field is there all the same, and empty, as where such services give it.
        Content::Thinking { text, .. } if unsigned => Known::Thinking { thinking: text, signature: "" },
        Content::Thinking { .. } => return Err(EncodeError::UnsignedThinking { node }),
        Content::RedactedThinking { data } => Known::RedactedThinking { data },
        Content::Image(media) => Known::Image { source: source(media) },
        Content::Document(media) => Known::Document { source: document(media) },
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
    Ok(Known::Text { text })
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
                    Part::Image(media) => Known::Image { source: source(media) },
                    Part::Document(media) => Known::Document { source: document(media) },
                    Part::Opaque { wire, json } if wire == NAME => {
                        blocks.push(Block::Raw(shape::raw(json, NAME, node)?));
                        continue;
                    }
                    Part::Opaque { .. } => return Err(EncodeError::ForeignBlock { wire: NAME, node }),
                }));
            }
            Some(ResultContent::Blocks(blocks))
        }
    };
    Ok(Known::ToolResult { tool_use_id: &result.call_id, content, is_error: result.is_error })
}

/// Text travels as text here: of other documents the wire takes PDF only.
fn document(media: &Media) -> Source<'_> {
    let words = match &media.source {
        MediaSource::Base64(data) if media.media_type.starts_with("text/") => STANDARD.decode(data).ok(),
        _ => None,
    };
    match words.and_then(|words| String::from_utf8(words).ok()) {
        Some(data) => Source::Text { media_type: "text/plain", data },
        None => source(media),
    }
}

fn source(media: &Media) -> Source<'_> {
    // What many programs call it; the wire knows the registered name only.
    let media_type = if media.media_type == "image/jpg" { "image/jpeg" } else { &media.media_type };
    match &media.source {
        MediaSource::Base64(data) => Source::Base64 { media_type, data },
        MediaSource::Url(url) => Source::Url { url },
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_marked(raw: &RawValue) -> bool {
    let block = serde_json::from_str::<Marked>(raw.get());
    block.is_ok_and(|block| block.cache_control.is_some())
}
