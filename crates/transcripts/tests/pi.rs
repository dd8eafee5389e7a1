//! Session files of pi and oh-my-pi.

use expect_test::{Expect, expect};
use trunkline_message_tree::{Message, Timestamp};
use trunkline_transcripts::{Format, Transcript, read, read_as};

use crate::show::{main, show, text};

mod harm;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/p"}"#;

/// Writes a session file from short lines: `ID < PARENT ROLE JSON [& {MORE}]`, where a role is `user` with the content, `ai`
/// with the content of an answer, `result=CALL` with that of a result, or a type with further fields. Other lines stay.
fn session(lines: &str) -> String {
    let mut file = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        file.push_str(&record(line));
        file.push('\n');
    }
    file
}

fn record(line: &str) -> String {
    if line == "header" {
        return HEADER.to_owned();
    }
    let Some((id, rest)) = line.split_once(" < ").filter(|_| !line.starts_with('{')) else {
        return line.to_owned();
    };
    let mut words = rest.splitn(3, ' ');
    let (parent, kind) = (words.next().unwrap_or("-"), words.next().unwrap_or("label"));
    let (json, more) = words
        .next()
        .unwrap_or("{}")
        .split_once(" & ")
        .unwrap_or((rest.splitn(3, ' ').nth(2).unwrap_or("{}"), "{}"));
    let inner = |json: &str| json[1..json.len() - 1].to_owned();
    let more = if more == "{}" { String::new() } else { format!(",{}", inner(more)) };
    let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
    let base = format!(r#""id":"{id}","parentId":{parent},"timestamp":"2026-02-01T10:00:01.000Z""#);
    let usage = r#"{"input":3,"output":7,"cacheRead":10,"cacheWrite":5,"totalTokens":25,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}}"#;
    let body = match kind.split_once('=') {
        Some((_, call)) => format!(
            r#""role":"toolResult","toolCallId":"{call}","toolName":"read","content":{json},"isError":false"#
        ),
        None if kind == "ai" => format!(
            r#""role":"assistant","content":{json},"api":"anthropic-messages","provider":"anthropic","model":"claude-x","usage":{usage},"stopReason":"stop""#
        ),
        None if kind == "user" || kind == "system" => format!(r#""role":"{kind}","content":{json}"#),
        None if kind == "says" => inner(json),
        None => {
            return format!(
                r#"{{"type":"{kind}",{base}{}{more}}}"#,
                if json == "{}" { String::new() } else { format!(",{}", inner(json)) }
            );
        }
    };
    format!(r#"{{"type":"message",{base},"message":{{{body},"timestamp":1769940001000{more}}}}}"#)
}

fn pi(lines: &str) -> Transcript {
    read(session(lines).as_bytes()).expect("a session of pi")
}

fn check(lines: &str, expected: Expect) {
    let transcript = pi(lines);
    assert_eq!(transcript.format, Format::Pi);
    expected.assert_eq(&show(&transcript));
    returns(&transcript);
}

/// Writes each conversation as it was read: nothing is lost, and reading gives it back.
fn returns(transcript: &Transcript) {
    for (index, conversation) in transcript.conversations().enumerate() {
        let written = transcript.write(index, &conversation.messages, "s2").expect("it is there");
        assert_eq!(written.losses, [], "conversation {index}");
        let again = transcript_of(&written.bytes);
        assert_eq!(main(&again).messages, conversation.messages, "conversation {index}");
        assert_eq!(again.listed().len(), 1, "conversation {index}");
        let faults: Vec<_> =
            again.faults.iter().filter(|fault| !fault.to_string().contains("unknown")).collect();
        assert!(faults.is_empty(), "conversation {index}: {faults:?}");
    }
}

fn transcript_of(bytes: &[u8]) -> Transcript {
    read_as(bytes, Format::Pi).expect("it was just written")
}

#[test]
fn a_session_is_read_with_its_heading() {
    let lines = r#"
        header
        m1 < - model_change {"provider":"anthropic","modelId":"claude-x"}
        t1 < m1 thinking_level_change {"thinkingLevel":"high"}
        u1 < t1 user "hi"
        a1 < u1 ai [{"type":"thinking","thinking":"hm","thinkingSignature":"SIG"},{"type":"text","text":"hello","textSignature":"x"}]
        u2 < a1 user [{"type":"text","text":"see"},{"type":"image","data":"AA==","mimeType":"image/png"}]
        n1 < u2 session_info {"name":"A greeting"}
        l1 < n1 label {"targetId":"u1","label":"start"}
        "#;
    check(
        lines,
        expect![[r#"
            user: hi
            assistant:
            + thinking SIG: hm
            + text: hello
            + origin anthropic claude-x
            + stop end_turn
            user: see
            + image image/png base64 "AA=="
        "#]],
    );
    let transcript = pi(lines);
    let main = main(&transcript);
    assert_eq!((main.id.as_str(), main.cwd.as_deref()), ("s1", Some("/p")));
    assert_eq!(main.title.as_deref(), Some("A greeting"));
    assert_eq!(main.model.as_deref(), Some("claude-x"));
    assert_eq!(main.started, Some(Timestamp(1_769_940_001_000)));
    let usage = main.messages[1].usage.expect("the record says it");
    assert_eq!((usage.input_tokens, usage.output_tokens), (18, 7));
    assert_eq!((usage.cache_read_tokens, usage.cache_write_tokens), (10, 5));
    let left = transcript.left_out(0);
    assert_eq!((left.covered, left.elsewhere, left.of_other_kinds), (0, 0, 3), "settings and a mark");
}

#[test]
fn calls_side_by_side_keep_their_results() {
    check(
        r#"
        header
        u1 < - user "both, please"
        a1 < u1 ai [{"type":"toolCall","id":"c1","name":"read","arguments":{"path": "a"}},{"type":"toolCall","id":"c2","name":"read","arguments":{},"thoughtSignature":"T"}] & {"stopReason":"toolUse"}
        r1 < a1 result=c1 [{"type":"text","text":"one"}]
        r2 < r1 result=c2 [{"type":"text","text":"two"},{"type":"image","data":"AA==","mimeType":"image/png"}] & {"isError":true,"details":{"a":1}}
        a2 < r2 ai []  & {"stopReason":"aborted","errorMessage":"Request was aborted"}
        "#,
        expect![[r#"
            user: both, please
            assistant:
            + call c1 read {"path": "a"}
            + call c2 read {}
            ++ signature T
            + origin anthropic claude-x
            + stop tool_use
            result c1: one
            result c2!: two
            ++ image image/png base64 "AA=="
            assistant:
            + origin anthropic claude-x
            + stop cancelled
        "#]],
    );
}

#[test]
fn files_without_ids_are_one_line() {
    let lines = r#"
        {"type":"session","id":"s1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/p","provider":"anthropic","modelId":"claude-x","thinkingLevel":"off","branchedFrom":"/s/2025-12-09T00-52-54-397Z_d97339c6.jsonl"}
        {"type":"message","timestamp":"2025-11-20T23:33:51.000Z","message":{"role":"user","content":"a long story","timestamp":1}}
        {"type":"message","timestamp":"2025-11-20T23:33:52.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a long answer"}],"api":"openai-responses","provider":"openai","model":"gpt-x","usage":{"input":0,"output":0},"stopReason":"stop","timestamp":2}}
        {"type":"model_change","timestamp":"2025-11-20T23:33:53.000Z","provider":"openai","modelId":"gpt-y"}
        {"type":"message","timestamp":"2025-11-20T23:33:54.000Z","message":{"role":"user","content":"more","timestamp":3}}
        {"type":"compaction","timestamp":"2025-11-20T23:33:55.000Z","summary":"a story","firstKeptEntryIndex":3,"tokensBefore":9}
        {"type":"message","timestamp":"2025-11-20T23:33:56.000Z","message":{"role":"bashExecution","command":"ls","output":"a.rs","exitCode":2,"cancelled":false,"truncated":true,"fullOutputPath":"/t/x","timestamp":4}}
        {"type":"message","timestamp":"2025-11-20T23:33:57.000Z","message":{"role":"bashExecution","command":"pwd","output":"","exitCode":null,"cancelled":true,"truncated":false,"timestamp":5}}
        {"type":"message","timestamp":"2025-11-20T23:33:58.000Z","message":{"role":"bashExecution","command":"env","output":"secret","exitCode":0,"excludeFromContext":true,"timestamp":5}}
        {"type":"message","timestamp":"2025-11-20T23:33:59.000Z","message":{"role":"assistant","content":null,"api":"x","provider":"y","model":"z","stopReason":"error","timestamp":6}}
        "#;
    check(
        lines,
        expect![[r#"
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\na story\n</summary>
            user: more
            harness: Ran `ls`\n```\na.rs\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /t/x]
            harness: Ran `pwd`\n(no output)\n\n(command cancelled)
            assistant:
            + origin openai-chat z
            + stop cut
            == covered s1
            user: a long story
            assistant: a long answer
            + origin openai-responses gpt-x
            + stop end_turn
            user: more
        "#]],
    );
}

#[test]
fn messages_of_hooks_got_another_role_in_version_3() {
    let lines = r#"
        {"type":"session","version":2,"id":"s1","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/p"}
        u1 < - user "hi"
        h1 < u1 says {"role":"hookMessage","customType":"h","content":"be quick","display":true}
        c1 < h1 says {"role":"custom","customType":"h","content":[{"type":"text","text":"be good"}],"display":true}
        x1 < c1 custom_message {"customType":"x","content":"be brief","display":false}
        y1 < x1 custom {"customType":"x","data":[1]}
        "#;
    check(
        lines,
        expect![[r#"
            user: hi
            harness: be quick
            harness: be good
            harness: be brief
        "#]],
    );
    let transcript = pi(lines);
    let written = transcript.write(0, &main(&transcript).messages, "s2").expect("it is there");
    let written = String::from_utf8(written.bytes).expect("text");
    assert!(!written.contains("hookMessage") && written.contains(r#""version":3"#), "{written}");
}

#[test]
fn what_a_compaction_keeps_stands_behind_the_summary() {
    check(
        r#"
        header
        u1 < - user "one"
        a1 < u1 ai [{"type":"text","text":"1"}]
        m1 < a1 model_change {"provider":"p","modelId":"m"}
        u2 < m1 user "two"
        k1 < u2 compaction {"summary":"one is 1","firstKeptEntryId":"m1","tokensBefore":5}
        a2 < k1 ai [{"type":"text","text":"2"}]
        k2 < a2 compaction {"summary":"two is 2","firstKeptEntryId":"u2","tokensBefore":5}
        u3 < k2 user "three"
        k3 < u3 compaction {"summary":"all","firstKeptEntryId":"k3","tokensBefore":5}
        "#,
        expect![[r#"
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\nall\n</summary>
            == covered s1
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\ntwo is 2\n</summary>
            user: two
            assistant: 2
            + origin anthropic claude-x
            + stop end_turn
            user: three
            == covered s1
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\none is 1\n</summary>
            user: two
            assistant: 2
            + origin anthropic claude-x
            + stop end_turn
            == covered s1
            user: one
            assistant: 1
            + origin anthropic claude-x
            + stop end_turn
            user: two
        "#]],
    );
}

#[test]
fn a_compaction_repeats_the_instructions_in_place_of_those_it_keeps() {
    let lines = r#"
        header
        s1 < - system "" & {"sections":{"preamble":"be brief","cwd":"/p"},"toolsAdded":[{"name":"read"}]}
        u1 < s1 user "one"
        s2 < u1 system "" & {"sections":{"cwd":null},"toolsRemoved":[{"name":"read"}]}
        s3 < s2 system "be kind"
        k1 < s3 compaction {"summary":"one","firstKeptEntryId":"u1","tokensBefore":5,"systemMessage":{"role":"system","content":"be kind","sections":{"preamble":"be brief"},"timestamp":1}}
        u2 < k1 user "two"
        "#;
    check(
        lines,
        expect![[r#"
            system: be kind
            + text: be brief
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\none\n</summary>
            user: one
            user: two
            == covered s1
            system: be brief
            + text: /p
            user: one
            system: be kind
        "#]],
    );
    // The client takes the first instructions for the whole list of tools: a change of them may not become the first.
    let patched = pi(&format!("{lines}\ns4 < u2 system \"be quick\""));
    let written = patched.write(0, &main(&patched).messages, "s2").expect("it is there");
    let written = String::from_utf8(written.bytes).expect("text");
    let last = written.lines().last().expect("it has lines");
    assert!(last.contains("be quick") && last.contains(r#""toolsAdded":[{"name":"read""#), "{last}");
    // One half of what the record says may be gone.
    let transcript = pi(lines);
    let messages = main(&transcript).messages;
    for left in [vec![0, 2], vec![1, 2], vec![1, 0], vec![2, 0, 1]] {
        let kept: Vec<Message> = left.iter().filter_map(|at| messages.get(*at).cloned()).collect();
        let written = transcript.write(0, &kept, "s2").expect("it is there");
        let again = main(&transcript_of(&written.bytes)).messages;
        assert_eq!(text(&again), text(&kept), "{left:?}");
    }
}

#[test]
fn what_a_person_went_back_from_is_a_branch() {
    check(
        r#"
        header
        u1 < - user "hi"
        a1 < u1 ai [{"type":"text","text":"hello"}]
        u2 < a1 user "one way"
        a2 < u2 ai [{"type":"text","text":"left"}]
        b1 < a1 branch_summary {"fromId":"a2","summary":"went left"}
        u3 < b1 user "other way"
        b2 < u3 branch_summary {"fromId":"root","summary":""}
        r1 < - user "from the start"
        u4 < b2 user "back"
        m1 < r1 model_change {"provider":"p","modelId":"m"}
        l1 < u4 label {"targetId":"u1","label":"x"}
        "#,
        expect![[r#"
            user: hi
            assistant: hello
            + origin anthropic claude-x
            + stop end_turn
            harness: The following is a summary of a branch that this conversation came back from:\n\n<summary>\nwent left</summary>
            user: other way
            user: back
            == branch s1
            user: hi
            assistant: hello
            + origin anthropic claude-x
            + stop end_turn
            user: one way
            assistant: left
            + origin anthropic claude-x
            + stop end_turn
            == branch s1
            user: from the start
        "#]],
    );
}

#[test]
fn edits_of_the_context_change_what_is_sent_and_the_old_line_stays() {
    let lines = r#"
        header
        u1 < - user "hi"
        a1 < u1 ai [{"type":"toolCall","id":"c1","name":"read","arguments":{}}] & {"stopReason":"toolUse"}
        r1 < a1 result=c1 [{"type":"text","text":"very long"}]
        a2 < r1 ai [{"type":"text","text":"done"}]
        u2 < a2 user "secret"
        e1 < u2 context_edit {"targetId":"r1","replacement":{"content":[{"type":"text","text":"first"}]}}
        e2 < e1 context_edit {"targetId":"r1","replacement":{"content":"short"}}
        e3 < e2 context_edit {"targetId":"u2","replacement":null}
        u3 < e3 user "go on"
        e4 < u2 context_edit {"targetId":"u1","replacement":null}
        n1 < u3 label {"targetId":"u1"}
        "#;
    check(
        lines,
        expect![[r#"
            user: hi
            assistant:
            + call c1 read {}
            + origin anthropic claude-x
            + stop tool_use
            result c1: short
            assistant: done
            + origin anthropic claude-x
            + stop end_turn
            user: go on
            == branch s1
            user: hi
            assistant:
            + call c1 read {}
            + origin anthropic claude-x
            + stop tool_use
            result c1: very long
            assistant: done
            + origin anthropic claude-x
            + stop end_turn
            user: secret
            user: go on
        "#]],
    );
    // After a compaction: what it keeps first may be what is left out.
    check(
        r#"
        header
        u1 < - user "one"
        u2 < u1 user "two"
        u3 < u2 user "three"
        k1 < u3 compaction {"summary":"s","firstKeptEntryId":"u2","tokensBefore":5}
        e1 < k1 context_edit {"targetId":"u2","replacement":null}
        e2 < e1 context_edit {"targetId":"u1","replacement":null}
        u4 < e2 user "four"
        "#,
        expect![[r#"
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>
            user: three
            user: four
            == covered s1
            user: one
            user: three
            == branch s1
            harness: The conversation history before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>
            user: two
            user: three
            user: four
        "#]],
    );
}

#[test]
fn oh_my_pi_has_more_of_everything() {
    let lines = r#"
        {"type":"title","v":1,"title":"Counting","source":"auto","updatedAt":"2026-02-01T10:00:00.000Z","pad":"   "}
        {"type":"session","version":3,"id":"s1","title":"Old","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/p","parentSession":"s0"}
        i1 < - session_init {"systemPrompt":"be","task":"t","tools":[]}
        u0 < i1 user "before"
        x0 < u0 reset_boundary {}
        u1 < x0 user "hi" & {"synthetic":true}
        d1 < u1 says {"role":"developer","content":"date"}
        f1 < d1 says {"role":"fileMention","files":[{"path":"a","content":"A"},{"path":"b","image":{"type":"image","data":"AA==","mimeType":"image/png"}},5]}
        p1 < f1 says {"role":"pythonExecution","code":"1","output":"1","exitCode":1}
        u2 < p1 user [{"type":"image","data":"blob:sha256:00","mimeType":"image/png"},{"type":"image","url":"https://x/y.png"}]
        a1 < u2 ai [{"type":"redactedThinking","data":"D"},{"type":"thinking","thinking":"","thinkingSignature":"E","redacted":true},{"type":"fallback","from":{}}]
        m1 < a1 model_usage {"purpose":"title"}
        "#;
    check(
        lines,
        expect![[r#"
            harness: hi
            harness: date
            harness: <file path="a">\nA\n</file>
            + text: <file path="b">\n</file>
            + image image/png base64 "AA=="
            harness: Ran Python:\n```python\n1\n```\nOutput:\n```\n1\n```\n\nExecution failed with code 1
            user:
            + opaque pi {"type":"image","data":"blob:sha256:00","mimeType":"image/png"}
            + image "image/*" url "https://x/y.png"
            assistant:
            + redacted: D
            + redacted: E
            + opaque pi {"type":"fallback","from":{}}
            + origin anthropic claude-x
            + stop end_turn
            == branch s1
            user: before
        "#]],
    );
    let transcript = pi(lines);
    assert_eq!(main(&transcript).title.as_deref(), Some("Counting"));
    let written = transcript.write(0, &main(&transcript).messages, "s2").expect("it is there");
    let again = transcript_of(&written.bytes);
    assert_eq!(main(&again).title.as_deref(), Some("Counting"));
    assert!(written.bytes.starts_with(br#"{"type":"title","v":1,"title":"Counting""#));
}

#[test]
fn wires_and_reasons_have_our_names() {
    let answer = |api: &str, stop: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2026-02-01T10:00:01.000Z","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"hm","thinkingSignature":"reasoning_content"}}],"api":"{api}","provider":"p","model":"m",{stop}}}}}"#
        )
    };
    let lines = [
        HEADER.to_owned(),
        answer("anthropic-messages", r#""stopReason":"length""#),
        answer("bedrock-converse-stream", r#""stopReason":"stop","rawStopReason":"stop_sequence""#),
        answer("openai-codex-responses", r#""stopReason":"deferred""#),
        answer("google-vertex", r#""stopReason":"error","rawStopReason":"refusal""#),
        answer("mistral-conversations", r#""stopReason":"stop","rawStopReason":"pause_turn""#),
        answer("", r#""stopReason":5"#),
    ];
    check(
        &lines.join("\n"),
        expect![[r#"
            assistant:
            + thinking: hm
            + origin anthropic m
            + stop max_tokens
            assistant:
            + thinking: hm
            + origin anthropic m
            + stop stop_sequence
            assistant:
            + thinking: hm
            + origin openai-responses m
            + stop other deferred
            assistant:
            + thinking: hm
            + origin gemini m
            + stop refusal
            assistant:
            + thinking: hm
            + origin openai-chat m
            + stop pause
            assistant:
            + thinking: hm
            + origin openai-chat m
        "#]],
    );
}
