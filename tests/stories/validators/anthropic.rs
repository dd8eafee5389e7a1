//! Bodies of Anthropic Messages.

use serde_json::Value;

use super::pairs::OpenCalls;
use super::{FOREIGN, Verdict, ensure, is_blank, is_foreign};

/// How deployments and models differ.
#[derive(Copy, Clone, Default)]
pub(crate) struct Taste {
    /// Two messages of one role in a row are refused.
    pub(crate) alternate: bool,
    /// An assistant message in the last place is continued.
    pub(crate) prefill: bool,
    /// Instructions may stand in the list.
    pub(crate) system_in_list: bool,
}

/// Says what is wrong with a body, if anything.
pub(crate) fn check(body: &Value, taste: Taste) -> Verdict {
    let all: Vec<&Value> = body["messages"].as_array().into_iter().flatten().collect();
    ensure(taste.system_in_list || all.iter().all(|message| role(message) != "system"), || {
        "messages: role system".to_owned()
    })?;
    let messages: Vec<&Value> = all.into_iter().filter(|message| role(message) != "system").collect();
    check_ends(&messages, taste)?;
    let (mut ids, mut server_calls) = (Vec::new(), Vec::new());
    for message in &messages {
        // What the provider runs may end after a pause or behind results of ours, but not behind words of the user.
        if role(message) == "user" && !is_results_only(message) {
            server_calls.clear();
        }
        // Within one message; some gateways look at the whole list.
        if !taste.alternate {
            ids.clear();
        }
        check_content(message, &mut ids, &mut server_calls)?;
    }
    if taste.alternate {
        let alternates = messages.windows(2).all(|pair| role(pair[0]) != role(pair[1]));
        ensure(alternates, || {
            "messages: roles must alternate between \"user\" and \"assistant\"".to_owned()
        })?;
    }
    check_pairs(&messages)?;
    check_thinking(body, &messages)?;
    for block in body["system"].as_array().into_iter().flatten() {
        ensure(!is_blank(block["text"].as_str().unwrap_or_default()), || "system: blank text".to_owned())?;
    }
    let marks = body.to_string().matches("\"cache_control\":").count();
    ensure(marks <= 4, || format!("a maximum of 4 blocks with cache_control may be provided, found {marks}"))
}

fn check_ends(messages: &[&Value], taste: Taste) -> Verdict {
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
        return Err("messages: at least one message is required".to_owned());
    };
    ensure(role(first) == "user", || "messages: first message must use the \"user\" role".to_owned())?;
    if role(last) != "assistant" {
        return Ok(());
    }
    ensure(taste.prefill, || "the conversation must end with a user message".to_owned())?;
    let text =
        last["content"].as_str().or_else(|| blocks(last).last().and_then(|block| block["text"].as_str()));
    ensure(text.is_none_or(|text| text.trim_end() == text), || {
        "final assistant content cannot end with trailing whitespace".to_owned()
    })
}

fn check_content<'a>(
    message: &'a Value,
    ids: &mut Vec<&'a str>,
    server_calls: &mut Vec<&'a Value>,
) -> Verdict {
    if let Some(text) = message["content"].as_str() {
        return ensure(!is_blank(text), || "messages: text must be non-empty".to_owned());
    }
    ensure(!blocks(message).is_empty(), || "all messages must have non-empty content".to_owned())?;
    let calls = blocks(message).iter().any(|block| kind(block) == "tool_use");
    for block in blocks(message) {
        let (kind, by_model) = (kind(block), role(message) == "assistant");
        match kind {
            "text" => check_text(block, by_model && calls)?,
            "thinking" => {
                let signature = block["signature"].as_str().unwrap_or_default();
                let valid = by_model && !signature.is_empty() && !is_foreign(signature);
                ensure(valid, || format!("invalid `signature` in `thinking` block: {block}"))?;
            }
            "redacted_thinking" => {
                let data = block["data"].as_str().unwrap_or_default();
                ensure(by_model && !data.is_empty() && !is_foreign(data), || {
                    format!("invalid block {block}")
                })?;
            }
            "tool_use" => {
                ensure(by_model, || "`tool_use` blocks can only be in `assistant` messages".to_owned())?;
                let id = block["id"].as_str().unwrap_or_default();
                ensure(is_id(id), || format!("tool_use.id: {id:?} should match pattern"))?;
                ensure(!ids.contains(&id), || format!("`tool_use` ids must be unique: {id}"))?;
                ids.push(id);
                ensure(block["input"].is_object(), || "tool_use.input: not a dictionary".to_owned())?;
            }
            "tool_result" => {
                ensure(!by_model, || "`tool_result` in an assistant message".to_owned())?;
                for part in block["content"].as_array().into_iter().flatten() {
                    check_text(part, false)?;
                }
            }
            "server_tool_use" => {
                let ours = by_model && !block.to_string().contains(FOREIGN);
                ensure(ours, || format!("not a `server_tool_use` of ours: {block}"))?;
                server_calls.push(&block["id"]);
            }
            _ if kind.ends_with("_tool_result") => {
                let answers = by_model && server_calls.contains(&&block["tool_use_id"]);
                ensure(answers, || format!("unexpected `tool_use_id` found in `{kind}` blocks"))?;
            }
            _ => ensure(!block.to_string().contains(FOREIGN), || format!("unknown block {block}"))?,
        }
    }
    Ok(())
}

fn check_text(block: &Value, beside_call: bool) -> Verdict {
    let Some(text) = block["text"].as_str().filter(|_| kind(block) == "text") else { return Ok(()) };
    ensure(!text.is_empty(), || "text content blocks must be non-empty".to_owned())?;
    // Recorded: white space beside a call was accepted.
    ensure(beside_call || !is_blank(text), || {
        "text content blocks must contain non-whitespace text".to_owned()
    })
}

/// All results of one message stand in the next one, before anything else.
fn check_pairs(messages: &[&Value]) -> Verdict {
    let mut open = OpenCalls::default();
    for message in messages {
        let mut words = false;
        for block in blocks(message) {
            match kind(block) {
                "tool_result" => {
                    ensure(!words, || "a result behind other blocks".to_owned())?;
                    open.result(block["tool_use_id"].as_str().unwrap_or_default())?;
                }
                _ => words = true,
            }
        }
        open.close()?;
        for call in blocks(message).iter().filter(|block| kind(block) == "tool_use") {
            open.call(call["id"].as_str().unwrap_or_default(), "")?;
        }
    }
    open.close()
}

fn check_thinking(body: &Value, messages: &[&Value]) -> Verdict {
    let thinks = |message: &Value, at: usize| {
        blocks(message).get(at).is_some_and(|block| matches!(kind(block), "thinking" | "redacted_thinking"))
    };
    let switch = body["thinking"]["type"].as_str();
    if let Some(last) = messages.last().filter(|last| role(last) == "assistant" && switch.is_none()) {
        let any = (0..blocks(last).len()).any(|at| thinks(last, at));
        ensure(!any, || {
            "when thinking is disabled, a final assistant message cannot contain `thinking`".to_owned()
        })?;
    }
    if switch != Some("enabled") {
        return Ok(());
    }
    ensure(!matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")), || {
        "thinking may not be enabled when tool_choice forces tool use".to_owned()
    })?;
    // The loop that runs begins after the last words of the user; it must begin with what the model thought.
    let runs = messages.last().is_some_and(|last| is_results_only(last));
    let spoke = messages.iter().rposition(|message| role(message) == "user" && !is_results_only(message));
    let first = messages.get(spoke.map_or(0, |index| index + 1)).filter(|_| runs);
    ensure(first.is_none_or(|first| thinks(first, 0)), || {
        "expected `thinking`, but found `tool_use`".to_owned()
    })
}

fn is_results_only(message: &Value) -> bool {
    role(message) == "user"
        && !blocks(message).is_empty()
        && blocks(message).iter().all(|block| kind(block) == "tool_result")
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn kind(block: &Value) -> &str {
    block["type"].as_str().unwrap_or_default()
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}
