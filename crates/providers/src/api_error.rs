//! Reads what services say when they refuse.
//!
//! One reader for all wires: gateways answer in each other's forms, so the form says little about the wire. `error` may
//! be an object or a string, the words may stand at the top as `message` or `detail`, and `code` may be a number.

use std::time::Duration;

use serde_json::Value;

use crate::error::one_line;
use crate::{DecodeError, ErrorKind, ProviderError, framing, retry};

const MESSAGE_LIMIT: usize = 500;
// As much of a refusal as is read once it is unpacked.
const BODY_LIMIT: usize = 1024 * 1024;

/// What services say of a history whose calls and results do not stand together, in lower case; users quote these texts
/// in public issues (read 2026-11).
const PAIRING: &[&str] = &[
    "ids were found without `tool_result` blocks",
    "unexpected `tool_use_id` found",
    "`tool_use` ids must be unique",
    "must be followed by tool messages responding to each",
    "must be a response to a prece",
    "was provided without its required",
    "no tool output found for",
    "not the same number of function calls and responses",
    "function call turn comes immediately after",
    "function response turn comes immediately after",
    "number of function response parts is equal",
    "expected toolresult blocks at",
    "exceeds the number of tooluse blocks",
];

/// Reads a response whose status is not a success.
pub(crate) fn of_response(status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
    let body = framing::unpacked(body, BODY_LIMIT);
    let text = String::from_utf8_lossy(&body);
    let content_type = retry::header(headers, "content-type").unwrap_or_default();
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') || content_type.contains("text/html")
    {
        return ProviderError::Html { endpoint: "the endpoint".to_owned(), status };
    }
    let mut said = match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Ok(body) => Said::in_body(&body),
        Err(_) => Said { message: text.trim().to_owned(), ..Said::default() },
    };
    // AWS names the error in a header, some services with a colon and an address behind it.
    if let Some(name) = retry::header(headers, "x-amzn-errortype") {
        said.words = format!("{} {}", name.to_lowercase(), said.words);
    }
    let kind = said.kind(status);
    let retryable = match (kind, retry::header(headers, "x-should-retry")) {
        // The same body is refused again, and a quota is no fuller, whatever the service says.
        (ErrorKind::InvalidRequest | ErrorKind::ContextTooLong | ErrorKind::Quota, _) => false,
        (_, Some("false")) => false,
        (_, Some("true")) => true,
        // The model itself failed; only where it broke off while it wrote does AWS advise to try again (read 2026-11).
        _ if status == 424 => said.has(&["modelstreamerror"]),
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
    // `retry-after` also comes with answers that are good, and then means nothing (recorded, 2026-11).
    let retry_after = retry::retry_after(headers).or(said.wait).filter(|_| status >= 300);
    ProviderError::Api { status, kind, message, retry_after, retryable, wants: None }
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
    // A code that is a status.
    status: Option<u16>,
    // How long to wait, where the body says it.
    wait: Option<Duration>,
}

impl Said {
    fn in_body(body: &Value) -> Said {
        // Gemini's compatible endpoint wraps the object in an array.
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        // A response that failed holds its error as one of many fields.
        let error = [body.get("error"), body.get("response").and_then(|response| response.get("error"))];
        let error = error.into_iter().flatten().find(|error| !error.is_null()).unwrap_or(body);
        let message = ["message", "Message", "detail", "error"]
            .iter()
            .find_map(|name| error.get(name).filter(|said| !said.is_null()))
            .or_else(|| body.get("message"))
            .unwrap_or(error);
        let mut message = text_of(message);
        // A router's own words say only that its provider refused; what the provider said stands beside them.
        if let Some(raw) = error.get("metadata").and_then(|metadata| metadata.get("raw")) {
            message = format!("{message}: {}", text_of(raw));
        }
        let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let reasons = details.iter().flat_map(|detail| {
            let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
            let quotas = violations.filter_map(|violation| violation.get("quotaId"));
            detail.get("reason").into_iter().chain(quotas)
        });
        let fields = ["type", "code", "status", "__type"].map(|name| error.get(name));
        let fields = fields.into_iter().chain([body.get("code"), body.get("__type")]).flatten();
        let words = fields.chain(reasons).map(text_of).collect::<Vec<_>>().join(" ");
        let codes = [error.get("code"), body.get("code"), error.get("status"), error.get("raw_status_code")];
        let status = codes.into_iter().flatten().find_map(|code| match code {
            Value::String(code) => code.parse().ok(),
            code => code.as_u64().and_then(|code| u16::try_from(code).ok()),
        });
        // Google says it as a protobuf duration, such as `17s` or `0.5s`.
        let wait = details.iter().find_map(|detail| {
            let seconds: f64 = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
            Duration::try_from_secs_f64(seconds).ok()
        });
        let status = status.filter(|code| (400..600).contains(code));
        Said { words: words.to_lowercase(), message, status, wait }
    }

    fn has(&self, any: &[&str]) -> bool {
        any.iter().any(|word| self.words.contains(word))
    }

    /// Words are more exact than a status, so they are asked first.
    fn kind(&self, status: u16) -> ErrorKind {
        let message = self.message.to_lowercase();
        let says = |any: &[&str]| self.has(any);
        let tells = |any: &[&str]| any.iter().any(|words| message.contains(words));
        // Gateways pass a refusal on under any status.
        if tells(PAIRING) {
            return ErrorKind::InvalidRequest;
        }
        // A limit of a day is none that a retry outlasts.
        if says(&["insufficient_quota", "billing", "perday", "servicequotaexceeded"])
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
                "input is too long for requested model",
                "exceeds the maximum number of tokens",
            ])
            || status == 413
        {
            return ErrorKind::ContextTooLong;
        }
        if says(&["overloaded", "serviceunavailable", "modelnotready"]) {
            return ErrorKind::Overloaded;
        }
        if says(&["rate_limit", "throttling", "too_many_requests", "resource_exhausted"]) {
            return ErrorKind::RateLimited;
        }
        // A bad key is a 400 with this reason at Gemini (recorded, 2026-11).
        if says(&[
            "authentication",
            "unauthenticated",
            "invalid_api_key",
            "api_key_invalid",
            "permission",
            "accessdenied",
            "unrecognizedclient",
            "expiredtoken",
            "invalidsignature",
        ]) {
            return ErrorKind::Auth;
        }
        if says(&["not_found", "resourcenotfound"]) {
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
            424 | 500.. => ErrorKind::Server,
            _ if says(&[
                "invalid_request",
                "invalid_argument",
                "validation",
                "unsupported",
                "tool_use_failed",
            ]) =>
            {
                ErrorKind::InvalidRequest
            }
            _ if says(&[
                "api_error",
                "server_error",
                "timeout",
                "internal",
                "unavailable",
                "deadline_exceeded",
                "modelstreamerror",
                "modelerror",
            ]) =>
            {
                ErrorKind::Server
            }
            _ => ErrorKind::Other,
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
