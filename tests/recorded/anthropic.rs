//! Messages requests of Anthropic.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Part, Role, StopReason, ToolChoice};
use trunkline_providers::{Cache, OutputSchema, Request, Thinking as Asked};
use trunkline_sanitize::Thinking;

use super::fields::{Fields, effort, tool};
use super::history::{self, Beside, History, Read, Reading, each, is_filled, text_of};

const WIRE: &str = "anthropic";

/// Reads a request.
pub(super) fn read(body: &Value) -> Read<Reading> {
    let thinking = match body["thinking"]["type"].as_str() {
        Some("enabled") => Thinking::On,
        Some("adaptive") => Thinking::Adaptive,
        _ => Thinking::Off,
    };
    let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
    let facts = history::facts(thinking, forced, Some(is_filled(&body["tools"])));
    let mut history = History { facts, ..History::default() };
    if !body["system"].is_null() {
        history.push(Role::System, blocks(&body["system"])?);
    }
    for message in each(&body["messages"]) {
        let content = blocks(&message["content"])?;
        match message["role"].as_str() {
            Some("system") => history.push(Role::System, content),
            Some("assistant") => history.push(Role::Assistant, content),
            Some("user") => push_user(&mut history, content),
            _ => return Err(format!("a message of role {}", message["role"])),
        }
        // Instructions in the middle may say for how long, and with what effort, they are meant.
        if message["role"] == "system"
            && let Some(last) = history.messages.last_mut()
        {
            let more = history::others(message, &["role", "content"]);
            last.content.extend(history::beside(WIRE, Beside::Message, more));
        }
    }
    mark_pause(&mut history);
    Ok(settings(body, history))
}

/// A conversation may end with the model's words if its provider paused there; the recording of the request alone does
/// not say so, but the blocks of the provider's own tools do.
fn mark_pause(history: &mut History) {
    let Some(last) = history.messages.last_mut() else { return };
    let server = |block: &Content| matches!(block, Content::ServerCall { .. } | Content::ServerResult { .. });
    if last.role == Role::Assistant && last.content.iter().any(server) {
        last.stop = Some(StopReason::Pause);
    }
}

fn settings(body: &Value, history: History) -> Reading {
    let mut reading = Reading::of(history);
    let request = &mut reading.settings;
    let mut fields = Fields::of(body);
    fields.take("system");
    fields.take("messages");
    request.model = fields.text("model").unwrap_or_default();
    request.max_output_tokens = fields.whole("max_tokens");
    request.temperature = fields.number("temperature");
    request.top_p = fields.number("top_p");
    request.top_k = fields.whole("top_k");
    request.stop = fields.texts("stop_sequences").unwrap_or_default();
    request.stream = fields.switch("stream").unwrap_or_default();
    request.service_tier = fields.text("service_tier");
    request.user = fields.read("metadata", |labels| {
        let mut labels = Fields::of(labels);
        labels.text("user_id").filter(|_| labels.is_empty())
    });
    let read = |one: &Value| {
        let mut named = Fields::of(one);
        let ours = matches!(named.text("type").as_deref(), None | Some("custom"));
        tool(&Value::Object(named.rest()), "input_schema").filter(|_| ours)
    };
    fields.tools("tools", read, request);
    let read = |choice: &Value| {
        Some(match choice["type"].as_str()? {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "any" => ToolChoice::Any,
            "tool" => ToolChoice::Named(choice["name"].as_str()?.to_owned()),
            _ => return None,
        })
    };
    fields.choice("tool_choice", read, request);
    let one_call = body["tool_choice"]["disable_parallel_tool_use"].as_bool();
    request.parallel_calls = one_call.map(|one_call| !one_call);
    think(&mut fields, request);
    let text = body.to_string();
    request.cache = match () {
        _ if !text.contains("\"cache_control\":{") => Cache::Off,
        _ if text.contains("\"ttl\":\"1h\"") => Cache::Long,
        _ => Cache::Short,
    };
    request.extra = fields.rest();
    reading
}

/// Reads what is said about reasoning and about the form of the answer.
fn think(fields: &mut Fields, request: &mut Request) {
    let mut config = Fields::of(&fields.take("output_config").unwrap_or_default());
    request.output = config.read("format", |format| {
        let whole = format["type"] == "json_schema" && format.as_object()?.len() == 2;
        whole.then(|| OutputSchema::new("output", format["schema"].clone()))
    });
    let said = fields.take("thinking").unwrap_or_default();
    let mut thinking = Fields::of(&said);
    request.thinking = match thinking.text("type").as_deref() {
        Some("enabled") => thinking.whole("budget_tokens").map_or(Asked::Unsaid, Asked::Budget),
        Some("disabled") => Asked::Off,
        // Our effort is an adaptive model's.
        Some("adaptive") => config.read("effort", effort).map_or(Asked::Unsaid, Asked::Effort),
        _ => Asked::Unsaid,
    };
    // What our word does not say of it goes along whole: it has a type.
    if !said.is_null() && (request.thinking == Asked::Unsaid || !thinking.is_empty()) {
        fields.put("thinking", said);
    }
    if !config.is_empty() {
        fields.put("output_config", Value::Object(config.rest()));
    }
}

/// The results that lead a user message are messages of their own; what follows them stays where it is.
fn push_user(history: &mut History, content: Vec<Content>) {
    let results = content.iter().take_while(|block| block.as_result().is_some()).count();
    let mut content = content;
    let rest = content.split_off(results);
    for result in content {
        history.push(Role::Tool, vec![result]);
    }
    if !rest.is_empty() || results == 0 {
        history.push(Role::User, rest);
    }
}

fn blocks(content: &Value) -> Read<Vec<Content>> {
    match content.as_str() {
        Some(text) => Ok(vec![Content::text(text)]),
        None => {
            let mut blocks = Vec::new();
            for one in each(content) {
                blocks.push(block(one)?);
                blocks.extend(beside(one));
            }
            Ok(blocks)
        }
    }
}

/// What stands in a block beside the words or the call.
fn beside(block: &Value) -> Option<Content> {
    let known = ["type", "text", "cache_control", "id", "name", "input"];
    let of = match block["type"].as_str()? {
        "text" => Beside::Text,
        "tool_use" => Beside::Call,
        _ => return None,
    };
    history::beside(WIRE, of, history::others(block, &known))
}

/// The parts of a result; a text with more than words is carried whole.
fn parts(content: &Value) -> Read<Vec<Part>> {
    if content.is_string() {
        return Ok(blocks(content)?.into_iter().map(history::part).collect());
    }
    let part = |one: &Value| match beside(one) {
        Some(_) => Ok(history::part(history::opaque(WIRE, one))),
        None => block(one).map(history::part),
    };
    each(content).map(part).collect()
}

fn block(block: &Value) -> Read<Content> {
    let kind = block["type"].as_str().unwrap_or_default();
    Ok(match kind {
        "text" => Content::Text { text: text_of(&block["text"])? },
        "thinking" => Content::Thinking {
            text: text_of(&block["thinking"])?,
            signature: block["signature"].as_str().map(str::to_owned),
        },
        "redacted_thinking" => Content::RedactedThinking { data: text_of(&block["data"])? },
        "tool_use" => history::call(text_of(&block["id"])?, &block["name"], &block["input"], None)?,
        "tool_result" => Content::ToolResult(trunkline_message_tree::ToolResult {
            call_id: text_of(&block["tool_use_id"])?,
            content: parts(&block["content"])?,
            is_error: block["is_error"].as_bool().unwrap_or_default(),
        }),
        "image" | "document" => media(block, kind)?,
        "server_tool_use" | "mcp_tool_use" => {
            Content::ServerCall { id: text_of(&block["id"])?, json: block.to_string() }
        }
        _ if kind.ends_with("_tool_result") => {
            Content::ServerResult { call_id: text_of(&block["tool_use_id"])?, json: block.to_string() }
        }
        _ => history::opaque(WIRE, block),
    })
}

/// A document with a title, with citations or as plain text has no word of ours and is carried whole.
fn media(block: &Value, kind: &str) -> Read<Content> {
    let bare = block.as_object().is_some_and(|fields| {
        fields.iter().all(|(name, value)| {
            matches!(name.as_str(), "type" | "source" | "cache_control") || value.is_null()
        })
    });
    let (source, media_type) =
        (&block["source"], if kind == "image" { "image/*" } else { "application/pdf" });
    Ok(match source["type"].as_str().filter(|_| bare) {
        Some("base64") => {
            history::media(&text_of(&source["media_type"])?, MediaSource::Base64(text_of(&source["data"])?))
        }
        Some("url") => history::media_at(&text_of(&source["url"])?, media_type),
        _ => history::opaque(WIRE, block),
    })
}
