//! `generateContent` of Gemini.

use serde_json::{Map, Value, json};

use super::super::compare::{About, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        about: About::Form,
        sentence: "the service reads the names of its fields in camel case and in snake case",
        explain: |spot| {
            let camel = crate::recorded::camel(spot.theirs);
            match spot.path.is_empty() && camel != *spot.theirs {
                true => Verdict::Instead(camel, spot.ours.clone()),
                false => Verdict::No,
            }
        },
    },
    Rule {
        about: About::Form,
        sentence: "tools in several groups are the same tools, and a schema says the same under each of its names",
        explain: |spot| match spot.is(&["tools"]) {
            true => Verdict::Instead(tools(spot.theirs), tools(spot.ours)),
            false => Verdict::No,
        },
    },
    Rule {
        about: About::Form,
        sentence: "a part that is not a thought need not say so, and instructions have no role",
        explain: |spot| {
            let thought = spot.is(&["*.thought"]) && *spot.theirs == false;
            let role = spot.is(&["systemInstruction.role"]);
            Verdict::explained_if((thought || role) && spot.is_missing())
        },
    },
    Rule {
        about: About::Form,
        sentence: "a turn without a role is the user's",
        explain: |spot| {
            let place = spot.is(&["contents[].role"]) && spot.is_added();
            Verdict::explained_if(place && *spot.ours == "user")
        },
    },
    Rule {
        about: About::Form,
        sentence: "results stand in a turn of the user, or of a role of their own",
        explain: |spot| {
            let words = *spot.theirs == "function" && *spot.ours == "user";
            Verdict::explained_if(spot.is(&["contents[].role"]) && words)
        },
    },
    Rule {
        about: About::Choice,
        sentence: "calls and results carry ids, if only those that we gave them",
        explain: |spot| {
            let place = spot.is(&["*.functionCall.id", "*.functionResponse.id"]);
            Verdict::explained_if(place && spot.is_added())
        },
    },
    Rule {
        about: About::Choice,
        sentence: "results stand in the order of their calls",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours)) if spot.is(&["contents[].parts"]) => {
                let name = |part: &Value| part["functionResponse"]["name"].clone();
                let mut left: Vec<&Value> = theirs.iter().collect();
                let mut sorted = Vec::with_capacity(theirs.len());
                for part in ours {
                    match left
                        .iter()
                        .position(|one| name(one) == name(part) && one["functionResponse"].is_object())
                    {
                        Some(at) => sorted.push(left.remove(at).clone()),
                        None => return Verdict::No,
                    }
                }
                match left.is_empty() && sorted != *theirs {
                    true => Verdict::Instead(Value::Array(sorted), spot.ours.clone()),
                    false => Verdict::No,
                }
            }
            _ => Verdict::No,
        },
    },
    Rule {
        about: About::Form,
        sentence: "a level of thinking is the same in small letters",
        explain: |spot| {
            let lower = |value: &Value| value.as_str().map(str::to_lowercase);
            let same = spot.theirs.is_string() && lower(spot.theirs) == lower(spot.ours);
            Verdict::explained_if(spot.is(&["*.thinkingLevel"]) && same)
        },
    },
    Rule {
        about: About::Choice,
        sentence: "what a model thinks is shown, as on other wires",
        explain: |spot| Verdict::explained_if(spot.is(&["*.includeThoughts"]) && spot.is_added()),
    },
    Rule {
        about: About::Form,
        sentence: "the mode `AUTO` of calling is the default",
        explain: |spot| {
            let auto = json!({"functionCallingConfig": {"mode": "AUTO"}});
            Verdict::explained_if(spot.is(&["toolConfig"]) && *spot.theirs == auto && spot.is_missing())
        },
    },
    Rule {
        about: About::Form,
        sentence: "turns of the user in a row say what one turn says",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours))
                if spot.is(&["contents"]) && theirs.len() != ours.len() =>
            {
                Verdict::Instead(joined(theirs), joined(ours))
            }
            _ => Verdict::No,
        },
    },
];

/// Returns the functions in one list and the provider's own tools in another.
fn tools(groups: &Value) -> Value {
    let (mut functions, mut others) = (Vec::new(), Vec::new());
    for (name, value) in groups.as_array().into_iter().flatten().filter_map(Value::as_object).flatten() {
        match (name.as_str(), value) {
            ("functionDeclarations", Value::Array(list)) => functions.extend(list.iter().map(function)),
            (_, Value::Null) => {}
            (name, value) => others.push(json!({name: value})),
        }
    }
    others.sort_by_key(Value::to_string);
    json!({"functions": functions, "of the provider": others})
}

fn function(function: &Value) -> Value {
    let fields = function.as_object().into_iter().flatten().map(|(name, value)| match name.as_str() {
        "parameters" => {
            ("parametersJsonSchema".to_owned(), super::super::super::recorded::lower_types(value))
        }
        _ => (name.clone(), value.clone()),
    });
    Value::Object(fields.filter(|(_, value)| !value.is_null()).collect::<Map<String, Value>>())
}

fn joined(turns: &[Value]) -> Value {
    let mut joined: Vec<Value> = Vec::new();
    // A turn without parts says nothing.
    for turn in turns.iter().filter(|turn| turn["parts"].as_array().is_some_and(|parts| !parts.is_empty())) {
        let parts = |turn: &Value| turn["parts"].as_array().cloned().unwrap_or_default();
        let role = |turn: &Value| turn["role"].as_str().unwrap_or("user").to_owned();
        match joined.last_mut() {
            Some(last) if role(last) == role(turn) => {
                let mut all = parts(last);
                all.extend(parts(turn));
                last["parts"] = Value::Array(all);
            }
            _ => joined.push(json!({"role": role(turn), "parts": parts(turn)})),
        }
    }
    Value::Array(joined)
}
