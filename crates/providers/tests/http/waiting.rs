//! How long is waited for what.

use std::time::{Duration, Instant};

use trunkline_providers::{BaseUrl, ProviderError, RetryPolicy, Timeouts, Waiting};

use super::{Act, HEAD, STOP, WORDS, answer, ask, attempts, chat, chunk, end, pause, send, serve, words};

/// All waits are long but one, and there is one attempt.
fn impatient(base: BaseUrl, set: impl FnOnce(&mut Timeouts)) -> trunkline_providers::HttpProvider {
    let long = Duration::from_secs(60);
    let mut timeouts = Timeouts::default();
    (timeouts.connect, timeouts.response, timeouts.next_bytes) = (long, long, long);
    set(&mut timeouts);
    chat(base).with_retry(RetryPolicy::never()).with_timeouts(timeouts)
}

fn waited_for(outcome: Result<(), ProviderError>) -> Waiting {
    match outcome {
        Err(ProviderError::Timeout { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

const SHORT: Duration = Duration::from_millis(150);

#[test]
fn a_server_that_never_finishes_the_handshake_is_no_connection() {
    let (base, told) = serve(vec![vec![Act::Wait]]);
    let secure: BaseUrl = base.to_string().replace("http://", "https://").parse().expect("a base URL");
    let (_, outcome) = ask(&impatient(secure, |timeouts| timeouts.connect = SHORT));
    assert_eq!(outcome.clone().expect_err("none").to_string(), "no connection within 0.15 s");
    assert_eq!(waited_for(outcome), Waiting::Connection);
    drop(told);
}

#[test]
fn silence_instead_of_a_head_is_no_response() {
    // Nothing, half a line, and one byte after the other: a head has one time for all of it.
    let drip = HEAD.bytes().flat_map(|byte| [send([byte]), pause(20)]);
    for acts in [vec![Act::Wait], vec![send("HTTP/1.1 20"), Act::Wait], drip.collect()] {
        let (base, _told) = serve(vec![acts]);
        let begun = Instant::now();
        let (_, outcome) = ask(&impatient(base, |timeouts| timeouts.response = SHORT));
        assert_eq!(waited_for(outcome), Waiting::Response);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn silence_before_the_first_byte_is_tried_again() {
    let (base, _told) = serve(vec![vec![send(HEAD), Act::Wait], answer()]);
    let mut timeouts = Timeouts::default();
    timeouts.response = Duration::from_secs(3);
    let (events, outcome) = ask(&chat(base).with_timeouts(timeouts));
    assert_eq!((outcome, attempts(&events)), (Ok(()), 2));
}

#[test]
fn silence_between_bytes_ends_the_answer() {
    // In one piece: between two of them a busy machine may be silent too.
    let words_come = format!("{HEAD}{:x}\r\n{WORDS}\r\n", WORDS.len());
    let (base, told) = serve(vec![vec![send(words_come), Act::Wait]]);
    let (events, outcome) = ask(&impatient(base, |timeouts| timeouts.next_bytes = SHORT));
    assert_eq!(
        outcome.clone().expect_err("silence").to_string(),
        "no further bytes of the answer within 0.15 s"
    );
    assert_eq!((waited_for(outcome), words(&events).as_deref()), (Waiting::NextBytes, Some("hello")));
    assert!(told.recv().is_ok());
    assert_eq!(told.recv().as_deref(), Ok("gone"));
}

#[test]
fn comments_that_keep_a_connection_alive_are_bytes() {
    let mut acts = vec![send(HEAD), chunk(WORDS)];
    acts.extend((0..8).flat_map(|_| [pause(400), chunk(": keep-alive\n\n")]));
    acts.extend([chunk(STOP), end()]);
    let (base, _told) = serve(vec![acts]);
    // Shorter than all comments together.
    let (_, outcome) = ask(&impatient(base, |timeouts| timeouts.next_bytes = Duration::from_millis(2_400)));
    assert_eq!(outcome, Ok(()));
}

#[test]
fn everything_together_has_a_limit_too() {
    let (base, _told) = serve(vec![vec![send(HEAD), chunk(WORDS), Act::Wait]]);
    let (_, outcome) = ask(&impatient(base, |timeouts| timeouts.total = Some(SHORT)));
    assert_eq!(outcome.expect_err("too long").to_string(), "no complete answer within 0.15 s");
}

#[test]
fn a_server_that_never_stops_to_talk_is_left_when_the_time_is_over() {
    let comments = ": more\n\n".repeat(1024);
    let flood = format!("{:x}\r\n{comments}\r\n", comments.len());
    let (base, _told) = serve(vec![vec![send(HEAD), Act::Flood(flood.into())]]);
    let begun = Instant::now();
    let (_, outcome) = ask(&impatient(base, |timeouts| timeouts.total = Some(SHORT)));
    assert_eq!(waited_for(outcome), Waiting::WholeAnswer);
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_retry_that_would_end_after_the_limit_is_not_begun() {
    let (base, _told) = serve(vec![vec![], answer()]);
    let mut retry = RetryPolicy::default();
    (retry.base, retry.max) = (Duration::from_secs(30), Duration::from_secs(30));
    let provider =
        impatient(base, |timeouts| timeouts.total = Some(Duration::from_secs(5))).with_retry(retry);
    let (events, outcome) = ask(&provider);
    assert!(matches!(outcome, Err(ProviderError::Transport { .. })), "{outcome:?}");
    assert_eq!(attempts(&events), 1);
}

#[test]
fn a_refusal_whose_body_never_ends_is_still_a_refusal() {
    let head = "HTTP/1.1 400 Bad\r\ncontent-length: 1000\r\n\r\n{\"error\":{\"message\":\"no such thing\"";
    let (base, _told) = serve(vec![vec![send(head), Act::Wait]]);
    let (_, outcome) = ask(&impatient(base, |timeouts| timeouts.next_bytes = SHORT));
    let error = outcome.expect_err("refused").to_string();
    assert!(
        error.starts_with("invalid request (status 400): ") && error.contains("no such thing"),
        "{error}"
    );
}

#[test]
fn times_without_end_are_no_limits() {
    let (base, _told) = serve(vec![answer()]);
    let provider = impatient(base, |timeouts| {
        let forever = Duration::MAX;
        (timeouts.connect, timeouts.response, timeouts.next_bytes) = (forever, forever, forever);
        timeouts.total = Some(forever);
    });
    assert_eq!(ask(&provider).1, Ok(()));
}
