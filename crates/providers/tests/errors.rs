//! What services say when they refuse, on one line, by kind.

use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_providers::{Anthropic, Gemini, OpenAiChat, ProviderError, Wire};

fn check(wire: &dyn Wire, status: u16, body: &str, expected: Expect) {
    let error = wire.error(status, &[], body.as_bytes());
    let again = if error.is_retryable() { "may be tried again" } else { "final" };
    expected.assert_eq(&format!("{error}\n{again}"));
}

fn anthropic(status: u16, body: &str, expected: Expect) {
    check(&Anthropic::new(), status, body, expected);
}

fn chat(status: u16, body: &str, expected: Expect) {
    check(&OpenAiChat::default(), status, body, expected);
}

#[test]
fn kinds_of_anthropic() {
    anthropic(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"},"request_id":"req_1"}"#,
        expect![[r#"
            invalid request (status 400): messages: text content blocks must be non-empty
            final"#]],
    );
    anthropic(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}"#,
        expect![[r#"
            context too long (status 400): prompt is too long: 200001 tokens > 200000 maximum
            final"#]],
    );
    anthropic(
        401,
        r#"{"error":{"message":"API key is invalid.","type":"authentication_error"},"request_id":null}"#,
        expect![[r#"
        authentication (status 401): API key is invalid.
        final"#]],
    );
    anthropic(
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: nope"}}"#,
        expect![[r#"
        not found (status 404): model: nope
        final"#]],
    );
    anthropic(
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
        expect![[r#"
        rate limit (status 429): slow down
        may be tried again"#]],
    );
    anthropic(
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        expect![[r#"
        overloaded (status 529): Overloaded
        may be tried again"#]],
    );
}

#[test]
fn kinds_of_chat_and_its_dialects() {
    chat(
        401,
        r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        expect![[r#"
        authentication (status 401): Incorrect API key
        final"#]],
    );
    chat(
        401,
        r#"{"detail":"Invalid API Key"}"#,
        expect![[r#"
        authentication (status 401): Invalid API Key
        final"#]],
    );
    chat(
        400,
        r#"{"code":"invalid-argument","error":"Model not found"}"#,
        expect![[r#"
        invalid request (status 400): Model not found
        final"#]],
    );
    chat(
        422,
        r#"{"object":"error","message":{"detail":[{"msg":"extra"}]},"type":"invalid_request_error","code":"3051"}"#,
        expect![[r#"
        invalid request (status 422): {"detail":[{"msg":"extra"}]}
        final"#]],
    );
    chat(
        429,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        expect![[r#"
        quota exhausted (status 429): You exceeded your current quota
        final"#]],
    );
    chat(
        400,
        r#"{"error":{"code":400,"message":"request exceeds the available context size","type":"exceed_context_size_error","n_ctx":512}}"#,
        expect![[r#"
        context too long (status 400): request exceeds the available context size
        final"#]],
    );
    chat(
        500,
        r#"{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON","type":"server_error"}}"#,
        expect![[r#"
        invalid request (status 500): Failed to parse tool call arguments as JSON
        final"#]],
    );
    chat(
        500,
        r#"{"error":{"code":500,"message":"oops","type":"server_error"}}"#,
        expect![[r#"
        server failure (status 500): oops
        may be tried again"#]],
    );
    chat(
        503,
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        expect![[r#"
        overloaded (status 503): Loading model
        may be tried again"#]],
    );
}

#[test]
fn kinds_of_gemini() {
    let gemini = Gemini::new();
    check(
        &gemini,
        400,
        r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
        expect![[r#"
            authentication (status 400): API key not valid. Please pass a valid API key.
            final"#]],
    );
    check(
        &gemini,
        429,
        r#"[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}]"#,
        expect![[r#"
            rate limit (status 429): Resource has been exhausted (it asks to wait 17.5 s)
            may be tried again"#]],
    );
    check(
        &gemini,
        429,
        r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"-3s"}]}}"#,
        expect![[r#"
            quota exhausted (status 429): You exceeded your current quota
            final"#]],
    );
    check(
        &gemini,
        400,
        r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        expect![[r#"
            context too long (status 400): The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
            final"#]],
    );
    check(
        &gemini,
        403,
        r#"{"error":{"code":403,"message":"CachedContent not found (or permission denied)","status":"PERMISSION_DENIED"}}"#,
        expect![[r#"
            authentication (status 403): CachedContent not found (or permission denied)
            final"#]],
    );
    check(
        &gemini,
        503,
        r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
        expect![[r#"
            overloaded (status 503): The model is overloaded.
            may be tried again"#]],
    );
}

#[test]
fn a_page_says_what_may_be_wrong() {
    chat(
        404,
        "<html>\n<body>nginx</body></html>",
        expect![[r#"
        the endpoint answered with an HTML page instead of an API response (status 404): is the base URL right?
        final"#]],
    );
    chat(
        502,
        "<html>bad gateway</html>",
        expect![[r#"
        the endpoint answered with an HTML page instead of an API response (status 502): is the base URL right?
        may be tried again"#]],
    );
}

#[test]
fn foreign_words_stay_short_and_on_one_line() {
    chat(
        418,
        "I am\n\ta \u{1b}[31mteapot",
        expect![[r#"
        refused (status 418): I am a [31mteapot
        final"#]],
    );
    let ProviderError::Api { message, .. } =
        OpenAiChat::default().error(400, &[], "x".repeat(10_000).as_bytes())
    else {
        panic!("not an API error");
    };
    assert_eq!(message.chars().count(), 501);
    chat(
        500,
        "",
        expect![[r#"
        server failure (status 500): no reason given
        may be tried again"#]],
    );
}

#[test]
fn the_wait_is_read_from_the_headers_that_there_are() {
    let wait = |headers: &[(&str, &str)]| {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Anthropic::new().error(429, &headers, b"{}").retry_after()
    };
    assert_eq!(wait(&[]), None);
    assert_eq!(wait(&[("Retry-After", "1.5")]), Some(Duration::from_millis(1500)));
    assert_eq!(wait(&[("retry-after", "9"), ("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
    let now = ("date", "Fri, 28 Feb 2025 23:59:50 GMT");
    assert_eq!(wait(&[("retry-after", "Sat, 01 Mar 2025 00:00:10 GMT"), now]), Some(Duration::from_secs(20)));
    assert_eq!(wait(&[("retry-after", "Fri, 28 Feb 2025 00:00:00 GMT"), now]), None);
    assert_eq!(wait(&[("retry-after", "Sat, 01 Mar 2025 00:00:10 GMT")]), None);
    assert_eq!(wait(&[("retry-after", "-1")]), None);
    assert_eq!(wait(&[("retry-after", "1e300")]), None);
}

#[test]
fn a_service_may_forbid_to_try_again() {
    let header = |value: &str| vec![("x-should-retry".to_owned(), value.to_owned())];
    let wire = Anthropic::new();
    assert!(wire.error(500, &[], b"{}").is_retryable());
    assert!(!wire.error(500, &header("false"), b"{}").is_retryable());
    assert!(wire.error(409, &header("true"), b"{}").is_retryable());
    // Nobody can make the same illegal history legal.
    assert!(!wire.error(400, &header("true"), b"{}").is_retryable());
}
