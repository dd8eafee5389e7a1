//! The kit finds nothing in what we ship, and finds each fault that it says it finds.

mod broken_providers;
mod broken_wires;
#[cfg(feature = "http")]
mod over_http;
mod samples;

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::Duration;

use serde_json::json;
use trunkline_message_tree::{Message, Origin, StopReason};
use trunkline_providers::conformance::{self, Answer, Promise, Report, Samples};
use trunkline_providers::{
    Cassette, Dialect, Ending, Exchange, OpenAiChat, Replay, Request, Scripted, Turn, Wire,
};

use crate::every_wire::wires;

/// Runs what is asynchronous.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// The promises of which something was found.
pub(crate) fn broken(report: &Report) -> BTreeSet<Promise> {
    report.findings().map(|finding| finding.promise).collect()
}

/// The same, as text.
pub(crate) fn names(report: &Report) -> String {
    let names: Vec<String> = broken(report).iter().map(|promise| format!("{promise:?}")).collect();
    names.join(", ")
}

/// Runs a future without any runtime.
fn park_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// What each wire is checked with.
fn samples_for(wire: &dyn Wire) -> Samples {
    match wire.name() {
        "anthropic" => samples::anthropic(),
        "openai-chat" => samples::chat(),
        "openai-responses" => samples::responses(),
        "ollama" => samples::ollama(),
        "gemini" => samples::gemini(),
        "bedrock" => samples::bedrock(),
        // Without samples only what a wire writes is checked.
        _ => Samples::default(),
    }
}

#[test]
fn our_wires_keep_their_promises() {
    let mut broken = String::new();
    for (name, wire) in wires() {
        let samples = samples_for(&*wire);
        let report = conformance::wire(&*wire, &samples);
        let complete = samples.answers.is_empty() || report.unchecked().count() == 0;
        if !report.is_ok() || !complete {
            broken.push_str(&format!("{name} is {report}\n"));
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

/// An answer, recorded as often as the kit asks for it.
fn cassette(wire: &dyn Wire, answer: &Answer) -> Cassette {
    let request = wire.encode(&answer.request).expect("legal");
    let mut exchange = Exchange::new(wire.name(), &request);
    exchange.answered(200, [("content-type", answer.content_type.as_str())]);
    for (piece, at) in answer.body.chunks(50).zip(1..) {
        exchange.received(Duration::from_millis(at), piece.to_vec());
    }
    exchange.end(Duration::from_secs(1), Ending::Complete, None);
    let mut cassette = Cassette::default();
    cassette.exchanges = vec![exchange; 12];
    cassette
}

#[test]
fn a_cassette_keeps_the_promises_of_what_was_recorded() {
    for (name, wire) in wires() {
        for answer in samples_for(&*wire).answers {
            let cassette = cassette(&*wire, &answer);
            let request = [answer.request];
            let (_, wire) = wires().into_iter().find(|(other, _)| *other == name).expect("it is there");
            let origin = Origin::new("recorded", "m");
            let replay = Replay::new(cassette, wire, origin);
            let report = block_on(conformance::provider(&replay, &request, Duration::from_secs(10)));
            assert!(report.is_ok(), "{name}: {report}");
            assert_eq!(report.unchecked().count(), 0, "{name}: {report}");
        }
    }
}

#[test]
fn reasoning_that_a_router_describes_goes_back_to_it() {
    let router = OpenAiChat::new(Dialect::openrouter());
    let report = conformance::wire(&router, &samples::openrouter());
    assert!(report.is_ok(), "{report}");
    // To others it is not sent; the kit finds what is lost on the way.
    let report = conformance::wire(&OpenAiChat::new(Dialect::openai()), &samples::openrouter());
    assert_eq!(names(&report), "RoundTrip");
}

/// Who is told that it cannot be read does not try again.
#[test]
fn a_whole_body_that_was_cut_inside_a_letter_or_a_number_is_told_as_cut() {
    let report = conformance::wire(&OpenAiChat::default(), &samples::whole_with_letters_and_numbers());
    assert!(report.is_ok(), "{report}");
}

#[test]
fn a_script_keeps_its_promises() {
    let provider = Scripted::new("scripted", "m", |request| {
        let last = request.messages.last().map(|message| message.text()).unwrap_or_default();
        Turn::new()
            .think("let me think about what was said", Some("sig"))
            .and_say(format!("you said: {last}"))
            .call("c1", "f", &json!({"a": 1}))
            .call("c2", "f", &json!({"words": last}))
    });
    let requests =
        ["hello there", "good bye, then"].map(|words| Request::new("m", vec![Message::user(words)]));
    let report = block_on(conformance::provider(&provider, &requests, Duration::from_secs(10)));
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.unchecked().count(), 0, "{report}");

    let limited = Scripted::new("scripted", "m", |_| Turn::say("half a sen").stop(StopReason::MaxTokens));
    let checking = conformance::provider(&limited, &requests, Duration::from_secs(10));
    // Any executor will do, one with threads too.
    fn may_move<T: Send>(future: T) -> T {
        future
    }
    let report = park_on(may_move(checking));
    assert!(report.is_ok(), "{report}");
}
