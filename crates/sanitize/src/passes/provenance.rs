//! Reads who wrote a message, and whether that is who reads it now.

use serde::Deserialize;
use serde_json::Value;
use trunkline_message_tree::{Message, Origin, Role};

use crate::{CallSignatures, RequestFacts, WireRules};

/// Whether the provider and model of this request wrote the message; so it is if nothing else is claimed.
pub(crate) fn is_ours(message: &Message, facts: &RequestFacts) -> bool {
    facts.origin.is_none() || facts.origin == message.origin
}

/// Whether a provider's own block may go back to the provider of this request.
pub(crate) fn is_native(origin: Option<&Origin>, facts: &RequestFacts) -> bool {
    match (origin, &facts.origin) {
        (Some(wrote), Some(reads)) => wrote.provider == reads.provider,
        _ => true,
    }
}

/// Whether an opaque block is an item of reasoning.
pub(crate) fn is_reasoning_item(json: &str) -> bool {
    let kind = serde_json::from_str::<Value>(json).ok().and_then(|item| item.get("type").cloned());
    kind.is_some_and(|kind| kind == "reasoning")
}

/// Whether the message is one whose signatures may go back: the provider and model of this request wrote it.
pub(crate) fn may_sign(message: &Message, rules: &WireRules, facts: &RequestFacts) -> bool {
    rules.call_signatures == CallSignatures::Ignored
        || (message.role == Role::Assistant && is_ours(message, facts))
}

/// Whether an opaque part of Gemini carries a signature, itself or in what is kept of a text beside its words.
// Kept out of the passes, see `MediaTypes`.
#[cold]
pub(crate) fn is_signed_part(json: &str) -> bool {
    let signature = |part: &Value| part.get("thoughtSignature").is_some_and(|signature| !signature.is_null());
    let part = serde_json::from_str::<Value>(json);
    part.is_ok_and(|part| signature(&part) || part.get("part").is_some_and(signature))
}

/// Returns what can be read of an item of reasoning.
pub(crate) fn summary_of(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Item {
        #[serde(default)]
        summary: Vec<Text>,
        #[serde(default)]
        content: Option<Vec<Text>>,
    }
    #[derive(Deserialize)]
    struct Text {
        #[serde(default)]
        text: String,
    }
    let item: Item = serde_json::from_str(json).ok()?;
    let texts = item.summary.into_iter().chain(item.content.into_iter().flatten()).map(|part| part.text);
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
