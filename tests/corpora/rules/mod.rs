//! What differs in form and not in meaning, said once for each wire; and what we say otherwise on purpose.

mod anthropic;
mod bedrock;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use serde_json::{Value, json};

use super::compare::{About, Rule, Spot, Verdict};
use crate::recorded::Protocol;

/// Returns the rules of a wire.
pub fn of(protocol: Protocol) -> Vec<Rule> {
    let own = match protocol {
        Protocol::Anthropic => anthropic::RULES,
        Protocol::OpenAiChat => openai_chat::RULES,
        Protocol::OpenAiResponses => openai_responses::RULES,
        Protocol::Gemini => gemini::RULES,
        Protocol::Bedrock => bedrock::RULES,
        Protocol::Ollama => ollama::RULES,
    };
    own.iter().chain(SHARED).copied().collect()
}

const SHARED: &[Rule] = &[
    Rule {
        about: About::Form,
        sentence: "content that is a string is one part of text",
        explain: |spot| {
            let place = spot.is(&["*.content", "system", "*.output"]);
            match (spot.theirs, spot.ours) {
                (Value::String(text), Value::Array(parts)) if place => {
                    Verdict::Instead(one_part(text, parts), spot.ours.clone())
                }
                (Value::Array(parts), Value::String(text)) if place && parts.len() == 1 => {
                    Verdict::Instead(spot.theirs.clone(), one_part(text, parts))
                }
                _ => Verdict::No,
            }
        },
    },
    Rule {
        about: About::Choice,
        sentence: "texts that have to travel as one string are joined by a line break: many servers take nothing else",
        explain: |spot| {
            let (Value::Array(parts), Value::String(text)) = (spot.theirs, spot.ours) else {
                return Verdict::No;
            };
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            let place = spot.is(&["*.content", "*.output"]);
            Verdict::explained_if(place && texts.is_some_and(|texts| texts.join("\n") == *text))
        },
    },
    Rule {
        about: About::Form,
        sentence: "arguments in a string are the same if their JSON is; none at all are an empty object",
        explain: |spot| {
            let read = |value: &Value| match value.as_str().map(str::trim) {
                Some("") => Some(json!({})),
                Some(text) => serde_json::from_str(text).ok(),
                // A few clients send the object itself.
                None if value.is_object() => Some(value.clone()),
                None => Some(json!({})),
            };
            let (theirs, ours): (Option<Value>, Option<Value>) = (read(spot.theirs), read(spot.ours));
            Verdict::explained_if(spot.is(&["*.arguments"]) && theirs.is_some() && theirs == ours)
        },
    },
    Rule {
        about: About::Form,
        sentence: "an empty list, an empty object or an empty description says what an absent one says",
        explain: |spot| {
            let empty = |value: &Value| match value {
                Value::Array(list) => list.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                Value::String(text) => text.is_empty() && spot.is(&["*.description"]),
                other => other.is_null(),
            };
            // A schema, arguments and results mean what they say.
            let words = ["arameters", "chema", ".input", ".args", ".arguments", ".response"];
            let own = words.iter().any(|word| spot.path.contains(word));
            Verdict::explained_if(!own && empty(spot.theirs) && empty(spot.ours))
        },
    },
    Rule {
        about: About::Form,
        sentence: "a switch that is `false` says what an absent one says: streaming, a failed result, one answer at a time",
        explain: |spot| {
            let off = |value: &Value| value.is_null() || *value == Value::Bool(false);
            let place = spot.is(&["stream", "*.is_error"]);
            Verdict::explained_if(place && off(spot.theirs) && off(spot.ours))
        },
    },
    Rule {
        about: About::Unsaid,
        sentence: "a part of a result that is neither text, nor a picture, nor a document: its JSON stands for it as text",
        explain: |spot| {
            let part = spot.ours["text"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let place = spot.path.matches("[]").count() > 1;
            Verdict::explained_if(place && spot.theirs.is_object() && part.as_ref() == Some(spot.theirs))
        },
    },
    Rule {
        about: About::Form,
        sentence: "the detail `auto` of a picture is the default",
        explain: |spot| {
            Verdict::explained_if(spot.is(&["*.detail"]) && spot.is_missing() && *spot.theirs == "auto")
        },
    },
    Rule {
        about: About::Form,
        sentence: "the order of tools says nothing: ours stand before those of the provider",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours))
                if spot.is(&["tools"]) && theirs.len() == ours.len() =>
            {
                let name = |tool: &Value| {
                    let named = [&tool["name"], &tool["function"]["name"], &tool["type"]];
                    named.into_iter().find(|name| name.is_string()).cloned().unwrap_or_else(|| tool.clone())
                };
                let mut left: Vec<&Value> = ours.iter().collect();
                let mut sorted = Vec::with_capacity(ours.len());
                for tool in theirs {
                    let Some(at) = left.iter().position(|one| name(one) == name(tool)) else {
                        return Verdict::No;
                    };
                    sorted.push(left.remove(at).clone());
                }
                match sorted == *ours {
                    true => Verdict::No,
                    false => Verdict::Instead(spot.theirs.clone(), Value::Array(sorted)),
                }
            }
            _ => Verdict::No,
        },
    },
    Rule {
        about: About::Form,
        sentence: "a tool that takes no arguments has an empty object as its schema, or none",
        explain: |spot| {
            let none = |value: &Value| {
                value.is_null()
                    || value["type"] == "object"
                        && value["properties"].as_object().is_none_or(serde_json::Map::is_empty)
            };
            let place = spot.is(&["*.parameters", "*.input_schema"]);
            Verdict::explained_if(place && none(spot.theirs) && none(spot.ours))
        },
    },
];

fn one_part(text: &str, like: &[Value]) -> Value {
    let mut part = json!({"text": text});
    if let Some(kind) = like.first().map(|part| &part["type"]).filter(|kind| !kind.is_null()) {
        part["type"] = kind.clone();
    }
    json!([part])
}

/// Says whether a choice of tools is the default on both sides.
fn auto(spot: &Spot<'_>, auto: &Value) -> Verdict {
    let default = |value: &Value| value.is_null() || value == auto;
    Verdict::explained_if(spot.is(&["tool_choice"]) && default(spot.theirs) && default(spot.ours))
}

/// Returns a list of messages in which neighbours of one role are one, with their content as parts.
fn joined(messages: &[Value], role: &str) -> Value {
    let mut joined: Vec<Value> = Vec::new();
    for message in messages {
        let parts = |message: &Value| match &message["content"] {
            Value::Array(parts) => parts.clone(),
            Value::Null => Vec::new(),
            text => vec![json!({"type": "text", "text": text})],
        };
        match joined.last_mut() {
            Some(last) if last["role"] == message["role"] && message["role"] == role => {
                let mut content = parts(last);
                content.extend(parts(message));
                last["content"] = Value::Array(content);
            }
            _ => joined.push(message.clone()),
        }
    }
    Value::Array(joined)
}

/// Returns the list without the messages that lead it and say nothing.
fn without_silence(messages: &[Value]) -> Value {
    let silent = |message: &&Value| {
        let text = match &message["content"] {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(parts) => {
                parts.iter().all(|part| part["text"].as_str().is_some_and(|text| text.trim().is_empty()))
            }
            other => other.is_null(),
        };
        text && matches!(message["role"].as_str(), Some("system" | "developer"))
    };
    messages.iter().filter(|message| !silent(message)).cloned().collect()
}
