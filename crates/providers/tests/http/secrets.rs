//! Keys, passwords and tokens are sent and never shown; headers and addresses are the caller's to change.

use trunkline_providers::{Anthropic, BaseUrl, HttpProvider, OpenAiChat, ProviderError, Secret, Wire};

use super::{answer, ask, chat, listen, origin, provider, refusal, serve};

const KEY: &str = "sk-ab/12+cd=34";

/// What is shown of a refusal with this body, to somebody who sent `KEY`.
fn shown(body: &str) -> String {
    let (base, _told) = serve(vec![refusal("401 Unauthorized", "", body)]);
    let wire: Box<dyn Wire> = Box::new(OpenAiChat::default());
    let provider = HttpProvider::new(wire, base, Some(&Secret::new(KEY)), origin()).expect("a provider");
    ask(&provider).1.expect_err("refused").to_string()
}

#[test]
fn a_service_that_quotes_the_key_does_not_have_it_shown() {
    for quoted in [
        KEY,
        "sk-ab%2F12%2Bcd%3D34",
        "sk-ab%2f12%2bcd%3d34",
        "sk-ab\\/12+cd=34",
        "sk-ab/12\n+cd=34",
        "sk-ab/1 2+cd=3 4",
    ] {
        let text = format!("you sent {quoted}, {quoted}!");
        assert_eq!(shown(&text), "authentication (status 401): you sent ***, ***!", "{quoted}");
        let json = serde_json::json!({"error": {"message": text}}).to_string();
        assert_eq!(shown(&json), "authentication (status 401): you sent ***, ***!", "{quoted}");
    }
    let long = format!("{} {KEY}", "x".repeat(489));
    assert!(shown(&long).ends_with("xxx ***…"), "{}", shown(&long));
    assert!(shown("a sk-ab/1 and no more").ends_with("a sk-ab/1 and no more"), "less than a key is none");
}

#[test]
fn a_key_is_not_in_what_is_told_of_attempts() {
    let quoting = r#"{"error":{"type":"overloaded_error","message":"you sent sk-secret"}}"#;
    let (base, _told) = serve(vec![
        refusal("529 Overloaded", "", quoting),
        refusal("302 Found", "location: https://elsewhere.example/?key=sk-secret\r\n", ""),
    ]);
    let (events, outcome) = ask(&provider(base, Anthropic::new()));
    let told = format!("{events:?} {outcome:?}");
    assert!(
        !told.contains("sk-secret") && told.contains("you sent ***") && told.contains("key=***"),
        "{told}"
    );
}

#[test]
fn a_key_in_a_broken_stream_is_not_shown() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\n";
    for body in ["data: {\"error\":{\"message\":\"sk-secret\"}}\n\n", "data: {sk-secret}\n\n"] {
        let (base, _told) = serve(vec![vec![super::send(format!("{head}{body:60}"))]]);
        let error = ask(&chat(base)).1.expect_err("broken");
        let told = format!("{error} {error:?}");
        assert!(told.contains("***") && !told.contains("sk-secret"), "{told}");
    }
}

#[test]
fn a_key_that_no_header_can_hold_is_refused_without_showing_it() {
    let base: BaseUrl = "http://localhost:1".parse().expect("a base URL");
    let key = Secret::new("sk-\nsecret");
    assert_eq!(format!("{key:?}"), "***");
    let refused = HttpProvider::new(Box::new(Anthropic::new()), base, Some(&key), origin());
    let error = refused.expect_err("refused").to_string();
    assert_eq!(error, "cannot reach http://localhost:1: the key has characters that a header cannot have");
}

#[test]
fn headers_are_the_callers_to_add_and_to_replace() {
    let (base, told) = serve(vec![answer()]);
    let provider = chat(base)
        .with_header("Authorization", "Bearer another-one")
        .and_then(|provider| provider.with_header("X-Title", "me"))
        .and_then(|provider| provider.with_header("x-title", "me again"))
        .and_then(|provider| provider.with_header("User-Agent", "mine/1"))
        .expect("good headers");
    assert_eq!(ask(&provider).1, Ok(()));
    let request = told.recv().expect("a request");
    for line in ["authorization: Bearer another-one", "x-title: me again", "user-agent: mine/1"] {
        assert_eq!(request.matches(&format!("\r\n{line}\r\n")).count(), 1, "{request}");
    }
    assert!(!request.contains("sk-secret") && !request.contains("trunkline"), "{request}");
}

#[test]
fn headers_that_cannot_be_sent_are_refused_without_their_value() {
    let (_listener, base) = listen();
    for (name, reason) in [
        ("no name", "\"no name\" cannot be sent as a header"),
        ("x-key", "\"x-key\" cannot be sent as a header"),
        ("Content-Length", "Content-Length is set by the transport"),
        ("transfer-encoding", "transfer-encoding is set by the transport"),
    ] {
        let error = chat(base.clone()).with_header(name, "hush\n").expect_err("refused").to_string();
        assert_eq!(error, format!("cannot reach {base}: {reason}"));
    }
}

#[test]
fn a_provider_prints_without_what_it_keeps() {
    let base: BaseUrl = "http://user:hunter2@localhost:99/v1".parse().expect("a base URL");
    let provider = chat(base)
        .with_header("x-session-token", "t0k3n-t0k3n")
        .and_then(|provider| provider.with_header("cookie", "crumbs-crumbs"))
        .expect("good headers");
    let printed = format!("{provider:?}");
    for secret in ["sk-secret", "hunter2", "t0k3n", "crumbs"] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(
        printed.contains("http://***@localhost:99/v1") && printed.contains("x-session-token"),
        "{printed}"
    );
}

#[test]
fn an_address_with_a_password_is_asked_with_it_and_printed_without() {
    let quoting = "<html>hunter2</html>";
    let (base, told) = serve(vec![
        refusal("502 Bad", "", quoting),
        refusal("400 No", "", "{\"error\":{\"message\":\"hunter2 and tok3n-tok3n are wrong\"}}"),
    ]);
    let base: BaseUrl =
        base.to_string().replace("http://", "http://user:hunter2@").parse().expect("a base URL");
    assert_eq!(format!("{base:?}"), format!("\"{base}\""));
    let provider = HttpProvider::new(Box::new(OpenAiChat::default()), base, None, origin())
        .and_then(|provider| provider.with_header("x-api-key", "tok3n-tok3n"))
        .expect("a provider");
    let (events, outcome) = ask(&provider);
    let told_of = format!("{events:?} {outcome:?}");
    assert!(!told_of.contains("hunter2") && !told_of.contains("tok3n"), "{told_of}");
    assert!(
        told_of.contains("http://***@127.0.0.1") && told_of.contains("*** and *** are wrong"),
        "{told_of}"
    );
    assert!(matches!(outcome, Err(ProviderError::Api { .. })), "{outcome:?}");
    // `user:hunter2` as HTTP has it.
    assert!(told.recv().expect("a request").contains("authorization: Basic dXNlcjpodW50ZXIy\r\n"));
}
