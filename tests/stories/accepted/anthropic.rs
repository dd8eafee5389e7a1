//! Messages requests of Anthropic.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Role};
use trunkline_sanitize::Thinking;

use super::history::{self, History, each, is_filled, text_of};

const WIRE: &str = "anthropic";

/// Reads a request.
pub(super) fn read(body: &Value) -> History {
    let thinking = match body["thinking"]["type"].as_str() {
        Some("enabled") => Thinking::On,
        Some("adaptive") => Thinking::Adaptive,
        _ => Thinking::Off,
    };
    let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
    let facts = history::facts(thinking, forced, Some(is_filled(&body["tools"])));
    let mut history = History { facts, ..History::default() };
    if !body["system"].is_null() {
        history.push(Role::System, blocks(&body["system"]));
    }
    for message in each(&body["messages"]) {
        let content = blocks(&message["content"]);
        match message["role"].as_str() {
            Some("system") => history.push(Role::System, content),
            Some("assistant") => history.push(Role::Assistant, content),
            Some("user") => push_user(&mut history, content),
            role => panic!("role {role:?}"),
        }
    }
    history
}

/// The results that lead a user message are messages of their own; what follows them stays where it is.
fn push_user(history: &mut History, content: Vec<Content>) {
    let results = content.iter().take_while(|block| block.as_result().is_some()).count();
    let mut content = content;
    let rest = content.split_off(results);
    for result in content {
        history.push(Role::Tool, vec![result]);
    }
    if !rest.is_empty() {
        history.push(Role::User, rest);
    }
}

fn blocks(content: &Value) -> Vec<Content> {
    match content.as_str() {
        Some(text) => vec![Content::text(text)],
        None => each(content).map(block).collect(),
    }
}

fn block(block: &Value) -> Content {
    let kind = block["type"].as_str().unwrap_or_default();
    match kind {
        "text" => Content::Text { text: text_of(&block["text"]) },
        "thinking" => Content::Thinking {
            text: text_of(&block["thinking"]),
            signature: block["signature"].as_str().map(str::to_owned),
        },
        "redacted_thinking" => Content::RedactedThinking { data: text_of(&block["data"]) },
        "tool_use" => history::call(text_of(&block["id"]), &block["name"], &block["input"], None),
        "tool_result" => Content::ToolResult(trunkline_message_tree::ToolResult {
            call_id: text_of(&block["tool_use_id"]),
            content: blocks(&block["content"]).into_iter().map(history::part).collect(),
            is_error: block["is_error"].as_bool().unwrap_or_default(),
        }),
        "image" | "document" => {
            let (source, media_type) =
                (&block["source"], if kind == "image" { "image/*" } else { "application/pdf" });
            match source["type"].as_str() {
                Some("base64") => history::media(
                    &text_of(&source["media_type"]),
                    MediaSource::Base64(text_of(&source["data"])),
                ),
                Some("url") => history::media_at(&text_of(&source["url"]), media_type),
                _ => history::opaque(WIRE, block),
            }
        }
        "server_tool_use" => Content::ServerCall { id: text_of(&block["id"]), json: block.to_string() },
        _ if kind.ends_with("_tool_result") => {
            Content::ServerResult { call_id: text_of(&block["tool_use_id"]), json: block.to_string() }
        }
        _ => history::opaque(WIRE, block),
    }
}
