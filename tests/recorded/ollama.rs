//! Chat requests of Ollama. Calls come without ids; results find theirs by name and order.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Part, Role};
use trunkline_providers::{OutputSchema, Thinking as Asked};
use trunkline_sanitize::Thinking;

use super::fields::{Fields, effort, tool};
use super::history::{self, History, Read, Reading, each, is_filled, text_of};

/// Reads a request.
pub(super) fn read(body: &Value) -> Read<Reading> {
    let asked = body["think"].as_bool().unwrap_or(!body["think"].is_null());
    let thinking = if asked { Thinking::On } else { Thinking::Off };
    let facts = history::facts(thinking, false, Some(is_filled(&body["tools"])));
    let mut history = History { facts, ..History::default() };
    for message in each(&body["messages"]) {
        let mut content = Vec::new();
        if let Some(text) = message["thinking"].as_str() {
            content.push(Content::Thinking { text: text.to_owned(), signature: None });
        }
        let text = message["content"].as_str().unwrap_or_default();
        // The field is always there; empty beside calls or pictures it says nothing.
        if !text.is_empty() || message.as_object().is_some_and(|fields| fields.len() == 2) {
            content.push(Content::text(text));
        }
        for image in each(&message["images"]) {
            content.push(history::media("image/*", MediaSource::Base64(text_of(image)?)));
        }
        for call in each(&message["tool_calls"]) {
            let id = call["id"].as_str().map_or_else(|| history.next_id(&content), str::to_owned);
            content.push(history::call(id, &call["function"]["name"], &call["function"]["arguments"], None)?);
        }
        match message["role"].as_str() {
            Some("system") => history.push(Role::System, content),
            Some("user") => history.push(Role::User, content),
            Some("assistant") => history.push(Role::Assistant, content),
            Some("tool") => {
                let name = message["tool_name"].as_str().or_else(|| message["name"].as_str());
                let id = message["tool_call_id"].as_str().map(str::to_owned);
                let id = id.unwrap_or_else(|| history.open_call(name.unwrap_or_default()));
                history.push_result(&id, vec![Part::text(text)], false);
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
    request.model = fields.text("model").unwrap_or_default();
    // Asked for nothing, the service streams.
    request.stream = fields.switch("stream").unwrap_or(true);
    fields.tools("tools", |one| tool(&one["function"], "parameters"), request);
    let said = fields.read("think", |think| match think {
        Value::Bool(false) => Some(Asked::Off),
        said => effort(said).map(Asked::Effort),
    });
    request.thinking = said.unwrap_or_default();
    request.output = fields
        .read("format", |format| format.is_object().then(|| OutputSchema::new("output", format.clone())));
    let mut options = Fields::of(&fields.take("options").unwrap_or_default());
    request.max_output_tokens = options.whole("num_predict");
    request.temperature = options.number("temperature");
    request.top_p = options.number("top_p");
    request.top_k = options.whole("top_k");
    request.frequency_penalty = options.number("frequency_penalty");
    request.presence_penalty = options.number("presence_penalty");
    request.seed = options.read("seed", Value::as_u64);
    request.stop = options.texts("stop").unwrap_or_default();
    if !options.is_empty() {
        fields.put("options", Value::Object(options.rest()));
    }
    request.extra = fields.rest();
    reading
}
