//! Reads who wrote a message, and whether that is who reads it now.

use serde::Deserialize;
use serde_json::Value;
use trunkline_message_tree::{Content, Message, Origin, Role, StopReason};

use crate::{CallSignatures, Reasoning, RequestFacts, WireRules};

/// Whether the provider and model of this request wrote the message; so it is if nothing else is claimed.
pub(crate) fn is_ours(message: &Message, facts: &RequestFacts) -> bool {
    match (&facts.origin, &message.origin) {
        (None, _) => true,
        (Some(reads), Some(wrote)) => wrote.agrees_with(reads),
        (Some(_), None) => false,
    }
}

/// Whether it is known that the message came from the very address that is asked.
pub(crate) fn is_from_here(message: &Message, facts: &RequestFacts) -> bool {
    let reads = facts.origin.as_ref();
    reads.is_some_and(|reads| message.origin.as_ref().is_some_and(|wrote| wrote.is_from(reads)))
}

/// Whether reasoning of this message may go back that nobody signed. `index` is the place of the message.
pub(crate) fn may_return(message: &Message, index: usize, rules: &WireRules, facts: &RequestFacts) -> bool {
    let from_here = is_from_here(message, facts);
    // Where calls become words, there is no loop.
    let flattened = rules.tool_blocks_need_tools && facts.tools_offered == Some(false);
    let runs = rules.reasoning_beside_calls || (index >= facts.loop_from && !flattened);
    match rules.reasoning {
        Reasoning::Any => true,
        Reasoning::Absent | Reasoning::Signed => false,
        Reasoning::SignedOrReturned => {
            from_here && runs && matches!(message.stop, Some(StopReason::EndTurn | StopReason::ToolUse))
        }
        Reasoning::Returned => from_here && runs,
        Reasoning::Own | Reasoning::Plain => is_ours(message, facts) && (runs || !from_here),
    }
}

/// Whether nothing of the reasoning in a message is signed or encrypted.
pub(crate) fn is_unsigned(message: &Message) -> bool {
    message.content.iter().all(|block| match block {
        Content::Thinking { signature, .. } => signature.as_ref().is_none_or(String::is_empty),
        Content::RedactedThinking { .. } => false,
        _ => true,
    })
}

/// Whether a provider's own block may go back to the provider of this request.
pub(crate) fn is_native(origin: Option<&Origin>, facts: &RequestFacts) -> bool {
    match (origin, &facts.origin) {
        (Some(wrote), Some(reads)) => {
            let apart = wrote.address.is_some() && reads.address.is_some() && wrote.address != reads.address;
            wrote.provider == reads.provider && !apart
        }
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
    // What gateways to Gemini keep beside a call on Chat.
    let beside =
        |part: &Value| part.pointer("/besideCall/extra_content").is_some_and(|extra| !extra.is_null());
    part.is_ok_and(|part| signature(&part) || part.get("part").is_some_and(signature) || beside(&part))
}

/// Whether a message holds nothing but what was said beside other blocks, as citations: without these it is not sent at all.
pub(crate) fn is_only_beside(message: &Message) -> bool {
    let beside = |block: &Content| matches!(block, Content::Opaque { json, .. } if is_beside(json));
    !message.content.is_empty() && message.content.iter().all(beside)
}

/// Whether an opaque block is what was said beside another block.
pub(crate) fn is_beside(json: &str) -> bool {
    json.contains("\"beside") && {
        let part: Option<Value> = serde_json::from_str(json).ok();
        let names = ["besideText", "besideCall", "besideMessage"];
        part.is_some_and(|part| names.iter().any(|name| part.get(name).is_some()))
    }
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
