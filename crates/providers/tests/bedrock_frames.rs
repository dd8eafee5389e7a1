//! Bedrock's binary frames: what is cut, damaged or made to hurt.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_providers::{Bedrock, DecodeError};

use crate::replies::{decode, report_bytes};
use crate::splits::cut;

/// CRC-32, bit by bit: not the code that is tested.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    (!sum).to_be_bytes()
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("short").to_be_bytes()
}

/// A frame with headers that are already bytes.
pub(crate) fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut frame = [length(16 + headers.len() + payload.len()), length(headers.len())].concat();
    frame.extend(checksum(&frame));
    frame.extend([headers, payload].concat());
    frame.extend(checksum(&frame));
    frame
}

/// Text headers.
pub(crate) fn headers(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in pairs {
        bytes.push(u8::try_from(name.len()).expect("short"));
        bytes.extend(name.as_bytes());
        bytes.push(7);
        bytes.extend(u16::try_from(value.len()).expect("short").to_be_bytes());
        bytes.extend(value.as_bytes());
    }
    bytes
}

/// One event a line: its kind and its payload; a kind that begins with `!` is an exception.
pub(crate) fn stream(events: &str) -> Vec<u8> {
    let lines = events.lines().map(str::trim).filter(|line| !line.is_empty());
    let frames = lines.map(|line| {
        let (kind, payload) = line.split_once(' ').unwrap_or((line, ""));
        let kind = match kind.strip_prefix('!') {
            Some(kind) => [(":exception-type", kind), (":message-type", "exception")],
            None => [(":event-type", kind), (":message-type", "event")],
        };
        let [kind, kind_of_message] = kind;
        frame(&headers(&[kind, (":content-type", "application/json"), kind_of_message]), payload.as_bytes())
    });
    frames.flatten().collect()
}

/// The smallest answer that says something.
fn hello() -> Vec<u8> {
    stream(
        r#"messageStart {"role":"assistant"}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"süß"}}
           contentBlockStop {"contentBlockIndex":0}
           messageStop {"stopReason":"end_turn"}
           metadata {"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":4}}"#,
    )
}

fn check(body: &[u8], expected: Expect) {
    expected.assert_eq(&report_bytes(&Bedrock::new(), body));
}

#[test]
fn frames_become_events() {
    check(
        &hello(),
        expect![[r#"
        Started { model: "m", id: None }
        TextDelta("süß")
        BlockDone
        Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        Stopped(EndTurn)
        --
        assistant: süß
        + origin bedrock m
        + stop end_turn
    "#]],
    );
}

#[test]
fn headers_of_every_type_are_skipped() {
    let mut all = Vec::new();
    for (kind, length) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)] {
        all.extend([1, b'a', kind]);
        all.extend(vec![7_u8; length]);
    }
    all.extend([1, b'b', 6, 0, 3, 1, 2, 3]);
    all.extend([1, b'c', 7, 0, 2, b'h', b'i']);
    all.extend(headers(&[(":message-type", "event"), (":event-type", "messageStart")]));
    let mut body = frame(&all, br#"{"role":"assistant"}"#);
    body.extend(stream(r#"messageStop {"stopReason":"end_turn"}"#));
    check(
        &body,
        expect![[r#"
        Started { model: "m", id: None }
        Stopped(EndTurn)
        --
        assistant:
        + origin bedrock m
        + stop end_turn
    "#]],
    );
}

#[test]
fn headers_that_cannot_be_read_are_an_error() {
    for broken in
        [&[1][..], &[1, b'a'], &[1, b'a', 10], &[1, b'a', 7, 0, 9, b'x'], &[200, b'a', 0], &[1, b'a', 5]]
    {
        let (events, outcome) = decode(&Bedrock::new(), [frame(broken, b"{}").as_slice()]);
        assert!(events.is_empty());
        assert!(matches!(outcome, Err(DecodeError::Malformed { .. })), "{broken:?}: {outcome:?}");
    }
}

#[test]
fn a_length_that_no_honest_frame_has_is_refused_before_anything_is_kept() {
    let prelude = |total: u32, headers: u32| {
        let mut prelude = [total.to_be_bytes(), headers.to_be_bytes()].concat();
        prelude.extend(checksum(&prelude));
        prelude
    };
    check(
        &prelude(0x01ff_ffff, 0),
        expect![[r#"
            --
            assistant:
            + origin bedrock m
            -- one event of the answer is larger than 16908304 bytes
        "#]],
    );
    check(
        &prelude(15, 0),
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer cannot be read (the lengths of a frame contradict each other): 00 00 00 0f 00 00 00 00 e7 72 48 b8
    "#]],
    );
    check(
        &prelude(100, 85),
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer cannot be read (the lengths of a frame contradict each other): 00 00 00 64 00 00 00 55 12 91 ab 9f
    "#]],
    );
    check(
        &prelude(16, u32::MAX),
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer cannot be read (the lengths of a frame contradict each other): 00 00 00 10 ff ff ff ff db 79 68 08
    "#]],
    );
}

#[test]
fn a_frame_without_headers_says_nothing() {
    let mut body = frame(&[], b"");
    body.extend(frame(&headers(&[(":message-type", "event"), (":event-type", "new")]), b"\xff\xfe"));
    body.extend(frame(&headers(&[(":message-type", "new")]), b"{}"));
    body.extend(hello());
    let (_, outcome) = decode(&Bedrock::new(), [body.as_slice()]);
    assert_eq!(outcome, Ok(()));
}

#[test]
fn what_follows_the_end_is_not_read() {
    let mut body = hello();
    body.extend([0; 40]);
    let wire = Bedrock::new();
    assert_eq!(decode(&wire, [body.as_slice()]), decode(&wire, [hello().as_slice()]));
    assert_eq!(decode(&wire, cut(&body, &[1])), decode(&wire, [hello().as_slice()]));
}

#[test]
fn other_bodies_are_named_for_what_they_are() {
    check(
        b"",
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer was cut off before its end
    "#]],
    );
    check(
        b"<html>no</html>",
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- an HTML page instead of an API response
    "#]],
    );
    check(
        b"data: {\"text\":\"hi\"}\n\n",
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer cannot be read (server-sent events instead of binary frames): {"text":"hi"}
    "#]],
    );
    check(
        b"\x1f\x8b\x08\x00\x00",
        expect![[r#"
        --
        assistant:
        + origin bedrock m
        -- the answer was cut off before its end
    "#]],
    );
}

proptest! {
    #[test]
    fn no_bit_can_be_changed_unseen(at in 0_usize..1000, bit in 0_u8..8) {
        let mut body = hello();
        let at = at % body.len();
        body[at] ^= 1 << bit;
        let (_, outcome) = decode(&Bedrock::new(), [body.as_slice()]);
        prop_assert!(outcome.is_err());
    }

    #[test]
    fn an_answer_without_its_stop_is_cut(missing in 1_usize..1000) {
        let body = stream(
            r#"messageStart {"role":"assistant"}
               contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"half"}}
               messageStop {"stopReason":"end_turn"}"#,
        );
        let (_, outcome) = decode(&Bedrock::new(), [&body[..body.len() - missing.min(body.len())]]);
        prop_assert_eq!(outcome, Err(DecodeError::Cut));
    }

    #[test]
    fn any_frame_at_any_split_is_the_same(
        header in prop::collection::vec(any::<u8>(), 0..30),
        payload in prop::collection::vec(any::<u8>(), 0..30),
        kind in prop::sample::select(vec!["event", "exception", "error", "x"]),
        lengths in prop::collection::vec(1_usize..90, 1..20),
    ) {
        let named = headers(&[(":message-type", kind), (":event-type", "contentBlockDelta")]);
        let mut body = stream(r#"messageStart {"role":"assistant"}"#);
        body.extend(frame(&named, &payload));
        body.extend(frame(&header, &payload));
        body.extend(hello());
        let wire = Bedrock::new();
        prop_assert_eq!(decode(&wire, cut(&body, &lengths)), decode(&wire, [body.as_slice()]));
    }
}
