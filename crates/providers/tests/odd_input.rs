//! One odd character, number or line does not cost an answer, on any wire.

use proptest::prelude::*;
use trunkline_message_tree::{Content, StopReason};
use trunkline_providers::{DecodeError, Event, OpenAiChat, OpenAiResponses, Wire};

use crate::every_body::{Kind, all_wires, event, has_pieces_of_calls, stream};
use crate::grammar;
use crate::replies::{decode, fold};
use crate::splits::cut;

/// What is said in a body, however it is cut; an error if it is not complete.
fn said(wire: &dyn Wire, body: &[u8]) -> Result<String, DecodeError> {
    let (events, outcome) = decode(wire, [body]);
    assert_eq!(decode(wire, cut(body, &[1])), (events.clone(), outcome.clone()), "{}", wire.name());
    assert_eq!(grammar::check(&events, &outcome), Ok(()));
    outcome?;
    let message = fold(wire.name(), &events).finish();
    let texts = message.content.iter().map(|block| match block {
        Content::Text { text } | Content::Thinking { text, .. } => text.clone(),
        Content::ToolCall(call) => call.arguments.clone(),
        other => format!("{other:?}"),
    });
    Ok(texts.collect())
}

fn unread(wire: &dyn Wire, body: &[u8]) -> Vec<(String, String)> {
    fold(wire.name(), &decode(wire, [body]).0).unread().to_vec()
}

fn check(kind: Kind, pieces: &[&[u8]], odd: &[u8], expected: &str) {
    for wire in all_wires() {
        if kind == Kind::Arguments && !has_pieces_of_calls(wire.as_ref()) {
            continue;
        }
        let body = stream(wire.as_ref(), kind, pieces, odd);
        let shown = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(said(wire.as_ref(), &body).as_deref(), Ok(expected), "{} {kind:?}: {shown}", wire.name());
        assert_eq!(unread(wire.as_ref(), &body), [], "{} {kind:?}: {shown}", wire.name());
    }
}

#[test]
fn halves_of_a_character_in_two_events_are_joined() {
    for kind in [Kind::Text, Kind::Reasoning] {
        check(kind, &[br"hi \ud83d", br"\ude00!"], b"null", "hi 😀!");
        check(kind, &[br"\uD83D", br"\uDE00"], b"null", "😀");
        // In one event they are a character like any other; the same as bytes that are cut between two events.
        check(kind, &[br"\ud83d\ude00", b"\xf0\x9f", b"\x98", b"\x80"], b"null", "😀😀");
    }
    check(Kind::Arguments, &[br#"{\"a\":\"\ud83d"#, br#"\ude00\"}"#], b"null", r#"{"a":"😀"}"#);
}

#[test]
fn half_a_character_alone_is_a_replacement_character() {
    for kind in [Kind::Text, Kind::Reasoning] {
        check(kind, &[br"hi \ud83d", b" there"], b"null", "hi \u{fffd} there");
        check(kind, &[br"\ude00", br"\ud83d"], b"null", "\u{fffd}\u{fffd}");
        check(kind, &[br"a\ud83d"], b"null", "a\u{fffd}");
        check(kind, &[br"\ud83d\ud83d\ude00"], b"null", "\u{fffd}😀");
        // Behind a backslash it is no half.
        check(kind, &[br"\\ud83d"], b"null", r"\ud83d");
    }
    check(Kind::Arguments, &[br#"{\"a\":\"\ud83d\"}"#], b"null", "{\"a\":\"\u{fffd}\"}");
    // What the model itself escaped are its bytes, whatever they mean.
    check(Kind::Arguments, &[br#"{\"a\":\"\\ud83d\"}"#], b"null", r#"{"a":"\ud83d"}"#);
}

#[test]
fn bytes_that_are_no_text_are_replacement_characters() {
    for kind in [Kind::Text, Kind::Reasoning] {
        check(kind, &[b"gr\xfc", b"\xdfe"], b"null", "gr\u{fffd}\u{fffd}e");
        check(kind, &[b"a\xc3", b"b"], b"null", "a\u{fffd}b");
    }
}

#[test]
fn what_nobody_reads_is_not_judged() {
    for odd in [
        b"NaN".as_slice(),
        b"[Infinity,-Infinity,1e999,-0.0]",
        br#"{"a":1,"a":2,"b":{"c":1,"c":NaN}}"#,
        br#""\ud800""#,
        b"\"\xff\"",
        br#""\x41 \q""#,
        b"\"a\tb\"",
        b"[1,2,],\"index2\":\"0\",\"object\":7,\"created\":\"x\",\"usage2\":{}",
        b"None",
    ] {
        check(Kind::Text, &[b"hi"], odd, "hi");
    }
}

#[test]
fn a_field_that_comes_twice_counts_once() {
    let wire = OpenAiChat::default();
    let body = "data: {\"id\":\"c\",\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"index\":0,\"delta\":{\"content\":\"no\",\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n";
    assert_eq!(said(&wire, body.as_bytes()).as_deref(), Ok("hi"));
    let whole =
        r#"{"id":"c","id":"c","model":"m","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    assert_eq!(said(&wire, whole.as_bytes()).as_deref(), Ok("hi"));
}

#[test]
fn a_whole_body_may_be_odd_too() {
    let wire = OpenAiChat::default();
    let body = b"{\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"gr\xfc\\ud83d\"},\"logprobs\":NaN,\"finish_reason\":\"stop\"}]}";
    assert_eq!(said(&wire, body).as_deref(), Ok("gr\u{fffd}\u{fffd}"));
    for end in 1..body.len() {
        assert_eq!(decode(&wire, [&body[..end]]).1, Err(DecodeError::Cut), "{end}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_told_and_the_answer_goes_on() {
    for wire in all_wires() {
        let wire = wire.as_ref();
        let body = stream(wire, Kind::Text, &[b"one ", b"two"], b"null");
        let good = event(
            wire,
            match wire.name() {
                "bedrock" => b"contentBlockDelta {{{ what?",
                _ => b"{{{ what?",
            },
        );
        // Behind the first piece.
        let mark = b"one ";
        let at = body.windows(mark.len()).position(|window| window == mark).expect("the first piece");
        let end = match wire.name() {
            "bedrock" => frame_ends(&body).find(|end| *end > at).expect("an end"),
            "ollama" => at + body[at..].iter().position(|byte| *byte == b'\n').expect("an end") + 1,
            _ => at + body[at..].windows(2).position(|pair| pair == b"\n\n").expect("an end") + 2,
        };
        let damaged = [&body[..end], good.as_slice(), &body[end..]].concat();
        assert_eq!(said(wire, &damaged).as_deref(), Ok("one two"), "{}", wire.name());
        let unread = unread(wire, &damaged);
        assert_eq!(unread.len(), 1, "{}", wire.name());
        assert!(unread[0].0.contains("what?") && !unread[0].1.is_empty(), "{unread:?}");
        // Without an end it is cut, or what it says itself.
        let (_, outcome) = decode(wire, [&damaged[..end + good.len()]]);
        assert_eq!(outcome, Err(DecodeError::Cut), "{}", wire.name());
    }
}

fn frame_ends(body: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length: [u8; 4] = body.get(at..at + 4)?.try_into().ok()?;
        at += u32::from_be_bytes(length) as usize;
        Some(at)
    })
}

#[test]
fn a_call_that_a_lost_line_may_belong_to_does_not_run() {
    for wire in all_wires() {
        let wire = wire.as_ref();
        if !has_pieces_of_calls(wire) {
            continue;
        }
        let lost = event(
            wire,
            match wire.name() {
                "bedrock" => b"contentBlockDelta {{{",
                _ => b"{{{",
            },
        );
        for (pieces, runs) in [
            // In the middle, and before the first piece: what was lost may have been a part of it.
            ([br#"{\"p\":\"/tmp"#.as_slice(), br#"/x\"}"#.as_slice()], false),
            ([b"".as_slice(), b"{}".as_slice()], false),
            // Behind the last one nothing can have belonged to it.
            ([br#"{\"p\":1}"#.as_slice(), b" ".as_slice()], true),
        ] {
            let whole = stream(wire, Kind::Arguments, &pieces, b"null");
            let short = stream(wire, Kind::Arguments, &pieces[..1], b"null");
            let same = whole.iter().zip(&short).take_while(|(one, other)| one == other).count();
            // The events up to there are the same; back to where the last of them ends.
            let end = match wire.name() {
                "bedrock" => frame_ends(&whole).take_while(|end| *end <= same).last().expect("an end"),
                _ => whole[..same].windows(2).rposition(|pair| pair == b"\n\n").expect("an end") + 2,
            };
            let damaged = [&whole[..end], lost.as_slice(), &whole[end..]].concat();
            let (events, outcome) = decode(wire, [damaged.as_slice()]);
            let shown = format!("{} {:?}", wire.name(), String::from_utf8_lossy(&damaged));
            assert_eq!(outcome.is_ok(), runs, "{shown}");
            let stopped = events.iter().any(|event| matches!(event, Event::Stopped(StopReason::ToolUse)));
            assert_eq!(stopped, runs, "{shown}");
        }
    }
}

#[test]
fn a_stream_in_which_nothing_can_be_read_says_so() {
    for wire in all_wires().iter().filter(|wire| wire.name() != "bedrock") {
        let line = event(wire.as_ref(), b"upstream went away");
        let (events, outcome) = decode(wire.as_ref(), [line.as_slice()]);
        assert_eq!(events.len(), 1, "{}", wire.name());
        let error = outcome.expect_err("nothing in it").to_string();
        assert!(error.contains("upstream went away"), "{error}");
        let many = line.repeat(1000);
        let (events, outcome) = decode(wire.as_ref(), [many.as_slice()]);
        assert!(outcome.is_err() && events.len() <= 64, "{}", events.len());
    }
}

#[test]
fn what_an_item_is_in_the_end_is_compared_as_text() {
    let body = [
        r#"{"type":"response.created","response":{"id":"r","model":"m"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"a","name":"f"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":\"\ud83d"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"\ude00\"}"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"a","name":"f","arguments":"{\"a\":\"😀\"}"}}"#,
        r#"{"type":"response.completed","response":{"status":"completed"}}"#,
    ];
    let body: String = body.iter().map(|data| format!("data: {data}\n\n")).collect();
    assert_eq!(said(&OpenAiResponses::new(), body.as_bytes()).as_deref(), Ok(r#"{"a":"😀"}"#));
}

proptest! {
    #[test]
    fn halves_and_bytes_in_any_order_do_not_depend_on_splits(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                br"\ud83d".to_vec(), br"\ude00".to_vec(), b"\xf0\x9f".to_vec(), b"\x98\x80".to_vec(), b"a".to_vec(),
                br"\ufdd0".to_vec(), "\u{fdd0}\u{f003d}".as_bytes().to_vec(), b"\xed\xa0\xbd".to_vec(), b"".to_vec(),
            ]),
            0..7,
        ),
        lengths in prop::collection::vec(1_usize..40, 1..5),
        wire in 0_usize..6,
        kind in prop::sample::select(vec![Kind::Text, Kind::Reasoning]),
    ) {
        let wires = all_wires();
        let wire = wires[wire].as_ref();
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let body = stream(wire, kind, &pieces, b"null");
        let (events, outcome) = decode(wire, [body.as_slice()]);
        prop_assert_eq!(grammar::check(&events, &outcome), Ok(()));
        prop_assert_eq!(&outcome, &Ok(()));
        prop_assert_eq!(decode(wire, cut(&body, &lengths)), (events, outcome));
    }
}
