//! Files of pi that are damaged, new, written again, or made to be slow.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{Content, Message, Timestamp, notation};
use trunkline_transcripts::{Format, Heading, export, read, read_as};

use super::{HEADER, check, pi, record, returns, session, transcript_of};
use crate::show::{main, show, text, transcript};

#[test]
fn bad_lines_cost_only_themselves() {
    let good = record(r#"u2 < u1 user "two""#);
    let lines = format!(
        r#"
        header
        u1 < - user "one"
        no JSON
        5
        {torn}{good}
        {good3}{good4}
        u5 < zz user "five"
        u6 < 7 user "six"
        u6 < u5 user "six again"
        u5 < zz user "five"
        m1 < u6 message {{}}
        m2 < m1 message {{"message":5}}
        m3 < m2 message {{"message":{{"role":7}}}}
        m4 < m3 user {{"a":1}}
        m5 < m4 result=c 7
        m6 < m5 compaction {{"summary":null}}
        m7 < m6 branch_summary {{}}
        m8 < m7 context_edit {{"targetId":"u1","replacement":7}}
        m9 < m8 custom_message {{"content":true}}
        z1 < m9 user ["word",5,null,[[]],{{"type":"text"}},{{"type":"image"}},{{}}]
        "#,
        torn = r#"{"type":"message","id":"t","parentId":"u1","timestamp":"2026-02-01T10:00:01.000Z","message":{"role":"user","content":"hal"#,
        good3 = record(r#"u3 < u2 user "three""#),
        good4 = record(r#"u4 < u3 user "four""#),
    );
    let transcript = pi(&lines);
    expect![[r#"
        user: one
        user: two
        user: three
        user: four
        user: five
        user: six again
        user: word
        + opaque pi 5
        + opaque pi null
        + opaque pi [[]]
        + opaque pi {"type":"text"}
        + opaque pi {"type":"image"}
        + opaque pi {}
        == branch s1
        user: one
        user: two
        user: three
        user: four
        user: five
        user: six
        -- line 3: not JSON, left out: expected ident at column 2
        -- line 4: not JSON, left out: invalid type: integer `5`, expected an object at column 1
        -- line 5: not JSON but in part: records read 1, the rest left out: expected `,` or `}` at column 124
        -- line 6: 2 records on one line; all were read, the client would read none of them
        -- line 7: parent "zz" is not in this file
        -- line 8: parent "7" is not in this file
        -- line 9: record "u6" has the id of another one above it; each is read where it stands
        -- line 10: record "u5" stands here a second time; it was taken once
        -- line 11: not a message, left out: it has no message
        -- line 12: not a message, left out: its message is no object
        -- line 13: not a message, left out: it has no role
        -- line 14: not a message, left out: its content is neither a string nor blocks
        -- line 15: not a message, left out: its content is neither a string nor blocks
        -- line 16: not a message, left out: a summary without words
        -- line 17: not a message, left out: a summary without words
        -- line 18: not a message, left out: its replacement is no object
        -- line 19: not a message, left out: its content is neither a string nor blocks
    "#]]
    .assert_eq(&show(&transcript));
}

#[test]
fn what_is_new_is_counted() {
    let lines = r#"
        {"type":"session","version":3,"id":"s1","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/p","mood":1}
        u1 < - user "one" & {"loud":true}
        q1 < u1 quantum {"x":1}
        q2 < q1 quantum {"x":1}
        u2 < q2 user "two" & {"loud":false}
        s1 < u2 says {"role":"seer","content":"I see"}
        l1 < s1 label {"targetId":"u1","colour":"red"}
        "#;
    check(
        lines,
        expect![[r#"
            user: one
            user: two
            -- line 1: unknown field "mood" in records of type "session": 1
            -- line 2: unknown field "loud" in records of type "message/user": 2
            -- line 3: records of unknown type "quantum": 2
            -- line 6: records of unknown type "message/seer": 1
            -- line 7: unknown field "colour" in records of type "label": 1
        "#]],
    );
}

#[test]
fn what_is_none_of_its_records_is_refused() {
    for text in ["", "{}", "no", r#"{"type":"message"}"#, r#"{"type":"user","message":{}}"#] {
        assert!(read_as(text.as_bytes(), Format::Pi).is_err(), "{text}");
    }
    // A file that has lost its header.
    let lines = record(r#"u1 < - user "hi""#);
    let transcript = transcript(&lines, Format::Pi);
    assert_eq!(text(&main(&transcript).messages), "user: hi\n");
    returns(&transcript);
}

#[test]
fn untouched_records_keep_their_bytes() {
    let file = session(
        r#"
        header
        u1 < - user "hi"
        a1 < u1 ai [{"type":"text","text":"caf\u00e9","textSignature":"x"},{"type":"toolCall","id":"c1","name":"read","arguments":{"b": 1.0},"namespace":"n"}]
        r1 < a1 result=c1 [] & {"details":{"x":[1]}}
        "#,
    );
    let transcript = transcript(&file, Format::Pi);
    let mut messages = main(&transcript).messages;
    let written = transcript.write(0, &messages, "s2").expect("it is there");
    assert_eq!(String::from_utf8_lossy(&written.bytes), file.replace(r#""id":"s1""#, r#""id":"s2""#));

    // A changed message keeps the bytes of its other blocks, and what else its record says.
    if let Some(Content::Text { text }) = messages[1].content.first_mut() {
        *text = "tea".to_owned();
    }
    messages.remove(0);
    let written = transcript.write(0, &messages, "s2").expect("it is there");
    expect![[r#"
        {"type":"session","version":3,"id":"s2","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/p"}
        {"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-01T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"tea"},{"type":"toolCall","id":"c1","name":"read","arguments":{"b": 1.0},"namespace":"n"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","usage":{"input":3,"output":7,"cacheRead":10,"cacheWrite":5,"totalTokens":25,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}},"stopReason":"stop","timestamp":1769940001000}}
        {"type":"message","id":"r1","parentId":"a1","timestamp":"2026-02-01T10:00:01.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[],"isError":false,"timestamp":1769940001000,"details":{"x":[1]}}}
    "#]]
    .assert_eq(&String::from_utf8_lossy(&written.bytes));
}

fn exported(talk: &str, expected: Expect) {
    let messages = notation::parse(talk).expect("well written");
    let heading = Heading {
        id: "6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11".to_owned(),
        cwd: "/p".to_owned(),
        title: "primes".to_owned(),
        started: Timestamp(951_782_400_123),
    };
    let written = export(&messages, Format::Pi, &heading);
    let mut out = String::from_utf8(written.bytes.clone()).expect("text");
    for loss in &written.losses {
        out.push_str(&format!("-- {} {}\n", loss.message, loss.what));
    }
    let again = transcript_of(&written.bytes);
    assert_eq!(again.faults, []);
    assert_eq!(main(&again).title.as_deref(), Some("primes"));
    let read: Vec<Message> =
        main(&again).messages.into_iter().map(|message| Message { node: None, ..message }).collect();
    match read == messages {
        true => out.push_str("== the same\n"),
        false => out.push_str(&text(&read)),
    }
    expected.assert_eq(&out);
}

#[test]
fn a_conversation_of_another_agent_has_nearly_everything() {
    exported(
        r#"
        system: be brief
        user: see
          + image image/png base64 AA==
        assistant:
          + thinking SIG: hm
          + redacted: RED
          + text: I look
          + call c1 Read {"b": 1, "a": []}
          + call c2 Read {}
          ++ signature T
          + origin anthropic claude-x
          + stop tool_use
        result c1: one
        result c2!:
          ++ text: two
          ++ image image/png base64 AA==
        harness: go on
        user: now
        user:
        assistant: done
        assistant:
          + thinking: open
          + origin openai-chat gpt-x
          + stop cancelled
        "#,
        expect![[r#"
            {"type":"session","version":3,"id":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","timestamp":"2000-02-29T00:00:00.123Z","cwd":"/p"}
            {"type":"message","id":"393a9411","parentId":null,"timestamp":"2000-02-29T00:00:00.123Z","message":{"role":"system","content":[{"type":"text","text":"be brief"}],"toolsAdded":[{"name":"read","description":"","parameters":{}},{"name":"bash","description":"","parameters":{}},{"name":"edit","description":"","parameters":{}},{"name":"write","description":"","parameters":{}}],"timestamp":951782400123}}
            {"type":"message","id":"1b5a117f","parentId":"393a9411","timestamp":"2000-02-29T00:00:00.124Z","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","data":"AA==","mimeType":"image/png"}],"timestamp":951782400124}}
            {"type":"message","id":"56d585e1","parentId":"1b5a117f","timestamp":"2000-02-29T00:00:00.125Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"SIG"},{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"RED","redacted":true},{"type":"text","text":"I look"},{"type":"toolCall","id":"c1","name":"Read","arguments":{"b": 1, "a": []}},{"type":"toolCall","id":"c2","name":"Read","arguments":{},"thoughtSignature":"T"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":951782400125}}
            {"type":"message","id":"6ecf770b","parentId":"56d585e1","timestamp":"2000-02-29T00:00:00.126Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"Read","content":[{"type":"text","text":"one"}],"isError":false,"timestamp":951782400126}}
            {"type":"message","id":"591898fe","parentId":"6ecf770b","timestamp":"2000-02-29T00:00:00.127Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"Read","content":[{"type":"text","text":"two"},{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":true,"timestamp":951782400127}}
            {"type":"custom_message","id":"6b0ced86","parentId":"591898fe","timestamp":"2000-02-29T00:00:00.128Z","customType":"trunkline","content":[{"type":"text","text":"go on"}],"display":true}
            {"type":"message","id":"e16eb241","parentId":"6b0ced86","timestamp":"2000-02-29T00:00:00.129Z","message":{"role":"user","content":[{"type":"text","text":"now"}],"timestamp":951782400129}}
            {"type":"message","id":"37772baa","parentId":"e16eb241","timestamp":"2000-02-29T00:00:00.130Z","message":{"role":"user","content":[],"timestamp":951782400130}}
            {"type":"message","id":"e9eadd56","parentId":"37772baa","timestamp":"2000-02-29T00:00:00.131Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"api":"openai-completions","provider":"unknown","model":"unknown","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","rawStopReason":"","timestamp":951782400131}}
            {"type":"message","id":"abf2282e","parentId":"e9eadd56","timestamp":"2000-02-29T00:00:00.132Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"open","thinkingSignature":"reasoning_content"}],"api":"openai-completions","provider":"openai","model":"gpt-x","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"aborted","timestamp":951782400132}}
            {"type":"session_info","id":"b130fea2","parentId":"abf2282e","timestamp":"2000-02-29T00:00:00.133Z","name":"primes"}
            == the same
        "#]],
    );
}

#[test]
fn what_has_no_place_is_said() {
    exported(
        r#"
        system:
        user:
          + document application/pdf base64 AA==
          + image image/png url https://x/y.png
          + thinking: mine
          + text: so
        assistant: no
          + call c1 Read {"cut
          + call c2 Read
          + image image/png base64 AA==
          + opaque anthropic {}
          + server-call s1 {}
          + server-result s1 {}
          + origin elsewhere m
          + stop cut
        user: words
          + result c1: one
        result c9:
          ++ document application/pdf base64 AA==
        tool:
        user: who
          + author model
        assistant:
          + stop refusal
        assistant:
          + stop other whatever
        "#,
        expect![[r#"
            {"type":"session","version":3,"id":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","timestamp":"2000-02-29T00:00:00.123Z","cwd":"/p"}
            {"type":"message","id":"393a9411","parentId":null,"timestamp":"2000-02-29T00:00:00.123Z","message":{"role":"user","content":[{"type":"text","text":"so"}],"timestamp":951782400123}}
            {"type":"message","id":"1b5a117f","parentId":"393a9411","timestamp":"2000-02-29T00:00:00.124Z","message":{"role":"assistant","content":[{"type":"text","text":"no"},{"type":"toolCall","id":"c1","name":"Read","arguments":{"arguments":"{\"cut"}},{"type":"toolCall","id":"c2","name":"Read","arguments":{}}],"api":"openai-completions","provider":"elsewhere","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":951782400124}}
            {"type":"message","id":"56d585e1","parentId":"1b5a117f","timestamp":"2000-02-29T00:00:00.125Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"Read","content":[{"type":"text","text":"one"}],"isError":false,"timestamp":951782400125}}
            {"type":"message","id":"6ecf770b","parentId":"56d585e1","timestamp":"2000-02-29T00:00:00.126Z","message":{"role":"user","content":[{"type":"text","text":"words"}],"timestamp":951782400126}}
            {"type":"message","id":"591898fe","parentId":"6ecf770b","timestamp":"2000-02-29T00:00:00.127Z","message":{"role":"toolResult","toolCallId":"c9","toolName":"unknown","content":[],"isError":false,"timestamp":951782400127}}
            {"type":"custom_message","id":"6b0ced86","parentId":"591898fe","timestamp":"2000-02-29T00:00:00.128Z","customType":"trunkline","content":[{"type":"text","text":"who"}],"display":true}
            {"type":"message","id":"e16eb241","parentId":"6b0ced86","timestamp":"2000-02-29T00:00:00.129Z","message":{"role":"assistant","content":[],"api":"openai-completions","provider":"unknown","model":"unknown","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","rawStopReason":"refusal","timestamp":951782400129}}
            {"type":"message","id":"37772baa","parentId":"e16eb241","timestamp":"2000-02-29T00:00:00.130Z","message":{"role":"assistant","content":[],"api":"openai-completions","provider":"unknown","model":"unknown","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","rawStopReason":"","timestamp":951782400130}}
            {"type":"session_info","id":"e9eadd56","parentId":"37772baa","timestamp":"2000-02-29T00:00:00.131Z","name":"primes"}
            -- 0 empty instructions
            -- 1 a document
            -- 1 a picture at an address: "https://x/y.png"
            -- 1 reasoning of another than the model
            -- 2 the arguments of call "c1" are no JSON object; they became a string in one
            -- 2 a picture in words of the model or in instructions
            -- 2 a block that only anthropic understands
            -- 2 server call "s1"
            -- 2 the result of server call "s1"
            -- 2 that the answer was cut off, since its calls are answered
            -- 2 that the model was asked over the wire "elsewhere"
            -- 4 the document in the result of call "c9"
            -- 5 an empty message of a tool
            -- 6 who wrote it
            -- 8 why the model stopped: "whatever"
            user: so
            assistant: no
            + call c1 Read {"arguments":"{\\"cut"}
            + call c2 Read {}
            + origin openai-chat m
            + stop tool_use
            result c1: one
            user: words
            result c9:
            harness: who
            assistant:
            + stop refusal
            assistant:
        "#]],
    );
}

fn fixtures() -> Vec<String> {
    let tree = session(
        r#"
        header
        s1 < - system "be" & {"sections":{"a":"b","c":null}}
        u1 < s1 user "hi \ud83d\ude00"
        a1 < u1 ai [{"type":"thinking","thinking":"hm","thinkingSignature":"S"},{"type":"toolCall","id":"c1","name":"read","arguments":{"a":[1,{"b":null}]}}]
        r1 < a1 result=c1 [{"type":"text","text":"one"},{"type":"image","data":"AA==","mimeType":"image/png"}]
        a2 < r1 ai [{"type":"text","text":"done"}]
        x1 < a2 custom_message {"customType":"x","content":"be brief","display":false}
        k1 < x1 compaction {"summary":"s","firstKeptEntryId":"r1","tokensBefore":5,"systemMessage":{"role":"system","content":"be","timestamp":1}}
        u2 < k1 user "left"
        b1 < k1 branch_summary {"fromId":"u2","summary":"went left"}
        e1 < b1 context_edit {"targetId":"r1","replacement":{"content":"short"}}
        e2 < e1 context_edit {"targetId":"a2","replacement":null}
        n1 < e2 session_info {"name":"t"}
        y1 < n1 says {"role":"bashExecution","command":"ls","output":"x","exitCode":1}
        z1 < y1 reset_boundary {}
        u3 < y1 user [{"type":"text","text":"on"}]
        "#,
    );
    let line = r#"{"type":"session","id":"s1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/p"}
{"type":"message","timestamp":"2025-11-20T23:33:51.000Z","message":{"role":"user","content":"a","timestamp":1}}
{"type":"message","timestamp":"2025-11-20T23:33:54.000Z","message":{"role":"hookMessage","content":"b","timestamp":3}}
{"type":"compaction","timestamp":"2025-11-20T23:33:55.000Z","summary":"c","firstKeptEntryIndex":2,"tokensBefore":9}
{"type":"message","timestamp":"2025-11-20T23:33:56.000Z","message":{"role":"fileMention","files":[{"path":"a","content":"A"}]}}
"#;
    vec![tree, line.to_owned()]
}

/// Reads and writes a file in every way; what is read is not much more than what is there.
fn survive(bytes: &[u8]) {
    let Ok(transcript) = read_as(bytes, Format::Pi) else { return };
    for (index, conversation) in transcript.conversations().enumerate() {
        let _ = transcript.left_out(index);
        let size: usize = conversation.messages.iter().map(size).sum();
        // The summaries have a frame, and what is broken is replaced by three bytes.
        assert!(size <= bytes.len() * 4 + 1_000, "{size} of {}", bytes.len());
        let written = transcript.write(index, &conversation.messages, "s2").expect("it is there");
        assert_eq!(written.losses, []);
        let again = transcript_of(&written.bytes);
        assert_eq!(main(&again).messages, conversation.messages, "{}", String::from_utf8_lossy(bytes));
        let reversed: Vec<_> = conversation.messages.iter().rev().cloned().collect();
        let written = transcript.write(index, &reversed, "s2").expect("it is there");
        let _ = transcript_of(&written.bytes);
        let fresh: Vec<_> =
            conversation.messages.iter().map(|message| Message { node: None, ..message.clone() }).collect();
        let _ = transcript_of(&export(&fresh, Format::Pi, &Heading::default()).bytes);
    }
}

fn size(message: &Message) -> usize {
    message.text().len() + message.results().map(|result| result.text().len()).sum::<usize>()
}

/// Returns where the values of a file stand: behind its colons.
fn values(file: &str) -> Vec<(usize, usize)> {
    let value = |at: usize| {
        let mut values = serde_json::Deserializer::from_str(&file[at..]).into_iter::<serde_json::Value>();
        values.next()?.ok()?;
        Some((at, at + values.byte_offset()))
    };
    file.match_indices("\":").filter_map(|(at, _)| value(at + 2)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_in_any_order_are_survived(
        which in 0..2usize,
        acts in prop::collection::vec((0..40usize, 0..40usize, 0..4u8), 1..12),
    ) {
        let file = fixtures()[which].clone();
        let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
        for (one, other, act) in acts {
            if lines.is_empty() { break }
            let (one, other) = (one % lines.len(), other % lines.len());
            match act {
                0 => { lines.remove(one); }
                1 => { let copy = lines[one].clone(); lines.insert(other, copy); }
                2 => lines.swap(one, other),
                _ => { let at = lines[one].len() * other / lines.len(); if lines[one].is_char_boundary(at) { lines[one].truncate(at) } }
            }
        }
        survive(lines.join("\n").as_bytes());
    }

    #[test]
    fn values_of_any_kind_are_survived(
        which in 0..2usize,
        changes in prop::collection::vec((0..400usize, prop::sample::select(vec![
            "null", "true", "-1", "1e999", "\"\"", "\"u1\"", "\"c1\"", "\"k1\"", "\"x\"", "[]", "[[[[[[]]]]]]", "{}", "[null]",
            "[5,\"x\"]", "\"\\ud800\"", "\"compaction\"", "\"context_edit\"", "\"system\"", "\"toolResult\"", "\"branch_summary\"",
        ])), 1..4),
    ) {
        let mut file = fixtures()[which].clone();
        for (field, value) in changes {
            let places = values(&file);
            let (from, to) = places[field % places.len()];
            file.replace_range(from..to, value);
        }
        survive(file.as_bytes());
    }

    #[test]
    fn bytes_of_any_kind_are_survived(
        which in 0..2usize,
        changes in prop::collection::vec((0..10_000usize, any::<u8>()), 1..6),
    ) {
        let mut bytes = fixtures()[which].clone().into_bytes();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        survive(&bytes);
    }
}

#[test]
fn depth_and_number_are_survived() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    survive(session(&format!("header\nu1 < - user {deep}")).as_bytes());
    survive(session(&format!("header\nu1 < - user [{deep}]")).as_bytes());
    let text = format!(r#"a1 < - ai [{{"type":"toolCall","id":"c","name":"n","arguments":{deep}}}]"#);
    survive(session(&format!("header\n{text}")).as_bytes());
    // Each of these could cost the square of its length.
    let mut compactions = format!("{HEADER}\n");
    let mut edits = format!("{HEADER}\n{}\n", record(r#"u0 < - user "a""#));
    for n in 1..3_000 {
        let (up, one) = (n - 1, format!(r#"{{"summary":"s","firstKeptEntryId":"u{}"}}"#, n / 2));
        compactions.push_str(&record(&format!("u{n} < k{up} user \"x\"")));
        compactions.push('\n');
        let of = if n % 1_000 == 0 { "compaction" } else { "custom" };
        compactions.push_str(&record(&format!("k{n} < u{n} {of} {one}")));
        compactions.push('\n');
        edits.push_str(&record(&format!("u{n} < e{up} user \"x\"").replace("< e0", "< u0")));
        edits.push('\n');
        edits.push_str(&record(&format!(
            r#"e{n} < u{n} context_edit {{"targetId":"u{up}","replacement":{{"content":"y"}}}}"#
        )));
        edits.push('\n');
    }
    survive(compactions.as_bytes());
    survive(edits.as_bytes());
}

#[test]
fn real_sessions_return() {
    let Some(corpora) = std::env::var_os("TRUNKLINE_CORPORA") else { return };
    let folder = std::path::Path::new(&corpora).join("transcripts");
    let mut found = 0;
    for part in ["pi", "agent-sessions/agents/pi", "agent-sessions/agents/openclaw"] {
        for file in std::fs::read_dir(folder.join(part)).into_iter().flatten().flatten() {
            let path = file.path();
            if path.extension().is_none_or(|kind| kind != "jsonl") {
                continue;
            }
            let transcript = read(&std::fs::read(&path).expect("it was listed")).expect("a session");
            assert_eq!(transcript.format, Format::Pi, "{}", path.display());
            let main = main(&transcript).messages;
            let calls: usize = main.iter().map(|message| message.calls().count()).sum();
            eprintln!("{}: {} messages, {calls} calls", path.display(), main.len());
            for fault in &transcript.faults {
                eprintln!("  {fault}");
            }
            for listed in transcript.listed() {
                eprintln!("  {:?}", listed.kind);
            }
            returns(&transcript);
            found += 1;
        }
    }
    assert!(found >= 6, "{found} sessions were found");
}
