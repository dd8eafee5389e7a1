//! The HTTP provider against a server that misbehaves on purpose.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use trunkline_message_tree::{Message, Origin, StopReason};
use trunkline_providers::{
    Anthropic, BaseUrl, ErrorKind, Event, Fold, HttpProvider, OpenAiChat, Provider, ProviderError, Request,
    RetryPolicy, Secret, Timeouts, Wire,
};

use crate::scripted::collect;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const WORDS: &str =
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n";
const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

enum Act {
    Send(String),
    /// Says nothing until the client is gone.
    Wait,
}

fn send(text: &str) -> Act {
    Act::Send(text.to_owned())
}

fn chunk(text: &str) -> Act {
    Act::Send(format!("{:x}\r\n{text}\r\n", text.len()))
}

fn end() -> Act {
    send("0\r\n\r\n")
}

fn refusal(status: &str, headers: &str, body: &str) -> Vec<Act> {
    vec![Act::Send(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))]
}

/// Answers one connection after the other; sends each request it reads, and `"gone"` when a waiting client left.
fn serve(connections: Vec<Vec<Act>>) -> (BaseUrl, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (tell, told) = channel();
    thread::spawn(move || {
        for acts in connections {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = tell.send(read_request(&mut stream));
            for act in acts {
                match act {
                    Act::Send(text) => {
                        let _ = stream.write_all(text.as_bytes());
                        let _ = stream.flush();
                    }
                    Act::Wait => {
                        let _ = stream.read(&mut [0; 1]);
                        let _ = tell.send("gone".to_owned());
                    }
                }
            }
        }
    });
    (format!("http://{address}").parse().expect("a base URL"), told)
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn provider(base: BaseUrl, wire: impl Wire + 'static) -> HttpProvider {
    let mut retry = RetryPolicy::default();
    retry.base = Duration::from_millis(1);
    let mut timeouts = Timeouts::default();
    timeouts.response = Duration::from_millis(500);
    timeouts.next_bytes = Duration::from_millis(100);
    let origin = Origin { provider: "test".into(), model: "m".into() };
    HttpProvider::new(Box::new(wire), base, Some(&Secret::new("sk-secret\n")), origin)
        .expect("a provider")
        .with_retry(retry)
        .with_timeouts(timeouts)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn ask(provider: &dyn Provider) -> (Vec<Event>, Result<(), ProviderError>) {
    block_on(collect(provider, Request::new("m", vec![Message::user("hi")])))
}

fn words(events: &[Event]) -> Option<String> {
    let mut fold = Fold::new(Origin { provider: "test".into(), model: "m".into() });
    events.iter().for_each(|event| fold.push(event));
    fold.cut(StopReason::Cut).map(|message| message.text())
}

fn attempts(events: &[Event]) -> usize {
    1 + events.iter().filter(|event| matches!(event, Event::Retrying { .. })).count()
}

#[test]
fn a_refused_attempt_is_repeated_before_the_first_byte() {
    let (base, told) = serve(vec![
        refusal(
            "529 Overloaded",
            "connection: close\r\n",
            r#"{"error":{"type":"overloaded_error","message":"busy"}}"#,
        ),
        refusal("429 Slow", "connection: close\r\nretry-after-ms: 2\r\n", "{}"),
        vec![send(HEAD), chunk(WORDS), chunk(STOP), end()],
    ]);
    let (events, outcome) = ask(&provider(base, OpenAiChat::default()));
    assert_eq!(outcome, Ok(()));
    assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 3));
    assert!(
        matches!(&events[0], Event::Retrying { attempt: 1, cause, .. } if cause == "overloaded (status 529): busy"),
        "{events:?}"
    );
    assert!(
        matches!(&events[1], Event::Retrying { attempt: 2, wait, .. } if *wait == Duration::from_millis(2))
    );
    let request = told.recv().expect("a request");
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer sk-secret\r\n"), "{request}");
}

#[test]
fn a_wait_that_comes_with_a_good_answer_is_not_waited_for() {
    let head = HEAD.replace("\r\n\r\n", "\r\nretry-after: 30\r\nretry-after-ms: 30000\r\n\r\n");
    let (base, _told) = serve(vec![vec![send(&head), chunk(WORDS), chunk(STOP), end()]]);
    let (events, outcome) = ask(&provider(base, OpenAiChat::default()));
    assert_eq!((outcome, attempts(&events)), (Ok(()), 1));
}

#[test]
fn a_connection_that_closes_without_an_answer_is_repeated() {
    let (base, _told) = serve(vec![vec![], vec![send(HEAD), chunk(WORDS), chunk(STOP), end()]]);
    let (events, outcome) = ask(&provider(base, OpenAiChat::default()));
    assert_eq!((outcome, attempts(&events)), (Ok(()), 2));
}

#[test]
fn a_refused_request_is_not_repeated() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
    let (base, told) = serve(vec![refusal("400 Bad", "x-should-retry: true\r\n", body)]);
    let (events, outcome) = ask(&provider(base, Anthropic::new()));
    assert_eq!(events, []);
    assert_eq!(outcome.expect_err("refused").kind(), Some(ErrorKind::InvalidRequest));
    let request = told.recv().expect("a request");
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-api-key: sk-secret\r\n") && !request.contains("authorization"), "{request}");
}

#[test]
fn a_stream_that_breaks_is_cut_and_not_repeated() {
    for last in [vec![], vec![end()]] {
        let mut acts = vec![send(HEAD), chunk(WORDS)];
        acts.extend(last);
        let (base, _told) = serve(vec![acts, vec![send(HEAD), chunk(WORDS), chunk(STOP), end()]]);
        let (events, outcome) = ask(&provider(base, OpenAiChat::default()));
        assert_eq!(outcome, Err(ProviderError::Cut));
        assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 1));
    }
}

#[test]
fn silence_between_bytes_ends_the_answer() {
    let (base, told) = serve(vec![vec![send(HEAD), chunk(WORDS), Act::Wait]]);
    let (events, outcome) = ask(&provider(base, OpenAiChat::default()));
    assert_eq!(outcome.expect_err("silence").to_string(), "no further bytes of the answer within 0.1 s");
    assert_eq!(words(&events).as_deref(), Some("hello"));
    assert!(told.recv().is_ok());
    assert_eq!(told.recv().as_deref(), Ok("gone"));
}

#[test]
fn silence_before_the_first_byte_is_tried_again() {
    let (base, _told) =
        serve(vec![vec![send(HEAD), Act::Wait], vec![send(HEAD), chunk(WORDS), chunk(STOP), end()]]);
    let mut timeouts = Timeouts::default();
    timeouts.response = Duration::from_millis(100);
    let (events, outcome) = ask(&provider(base, OpenAiChat::default()).with_timeouts(timeouts));
    assert_eq!((outcome, attempts(&events)), (Ok(()), 2));
}

#[test]
fn everything_together_has_a_limit_too() {
    let (base, _told) = serve(vec![vec![send(HEAD), chunk(WORDS), Act::Wait]]);
    let mut timeouts = Timeouts::default();
    timeouts.total = Some(Duration::from_millis(100));
    let (_, outcome) = ask(&provider(base, OpenAiChat::default()).with_timeouts(timeouts));
    assert_eq!(outcome.expect_err("too long").to_string(), "no complete answer within 0.1 s");
}

#[test]
fn a_web_page_is_named_with_its_address() {
    for status in ["200 OK", "404 Not Found"] {
        let (base, _told) = serve(vec![refusal(status, "content-type: text/html\r\n", "<html>hi</html>")]);
        let (_, outcome) = ask(&provider(base.clone(), OpenAiChat::default()));
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
fn a_redirect_is_told_and_not_followed() {
    let (base, _told) = serve(vec![refusal("308 Moved", "location: https://elsewhere.example/\r\n", "")]);
    let (_, outcome) = ask(&provider(base, OpenAiChat::default()));
    let error = outcome.expect_err("a redirect").to_string();
    assert_eq!(
        error,
        "not found (status 308): it redirects to https://elsewhere.example/: is that the right base URL?"
    );
}

#[test]
fn nobody_there_is_one_clear_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let base: BaseUrl =
        format!("http://{}", listener.local_addr().expect("an address")).parse().expect("a base URL");
    drop(listener);
    let provider = provider(base.clone(), OpenAiChat::default()).with_retry(RetryPolicy::never());
    let error = ask(&provider).1.expect_err("nobody").to_string();
    assert!(error.starts_with(&format!("cannot reach {base}: ")) && error.contains("refused"), "{error}");
}

#[test]
fn a_reply_that_is_dropped_drops_its_connection() {
    let (base, told) = serve(vec![vec![send(HEAD), chunk(WORDS), Act::Wait]]);
    let mut timeouts = Timeouts::default();
    timeouts.next_bytes = Duration::from_secs(60);
    let provider = provider(base, OpenAiChat::default()).with_timeouts(timeouts);
    block_on(async {
        let mut reply = provider.send(Request::new("m", vec![Message::user("hi")])).await.expect("sent");
        while let Ok(Some(event)) = reply.next().await {
            if matches!(event, Event::TextDelta(_)) {
                break;
            }
        }
        drop(reply);
        // The connection's own task lets go of it.
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    });
    assert!(told.recv().is_ok());
    assert_eq!(told.recv().as_deref(), Ok("gone"));
}

#[test]
fn a_future_that_is_dropped_loses_nothing() {
    let (base, _told) = serve(vec![vec![send(HEAD), chunk(WORDS), chunk(STOP), end()]]);
    let provider = provider(base, OpenAiChat::default());
    let events = block_on(async {
        let mut reply = provider.send(Request::new("m", vec![Message::user("hi")])).await.expect("sent");
        let mut events = Vec::new();
        loop {
            match tokio::time::timeout(Duration::from_micros(50), reply.next()).await {
                Err(_) => {}
                Ok(Ok(Some(event))) => events.push(event),
                Ok(other) => {
                    assert_eq!(other, Ok(None));
                    return events;
                }
            }
        }
    });
    assert_eq!((words(&events).as_deref(), attempts(&events)), (Some("hello"), 1));
}

#[test]
fn a_connection_is_used_again() {
    // One connection, two answers: the second request comes over the same stream.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let base: BaseUrl =
        format!("http://{}", listener.local_addr().expect("an address")).parse().expect("a base URL");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        for _ in 0..2 {
            let request = read_request(&mut stream);
            assert!(request.contains("/v1/chat/completions"), "{request}");
            for act in [send(HEAD), chunk(WORDS), chunk(STOP), end()] {
                if let Act::Send(text) = act {
                    stream.write_all(text.as_bytes()).expect("the client reads");
                }
            }
        }
    });
    let provider = provider(base, OpenAiChat::default());
    block_on(async {
        for _ in 0..2 {
            let (_, outcome) = collect(&provider, Request::new("m", vec![Message::user("hi")])).await;
            assert_eq!(outcome, Ok(()));
        }
    });
    server.join().expect("both requests came over one connection");
}

#[test]
fn a_key_that_no_header_can_hold_is_refused_without_showing_it() {
    let base: BaseUrl = "http://localhost:1".parse().expect("a base URL");
    let origin = Origin { provider: "test".into(), model: "m".into() };
    let key = Secret::new("sk-\nsecret");
    assert_eq!(format!("{key:?}"), "***");
    let refused = HttpProvider::new(Box::new(Anthropic::new()), base, Some(&key), origin);
    let error = refused.err().expect("refused").to_string();
    assert_eq!(error, "cannot reach http://localhost:1: the key has characters that a header cannot have");
}

#[test]
fn a_service_that_quotes_the_key_does_not_have_it_shown() {
    let quoting = r#"{"error":{"type":"overloaded_error","message":"you sent sk-secret"}}"#;
    let (base, _told) = serve(vec![
        refusal("529 Overloaded", "connection: close\r\n", quoting),
        refusal("401 Unauthorized", "", quoting),
    ]);
    let (events, outcome) = ask(&provider(base, Anthropic::new()));
    let told = format!("{events:?} {outcome:?}");
    assert!(!told.contains("sk-secret") && told.contains("you sent ***"), "{told}");
}

#[test]
fn an_address_with_a_password_prints_without_it() {
    let base: BaseUrl = "http://user:hunter2@localhost:99/v1".parse().expect("a base URL");
    assert_eq!(base.to_string(), "http://***@localhost:99/v1");
    assert_eq!(base.host(), "localhost");
}
