//! Bodies of Chat Completions, at OpenAI and at those who follow it.

use serde_json::Value;

use super::pairs::OpenCalls;
use super::{FOREIGN, Verdict, ensure};

/// How servers differ.
#[derive(Copy, Clone)]
pub(crate) struct Taste {
    /// What an id may be.
    pub(crate) ids: Ids,
    /// Who may follow whom.
    pub(crate) order: Order,
    /// Pictures are understood, outside of results.
    pub(crate) pictures: bool,
    /// Pictures are understood in results.
    pub(crate) pictures_in_results: bool,
    /// Arguments may be the word `null`; Groq took them (recorded).
    pub(crate) null_arguments: bool,
    /// A message with calls must carry `reasoning_content`.
    pub(crate) reasoning_beside_calls: bool,
}

/// What an id may be.
#[derive(Copy, Clone, PartialEq)]
pub(crate) enum Ids {
    /// Up to so many bytes.
    UpTo(usize),
    /// Exactly nine letters and digits.
    Nine,
}

/// Who may follow whom, beside the rule that results follow their calls.
#[derive(Copy, Clone, PartialEq)]
pub(crate) enum Order {
    /// Anyone.
    Free,
    /// Mistral: the user or a tool is last; where it says so, the user does not follow a tool.
    Mistral {
        /// Whether the user may speak directly after results.
        user_after_tool: bool,
    },
    /// A chat template that skips results and messages with calls, and wants all else to alternate.
    Template,
}

impl Default for Taste {
    fn default() -> Self {
        Taste {
            ids: Ids::UpTo(40),
            order: Order::Free,
            pictures: true,
            pictures_in_results: false,
            null_arguments: false,
            reasoning_beside_calls: false,
        }
    }
}

/// Says what is wrong with a body, if anything.
pub(crate) fn check(body: &Value, taste: Taste) -> Verdict {
    let messages: Vec<&Value> = body["messages"].as_array().into_iter().flatten().collect();
    ensure(!messages.is_empty(), || "empty array, expected an array with minimum length 1".to_owned())?;
    let mut open = OpenCalls::default();
    for message in &messages {
        if role(message) == "tool" {
            check_words(message, taste.pictures_in_results)?;
            open.result(message["tool_call_id"].as_str().unwrap_or_default())?;
            continue;
        }
        open.close()?;
        ensure(matches!(role(message), "system" | "developer" | "user" | "assistant"), || {
            format!("role in {message}")
        })?;
        // Between calls and results `null` says that there are no words; elsewhere there must be some.
        if calls(message).is_empty() || !message["content"].is_null() {
            check_words(message, taste.pictures)?;
        }
        for call in calls(message) {
            open.call(check_call(call, taste)?, "")?;
        }
        let reasoning = message["reasoning_content"].as_str();
        ensure(!taste.reasoning_beside_calls || calls(message).is_empty() || reasoning.is_some(), || {
            "the `reasoning_content` in the thinking mode must be passed back".to_owned()
        })?;
        ensure(!reasoning.unwrap_or_default().contains(FOREIGN), || "reasoning of another model".to_owned())?;
    }
    open.close()?;
    match taste.order {
        Order::Free => Ok(()),
        Order::Mistral { user_after_tool } => check_mistral(&messages, user_after_tool),
        Order::Template => check_template(&messages),
    }
}

fn check_call(call: &Value, taste: Taste) -> Result<&str, String> {
    let id = call["id"].as_str().unwrap_or_default();
    let legal = match taste.ids {
        Ids::UpTo(most) => !id.is_empty() && id.len() <= most,
        Ids::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    };
    ensure(legal, || format!("tool call id was {id:?}"))?;
    ensure(call["function"]["name"].as_str().is_some_and(|name| !name.is_empty()), || {
        format!("no name in {call}")
    })?;
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    let object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    ensure(object || taste.null_arguments && arguments == "null", || {
        format!("arguments must be a valid JSON object string, not {arguments:?}")
    })?;
    Ok(id)
}

fn check_words(message: &Value, pictures: bool) -> Verdict {
    if message["content"].is_string() {
        return Ok(());
    }
    let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    ensure(!parts.is_empty(), || format!("invalid value for 'content' in {message}"))?;
    for part in parts {
        let legal = match part["type"].as_str() {
            Some("text") => part["text"].is_string(),
            Some("image_url" | "file") => pictures && matches!(role(message), "user" | "tool"),
            _ => !part.to_string().contains(FOREIGN),
        };
        ensure(legal, || format!("{} message with the part {part}", role(message)))?;
    }
    Ok(())
}

fn check_mistral(messages: &[&Value], user_after_tool: bool) -> Verdict {
    let last = messages.last().map_or("", |message| role(message));
    ensure(matches!(last, "user" | "tool"), || format!("expected last role User or Tool but got {last}"))?;
    let follows = |pair: &[&Value]| role(pair[0]) == "tool" && role(pair[1]) == "user";
    ensure(user_after_tool || !messages.windows(2).any(follows), || {
        "unexpected role 'user' after role 'tool'".to_owned()
    })
}

fn check_template(messages: &[&Value]) -> Verdict {
    let rest = match messages {
        [first, rest @ ..] if role(first) == "system" => rest,
        _ => messages,
    };
    let spoken = rest.iter().filter(|message| role(message) != "tool" && calls(message).is_empty());
    let alternates = spoken.enumerate().all(|(index, message)| (role(message) == "user") == (index % 2 == 0));
    ensure(alternates && rest.iter().all(|message| role(message) != "system"), || {
        "after the optional system message, conversation roles must alternate user/assistant".to_owned()
    })
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn calls(message: &Value) -> &[Value] {
    message["tool_calls"].as_array().map_or(&[], Vec::as_slice)
}
