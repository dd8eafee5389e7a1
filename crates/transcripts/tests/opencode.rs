//! Sessions of opencode: what is sent next, what was left, and the way back into a file that the client imports.

mod hostile;
mod written;

use std::fmt::Write;

use expect_test::expect;
use trunkline_message_tree::{Message, Timestamp, Usage};
use trunkline_transcripts::{Format, Heading, Kind, Transcript, export, read, read_as, sniff};

use crate::show::{main, show, shown, transcript};

/// Writes an export from short lines: `session FIELDS`, `user ID FIELDS`, `assistant ID FIELDS`, and a part a line,
/// `KIND FIELDS`, below its message. Each part gets an id from its message's.
fn session(lines: &str) -> String {
    let mut info = String::new();
    let mut messages: Vec<(String, String, Vec<String>)> = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let more = |rest: &str| if rest.is_empty() { String::new() } else { format!(",{rest}") };
        match kind {
            "session" => {
                info = format!(r#"{{"id":"ses_1","directory":"/p","title":"primes"{}}}"#, more(rest));
            }
            "user" | "assistant" => {
                let (id, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let at = 1_790_000_000_000_u64 + 1_000 * messages.len() as u64;
                let own = match kind {
                    "user" => r#""agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"}"#,
                    _ => r#""modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build""#,
                };
                let info = format!(
                    r#"{{"role":"{kind}","time":{{"created":{at}}},{own},"id":"{id}","sessionID":"ses_1"{}}}"#,
                    more(rest)
                );
                messages.push((id.to_owned(), info, Vec::new()));
            }
            _ => {
                let (id, _, parts) = messages.last_mut().expect("a part stands below its message");
                let number = parts.len();
                parts.push(format!(
                    r#"{{"type":"{kind}"{},"id":"prt_{id}_{number}","sessionID":"ses_1","messageID":"{id}"}}"#,
                    more(rest)
                ));
            }
        }
    }
    let mut file = format!("{{\"info\":{info},\"messages\":[\n");
    for (place, (_, info, parts)) in messages.iter().enumerate() {
        let comma = if place == 0 { "" } else { ",\n" };
        write!(file, "{comma}{{\"info\":{info},\"parts\":[\n{}]}}", parts.join(",\n"))
            .expect("a string takes all");
    }
    file + "]}"
}

/// Two prompts; the second answer takes three requests, with tools side by side, one of which fails.
fn plain() -> String {
    session(
        r#"
        session "time":{"created":1790000000000,"updated":1790000000001},"slug":"a","projectID":"g","version":"1.18.33"
        user msg_1
        text "text":"read both"
        text "text":"Called the Read tool","synthetic":true
        text "text":"only shown","ignored":true
        file "mime":"text/plain","url":"file:///p/a","filename":"a"
        file "mime":"image/png","url":"data:image/png;base64,AA=="
        assistant msg_2 "parentID":"msg_1","finish":"tool-calls","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}
        step-start "snapshot":"s1"
        reasoning "text":"hm","metadata":{"anthropic":{"signature":"SIG"}},"time":{"start":1}
        text "text":"I look"
        tool "callID":"c1","tool":"read","state":{"status":"completed","input":{"b": 1, "a": []},"output":"one","title":"a","metadata":{},"time":{"start":1790000001500,"end":1790000001600}}
        tool "callID":"c2","tool":"read","state":{"status":"error","input":{},"error":"no such file","time":{"start":1790000001500,"end":1790000001600}}
        step-finish "reason":"tool-calls","cost":0,"tokens":{"total":15,"input":3,"output":2,"reasoning":1,"cache":{"read":4,"write":5}}
        patch "hash":"h","files":[]
        step-start "snapshot":"s2"
        tool "callID":"c3","tool":"shot","state":{"status":"completed","input":{},"output":"","title":"","metadata":{},"time":{"start":1790000001500,"end":1790000001600,"compacted":3},"attachments":[{"id":"prt_x","type":"file","mime":"image/png","url":"data:image/png;base64,BB=="}]}
        step-finish "reason":"tool-calls","cost":0,"tokens":{"input":3,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}
        step-start
        text "text":"done"
        user msg_3
        text "text":"and now?"
        assistant msg_4 "parentID":"msg_3","error":{"name":"MessageAbortedError","data":{"message":"x"}}
        step-start
        text "text":"I go"
        tool "callID":"c4","tool":"bash","state":{"status":"running","input":{"x":1},"time":{"start":1}}
        "#,
    )
}

#[test]
fn requests_of_one_answer_are_messages_with_their_results() {
    let file = plain();
    expect![[r#"
        user: read both
        + text: Called the Read tool
        + image image/png base64 "AA=="
        assistant:
        + thinking SIG: hm
        + text: I look
        + call c1 read {"b": 1, "a": []}
        + call c2 read {}
        + origin anthropic claude-x
        + stop tool_use
        result c1: one
        result c2!: no such file
        assistant:
        + call c3 shot {}
        + origin anthropic claude-x
        + stop tool_use
        result c3:
        ++ image image/png base64 "BB=="
        assistant: done
        + origin anthropic claude-x
        + stop tool_use
        user: and now?
        assistant: I go
        + call c4 bash {"x":1}
        + origin anthropic claude-x
        + stop cancelled
    "#]]
    .assert_eq(&shown(&file));
    let transcript = read(file.as_bytes()).expect("an export");
    assert_eq!(transcript.format, Format::Opencode);
    let main = main(&transcript);
    assert_eq!(
        (main.id.as_str(), main.title.as_deref(), main.cwd.as_deref()),
        ("ses_1", Some("primes"), Some("/p"))
    );
    assert_eq!(main.started, Some(Timestamp(1_790_000_000_000)));
    let usage = Usage {
        input_tokens: 12,
        output_tokens: 3,
        cache_read_tokens: 4,
        cache_write_tokens: 5,
        reasoning_tokens: 1,
    };
    assert_eq!(main.messages[1].usage, Some(usage), "reasoning is counted apart since there is a total");
    assert_eq!(transcript.left_out(0).of_other_kinds, 0);
}

#[test]
fn white_space_of_the_export_is_not_of_the_arguments() {
    let file = "{\n  \"info\": {\"id\": \"ses_1\"},\n  \"messages\": [{\"info\": {\"id\": \"msg_1\", \"role\": \"assistant\"}, \"parts\": [
      {\"type\": \"tool\", \"callID\": \"c\", \"tool\": \"n\", \"state\": {\"status\": \"pending\", \"input\": {
        \"a b\": \"c\\\" d\",
        \"e\": [ 1 ]
      }}}]}]}";
    expect![[r#"
        assistant:
        + call c n {"a b":"c\\" d","e":[1]}
    "#]]
    .assert_eq(&shown(file));
}

/// Two turns, a compaction that kept the second, a turn, and a further compaction that kept the second answer.
fn compacted() -> String {
    session(
        r#"
        session
        user msg_1
        text "text":"u1"
        assistant msg_2 "parentID":"msg_1","finish":"stop"
        text "text":"a1"
        user msg_3
        text "text":"u2"
        assistant msg_4 "parentID":"msg_3","finish":"stop"
        text "text":"a2"
        user msg_5
        compaction "auto":true,"overflow":true,"tail_start_id":"msg_3"
        assistant msg_6 "parentID":"msg_5","summary":true,"finish":"stop"
        reasoning "text":"hm","time":{"start":1}
        text "text":"first summary"
        user msg_7
        text "text":"u2"
        assistant msg_8 "parentID":"msg_7","finish":"stop"
        text "text":"a3"
        user msg_9
        compaction "auto":false,"tail_start_id":"msg_4"
        assistant msg_a "parentID":"msg_9","summary":true,"finish":"stop"
        text "text":"second summary"
        user msg_b
        text "text":"Continue","synthetic":true
        "#,
    )
}

#[test]
fn a_compaction_is_its_question_the_summary_and_what_it_kept() {
    let transcript = read(compacted().as_bytes()).expect("an export");
    expect![[r#"
        harness: What did we do so far?
        assistant: second summary
        + origin anthropic claude-x
        + stop end_turn
        assistant: a2
        + origin anthropic claude-x
        + stop end_turn
        harness: What did we do so far?
        assistant:
        + thinking: hm
        + text: first summary
        + origin anthropic claude-x
        + stop end_turn
        user: u2
        assistant: a3
        + origin anthropic claude-x
        + stop end_turn
        harness: Continue
        == covered ses_1
        harness: What did we do so far?
        assistant:
        + thinking: hm
        + text: first summary
        + origin anthropic claude-x
        + stop end_turn
        user: u2
        assistant: a2
        + origin anthropic claude-x
        + stop end_turn
        user: u2
        assistant: a3
        + origin anthropic claude-x
        + stop end_turn
        == covered ses_1
        user: u1
        assistant: a1
        + origin anthropic claude-x
        + stop end_turn
        user: u2
        assistant: a2
        + origin anthropic claude-x
        + stop end_turn
    "#]]
    .assert_eq(&show(&transcript));
    let left = transcript.left_out(0);
    assert_eq!((left.covered, left.elsewhere, left.of_other_kinds), (6, 0, 0));
}

#[test]
fn a_compaction_that_did_not_come_to_a_summary_is_none() {
    for broken in [
        compacted().replace(r#""summary":true,"finish":"stop""#, r#""summary":true"#),
        compacted().replace(r#""summary":true"#, r#""summary":true,"error":{"name":"APIError","data":{}}"#),
        compacted().replace("\"tail_start_id\":\"msg_", "\"tail_start_id\":\"msg_none_"),
    ] {
        let transcript = read(broken.as_bytes()).expect("an export");
        assert!(transcript.listed().iter().all(|listed| listed.kind != Kind::Covered), "{broken}");
        assert_eq!(main(&transcript).messages[0].text(), "u1");
    }
}

#[test]
fn before_there_was_a_question_the_summary_stood_alone() {
    let file = session(
        r#"
        session "version":"0.6.0"
        user msg_1
        text "text":"u1"
        assistant msg_2 "parentID":"msg_1","summary":true
        text "text":"summary"
        tool "callID":"c","tool":"n","state":{"status":"success","output":{"x":1},"input":{}}
        user msg_3
        text "text":"u2"
        "#,
    );
    expect![[r#"
        assistant: summary
        + call c n {}
        + origin anthropic claude-x
        result c: {"x":1}
        user: u2
        == covered ses_1
        user: u1
    "#]]
    .assert_eq(&shown(&file));
}

#[test]
fn what_was_undone_is_a_branch() {
    let lines = r#"
        session "revert":{"messageID":"msg_3"}
        user msg_1
        text "text":"u1"
        assistant msg_2 "parentID":"msg_1"
        step-start
        text "text":"a1"
        step-start
        text "text":"a2"
        tool "callID":"c","tool":"n","state":{"status":"completed","output":"r","input":{}}
        user msg_3
        text "text":"u2"
        "#;
    expect![[r#"
        user: u1
        assistant: a1
        + origin anthropic claude-x
        assistant: a2
        + call c n {}
        + origin anthropic claude-x
        result c: r
        == branch ses_1
        user: u1
        assistant: a1
        + origin anthropic claude-x
        assistant: a2
        + call c n {}
        + origin anthropic claude-x
        result c: r
        user: u2
    "#]]
    .assert_eq(&shown(&session(lines)));
    let of_part =
        lines.replace(r#"{"messageID":"msg_3"}"#, r#"{"messageID":"msg_2","partID":"prt_msg_2_4"}"#);
    expect![[r#"
        user: u1
        assistant: a1
        + origin anthropic claude-x
        assistant: a2
        + origin anthropic claude-x
        == branch ses_1
        user: u1
        assistant: a1
        + origin anthropic claude-x
        assistant: a2
        + call c n {}
        + origin anthropic claude-x
        result c: r
        user: u2
    "#]]
    .assert_eq(&shown(&session(&of_part)));
    let unknown = lines.replace(r#"{"messageID":"msg_3"}"#, r#"{"messageID":"msg_none"}"#);
    assert_eq!(read(session(&unknown).as_bytes()).expect("an export").listed().len(), 1);
    let all = lines.replace(r#"{"messageID":"msg_3"}"#, r#"{"messageID":"msg_1"}"#);
    let all = read(session(&all).as_bytes()).expect("an export");
    assert_eq!((main(&all).messages.len(), all.listed().len()), (0, 2));
}

#[test]
fn an_answer_that_ended_in_an_error_is_not_sent() {
    let file = session(
        r#"
        session "title":"New session - 2026-09-21T14:13:20.000Z"
        user msg_1
        text "text":"u1"
        assistant msg_2 "parentID":"msg_1","error":{"name":"APIError","data":{"message":"x","isRetryable":false}}
        step-start
        text "text":"partly"
        assistant msg_3 "parentID":"msg_1","error":{"name":"MessageOutputLengthError","data":{}}
        assistant msg_4 "parentID":"msg_1","error":{"name":"MessageAbortedError","data":{"message":"x"}}
        reasoning "text":"hm","time":{"start":1}
        assistant msg_5 "parentID":"msg_1","error":{"name":"MessageAbortedError","data":{"message":"x"}}
        text "text":"cut"
        "#,
    );
    let transcript = read(file.as_bytes()).expect("an export");
    expect![[r#"
        user: u1
        assistant: cut
        + origin anthropic claude-x
        + stop cancelled
        == branch ses_1
        user: u1
        assistant: partly
        + origin anthropic claude-x
        + stop other APIError
        == branch ses_1
        user: u1
        assistant:
        + thinking: hm
        + origin anthropic claude-x
        + stop cancelled
    "#]]
    .assert_eq(&show(&transcript));
    assert_eq!(main(&transcript).title, None, "the client gave it for want of a better one");
    round_trips(&transcript);
}

#[test]
fn the_wire_follows_from_the_provider() {
    let of = |provider: &str, model: &str| {
        let file = session("session\nassistant msg_1\ntext \"text\":\"a\"");
        let file = file.replace("claude-x", model).replace("\"anthropic\"", &format!("\"{provider}\""));
        let origin = main(&read(file.as_bytes()).expect("an export")).messages[0].origin.clone();
        origin.map(|origin| origin.provider).unwrap_or_default()
    };
    assert_eq!(of("anthropic", "claude-x"), "anthropic");
    assert_eq!(of("amazon-bedrock", "claude-x"), "anthropic");
    assert_eq!(of("openai", "gpt-x"), "openai-responses");
    assert_eq!(of("google-vertex", "gemini-x"), "gemini");
    assert_eq!(of("opencode", "claude-x"), "anthropic");
    assert_eq!(of("opencode", "gpt-x"), "openai-responses");
    assert_eq!(of("opencode", "kimi-x"), "openai-chat");
    assert_eq!(of("my-own", "claude-x"), "openai-chat");
}

#[test]
fn blocks_of_every_kind_are_read() {
    expect![[r#"
        user:
        + document application/pdf url "https://a.b/c.pdf"
        + opaque opencode {"type":"file","mime":"image/png","url":"file:///p/a.png"}
        assistant:
        + thinking ENC: summed up
        + redacted: RED
        + call c1 n {"a":
        ++ signature TS
        + call c2 n {}
        + opaque opencode {"type":"tool","callID":"c3","tool":"web_search","metadata":{"providerExecuted":true},"state":{"status":"completed","input":{},"output":"x"}}
        + origin openai-responses gpt-x
        + stop max_tokens
        result c2: so far
        harness: The following tool was executed by the user
    "#]]
    .assert_eq(&shown(&session(
        r#"
        session "parentID":"ses_0"
        user msg_1
        file "mime":"application/pdf","url":"https://a.b/c.pdf"
        file "mime":"image/png","url":"file:///p/a.png"
        agent "name":"x"
        assistant msg_2 "parentID":"msg_1","modelID":"gpt-x","providerID":"openai","finish":"length"
        reasoning "text":"summed up","metadata":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"ENC"}},"time":{"start":1}
        reasoning "text":"","metadata":{"anthropic":{"redactedData":"RED"}},"time":{"start":1}
        tool "callID":"c1","tool":"n","metadata":{"google":{"thoughtSignature":"TS"}},"state":{"status":"pending","input":{},"raw":"{\"a\":"}
        tool "callID":"c2","tool":"n","state":{"status":"error","input":{},"error":"aborted","metadata":{"interrupted":true,"output":"so far"},"time":{"start":1790000001500,"end":1790000001600}}
        tool "callID":"c3","tool":"web_search","metadata":{"providerExecuted":true},"state":{"status":"completed","input":{},"output":"x"}
        user msg_3
        subtask "prompt":"p","description":"d","agent":"general"
        "#,
    )));
}

#[test]
fn what_is_new_is_counted_and_what_is_wrong_is_told() {
    let file = session(
        r#"
        session "new":1
        user msg_1 "new":1
        text "text":"a","new":1
        text "text":"b","new":1
        widget "text":"a"
        widget "text":"b"
        text "text":5
        tool "state":{"new":1}
        assistant msg_2 "parentID":"msg_9"
        text "text":"c"
        tool "callID":"c","state":{"status":"running","input":{},"new":1}
        assistant msg_2 "parentID":"msg_1"
        text "text":"d"
        "#,
    );
    let file = file.replacen("\"messages\":[", "\"todos\":[],\"messages\":[", 1);
    let file = file.replacen("]}]}", "]},7,{\"info\":{\"role\":\"judge\"}}]}", 1);
    expect![[r#"
        user: a
        + text: b
        assistant: c
        + call c "" {}
        + origin anthropic claude-x
        assistant: d
        + origin anthropic claude-x
        -- line 1: unknown field "todos" in records of type "export": 1
        -- line 1: unknown field "new" in records of type "session": 1
        -- line 2: unknown field "new" in records of type "user": 1
        -- line 3: unknown field "new" in records of type "text": 2
        -- line 5: records of unknown type "widget": 2
        -- line 7: not a message, left out: a part of type "text" without text
        -- line 8: not a message, left out: a call without id and tool
        -- line 8: unknown field "new" in records of type "tool state": 2
        -- line 9: parent "msg_9" is not in this file
        -- line 12: record "msg_2" has the id of another one above it; each is read where it stands
        -- line 13: not a message, left out: elements of the list without info: 1
        -- line 13: not a message, left out: its role is neither user nor assistant
    "#]]
    .assert_eq(&shown(&file));
    let one = session("session\nuser msg_1\ntext \"text\":\"a\"");
    let twice = one.replace("]}]}", "]},\n") + &one[one.find("[\n{").expect("the list") + 2..];
    expect![[r#"
        user: a
        -- line 4: record "msg_1" stands here a second time; it was taken once
    "#]]
    .assert_eq(&shown(&twice));
}

#[test]
fn of_a_torn_export_everything_whole_is_read() {
    let file = plain();
    let torn = &file[..file.find("no such file").expect("it is there")];
    assert_eq!(sniff(torn.as_bytes()), Some(Format::Opencode));
    expect![[r#"
        user: read both
        + text: Called the Read tool
        + image image/png base64 "AA=="
        assistant:
        + thinking SIG: hm
        + text: I look
        + call c1 read {"b": 1, "a": []}
        + origin anthropic claude-x
        + stop tool_use
        result c1: one
        -- line 13: not JSON but in part: records read 7, the rest left out: EOF while parsing a string
    "#]]
    .assert_eq(&shown(torn));
    let empty = export(&[], Format::Opencode, &Heading::default());
    assert_eq!(sniff(&empty.bytes), Some(Format::Opencode), "nothing was said yet");
    // A bad place in the middle costs one part.
    let flipped = file.replacen(r#""callID":"c2""#, r#""callID":"c2"#, 1);
    expect![[r#"
        user: read both
        + text: Called the Read tool
        + image image/png base64 "AA=="
        assistant:
        + thinking SIG: hm
        + text: I look
        + call c1 read {"b": 1, "a": []}
        + origin anthropic claude-x
        + stop tool_use
        result c1: one
        assistant:
        + call c3 shot {}
        + origin anthropic claude-x
        + stop tool_use
        result c3:
        ++ image image/png base64 "BB=="
        assistant: done
        + origin anthropic claude-x
        + stop tool_use
        user: and now?
        assistant: I go
        + call c4 bash {"x":1}
        + origin anthropic claude-x
        + stop cancelled
        -- line 13: not JSON but in part: records read 16, the rest left out: expected `,` or `}`
    "#]]
    .assert_eq(&shown(&flipped));
    // Words of the client before it are no damage.
    let spoken = format!("Exporting session: ses_1\n{file}");
    let transcript = read(spoken.as_bytes()).expect("an export");
    assert_eq!(transcript.faults, []);
    assert_eq!(main(&transcript).messages, main(&read(file.as_bytes()).expect("an export")).messages);
    let bare = file.split_once("\"messages\":").expect("the list").1.trim_end_matches('}');
    assert_eq!(
        main(&transcript).messages.len(),
        main(&transcript_of(bare)).messages.len(),
        "a list of messages"
    );
    assert!(read_as(b"{\"a\":1}", Format::Opencode).is_err());
    assert!(read_as(b"words", Format::Opencode).is_err());
}

/// Fails with the first message that differs.
fn same(read: &[Message], written: &[Message]) {
    for (one, two) in read.iter().zip(written) {
        assert_eq!(one, two);
    }
    assert_eq!(read.len(), written.len());
}

fn transcript_of(file: &str) -> Transcript {
    transcript(file, Format::Opencode)
}

/// Writes each conversation as it was read, reads it again, and returns the files.
fn round_trips(transcript: &Transcript) -> Vec<String> {
    let mut files = Vec::new();
    for (index, conversation) in transcript.conversations().enumerate() {
        let written = transcript.write(index, &conversation.messages, "ses_new").expect("it is there");
        assert_eq!(written.losses, [], "conversation {index}");
        let again = read_as(&written.bytes, Format::Opencode).expect("it was just written");
        assert_eq!(again.listed().len(), 1, "conversation {index}");
        same(&main(&again).messages, &conversation.messages);
        assert!(again.faults.iter().all(|fault| !fault.kind.is_damage()), "{:?}", again.faults);
        files.push(String::from_utf8(written.bytes).expect("text"));
    }
    files
}
