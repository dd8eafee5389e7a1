//! No file makes the reader or the writer fall over.

use proptest::prelude::*;
use trunkline_transcripts::{Format, Heading, export, read, read_as, sniff};

use crate::show::{main, session};

fn files() -> Vec<String> {
    vec![
        session(
            r#"
            u1 < - user "hi \ud83d\ude00"
            a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{"a":[1,{"b":null}]}}]
            a2 < a1 ai=m1 [{"type":"tool_use","id":"c2","name":"Task","input":{"prompt":"x"}}]
            t1 < - user "x" & {"isSidechain":true,"agentId":"g"}
            r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one"}]}]
            r2 < a2 user [{"type":"tool_result","tool_use_id":"c2","content":"two"}] & {"toolUseResult":{"agentId":"g"}}
            {"parentUuid":null,"logicalParentUuid":"r2","type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"preservedSegment":{"headUuid":"a1","anchorUuid":"b1","tailUuid":"r1"}}}
            u3 < b1 user "summary" & {"isCompactSummary":true}
            u4 < u3 user "one way"
            u5 < u3 user "other way"
            {"type":"custom-title","customTitle":"t","sessionId":"s1"}
            "#,
        ),
        r#"{"system":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]}"#.to_owned(),
        r#"[{"role":"system","content":"s"},{"role":"assistant","content":null,"reasoning":"r","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]"#.to_owned(),
    ]
}

fn survive(bytes: &[u8]) {
    let _ = sniff(bytes);
    let _ = read(bytes);
    for format in Format::ALL {
        let Ok(transcript) = read_as(bytes, *format) else { continue };
        for (index, conversation) in transcript.conversations().enumerate() {
            let written = transcript.write(index, &conversation.messages, "s2").expect("it is there");
            let reversed: Vec<_> = conversation.messages.iter().rev().cloned().collect();
            let _ = transcript.write(index, &reversed, "s2").expect("it is there");
            let again = read_as(&written.bytes, *format);
            if *format == Format::ClaudeCode && !conversation.messages.is_empty() {
                let again = again.expect("it was just written");
                assert_eq!(main(&again).messages, conversation.messages, "conversation {index}");
            }
            for other in Format::ALL {
                let _ = export(&conversation.messages, *other, &Heading::default());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_survived(
        which in 0..3usize,
        damage in prop::collection::vec((0..10_000usize, 0..6u8, any::<u8>()), 1..6),
    ) {
        let mut bytes = files()[which].clone().into_bytes();
        for (at, act, byte) in damage {
            if bytes.is_empty() { break }
            let at = at % bytes.len();
            let end = (at + usize::from(byte)).min(bytes.len());
            match act {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => { bytes.drain(at..end); }
                3 => { let copy = bytes[at..end].to_vec(); bytes.splice(at..at, copy); }
                4 => { bytes.splice(at..at, br#"\ud800"#.iter().copied()); }
                _ => { bytes.splice(at..end, br#"[{"":null,"type":1e999}]"#.iter().copied()); }
            }
        }
        survive(&bytes);
    }

    #[test]
    fn fields_of_any_kind_are_survived(field in 0..400usize, value in prop::sample::select(vec![
        "null", "true", "-1", "1e999", "\"\"", "\"u1\"", "\"x\"", "[]", "[[]]", "{}", "[null]", "\"\\ud800\"",
    ]), which in 0..3usize) {
        // Puts the value in place of what follows some colon.
        let file = files()[which].clone();
        let colons: Vec<usize> = file.match_indices("\":").map(|(at, _)| at + 2).collect();
        let at = colons[field % colons.len()];
        let rest = &file[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
        if let Some(Ok(_)) = values.next() {
            let end = at + values.byte_offset();
            survive(format!("{}{value}{}", &file[..at], &file[end..]).as_bytes());
        }
    }
}

#[test]
fn depth_and_size_are_survived() {
    let deep = "[".repeat(200_000);
    survive(deep.as_bytes());
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    survive(
        format!(
            r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"n","input":{deep}}}]}}]"#
        )
        .as_bytes(),
    );
    survive(
        format!(
            r#"{{"type":"user","uuid":"u","sessionId":"s","message":{{"role":"user","content":{deep}}}}}"#
        )
        .as_bytes(),
    );
    survive(r#"[{"role":"user","content":"x","usage":{"input_tokens":1e400}}]"#.as_bytes());
}

#[test]
fn many_records_of_one_kind_are_read_in_time() {
    use std::fmt::Write;
    // Each of these has once cost a reader the square of its length.
    let user = |id: &str, parent: &str, text: &str| {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"s\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let mut file = user("r", "null", "root");
    for n in 0..5_000 {
        file.push_str(&user(&format!("u{n}"), "\"r\"", &format!("prompt {n}")));
    }
    let transcript = read(file.as_bytes()).expect("a session");
    assert_eq!(transcript.listed().len(), 5_000, "one that goes on, and what was left");
    assert_eq!(transcript.faults, []);

    let mut file = user("r", "null", "root");
    for n in 0..4_000 {
        let parent = if n == 0 { "\"r\"".to_owned() } else { format!("\"a{}\"", n - 1) };
        writeln!(file, r#"{{"type":"assistant","sessionId":"s","uuid":"a{n}","parentUuid":{parent},"requestId":"q","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"c","name":"n","input":{{"n":{n}}}}}]}}}}"#).expect("a string takes everything");
        file.push_str(&format!(r#"{{"type":"user","sessionId":"s","uuid":"b{n}","parentUuid":"a{n}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":"{n}"}}]}}}}"#));
        file.push('\n');
    }
    survive(file.as_bytes());
}
