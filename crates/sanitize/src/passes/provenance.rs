//! Reads who wrote a message, and whether that is who reads it now.

use serde::Deserialize;
use serde_json::Value;
use trunkline_message_tree::{Message, Origin};

use crate::RequestFacts;

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
