//! What a broken, packed or disguised stream is taken for: never for more than it says.

use std::io::Write as _;

use expect_test::{Expect, expect};
use flate2::{Compression, GzBuilder, write::GzEncoder};
use proptest::prelude::*;
use trunkline_providers::{
    Anthropic, DecodeError, ErrorKind, Event, OpenAiChat, OpenAiResponses, ProviderError, Wire,
};

use crate::grammar;
use crate::replies::decode;
use crate::splits::{cut, wires};

fn packed(body: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(body).expect("memory takes it");
    gzip.finish().expect("memory takes it")
}

/// The three wires whose streams have an end of their own and can be cut into named events, with one that is complete.
fn streams() -> impl Iterator<Item = (Box<dyn Wire>, &'static str)> {
    wires().into_iter().take(3)
}

/// The same stream as one JSON array of its events.
fn array(stream: &str) -> String {
    let lines = stream.split(['\n', '\r']).filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<&str> = lines.filter(|data| *data != "[DONE]").collect();
    format!(" [{}]\n", events.join("\r\n,"))
}

#[test]
fn a_packed_body_is_read_whatever_the_headers_say() {
    for (wire, body) in wires() {
        let whole = decode(wire.as_ref(), [body.as_bytes()]);
        let gzip = packed(body.as_bytes());
        assert_eq!(decode(wire.as_ref(), [gzip.as_slice()]), whole);
        assert_eq!(decode(wire.as_ref(), cut(&gzip, &[1])), whole);
        // In two members, the second of which has all that a header can have, and with what a proxy leaves behind.
        let (one, two) = body.as_bytes().split_at(body.len() / 2);
        let mut header =
            GzBuilder::new().filename("a").comment("b").extra(*b"cd").write(Vec::new(), Compression::best());
        header.write_all(two).expect("memory takes it");
        let members = [packed(one), header.finish().expect("memory takes it"), b"\0\0".to_vec()].concat();
        assert_eq!(decode(wire.as_ref(), cut(&members, &[7])), whole);
    }
}

#[test]
fn a_packed_body_that_is_cut_is_cut() {
    for (wire, body) in streams() {
        let gzip = packed(body.as_bytes());
        for end in 0..gzip.len() - 8 {
            let (events, outcome) = decode(wire.as_ref(), [&gzip[..end]]);
            let stopped = events.iter().any(|event| matches!(event, Event::Stopped(_)));
            assert_eq!(
                outcome,
                if stopped { Ok(()) } else { Err(DecodeError::Cut) },
                "{} {end}",
                wire.name()
            );
        }
    }
}

#[test]
fn a_packed_body_that_is_damaged_is_an_error() {
    let (_, outcome) = decode(&Anthropic::new(), [b"\x1f\x8c".as_slice()]);
    assert_eq!(
        outcome.expect_err("no gzip").to_string(),
        "the answer cannot be read (the packed body is damaged, its header is none): gzip"
    );
    let mut wrong_sum = packed(wires()[0].1.as_bytes());
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    let (_, outcome) = decode(&Anthropic::new(), [wrong_sum.as_slice()]);
    assert_eq!(
        outcome.expect_err("a wrong sum").to_string(),
        "the answer cannot be read (the packed body is damaged, its checksum is another): gzip"
    );
}

#[test]
fn a_few_bytes_that_unpack_to_much_do_not_pass_the_limit_of_one_event() {
    // A thousand times as large as what is sent.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(b"data: ").expect("memory takes it");
    for _ in 0..64 {
        gzip.write_all(&[b'x'; 1024 * 1024]).expect("memory takes it");
    }
    let bomb = gzip.finish().expect("memory takes it");
    assert!(bomb.len() < 100_000);
    for (wire, _) in streams() {
        let (events, outcome) = decode(wire.as_ref(), [bomb.as_slice()]);
        assert_eq!((events.len(), outcome), (0, Err(DecodeError::TooLarge { limit: 16 * 1024 * 1024 })));
        let error = wire.error(500, &[], &bomb);
        assert!(error.to_string().len() < 2000);
    }
}

#[test]
fn a_packed_refusal_is_read_too() {
    let body = packed(br#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#);
    let error = Anthropic::new().error(429, &[], &body);
    assert_eq!(error.to_string(), "rate limit (status 429): slow down");
}

#[test]
fn a_stream_that_comes_as_an_array_gives_the_same_events() {
    for (wire, body) in streams() {
        let list = array(body);
        let whole = decode(wire.as_ref(), [body.as_bytes()]);
        assert_eq!(decode(wire.as_ref(), [list.as_bytes()]), whole, "{list}");
        assert_eq!(decode(wire.as_ref(), cut(list.as_bytes(), &[1])), whole);
    }
    let (_, outcome) =
        decode(&OpenAiChat::default(), [br#"[1,"}],",{"error":{"message":"no","code":503}}]"#.as_slice()]);
    assert!(outcome.is_err());
    let refused = br#"[{"error":{"message":"no","code":503}}]"#.as_slice();
    for (wire, _) in streams() {
        let (_, outcome) = decode(wire.as_ref(), [refused]);
        assert_eq!(outcome, Err(DecodeError::reported(ErrorKind::Overloaded, "no")), "{}", wire.name());
    }
}

#[test]
fn a_stream_that_is_cut_at_any_byte_gives_what_came_and_says_so() {
    for (wire, body) in streams() {
        for body in [body.to_owned(), array(body)] {
            let (whole, outcome) = decode(wire.as_ref(), [body.as_bytes()]);
            assert_eq!(outcome, Ok(()));
            for end in 0..body.len() {
                let (events, outcome) = decode(wire.as_ref(), [&body.as_bytes()[..end]]);
                assert_eq!(grammar::check(&events, &outcome), Ok(()));
                match outcome {
                    Err(error) => {
                        assert_eq!(error, DecodeError::Cut, "{} at {end}", wire.name());
                        assert_eq!(events, whole[..events.len()]);
                    }
                    // Behind the end; on Chat, where many send no other, behind the reason to stop.
                    Ok(()) => {
                        let told = |event: &Event| !matches!(event, Event::Usage(_));
                        let (came, all) =
                            (events.iter().filter(|e| told(e)), whole.iter().filter(|e| told(e)));
                        assert!(came.eq(all), "{} at {end}: {events:?}", wire.name());
                    }
                }
            }
        }
    }
}

#[test]
fn a_whole_answer_that_is_cut_at_any_byte_is_cut() {
    let whole: [(Box<dyn Wire>, &str); 3] = [
        (
            Box::new(Anthropic::new()),
            r#"{"type":"message","id":"m","model":"m","content":[{"type":"text","text":"grüße"}],"stop_reason":"end_turn"}"#,
        ),
        (
            Box::new(OpenAiChat::default()),
            r#"{"id":"c","model":"m","choices":[{"message":{"content":"grüße"},"finish_reason":"stop"}]}"#,
        ),
        (
            Box::new(OpenAiResponses::new()),
            r#"{"id":"r","model":"m","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"grüße"}]}]}"#,
        ),
    ];
    for (wire, body) in whole {
        assert_eq!(decode(wire.as_ref(), [body.as_bytes()]).1, Ok(()));
        for end in 0..body.len() {
            let cut = decode(wire.as_ref(), [&body.as_bytes()[..end]]);
            assert_eq!(cut, (Vec::new(), Err(DecodeError::Cut)), "{} at {end}", wire.name());
        }
    }
}

#[test]
fn a_page_is_a_page_whatever_stands_before_it() {
    for (wire, _) in streams() {
        for page in ["<html>", "\r\n \t<!doctype html>", "\u{feff}\n<html>"] {
            assert_eq!(
                decode(wire.as_ref(), cut(page.as_bytes(), &[1])),
                (Vec::new(), Err(DecodeError::Html))
            );
        }
    }
}

fn check_error(wire: &dyn Wire, streams: &[&str], expected: Expect) {
    let mut text = String::new();
    for stream in streams {
        let (events, outcome) = decode(wire, [stream.as_bytes()]);
        let error = ProviderError::from(outcome.expect_err("it reports an error"));
        let again = if error.is_retryable() { "again" } else { "final" };
        assert_eq!(error.retry_after(), None);
        text.push_str(&format!("{} events, {error}, {again}\n", events.len()));
    }
    expected.assert_eq(&text);
}

#[test]
fn an_error_inside_a_stream_that_began_well_is_reported_on_anthropic() {
    check_error(
        &Anthropic::new(),
        &[
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\"}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"},\"request_id\":null}\n\n",
            "data: {\"error\":{\"message\":\"rate limited\",\"type\":\"rate_limit_error\"}}\n\n",
            "event: error\ndata: upstream went away\n\n",
            "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}",
        ],
        expect![[r#"
            1 events, overloaded (status 200): Overloaded, again
            0 events, server failure (status 200): Internal server error, again
            0 events, rate limit (status 200): rate limited, again
            0 events, refused (status 200): upstream went away, final
            0 events, invalid request (status 200): no, final
        "#]],
    );
}

#[test]
fn an_error_inside_a_stream_that_began_well_is_reported_on_chat_and_its_dialects() {
    check_error(
        &OpenAiChat::default(),
        &[
            // Groq.
            "event: error\ndata: {\"error\":{\"message\":\"Failed to call a function\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"failed_generation\":\"<f>\",\"status_code\":400}}\n\n",
            // OpenRouter, in the middle.
            "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"id\":\"c\",\"error\":{\"code\":502,\"message\":\"Provider disconnected\",\"metadata\":{\"provider_name\":\"x\",\"raw\":\"boom\"}},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n",
            "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
            // vLLM, flat; Mistral, flat.
            "data: {\"object\":\"error\",\"message\":\"boom\",\"type\":\"InternalServerError\",\"param\":null,\"code\":500}\n\ndata: [DONE]\n\n",
            "data: {\"object\":\"error\",\"message\":\"Rate limit exceeded\",\"type\":\"rate_limited\",\"param\":null,\"code\":\"1300\",\"raw_status_code\":429}\n\n",
            "data: {\"detail\":\"Invalid API Key\"}\n\n",
            // xAI and Venice: a string.
            "data: {\"code\":\"invalid-argument\",\"error\":\"Model not found\"}\n\n",
            "{\"error\":\"no such thing\"}",
            "data: {\"error\":{\"code\":\"429\",\"message\":\"slow down\"}}\n\n",
        ],
        expect![[r#"
            0 events, invalid request (status 200): Failed to call a function, final
            2 events, server failure (status 200): Provider disconnected: boom, again
            1 events, server failure (status 200): the provider broke the answer off, again
            0 events, server failure (status 200): boom, again
            0 events, rate limit (status 200): Rate limit exceeded, again
            0 events, refused (status 200): Invalid API Key, final
            0 events, refused (status 200): Model not found, final
            0 events, refused (status 200): no such thing, final
            0 events, rate limit (status 200): slow down, again
        "#]],
    );
}

#[test]
fn an_error_inside_a_stream_that_began_well_is_reported_on_responses() {
    check_error(
        &OpenAiResponses::new(),
        &[
            "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\",\"param\":null,\"sequence_number\":3}\n\n",
            "data: {\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"code\":null,\"message\":\"oops\"}}\n\n",
            "data: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"The model failed\"}}}\n\n",
            "data: {\"error\":{\"code\":500,\"message\":\"peg\"}}\n\n",
            "{\"id\":\"r\",\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}",
        ],
        expect![[r#"
            0 events, rate limit (status 200): slow down, again
            0 events, server failure (status 200): oops, again
            0 events, server failure (status 200): The model failed, again
            0 events, server failure (status 200): peg, again
            0 events, quota exhausted (status 200): pay, final
        "#]],
    );
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Drop(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    use prop::sample::Index;
    prop_oneof![
        (any::<Index>(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        any::<Index>().prop_map(Damage::Drop),
        any::<Index>().prop_map(Damage::Double),
        (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Damage::Swap(one, other)),
    ]
}

/// The stream in events that can be moved, with plain line ends.
fn events_of(stream: &str) -> Vec<Vec<u8>> {
    let plain = stream.replace("\r\n", "\n").replace('\r', "\n");
    plain.split_inclusive("\n\n").map(|event| event.as_bytes().to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_damaged_stream_keeps_the_order_of_events_and_invents_no_call(
        example in 0_usize..3,
        damages in prop::collection::vec(damage(), 1..5),
        lengths in prop::collection::vec(1_usize..200, 1..8),
    ) {
        let (wire, body) = streams().nth(example).expect("a stream");
        let mut events = events_of(body);
        for damage in damages {
            if events.is_empty() {
                break;
            }
            match damage {
                Damage::Flip(at, bit) => {
                    let event = at.index(events.len());
                    let byte = at.index(events[event].len());
                    events[event][byte] ^= 1 << bit;
                }
                Damage::Drop(at) => {
                    events.remove(at.index(events.len()));
                }
                Damage::Double(at) => {
                    let at = at.index(events.len());
                    events.insert(at, events[at].clone());
                }
                Damage::Swap(one, other) => {
                    let (one, other) = (one.index(events.len()), other.index(events.len()));
                    events.swap(one, other);
                }
            }
        }
        let stream = events.concat();
        let (given, outcome) = decode(wire.as_ref(), [stream.as_slice()]);
        prop_assert_eq!(grammar::check(&given, &outcome), Ok(()), "{}", String::from_utf8_lossy(&stream));
        prop_assert_eq!(decode(wire.as_ref(), cut(&stream, &lengths)), (given, outcome));
        // A packed body notices what a plain one cannot.
        let mut gzip = packed(&stream);
        let at = lengths.iter().sum::<usize>() % gzip.len();
        gzip[at] ^= 1;
        let _ = decode(wire.as_ref(), cut(&gzip, &lengths));
    }

    #[test]
    fn an_event_that_comes_twice_makes_no_second_call(example in 0_usize..3, at in any::<prop::sample::Index>()) {
        let (wire, body) = streams().nth(example).expect("a stream");
        let mut events = events_of(body);
        let at = at.index(events.len());
        events.insert(at, events[at].clone());
        let (given, _) = decode(wire.as_ref(), [events.concat().as_slice()]);
        let calls = given.iter().filter(|event| matches!(event, Event::CallStarted { .. })).count();
        prop_assert!(calls <= 1, "{given:?}");
    }
}
