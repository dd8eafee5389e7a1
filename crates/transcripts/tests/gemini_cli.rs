//! Session files of Gemini CLI, as 0.61.0 reads and writes them.

use expect_test::{Expect, expect};
use trunkline_transcripts::{Format, Transcript, Written, read, read_as};

use crate::show::{main, show};

mod harm;

const HEAD: &str = r#"{"sessionId":"s1","projectHash":"h","startTime":"2026-11-29T16:00:00.000Z","lastUpdated":"2026-11-29T16:00:00.000Z","kind":"main"}"#;

/// Writes a file from lines: `ID KIND JSON` is a message whose content is the JSON, all else stands as it is. Fields of a message
/// follow ` & `.
fn file(lines: &str) -> String {
    let mut file = format!("{HEAD}\n");
    for (minute, line) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        match line.split_once(' ').filter(|(id, _)| !id.starts_with('{')) {
            Some((id, rest)) => {
                let (kind, rest) = rest.split_once(' ').expect("a kind and content");
                file.push_str(&message(id, kind, rest, minute));
            }
            None => file.push_str(line),
        }
        file.push('\n');
    }
    file
}

fn message(id: &str, kind: &str, rest: &str, minute: usize) -> String {
    let (content, more) = rest.split_once(" & ").unwrap_or((rest, ""));
    let more = if more.is_empty() { String::new() } else { format!(",{more}") };
    let minute = minute % 60;
    format!(
        r#"{{"id":"{id}","timestamp":"2026-11-29T16:{minute:02}:00.000Z","type":"{kind}","content":{content}{more}}}"#
    )
}

fn transcript(file: &str) -> Transcript {
    read(file.as_bytes()).expect("a session of Gemini CLI")
}

fn check(file: &str, expected: Expect) {
    let transcript = transcript(file);
    assert_eq!(transcript.format, Format::GeminiCli);
    expected.assert_eq(&show(&transcript));
    comes_back(&transcript);
}

fn is_shown(file: &str) {
    let transcript = transcript(file);
    assert_eq!(show(&transcript), SHOWN);
    comes_back(&transcript);
}

/// Every conversation is written and read again.
fn comes_back(transcript: &Transcript) {
    for (index, conversation) in transcript.conversations().enumerate() {
        let written = transcript.write(index, &conversation.messages, "s-new").expect("it is there");
        assert_eq!(written.losses, [], "conversation {index}");
        let again = read_as(&written.bytes, Format::GeminiCli).expect("it was just written");
        assert_eq!(main(&again).messages, conversation.messages, "conversation {index}");
        assert_eq!(again.listed().len(), 1, "conversation {index}");
        assert_eq!(main(&again).id, "s-new");
    }
}

fn written(written: &Written) -> String {
    let mut out = String::from_utf8(written.bytes.clone()).expect("text");
    for loss in &written.losses {
        out.push_str(&format!("-- {} {}\n", loss.message, loss.what));
    }
    out
}

/// A session as 0.61.0 writes it: an answer is written again with its calls, and the results stand in a message of their own too.
const TOOLS: &str = r#"
    {"$set":{"messages":[{"id":"ctx","timestamp":"2026-11-29T16:00:00.000Z","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - /p/q\n- **Directory Structure:**\n</session_context>"}]}],"lastUpdated":"2026-11-29T16:00:00.000Z"}}
    u1 user [{"text":"read both files"}]
    {"$set":{"lastUpdated":"2026-11-29T16:00:01.000Z"}}
    a1 gemini "Let me look." & "thoughts":[{"subject":"Look around","description":"I should read both.","timestamp":"2026-11-29T16:00:01.000Z"}],"tokens":{"input":100,"output":5,"cached":40,"thoughts":3,"tool":2,"total":110},"model":"gemini-2.5-pro"
    a1 gemini "Let me look." & "thoughts":[{"subject":"Look around","description":"I should read both.","timestamp":"2026-11-29T16:00:01.000Z"}],"tokens":{"input":100,"output":5,"cached":40,"thoughts":3,"tool":2,"total":110},"model":"gemini-2.5-pro","toolCalls":[{"id":"c1","name":"read_file","args":{"file_path":"a"},"result":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"one\n"}}}],"status":"success","timestamp":"2026-11-29T16:00:02.000Z","resultDisplay":"","description":"a","displayName":"ReadFile","renderOutputAsMarkdown":true},{"id":"c2","name":"read_file","args":{"file_path":"b"},"result":[{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"File not found: b"}}}],"status":"error","timestamp":"2026-11-29T16:00:02.000Z"}]
    r1 user [{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"one\n"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"File not found: b"}}}]
    i1 info "a notice"
    a2 gemini "It says one." & "thoughts":[],"tokens":{"input":120,"output":5,"cached":0,"total":125},"model":"gemini-2.5-pro"
"#;

const SHOWN: &str = r#"harness: <session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - /p/q\n- **Directory Structure:**\n</session_context>
user: read both files
assistant:
+ thinking: **Look around** I should read both.
+ text: Let me look.
+ call c1 read_file {"file_path":"a"}
+ call c2 read_file {"file_path":"b"}
+ origin gemini gemini-2.5-pro
result c1: one\n
result c2!: File not found: b
assistant: It says one.
+ origin gemini gemini-2.5-pro
"#;

/// What a session that goes on writes: all messages as the parts that are sent, results in messages of their own, and nothing of
/// what an answer cost.
const RESUMED: &str = r#"{"$set":{"messages":[{"id":"ctx","timestamp":"2026-11-30T16:00:00.000Z","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - /p/q\n- **Directory Structure:**\n</session_context>"}]},{"id":"u1","timestamp":"2026-11-30T16:00:00.000Z","type":"user","content":[{"text":"read both files"}]},{"id":"a1","timestamp":"2026-11-30T16:00:00.000Z","type":"gemini","content":[{"text":"**Look around** I should read both.","thought":true},{"text":"Let me look.\n"},{"functionCall":{"id":"c1","name":"read_file","args":{"file_path":"a"}}},{"functionCall":{"id":"c2","name":"read_file","args":{"file_path":"b"}}}]},{"id":"a1_response","timestamp":"2026-11-30T16:00:00.000Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"one\n"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"File not found: b"}}}]},{"id":"r1","timestamp":"2026-11-30T16:00:00.000Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"one\n"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"File not found: b"}}}]},{"id":"a2","timestamp":"2026-11-30T16:00:00.000Z","type":"gemini","content":[{"text":"It says one."}]}],"lastUpdated":"2026-11-30T16:00:00.000Z"}}"#;

#[test]
fn calls_side_by_side_and_their_results_are_read_once() {
    let file = file(TOOLS);
    is_shown(&file);
    let transcript = transcript(&file);
    let conversation = main(&transcript);
    assert_eq!(conversation.id, "s1");
    assert_eq!(conversation.cwd.as_deref(), Some("/p/q"));
    let usage = conversation.messages[2].usage.expect("it was counted");
    assert_eq!((usage.input_tokens, usage.output_tokens), (102, 8));
    assert_eq!((usage.cache_read_tokens, usage.reasoning_tokens), (40, 3));
    let left = transcript.left_out(0);
    assert_eq!((left.covered, left.elsewhere, left.of_other_kinds), (0, 0, 5));
}

#[test]
fn records_keep_their_bytes() {
    let file = file(TOOLS);
    let transcript = transcript(&file);
    let new = transcript.write(0, &main(&transcript).messages, "s2").expect("it is there");
    let new = String::from_utf8(new.bytes).expect("text");
    let mut lines = new.lines();
    assert_eq!(
        lines.next(),
        Some(
            r#"{"sessionId":"s2","projectHash":"h","startTime":"2026-11-29T16:00:00.000Z","lastUpdated":"2026-11-29T16:07:00.000Z","kind":"main"}"#
        )
    );
    assert!(lines.all(|line| file.contains(line)), "{new}");
    assert_eq!(new.lines().count(), 5);
}

#[test]
fn the_older_form_is_one_document() {
    let file = r#"{
  "sessionId": "s1",
  "projectHash": "h",
  "startTime": "2025-12-16T23:47:00.000Z",
  "lastUpdated": "2025-12-16T23:48:00.000Z",
  "summary": "a title",
  "messages": [
    {
      "id": "m1",
      "timestamp": "2025-12-16T23:47:01.000Z",
      "type": "user",
      "content": "Run it"
    },
    {
      "id": "m2",
      "timestamp": "2025-12-16T23:47:02.000Z",
      "type": "gemini",
      "model": "gemini-3-flash-preview",
      "thoughts": [{"description": "No subject."}],
      "content": "",
      "toolCalls": [
        {
          "id": "c1",
          "name": "run_shell_command",
          "args": {
            "command": "printf 'a\n'",
            "more": [ 1, 2 ]
          },
          "result": "done",
          "status": "success",
          "timestamp": "2025-12-16T23:47:03.000Z"
        },
        { "name": "without_id", "status": "cancelled" },
        { "id": "c3", "name": "off", "args": {}, "result": [{"functionResponse": {"id": "c3", "name": "off", "response": {"output": "stopped"}}}], "status": "cancelled" }
      ]
    },
    { "id": "m3", "timestamp": "2025-12-16T23:47:04.000Z", "type": "info", "content": "Request cancelled." },
    7
  ]
}"#
    .replace("'a\n'", "'a\\n'");
    check(
        &file,
        expect![[r#"
        user: Run it
        assistant:
        + thinking: No subject.
        + call c1 run_shell_command {"command": "printf 'a\\n'","more": [ 1, 2 ]}
        + call m2_1 without_id
        + call c3 off {}
        + origin gemini gemini-3-flash-preview
        result c1: done
        result c3!: stopped
        -- line 38: not a message, left out: an element of `messages` is no object
    "#]],
    );
    let transcript = transcript(&file);
    assert_eq!(main(&transcript).title.as_deref(), Some("a title"));
    let new = transcript.write(0, &main(&transcript).messages, "s2").expect("it is there");
    expect![[r#"
        {"sessionId":"s2","projectHash":"h","startTime":"2025-12-16T23:47:00.000Z","lastUpdated":"2025-12-16T23:47:02.000Z","summary":"a title","kind":"main"}
        {"id": "m1","timestamp": "2025-12-16T23:47:01.000Z","type": "user","content": "Run it"}
        {"id": "m2","timestamp": "2025-12-16T23:47:02.000Z","type": "gemini","model": "gemini-3-flash-preview","thoughts": [{"description": "No subject."}],"content": "","toolCalls": [{"id": "c1","name": "run_shell_command","args": {"command": "printf 'a\n'","more": [ 1, 2 ]},"result": "done","status": "success","timestamp": "2025-12-16T23:47:03.000Z"},{ "name": "without_id", "status": "cancelled" },{ "id": "c3", "name": "off", "args": {}, "result": [{"functionResponse": {"id": "c3", "name": "off", "response": {"output": "stopped"}}}], "status": "cancelled" }]}
    "#]].assert_eq(&written(&new));
}

#[test]
fn a_session_that_goes_on_has_the_same_messages() {
    let first = file(TOOLS);
    // In the same minute the client begins the same file once more, with nothing but its own first words, and then puts all back.
    let wiped = r#"{"$set":{"messages":[{"id":"ctx","timestamp":"2026-11-30T16:00:00.000Z","type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /p/q\n</session_context>"}]}]}}"#;
    is_shown(&format!("{first}{RESUMED}\n"));
    let again = format!("{first}{HEAD}\n{wiped}\n{}\n{RESUMED}\n", r#"{"$set":{"sessionId":"s1"}}"#);
    is_shown(&again);
    let more = message("u2", "user", r#"[{"text":"and now?"}]"#, 9);
    let more = format!("{again}{more}\n{RESUMED}\n");
    // A prompt that was taken back before it was answered stays as a branch.
    assert!(show(&transcript(&more)).starts_with(SHOWN));
    assert_eq!(transcript(&more).listed().len(), 2);
    // Until it is put back, the session is what the client would go on with.
    let cut = transcript(&format!("{first}{HEAD}\n{wiped}\n"));
    assert_eq!(main(&cut).messages.len(), 1);
    assert_eq!(cut.conversation(1).expect("what was there").messages.len(), 6);
}

#[test]
fn the_parts_alone_are_read_alike() {
    // Without what came before it, what the answer cost is not known, and the results stand where they were written.
    let file = format!("{HEAD}\n{RESUMED}\n");
    check(
        &file,
        expect![[r#"
        harness: <session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - /p/q\n- **Directory Structure:**\n</session_context>
        user: read both files
        assistant:
        + thinking: **Look around** I should read both.
        + text: Let me look.\n
        + call c1 read_file {"file_path":"a"}
        + call c2 read_file {"file_path":"b"}
        result c1: one\n
        result c2!: File not found: b
        assistant: It says one.
    "#]],
    );
}

#[test]
fn a_compaction_covers_what_was_before() {
    let lines = r#"
        ctx user [{"text":"<session_context>\nhere</session_context>"}]
        u1 user [{"text":"one"}]
        a1 gemini "first" & "model":"m"
        u2 user [{"text":"two"}]
        a2 gemini "second" & "model":"m"
        {"$set":{"messages":[{"id":"ctx","timestamp":"2026-11-29T17:00:00.000Z","type":"user","content":[{"text":"<session_context>\nhere</session_context>"}]},{"id":"sum","timestamp":"2026-11-29T17:00:00.000Z","type":"user","content":[{"text":"<state_snapshot>one was asked</state_snapshot>"}]},{"id":"ack","timestamp":"2026-11-29T17:00:00.000Z","type":"gemini","content":[{"text":"Got it. Thanks for the additional context!"}]},{"id":"k1","timestamp":"2026-11-29T17:00:00.000Z","type":"user","content":[{"text":"two"}]},{"id":"k2","timestamp":"2026-11-29T17:00:00.000Z","type":"gemini","content":[{"text":"second"}]}],"lastUpdated":"2026-11-29T17:00:00.000Z"}}
        u3 user [{"text":"three"}]
        "#;
    check(
        &file(lines),
        expect![[r#"
        harness: <session_context>\nhere</session_context>
        harness: <state_snapshot>one was asked</state_snapshot>
        assistant: Got it. Thanks for the additional context!
        + author harness
        user: two
        assistant: second
        user: three
        == covered s1
        harness: <session_context>\nhere</session_context>
        user: one
        assistant: first
        + origin gemini m
        user: two
        assistant: second
        + origin gemini m
    "#]],
    );
    // The same when the client wrote its messages one by one before.
    let lines = r#"
        u1 user [{"text":"one"}]
        a1 gemini "first" & "model":"m"
        sum user [{"text":"<state_snapshot>one was asked</state_snapshot>"}]
        ack gemini [{"text":"Got it. Thanks for the additional context!"}]
        k2 gemini [{"text":"first"}]
        {"$set":{"messages":[{"id":"sum","type":"user","content":[{"text":"<state_snapshot>one was asked</state_snapshot>"}]},{"id":"ack","type":"gemini","content":[{"text":"Got it. Thanks for the additional context!"}]},{"id":"k2","type":"gemini","content":[{"text":"first"}]}]}}
        u3 user [{"text":"three"}]
        "#;
    check(
        &file(lines),
        expect![[r#"
        harness: <state_snapshot>one was asked</state_snapshot>
        assistant: Got it. Thanks for the additional context!
        + author harness
        assistant: first
        user: three
        == covered s1
        user: one
        assistant: first
        + origin gemini m
    "#]],
    );
}

#[test]
fn results_that_were_masked_cover_what_they_were() {
    let lines = r#"
        u1 user [{"text":"one"}]
        a1 gemini "" & "model":"m","toolCalls":[{"id":"c1","name":"n","args":{},"result":[{"functionResponse":{"id":"c1","name":"n","response":{"output":"long"}}}],"status":"success"},{"id":"c2","name":"n","args":{},"result":[{"functionResponse":{"id":"c2","name":"n","response":{"output":"too"}}}],"status":"success"}]
        a2 gemini "done" & "model":"m"
        {"$set":{"messages":[{"id":"u1","type":"user","content":[{"text":"one"}]},{"id":"a1","type":"gemini","content":[{"functionCall":{"id":"c1","name":"n","args":{}},"thoughtSignature":"S"},{"functionCall":{"id":"c2","name":"n","args":{}}}],"toolCalls":[{"id":"c1","name":"n","args":{},"result":[{"functionResponse":{"id":"c1","name":"n","response":{"output":"<masked>"}}},{"functionResponse":{"id":"c2","name":"n","response":{"output":"too"}}}],"status":"success"},{"id":"c2","name":"n","args":{},"result":[{"functionResponse":{"id":"c1","name":"n","response":{"output":"<masked>"}}},{"functionResponse":{"id":"c2","name":"n","response":{"output":"too"}}}],"status":"success"}]},{"id":"a2","type":"gemini","content":[{"text":"done"}]}]}}
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: one
        assistant:
        + call c1 n {}
        ++ signature S
        + call c2 n {}
        result c1: <masked>
        result c2: too
        assistant: done
        == covered s1
        user: one
        assistant:
        + call c1 n {}
        + call c2 n {}
        + origin gemini m
        result c1: long
        result c2: too
        assistant: done
        + origin gemini m
    "#]],
    );
}

#[test]
fn what_was_taken_back_is_a_branch() {
    let lines = r#"
        u1 user [{"text":"one"}]
        a1 gemini "first"
        u2 user [{"text":"two"}]
        a2 gemini "second"
        {"$rewindTo":"u2"}
        {"$set":{"messages":[{"id":"u1","type":"user","content":[{"text":"one"}]},{"id":"a1","type":"gemini","content":[{"text":"first"}]}]}}
        u3 user [{"text":"two, other way"}]
        a3 gemini "third"
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: one
        assistant: first
        user: two, other way
        assistant: third
        == branch s1
        user: one
        assistant: first
        user: two
        assistant: second
    "#]],
    );
    // An id that is not known takes all back.
    let lines = r#"
        u1 user [{"text":"one"}]
        a1 gemini "first"
        {"$rewindTo":"nowhere"}
        u2 user [{"text":"from the beginning"}]
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: from the beginning
        == branch s1
        user: one
        assistant: first
    "#]],
    );
    // A notice has a place too.
    let lines = r#"
        u1 user [{"text":"one"}]
        i1 info "a notice"
        a1 gemini "first"
        {"$rewindTo":"i1"}
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: one
        == branch s1
        user: one
        assistant: first
    "#]],
    );
}

#[test]
fn a_list_of_other_messages_is_another_line() {
    let lines = r#"
        u1 user [{"text":"one"}]
        a1 gemini "first"
        {"$set":{"messages":[{"id":"x1","type":"user","content":[{"text":"another talk"}]}]}}
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: another talk
        == branch s1
        user: one
        assistant: first
    "#]],
    );
}

#[test]
fn what_the_client_leaves_out_when_it_goes_on_stays() {
    let lines = r#"
        u1 user [{"text":"one"}]
        a1 gemini "first"
        u2 user [{"text":"/compress"}]
        a2 gemini "second"
        {"$set":{"messages":[{"id":"u1","type":"user","content":[{"text":"one"}]},{"id":"a1","type":"gemini","content":[{"text":"first"}]},{"id":"a2","type":"gemini","content":[{"text":"second"}]}]}}
        u3 user [{"text":"three"}]
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: one
        assistant: first
        user: /compress
        assistant: second
        user: three
    "#]],
    );
}

#[test]
fn parts_of_all_kinds_are_read() {
    let lines = r#"
        u1 user ["look",{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"inlineData":{"mimeType":"application/pdf","data":"BB=="}},{"fileData":{"mimeType":"image/png","fileUri":"gs://x"}},{"inlineData":{"mimeType":"audio/wav","data":"CC=="}}]
        a1 gemini [{"text":"hm","thought":true,"thoughtSignature":"S1"},{"text":"signed","thoughtSignature":"S2"},{"text":"","thoughtSignature":"S3"},{"executableCode":{"code":"1","language":"PYTHON"}},{"text":"and","functionCall":{"id":"c1","name":"n","args":{"a":1}},"thoughtSignature":"S4","more":true}] & "model":"m","toolCalls":[{"id":"c1","name":"n","args":{"a":1},"result":[{"functionResponse":{"id":"c1","name":"n","response":{"output":"seen"},"parts":[{"inlineData":{"mimeType":"image/png","data":"DD=="}}]}},{"inlineData":{"mimeType":"image/png","data":"EE=="}},{"text":"beside"}],"status":"success"}]
        r1 user [{"functionResponse":{"id":"c1","name":"n","response":{"output":"seen"}}},{"inlineData":{"mimeType":"image/png","data":"EE=="}},{"text":"beside"}]
        f1 gemini [{"text":"Binary content received. Proceeding with analysis.","thought":true,"thoughtSignature":"skip_thought_signature_validator"}]
        b1 info [{"inlineData":{"mimeType":"image/png","data":"FF=="}}]
        a2 gemini {"text":"one part"}
        a3 gemini [{"functionCall":{"id":"synth_n_0","name":"n","args":{}}}] & "toolCalls":[{"id":"n_1","name":"n","args":{},"result":[{"functionResponse":{"id":"n_1","name":"n","response":{"a":1,"b":[2]}}}],"status":"success"}]
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: look
        + image image/png base64 "AA=="
        + document application/pdf base64 "BB=="
        + image image/png url "gs://x"
        + opaque gemini {"inlineData":{"mimeType":"audio/wav","data":"CC=="}}
        assistant:
        + thinking S1: hm
        + text: signed
        + opaque gemini {"textBytes":[0,6],"part":{"thoughtSignature":"S2"}}
        + opaque gemini {"text":"","thoughtSignature":"S3"}
        + opaque gemini {"executableCode":{"code":"1","language":"PYTHON"}}
        + text: and
        + call c1 n {"a":1}
        ++ signature S4
        + opaque gemini {"besideCall":{"more":true}}
        + origin gemini m
        result c1: seen
        ++ image image/png base64 "DD=="
        ++ image image/png base64 "EE=="
        ++ text: beside
        assistant:
        + thinking skip_thought_signature_validator: Binary content received. Proceeding with analysis.
        + author harness
        harness:
        + image image/png base64 "FF=="
        assistant: one part
        assistant:
        + call synth_n_0 n {}
        result synth_n_0: {"a":1,"b":[2]}
    "#]],
    );
}

#[test]
fn results_without_calls_and_calls_without_results_are_read() {
    let lines = r#"
        u1 user [{"text":"one"}]
        r0 user [{"functionResponse":{"id":"gone","name":"n","response":{"output":"of a call that is gone"}}}]
        a1 gemini "" & "toolCalls":[{"id":"c1","name":"n","args":{},"status":"executing"},{"id":"c2","name":"n","args":{},"result":null,"status":"cancelled"}]
        u2 user [{"text":"meanwhile"}]
        a1 gemini "" & "toolCalls":[{"id":"c1","name":"n","args":{},"result":[{"functionResponse":{"id":"c1","name":"n","response":{"output":"late"}}}],"status":"success"},{"id":"c2","name":"n","args":{},"result":null,"status":"cancelled"}]
        "#;
    check(
        &file(lines),
        expect![[r#"
        user: one
        result gone: of a call that is gone
        assistant:
        + call c1 n {}
        + call c2 n {}
        result c1: late
        user: meanwhile
    "#]],
    );
}

#[test]
fn a_sub_agent_has_a_file_of_its_own() {
    let file = r#"{"sessionId":"agent-7","projectHash":"h","startTime":"2026-11-29T16:00:00.000Z","lastUpdated":"2026-11-29T16:00:00.000Z","kind":"subagent","directories":["/p"]}
{"id":"u1","timestamp":"2026-11-29T16:00:01.000Z","type":"user","content":[{"text":"find it"}]}
{"$set":{"summary":"what it found","memoryScratchpad":{"version":1},"lastUpdated":"2026-11-29T16:00:01.000Z"}}
"#;
    let transcript = transcript(file);
    assert_eq!(
        (main(&transcript).id.as_str(), main(&transcript).title.as_deref()),
        ("agent-7", Some("what it found"))
    );
    let new = transcript.write(0, &main(&transcript).messages, "s2").expect("it is there");
    // A session that a person goes on with is a main one.
    expect![[r#"
        {"sessionId":"s2","projectHash":"h","startTime":"2026-11-29T16:00:00.000Z","lastUpdated":"2026-11-29T16:00:01.000Z","kind":"main","directories":["/p"]}
        {"$set":{"summary":"what it found","memoryScratchpad":{"version":1}}}
        {"id":"u1","timestamp":"2026-11-29T16:00:01.000Z","type":"user","content":[{"text":"find it"}]}
    "#]].assert_eq(&written(&new));
}
