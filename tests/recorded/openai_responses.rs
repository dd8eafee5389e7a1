//! Responses requests of OpenAI and of those who follow it.
//!
//! The items of one turn of the model become one assistant message: calls, words and opaque reasoning before what it
//! belongs to.

use serde_json::Value;
use trunkline_message_tree::{Content, Part, Role, ToolCall, ToolChoice};
use trunkline_providers::{Cache, OutputSchema, Thinking as Asked};
use trunkline_sanitize::Thinking;

use super::fields::{Fields, effort, tool};
use super::history::{self, Beside, History, Read, Reading, each, is_filled, text_of};

const WIRE: &str = "openai-responses";

/// Reads a request.
pub(super) fn read(body: &Value) -> Read<Reading> {
    let thinking = if body["reasoning"].is_null() { Thinking::Off } else { Thinking::On };
    let choice = &body["tool_choice"];
    let forced = choice.is_object() || choice.as_str() == Some("required");
    let facts = history::facts(thinking, forced, Some(is_filled(&body["tools"])));
    let mut history = History { facts, ..History::default() };
    if let Some(text) = body["instructions"].as_str().filter(|text| !text.is_empty()) {
        history.push(Role::System, vec![Content::text(text)]);
    }
    if let Some(text) = body["input"].as_str() {
        history.push(Role::User, vec![Content::text(text)]);
    }
    let mut turn = Vec::new();
    for item in each(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        let said = match (kind, item["role"].as_str()) {
            ("message", Some("assistant")) => assistant(item)?,
            ("function_call", _) => call(item)?,
            _ if is_of_the_model(kind) => vec![history::opaque(WIRE, item)],
            _ => Vec::new(),
        };
        if !said.is_empty() {
            turn.extend(said);
            continue;
        }
        if !turn.is_empty() {
            history.push(Role::Assistant, std::mem::take(&mut turn));
        }
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => history.push(Role::User, words(&item["content"])?),
            ("message", Some("system" | "developer")) => {
                history.push(Role::System, words(&item["content"])?);
            }
            // An assistant message without a word.
            ("message", Some("assistant")) => {}
            ("function_call_output", _) => {
                let parts = output(&item["output"])?;
                history.push_result(&text_of(&item["call_id"])?, parts, false);
            }
            ("message", _) => return Err(format!("a message of role {}", item["role"])),
            // An answer to an item that we only carry; between calls and their results nothing may stand.
            _ if history.has_open_call() => match history.messages.last_mut() {
                Some(last) if last.role == Role::Assistant => last.content.push(history::opaque(WIRE, item)),
                _ => return Err(format!("an item {kind:?} between the results of calls")),
            },
            _ => history.push(Role::User, vec![history::opaque(WIRE, item)]),
        }
    }
    if !turn.is_empty() {
        history.push(Role::Assistant, turn);
    }
    Ok(settings(body, history))
}

/// Whether the model or its provider writes such items, so that they belong to its turn.
fn is_of_the_model(kind: &str) -> bool {
    let answered_by_us =
        ["custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"];
    matches!(
        kind,
        "reasoning" | "compaction" | "mcp_list_tools" | "mcp_approval_request" | "tool_search_output"
    ) || answered_by_us.contains(&kind)
        || kind.ends_with("_call")
}

fn settings(body: &Value, history: History) -> Reading {
    let mut reading = Reading::of(history);
    reading.kept_by_service = !body["previous_response_id"].is_null() || !body["conversation"].is_null();
    let request = &mut reading.settings;
    let mut fields = Fields::of(body);
    fields.take("input");
    fields.take("instructions");
    request.model = fields.text("model").unwrap_or_default();
    request.max_output_tokens = fields.whole("max_output_tokens");
    request.temperature = fields.number("temperature");
    request.top_p = fields.number("top_p");
    request.stream = fields.switch("stream").unwrap_or_default();
    request.service_tier = fields.text("service_tier");
    request.user = fields.text("safety_identifier");
    let day = fields.read("prompt_cache_retention", |kept| (*kept == "24h").then_some(Cache::Long));
    request.cache = day.unwrap_or(Cache::Off);
    request.metadata = fields.labels("metadata").unwrap_or_default();
    request.cache_key = fields.text("prompt_cache_key");
    // What we ask for ourselves.
    let _ours = fields.read("store", |store| (*store == Value::Bool(false)).then_some(()));
    let ours = serde_json::json!(["reasoning.encrypted_content"]);
    let _ours = fields.read("include", |include| (*include == ours).then_some(()));
    let read = |one: &Value| {
        let mut named = Fields::of(one);
        let ours = named.text("type").as_deref() == Some("function");
        tool(&Value::Object(named.rest()), "parameters").filter(|_| ours)
    };
    fields.tools("tools", read, request);
    let read = |choice: &Value| {
        Some(match choice.as_str() {
            Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Any,
            _ if choice["type"] == "function" => ToolChoice::Named(choice["name"].as_str()?.to_owned()),
            _ => return None,
        })
    };
    fields.choice("tool_choice", read, request);
    if !request.tools.is_empty() || !request.provider_tools.is_empty() {
        request.parallel_calls = fields.switch("parallel_tool_calls");
    }
    // What stands beside our words in an object wins member by member.
    let mut reasoning = Fields::of(&fields.take("reasoning").unwrap_or_default());
    let said = reasoning.read("effort", |said| match said.as_str() {
        Some("none") => Some(Asked::Off),
        _ => effort(said).map(Asked::Effort),
    });
    request.thinking = said.unwrap_or_default();
    let mut text = Fields::of(&fields.take("text").unwrap_or_default());
    request.output = text.read("format", |format| {
        let mut form = Fields::of(format);
        let ours = form.text("type").as_deref() == Some("json_schema");
        let mut output = OutputSchema::new(form.text("name")?, form.take("schema")?);
        output.strict = form.switch("strict").unwrap_or_default();
        (ours && form.is_empty()).then_some(output)
    });
    for (name, left) in [("reasoning", reasoning), ("text", text)] {
        if !left.is_empty() {
            fields.put(name, Value::Object(left.rest()));
        }
    }
    request.extra = fields.rest();
    reading
}

fn call(item: &Value) -> Read<Vec<Content>> {
    let (id, name) = (text_of(&item["call_id"])?, text_of(&item["name"])?);
    let arguments = text_of(&item["arguments"])?;
    let known = ["type", "id", "status", "call_id", "name", "arguments"];
    let beside = history::beside(WIRE, Beside::Call, history::others(item, &known));
    let call = Content::ToolCall(ToolCall { id, name, arguments, signature: None });
    Ok([call].into_iter().chain(beside).collect())
}

/// An assistant message in words; with parts of another kind it is carried whole.
fn assistant(item: &Value) -> Read<Vec<Content>> {
    let plain = |part: &Value| matches!(part["type"].as_str(), Some("output_text" | "input_text" | "text"));
    if !each(&item["content"]).all(plain) {
        return Ok(vec![history::opaque(WIRE, item)]);
    }
    let of_message = history::others(item, &["type", "id", "status", "role", "content"]);
    let mut blocks = Vec::new();
    for block in words(&item["content"])? {
        let members = match &block {
            Content::Text { .. } => None,
            beside => Some(beside.clone()),
        };
        match members {
            None => {
                blocks.push(block);
                blocks.extend(history::beside(WIRE, Beside::Text, of_message.clone()));
            }
            // What belongs to the part and what belongs to the message stand together.
            Some(Content::Opaque { json, .. }) => {
                let mut both: Value = serde_json::from_str(&json).unwrap_or_default();
                if let Some(members) = both["besideText"].as_object_mut() {
                    members.extend(of_message.clone());
                }
                if !of_message.is_empty() {
                    blocks.pop();
                }
                blocks.push(history::opaque(WIRE, &both));
            }
            Some(other) => blocks.push(other),
        }
    }
    Ok(blocks)
}

fn words(content: &Value) -> Read<Vec<Content>> {
    match content.as_str() {
        Some(text) => Ok(vec![Content::text(text)]),
        None => {
            let mut blocks = Vec::new();
            for one in each(content) {
                let block = part(one)?;
                let words = matches!(block, Content::Text { .. });
                blocks.push(block);
                let beside = history::beside(WIRE, Beside::Text, history::others(one, &["type", "text"]));
                blocks.extend(beside.filter(|_| words));
            }
            Ok(blocks)
        }
    }
}

/// The parts of an output; a text with more than words is carried whole.
fn output(content: &Value) -> Read<Vec<Part>> {
    if content.is_string() {
        return Ok(words(content)?.into_iter().map(history::part).collect());
    }
    let more = |one: &Value| !history::others(one, &["type", "text"]).is_empty();
    let one = |one: &Value| match part(one)? {
        Content::Text { .. } if more(one) => Ok(history::part(history::opaque(WIRE, one))),
        block => Ok(history::part(block)),
    };
    each(content).map(one).collect()
}

/// A file with a name, or a picture in some detail, is carried as it is.
fn part(part: &Value) -> Read<Content> {
    let mut fields = Fields::of(part);
    let kind = fields.text("type").unwrap_or_default();
    if matches!(kind.as_str(), "input_text" | "output_text" | "text") {
        return Ok(Content::Text { text: text_of(&part["text"])? });
    }
    let _default = fields.read("detail", |detail| (*detail == "auto").then_some(()));
    let address = match kind.as_str() {
        "input_image" => fields.text("image_url").map(|url| (url, "image/*")),
        "input_file" => fields.text("file_url").map(|url| (url, "application/pdf")),
        _ => None,
    };
    Ok(match address.filter(|_| fields.is_empty()) {
        Some((url, media_type)) => history::media_at(&url, media_type),
        None => history::opaque(WIRE, part),
    })
}
