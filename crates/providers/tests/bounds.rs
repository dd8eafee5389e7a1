//! How much is taken of one answer, on every wire.

use trunkline_message_tree::Message;
use trunkline_providers::{
    Bounds, DecodeError, Event, Gemini, Ollama, OpenAiChat, OpenAiResponses, ProviderError, Request, Wire,
};

use crate::every_body::{Kind, all_wires, has_pieces_of_calls, stream};
use crate::replies::fold;

const BOUND: usize = 1000;

fn read(wire: &dyn Wire, bounds: Bounds, body: &[u8], piece: usize) -> (Vec<Event>, Result<(), DecodeError>) {
    let mut decoder = bounds.around(wire.decoder(&Request::new("m", vec![Message::user("hi")])));
    let mut events = Vec::new();
    for piece in body.chunks(piece) {
        if let Err(error) = decoder.push(piece, &mut events) {
            return (events, Err(error));
        }
    }
    let outcome = decoder.finish(&mut events);
    (events, outcome)
}

/// How many bytes of words, reasoning and arguments came.
fn came(events: &[Event]) -> usize {
    let length = |event: &Event| match event {
        Event::TextDelta(text) | Event::ThinkingDelta(text) | Event::ArgumentsDelta { text, .. } => {
            text.len()
        }
        _ => 0,
    };
    events.iter().map(length).sum()
}

#[test]
fn an_answer_without_an_end_is_taken_up_to_its_bound() {
    for wire in all_wires() {
        for kind in [Kind::Text, Kind::Reasoning, Kind::Arguments] {
            if kind == Kind::Arguments && !has_pieces_of_calls(wire.as_ref()) {
                continue;
            }
            let name = format!("{} {kind:?}", wire.name());
            // What it would say is ten times as long; some pieces have a letter of two bytes at the bound.
            let pieces = vec!["wordü ".as_bytes(); 10 * BOUND / 7];
            let body = stream(wire.as_ref(), kind, &pieces, b"null");
            let bounds = Bounds::of_answer(BOUND);
            let (events, outcome) = read(wire.as_ref(), bounds, &body, body.len());
            assert_eq!(outcome, Err(DecodeError::TooLong { limit: BOUND }), "{name}");
            assert!((BOUND - 300..=BOUND).contains(&came(&events)), "{name}: {}", came(&events));
            assert!(!events.iter().any(|event| matches!(event, Event::Stopped(_))), "{name}");
            assert_eq!(read(wire.as_ref(), bounds, &body, 1), (events, outcome), "{name}");
            let short = stream(wire.as_ref(), kind, &pieces[..BOUND / 10], b"null");
            assert_eq!(read(wire.as_ref(), bounds, &short, 77).1, Ok(()), "{name}");
        }
    }
}

#[test]
fn one_piece_that_is_too_long_is_kept_as_far_as_it_fits() {
    let long = "x".repeat(5 * BOUND);
    for wire in all_wires() {
        let body = stream(wire.as_ref(), Kind::Text, &[long.as_bytes()], b"null");
        let (events, outcome) = read(wire.as_ref(), Bounds::of_answer(BOUND), &body, 100);
        assert_eq!(outcome, Err(DecodeError::TooLong { limit: BOUND }), "{}", wire.name());
        assert_eq!(came(&events), BOUND, "{}", wire.name());
    }
    let whole = format!(
        "{{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"message\":{{\"content\":\"{long}\"}},\"finish_reason\":\"stop\"}}]}}"
    );
    let (events, outcome) = read(&OpenAiChat::default(), Bounds::of_answer(BOUND), whole.as_bytes(), 100);
    assert_eq!((came(&events), outcome), (BOUND, Err(DecodeError::TooLong { limit: BOUND })));
}

#[test]
fn one_event_without_an_end_is_not_held() {
    let mut bounds = Bounds::of_answer(BOUND);
    bounds.event = 5000;
    for wire in all_wires() {
        let begin: &[u8] = match wire.name() {
            "ollama" => b"{\"model\":\"",
            // A length of a hundred megabytes is refused before anything of it came.
            "bedrock" => continue,
            _ => b"data: {\"x\":\"",
        };
        let body = [begin, &[b'x'; 20_000]].concat();
        let (events, outcome) = read(wire.as_ref(), bounds, &body, 100);
        assert_eq!(
            (events.len(), outcome),
            (0, Err(DecodeError::TooLarge { limit: 5000 })),
            "{}",
            wire.name()
        );
        if wire.name() != "ollama" {
            let whole = [b"{\"x\":\"".as_slice(), &[b'x'; 20_000]].concat();
            assert_eq!(
                read(wire.as_ref(), bounds, &whole, 100).1,
                Err(DecodeError::TooLarge { limit: 5000 })
            );
            let array = [b"[{\"x\":\"".as_slice(), &[b'x'; 20_000]].concat();
            assert_eq!(
                read(wire.as_ref(), bounds, &array, 100).1,
                Err(DecodeError::TooLarge { limit: 5000 })
            );
        }
    }
}

#[test]
fn blocks_that_are_only_carried_and_blocks_of_one_byte_count_too() {
    let picture =
        format!("{{\"model\":\"m\",\"message\":{{\"images\":[\"{}\"]}},\"done\":false}}\n", "A".repeat(900));
    let (events, outcome) = read(&Ollama::new(), Bounds::of_answer(BOUND), picture.repeat(9).as_bytes(), 50);
    assert_eq!(outcome, Err(DecodeError::TooLong { limit: 4 * BOUND }));
    assert!(fold("p", &events).finish().content.len() < 5);

    let part = r#"{"text":"a"},{"text":"b","thought":true},"#.repeat(1000);
    let parts = part.trim_end_matches(',');
    let body = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let (events, outcome) = read(&Gemini::new(), Bounds::of_answer(BOUND), body.as_bytes(), 500);
    assert_eq!(outcome, Err(DecodeError::TooLong { limit: BOUND }));
    assert!(fold("p", &events).finish().content.len() < 20);
}

#[test]
fn an_answer_may_be_larger_where_somebody_says_so() {
    let long = "x".repeat(20 * 1024 * 1024);
    let wire = OpenAiResponses::new();
    let body = stream(&wire, Kind::Text, &[long.as_bytes()], b"null");
    let (_, outcome) = read(&wire, Bounds::default(), &body, 1 << 20);
    assert_eq!(outcome, Err(DecodeError::TooLarge { limit: 16 * 1024 * 1024 }));
    let (events, outcome) = read(&wire, Bounds::of_answer(32 * 1024 * 1024), &body, 1 << 20);
    assert_eq!((came(&events), outcome), (long.len(), Ok(())));
}

#[test]
fn a_bound_is_told_and_nothing_is_asked_again_for_it() {
    for error in [DecodeError::TooLong { limit: 7 }, DecodeError::TooLarge { limit: 7 }] {
        assert!(error.is_bound() && error.to_string().contains("7 bytes"), "{error}");
        assert!(!ProviderError::from(error).is_retryable());
    }
    assert!(!DecodeError::Cut.is_bound());
}
