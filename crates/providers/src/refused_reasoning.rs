//! Tells that a service refuses reasoning which was sent back: it is signed wrong, or not what it was.
//!
//! The words are those of services (quoted in public issues, 2025-10 to 2026-09). Only how they begin is looked at, since
//! some go on with what they refuse.

/// Where the words of all of them begin, in lower case and without quotation marks.
const BEGINNINGS: [&str; 11] = [
    // Anthropic, also where the block is "bound to a different conversation".
    "invalid signature in thinking block",
    "invalid signature in redacted_thinking block",
    "invalid data in redacted_thinking block",
    "thinking or redacted_thinking blocks in the latest assistant message cannot be modified",
    "thinking blocks in the latest assistant message cannot be modified",
    // Gemini, and Vertex AI.
    "corrupted thought signature",
    "thought signature is not valid",
    "unable to submit request because thought signature is not valid",
    // OpenAI.
    "encrypted content could not be verified",
    "encrypted content could not be decrypted",
    "encrypted content organization_id did not match",
];

/// What Bedrock puts before the words of a model.
const OF_BEDROCK: &str = "the model returned the following errors: ";

/// Whether a refusal of that fault and those words, in lower case and without quotation marks, is about such reasoning.
pub(crate) fn is_meant(code: &str, words: &str) -> bool {
    if code == "invalid_encrypted_content" {
        return true;
    }
    let words = words.strip_prefix(OF_BEDROCK).unwrap_or(words);
    let words = past_place(words);
    // `The encrypted content gAAA…DQ== could not be verified.`
    let encrypted = words.strip_prefix("the encrypted content ").is_some_and(|rest| {
        ["could not be verified", "could not be decrypted"].iter().any(|end| rest.contains(end))
    });
    encrypted || BEGINNINGS.iter().any(|beginning| words.starts_with(beginning))
}

/// Whether the words of such a refusal say that the reasoning was written behind something else.
pub(crate) fn is_bound(words: &str) -> bool {
    let words = words.strip_prefix(OF_BEDROCK).unwrap_or(words);
    let rest = ["thinking", "redacted_thinking"].iter().find_map(|block| {
        past_place(words).strip_prefix("invalid signature in ")?.strip_prefix(block)?.strip_prefix(" block")
    });
    rest.is_some_and(|rest| {
        rest.trim_start_matches(['.', ' ']).starts_with("the block is bound to a different conversation")
    })
}

/// Returns what is said of a place: `messages.1.content.0: …`.
fn past_place(words: &str) -> &str {
    let place = words.strip_prefix("messages.").and_then(|rest| rest.split_once(": "));
    let is_place = |place: &str| place.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    place.filter(|(place, _)| is_place(place)).map_or(words, |(_, rest)| rest)
}
