//! Converse requests of Bedrock.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Role, ToolChoice, ToolResult};
use trunkline_providers::{Cache, OutputSchema, Thinking as Asked};
use trunkline_sanitize::Thinking;

use super::fields::{Fields, tool};
use super::history::{self, Beside, History, Read, Reading, each, is_filled, text_of};

const WIRE: &str = "bedrock";

/// Reads a request.
pub(super) fn read(body: &Value) -> Read<Reading> {
    let more = &body["additionalModelRequestFields"];
    let thinking = match more["thinking"]["type"].as_str() {
        Some("enabled") => Thinking::On,
        Some("adaptive") => Thinking::Adaptive,
        _ if !more["reasoning_config"].is_null() => Thinking::On,
        _ => Thinking::Off,
    };
    let config = &body["toolConfig"];
    let forced = ["any", "tool"].iter().any(|choice| !config["toolChoice"][choice].is_null());
    let facts = history::facts(thinking, forced, Some(is_filled(&config["tools"])));
    let mut history = History { facts, ..History::default() };
    if is_filled(&body["system"]) {
        history.push(Role::System, blocks(&body["system"])?);
    }
    for message in each(&body["messages"]) {
        let content = blocks(&message["content"])?;
        match message["role"].as_str() {
            Some("assistant") => history.push(Role::Assistant, content),
            Some("system") => history.push(Role::System, content),
            Some("user") => {
                let (results, rest): (Vec<_>, Vec<_>) =
                    content.into_iter().partition(|block| block.as_result().is_some());
                let only_results = !results.is_empty() && rest.is_empty();
                for result in results {
                    history.push(Role::Tool, vec![result]);
                }
                if !only_results {
                    history.push(Role::User, rest);
                }
            }
            _ => return Err(format!("a message of role {}", message["role"])),
        }
    }
    Ok(settings(body, history))
}

fn settings(body: &Value, history: History) -> Reading {
    let mut reading = Reading::of(history);
    let request = &mut reading.settings;
    let mut fields = Fields::of(body);
    fields.take("messages");
    fields.take("system");
    let mut inference = Fields::of(&fields.take("inferenceConfig").unwrap_or_default());
    request.max_output_tokens = inference.whole("maxTokens");
    request.temperature = inference.number("temperature");
    request.top_p = inference.number("topP");
    request.stop = inference.texts("stopSequences").unwrap_or_default();
    if !inference.is_empty() {
        fields.put("inferenceConfig", Value::Object(inference.rest()));
    }
    let mut config = Fields::of(&body["toolConfig"]);
    let read = |one: &Value| {
        let mut spec = one["toolSpec"].clone();
        let schema = spec["inputSchema"]["json"].take();
        spec.as_object_mut()?.insert("inputSchema".to_owned(), schema);
        tool(&spec, "inputSchema")
    };
    config.tools("tools", read, request);
    let read = |choice: &Value| {
        let choice = choice.as_object()?;
        match choice.iter().next()? {
            (kind, _) if kind == "auto" => Some(ToolChoice::Auto),
            (kind, _) if kind == "any" => Some(ToolChoice::Any),
            (kind, named) if kind == "tool" => Some(ToolChoice::Named(named["name"].as_str()?.to_owned())),
            _ => None,
        }
    };
    config.choice("toolChoice", read, request);
    if config.is_empty() {
        fields.take("toolConfig");
    }
    request.service_tier = fields.read("serviceTier", |tier| {
        let mut tier = Fields::of(tier);
        tier.text("type").filter(|_| tier.is_empty())
    });
    request.metadata = fields.labels("requestMetadata").unwrap_or_default();
    request.output = fields.read("outputConfig", |config| {
        let form = &config["textFormat"]["structure"]["jsonSchema"];
        let schema = serde_json::from_str(form["schema"].as_str()?).ok()?;
        let whole = config.as_object()?.len() == 1 && form["description"].is_null();
        whole.then(|| OutputSchema::new(form["name"].as_str().unwrap_or("output"), schema))
    });
    let budget = fields.read("additionalModelRequestFields", |more| {
        let thinking = &more["thinking"];
        let bare = more.as_object()?.len() == 1 && thinking.as_object()?.len() == 2;
        let budget = thinking["budget_tokens"].as_u64().and_then(|budget| u32::try_from(budget).ok())?;
        (bare && thinking["type"] == "enabled").then_some(budget)
    });
    request.thinking = budget.map_or(Asked::Unsaid, Asked::Budget);
    let text = body.to_string();
    request.cache = match () {
        _ if !text.contains("\"cachePoint\":{") => Cache::Off,
        _ if text.contains("\"ttl\":\"1h\"") => Cache::Long,
        _ => Cache::Short,
    };
    request.extra = fields.rest();
    reading
}

fn blocks(content: &Value) -> Read<Vec<Content>> {
    // A cache point is a mark of the encoder, no content.
    let mut blocks = Vec::new();
    for one in each(content).filter(|block| block["cachePoint"].is_null()) {
        match cited(one) {
            Some(cited) => blocks.extend(cited),
            None => blocks.push(block(one)?),
        }
    }
    Ok(blocks)
}

/// Words with the places that they were taken from.
fn cited(block: &Value) -> Option<Vec<Content>> {
    let cited = &block["citationsContent"];
    let pieces = cited["content"].as_array()?;
    let words: Option<String> = pieces.iter().map(|piece| piece["text"].as_str()).collect();
    let known: &[&str] = if pieces.len() > 1 { &[] } else { &["content"] };
    let mut members = history::others(cited, known);
    if !cited["citations"].is_null() {
        members.insert("citations".to_owned(), cited["citations"].clone());
    }
    let beside = history::beside(WIRE, Beside::Text, members);
    Some([Content::text(words?)].into_iter().chain(beside).collect())
}

/// Returns the bytes of a picture or a document that says no more than our words do.
fn bare<'a>(media: &'a Value, known: &[&str]) -> Option<&'a str> {
    media["source"]["bytes"].as_str().filter(|_| history::others(media, known).is_empty())
}

fn block(block: &Value) -> Read<Content> {
    let (call, result) = (&block["toolUse"], &block["toolResult"]);
    let reasoning = &block["reasoningContent"];
    // What the service runs itself is carried whole.
    let served = call["type"] == "server_tool_use" || !result["type"].is_null();
    Ok(if let Some(text) = block["text"].as_str() {
        Content::text(text)
    } else if served {
        history::opaque(WIRE, block)
    } else if !call.is_null() {
        history::call(text_of(&call["toolUseId"])?, &call["name"], &call["input"], None)?
    } else if !result.is_null() {
        let parts: Read<Vec<Content>> = each(&result["content"]).map(self::block).collect();
        Content::ToolResult(ToolResult {
            call_id: text_of(&result["toolUseId"])?,
            content: parts?.into_iter().map(history::part).collect(),
            is_error: result["status"].as_str() == Some("error"),
        })
    } else if let Some(text) = reasoning["reasoningText"]["text"].as_str() {
        let signature = reasoning["reasoningText"]["signature"].as_str().map(str::to_owned);
        Content::Thinking { text: text.to_owned(), signature }
    } else if let Some(data) = reasoning["redactedContent"].as_str() {
        Content::RedactedThinking { data: data.to_owned() }
    } else if let Some(data) = bare(&block["image"], &["format", "source"]) {
        let format = block["image"]["format"].as_str().unwrap_or("*");
        history::media(&format!("image/{format}"), MediaSource::Base64(data.to_owned()))
    } else if let Some(data) = bare(&block["document"], &["format", "name", "source"]) {
        let media_type = match block["document"]["format"].as_str().unwrap_or_default() {
            "pdf" => "application/pdf",
            "csv" => "text/csv",
            "html" => "text/html",
            "md" => "text/markdown",
            "doc" => "application/msword",
            "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "xls" => "application/vnd.ms-excel",
            "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            _ => "text/plain",
        };
        history::media(media_type, MediaSource::Base64(data.to_owned()))
    } else {
        history::opaque(WIRE, block)
    })
}
