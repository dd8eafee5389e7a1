//! What services refuse, told a second time.
//!
//! Each validator was written from error texts and recorded requests alone, without a look at the judge of
//! `trunkline-sanitize`, and shares no code with it. Where a list or a body passes here and not there, or the other way
//! round, one of the two is wrong. What was made by another provider says so: its signatures, its opaque blocks and what
//! its servers ran begin with [`FOREIGN`].

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod pairs;

use serde_json::Value;
use trunkline_message_tree::Content;

/// What stands at the beginning of everything that only another provider can read.
pub(crate) const FOREIGN: &str = "foreign";

/// Nothing, or what a service would answer.
pub(crate) type Verdict = Result<(), String>;

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns whether arguments in a list can be written for a service; no text at all means no arguments.
fn is_object(arguments: &str) -> bool {
    is_blank(arguments) || serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object())
}

/// Refuses what another provider made and no one else can read.
fn check_origin(block: &Content, wire: &str) -> Verdict {
    let made_elsewhere = match block {
        Content::Thinking { signature, .. } => signature.as_deref().is_some_and(is_foreign),
        Content::RedactedThinking { data } => is_foreign(data),
        // Only Gemini has a place for the signature of a call.
        Content::ToolCall(call) => wire == "gemini" && call.signature.as_deref().is_some_and(is_foreign),
        Content::ServerCall { json, .. } | Content::ServerResult { json, .. } => json.contains(FOREIGN),
        Content::Opaque { wire: made_for, json } => made_for != wire || json.contains(FOREIGN),
        Content::Text { .. } | Content::Image(_) | Content::Document(_) | Content::ToolResult(_) => false,
    };
    ensure(!made_elsewhere, || format!("made by another provider: {block:?}"))
}

fn is_foreign(text: &str) -> bool {
    text.starts_with(FOREIGN)
}
