//! Bodies of OpenAI Responses: one item after the other.

use serde_json::Value;

use super::pairs::OpenCalls;
use super::{FOREIGN, Verdict, ensure};

/// Who made an item.
#[derive(Copy, Clone, PartialEq)]
enum Maker {
    Model,
    Tool,
    Other,
}

/// Says what is wrong with a body, if anything.
pub(crate) fn check(body: &Value) -> Verdict {
    if body["input"].is_string() {
        return Ok(());
    }
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    ensure(!items.is_empty(), || "one of \"input\" or \"previous_response_id\" must be provided".to_owned())?;
    let mut open = OpenCalls::default();
    let mut before = Maker::Other;
    for (index, item) in items.iter().enumerate() {
        // Text and further calls of the same turn may follow a call, and so may words of the user; when the model speaks again,
        // all of them are answered.
        let maker = maker(item);
        if maker == Maker::Model && before != Maker::Model {
            open.close()?;
        }
        before = maker;
        check_item(item, &mut open)?;
        if kind(item) == "reasoning" {
            let next = items[index + 1..].iter().find(|item| kind(item) != "reasoning");
            ensure(next.is_some_and(|next| self::maker(next) == Maker::Model), || {
                "item of type 'reasoning' was provided without its required following item".to_owned()
            })?;
        }
    }
    open.close()
}

fn check_item<'a>(item: &'a Value, open: &mut OpenCalls<'a>) -> Verdict {
    let id = item["call_id"].as_str().unwrap_or_default();
    match kind(item) {
        "message" => check_words(item),
        "function_call" => {
            ensure((1..=64).contains(&id.chars().count()), || format!("call_id {id:?}"))?;
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
            ensure(object, || format!("arguments {arguments:?}"))?;
            open.call(id, "")
        }
        "function_call_output" => {
            let output = &item["output"];
            ensure(output.is_string() || output.is_array(), || format!("no output in {item}"))?;
            open.result(id)
        }
        _ => ensure(!item.to_string().contains(FOREIGN), || format!("made by another provider: {item}")),
    }
}

fn check_words(item: &Value) -> Verdict {
    let role = item["role"].as_str().unwrap_or_default();
    ensure(matches!(role, "user" | "assistant" | "system" | "developer"), || format!("role in {item}"))?;
    if item["content"].is_string() {
        return Ok(());
    }
    let parts = item["content"].as_array().map_or(&[][..], Vec::as_slice);
    ensure(!parts.is_empty(), || format!("no content in {item}"))?;
    for part in parts {
        let legal = match kind(part) {
            "input_text" | "input_image" | "input_file" => role != "assistant",
            "output_text" | "refusal" => role == "assistant",
            _ => false,
        };
        ensure(legal, || format!("in a {role} message: {part}"))?;
    }
    Ok(())
}

fn maker(item: &Value) -> Maker {
    match (kind(item), item["role"].as_str()) {
        ("function_call_output", _) => Maker::Tool,
        (_, Some("assistant") | None) => Maker::Model,
        _ => Maker::Other,
    }
}

fn kind(value: &Value) -> &str {
    value["type"].as_str().unwrap_or("message")
}
