//! Wires with one fault each. All are the Anthropic wire with something laid over it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use expect_test::expect;
use trunkline_message_tree::{Content, Message, StopReason};
use trunkline_providers::conformance::{self, Promise};
use trunkline_providers::{
    Anthropic, Decode, DecodeError, EncodeError, ErrorKind, Event, Feature, HttpRequest, Memo, ProviderError,
    Request, Secret, Support, Wire,
};

use super::{broken, names, samples};

type Push = fn(&mut dyn Decode, &[u8], &mut Vec<Event>) -> Result<(), DecodeError>;
type Finish = fn(&mut dyn Decode, &mut Vec<Event>) -> Result<(), DecodeError>;
type Change = fn(&mut Vec<Event>);
type Error = fn(u16, &[(String, String)], &[u8]) -> ProviderError;
type Encode = Box<dyn Fn(&Request) -> Result<HttpRequest, EncodeError> + Send + Sync>;
type EncodeNext = Box<dyn Fn(&Request, &mut Memo) -> Result<HttpRequest, EncodeError> + Send + Sync>;

/// The Anthropic wire, with any part of it replaced.
pub(crate) struct Twisted {
    push: Push,
    finish: Finish,
    change: Change,
    encode: Encode,
    next: Option<EncodeNext>,
    support: fn(Feature) -> Support,
    error: Error,
    key_header: fn(&Secret) -> (String, String),
    // One decoder for everybody.
    shared: Option<Arc<Mutex<Box<dyn Decode>>>>,
}

fn honest() -> Twisted {
    Twisted {
        push: |inner, bytes, events| inner.push(bytes, events),
        finish: |inner, events| inner.finish(events),
        change: |_| {},
        encode: Box::new(|request| Anthropic::new().encode(request)),
        next: None,
        support: |feature| Anthropic::new().support(feature),
        error: |status, headers, body| Anthropic::new().error(status, headers, body),
        key_header: |key| Anthropic::new().key_header(key),
        shared: None,
    }
}

impl Wire for Twisted {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn support(&self, feature: Feature) -> Support {
        (self.support)(feature)
    }

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        (self.encode)(request)
    }

    fn encode_next(&self, request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
        match &self.next {
            Some(next) => next(request, memo),
            None => self.encode(request),
        }
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        (self.key_header)(key)
    }

    fn decoder(&self, request: &Request) -> Box<dyn Decode> {
        let inner = Anthropic::new().decoder(request);
        match &self.shared {
            Some(shared) => {
                *shared.lock().expect("nobody panics") = inner;
                Box::new(Shared(Arc::clone(shared)))
            }
            None => Box::new(Tap { inner, push: self.push, finish: self.finish, change: self.change }),
        }
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        (self.error)(status, headers, body)
    }
}

struct Tap {
    inner: Box<dyn Decode>,
    push: Push,
    finish: Finish,
    change: Change,
}

impl Decode for Tap {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let mut new = Vec::new();
        let outcome = (self.push)(self.inner.as_mut(), bytes, &mut new);
        (self.change)(&mut new);
        events.append(&mut new);
        outcome
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let mut new = Vec::new();
        let outcome = (self.finish)(self.inner.as_mut(), &mut new);
        (self.change)(&mut new);
        events.append(&mut new);
        outcome
    }
}

struct Shared(Arc<Mutex<Box<dyn Decode>>>);

impl Decode for Shared {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.0.lock().expect("nobody panics").push(bytes, events)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.0.lock().expect("nobody panics").finish(events)
    }
}

/// The events of each push and of the end are changed on their way.
fn changing(change: Change) -> Twisted {
    Twisted { change, ..honest() }
}

/// A server's UTF-8 may be cut anywhere, and this one does not care.
pub(crate) fn reads_each_piece_as_text() -> Twisted {
    let push: Push =
        |inner, bytes, events| inner.push(String::from_utf8_lossy(bytes).into_owned().as_bytes(), events);
    Twisted { push, ..honest() }
}

pub(crate) fn takes_any_end_for_a_good_one() -> Twisted {
    let finish: Finish = |inner, events| {
        if inner.finish(events).is_err() {
            events.push(Event::Stopped(StopReason::EndTurn));
        }
        Ok(())
    };
    Twisted { finish, ..honest() }
}

pub(crate) fn knows_no_kinds() -> Twisted {
    Twisted { error: |status, _, _| ProviderError::api(status, ErrorKind::Other, "no"), ..honest() }
}

pub(crate) fn puts_the_key_into_the_path() -> Twisted {
    let encode: Encode = Box::new(|request| {
        let mut http = Anthropic::new().encode(request)?;
        http.path.push_str("?key=kit-0123456789abcdef");
        Ok(http)
    });
    Twisted { encode, ..honest() }
}

/// Each broken wire with its fault and what must be found of it.
pub(crate) fn all() -> Vec<(&'static str, Promise, Twisted)> {
    let counter = AtomicUsize::new(0);
    let stale: Mutex<Option<(usize, HttpRequest)>> = Mutex::new(None);
    let fresh: Box<dyn Decode> = Anthropic::new().decoder(&Request::new("m", Vec::<Message>::new()));
    vec![
        (
            "it reads nothing",
            Promise::Answered,
            Twisted { push: |_, _, _| Err(DecodeError::Html), ..honest() },
        ),
        (
            "no block is ever done",
            Promise::Order,
            changing(|events| events.retain(|event| *event != Event::BlockDone)),
        ),
        (
            "empty pieces of text",
            Promise::Order,
            changing(|events| {
                let with_empty = events.drain(..).flat_map(|event| match event {
                    Event::TextDelta(_) => vec![Event::TextDelta(String::new()), event],
                    event => vec![event],
                });
                *events = with_empty.collect();
            }),
        ),
        (
            "crabs are dropped",
            Promise::Fold,
            changing(|events| events.retain(|event| *event != Event::TextDelta("🦀".to_owned()))),
        ),
        (
            "calls and done",
            Promise::Stop,
            changing(|events| {
                events.iter_mut().for_each(|event| {
                    if let Event::Stopped(stop) = event {
                        *stop = StopReason::EndTurn;
                    }
                })
            }),
        ),
        (
            "cached tokens are not counted as read",
            Promise::Usage,
            changing(|events| {
                events.iter_mut().for_each(|event| {
                    if let Event::Usage(usage) = event {
                        usage.cache_read_tokens += 10;
                    }
                })
            }),
        ),
        ("each piece is read as text", Promise::Pieces, reads_each_piece_as_text()),
        (
            "an event for each piece",
            Promise::Pieces,
            Twisted {
                push: |inner, bytes, events| {
                    let outcome = inner.push(bytes, events);
                    events.push(Event::Ping);
                    outcome
                },
                ..honest()
            },
        ),
        ("every end is a good end", Promise::Cut, takes_any_end_for_a_good_one()),
        (
            "a cut is told as something else",
            Promise::Cut,
            Twisted {
                finish: |inner, events| {
                    inner.finish(events).map_err(|_| DecodeError::Malformed {
                        reason: "it ends".to_owned(),
                        excerpt: String::new(),
                    })
                },
                ..honest()
            },
        ),
        (
            "it panics on what is no text",
            Promise::Hostile,
            Twisted {
                push: |inner, bytes, events| {
                    assert!(!bytes.contains(&0xff), "a byte that cannot be");
                    inner.push(bytes, events)
                },
                ..honest()
            },
        ),
        (
            "an empty object is an answer",
            Promise::Hostile,
            Twisted {
                push: |inner, bytes, events| match bytes {
                    b"{}" => Ok(()),
                    bytes => inner.push(bytes, events),
                },
                finish: |inner, events| match inner.finish(events) {
                    Err(DecodeError::Cut) if events.is_empty() => Ok(()),
                    outcome => outcome,
                },
                ..honest()
            },
        ),
        (
            "all decoders are one",
            Promise::Apart,
            Twisted { shared: Some(Arc::new(Mutex::new(fresh))), ..honest() },
        ),
        (
            "reasoning does not go back",
            Promise::RoundTrip,
            Twisted {
                encode: Box::new(|request| {
                    let mut request = request.clone();
                    let bare = |message: &Arc<Message>| {
                        let mut bare = Message::clone(message);
                        bare.content.retain(|block| !matches!(block, Content::Thinking { .. }));
                        bare.into()
                    };
                    request.messages = request.messages.iter().map(bare).collect();
                    Anthropic::new().encode(&request)
                }),
                ..honest()
            },
        ),
        (
            "each request has a number",
            Promise::Deterministic,
            Twisted {
                encode: Box::new(move |request| {
                    let number = counter.fetch_add(1, Ordering::Relaxed).to_string();
                    Ok(Anthropic::new().encode(request)?.with_header("x-request", number))
                }),
                ..honest()
            },
        ),
        (
            "what has as many messages is the same",
            Promise::Memo,
            Twisted {
                next: Some(Box::new(move |request, memo| {
                    let mut stale = stale.lock().expect("nobody panics");
                    match &*stale {
                        Some((messages, http)) if *messages == request.messages.len() => Ok(http.clone()),
                        _ => {
                            let http = Anthropic::new().encode_next(request, memo)?;
                            *stale = Some((request.messages.len(), http.clone()));
                            Ok(http)
                        }
                    }
                })),
                ..honest()
            },
        ),
        (
            "a seed that is not there",
            Promise::Features,
            Twisted {
                support: |feature| match feature {
                    Feature::Seed => Support::Native,
                    other => Anthropic::new().support(other),
                },
                ..honest()
            },
        ),
        (
            "stop sequences that nobody knows of",
            Promise::Features,
            Twisted {
                support: |feature| match feature {
                    Feature::Stop => Support::None,
                    other => Anthropic::new().support(other),
                },
                ..honest()
            },
        ),
        (
            "the temperature is dropped",
            Promise::Features,
            Twisted {
                encode: Box::new(|request| {
                    let mut request = request.clone();
                    request.temperature = None;
                    Anthropic::new().encode(&request)
                }),
                ..honest()
            },
        ),
        (
            "calls without results are sent",
            Promise::Shapes,
            Twisted {
                encode: Box::new(|request| match Anthropic::new().encode(request) {
                    Err(EncodeError::UnansweredCall { .. }) => {
                        Ok(HttpRequest::post_json("/v1/messages", b"{}".to_vec()))
                    }
                    outcome => outcome,
                }),
                ..honest()
            },
        ),
        ("all refusals are the same", Promise::Refusals, knows_no_kinds()),
        (
            "refusals are told at length",
            Promise::Refusals,
            Twisted {
                error: |status, headers, body| match Anthropic::new().error(status, headers, body) {
                    ProviderError::Api { kind, .. } => {
                        let body = String::from_utf8_lossy(body).into_owned();
                        let told = ProviderError::api(status, kind, "");
                        ProviderError::Transport {
                            endpoint: "it".to_owned(),
                            message: format!("{told}{body}"),
                        }
                    }
                    other => other,
                },
                ..honest()
            },
        ),
        ("the key is in the path", Promise::Key, puts_the_key_into_the_path()),
        (
            "the key has no header",
            Promise::Key,
            Twisted { key_header: |_| ("x-api-key".to_owned(), String::new()), ..honest() },
        ),
    ]
}

#[test]
fn a_wire_that_is_only_wrapped_keeps_its_promises() {
    let report = conformance::wire(&honest(), &samples::anthropic());
    assert!(report.is_ok(), "{report}");
}

#[test]
fn each_fault_of_a_wire_is_found() {
    let mut samples = samples::anthropic();
    samples.key = Some(Secret::new("kit-0123456789abcdef"));
    let mut found = String::new();
    for (fault, promise, wire) in all() {
        let report = conformance::wire(&wire, &samples);
        assert!(broken(&report).contains(&promise), "{fault}: {report}");
        found.push_str(&format!("{fault}: {}\n", names(&report)));
    }
    // One fault may break several promises, but not all: the report says where to look.
    expect![[r#"
        it reads nothing: Answered
        no block is ever done: Order
        empty pieces of text: Order
        crabs are dropped: Fold
        calls and done: Stop
        cached tokens are not counted as read: Usage
        each piece is read as text: Pieces, Apart
        an event for each piece: Order, Pieces, Cut, Apart
        every end is a good end: Cut, Hostile
        a cut is told as something else: Cut
        it panics on what is no text: Hostile
        an empty object is an answer: Pieces, Cut, Hostile
        all decoders are one: Apart
        reasoning does not go back: RoundTrip
        each request has a number: Deterministic, Memo
        what has as many messages is the same: Memo
        a seed that is not there: Features
        stop sequences that nobody knows of: Features
        the temperature is dropped: Features
        calls without results are sent: Shapes
        all refusals are the same: Refusals
        refusals are told at length: Refusals
        the key is in the path: Key
        the key has no header: Key
    "#]]
    .assert_eq(&found);
}
