//! Chat requests of Ollama. Calls come without ids; results find theirs by name and order.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Part, Role};
use trunkline_sanitize::Thinking;

use super::history::{self, History, each, is_filled, text_of};

/// Reads a request.
pub(super) fn read(body: &Value) -> History {
    let asked = body["think"].as_bool().unwrap_or(!body["think"].is_null());
    let thinking = if asked { Thinking::On } else { Thinking::Off };
    let facts = history::facts(thinking, false, Some(is_filled(&body["tools"])));
    let mut history = History { facts, ..History::default() };
    for message in each(&body["messages"]) {
        let mut content = Vec::new();
        if let Some(text) = message["thinking"].as_str() {
            content.push(Content::Thinking { text: text.to_owned(), signature: None });
        }
        let text = text_of(&message["content"]);
        // The field is always there; empty beside calls or pictures it says nothing.
        if !text.is_empty() || message.as_object().is_some_and(|fields| fields.len() == 2) {
            content.push(Content::text(text.as_str()));
        }
        for image in each(&message["images"]) {
            content.push(history::media("image/*", MediaSource::Base64(text_of(image))));
        }
        for call in each(&message["tool_calls"]) {
            let id = call["id"].as_str().map_or_else(|| history.next_id(&content), str::to_owned);
            content.push(history::call(id, &call["function"]["name"], &call["function"]["arguments"], None));
        }
        match message["role"].as_str() {
            Some("system") => history.push(Role::System, content),
            Some("user") => history.push(Role::User, content),
            Some("assistant") => history.push(Role::Assistant, content),
            Some("tool") => {
                let id = history.open_call(&text_of(&message["tool_name"]));
                history.push_result(&id, vec![Part::text(text)], false);
            }
            role => panic!("role {role:?}"),
        }
    }
    history
}
