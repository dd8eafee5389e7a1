//! Responses of OpenAI and of those who follow it.

use serde_json::{Value, json};

use super::super::compare::{About, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        about: About::Form,
        sentence: "`instructions` say what a leading system item says",
        explain: |spot| {
            let (mut theirs, said) = (spot.theirs.clone(), &spot.theirs["instructions"]);
            if !spot.path.is_empty() || !said.is_string() || !spot.ours["instructions"].is_null() {
                return Verdict::No;
            }
            let mut items = vec![json!({"role": "system", "content": said})];
            items.extend(items_of(&theirs["input"]));
            theirs["input"] = Value::Array(items);
            theirs["instructions"] = Value::Null;
            Verdict::Instead(theirs, spot.ours.clone())
        },
    },
    Rule {
        about: About::Form,
        sentence: "an input that is a string is one user message",
        explain: |spot| match spot.theirs {
            Value::String(_) if spot.is(&["input"]) => {
                Verdict::Instead(Value::Array(items_of(spot.theirs)), spot.ours.clone())
            }
            _ => Verdict::No,
        },
    },
    Rule {
        about: About::Form,
        sentence: "an assistant item of several texts is as many items of one; instructions that say nothing are not sent",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours))
                if spot.is(&["input"]) && theirs.len() != ours.len() =>
            {
                let parts = |item: &Value| match &item["content"] {
                    Value::Array(parts) if item["role"] == "assistant" && parts.len() > 1 => {
                        let one = |part: &Value| {
                            let mut item = item.clone();
                            item["content"] = json!([part]);
                            item
                        };
                        parts.iter().map(one).collect()
                    }
                    _ => vec![item.clone()],
                };
                let theirs: Vec<Value> = theirs.iter().flat_map(parts).collect();
                Verdict::Instead(super::without_silence(&theirs), spot.ours.clone())
            }
            _ => Verdict::No,
        },
    },
    Rule {
        about: About::Form,
        sentence: "an item with a role and no type is a message",
        explain: |spot| {
            let word = |value: &Value| value.is_null() || *value == "message";
            Verdict::explained_if(spot.is(&["input[].type"]) && word(spot.theirs) && word(spot.ours))
        },
    },
    Rule {
        about: About::Form,
        sentence: "the service reads text under each of its names: `input_text`, `output_text`, `text`",
        explain: |spot| {
            let word = |value: &Value| matches!(value.as_str(), Some("input_text" | "output_text" | "text"));
            let place = spot.is(&["input[].content[].type", "input[].output[].type"]);
            Verdict::explained_if(place && word(spot.theirs) && word(spot.ours))
        },
    },
    Rule {
        about: About::Form,
        sentence: "`developer` and `system` are one role: OpenAI turns one into the other as the model wants it",
        explain: |spot| {
            let words = *spot.theirs == "developer" && *spot.ours == "system";
            Verdict::explained_if(spot.is(&["input[].role"]) && words)
        },
    },
    Rule {
        about: About::Choice,
        sentence: "items of ours carry neither id nor status: an id makes the service look for what belongs to it",
        explain: |spot| {
            Verdict::explained_if(spot.is(&["input[].id", "input[].status"]) && spot.is_missing())
        },
    },
    Rule {
        about: About::Choice,
        sentence: "the service is asked to store nothing",
        explain: |spot| {
            let place = spot.is(&["store"]) && spot.is_added();
            Verdict::explained_if(place && *spot.ours == false)
        },
    },
    Rule {
        about: About::Choice,
        sentence: "a tool is strict only if it says so: left alone, the service makes optional arguments required",
        explain: |spot| {
            let place = spot.is(&["tools[].strict"]) && spot.is_added();
            Verdict::explained_if(place && *spot.ours == false)
        },
    },
    Rule {
        about: About::Form,
        sentence: "the choice `auto` is the default beside tools",
        explain: |spot| super::auto(spot, &json!("auto")),
    },
    Rule {
        about: About::Form,
        sentence: "an output schema that is not strict need not say so",
        explain: |spot| {
            let off = |value: &Value| value.is_null() || *value == false;
            Verdict::explained_if(spot.is(&["text.format.strict"]) && off(spot.theirs) && off(spot.ours))
        },
    },
];

fn items_of(input: &Value) -> Vec<Value> {
    match input {
        Value::Array(items) => items.clone(),
        Value::Null => Vec::new(),
        text => vec![json!({"role": "user", "content": text})],
    }
}
