//! The client's words for who answered and why that one stopped, and ours.

use trunkline_message_tree::{Origin, StopReason, Usage};

use crate::json::{Fields, object, quote};

/// The name of this format's own blocks.
pub(super) const WIRE: &str = "opencode";

/// What stands for a model where none is known; every answer names one.
pub(super) const UNKNOWN: &str = "unknown";

/// What is sent for a compaction in the name of the user.
pub(super) const ASKED_FOR_SUMMARY: &str = "What did we do so far?";

/// What is sent for a command that a sub-agent carried out.
pub(super) const RAN_SUBTASK: &str = "The following tool was executed by the user";

/// What the client calls an answer that was cut off.
pub(super) const ABORTED: &str = "MessageAbortedError";

/// Returns the wire that a provider is spoken to over.
pub(super) fn wire_of(provider: &str, model: &str) -> &'static str {
    // The client's own service passes on what several vendors speak.
    let speaks = if provider == WIRE { model } else { provider };
    match () {
        () if ["anthropic", "bedrock", "claude"].iter().any(|name| speaks.contains(name)) => "anthropic",
        () if speaks == "openai" || (provider == WIRE && speaks.starts_with("gpt")) => "openai-responses",
        () if speaks.starts_with("google") || (provider == WIRE && speaks.starts_with("gemini")) => "gemini",
        () => "openai-chat",
    }
}

/// Returns who answered.
pub(super) fn origin(info: &Fields<'_>) -> Option<Origin> {
    let (provider, model) = (info.text("providerID")?, info.text("modelID")?);
    let known = (provider.as_ref(), model.as_ref()) != (UNKNOWN, UNKNOWN);
    known.then(|| Origin::new(wire_of(&provider, &model), model))
}

/// Returns the provider that stands for a wire.
pub(super) fn provider_of(origin: &Origin) -> &str {
    match origin.provider.as_str() {
        "openai-responses" => "openai",
        "gemini" => "google",
        "openai-chat" => "openai-compatible",
        other => other,
    }
}

/// Reads why the model stopped.
pub(super) fn stop(word: &str) -> Option<StopReason> {
    Some(match word {
        // The provider did not tell.
        UNKNOWN | "" => return None,
        "stop" => StopReason::EndTurn,
        "tool-calls" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content-filter" => StopReason::Refusal,
        "stop-sequence" => StopReason::StopSequence,
        "context-window" => StopReason::ContextWindow,
        "pause" => StopReason::Pause,
        "cancelled" => StopReason::Cancelled,
        "cut" => StopReason::Cut,
        other => StopReason::Other(other.to_owned()),
    })
}

/// Returns the word for why the model stopped. The client takes any; those it does not know itself are read back by us.
pub(super) fn stop_word(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolUse => "tool-calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content-filter",
        StopReason::StopSequence => "stop-sequence",
        StopReason::ContextWindow => "context-window",
        StopReason::Pause => "pause",
        StopReason::Cancelled => "cancelled",
        StopReason::Cut => "cut",
        StopReason::Other(word) => word,
        _ => UNKNOWN,
    }
}

/// Reads the error that ended an answer.
pub(super) fn error_stop(info: &Fields<'_>) -> Option<StopReason> {
    let error = info.object("error")?;
    let name = error.text("name").unwrap_or_default();
    Some(match name.as_ref() {
        ABORTED => StopReason::Cancelled,
        "MessageOutputLengthError" => StopReason::MaxTokens,
        "ContentFilterError" => StopReason::Refusal,
        "ContextOverflowError" => StopReason::ContextWindow,
        "" => StopReason::Other("error".to_owned()),
        other => StopReason::Other(other.to_owned()),
    })
}

/// Tells whether an answer that ended in an error is sent all the same: one that was cut off, if there is more than
/// reasoning in it.
pub(super) fn is_sent<'k>(info: &Fields<'_>, mut kinds: impl Iterator<Item = &'k str>) -> bool {
    let error = info.object("error");
    error.is_none_or(|error| {
        error.text("name").as_deref() == Some(ABORTED)
            && kinds.any(|kind| !matches!(kind, "step-start" | "reasoning"))
    })
}

/// Reads what a request cost. The client counts cached tokens apart, and since it writes a total also reasoning.
pub(super) fn usage(tokens: &Fields<'_>) -> Usage {
    let cache = tokens.object("cache");
    let cached = |name: &str| cache.as_ref().map_or(0, |cache| cache.count(name));
    let (read, written) = (cached("read"), cached("write"));
    let (output, reasoning) = (tokens.count("output"), tokens.count("reasoning"));
    let prompt = tokens.count("input").saturating_add(read).saturating_add(written);
    let both = output.saturating_add(reasoning);
    let output = match tokens.count("total").checked_sub(prompt) {
        Some(rest) if rest > 0 => rest.clamp(output, both),
        _ if reasoning > output => both,
        _ => output,
    };
    Usage {
        input_tokens: prompt,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: reasoning,
    }
}

/// Reads what a request cost, if that is told: where a provider does not, the client writes zeros.
pub(super) fn told_usage(tokens: &Fields<'_>) -> Option<Usage> {
    Some(usage(tokens)).filter(|usage| *usage != Usage::default())
}

/// Writes what a request cost.
pub(super) fn tokens(usage: Usage) -> String {
    let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
    let total = usage.input_tokens.saturating_add(usage.output_tokens);
    let cache = object(&[
        ("read", Some(usage.cache_read_tokens.to_string())),
        ("write", Some(usage.cache_write_tokens.to_string())),
    ]);
    object(&[
        ("total", (total > 0).then(|| total.to_string())),
        ("input", Some(usage.input_tokens.saturating_sub(cached).to_string())),
        ("output", Some(usage.output_tokens.saturating_sub(usage.reasoning_tokens).to_string())),
        ("reasoning", Some(usage.reasoning_tokens.to_string())),
        ("cache", Some(cache)),
    ])
}

/// Writes who answered, as a prompt names it.
pub(super) fn model(provider: &str, model: &str) -> String {
    object(&[("providerID", Some(quote(provider))), ("modelID", Some(quote(model)))])
}
