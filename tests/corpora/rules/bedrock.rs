//! Converse of Bedrock.

use serde_json::{Value, json};

use super::super::compare::{About, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        about: About::Choice,
        sentence: "we mark what goes to the prompt cache by our own policy",
        explain: |spot| {
            let without = |list: &[Value]| -> Value {
                list.iter().filter(|block| block["cachePoint"].is_null()).cloned().collect()
            };
            match (spot.theirs, spot.ours) {
                (Value::Array(theirs), Value::Array(ours)) => {
                    let (new_theirs, new_ours) = (without(theirs), without(ours));
                    match new_theirs != *spot.theirs || new_ours != *spot.ours {
                        true => Verdict::Instead(new_theirs, new_ours),
                        false => Verdict::No,
                    }
                }
                _ => Verdict::No,
            }
        },
    },
    Rule {
        about: About::Form,
        sentence: "a result has succeeded unless it says that it failed",
        explain: |spot| {
            let place = spot.is(&["*.toolResult.status"]) && spot.is_missing();
            Verdict::explained_if(place && *spot.theirs == "success")
        },
    },
    Rule {
        about: About::Form,
        sentence: "a call of type `tool_use` is one without a type",
        explain: |spot| {
            let place = spot.is(&["*.toolUse.type"]) && spot.is_missing();
            Verdict::explained_if(place && *spot.theirs == "tool_use")
        },
    },
    Rule {
        about: About::Form,
        sentence: "the choice `auto` is the default beside tools",
        explain: |spot| {
            let auto = |value: &Value| value.is_null() || *value == json!({"auto": {}});
            Verdict::explained_if(spot.is(&["toolConfig.toolChoice"]) && auto(spot.theirs) && auto(spot.ours))
        },
    },
    Rule {
        about: About::Choice,
        sentence: "documents are named by their place in the conversation: our model has no word for their names",
        explain: |spot| Verdict::explained_if(spot.is(&["*.document.name"]) && !spot.is_missing()),
    },
    Rule {
        about: About::Form,
        sentence: "an output schema in a string is the same if its JSON is",
        explain: |spot| {
            let read =
                |value: &Value| value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let (theirs, ours) = (read(spot.theirs), read(spot.ours));
            Verdict::explained_if(spot.is(&["*.jsonSchema.schema"]) && theirs.is_some() && theirs == ours)
        },
    },
    Rule {
        about: About::Form,
        sentence: "messages of one role in a row are one turn to the service",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours))
                if spot.is(&["messages"]) && theirs.len() != ours.len() =>
            {
                let join = |list: &[Value]| {
                    let users = super::joined(list, "user");
                    super::joined(users.as_array().map(Vec::as_slice).unwrap_or_default(), "assistant")
                };
                Verdict::Instead(join(theirs), join(ours))
            }
            _ => Verdict::No,
        },
    },
    Rule {
        about: About::Form,
        sentence: "results lead their message, whatever else is in it",
        explain: |spot| match spot.theirs {
            Value::Array(blocks) if spot.is(&["messages[].content"]) => {
                let (mut sorted, rest): (Vec<Value>, Vec<Value>) =
                    blocks.iter().cloned().partition(|block| block["toolResult"].is_object());
                sorted.extend(rest);
                match sorted == *blocks {
                    true => Verdict::No,
                    false => Verdict::Instead(Value::Array(sorted), spot.ours.clone()),
                }
            }
            _ => Verdict::No,
        },
    },
];
