//! What is recorded of real exchanges, and that it plays as it was.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_providers::{
    Cassette, Ending, Event, Exchange, HttpProvider, OpenAiChat, Provider, ProviderError, Replay,
    RetryPolicy, Timeouts, Wire,
};

use crate::scripted::collect;

use super::{
    Act, HEAD, WORDS, answer, ask, block_on, chat, chunk, end, hi, listen, origin, pause, refusal, send,
    serve,
};

type Taped = Arc<Mutex<Vec<Exchange>>>;

fn recorded(provider: HttpProvider) -> (HttpProvider, Taped) {
    let taped = Taped::default();
    let tape = Arc::clone(&taped);
    let record = move |exchange: &Exchange| tape.lock().expect("whole").push(exchange.clone());
    (provider.with_record(Arc::new(record)), taped)
}

fn print(taped: &Taped) -> String {
    let line = |exchange: &Exchange| {
        let size: usize = exchange.body.iter().map(|chunk| chunk.bytes.len()).sum();
        let status = exchange.status.map_or("no answer".to_owned(), |status| status.to_string());
        let ending = match &exchange.ending {
            // The system's words.
            Ending::Unreached { .. } => "Unreached".to_owned(),
            other => format!("{other:?}"),
        };
        let again = if exchange.retried.is_some() { ", then again" } else { "" };
        format!("{} {}: {status}, {size} bytes, {ending}{again}\n", exchange.method, exchange.path)
    };
    taped.lock().expect("whole").iter().map(line).collect()
}

/// Asks a server that does this, prints what was recorded, and plays it.
fn check(connections: Vec<Vec<Act>>, retry: RetryPolicy, expected: Expect) {
    let (base, _told) = serve(connections);
    let mut timeouts = Timeouts::default();
    timeouts.next_bytes = Duration::from_millis(300);
    let (provider, taped) = recorded(chat(base.clone()).with_retry(retry).with_timeouts(timeouts));
    let (events, outcome) = ask(&provider);
    expected.assert_eq(&print(&taped));

    let exchanges = taped.lock().expect("whole").clone();
    let wire = OpenAiChat::default();
    let digest = Exchange::digest_of(&wire.encode(&hi()).expect("legal"));
    assert!(exchanges.iter().all(|exchange| exchange.digest == digest));
    assert!(exchanges.iter().all(|exchange| exchange.origin == Some(origin().at(base.digest()))));
    let mut cassette = Cassette::default();
    cassette.exchanges = exchanges;
    let text = cassette.print();
    assert!(!text.contains("sk-secret"), "{text}");
    let cassette = Cassette::parse(&text).expect("our own");
    let replay = Replay::new(cassette, Box::new(wire), origin());
    let (replayed, ended) = ask(&replay);
    let words = |error: ProviderError| error.to_string().replace(&base.to_string(), "the recorded service");
    assert_eq!(ended.map_err(words), outcome.map_err(words));
    let timeless = |events: Vec<Event>| -> Vec<String> {
        let line = |event| match event {
            Event::Retrying { attempt, cause, .. } => {
                format!("{attempt} {}", cause.replace(&base.to_string(), "the recorded service"))
            }
            other => format!("{other:?}"),
        };
        events.into_iter().map(line).collect()
    };
    assert_eq!(timeless(replayed), timeless(events));
}

fn eager() -> RetryPolicy {
    let mut retry = RetryPolicy::default();
    retry.base = Duration::from_millis(1);
    retry
}

#[test]
fn every_attempt_is_recorded_and_plays_again() {
    let quoting = r#"{"error":{"type":"overloaded_error","message":"you sent sk-secret"}}"#;
    check(
        vec![refusal("503 Busy", "set-cookie: a=b\r\n", quoting), vec![], vec![send(HEAD)], answer()],
        eager(),
        expect![[r#"
            POST /v1/chat/completions: 503, 62 bytes, Complete, then again
            POST /v1/chat/completions: no answer, 0 bytes, Unreached, then again
            POST /v1/chat/completions: 200, 0 bytes, Cut, then again
            POST /v1/chat/completions: 200, 163 bytes, Complete
        "#]],
    );
}

#[test]
fn a_refusal_for_good_is_recorded() {
    check(
        vec![refusal("400 Bad", "", r#"{"error":{"message":"no"}}"#)],
        eager(),
        expect![[r#"
        POST /v1/chat/completions: 400, 26 bytes, Complete
    "#]],
    );
    check(
        vec![refusal("302 Found", "location: /x\r\n", "moved")],
        eager(),
        expect![[r#"
        POST /v1/chat/completions: 302, 5 bytes, Complete
    "#]],
    );
}

#[test]
fn what_broke_off_is_recorded_as_far_as_it_came() {
    for (last, expected) in [
        (
            vec![],
            expect![[r#"
            POST /v1/chat/completions: 200, 82 bytes, Cut
        "#]],
        ),
        (
            vec![end()],
            expect![[r#"
            POST /v1/chat/completions: 200, 82 bytes, Complete
        "#]],
        ),
        (
            vec![Act::Wait],
            expect![[r#"
            POST /v1/chat/completions: 200, 82 bytes, TimedOut { waiting: NextBytes, after: 300ms }
        "#]],
        ),
    ] {
        check(vec![[vec![send(HEAD), chunk(WORDS)], last].concat()], eager(), expected);
    }
}

#[test]
fn a_restart_is_recorded() {
    let mut retry = eager();
    retry.restart = true;
    check(
        vec![vec![send(HEAD), chunk(WORDS)], answer()],
        retry,
        expect![[r#"
        POST /v1/chat/completions: 200, 82 bytes, Cut, then again
        POST /v1/chat/completions: 200, 163 bytes, Complete
    "#]],
    );
}

#[test]
fn nobody_there_is_recorded() {
    let (listener, base) = listen();
    drop(listener);
    let (provider, taped) = recorded(chat(base).with_retry(RetryPolicy::never()));
    assert!(ask(&provider).1.is_err());
    expect![[r#"
        POST /v1/chat/completions: no answer, 0 bytes, Unreached
    "#]]
    .assert_eq(&print(&taped));
}

#[test]
fn a_reply_that_is_dropped_is_recorded_as_far_as_it_came() {
    for (acts, patience, expected) in [
        (
            vec![send(HEAD), chunk(WORDS), Act::Wait],
            // As long as it takes until the words are there.
            Duration::from_secs(60),
            expect![[r#"
            POST /v1/chat/completions: 200, 82 bytes, Cancelled
        "#]],
        ),
        (
            vec![Act::Wait],
            Duration::from_millis(500),
            expect![[r#"
            POST /v1/chat/completions: no answer, 0 bytes, Cancelled
        "#]],
        ),
    ] {
        let (base, _told) = serve(vec![acts]);
        let (provider, taped) = recorded(chat(base));
        block_on(async {
            let mut reply = provider.send(hi()).await.expect("sent");
            let reading = async {
                while let Ok(Some(event)) = reply.next().await
                    && !matches!(event, Event::TextDelta(_))
                {}
            };
            let _over = tokio::time::timeout(patience, reading).await;
            assert_eq!(print(&taped), "", "it is not over");
            drop(reply);
        });
        expected.assert_eq(&print(&taped));
    }
}

#[test]
fn a_refused_attempt_whose_reply_is_dropped_was_not_followed_by_another() {
    let (base, _told) = serve(vec![refusal("503 Busy", "", "{}"), answer()]);
    let mut retry = RetryPolicy::default();
    retry.base = Duration::from_secs(30);
    let (provider, taped) = recorded(chat(base).with_retry(retry));
    block_on(async {
        let mut reply = provider.send(hi()).await.expect("sent");
        assert!(matches!(reply.next().await, Ok(Some(Event::Retrying { .. }))));
    });
    expect![[r#"
        POST /v1/chat/completions: 503, 2 bytes, Complete
    "#]]
    .assert_eq(&print(&taped));
}

#[test]
fn bytes_are_recorded_with_the_time_at_which_they_came() {
    let mut acts = answer();
    acts.insert(2, pause(100));
    let (base, _told) = serve(vec![acts]);
    let (provider, taped) = recorded(chat(base));
    assert_eq!(block_on(collect(&provider, hi())).1, Ok(()));
    let taped = taped.lock().expect("whole");
    let times: Vec<Duration> = taped[0].body.iter().map(|chunk| chunk.at).collect();
    assert!(times.is_sorted() && times[times.len() - 1] - times[0] >= Duration::from_millis(90), "{times:?}");
    assert!(taped[0].ended >= times[times.len() - 1]);
}
