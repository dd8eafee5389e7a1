//! Chat Completions requests of OpenAI and of those who follow it.

use serde_json::Value;
use trunkline_message_tree::{Content, Part, Role, ToolCall, ToolChoice};
use trunkline_providers::openai_chat::ReasoningField;
use trunkline_providers::{Cache, Dialect, OutputSchema, Thinking as Asked};
use trunkline_sanitize::Thinking;

use super::fields::{Fields, effort, tool};
use super::history::{self, Beside, History, Read, Reading, each, is_filled, text_of};

const WIRE: &str = "openai-chat";
// What the reader takes of a message.
const MESSAGE: [&str; 7] =
    ["role", "content", "tool_calls", "function_call", "reasoning", "reasoning_content", "reasoning_details"];

/// Reads a request.
pub(super) fn read(body: &Value, dialect: &Dialect) -> Read<Reading> {
    let asked = !body["reasoning"].is_null() || !body["reasoning_effort"].is_null();
    let thinking = match body["thinking"]["type"].as_str() {
        Some("disabled") => Thinking::Off,
        Some(_) => Thinking::On,
        // DeepSeek's newer models think unless they are told not to (recorded).
        None if asked || body["model"].as_str().is_some_and(|model| model.starts_with("deepseek")) => {
            Thinking::On
        }
        None => Thinking::Off,
    };
    let choice = &body["tool_choice"];
    let forced = choice.is_object() || matches!(choice.as_str(), Some("required" | "any"));
    let facts = history::facts(thinking, forced, Some(is_filled(&body["tools"])));
    let mut history = History { facts, ..History::default() };
    for message in each(&body["messages"]) {
        let mut content = words(&message["content"])?;
        let role = message["role"].as_str();
        if !matches!(role, Some("tool" | "function")) {
            let more = history::others(message, &MESSAGE);
            content.extend(history::beside(WIRE, Beside::Message, more));
        }
        match role {
            Some("system" | "developer") => history.push(Role::System, content),
            Some("user") => history.push(Role::User, content),
            Some("assistant") => {
                let mut said = assistant(message, content)?;
                // Content that is null beside nothing else are no words at all.
                if said.is_empty() {
                    said.push(Content::text(""));
                }
                history.push(Role::Assistant, said);
            }
            Some("tool") => {
                let parts = match message["content"].as_array() {
                    None => content.into_iter().map(history::part).collect(),
                    Some(list) => list.iter().map(result_part).collect::<Read<_>>()?,
                };
                history.push_result(&text_of(&message["tool_call_id"])?, parts, false);
            }
            // The form before there were ids: the call had its name and nothing else.
            Some("function") => {
                let parts = content.into_iter().map(history::part).collect();
                history.push_result(&text_of(&message["name"])?, parts, false);
            }
            _ => return Err(format!("a message of role {}", message["role"])),
        }
    }
    Ok(settings(body, dialect, history))
}

fn settings(body: &Value, dialect: &Dialect, history: History) -> Reading {
    let mut reading = Reading::of(history);
    let request = &mut reading.settings;
    let mut fields = Fields::of(body);
    fields.take("messages");
    request.model = fields.text("model").unwrap_or_default();
    request.max_output_tokens = fields.whole("max_completion_tokens").or_else(|| fields.whole("max_tokens"));
    request.temperature = fields.number("temperature");
    request.top_p = fields.number("top_p");
    request.frequency_penalty = fields.number("frequency_penalty");
    request.presence_penalty = fields.number("presence_penalty");
    // What this dialect has no word for stays as it was recorded.
    request.seed = dialect.seed.and_then(|name| fields.read(name, Value::as_u64));
    request.top_k = dialect.top_k.then(|| fields.whole("top_k")).flatten();
    request.stop = fields.texts("stop").unwrap_or_default();
    request.stream = fields.switch("stream").unwrap_or_default();
    let usage = |options: &Value| *options == serde_json::json!({"include_usage": true});
    let _ours = fields.read("stream_options", |options| usage(options).then_some(()));
    request.service_tier = dialect.service_tier.then(|| fields.text("service_tier")).flatten();
    request.user = dialect.user.and_then(|name| fields.text(name));
    request.metadata = dialect.metadata.then(|| fields.labels("metadata")).flatten().unwrap_or_default();
    request.cache_key = dialect.cache_key.then(|| fields.text("prompt_cache_key")).flatten();
    request.cache = cache(body, &mut fields, dialect);
    let read = |one: &Value| {
        let mut named = Fields::of(one);
        let ours = matches!(named.text("type").as_deref(), None | Some("function"));
        let spec = tool(&named.take("function")?, "parameters")?;
        (ours && named.is_empty()).then_some(spec)
    };
    fields.tools("tools", read, request);
    let read = |choice: &Value| {
        Some(match choice.as_str() {
            Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            // Mistral's word.
            Some("required" | "any") => ToolChoice::Any,
            _ => ToolChoice::Named(choice["function"]["name"].as_str()?.to_owned()),
        })
    };
    fields.choice("tool_choice", read, request);
    if !request.tools.is_empty() || !request.provider_tools.is_empty() {
        request.parallel_calls = fields.switch("parallel_tool_calls");
    }
    request.output = dialect.output_schema.then(|| fields.read("response_format", schema)).flatten();
    request.thinking = think(&mut fields, dialect);
    request.extra = fields.rest();
    reading
}

fn schema(format: &Value) -> Option<OutputSchema> {
    let mut form = Fields::of(&format["json_schema"]);
    let schema = form.take("schema").filter(|_| format["type"] == "json_schema")?;
    let mut output = OutputSchema::new(form.text("name")?, schema);
    output.strict = form.switch("strict").unwrap_or_default();
    form.is_empty().then_some(output)
}

fn cache(body: &Value, fields: &mut Fields, dialect: &Dialect) -> Cache {
    let text = body["messages"].to_string();
    let day = |kept: &Value| (*kept == "24h").then_some(());
    match () {
        _ if dialect.cache_key && fields.read("prompt_cache_retention", day).is_some() => Cache::Long,
        _ if !dialect.cache_breakpoints || !text.contains("\"cache_control\":{") => Cache::Off,
        _ if text.contains("\"ttl\":\"1h\"") => Cache::Long,
        _ => Cache::Short,
    }
}

/// Reads what is said about reasoning, as far as our model has a word for it in this dialect.
fn think(fields: &mut Fields, dialect: &Dialect) -> Asked {
    match dialect.reasoning {
        ReasoningField::Effort => {
            let said = fields.read("reasoning_effort", |said| match said.as_str() {
                Some("none") => Some(Asked::Off),
                _ => effort(said).map(Asked::Effort),
            });
            said.unwrap_or_default()
        }
        ReasoningField::Switch => {
            let is = |kind: &str| {
                let switch = serde_json::json!({"type": kind});
                move |said: &Value| (*said == switch).then_some(())
            };
            if fields.read("thinking", is("disabled")).is_some() {
                return Asked::Off;
            }
            // Our word says both that it reasons and how hard; who says one of the two says it in the service's own words.
            let both = fields.has("thinking") && fields.has("reasoning_effort");
            let enabled = both && fields.read("thinking", is("enabled")).is_some();
            if !enabled {
                return Asked::Unsaid;
            }
            match fields.read("reasoning_effort", effort) {
                Some(effort) => Asked::Effort(effort),
                None => {
                    fields.put("thinking", serde_json::json!({"type": "enabled"}));
                    Asked::Unsaid
                }
            }
        }
        ReasoningField::Budget => {
            let mut reasoning = Fields::of(&fields.take("reasoning").unwrap_or_default());
            let off = |enabled: &Value| (*enabled == Value::Bool(false)).then_some(Asked::Off);
            let said = reasoning
                .read("effort", effort)
                .map(Asked::Effort)
                .or_else(|| reasoning.whole("max_tokens").map(Asked::Budget))
                .or_else(|| reasoning.read("enabled", off));
            // What else is said beside it wins member by member.
            if !reasoning.is_empty() {
                fields.put("reasoning", Value::Object(reasoning.rest()));
            }
            said.unwrap_or_default()
        }
        _ => Asked::Unsaid,
    }
}

fn assistant(message: &Value, words: Vec<Content>) -> Read<Vec<Content>> {
    let mut content = Vec::new();
    let reasoning = message["reasoning_content"].as_str().or_else(|| message["reasoning"].as_str());
    if let Some(text) = reasoning {
        content.push(Content::Thinking { text: text.to_owned(), signature: None });
    }
    let details = &message["reasoning_details"];
    if is_filled(details) {
        let block = serde_json::json!({"type": "reasoning", "reasoning_details": details});
        content.push(history::opaque(WIRE, &block));
    }
    // Beside calls the empty string says no more than `null`; the encoder writes it, a model did not.
    let calls = is_filled(&message["tool_calls"]);
    content.extend(words.into_iter().filter(|block| !calls || *block != Content::text("")));
    let older = &message["function_call"];
    if older.is_object() && !calls {
        let (id, arguments) = (text_of(&older["name"])?, arguments_of(older));
        content.push(Content::ToolCall(ToolCall { name: id.clone(), id, arguments, signature: None }));
    }
    for call in each(&message["tool_calls"]) {
        let (id, function) = (text_of(&call["id"])?, &call["function"]);
        let arguments = arguments_of(function);
        let name = text_of(&function["name"])?;
        content.push(Content::ToolCall(ToolCall { id, name, arguments, signature: None }));
        let more = history::others(call, &["id", "type", "index", "function"]);
        content.extend(history::beside(WIRE, Beside::Call, more));
    }
    Ok(content)
}

fn arguments_of(function: &Value) -> String {
    match &function["arguments"] {
        Value::String(arguments) => arguments.clone(),
        Value::Null => String::new(),
        // A few clients send an object.
        other => other.to_string(),
    }
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
                let more = history::others(one, &["type", "text", "cache_control"]);
                blocks.extend(history::beside(WIRE, Beside::Text, more).filter(|_| words));
            }
            Ok(blocks)
        }
    }
}

/// A part of a result; a text with more than words is carried whole.
fn result_part(one: &Value) -> Read<Part> {
    let more = !history::others(one, &["type", "text", "cache_control"]).is_empty();
    Ok(history::part(match part(one)? {
        Content::Text { .. } if more => history::opaque(WIRE, one),
        block => block,
    }))
}

fn part(part: &Value) -> Read<Content> {
    Ok(match part["type"].as_str() {
        Some("text") => Content::Text { text: text_of(&part["text"])? },
        // With more than an address it is carried as it is.
        Some("image_url") => {
            let mut image = Fields::of(&part["image_url"]);
            let _default = image.read("detail", |detail| (*detail == "auto").then_some(()));
            match image.text("url").filter(|_| image.is_empty()) {
                Some(url) => history::media_at(&url, "image/*"),
                None => history::opaque(WIRE, part),
            }
        }
        _ => history::opaque(WIRE, part),
    })
}
