//! What Bedrock says when it fails: by the name of an exception, in a header, a body, or a frame.

use serde_json::{Value, json};

use crate::error::may_pass;
use crate::{DecodeError, ErrorKind, ProviderError, api_error, retry};

/// Reads a response whose status is not a success.
pub(super) fn of_response(status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let name = retry::header(headers, "x-amzn-errortype").or_else(|| text("__type")).or_else(|| text("code"));
    let name = name.map(plain_name).unwrap_or_default();
    let message = text("message").or_else(|| text("Message")).or_else(|| text("errorMessage"));
    let original = said.get("originalStatusCode").and_then(Value::as_u64);
    // In the form that all other services use, so that waits and pages are read in one place.
    let error = match message {
        Some(message) => {
            let body = json!({ "message": message }).to_string();
            api_error::of_response(status, headers, body.as_bytes())
        }
        None => api_error::of_response(status, headers, body),
    };
    match error {
        ProviderError::Api { status, kind, message, retry_after, retryable, wants } => {
            let named = kind_of(name, original, &message);
            let kind = named.unwrap_or(match status {
                424 => ErrorKind::Other,
                _ => too_long(&message).unwrap_or(kind),
            });
            let retryable = match named {
                Some(kind) => may_pass(kind),
                None => retryable && kind != ErrorKind::ContextTooLong,
            };
            ProviderError::Api { status, kind, message, retry_after, retryable, wants }
        }
        other => other,
    }
}

/// Reads an exception inside a stream.
pub(super) fn in_stream(name: &str, payload: &[u8], words: Option<&str>) -> DecodeError {
    let said: Value = serde_json::from_slice(payload).unwrap_or_default();
    let text = |name: &str| said.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut message = match text("message").or_else(|| text("Message")).or(words) {
        Some(message) => message.to_owned(),
        None if payload.is_empty() => name.to_owned(),
        None => String::from_utf8_lossy(payload).into_owned(),
    };
    if let Some(original) = text("originalMessage").filter(|original| !message.contains(original)) {
        message = format!("{message}: {original}");
    }
    let original = said.get("originalStatusCode").and_then(Value::as_u64);
    let kind = kind_of(plain_name(name), original, &message).unwrap_or(ErrorKind::Other);
    DecodeError::reported(kind, &message)
}

/// Takes the namespace in front of and the address behind a name off: both are sent.
fn plain_name(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or_default();
    name.rsplit('#').next().unwrap_or_default().trim()
}

/// Returns what an exception means; in streams their names begin with a small letter.
fn kind_of(name: &str, original: Option<u64>, message: &str) -> Option<ErrorKind> {
    let name = name.to_ascii_lowercase();
    Some(match name.strip_suffix("exception").unwrap_or(&name) {
        "throttling" | "toomanyrequests" => ErrorKind::RateLimited,
        "serviceunavailable" | "modelnotready" => ErrorKind::Overloaded,
        "internalserver" | "internalfailure" | "modeltimeout" => ErrorKind::Server,
        // The model's own failure; what it said stands beside it.
        "modelstreamerror" | "modelerror" => match original {
            Some(400..=428 | 430..=499) => too_long(message).unwrap_or(ErrorKind::InvalidRequest),
            Some(429) => ErrorKind::RateLimited,
            Some(503) => ErrorKind::Overloaded,
            Some(500..) => ErrorKind::Server,
            _ if name.starts_with("modelstream") => ErrorKind::Server,
            _ => ErrorKind::Other,
        },
        "validation" | "serialization" | "conflict" => too_long(message).unwrap_or(ErrorKind::InvalidRequest),
        "servicequotaexceeded" => ErrorKind::Quota,
        "resourcenotfound" | "unknownoperation" => ErrorKind::NotFound,
        "accessdenied"
        | "unrecognizedclient"
        | "expiredtoken"
        | "invalidsignature"
        | "incompletesignature"
        | "missingauthenticationtoken"
        | "missingauthentication"
        | "invalidclienttokenid"
        | "notauthorized" => ErrorKind::Auth,
        _ => return None,
    })
}

// Quoted by users of several agents, 2026-11.
fn too_long(message: &str) -> Option<ErrorKind> {
    let message = message.to_lowercase();
    let signs = [
        "input is too long",
        "prompt is too long",
        "too many input tokens",
        "input tokens exceed",
        "maximum context length",
        "exceed context limit",
        "exceeds the model's maximum",
        "too many total text bytes",
    ];
    signs.iter().any(|sign| message.contains(sign)).then_some(ErrorKind::ContextTooLong)
}
