//! Responses requests of OpenAI and of those who follow it.
//!
//! The items of one turn of the model become one assistant message: calls, words and opaque reasoning before what it
//! belongs to.

use serde_json::Value;
use trunkline_message_tree::{Content, Role, ToolCall};
use trunkline_sanitize::Thinking;

use super::history::{self, History, each, is_filled, text_of};

const WIRE: &str = "openai-responses";

/// Reads a request; `None` if a part of the history is kept by the provider, so that nobody else can judge it.
pub(super) fn read(body: &Value) -> Option<History> {
    if !body["previous_response_id"].is_null() || !body["conversation"].is_null() {
        return None;
    }
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
            ("message", Some("assistant")) => words(&item["content"]),
            ("function_call", _) => vec![call(item)],
            ("reasoning" | "tool_search_call" | "tool_search_output", _) => vec![history::opaque(WIRE, item)],
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
            ("message", Some("user")) => history.push(Role::User, words(&item["content"])),
            ("message", Some("system" | "developer")) => history.push(Role::System, words(&item["content"])),
            ("function_call_output", _) => {
                let parts = words(&item["output"]).into_iter().map(history::part).collect();
                history.push_result(&text_of(&item["call_id"]), parts, false);
            }
            ("additional_tools", _) => history.push(Role::User, vec![history::opaque(WIRE, item)]),
            other => panic!("item {other:?}"),
        }
    }
    if !turn.is_empty() {
        history.push(Role::Assistant, turn);
    }
    Some(history)
}

fn call(item: &Value) -> Content {
    let (id, name) = (text_of(&item["call_id"]), text_of(&item["name"]));
    Content::ToolCall(ToolCall { id, name, arguments: text_of(&item["arguments"]), signature: None })
}

fn words(content: &Value) -> Vec<Content> {
    match content.as_str() {
        Some(text) => vec![Content::text(text)],
        None => each(content).map(part).collect(),
    }
}

fn part(part: &Value) -> Content {
    match part["type"].as_str() {
        Some("input_text" | "output_text") => Content::Text { text: text_of(&part["text"]) },
        Some("input_image") => history::media_at(&text_of(&part["image_url"]), "image/*"),
        _ => history::opaque(WIRE, part),
    }
}
