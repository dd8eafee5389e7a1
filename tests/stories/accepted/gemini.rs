//! `generateContent` requests of Gemini.
//!
//! Its client libraries write some fields in camel case and some in snake case; the service takes both. Calls may come
//! without ids; then they get one by position, and their results find them by name.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Part, Role};
use trunkline_sanitize::Thinking;

use super::history::{self, History, each, is_filled, text_of};

const WIRE: &str = "gemini";

/// Reads a request.
pub(super) fn read(body: &Value) -> History {
    let config = field(&body["generationConfig"], "thinkingConfig", "thinking_config");
    let thinking = match config["thinkingBudget"].as_i64() {
        Some(0) => Thinking::Off,
        // It thinks as it sees fit unless it is told not to (recorded).
        _ => Thinking::Adaptive,
    };
    let choice =
        field(field(body, "toolConfig", "tool_config"), "functionCallingConfig", "function_calling_config");
    let forced = choice["mode"].as_str() == Some("ANY");
    // What is cached at the provider may hold tools too.
    let offered = body["cachedContent"].is_null().then(|| is_filled(&body["tools"]));
    let mut history = History { facts: history::facts(thinking, forced, offered), ..History::default() };
    let system = field(body, "systemInstruction", "system_instruction");
    if !system.is_null() {
        let content = each(&system["parts"]).map(block).collect();
        history.push(Role::System, content);
    }
    for content in each(&body["contents"]) {
        match content["role"].as_str() {
            Some("model") => push_model(&mut history, content),
            Some("user") | None => push_user(&mut history, content),
            role => panic!("role {role:?}"),
        }
    }
    history
}

fn push_model(history: &mut History, content: &Value) {
    let mut blocks = Vec::new();
    for part in each(&content["parts"]) {
        let call = field(part, "functionCall", "function_call");
        blocks.push(match call {
            Value::Null => block(part),
            call => {
                let id = call["id"].as_str().map_or_else(|| history.next_id(&blocks), str::to_owned);
                let signature = field(part, "thoughtSignature", "thought_signature").as_str();
                history::call(id, &call["name"], &call["args"], signature)
            }
        });
    }
    history.push(Role::Assistant, blocks);
}

fn push_user(history: &mut History, content: &Value) {
    let mut blocks = Vec::new();
    for part in each(&content["parts"]) {
        let result = field(part, "functionResponse", "function_response");
        if result.is_null() {
            blocks.push(block(part));
            continue;
        }
        assert!(blocks.is_empty(), "words before a result");
        let name = text_of(&result["name"]);
        let id = result["id"].as_str().map_or_else(|| history.open_call(&name), str::to_owned);
        let mut parts = vec![Part::text(result["response"].to_string())];
        parts.extend(each(&result["parts"]).map(|part| history::part(block(part))));
        history.push_result(&id, parts, false);
    }
    if !blocks.is_empty() {
        history.push(Role::User, blocks);
    }
}

fn block(part: &Value) -> Content {
    let (inline, file) = (field(part, "inlineData", "inline_data"), field(part, "fileData", "file_data"));
    let signature = field(part, "thoughtSignature", "thought_signature").as_str();
    if let Some(text) = part["text"].as_str() {
        match (part["thought"].as_bool().unwrap_or_default(), signature) {
            (true, signature) => {
                Content::Thinking { text: text.to_owned(), signature: signature.map(str::to_owned) }
            }
            (false, None) => Content::text(text),
            // A signed text must go back with its signature, for which our texts have no room.
            (false, Some(_)) => history::opaque(WIRE, part),
        }
    } else if !inline.is_null() {
        let media_type = text_of(field(inline, "mimeType", "mime_type"));
        history::media(&media_type, MediaSource::Base64(text_of(&inline["data"])))
    } else if !file.is_null() {
        let media_type = text_of(field(file, "mimeType", "mime_type"));
        history::media(&media_type, MediaSource::Url(text_of(field(file, "fileUri", "file_uri"))))
    } else {
        history::opaque(WIRE, part)
    }
}

fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    value.get(camel).or_else(|| value.get(snake)).unwrap_or(&Value::Null)
}
