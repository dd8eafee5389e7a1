//! Files that are damaged, new, packed or made to be slow.

use std::fs;
use std::path::Path;

use expect_test::expect;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use trunkline_transcripts::{FaultKind, Format, Kind, ReadError, read, read_as, sniff};

use super::{NEWEST, OLDEST, ORDINARY, session, transcript_of};
use crate::show::{main, show, text, transcript};

#[test]
fn damage_costs_what_is_damaged() {
    let good = session("user one\nai two\nuser three\nai four");
    let lines: Vec<&str> = good.lines().collect();
    let [header, one, two, three, four] = lines.as_slice() else { panic!("five lines") };
    let torn = &two[..two.len() - 30];
    let file = format!("{header}\n{one}\n{torn}{three}\nnot json\n[1]\n{four}{two}\n");
    expect![[r#"
        user: one
        user: three
        assistant: four
        + text: two
        -- line 3: not JSON but in part: records read 1, the rest left out: EOF while parsing an object at column 284
        -- line 4: not JSON, left out: expected ident at column 2
        -- line 5: not JSON, left out: invalid type: sequence, expected an object at column 0
        -- line 6: 2 records on one line; all were read, the client would read none of them
    "#]].assert_eq(&show(&transcript(&file, Format::Codex)));
    // The header is what a session can do without.
    let headless = format!("{}\n{one}\n{two}\n", &header[..40]);
    assert_eq!(sniff(headless.as_bytes()), Some(Format::Codex));
    assert_eq!(main(&transcript(&headless, Format::Codex)).messages.len(), 2);
    assert!(read_as(b"{\"a\":1}\n", Format::Codex).is_err());
    assert!(read_as(b"", Format::Codex).is_err());
}

#[test]
fn wrong_types_are_told_and_passed_over() {
    let mut lines = String::from("user one\n");
    for payload in [
        "1",
        "null",
        r#"{"type":7}"#,
        r#"{"type":"message"}"#,
        r#"{"type":"message","role":"user"}"#,
        r#"{"type":"message","role":"robot","content":[]}"#,
        r#"{"type":"message","role":"user","content":7}"#,
        r#"{"type":"message","role":"user","content":[1,null,"words",{"type":"input_text"}]}"#,
        r#"{"role":"assistant","content":"no type"}"#,
        r#"{"type":"function_call","name":1,"arguments":{"a":1},"call_id":[]}"#,
        r#"{"type":"function_call_output","call_id":null,"output":null}"#,
        r#"{"type":"function_call_output","call_id":"c","output":[1,{"type":"new"}]}"#,
        r#"{"type":"custom_tool_call","input":3}"#,
        r#"{"type":"local_shell_call","action":"ls"}"#,
        r#"{"type":"reasoning","summary":3,"encrypted_content":{}}"#,
        r#"{"type":"agent_message","content":3}"#,
    ] {
        lines.push_str(&format!("response_item {payload}\n"));
    }
    for (kind, payload) in [
        ("compacted", r#"{"message":3,"replacement_history":[7,{"type":"message"},{}]}"#),
        ("event_msg", r#"{"type":"token_count","info":{"last_token_usage":[],"total_token_usage":"x"}}"#),
        ("event_msg", r#"{"type":"token_count","info":{"last_token_usage":{"input_tokens":-1.5e300}}}"#),
        ("event_msg", r#"{"type":"thread_rolled_back","num_turns":"all"}"#),
        ("event_msg", "{}"),
        ("turn_context", r#"{"model":{},"cwd":4}"#),
        ("token_usage_record", r#"{"usage":5}"#),
        ("inter_agent_communication", r#"{"content":5}"#),
        ("session_meta", r#"{"id":5,"cwd":[],"source":{"subagent":"review"}}"#),
    ] {
        lines.push_str(&format!("{kind} {payload}\n"));
    }
    let read = transcript(&session(&lines), Format::Codex);
    expect![[r#"
        harness: (no summary available)
        == covered s
        user: one
        user: words
        + opaque openai-responses {"type":"input_text"}
        assistant: no type
        + call "" "" {"a":1}
        result "":
        result c: 1
        ++ opaque openai-responses {"type":"new"}
        assistant:
        + call "" "" {"input":"3"}
        + call "" local_shell
        + opaque openai-responses {"type":"reasoning","summary":3,"encrypted_content":{}}
        harness:
        + opaque openai-responses {"type":"agent_message","content":3}
        -- line 3: not a message, left out: its payload is no object
        -- line 4: not a message, left out: its payload is no object
        -- line 5: not a message, left out: it has no type
        -- line 6: not a message, left out: it has no role
        -- line 7: not a message, left out: it has no content
        -- line 8: not a message, left out: its role is "robot"
        -- line 9: not a message, left out: its content is neither a string nor parts
        -- line 10: not a message, left out: a part of it is neither an object nor a string
        -- line 19: not a message, left out: an item of its replacement_history is no object
        -- line 19: not a message, left out: it has no role
        -- line 19: not a message, left out: it has no type
        -- line 23: not a message, left out: the event has no type
        -- line 26: not a message, left out: it has no content
    "#]]
    .assert_eq(&show(&read));
}

#[test]
fn what_is_new_is_counted_once() {
    let read = transcript(
        &session(
            r#"user one
            brand_new {}
            brand_new {}
            response_item {"type":"dream_call","id":"d"}
            response_item {"type":"dream_call_output","id":"d"}
            response_item {"type":"dream"}
            event_msg {"type":"dreamt"}
            response_item {"type":"message","role":"user","content":[],"mood":1}
            response_item {"type":"message","role":"user","content":[],"mood":null}
            turn_context {"model":"m","mood":1}
            compacted {"message":"x","mood":1,"replacement_history":[{"type":"dream"}]}"#,
        ),
        Format::Codex,
    );
    expect![[r#"
        harness: x
        == covered s
        user: one
        assistant:
        + opaque openai-responses {"type":"dream_call","id":"d"}
        harness:
        + opaque openai-responses {"type":"dream_call_output","id":"d"}
        user:
        user:
        -- line 3: records of unknown type "brand_new": 2
        -- line 5: records of unknown type "response_item/dream_call": 1
        -- line 6: records of unknown type "response_item/dream_call_output": 1
        -- line 7: records of unknown type "response_item/dream": 1
        -- line 8: records of unknown type "event_msg/dreamt": 1
        -- line 9: unknown field "mood" in records of type "message": 1
        -- line 11: unknown field "mood" in records of type "turn_context": 1
        -- line 12: unknown field "mood" in records of type "compacted": 1
        -- line 12: records of unknown type "replacement_history/dream": 1
    "#]]
    .assert_eq(&show(&read));
}

#[test]
fn a_packed_session_is_unpacked() {
    let packed = compress_to_vec(NEWEST.as_bytes(), CompressionLevel::Fastest);
    assert_eq!(sniff(&packed), Some(Format::Codex));
    let whole = read(&packed).expect("a session");
    assert_eq!(main(&whole).messages, main(&transcript(NEWEST, Format::Codex)).messages);
    assert_eq!(whole.faults, []);
    let twice = [packed.as_slice(), &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7], packed.as_slice()].concat();
    assert_eq!(main(&read(&twice).expect("a session")).messages.len(), 2 * main(&whole).messages.len());
    // Of a frame that ends too early what stands before is read, as far as whole blocks go.
    let long =
        session(&"user some words of a person, and more of them than go into one block\n".repeat(3_000));
    let packed = compress_to_vec(long.as_bytes(), CompressionLevel::Uncompressed);
    let cut = read(&packed[..packed.len() - 1_000]).expect("a session");
    let messages = main(&cut).messages.len();
    assert!((1_000..3_000).contains(&messages), "{messages}");
    assert!(matches!(cut.faults[0].kind, FaultKind::Packed { .. }), "{:?}", cut.faults[0]);
    for length in 0..packed.len().min(64) {
        let _ = read(&packed[..length]);
    }
}

#[test]
fn a_pack_that_says_it_is_too_large_is_not_unpacked() {
    // A window of 2 MiB, a size that is told in eight bytes, and a byte that stands for 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x58];
    frame.extend_from_slice(&(1_u64 << 40).to_le_bytes());
    frame.extend_from_slice(&[0x03, 0x00, 0x10, b' ']);
    assert!(matches!(read(&frame), Err(ReadError::TooLarge { .. })));
    assert!(matches!(read_as(&frame, Format::Codex), Err(ReadError::TooLarge { .. })));
    assert_eq!(sniff(&frame), None);
}

#[test]
fn many_summaries_take_no_longer_than_their_lines() {
    let file = session(&"compacted {\"message\":\"x\"}\nuser y\n".repeat(20_000));
    let read = transcript(&file, Format::Codex);
    assert_eq!(read.listed().len(), 20_000);
    let held: usize = read.conversations().map(|conversation| conversation.messages.len()).sum();
    assert!(held < 20_000 * 6, "{held}: what stays of a person's words is bounded by the file");
    let file =
        session(&("user y\n".to_owned() + &"back 1\n".repeat(20_000) + &"ai x\nback 7\n".repeat(20_000)));
    // Where a person has said nothing there is nothing to go back to.
    assert_eq!(main(&transcript(&file, Format::Codex)).messages.len(), 20_000);
}

#[test]
fn sessions_of_other_people_are_read_and_written() {
    let Some(corpora) = std::env::var_os("TRUNKLINE_CORPORA") else { return };
    let corpora = Path::new(&corpora).join("transcripts");
    let mut sessions = 0;
    for folder in ["agent-sessions/agents/codex", "agentsview/codex"] {
        for entry in fs::read_dir(corpora.join(folder)).into_iter().flatten().flatten() {
            let bytes = fs::read(entry.path()).expect("it was listed");
            let Ok(transcript) = read(&bytes) else { continue };
            sessions += 1;
            for (index, conversation) in transcript.conversations().enumerate() {
                let written = transcript.write(index, &conversation.messages, "new").expect("there");
                assert_eq!(written.losses, [], "{}", entry.path().display());
                if !conversation.messages.is_empty() {
                    let again = main(&transcript_of(&written.bytes)).messages;
                    assert_eq!(again, conversation.messages, "{}", entry.path().display());
                }
            }
        }
    }
    assert!(sessions >= 5, "{sessions}");
}

#[derive(Clone, Debug)]
enum Change {
    Delete(usize),
    Double(usize),
    Swap(usize, usize),
    Cut(usize),
    Value(usize, usize, usize),
    Byte(usize, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let number = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        number().prop_map(Change::Delete),
        number().prop_map(Change::Double),
        (number(), number()).prop_map(|(one, other)| Change::Swap(one, other)),
        number().prop_map(Change::Cut),
        (number(), number(), number()).prop_map(|(line, value, with)| Change::Value(line, value, with)),
        (number(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
    ]
}

fn changed(file: &str, changes: &[Change]) -> Vec<u8> {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let values = ["null", "7", "-1e400", "[]", "[[1]]", "{}", "\"\"", "true", &deep, "\"\\ud83d\""];
    let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
    let mut bytes = Vec::new();
    for change in changes {
        let count = lines.len().max(1);
        match change {
            Change::Delete(at) if !lines.is_empty() => drop(lines.remove(at % count)),
            Change::Double(at) if !lines.is_empty() => lines.insert(at % count, lines[at % count].clone()),
            Change::Swap(one, other) if !lines.is_empty() => lines.swap(one % count, other % count),
            Change::Cut(at) if !lines.is_empty() => {
                let line = &mut lines[at % count];
                let half = line.chars().count() / 2;
                *line = line.chars().take(half).collect();
            }
            Change::Value(at, value, with) if !lines.is_empty() => {
                let line = &mut lines[at % count];
                let ends: Vec<usize> = line.match_indices("\":").map(|(at, _)| at + 2).collect();
                let Some(from) = ends.get(value % ends.len().max(1)) else { continue };
                let rest = &line[*from..];
                let mut read = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
                let length = read.next().map_or(0, |_| read.byte_offset());
                line.replace_range(*from..*from + length, values[with % values.len()]);
            }
            _ => {}
        }
    }
    bytes.extend_from_slice(lines.join("\n").as_bytes());
    for change in changes {
        if let Change::Byte(at, byte) = change
            && !bytes.is_empty()
        {
            let length = bytes.len();
            bytes[at % length] = *byte;
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_to_a_file_it_is_read(
        which in 0..4_usize,
        changes in prop::collection::vec(change(), 1..12),
        packed in any::<bool>(),
    ) {
        let summary = session(&format!(
            "user one\nai two\ncompacted {}\nuser three\ncompacted {{\"message\":\"m\"}}\nai x\nback 1\nuser four",
            r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]}"#,
        ));
        let file = [NEWEST, ORDINARY, OLDEST, summary.as_str()][which];
        let mut bytes = changed(file, &changes);
        let length = bytes.len();
        if packed {
            let level = CompressionLevel::Fastest;
            bytes = compress_to_vec(bytes.as_slice(), level);
            for change in &changes {
                if let Change::Byte(at, byte) = change {
                    let length = bytes.len();
                    bytes[4 + at % (length - 4)] = *byte;
                }
            }
        }
        let _ = sniff(&bytes);
        if let Ok(transcript) = read_as(&bytes, Format::Codex) {
            for (index, conversation) in transcript.conversations().enumerate() {
                let held = text(&conversation.messages).len();
                // Characters that are no text become three bytes, and the print has words of its own.
                prop_assert!(packed || held <= 4 * length + 200 * conversation.messages.len(), "{held} of {length}");
                transcript.left_out(index);
                let written = transcript.write(index, &conversation.messages, "new").expect("there");
                let again = read_as(&written.bytes, Format::Codex).expect("a header at least");
                prop_assert_eq!(again.listed()[0].kind.clone(), Kind::Main);
                if written.losses.is_empty() {
                    let again = main(&again).messages;
                    prop_assert_eq!(again, conversation.messages);
                }
            }
        }
    }
}
