//! Files of Gemini CLI that are damaged, new, written again, or made to be slow.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::{Content, Message, Part, Role, Timestamp, ToolCall, ToolResult, notation};
use trunkline_transcripts::{Format, Heading, export, read_as};

use super::{HEAD, RESUMED, TOOLS, check, comes_back, file, message, transcript, written};
use crate::show::{main, show, text};

#[test]
fn damage_costs_only_what_it_hit() {
    let good = file(TOOLS);
    let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
    // Half a record, and behind it the next.
    lines[3] = format!("{}{}", &lines[3][..40], lines[3]);
    lines.insert(2, "no JSON".to_owned());
    // Two records that share a line.
    let last = lines.pop().expect("there are some");
    lines.push(format!("{}{last}", message("u9", "user", r#""more""#, 9)));
    check(
        &lines.join("\n"),
        expect![[r#"
        harness: <session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - /p/q\n- **Directory Structure:**\n</session_context>
        user: read both files
        assistant:
        + thinking: **Look around** I should read both.
        + text: Let me look.
        + call c1 read_file {"file_path":"a"}
        + call c2 read_file {"file_path":"b"}
        + origin gemini gemini-2.5-pro
        result c1: one\n
        result c2!: File not found: b
        user: more
        assistant: It says one.
        + origin gemini gemini-2.5-pro
        -- line 3: not JSON, left out: expected ident at column 2
        -- line 5: not JSON but in part: records read 1, the rest left out: expected `,` or `}` at column 43
        -- line 10: 2 records on one line; all were read, the client would read none of them
    "#]],
    );
}

#[test]
fn fields_of_other_types_are_no_messages() {
    let lines = r#"
        {"id":"x1","type":"user","content":7}
        {"id":"x2","type":"user"}
        {"id":"x3","type":"gemini","content":true,"toolCalls":"none"}
        {"id":"x4"}
        {"id":9,"type":"user","content":"an id that is a number"}
        {"id":"x5","type":"gemini","content":["a",1,null,[]],"toolCalls":[1,{"id":2,"name":3,"args":4,"result":5,"status":6}],"thoughts":[1,{"subject":2}],"tokens":"many","model":8,"timestamp":3}
        {"id":"x6","type":"gemini","content":"","toolCalls":{},"thoughts":{},"tokens":[]}
        {"$set":5}
        {"$set":{"messages":5,"sessionId":6,"summary":[]}}
        {"$set":{"messages":[1,{"id":"x7"},{"id":"y","type":"user","content":[{"functionResponse":{"id":5,"response":6,"parts":7}},{"functionCall":1},{"inlineData":{"mimeType":1}},{"text":5},{}]}]}}
        {"$rewindTo":5}
        "#;
    let transcript = transcript(&file(lines));
    expect![[r#"
        harness:
        + opaque gemini {"functionCall":1}
        + opaque gemini {"inlineData":{"mimeType":1}}
        + opaque gemini {"text":5}
        result y_0: 6
        == branch s1
        user: an id that is a number
        assistant: a
        + call x5_1 "" 4
        result x5_1:
        -- line 2: not a message, left out: its content is neither a string nor parts
        -- line 3: not a message, left out: it has no content
        -- line 4: not a message, left out: its content is neither a string nor parts
        -- line 5: not a message, left out: it has no type
        -- line 7: records of unknown type "toolCalls element that is no object": 1
        -- line 9: records of unknown type "{$set}": 1
        -- line 11: not a message, left out: an element of `messages` is no object
        -- line 11: not a message, left out: it has no type
        -- line 12: records of unknown type "{$rewindTo}": 1
    "#]]
    .assert_eq(&show(&transcript));
    for (index, conversation) in transcript.conversations().enumerate() {
        let _ = transcript.write(index, &conversation.messages, "s2").expect("it is there");
    }
}

#[test]
fn what_is_new_is_counted_once() {
    let lines = r#"
        u1 user "one" & "novel":1
        u2 user "two" & "novel":2
        h1 hologram "what?"
        h2 hologram "what?"
        a1 gemini "x" & "toolCalls":[{"id":"c","name":"n","args":{},"shape":"round"}],"tokens":{"input":1,"dreams":2},"thoughts":[{"subject":"s","description":"d","mood":1}]
        {"$set":{"lastUpdated":"x","colour":"red"}}
        {"$unset":{}}
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: one
        user: two
        assistant:
        + thinking: **s** d
        + text: x
        + call c n {}
        -- line 2: unknown field "novel" in records of type "user": 2
        -- line 4: records of unknown type "hologram": 2
        -- line 6: unknown field "mood" in records of type "thoughts": 1
        -- line 6: unknown field "dreams" in records of type "tokens": 1
        -- line 6: unknown field "shape" in records of type "toolCalls": 1
        -- line 7: unknown field "colour" in records of type "$set": 1
        -- line 8: records of unknown type "{$unset}": 1
    "#]],
    );
}

const TALK: &str = r#"
    system: be brief
    user: see
      + image image/png base64 AA==
    assistant:
      + thinking SIG: hm
      + text: I look
      + call c1 Read {"b": 1, "a": []}
      + call c2 Read {}
      + origin gemini gemini-3-pro
      + stop tool_use
    result c1: one
    result c2!:
      ++ text: two
      ++ text: three
      ++ image image/png base64 AA==
    user: go on
    assistant: done
    "#;

#[test]
fn a_conversation_is_written_from_nothing() {
    let messages = notation::parse(TALK).expect("well written");
    let heading = Heading {
        id: "6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11".to_owned(),
        cwd: "/p".to_owned(),
        title: "primes".to_owned(),
        started: Timestamp(951_782_400_123),
    };
    let new = export(&messages, Format::GeminiCli, &heading);
    let again = read_as(&new.bytes, Format::GeminiCli).expect("it was just written");
    assert_eq!(main(&again).title.as_deref(), Some("primes"));
    let out = written(&new) + &text(&main(&again).messages);
    expect![[r#"
        {"sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","projectHash":"00d74baf14ea415c6164614838c91f834c38c3e564444dfa5bc3aa0d2809e265","startTime":"2000-02-29T00:00:00.123Z","lastUpdated":"2000-02-29T00:00:00.126Z","kind":"main","summary":"primes"}
        {"id":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11-0","timestamp":"2000-02-29T00:00:00.123Z","type":"user","content":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}
        {"id":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11-1","timestamp":"2000-02-29T00:00:00.124Z","type":"gemini","content":[{"text":"hm","thought":true,"thoughtSignature":"SIG"},{"text":"I look"},{"functionCall":{"id":"c1","name":"Read","args":{"b": 1, "a": []}}},{"functionCall":{"id":"c2","name":"Read","args":{}}}],"thoughts":[],"model":"gemini-3-pro","toolCalls":[{"id":"c1","name":"Read","args":{"b": 1, "a": []},"result":[{"functionResponse":{"id":"c1","name":"Read","response":{"output":"one"}}}],"status":"success","timestamp":"2000-02-29T00:00:00.124Z"},{"id":"c2","name":"Read","args":{},"result":[{"functionResponse":{"id":"c2","name":"Read","response":{"error":"two"}}},{"text":"three"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}],"status":"error","timestamp":"2000-02-29T00:00:00.124Z"}]}
        {"id":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11-2","timestamp":"2000-02-29T00:00:00.125Z","type":"user","content":[{"text":"go on"}]}
        {"id":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11-3","timestamp":"2000-02-29T00:00:00.126Z","type":"gemini","content":[{"text":"done"}],"thoughts":[]}
        -- 0 instructions: the client writes its own into every request
        user: see
        + image image/png base64 "AA=="
        assistant:
        + thinking SIG: hm
        + text: I look
        + call c1 Read {"b": 1, "a": []}
        + call c2 Read {}
        + origin gemini gemini-3-pro
        result c1: one
        result c2!: two
        ++ text: three
        ++ image image/png base64 "AA=="
        user: go on
        assistant: done
    "#]].assert_eq(&out);
    assert_eq!(export(&messages, Format::GeminiCli, &heading), new, "the same again");
}

#[test]
fn what_has_no_place_is_said() {
    let call = |id: &str, arguments: &str| {
        Content::ToolCall(ToolCall {
            id: id.to_owned(),
            name: "n".to_owned(),
            arguments: arguments.to_owned(),
            signature: None,
        })
    };
    let odd = vec![
        Message::new(Role::Assistant, trunkline_message_tree::Author::Model, vec![]),
        Message::user(""),
        Message::user("/help"),
        Message::harness("go on"),
        Message::user("one"),
        Message::user("two"),
        Message::new(
            Role::Assistant,
            trunkline_message_tree::Author::Model,
            vec![
                Content::RedactedThinking { data: "x".to_owned() },
                Content::Opaque { wire: "anthropic".to_owned(), json: "{}".to_owned() },
                call("c1", "not JSON"),
                call("c2", ""),
                call("c3", "{\n \"a\": 1\n}"),
                call("c4", "[1]"),
            ],
        ),
        Message::tool_result("c2", "second first", false),
        Message::user("between"),
        Message::tool_result("c1", "late", false),
        Message::tool_result("nowhere", "lost", true),
        Message::new(
            Role::User,
            trunkline_message_tree::Author::Person,
            vec![
                Content::ToolResult(ToolResult {
                    call_id: "c3".to_owned(),
                    content: vec![Part::text("x")],
                    is_error: false,
                }),
                Content::text("and words"),
            ],
        ),
        Message::assistant("one answer"),
        Message::assistant("and another"),
        Message::system("late instructions"),
    ];
    let new = export(&odd, Format::GeminiCli, &Heading { id: "s".to_owned(), ..Heading::default() });
    let again = read_as(&new.bytes, Format::GeminiCli).expect("it was just written");
    let losses: String =
        new.losses.iter().map(|loss| format!("-- {} {}\n", loss.message, loss.what)).collect();
    expect![[r#"
        -- 0 an empty message
        -- 1 empty words
        -- 1 an empty message
        -- 2 a message that the client leaves out when it goes on, by how it begins
        -- 3 who wrote it: the client takes it for a person's
        -- 6 reasoning that its provider encrypted
        -- 6 a block that only anthropic understands
        -- 6 that the arguments of call "c1" are no JSON object
        -- 6 the white space around the arguments of call "c3"
        -- 6 that the arguments of call "c4" are no JSON object
        -- 9 the place of the result of call "c1", which stands with its call
        -- 11 the place of the result of call "c3", which stands with its call
        -- 14 instructions: the client writes its own into every request
        user: /help
        user: go on
        user: one
        user: two
        assistant:
        + call c1 n {"arguments":"not JSON"}
        + call c2 n
        + call c3 n {"a": 1}
        + call c4 n {"arguments":"[1]"}
        result c2: second first
        result c1: late
        result c3: x
        user: between
        result nowhere!: lost
        user: and words
        assistant: one answer
        assistant: and another
    "#]]
    .assert_eq(&(losses + &text(&main(&again).messages)));
}

#[test]
fn a_changed_message_keeps_what_was_not_changed() {
    let transcript = transcript(&file(TOOLS));
    let mut messages = main(&transcript).messages;
    // A result is cut, a call of another message is gone, words are added.
    if let Some(Content::ToolResult(result)) = messages[3].content.first_mut() {
        result.content = vec![Part::text("cut")];
    }
    messages[5].content.push(Content::text("More."));
    messages.insert(1, Message::user("a new prompt"));
    let new = transcript.write(0, &messages, "s2").expect("it is there");
    let out = written(&new);
    let again = read_as(&new.bytes, Format::GeminiCli).expect("it was just written");
    assert_eq!(text(&main(&again).messages), text(&messages));
    let out: Vec<&str> = out.lines().filter(|line| !line.contains("session_context")).collect();
    expect![[r#"
        {"sessionId":"s2","projectHash":"h","startTime":"2026-11-29T16:00:00.000Z","lastUpdated":"2026-11-29T16:07:00.000Z","kind":"main"}
        {"id":"s2-0","timestamp":"2026-11-29T16:00:00.001Z","type":"user","content":[{"text":"a new prompt"}]}
        {"id":"u1","timestamp":"2026-11-29T16:01:00.000Z","type":"user","content":[{"text":"read both files"}]}
        {"id":"a1","timestamp":"2026-11-29T16:04:00.000Z","type":"gemini","content":[{"text":"**Look around** I should read both.","thought":true},{"text":"Let me look."},{"functionCall":{"id":"c1","name":"read_file","args":{"file_path":"a"}}},{"functionCall":{"id":"c2","name":"read_file","args":{"file_path":"b"}}}],"thoughts":[],"tokens":{"input":100,"output":5,"cached":40,"thoughts":3,"tool":2,"total":110},"model":"gemini-2.5-pro","toolCalls":[{"id":"c1","name":"read_file","args":{"file_path":"a"},"result":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"cut"}}}],"status":"success","timestamp":"2026-11-29T16:00:02.000Z","description":"a","displayName":"ReadFile","renderOutputAsMarkdown":true},{"id":"c2","name":"read_file","args":{"file_path":"b"},"result":[{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"File not found: b"}}}],"status":"error","timestamp":"2026-11-29T16:00:02.000Z"}]}
        {"id":"a2","timestamp":"2026-11-29T16:07:00.000Z","type":"gemini","content":[{"text":"It says one."},{"text":"More."}],"thoughts":[],"tokens":{"input":120,"output":5,"cached":0,"total":125},"model":"gemini-2.5-pro"}"#]].assert_eq(&out.join("\n"));
    // A result that is gone is not written.
    messages.remove(4);
    let new = transcript.write(0, &messages, "s2").expect("it is there");
    let again = read_as(&new.bytes, Format::GeminiCli).expect("it was just written");
    assert_eq!(text(&main(&again).messages), text(&messages));
}

#[test]
fn what_is_no_session_is_refused() {
    for text in [
        "",
        "{}",
        "[]",
        "null",
        "\u{feff}",
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"user","content":"x"}]}"#,
    ] {
        assert!(read_as(text.as_bytes(), Format::GeminiCli).is_err(), "{text}");
    }
    let empty = read_as(HEAD.as_bytes(), Format::GeminiCli).expect("a session in which nothing was said");
    assert_eq!(main(&empty).messages, []);
    assert_eq!(main(&empty).started, Some(Timestamp(1_795_968_000_000)));
}

/// Counts the bytes that messages hold.
fn size(messages: &[Message]) -> usize {
    let of_part = |part: &Part| match part {
        Part::Text { text } => text.len(),
        Part::Opaque { json, .. } => json.len(),
        Part::Image(_) | Part::Document(_) => 8,
    };
    let of_block = |block: &Content| match block {
        Content::Text { text } | Content::Thinking { text, .. } => text.len(),
        Content::ToolCall(call) => call.arguments.len() + call.name.len(),
        Content::ToolResult(result) => result.content.iter().map(of_part).sum(),
        Content::Opaque { json, .. } => json.len(),
        _ => 8,
    };
    messages.iter().flat_map(|message| &message.content).map(of_block).sum()
}

fn survive(bytes: &[u8]) {
    let Ok(transcript) = read_as(bytes, Format::GeminiCli) else { return };
    for (index, conversation) in transcript.conversations().enumerate() {
        let messages = &conversation.messages;
        assert!(size(messages) <= bytes.len() * 3 + 1_000, "conversation {index}");
        let _ = transcript.left_out(index);
        let new = transcript.write(index, messages, "s2").expect("it is there");
        if !messages.is_empty() && new.losses.is_empty() {
            let again = read_as(&new.bytes, Format::GeminiCli).expect("it was just written");
            assert_eq!(text(&main(&again).messages), text(messages), "{}", written(&new));
        }
        let reversed: Vec<_> = messages.iter().rev().cloned().collect();
        let _ = transcript.write(index, &reversed, "s2").expect("it is there");
    }
}

fn files() -> Vec<String> {
    let rewound = r#"{"$rewindTo":"a1"}"#;
    let summed = r#"{"$set":{"messages":[{"id":"sum","type":"user","content":[{"text":"<state_snapshot>x</state_snapshot>"}]},{"id":"a2","type":"gemini","content":[{"text":"It says one."}]}]}}"#;
    let again = message("u9", "user", r#"[{"text":"again"}]"#, 9);
    let document = format!(
        r#"{{"sessionId":"s","projectHash":"h","messages":[{},{}]}}"#,
        message("u", "user", "\"hi\"", 1),
        message("a", "gemini", "\"yes\"", 2)
    );
    vec![
        file(TOOLS),
        format!("{}{RESUMED}\n{again}\n{rewound}\n{again}\n{RESUMED}\n{summed}\n{again}\n", file(TOOLS)),
        document,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gemini_cli_files_of_moved_lines_are_survived(
        which in 0..2usize,
        moves in prop::collection::vec((0..40usize, 0..40usize, 0..4u8), 1..6),
    ) {
        let file = files()[which].clone();
        let mut lines: Vec<&str> = file.lines().collect();
        for (from, to, act) in moves {
            if lines.is_empty() { break }
            let (from, to) = (from % lines.len(), to % lines.len());
            match act {
                0 => drop(lines.remove(from)),
                1 => lines.insert(to, lines[from]),
                2 => lines.swap(from, to),
                _ => lines[from] = lines[from].get(..lines[from].len() / 2).unwrap_or_default(),
            }
        }
        survive(lines.join("\n").as_bytes());
    }

    #[test]
    fn gemini_cli_files_of_flipped_bytes_are_survived(
        which in 0..3usize,
        damage in prop::collection::vec((0..20_000usize, 0..4u8, any::<u8>()), 1..6),
    ) {
        let mut bytes = files()[which].clone().into_bytes();
        for (at, act, byte) in damage {
            if bytes.is_empty() { break }
            let at = at % bytes.len();
            let end = (at + usize::from(byte)).min(bytes.len());
            match act {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => drop(bytes.drain(at..end)),
                _ => { let copy = bytes[at..end].to_vec(); bytes.splice(at..at, copy); }
            }
        }
        survive(&bytes);
    }

    #[test]
    fn gemini_cli_values_of_any_kind_are_survived(which in 0..3usize, field in 0..2_000usize, value in prop::sample::select(vec![
        "null", "true", "-1", "1e999", "\"\"", "\"c1\"", "\"u1\"", "\"user\"", "[]", "[[]]", "{}", "[null]", "\"\\ud800\"",
        "[{\"text\":\"x\"}]", "{\"functionResponse\":{\"id\":\"c1\"}}", "DEEP",
    ])) {
        let value = if value == "DEEP" { "[".repeat(2_000) + &"]".repeat(2_000) } else { value.to_owned() };
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
fn gemini_cli_sessions_of_other_people_come_back() {
    let Some(corpora) = std::env::var_os("TRUNKLINE_CORPORA") else { return };
    let mut read_files = 0;
    for folder in ["agent-sessions/agents/gemini", "agentsview/gemini"] {
        let folder = std::path::Path::new(&corpora).join("transcripts").join(folder);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let bytes = std::fs::read(entry.path()).expect("it was listed");
            let Ok(transcript) = read_as(&bytes, Format::GeminiCli) else { continue };
            comes_back(&transcript);
            read_files += 1;
        }
    }
    assert!(read_files >= 7, "{read_files} files were read");
}
