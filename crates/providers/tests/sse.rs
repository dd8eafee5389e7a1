//! Framing of server-sent events.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_providers::{DecodeError, SseParser};

fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(String, String)>, Result<(), DecodeError>) {
    let mut parser = SseParser::new();
    let mut events = Vec::new();
    for piece in pieces {
        let outcome = parser.push(piece, |event| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        });
        if outcome.is_err() {
            return (events, outcome);
        }
    }
    (events, Ok(()))
}

fn check(stream: &str, expected: Expect) {
    let (events, outcome) = parse([stream.as_bytes()]);
    outcome.expect("the stream is good");
    let text: String = events.iter().map(|(name, data)| format!("{name:?} {data:?}\n")).collect();
    expected.assert_eq(&text);
}

#[test]
fn lines_end_in_three_ways() {
    check(
        "data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\n\n",
        expect![[r#"
        "" "a"
        "" "b"
        "" "c"
        "" "d"
    "#]],
    );
}

#[test]
fn data_lines_are_joined_and_one_space_is_optional() {
    check(
        "data:a\ndata:  b\ndata\n\n",
        expect![[r#"
        "" "a\n b\n"
    "#]],
    );
}

#[test]
fn comments_and_other_fields_are_ignored() {
    check(
        ": hello\n\nid: 1\nretry: 5\nevent: x\n: there\ndata: a\n\n",
        expect![[r#"
        "x" "a"
    "#]],
    );
}

#[test]
fn a_name_without_data_is_no_event_and_is_forgotten() {
    check(
        "event: x\n\ndata: a\n\n",
        expect![[r#"
        "" "a"
    "#]],
    );
}

#[test]
fn a_byte_order_mark_may_lead() {
    check(
        "\u{feff}data: a\n\n\u{feff}data: b\n\n",
        expect![[r#"
        "" "a"
    "#]],
    );
}

#[test]
fn what_no_blank_line_ends_is_not_given_out() {
    check(
        "data: a\n\ndata: b\n",
        expect![[r#"
        "" "a"
    "#]],
    );
}

#[test]
fn bytes_that_are_not_text_are_replaced() {
    let (events, outcome) = parse([&b"data: a\n\ndata: \xff\n\n"[..]]);
    assert_eq!(outcome, Ok(()));
    assert!(events[1].1 == "\u{fffd}", "{events:?}");
}

#[test]
fn an_endless_line_is_an_error_and_not_all_memory() {
    let megabyte = vec![b'x'; 1024 * 1024];
    let (_, outcome) = parse(std::iter::repeat_n(megabyte.as_slice(), 17));
    assert!(matches!(outcome, Err(DecodeError::TooLarge { .. })), "{outcome:?}");
}

#[test]
fn endless_data_lines_are_an_error_too() {
    let mut line = b"data: ".to_vec();
    line.resize(1024 * 1024, b'x');
    line.push(b'\n');
    let (_, outcome) = parse(std::iter::repeat_n(line.as_slice(), 17));
    assert!(matches!(outcome, Err(DecodeError::TooLarge { .. })), "{outcome:?}");
}

proptest! {
    #[test]
    fn events_do_not_depend_on_where_the_bytes_were_cut(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "data", "event", ":", " ", "a", "ü", "\u{feff}", "\n", "\r", "\r\n", "\n\n", "data: x", "🦀",
            ]),
            0..40,
        ),
        cuts in prop::collection::vec(1_usize..5, 1..50),
    ) {
        let stream = words.concat().into_bytes();
        let mut pieces = Vec::new();
        let mut rest = stream.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, tail) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        prop_assert_eq!(parse(pieces), parse([stream.as_slice()]));
    }
}
