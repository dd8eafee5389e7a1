//! Reads what services say when they refuse.
//!
//! One reader for all wires: gateways answer in each other's forms, so the form says little about the wire. `error` may
//! be an object or a string, the words may stand at the top as `message` or `detail`, and `code` may be a number.

use std::time::Duration;

use serde_json::Value;

use crate::error::{may_pass, one_line};
use crate::{DecodeError, ErrorKind, ProviderError, framing, retry};

const MESSAGE_LIMIT: usize = 500;
// As much of a refusal as is read once it is unpacked.
const BODY_LIMIT: usize = 1024 * 1024;

/// What services say of a list that is longer than the model can read, each in its own words: Anthropic, OpenAI and those that
/// follow it, llama.cpp, Bedrock, Gemini; xAI, Copilot, Moonshot, MiniMax, Z.ai, SGLang, TGI, LM Studio, Ollama, Mistral,
/// Cohere, DeepSeek (public reports and sources, read 2026-11).
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "exceed context limit",
    "exceeds the available context size",
    "input is too long for requested model",
    "exceeds the maximum number of tokens",
    "exceeds the context window",
    "context window exceeds limit",
    "maximum prompt length is",
    "prompt token count of",
    "exceeded model token limit",
    "prompt exceeds max length",
    "model's context length",
    "longer than the model's context",
    "`inputs` tokens + `max_new_tokens` must be <=",
    "`inputs` must have less than",
    "context length of only",
    "exceeds the context length",
    "exceeds maximum context",
    "prompt too long",
    "too large for model with",
    "context overflow",
    "greater than the context length",
    "exceed model context",
    "context size has been exceeded",
    "too many tokens: ",
];

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
        _ => may_pass(kind) || matches!(status, 408 | 409),
    };
    let message = if said.message.is_empty() {
        "no reason given".to_owned()
    } else {
        one_line(&said.message, MESSAGE_LIMIT)
    };
    // `retry-after` also comes with answers that are good, and then means nothing (recorded, 2026-11).
    let wait = || said.wait.or_else(|| said.wait_in_words(kind));
    let retry_after = retry::retry_after(headers).or_else(wait).filter(|_| status >= 300);
    ProviderError::Api { status, kind, message, retry_after, retryable, wants: None }
}

/// Reads an error that came inside a body that had begun well; what is no JSON is quoted.
pub(crate) fn reported(data: &str) -> DecodeError {
    in_body(data, ErrorKind::Other)
}

/// Reads what a service says of an answer that failed: without a kind, it is the service that did.
pub(crate) fn failed(data: &str) -> DecodeError {
    in_body(data, ErrorKind::Server)
}

fn in_body(data: &str, otherwise: ErrorKind) -> DecodeError {
    let Ok(body) = serde_json::from_str::<Value>(data) else {
        return DecodeError::reported(ErrorKind::Other, data);
    };
    let said = Said::in_body(&body);
    let kind = match said.kind(said.status.unwrap_or(200)) {
        ErrorKind::Other => said.kind_in_words().unwrap_or(otherwise),
        kind => kind,
    };
    // A wait that is asked for says that waiting helps. 408 and 409 as with a status of their own.
    let passes = kind == ErrorKind::Other && (said.wait.is_some() || matches!(said.status, Some(408 | 409)));
    DecodeError::Reported {
        kind,
        message: match one_line(&said.message, MESSAGE_LIMIT) {
            message if message.is_empty() => "no reason given".to_owned(),
            message => message,
        },
        retry_after: said.wait.or_else(|| said.wait_in_words(kind)),
        retryable: may_pass(kind) || passes,
    }
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
        let wait = wait.or_else(|| wait_in_metadata(error.get("metadata")?));
        let status = status.filter(|code| (400..600).contains(code));
        Said { words: words.to_lowercase(), message, status, wait }
    }

    /// Returns the kind by the message alone, for services that give nothing but words.
    fn kind_in_words(&self) -> Option<ErrorKind> {
        let message = self.message.to_lowercase();
        let tells = |any: &[&str]| any.iter().any(|words| message.contains(words));
        if tells(&["rate limit", "rate-limit", "too many requests"]) {
            return Some(ErrorKind::RateLimited);
        }
        if tells(&["overloaded", "server busy", "temporarily unavailable", "try again later", "at capacity"])
        {
            return Some(ErrorKind::Overloaded);
        }
        // Ollama's words where the process with the model in it died.
        let died =
            ["runner has unexpectedly stopped", "runner process", "unexpected eof", "internal server error"];
        tells(&died).then_some(ErrorKind::Server)
    }

    /// Returns the wait that is asked for in words, as in `Please try again in 1m2.5s` or `retry after 20 seconds`.
    fn wait_in_words(&self, kind: ErrorKind) -> Option<Duration> {
        if !matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded) {
            return None;
        }
        let message = self.message.to_lowercase();
        let signs = ["try again in ", "retry in ", "try again after ", "retry after "];
        let at = signs.iter().find_map(|sign| Some(message.find(sign)? + sign.len()))?;
        spoken_duration(message.get(at..)?)
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
        if says(&[
            "context_length_exceeded",
            "exceed_context_size",
            "request_too_large",
            "model_max_prompt_tokens",
        ]) || tells(TOO_LONG)
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
        // OpenAI's word for a prompt that its rules refuse: another attempt brings the same.
        if says(&["invalid_prompt"]) {
            return ErrorKind::InvalidRequest;
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

/// Returns the wait that a router passes on, from the headers of the service behind it or in a field of its own.
fn wait_in_metadata(metadata: &Value) -> Option<Duration> {
    let number = |value: &Value| match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    let own = metadata.get("retry_after_seconds").or_else(|| metadata.get("retry_after"));
    let headers = metadata.get("headers").and_then(Value::as_object);
    let header = headers.into_iter().flatten().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    let seconds: f64 = number(own.or(header.map(|(_, value)| value))?)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Reads a duration at the beginning of words: `20s`, `1m2.5s`, `500ms`, `20 seconds`.
fn spoken_duration(words: &str) -> Option<Duration> {
    let mut rest = words;
    let mut seconds = None;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { break };
        let tail = tail.strip_prefix(' ').unwrap_or(tail);
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let unit = match unit {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => break,
        };
        seconds = Some(seconds.unwrap_or(0.0) + number * unit);
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds?).ok()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
