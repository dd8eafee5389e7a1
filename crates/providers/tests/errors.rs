//! What services say when they refuse, on one line, by kind.

use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_providers::{Anthropic, ErrorKind, Gemini, OpenAiChat, ProviderError, Wire};

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

/// What a refusal is taken for: its kind, whether it may be tried again, how long it wants to be waited for.
fn verdict(status: u16, headers: &[(&str, &str)], body: &str) -> String {
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let error = Anthropic::new().error(status, &headers, body.as_bytes());
    let kind = error.kind().map(|kind| kind.to_string()).unwrap_or_default();
    let again = if error.is_retryable() { "again" } else { "final" };
    let wait = error.retry_after().map(|wait| format!(", after {wait:?}")).unwrap_or_default();
    let message = error.to_string();
    let message = message.split_once("): ").map_or("", |(_, message)| message);
    let message = message.split(" (it asks").next().unwrap_or_default();
    format!("{status} {kind}, {again}{wait}: {message}\n")
}

#[test]
fn each_status_alone_says_whether_to_try_again() {
    let statuses = [400, 401, 402, 403, 404, 405, 408, 409, 413, 418, 422, 424, 429, 500, 502, 503, 504, 529];
    expect![[r#"
        400 invalid request, final: no reason given
        401 authentication, final: no reason given
        402 quota exhausted, final: no reason given
        403 authentication, final: no reason given
        404 not found, final: no reason given
        405 invalid request, final: no reason given
        408 refused, again: no reason given
        409 refused, again: no reason given
        413 context too long, final: no reason given
        418 refused, final: no reason given
        422 invalid request, final: no reason given
        424 server failure, final: no reason given
        429 rate limit, again: no reason given
        500 server failure, again: no reason given
        502 server failure, again: no reason given
        503 overloaded, again: no reason given
        504 server failure, again: no reason given
        529 overloaded, again: no reason given
    "#]]
    .assert_eq(&statuses.map(|status| verdict(status, &[], "")).concat());
}

#[test]
fn each_form_of_an_error_is_read_whatever_wire_it_came_on() {
    type Refusal = (u16, &'static [(&'static str, &'static str)], &'static str);
    let forms: [Refusal; 24] = [
        // Anthropic.
        (
            400,
            &[],
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"},"request_id":"r"}"#,
        ),
        (402, &[], r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#),
        (403, &[], r#"{"type":"error","error":{"type":"permission_error","message":"not yours"}}"#),
        (413, &[], r#"{"type":"error","error":{"type":"request_too_large","message":"too large"}}"#),
        (504, &[], r#"{"type":"error","error":{"type":"timeout_error","message":"took too long"}}"#),
        // OpenAI.
        (
            401,
            &[],
            r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"},"status":401}"#,
        ),
        (
            404,
            &[],
            r#"{"error":{"message":"The model `X` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
        ),
        (
            429,
            &[("retry-after-ms", "1500")],
            r#"{"error":{"message":"slow","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        (
            429,
            &[("x-should-retry", "true")],
            r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        // Dialects: flat, a detail, a string, a numeric code with the provider's words.
        (
            400,
            &[],
            r#"{"object":"error","message":"bad","type":"invalid_request_error","param":null,"code":"3051","raw_status_code":400}"#,
        ),
        (401, &[], r#"{"detail":"Invalid API Key"}"#),
        (400, &[], r#"{"error":"Venice says no"}"#),
        (
            502,
            &[],
            r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"provider_name":"x","raw":"{\"e\":1}"}}}"#,
        ),
        // Gemini.
        (
            400,
            &[],
            r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
        ),
        (404, &[], r#"[{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}]"#),
        (
            403,
            &[],
            r#"{"error":{"code":403,"message":"CachedContent not found (or permission denied)","status":"PERMISSION_DENIED"}}"#,
        ),
        (
            429,
            &[],
            r#"{"error":{"code":429,"message":"exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"q","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},{"@type":"r","retryDelay":"17.5s"}]}}"#,
        ),
        (
            429,
            &[],
            r#"{"error":{"code":429,"message":"exhausted","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"17s"}]}}"#,
        ),
        // Bedrock.
        (
            400,
            &[("x-amzn-ErrorType", "ValidationException:http://internal.amazon.com/")],
            r#"{"message":"The provided model identifier is invalid."}"#,
        ),
        (429, &[("x-amzn-errortype", "ThrottlingException")], r#"{"message":"Too many requests"}"#),
        (429, &[("x-amzn-errortype", "ModelNotReadyException")], r#"{"message":"warming up"}"#),
        (
            424,
            &[("x-amzn-errortype", "ModelErrorException")],
            r#"{"message":"failed","originalStatusCode":400}"#,
        ),
        (
            403,
            &[],
            r#"{"__type":"com.amazon.coral.service#UnrecognizedClientException","Message":"The security token is invalid."}"#,
        ),
        // Ollama.
        (404, &[], r#"{"error":"model 'x' not found"}"#),
    ];
    let text: String = forms.iter().map(|(status, headers, body)| verdict(*status, headers, body)).collect();
    expect![[r#"
        400 invalid request, final: max_tokens: Field required
        402 quota exhausted, final: pay
        403 authentication, final: not yours
        413 context too long, final: too large
        504 server failure, again: took too long
        401 authentication, final: Incorrect API key
        404 not found, final: The model `X` does not exist
        429 rate limit, again, after 1.5s: slow
        429 quota exhausted, final: pay
        400 invalid request, final: bad
        401 authentication, final: Invalid API Key
        400 invalid request, final: Venice says no
        502 server failure, again: Provider returned error: {"e":1}
        400 authentication, final: API key not valid.
        404 not found, final: models/x is not found
        403 authentication, final: CachedContent not found (or permission denied)
        429 rate limit, again, after 17.5s: exhausted
        429 quota exhausted, final, after 17s: exhausted
        400 invalid request, final: The provided model identifier is invalid.
        429 rate limit, again: Too many requests
        429 overloaded, again: warming up
        424 server failure, final: failed
        403 authentication, final: The security token is invalid.
        404 not found, final: model 'x' not found
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_history_whose_calls_and_results_do_not_stand_together_is_never_sent_again_whoever_passes_the_refusal_on()
{
    let texts = [
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
        "messages.3.content.0: `tool_use` ids must be unique",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'",
        "No tool output found for function call call_1.",
        "Not the same number of function calls and responses",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "Please ensure that the number of function response parts is equal to the number of function call parts",
        "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1",
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ];
    for text in texts {
        let body = serde_json::json!({ "error": { "message": text, "type": "server_error" } }).to_string();
        for status in [400, 422, 500, 502] {
            let told = verdict(status, &[("x-should-retry", "true"), ("retry-after", "1")], &body);
            assert!(told.starts_with(&format!("{status} invalid request, final, after 1s: ")), "{told}");
        }
    }
}

#[test]
fn a_wait_that_comes_with_a_good_answer_means_nothing() {
    let headers = [("retry-after".to_owned(), "30".to_owned())];
    assert_eq!(Anthropic::new().error(200, &headers, b"{}").retry_after(), None);
}

/// In the words that services use of themselves: public reports and sources, read 2026-11.
#[test]
fn too_long_is_known_in_the_words_of_many_services() {
    let words = [
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "prompt token count of 140000 exceeds the limit of 128000",
        "Invalid request: Your request exceeded model token limit: 131072",
        "invalid params, context window exceeds limit (2013)",
        "Prompt exceeds max length",
        "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
        "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 1000 `max_new_tokens`",
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
        "the input length exceeds the context length",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "prompt too long; exceeded max context length by 12 tokens",
    ];
    for words in words {
        for body in [format!("{{\"error\":{{\"message\":{words:?}}}}}"), format!("{{\"error\":{words:?}}}")] {
            let error = OpenAiChat::default().error(400, &[], body.as_bytes());
            assert_eq!(error.kind(), Some(ErrorKind::ContextTooLong), "{words}");
        }
    }
    let code = r#"{"error":{"message":"too many","code":"model_max_prompt_tokens_exceeded"}}"#;
    let error = OpenAiChat::default().error(400, &[], code.as_bytes());
    assert_eq!(error.kind(), Some(ErrorKind::ContextTooLong));
    let other = r#"{"error":{"message":"max_tokens must be at least 1"}}"#;
    let error = OpenAiChat::default().error(400, &[], other.as_bytes());
    assert_eq!(error.kind(), Some(ErrorKind::InvalidRequest));
}
