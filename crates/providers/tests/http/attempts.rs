//! Which attempts are repeated, and what is told of them.

use std::time::Duration;

use trunkline_providers::{
    Anthropic, Bounds, DecodeError, ErrorKind, Event, HttpProvider, OpenAiChat, ProviderError, RetryPolicy,
    Wire,
};

use super::{
    Act, HEAD, WORDS, answer, ask, attempts, chat, chunk, end, listen, provider, refusal, send, serve, words,
};
use crate::every_body::{Kind, all_wires, stream};

fn eager() -> RetryPolicy {
    let mut retry = RetryPolicy::default();
    retry.base = Duration::from_millis(1);
    retry
}

fn restarting() -> RetryPolicy {
    let mut retry = eager();
    retry.restart = true;
    retry
}

#[test]
fn a_refused_attempt_is_repeated_before_the_first_byte() {
    let busy = r#"{"error":{"type":"overloaded_error","message":"busy"}}"#;
    let (base, told) = serve(vec![
        refusal("529 Overloaded", "", busy),
        refusal("429 Slow", "retry-after-ms: 2\r\n", "{}"),
        answer(),
    ]);
    let (events, outcome) = ask(&chat(base));
    assert_eq!(outcome, Ok(()));
    assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 3));
    assert!(
        matches!(&events[0], Event::Retrying { attempt: 1, cause, .. } if cause == "overloaded (status 529): busy"),
        "{events:?}"
    );
    assert!(
        matches!(&events[1], Event::Retrying { attempt: 2, wait, .. } if *wait == Duration::from_millis(2))
    );
    let requests: Vec<String> = told.iter().collect();
    assert!(requests[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].contains("authorization: Bearer sk-secret\r\n"), "{}", requests[0]);
    assert!(requests.iter().all(|request| *request == requests[0]), "{requests:?}");
}

#[test]
fn a_connection_that_closes_without_an_answer_is_repeated() {
    for nothing in [vec![], vec![send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")], vec![send(HEAD)]] {
        let (base, _told) = serve(vec![nothing, answer()]);
        let (events, outcome) = ask(&chat(base));
        assert_eq!((outcome, attempts(&events)), (Ok(()), 2));
    }
}

#[test]
fn a_refused_request_is_not_repeated_whatever_the_headers_say() {
    let pairing =
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1";
    let body =
        format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{pairing}"}}}}"#);
    let (base, told) =
        serve(vec![refusal("400 Bad", "x-should-retry: true\r\nretry-after-ms: 1\r\n", &body), answer()]);
    let (events, outcome) = ask(&provider(base, Anthropic::new()));
    assert_eq!(events, []);
    assert_eq!(outcome.expect_err("refused").kind(), Some(ErrorKind::InvalidRequest));
    let request = told.recv().expect("a request");
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-api-key: sk-secret\r\n") && !request.contains("authorization"), "{request}");
}

#[test]
fn a_longer_wait_than_there_is_patience_is_a_failure_that_says_how_long() {
    let (base, _told) = serve(vec![refusal("429 Slow", "retry-after: 3600\r\n", "{}"), answer()]);
    let (events, outcome) = ask(&chat(base));
    let error = outcome.expect_err("too long");
    assert_eq!((events, error.retry_after()), (vec![], Some(Duration::from_secs(3600))));
    assert!(error.to_string().contains("it asks to wait 3600 s"), "{error}");
}

#[test]
fn a_date_is_measured_against_our_clock_where_the_service_does_not_tell_its_own() {
    // Long past: there is nothing to wait for, so our own wait counts. Far ahead: nobody waits so long.
    for (date, tries) in [("Sun, 06 Nov 1994 08:49:37 GMT", 2), ("Fri, 06 Nov 9994 08:49:37 GMT", 1)] {
        let (base, _told) =
            serve(vec![refusal("503 Busy", &format!("retry-after: {date}\r\n"), "{}"), answer()]);
        let (events, outcome) = ask(&chat(base));
        assert_eq!((attempts(&events), outcome.is_ok()), (tries, tries == 2), "{date}");
    }
}

#[test]
fn a_good_answer_may_say_when_to_come_again_and_means_nothing_by_it() {
    let head = HEAD.replace("\r\n\r\n", "\r\nretry-after: 3600\r\nx-should-retry: true\r\n\r\n");
    let mut acts = answer();
    acts[0] = send(head);
    let (base, _told) = serve(vec![acts]);
    let (events, outcome) = ask(&chat(base));
    assert_eq!((outcome, attempts(&events)), (Ok(()), 1));
}

#[test]
fn a_stream_that_breaks_is_cut_and_not_repeated() {
    for last in [vec![], vec![end()]] {
        let mut acts = vec![send(HEAD), chunk(WORDS)];
        acts.extend(last);
        let (base, _told) = serve(vec![acts, answer()]);
        let (events, outcome) = ask(&chat(base));
        assert_eq!(outcome, Err(ProviderError::Cut));
        assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 1));
    }
}

/// A body that ends well, with these bytes.
fn body(bytes: &[u8]) -> Vec<Act> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", bytes.len());
    vec![send([head.as_bytes(), bytes].concat())]
}

#[test]
fn an_answer_that_says_nothing_before_it_fails_is_asked_for_again_on_every_wire() {
    let failing: [(&str, Vec<u8>); 12] = [
        ("openai-chat", b"data: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n".to_vec()),
        ("openai-chat", b": PROCESSING\n\n".to_vec()),
        (
            "openai-chat",
            b"data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n".to_vec(),
        ),
        ("openai-chat", b"data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\n\ndata: {\"error\":{\"code\":408,\"message\":\"timed out\"}}\n\n".to_vec()),
        (
            "anthropic",
            b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"i\",\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n".to_vec(),
        ),
        ("openai-responses", b"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}}\n\n".to_vec()),
        ("openai-responses", b"data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}\n\n".to_vec()),
        ("gemini", b"data: {\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"The model is overloaded.\"}}\n\n".to_vec()),
        ("gemini", b"[{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"no\"}}]".to_vec()),
        ("ollama", b"{\"error\":\"llama runner process has terminated: exit status 2\"}\n".to_vec()),
        ("bedrock", crate::bedrock_frames::stream("messageStart {\"role\":\"assistant\"}")),
        ("bedrock", crate::bedrock_frames::frame(
            &crate::bedrock_frames::headers(&[(":exception-type", "throttlingException"), (":message-type", "exception")]),
            b"{\"message\":\"slow down\"}",
        )),
    ];
    for (name, bytes) in failing {
        let wire = || all_wires().into_iter().find(|wire| wire.name() == name).expect("a wire");
        let good = stream(wire().as_ref(), Kind::Text, &[b"hello"], b"null");
        let shown = format!("{name} {:?}", String::from_utf8_lossy(&bytes));
        let (base, _told) = serve(vec![body(&bytes), body(&good)]);
        let provider = HttpProvider::new(wire(), base, None, super::origin()).expect("a provider");
        let (events, outcome) = ask(&provider.with_retry(eager()));
        assert_eq!((outcome, attempts(&events)), (Ok(()), 2), "{shown}");
        assert_eq!(words(&events).as_deref(), Some("hello"), "{shown}");
    }
}

#[test]
fn what_does_not_pass_is_not_asked_again_inside_a_good_answer_either() {
    for error in [
        r#"{"error":{"code":400,"message":"no"}}"#,
        r#"{"error":{"code":401,"message":"no"}}"#,
        r#"{"error":{"code":402,"message":"pay"}}"#,
        r#"{"error":{"type":"invalid_request_error","message":"no"}}"#,
        r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
        r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#,
    ] {
        let (base, _told) = serve(vec![body(format!("data: {error}\n\n").as_bytes()), answer()]);
        let (events, outcome) = ask(&chat(base));
        assert!(outcome.is_err() && attempts(&events) == 1, "{error}: {outcome:?}");
    }
    // Words, reasoning or a call were heard already.
    for said in [
        r#"{"content":"a"}"#,
        r#"{"reasoning_content":"a"}"#,
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
    ] {
        let body_of = format!(
            "data: {{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"delta\":{said}}}]}}\n\ndata: {{\"error\":{{\"code\":503,\"message\":\"busy\"}}}}\n\n"
        );
        let (base, _told) = serve(vec![body(body_of.as_bytes()), answer()]);
        let (events, outcome) = ask(&chat(base));
        assert_eq!(
            (outcome.expect_err("busy").kind(), attempts(&events)),
            (Some(ErrorKind::Overloaded), 1),
            "{said}"
        );
    }
}

#[test]
fn a_wait_that_is_told_inside_the_body_is_kept() {
    for (error, millis) in [
        (
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"no","details":[{"retryDelay":"0.003s"}]}}"#,
            3,
        ),
        (r#"{"error":{"code":429,"message":"no","metadata":{"headers":{"Retry-After":"0.004"}}}}"#, 4),
        (r#"{"error":{"code":429,"message":"no","metadata":{"retry_after_seconds":0.005}}}"#, 5),
        (
            r#"{"error":{"type":"rate_limit_error","message":"Rate limit reached. Please try again in 6ms. Visit us."}}"#,
            6,
        ),
    ] {
        let (base, _told) = serve(vec![body(format!("data: {error}\n\n").as_bytes()), answer()]);
        let (events, outcome) = ask(&chat(base));
        assert_eq!(outcome, Ok(()));
        let waited = events.iter().find_map(|event| match event {
            Event::Retrying { wait, .. } => Some(*wait),
            _ => None,
        });
        assert_eq!(waited, Some(Duration::from_millis(millis)), "{error}");
    }
}

#[test]
fn an_answer_that_is_too_long_closes_its_connection() {
    let (base, told) = serve(vec![vec![send(HEAD), Act::Flood(chunked(WORDS)), Act::Wait]]);
    let provider = chat(base).with_bounds(Bounds::of_answer(1000));
    let (events, outcome) = ask(&provider);
    assert_eq!(outcome, Err(ProviderError::Decode(DecodeError::TooLong { limit: 1000 })));
    assert_eq!((words(&events).map(|words| words.len()), attempts(&events)), (Some(1000), 1));
    assert_eq!(told.iter().last().as_deref(), Some("gone"));
}

fn chunked(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

#[test]
fn with_leave_to_restart_a_stream_that_breaks_is_asked_for_again() {
    let failing = "data: {\"error\":{\"code\":503,\"message\":\"overloaded\"}}\n\n";
    let broken: Vec<Vec<Act>> = vec![
        vec![send(HEAD), chunk(WORDS)],
        vec![send(HEAD), chunk(WORDS), end()],
        vec![send(HEAD), chunk(WORDS), chunk(failing), end()],
        // In the middle of an event: what the decoder holds of it must not reach into the next attempt.
        vec![send(HEAD), chunk(&WORDS[..WORDS.len() / 2])],
    ];
    for acts in broken {
        let (base, told) = serve(vec![acts, answer()]);
        let (events, outcome) = ask(&chat(base).with_retry(restarting()));
        assert_eq!(outcome, Ok(()));
        assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 2), "{events:?}");
        let requests: Vec<String> = told.iter().collect();
        assert_eq!(requests[0], requests[1]);
    }
}

#[test]
fn restarts_count_as_attempts() {
    let mut retry = restarting();
    retry.max_attempts = 2;
    let broken = || vec![send(HEAD), chunk(WORDS)];
    let (base, _told) = serve(vec![broken(), broken(), answer()]);
    let (events, outcome) = ask(&chat(base).with_retry(retry));
    assert_eq!((outcome, attempts(&events)), (Err(ProviderError::Cut), 2));
    assert_eq!(words(&events).as_deref(), Some("hello"), "what came of the last attempt can be kept");
}

#[test]
fn nobody_there_is_one_clear_line() {
    let (listener, base) = listen();
    drop(listener);
    let provider = chat(base.clone()).with_retry(RetryPolicy::never());
    let error = ask(&provider).1.expect_err("nobody").to_string();
    assert!(error.starts_with(&format!("cannot reach {base}: ")) && error.contains("refused"), "{error}");
}

#[test]
fn nobody_there_is_tried_again_too() {
    let (listener, base) = listen();
    drop(listener);
    let (events, outcome) = ask(&chat(base).with_retry(eager()));
    assert!(matches!(outcome, Err(ProviderError::Transport { .. })), "{outcome:?}");
    assert_eq!(attempts(&events), 4);
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    for status in ["302 Found", "308 Moved"] {
        let (base, _told) = serve(vec![refusal(status, "location: https://elsewhere.example/\r\n", "")]);
        let (_, outcome) = ask(&chat(base));
        let error = outcome.expect_err("a redirect").to_string();
        let code = &status[..3];
        assert_eq!(
            error,
            format!(
                "not found (status {code}): it redirects to https://elsewhere.example/: is that the right base URL?"
            )
        );
    }
}

#[test]
fn a_web_page_is_named_with_its_address() {
    for status in ["200 OK", "404 Not Found"] {
        let (base, _told) = serve(vec![refusal(status, "content-type: text/html\r\n", "<html>hi</html>")]);
        let (_, outcome) = ask(&chat(base.clone()));
        let code = &status[..3];
        assert_eq!(
            outcome.expect_err("a page").to_string(),
            format!(
                "{base}/v1/chat/completions answered with an HTML page instead of an API response (status {code}): \
                 is the base URL right?"
            )
        );
    }
}

#[test]
fn every_wire_tells_a_pairing_fault_as_one_that_stays() {
    let wires: [&dyn Wire; 2] = [&Anthropic::new(), &OpenAiChat::default()];
    for wire in wires {
        for message in [
            "messages.N.content.M: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
            "No tool output found for function call call_1.",
        ] {
            let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": message}});
            let headers = [("x-should-retry", "true"), ("retry-after", "1"), ("retry-after-ms", "1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            let error = wire.error(400, &headers, body.to_string().as_bytes());
            assert_eq!(RetryPolicy::default().next(1, &error, 0.0, Duration::ZERO), None, "{error}");
        }
    }
}
