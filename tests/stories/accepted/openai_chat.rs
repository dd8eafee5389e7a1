//! Chat Completions requests of OpenAI and of those who follow it.

use serde_json::Value;
use trunkline_message_tree::{Content, Role, ToolCall};
use trunkline_sanitize::Thinking;

use super::history::{self, History, each, is_filled, text_of};

const WIRE: &str = "openai-chat";

/// Reads a request.
pub(super) fn read(body: &Value) -> History {
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
        let content = words(&message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => history.push(Role::System, content),
            Some("user") => history.push(Role::User, content),
            Some("assistant") => history.push(Role::Assistant, assistant(message, content)),
            Some("tool") => {
                let parts = content.into_iter().map(history::part).collect();
                history.push_result(&text_of(&message["tool_call_id"]), parts, false);
            }
            role => panic!("role {role:?}"),
        }
    }
    history
}

fn assistant(message: &Value, words: Vec<Content>) -> Vec<Content> {
    let mut content = Vec::new();
    let reasoning = message["reasoning_content"].as_str().or_else(|| message["reasoning"].as_str());
    if let Some(text) = reasoning {
        content.push(Content::Thinking { text: text.to_owned(), signature: None });
    }
    // Beside calls the empty string says no more than `null`; the encoder writes it, a model did not.
    let calls = is_filled(&message["tool_calls"]);
    content.extend(words.into_iter().filter(|block| !calls || *block != Content::text("")));
    for call in each(&message["tool_calls"]) {
        let (id, function) = (text_of(&call["id"]), &call["function"]);
        let (name, arguments) = (text_of(&function["name"]), text_of(&function["arguments"]));
        content.push(Content::ToolCall(ToolCall { id, name, arguments, signature: None }));
    }
    content
}

fn words(content: &Value) -> Vec<Content> {
    match content.as_str() {
        Some(text) => vec![Content::text(text)],
        None => each(content).map(part).collect(),
    }
}

fn part(part: &Value) -> Content {
    match part["type"].as_str() {
        Some("text") => Content::Text { text: text_of(&part["text"]) },
        Some("image_url") => history::media_at(&text_of(&part["image_url"]["url"]), "image/*"),
        _ => history::opaque(WIRE, part),
    }
}
