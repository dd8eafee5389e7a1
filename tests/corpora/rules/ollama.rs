//! Ollama's own chat.

use serde_json::Value;

use super::super::compare::{About, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        about: About::Form,
        sentence: "the service streams unless it is told not to",
        explain: |spot| {
            let on = |value: &Value| value.is_null() || *value == true;
            Verdict::explained_if(spot.is(&["stream"]) && on(spot.theirs) && on(spot.ours))
        },
    },
    Rule {
        about: About::Form,
        sentence: "a call or tool is a function, whether it says so or not, and stands where its `index` says",
        explain: |spot| {
            let kind = spot.is(&["messages[].tool_calls[].type", "tools[].type"]);
            let index = spot.is(&["messages[].tool_calls[].function.index"]);
            let word = |value: &Value| value.is_null() || *value == "function";
            Verdict::explained_if(kind && word(spot.theirs) && word(spot.ours) || index && spot.is_missing())
        },
    },
    Rule {
        about: About::Form,
        sentence: "content that is absent is empty",
        explain: |spot| {
            let empty = |value: &Value| value.is_null() || *value == "";
            Verdict::explained_if(spot.is(&["messages[].content"]) && empty(spot.theirs) && empty(spot.ours))
        },
    },
];
