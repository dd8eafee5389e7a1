//! Servers that cut, garble, drip and lie: each gives one clear error or the right answer, and nobody waits for ever.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use trunkline_providers::{BaseUrl, Event, HttpProvider, ProviderError, RetryPolicy, Timeouts};

use super::{Act, HEAD, STOP, WORDS, answer, ask, chat, chunk, end, pause, send, serve, words};

/// Far longer than anything takes here, also on a busy machine, and far shorter than what is [`patient`].
const SOON: Duration = Duration::from_secs(30);

/// Asks once, and would wait for minutes.
fn patient(base: BaseUrl) -> HttpProvider {
    let mut timeouts = Timeouts::default();
    (timeouts.response, timeouts.next_bytes) = (SOON * 10, SOON * 10);
    chat(base).with_retry(RetryPolicy::never()).with_timeouts(timeouts)
}

/// What somebody is told who asks such a server.
fn told(acts: Vec<Act>) -> String {
    let (base, _told) = serve(vec![acts]);
    let begun = Instant::now();
    let (events, outcome) = ask(&patient(base.clone()));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let said = words(&events).map(|words| format!("said {words:?}: ")).unwrap_or_default();
    let end = match outcome {
        Ok(()) => "complete".to_owned(),
        Err(error) => error.to_string().replace(&base.to_string(), "BASE"),
    };
    format!("{said}{end}")
}

fn whole(head: &str) -> Vec<Act> {
    vec![send(format!("{head}\r\n\r\n{WORDS}{STOP}"))]
}

#[test]
fn good_answers_in_every_clothing_are_read() {
    let length = (WORDS.len() + STOP.len()).to_string();
    for acts in [
        answer(),
        whole("HTTP/1.0 200 OK"),
        whole("HTTP/1.1 200 OK\r\nconnection: close"),
        whole(&format!("HTTP/1.1 200\r\ncontent-length: {length}")),
        whole(&format!("HTTP/1.1 201 Created\r\ncontent-length: {length}")),
        // Interim answers come before the real one.
        whole(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nconnection: close",
        ),
        // A longer body than was announced: the message is complete all the same.
        vec![send(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{WORDS}{STOP}and more"))],
        // A shorter one: the message is complete, the body is not, and nobody waits for it.
        vec![send(format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{WORDS}{STOP}")), Act::Wait],
        // One byte after the other.
        std::iter::once(send(HEAD))
            .chain(WORDS.chars().map(|c| chunk(&c.to_string())))
            .chain([chunk(STOP), end()])
            .collect(),
        // In the middle of everything.
        HEAD.bytes().map(|byte| send([byte])).chain([chunk(WORDS), pause(10), chunk(STOP)]).collect(),
    ] {
        assert_eq!(told(acts), "said \"hello\": complete");
    }
}

#[test]
fn what_is_no_answer_is_one_clear_error() {
    let cut = "said \"hello\": the answer was cut off before its end";
    let cases: [(Vec<Act>, &str); 13] = [
        (vec![], "cannot reach BASE: connection closed before message completed"),
        (
            vec![send("HTTP/1.1 200 OK\r\ncontent-ty")],
            "cannot reach BASE: connection closed before message completed",
        ),
        (vec![send("what do you want?\r\n\r\n")], "cannot reach BASE: invalid HTTP version parsed"),
        (vec![send("HTTP/1.1 abc\r\n\r\n")], "cannot reach BASE: invalid HTTP status-code parsed"),
        (vec![send("SSH-2.0-OpenSSH_9.6\r\n")], "cannot reach BASE: invalid HTTP version parsed"),
        (vec![send(HEAD), chunk(WORDS)], cut),
        (vec![send(HEAD), chunk(WORDS), send("zzz\r\n")], cut),
        (vec![send(format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{WORDS}"))], cut),
        (
            vec![send("HTTP/1.1 204 No Content\r\n\r\n")],
            "refused (status 204): the service answered without an answer",
        ),
        (
            vec![send("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")],
            "refused (status 101): no reason given",
        ),
        (
            vec![send("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n")],
            "not found (status 302): it redirects to nowhere: is that the right base URL?",
        ),
        (
            vec![send("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<!doctype html><p>Sign in")],
            "BASE/v1/chat/completions answered with an HTML page instead of an API response (status 200): \
             is the base URL right?",
        ),
        (vec![send(HEAD), end()], "the answer was cut off before its end"),
    ];
    for (acts, expected) in cases {
        assert_eq!(told(acts), expected);
    }
}

#[test]
fn a_head_without_end_is_given_up_on() {
    let line = format!("x-more: {}\r\n", "y".repeat(1000));
    let said = told(vec![send("HTTP/1.1 200 OK\r\n"), Act::Flood(line.into())]);
    assert!(said.starts_with("cannot reach BASE: "), "{said}");
}

#[test]
fn a_refusal_comes_through_although_the_request_was_not_read() {
    let body =
        r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}"#;
    let (listener, base) = super::listen();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        // As much as comes at once: the head, and not all of the body.
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
        let head = format!("HTTP/1.1 413 Too Large\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        super::perform(&send(head), &mut stream);
        std::thread::sleep(Duration::from_millis(500));
    });
    let request = trunkline_providers::Request::new(
        "m",
        vec![trunkline_message_tree::Message::user("word ".repeat(4_000_000))],
    );
    let provider = chat(base).with_retry(RetryPolicy::never());
    let (_, outcome) = super::block_on(crate::scripted::collect(&provider, request));
    assert_eq!(outcome.expect_err("refused").to_string(), "context too long (status 413): too long");
}

#[test]
fn a_service_that_fails_in_the_middle_is_told_in_its_words() {
    let failed = "data: {\"error\":{\"code\":503,\"message\":\"no more\"}}\n\n";
    let said = told(vec![send(HEAD), chunk(WORDS), chunk(failed), end()]);
    assert_eq!(said, "said \"hello\": overloaded (status 200): no more");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn wherever_it_is_cut_it_is_an_error_or_the_whole_answer(at in 0.0..1.0_f64, reset in any::<bool>()) {
        let good: Vec<u8> = answer()
            .into_iter()
            .flat_map(|act| match act {
                Act::Send(bytes) => bytes,
                _ => Vec::new(),
            })
            .collect();
        let at = (good.len() as f64 * at) as usize;
        let (base, _told) = serve(vec![vec![send(&good[..at]), if reset { pause(1) } else { pause(0) }]]);
        let (events, outcome) = ask(&chat(base).with_retry(RetryPolicy::never()));
        let stopped = events.iter().any(|event| matches!(event, Event::Stopped(_)));
        prop_assert_eq!(outcome.is_ok(), stopped, "{:?}", outcome);
        if let Err(error) = outcome {
            prop_assert!(matches!(error, ProviderError::Transport { .. } | ProviderError::Cut), "{}", error);
        }
    }

    #[test]
    fn whatever_is_answered_nobody_panics_or_hangs(bytes in prop::collection::vec(any::<u8>(), 0..200), head in any::<bool>()) {
        let head = if head { b"HTTP/1.1 200 OK\r\n\r\n".as_slice() } else { b"" };
        let (base, _told) = serve(vec![vec![send([head, &bytes].concat())]]);
        let begun = Instant::now();
        let (_, outcome) = ask(&patient(base));
        prop_assert!(outcome.is_err());
        prop_assert!(begun.elapsed() < SOON);
    }
}
