//! Converse requests of Bedrock.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Role, ToolResult};
use trunkline_sanitize::Thinking;

use super::history::{self, History, each, is_filled, text_of};

const WIRE: &str = "bedrock";

/// Reads a request.
pub(super) fn read(body: &Value) -> History {
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
        history.push(Role::System, blocks(&body["system"]));
    }
    for message in each(&body["messages"]) {
        let content = blocks(&message["content"]);
        match message["role"].as_str() {
            Some("assistant") => history.push(Role::Assistant, content),
            Some("user") => {
                let (results, rest): (Vec<_>, Vec<_>) =
                    content.into_iter().partition(|block| block.as_result().is_some());
                for result in results {
                    history.push(Role::Tool, vec![result]);
                }
                if !rest.is_empty() {
                    history.push(Role::User, rest);
                }
            }
            role => panic!("role {role:?}"),
        }
    }
    history
}

fn blocks(content: &Value) -> Vec<Content> {
    // A cache point is a mark of the encoder, no content.
    each(content).filter(|block| block["cachePoint"].is_null()).map(block).collect()
}

fn block(block: &Value) -> Content {
    let (call, result) = (&block["toolUse"], &block["toolResult"]);
    let reasoning = &block["reasoningContent"];
    if let Some(text) = block["text"].as_str() {
        Content::text(text)
    } else if !call.is_null() {
        history::call(text_of(&call["toolUseId"]), &call["name"], &call["input"], None)
    } else if !result.is_null() {
        Content::ToolResult(ToolResult {
            call_id: text_of(&result["toolUseId"]),
            content: each(&result["content"]).map(|part| history::part(self::block(part))).collect(),
            is_error: result["status"].as_str() == Some("error"),
        })
    } else if let Some(text) = reasoning["reasoningText"]["text"].as_str() {
        let signature = reasoning["reasoningText"]["signature"].as_str().map(str::to_owned);
        Content::Thinking { text: text.to_owned(), signature }
    } else if let Some(data) = reasoning["redactedContent"].as_str() {
        Content::RedactedThinking { data: data.to_owned() }
    } else if !block["json"].is_null() {
        Content::text(block["json"].to_string())
    } else if let Some(data) = block["image"]["source"]["bytes"].as_str() {
        history::media("image/*", MediaSource::Base64(data.to_owned()))
    } else if let Some(data) = block["document"]["source"]["bytes"].as_str() {
        history::media("application/*", MediaSource::Base64(data.to_owned()))
    } else {
        history::opaque(WIRE, block)
    }
}
