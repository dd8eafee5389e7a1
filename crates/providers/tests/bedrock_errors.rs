//! What Bedrock says when it fails: inside of a stream, in place of an answer, and by its status.

use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_providers::{Bedrock, Wire};

use crate::bedrock_frames::stream;
use crate::replies::{decode, report, report_bytes};

fn check(events: &str, expected: Expect) {
    let all = format!("messageStart {{\"role\":\"assistant\"}}\n{events}");
    expected.assert_eq(&report_bytes(&Bedrock::new(), &stream(&all)));
}

fn whole(body: &str, expected: Expect) {
    expected.assert_eq(&report(&Bedrock::new(), body));
}

fn error(status: u16, name: &str, body: &str, expected: Expect) {
    let headers =
        [("x-amzn-ErrorType".to_owned(), name.to_owned()), ("retry-after".to_owned(), "2".to_owned())];
    let headers = if name.is_empty() { &headers[1..] } else { &headers };
    let error = Bedrock::new().error(status, headers, body.as_bytes());
    assert!(error.retry_after().is_none_or(|wait| wait == Duration::from_secs(2)));
    let again = if error.is_retryable() { "may be tried again" } else { "final" };
    expected.assert_eq(&format!("{error}\n{again}"));
}

#[test]
fn exceptions_end_the_answer_with_their_kind() {
    let kinds = [
        "throttlingException",
        "serviceUnavailableException",
        "internalServerException",
        "modelTimeoutException",
        "modelStreamErrorException",
        "validationException",
        "accessDeniedException",
        "newException",
    ];
    let mut text = String::new();
    for kind in kinds {
        let body = stream(&format!(
            "messageStart {{}}\ncontentBlockDelta {{\"delta\":{{\"text\":\"half\"}}}}\n!{kind} {{\"message\":\"no\"}}"
        ));
        let (events, outcome) = decode(&Bedrock::new(), [body.as_slice()]);
        text.push_str(&format!("{kind} after {}: {:?}\n", events.len(), outcome.expect_err("it failed")));
    }
    expect![[r#"
        throttlingException after 2: Reported { kind: RateLimited, message: "no", retry_after: None, retryable: true }
        serviceUnavailableException after 2: Reported { kind: Overloaded, message: "no", retry_after: None, retryable: true }
        internalServerException after 2: Reported { kind: Server, message: "no", retry_after: None, retryable: true }
        modelTimeoutException after 2: Reported { kind: Server, message: "no", retry_after: None, retryable: true }
        modelStreamErrorException after 2: Reported { kind: Server, message: "no", retry_after: None, retryable: true }
        validationException after 2: Reported { kind: InvalidRequest, message: "no", retry_after: None, retryable: false }
        accessDeniedException after 2: Reported { kind: Auth, message: "no", retry_after: None, retryable: false }
        newException after 2: Reported { kind: Other, message: "no", retry_after: None, retryable: false }
    "#]]
    .assert_eq(&text);
}

#[test]
fn the_models_own_words_stand_beside_its_failure() {
    check(
        r#"!modelStreamErrorException {"message":"the model failed","originalMessage":"bad tool","originalStatusCode":400}"#,
        expect![[r#"
            Started { model: "m", id: None }
            --
            assistant:
            + origin bedrock m
            -- the provider failed while answering: the model failed: bad tool
        "#]],
    );
    check(
        r#"!validationException {"message":"Input is too long for requested model."}"#,
        expect![[r#"
        Started { model: "m", id: None }
        --
        assistant:
        + origin bedrock m
        -- the provider failed while answering: Input is too long for requested model.
    "#]],
    );
    check(
        "!throttlingException",
        expect![[r#"
        Started { model: "m", id: None }
        --
        assistant:
        + origin bedrock m
        -- the provider failed while answering: throttlingException
    "#]],
    );
}

#[test]
fn an_error_in_place_of_an_answer_is_reported() {
    whole(
        r#"{"message":"no"}"#,
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the provider failed while answering: no
    "#]],
    );
    whole(
        r#"{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}"#,
        expect![[r#"
            --
            assistant:
            + origin bedrock m
            -- the provider failed while answering: {"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}
        "#]],
    );
    whole(
        r#"{"choices":[]}"#,
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer cannot be read (no message in it): {"choices":[]}
    "#]],
    );
    whole(
        r#"{"output":{"message":{"content":[{"text":"a"#,
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer was cut off before its end
    "#]],
    );
}

#[test]
fn events_that_make_no_sense_are_an_error() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}"#,
        expect![[r#"
            Started { model: "m", id: None }
            Unread { text: "{}", cause: "arguments of a call that never began" }
            --
            assistant:
            + origin bedrock m
            -- the answer cannot be read (arguments of a call that never began): {}
        "#]],
    );
    check(
        r#"contentBlockDelta {"contentBlockIndex":0"#,
        expect![[r#"
            Started { model: "m", id: None }
            Unread { text: "{\"contentBlockIndex\":0", cause: "EOF while parsing an object at line 1 column 22" }
            --
            assistant:
            + origin bedrock m
            -- the answer cannot be read (EOF while parsing an object at line 1 column 22): {"contentBlockIndex":0
        "#]],
    );
}

#[test]
fn kinds_of_refusals() {
    error(
        400,
        "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/",
        r#"{"message":"The text field in the ContentBlock object at messages.0.content.0 is blank."}"#,
        expect![[r#"
            invalid request (status 400): The text field in the ContentBlock object at messages.0.content.0 is blank. (it asks to wait 2 s)
            final"#]],
    );
    error(
        400,
        "",
        r#"{"message":"The model returned the following errors: prompt is too long: 200001 tokens > 200000 maximum"}"#,
        expect![[r#"
            context too long (status 400): The model returned the following errors: prompt is too long: 200001 tokens > 200000 maximum (it asks to wait 2 s)
            final"#]],
    );
    error(
        403,
        "UnrecognizedClientException",
        r#"{"message":"The security token is invalid."}"#,
        expect![[r#"
            authentication (status 403): The security token is invalid. (it asks to wait 2 s)
            final"#]],
    );
    error(
        403,
        "",
        r#"{"Message":"User is not authorized to perform: bedrock:InvokeModel"}"#,
        expect![[r#"
        authentication (status 403): User is not authorized to perform: bedrock:InvokeModel (it asks to wait 2 s)
        final"#]],
    );
    error(
        404,
        "ResourceNotFoundException:http://internal.amazon.com/coral/com.amazon.bedrock/",
        r#"{"message":"This model version has reached the end of its life."}"#,
        expect![[r#"
            not found (status 404): This model version has reached the end of its life. (it asks to wait 2 s)
            final"#]],
    );
    error(
        408,
        "ModelTimeoutException",
        r#"{"message":"slow"}"#,
        expect![[r#"
        server failure (status 408): slow (it asks to wait 2 s)
        may be tried again"#]],
    );
    error(
        424,
        "ModelErrorException",
        r#"{"message":"broken","originalStatusCode":500}"#,
        expect![[r#"
        server failure (status 424): broken (it asks to wait 2 s)
        may be tried again"#]],
    );
    error(
        424,
        "",
        r#"{"message":"broken"}"#,
        expect![[r#"
        refused (status 424): broken (it asks to wait 2 s)
        final"#]],
    );
    error(
        429,
        "ThrottlingException",
        r#"{"message":"Too many requests"}"#,
        expect![[r#"
        rate limit (status 429): Too many requests (it asks to wait 2 s)
        may be tried again"#]],
    );
    error(
        429,
        "ModelNotReadyException",
        r#"{"message":"not ready"}"#,
        expect![[r#"
        overloaded (status 429): not ready (it asks to wait 2 s)
        may be tried again"#]],
    );
    error(
        400,
        "ServiceQuotaExceededException",
        r#"{"message":"quota"}"#,
        expect![[r#"
        quota exhausted (status 400): quota (it asks to wait 2 s)
        final"#]],
    );
    error(
        503,
        "ServiceUnavailableException",
        r#"{"message":"busy"}"#,
        expect![[r#"
        overloaded (status 503): busy (it asks to wait 2 s)
        may be tried again"#]],
    );
    error(
        500,
        "",
        r#"{"__type":"com.amazon.bedrock#InternalServerException"}"#,
        expect![[r#"
        server failure (status 500): {"__type":"com.amazon.bedrock#InternalServerException"} (it asks to wait 2 s)
        may be tried again"#]],
    );
    error(
        502,
        "",
        "<html>bad gateway</html>",
        expect![[r#"
        the endpoint answered with an HTML page instead of an API response (status 502): is the base URL right?
        may be tried again"#]],
    );
}
