//! No export makes the reader or the writer fall over.

use proptest::prelude::*;
use trunkline_transcripts::{Format, Heading, export, read_as, sniff};

use super::{compacted, plain, same};
use crate::show::{main, text};

fn survive(bytes: &[u8]) {
    let _ = sniff(bytes);
    let Ok(transcript) = read_as(bytes, Format::Opencode) else { return };
    for (index, conversation) in transcript.conversations().enumerate() {
        let _ = transcript.left_out(index);
        let size: usize =
            conversation.messages.iter().map(|message| text(std::slice::from_ref(message)).len()).sum();
        assert!(size <= 8 * bytes.len() + 1_000, "{size} of {}", bytes.len());
        let written = transcript.write(index, &conversation.messages, "ses_2").expect("it is there");
        if conversation.messages.is_empty() {
            continue;
        }
        let again = read_as(&written.bytes, Format::Opencode).expect("it was just written");
        let mut messages = main(&again).messages;
        if written.losses.is_empty() {
            same(&messages, &conversation.messages);
        }
        messages.reverse();
        let _ = transcript.write(index, &messages, "ses_2").expect("it is there");
        for format in Format::ALL {
            let _ = export(&messages, *format, &Heading::default());
        }
    }
}

/// Does to a file what a draw of the law says.
fn damaged(file: String, damage: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = file.into_bytes();
    for (at, act, byte) in damage.iter().copied() {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        let end = (at + usize::from(byte)).min(bytes.len());
        let line_end = |from: usize| {
            bytes[from..].iter().position(|sign| *sign == b'\n').map_or(bytes.len(), |to| from + to + 1)
        };
        let (line, next) = (line_end(at), line_end(line_end(at).min(bytes.len())));
        match act {
            0 => bytes[at] = byte,
            1 => bytes.truncate(at),
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => {
                bytes.drain(line..next);
            }
            5 => {
                let copy = bytes[line..next].to_vec();
                bytes.splice(line..line, copy);
            }
            6 => {
                bytes[line..].rotate_left(next - line);
            }
            7 => {
                bytes.splice(at..at, br#"\ud800"#.iter().copied());
            }
            _ => {
                bytes.splice(at..end, br#"[{"":null,"type":1e999}]"#.iter().copied());
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_export_is_survived(
        which in 0..2usize,
        damage in prop::collection::vec((0..10_000usize, 0..9u8, any::<u8>()), 1..5),
    ) {
        survive(&damaged([plain, compacted][which](), &damage));
    }

    #[test]
    fn values_of_any_kind_are_survived(field in 0..1_000usize, value in prop::sample::select(vec![
        "null", "true", "-1", "1e999", "\"\"", "\"msg_1\"", "\"compaction\"", "\"user\"", "[]", "[[]]", "{}", "[null]",
        "\"\\ud800\"", "18446744073709551615",
    ]), which in 0..2usize) {
        let file = [plain, compacted][which]();
        let colons: Vec<usize> = file.match_indices("\":").map(|(at, _)| at + 2).collect();
        let at = colons[field % colons.len()];
        let mut values = serde_json::Deserializer::from_str(&file[at..]).into_iter::<serde_json::Value>();
        if let Some(Ok(_)) = values.next() {
            let end = at + values.byte_offset();
            survive(format!("{}{value}{}", &file[..at], &file[end..]).as_bytes());
        }
    }
}

#[test]
fn depth_and_size_are_survived() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    for at in ["\"one\"", "{\"b\": 1, \"a\": []}", "\"SIG\"", "\"read both\""] {
        survive(plain().replacen(at, &deep, 1).as_bytes());
    }
    let open = "{\"info\":".repeat(50_000);
    survive(open.as_bytes());
    survive((plain() + &open).as_bytes());
}

#[test]
fn two_requests_stay_two_where_what_told_them_apart_is_damaged() {
    survive(&damaged(plain(), &[(2447, 8, 199), (6480, 6, 0), (2845, 6, 0), (9771, 7, 0)]));
}

#[test]
fn an_answer_behind_an_end_does_not_take_it() {
    survive(&damaged(plain(), &[(7220, 8, 252), (6602, 6, 0)]));
}
