//! Chat Completions of OpenAI and of those who follow it.

use serde_json::{Value, json};

use super::super::compare::{About, Rule, Verdict};

const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        about: About::Choice,
        sentence: "the limit of output tokens goes into the field that the service documents; it takes either",
        explain: |spot| {
            let (theirs, ours) = (&spot.their_body, spot.ours);
            let other = LIMITS.iter().find(|name| **name != spot.path);
            if !spot.is(&LIMITS) {
                return Verdict::No;
            }
            let renamed = other.is_some_and(|other| !theirs[*other].is_null() && theirs[*other] == *ours);
            Verdict::explained_if(spot.is_missing() || renamed)
        },
    },
    Rule {
        about: About::Form,
        sentence: "the choice `auto` is the default beside tools",
        explain: |spot| super::auto(spot, &json!("auto")),
    },
    Rule {
        about: About::Form,
        sentence: "Mistral's word for a forced choice is `any`, and it takes OpenAI's `required` too",
        explain: |spot| {
            let words = *spot.theirs == "any" && *spot.ours == "required";
            Verdict::explained_if(spot.is(&["tool_choice"]) && words)
        },
    },
    Rule {
        about: About::Form,
        sentence: "beside calls, content that is null, absent or empty says nothing",
        explain: |spot| {
            let empty = |value: &Value| value.is_null() || *value == "" || *value == json!([]);
            let place = spot.is(&["messages[].content"]);
            Verdict::explained_if(place && empty(spot.theirs) && empty(spot.ours))
        },
    },
    Rule {
        about: About::Form,
        sentence: "`developer` and `system` are one role: OpenAI turns one into the other as the model wants it",
        explain: |spot| {
            let words = *spot.theirs == "developer" && *spot.ours == "system";
            Verdict::explained_if(spot.is(&["messages[].role"]) && words)
        },
    },
    Rule {
        about: About::Form,
        sentence: "a call stands where its `index` says, and a call, a tool or a choice without a type is a function",
        explain: |spot| {
            let index = spot.is(&["messages[].tool_calls[].index"]) && spot.is_missing();
            let kind =
                spot.is(&["*.tool_calls[].type", "tools[].type", "tool_choice.type"]) && spot.is_added();
            Verdict::explained_if(index || kind && *spot.ours == "function")
        },
    },
    Rule {
        about: About::Choice,
        sentence: "usage is asked for with a stream, where the service does not send it unasked",
        explain: |spot| {
            let place = spot.is(&["stream_options", "stream_options.include_usage"]);
            let usage = json!({"include_usage": true});
            let said = |value: &Value| value.is_null() || *value == usage || *value == true;
            Verdict::explained_if(place && said(spot.theirs) && said(spot.ours))
        },
    },
    Rule {
        about: About::Choice,
        sentence: "a model's reasoning goes back in words to services that demand it, and nowhere else",
        explain: |spot| {
            let place = spot.is(&["messages[].reasoning_content", "messages[].reasoning"]);
            Verdict::explained_if(place && (spot.is_missing() || spot.is_added() && *spot.ours == ""))
        },
    },
    Rule {
        about: About::Choice,
        sentence: "we mark what goes to the prompt cache by our own policy",
        explain: |spot| Verdict::explained_if(spot.is(&["*.cache_control"])),
    },
    Rule {
        about: About::Form,
        sentence: "one stop sequence is a list of one",
        explain: |spot| Verdict::explained_if(spot.is(&["stop"]) && json!([spot.theirs]) == *spot.ours),
    },
    Rule {
        about: About::Form,
        sentence: "a schema that is not strict need not say so",
        explain: |spot| {
            let off = |value: &Value| value.is_null() || *value == false;
            Verdict::explained_if(spot.is(&["*.strict"]) && off(spot.theirs) && off(spot.ours))
        },
    },
    Rule {
        about: About::Form,
        sentence: "the name in a result repeats that of its call",
        explain: |spot| {
            let named = |message: &Value| message["role"] == "tool" && message["name"] == *spot.theirs;
            let tool = spot.their_body["messages"].as_array().is_some_and(|list| list.iter().any(named));
            Verdict::explained_if(spot.is(&["messages[].name"]) && spot.is_missing() && tool)
        },
    },
    Rule {
        about: About::Form,
        sentence: "an assistant message is complete unless it says that it is a prefix",
        explain: |spot| {
            let place = spot.is(&["messages[].prefix"]) && spot.is_missing();
            Verdict::explained_if(place && *spot.theirs == false)
        },
    },
    Rule {
        about: About::Choice,
        sentence: "the beginning of an answer that the model must go on from is sent where the service is known to go on from it",
        explain: |spot| {
            Verdict::explained_if(spot.is(&["messages[].prefix", "messages[].partial"]) && spot.is_missing())
        },
    },
    Rule {
        about: About::Choice,
        sentence: "what an answer had beside its words, reasoning and calls goes back where the service's requests have a \
                   field for it, and nowhere else: citations, sound, what its own tools did",
        explain: |spot| {
            let places = ["annotations", "audio", "citations", "executed_tools", "function_call", "refusal"];
            let call =
                spot.is(&["messages[].tool_calls[].extra_content"]) && !spot.service.contains("google");
            let beside = places.iter().any(|name| spot.path == format!("messages[].{name}"));
            Verdict::explained_if((call || beside) && spot.is_missing())
        },
    },
    Rule {
        about: About::Choice,
        sentence: "names of people in a conversation are left out for services whose messages have no such field",
        explain: |spot| Verdict::explained_if(spot.is(&["messages[].name"]) && spot.is_missing()),
    },
    Rule {
        about: About::Choice,
        sentence: "details of reasoning go back as they came to OpenRouter, and nowhere else",
        explain: |spot| {
            Verdict::explained_if(spot.is(&["messages[].reasoning_details"]) && spot.is_missing())
        },
    },
    Rule {
        about: About::Form,
        sentence: "instructions that say nothing are not sent",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours))
                if spot.is(&["messages"]) && theirs.len() > ours.len() =>
            {
                Verdict::Instead(super::without_silence(theirs), spot.ours.clone())
            }
            _ => Verdict::No,
        },
    },
];
