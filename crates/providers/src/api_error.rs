//! Reads what services say when they refuse.
//!
//! One reader for all wires: gateways answer in each other's forms, so the form says little about the wire. `error` may
//! be an object or a string, the words may stand at the top as `message` or `detail`, and `code` may be a number.

use std::time::Duration;

use serde_json::Value;

use crate::error::one_line;
use crate::{DecodeError, ErrorKind, ProviderError, retry};

const MESSAGE_LIMIT: usize = 500;

/// Reads a response whose status is not a success.
pub(crate) fn of_response(status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let content_type = retry::header(headers, "content-type").unwrap_or_default();
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') || content_type.contains("text/html")
    {
        return ProviderError::Html { endpoint: "the endpoint".to_owned(), status };
    }
    let said = match serde_json::from_str::<Value>(&text) {
        Ok(body) => Said::in_body(&body),
        Err(_) => Said { message: text.trim().to_owned(), ..Said::default() },
    };
    let kind = said.kind(status);
    let retryable = match retry::header(headers, "x-should-retry") {
        Some("false") => false,
        Some("true") => !matches!(kind, ErrorKind::InvalidRequest | ErrorKind::ContextTooLong),
        // 408 and 409: the official clients try again (read 2026-11).
        _ => {
            matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded | ErrorKind::Server)
                || matches!(status, 408 | 409)
        }
    };
    let message = if said.message.is_empty() {
        "no reason given".to_owned()
    } else {
        one_line(&said.message, MESSAGE_LIMIT)
    };
    let retry_after = retry::retry_after(headers).or(said.retry_after);
    ProviderError::Api { status, kind, message, retry_after, retryable }
}

/// Reads an error object inside a body that had begun well.
pub(crate) fn in_stream(body: &Value) -> (ErrorKind, String) {
    let said = Said::in_body(body);
    let kind = said.kind(said.status.unwrap_or(200));
    (kind, one_line(&said.message, MESSAGE_LIMIT))
}

/// Reads an error that came inside a body that had begun well; what is no JSON is quoted.
pub(crate) fn reported(data: &str) -> DecodeError {
    let (kind, message) = match serde_json::from_str::<Value>(data) {
        Ok(body) => in_stream(&body),
        Err(_) => (ErrorKind::Other, one_line(data, MESSAGE_LIMIT)),
    };
    DecodeError::Reported { kind, message }
}

#[derive(Default)]
struct Said {
    // Type, code and reasons, in lower case.
    words: String,
    message: String,
    // A numeric code that is a status.
    status: Option<u16>,
    // How long to wait, where the body says it.
    retry_after: Option<Duration>,
}

impl Said {
    fn in_body(body: &Value) -> Said {
        // Gemini's compatible endpoint wraps the object in an array.
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let message = ["message", "detail", "error"]
            .iter()
            .find_map(|name| error.get(name).filter(|said| !said.is_null()))
            .or_else(|| body.get("message"))
            .unwrap_or(error);
        let mut message = text_of(message);
        // A router's own words say only that its provider refused; what the provider said stands beside them.
        if let Some(raw) = error.get("metadata").and_then(|metadata| metadata.get("raw")) {
            message = format!("{message}: {}", text_of(raw));
        }
        let fields = [error.get("type"), error.get("code"), error.get("status"), body.get("code")];
        // Google's services say more in a list.
        let details = || error.get("details").and_then(Value::as_array).into_iter().flatten();
        let reasons = details().flat_map(|detail| {
            let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
            detail.get("reason").into_iter().chain(violations.filter_map(|one| one.get("quotaId")))
        });
        let words = fields.into_iter().flatten().chain(reasons).map(text_of).collect::<Vec<_>>().join(" ");
        let retry_after = details().filter_map(|detail| detail.get("retryDelay")).find_map(delay);
        let status = error.get("code").or_else(|| body.get("code")).and_then(Value::as_u64);
        let status =
            status.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        Said { words: words.to_lowercase(), message, status, retry_after }
    }

    /// Words are more exact than a status, so they are asked first.
    fn kind(&self, status: u16) -> ErrorKind {
        let message = self.message.to_lowercase();
        let says = |any: &[&str]| any.iter().any(|word| self.words.contains(word));
        let tells = |any: &[&str]| any.iter().any(|words| message.contains(words));
        if says(&["insufficient_quota", "billing", "perday"])
            || tells(&["credit balance is too low"])
            || status == 402
        {
            return ErrorKind::Quota;
        }
        if says(&["context_length_exceeded", "exceed_context_size", "request_too_large"])
            || tells(&[
                "prompt is too long",
                "maximum context length",
                "exceed context limit",
                "exceeds the available context size",
                "exceeds the maximum number of tokens",
            ])
            || status == 413
        {
            return ErrorKind::ContextTooLong;
        }
        if says(&["overloaded"]) {
            return ErrorKind::Overloaded;
        }
        if says(&["rate_limit"]) {
            return ErrorKind::RateLimited;
        }
        if says(&["authentication", "invalid_api_key", "api_key_invalid", "permission"]) {
            return ErrorKind::Auth;
        }
        if says(&["not_found"]) {
            return ErrorKind::NotFound;
        }
        // llama.cpp's server answers 500 to requests that can never work (seen in recorded exchanges, 2026-11).
        if status == 500
            && tells(&[
                "failed to parse tool call arguments",
                "requires --jinja",
                "cannot use",
                "cannot specify",
                "is not supported",
            ])
        {
            return ErrorKind::InvalidRequest;
        }
        match status {
            400 | 405 | 411 | 415 | 422 => ErrorKind::InvalidRequest,
            401 | 403 => ErrorKind::Auth,
            404 => ErrorKind::NotFound,
            429 => ErrorKind::RateLimited,
            503 | 529 => ErrorKind::Overloaded,
            500.. => ErrorKind::Server,
            _ if says(&["invalid_request", "unsupported", "tool_use_failed"]) => ErrorKind::InvalidRequest,
            _ if says(&["api_error", "server_error", "timeout", "internal"]) => ErrorKind::Server,
            _ => ErrorKind::Other,
        }
    }
}

/// Reads a duration as Google's services write it: seconds, then `s`.
fn delay(value: &Value) -> Option<Duration> {
    let seconds = value.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
