//! The provider that plays a cassette.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use trunkline_message_tree::{Message, Origin, notation};
use trunkline_providers::{
    Anthropic, Cassette, Ending, Event, Exchange, Ollama, ProviderError, Recording, Replay, Request, Waiting,
    Wire,
};

use crate::cassette::millis;
use crate::replies::decode;
use crate::scripted::collect;
use crate::splits::cut;

const HELLO: &str = "{\"model\":\"m\",\"message\":{\"content\":\"grüße\"},\"done\":false}\n\
                     {\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n";

fn ask(words: &str) -> Request {
    Request::new("m", [Message::user(words)])
}

/// What happens while an exchange is recorded.
type Happens = Box<dyn FnOnce(Recording)>;

/// Records answers to requests on the Ollama wire: what happened to each, pieces of the body included.
fn record(exchanges: Vec<(Request, Happens)>) -> Cassette {
    let tape = Arc::new(Mutex::new(Vec::new()));
    for (request, happens) in exchanges {
        let to = Arc::clone(&tape);
        let record = move |exchange: &Exchange| to.lock().expect("not poisoned").push(exchange.clone());
        let encoded = Ollama::new().encode(&request).expect("legal");
        happens(Recording::begin(Arc::new(record), "ollama", &encoded, None));
    }
    let mut cassette = Cassette::default();
    cassette.exchanges = tape.lock().expect("not poisoned").clone();
    // What is played is what was written down.
    Cassette::parse(&cassette.print()).expect("its own text")
}

/// An answer that came in pieces of five bytes, ten milliseconds apart.
fn answered(status: u16, body: &'static str, ending: Ending) -> Happens {
    Box::new(move |mut recording| {
        recording.answered(status, [("retry-after", "2")]);
        let mut at = 0;
        for piece in cut(body.as_bytes(), &[5]) {
            at += 10;
            recording.received(millis(at), piece.to_vec());
        }
        recording.end(millis(at + 10), ending, None);
    })
}

fn replay(cassette: Cassette) -> Replay {
    let origin = Origin::new("ollama", "m");
    Replay::new(cassette, Box::new(Ollama::new()), origin)
}

fn play(replay: &Replay, request: Request) -> (Vec<Event>, Result<(), ProviderError>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(collect(replay, request))
}

#[test]
fn an_answer_is_played_as_it_was_decoded() {
    let replay = replay(record(vec![(ask("hi"), answered(200, HELLO, Ending::Complete))]));
    let (events, outcome) = play(&replay, ask("hi"));
    assert_eq!(outcome, Ok(()));
    assert_eq!(events, decode(&Ollama::new(), [HELLO.as_bytes()]).0);
    assert_eq!(replay.left(), 0);
}

#[test]
fn another_conversation_is_told_so_at_the_request_that_differs() {
    let recorded = || {
        record(vec![
            (ask("one"), answered(200, HELLO, Ending::Complete)),
            (ask("two"), answered(200, HELLO, Ending::Complete)),
        ])
    };
    let words = |outcome: Result<(), ProviderError>| format!("{}\n", outcome.expect_err("it differs"));
    let one = replay(recorded());
    assert_eq!(play(&one, ask("one")).1, Ok(()));
    let differs = words(play(&one, ask("three")).1);
    // It is not used up by that, and need not be asked for in order.
    assert_eq!(play(&one, ask("two")).1, Ok(()));
    let over = words(play(&one, ask("two")).1);

    let origin = Origin::new("anthropic", "m");
    let foreign = Replay::new(recorded(), Box::new(Anthropic::new()), origin.clone());
    let wire = words(play(&foreign, ask("one")).1);
    let wire_in_order =
        words(play(&Replay::new(recorded(), Box::new(Anthropic::new()), origin).in_order(), ask("one")).1);
    expect![[r#"
        request 2 has no recorded answer: the conversation differs from the recorded one, which goes on with exchange 2
        request 4 has no recorded answer: all recorded exchanges were played
        request 1 has no recorded answer: what is left was recorded on the wire ollama, not anthropic
        request 1 has no recorded answer: exchange 1 is of the wire ollama, not anthropic
    "#]].assert_eq(&[differs, over, wire, wire_in_order].concat());
    assert!(!play(&one, ask("two")).1.expect_err("over").is_retryable());
}

#[test]
fn the_same_request_gets_its_answers_in_order() {
    const OTHER: &str = "{\"message\":{\"content\":\"other\"},\"done\":true}";
    let replay = replay(record(vec![
        (ask("hi"), answered(200, HELLO, Ending::Complete)),
        (ask("hi"), answered(200, OTHER, Ending::Complete)),
    ]));
    assert!(play(&replay, ask("hi")).0.contains(&Event::TextDelta("grüße".to_owned())));
    assert!(play(&replay, ask("hi")).0.contains(&Event::TextDelta("other".to_owned())));
}

#[test]
fn in_order_whatever_is_asked_is_answered() {
    let replay = replay(record(vec![(ask("hi"), answered(200, HELLO, Ending::Complete))])).in_order();
    assert_eq!(play(&replay, ask("what day is it?")).1, Ok(()));
    assert!(matches!(play(&replay, ask("hi")).1, Err(ProviderError::NotRecorded { request: 2, .. })));
}

#[test]
fn an_illegal_history_is_refused_before_the_tape_moves() {
    let replay = replay(record(vec![(ask("hi"), answered(200, HELLO, Ending::Complete))]));
    let history = notation::parse("user: hi\nassistant:\n+ call c1 f {}\nuser: and?").expect("notation");
    let refused = play(&replay, Request::new("m", history)).1;
    assert!(matches!(refused, Err(ProviderError::Encode(_))), "{refused:?}");
    assert_eq!(replay.left(), 1);
    assert_eq!(play(&replay, ask("hi")).1, Ok(()));
}

#[test]
fn what_went_wrong_goes_wrong_again() {
    let outcome = |status, body, ending| {
        let replay = replay(record(vec![(ask("hi"), answered(status, body, ending))]));
        let (events, outcome) = play(&replay, ask("hi"));
        match outcome {
            Ok(()) => format!("{} events\n", events.len()),
            Err(error) => format!("{} events, {error}\n", events.len()),
        }
    };
    let unreached = |ending| {
        let happens: Happens = Box::new(|recording| recording.end(millis(9), ending, None));
        let replay = replay(record(vec![(ask("hi"), happens)]));
        format!("{}\n", play(&replay, ask("hi")).1.expect_err("nobody was there"))
    };
    let timed_out = |waiting| Ending::TimedOut { waiting, after: millis(1500) };
    let half = &HELLO[..70];
    let all = [
        outcome(429, "{\"error\":\"too many\"}", Ending::Complete),
        outcome(502, "<html>bad gateway</html>", Ending::Complete),
        outcome(302, "", Ending::Complete),
        outcome(200, half, Ending::Cut),
        outcome(200, half, Ending::Complete),
        outcome(200, half, Ending::Cancelled),
        outcome(200, half, timed_out(Waiting::NextBytes)),
        outcome(200, "{\"error\":\"out of memory\"}\n", Ending::Complete),
        outcome(200, "<html>", Ending::Complete),
        // The message was complete; how the connection ended does not matter.
        outcome(200, HELLO, Ending::Cut),
        unreached(Ending::Unreached { cause: "connection refused".to_owned() }),
        unreached(timed_out(Waiting::Response)),
        unreached(Ending::Cancelled),
    ];
    expect![[r#"
        0 events, rate limit (status 429): too many (it asks to wait 2 s)
        0 events, the endpoint answered with an HTML page instead of an API response (status 502): is the base URL right?
        0 events, not found (status 302): it redirects to nowhere: is that the right base URL?
        2 events, the answer was cut off before its end
        2 events, the answer was cut off before its end
        2 events, the answer was cut off before its end
        2 events, no further bytes of the answer within 1.5 s
        0 events, refused (status 200): out of memory
        0 events, the endpoint answered with an HTML page instead of an API response (status 200): is the base URL right?
        4 events
        cannot reach the recorded service: connection refused
        no response within 1.5 s
        the answer was cut off before its end
    "#]].assert_eq(&all.concat());
}

/// A refusal that was followed by another attempt.
fn refused(wait: u64) -> Happens {
    Box::new(move |mut recording| {
        recording.answered(503, []);
        recording.received(millis(3), "{\"error\":\"server busy\"}");
        recording.end(millis(5), Ending::Complete, Some(millis(wait)));
    })
}

#[test]
fn attempts_are_played_as_attempts_of_one_reply() {
    let unreached: Happens = Box::new(|recording| {
        let cause = "connection refused".to_owned();
        recording.end(millis(1), Ending::Unreached { cause }, Some(millis(500)));
    });
    let replay = replay(record(vec![
        (ask("hi"), unreached),
        (ask("hi"), refused(1000)),
        (ask("other"), answered(200, HELLO, Ending::Complete)),
        (ask("hi"), answered(200, HELLO, Ending::Complete)),
    ]));
    let (events, outcome) = play(&replay, ask("hi"));
    assert_eq!(outcome, Ok(()));
    let text: String = events.iter().map(|event| format!("{event:?}\n")).collect();
    expect![[r#"
        Retrying { attempt: 1, wait: 500ms, cause: "cannot reach the recorded service: connection refused" }
        Retrying { attempt: 2, wait: 1s, cause: "overloaded (status 503): server busy" }
        Started { model: "m", id: None }
        TextDelta("grüße")
        BlockDone
        Stopped(EndTurn)
    "#]]
    .assert_eq(&text);
    assert_eq!(replay.left(), 1);
}

#[test]
fn a_recording_that_ends_between_attempts_says_so() {
    let replay = replay(record(vec![(ask("hi"), refused(1000))]));
    let (events, outcome) = play(&replay, ask("hi"));
    assert!(matches!(events.as_slice(), [Event::Retrying { attempt: 1, .. }]), "{events:?}");
    let error = outcome.expect_err("it was killed");
    assert_eq!(
        error.to_string(),
        "request 1 has no recorded answer: the recording ends before the next attempt"
    );
}

#[cfg(feature = "http")]
mod at_recorded_speed {
    use std::time::Duration;

    use tokio::time::{Instant, timeout};
    use trunkline_providers::Provider as _;

    use super::*;

    fn paused() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
    }

    #[test]
    fn everything_takes_as_long_as_it_took() {
        let pieces = HELLO.len().div_ceil(5) as u64;
        let replay = replay(record(vec![
            (ask("hi"), refused(1000)),
            (ask("hi"), answered(200, HELLO, Ending::Complete)),
        ]))
        .at_recorded_speed();
        paused().block_on(async {
            let began = Instant::now();
            let mut reply = replay.send(ask("hi")).await.expect("recorded");
            reply.next().await.expect("an attempt");
            assert_eq!(began.elapsed(), millis(5));
            reply.next().await.expect("it begins");
            let first = HELLO.find('\n').expect("a line") as u64;
            assert_eq!(began.elapsed(), millis(1005 + 10 * first.div_ceil(5)));
            while reply.next().await.expect("it goes on").is_some() {}
            assert_eq!(began.elapsed(), millis(1005 + 10 * (HELLO.len() as u64 - 1).div_ceil(5)));
            assert!(pieces > 9);
        });
    }

    #[test]
    fn a_dropped_wait_loses_nothing() {
        let replay =
            replay(record(vec![(ask("hi"), answered(200, HELLO, Ending::Complete))])).at_recorded_speed();
        let events = paused().block_on(async {
            let mut reply = replay.send(ask("hi")).await.expect("recorded");
            let mut events = Vec::new();
            loop {
                match timeout(Duration::from_millis(3), reply.next()).await {
                    Err(_) => {}
                    Ok(Ok(Some(event))) => events.push(event),
                    Ok(end) => break end.map(|_| events),
                }
            }
        });
        assert_eq!(events, Ok(decode(&Ollama::new(), [HELLO.as_bytes()]).0));
    }
}
