//! Words that stand beside results, and echoes of the client: read as it sends them.

use expect_test::expect;
use trunkline_message_tree::{Author, Content};
use trunkline_transcripts::{Format, read, read_as};

use crate::claude_code::check;
use crate::show::{main, session, text, transcript};

const BOTH: &str = r#"
    u1 < - user "edit both"
    a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Edit","input":{}}]
    a2 < a1 ai=m1 [{"type":"tool_use","id":"c2","name":"Edit","input":{}}]
    r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"text","text":"and test it"}]
    r2 < a2 user [{"type":"tool_result","tool_use_id":"c2","content":"two"}]
    a3 < r2 ai=m2 [{"type":"text","text":"both are edited"}]
"#;

#[test]
fn a_record_with_a_result_and_words_beside_parallel_calls_keeps_both() {
    check(
        BOTH,
        expect![[r#"
            user: edit both
            assistant:
            + call c1 Edit {}
            + call c2 Edit {}
            + origin anthropic claude-x
            user:
            + result c1: one
            + result c2: two
            + text: and test it
            assistant: both are edited
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn words_beside_the_result_that_the_way_goes_through_are_the_same() {
    let other = BOTH.replace("a3 < r2", "a3 < r1");
    let one = main(&transcript(&session(BOTH), Format::ClaudeCode));
    let other = main(&transcript(&session(&other), Format::ClaudeCode));
    assert_eq!(text(&one.messages), text(&other.messages));
    assert_eq!(one.messages[2].author, Author::Person);
}

#[test]
fn a_result_with_words_is_written_and_read_again() {
    let transcript = transcript(&session(BOTH), Format::ClaudeCode);
    let mut messages = main(&transcript).messages;
    for _ in 0..2 {
        let written = transcript.write(0, &messages, "s2").expect("it is there");
        let again = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
        assert_eq!(text(&main(&again).messages), text(&messages));
        assert_eq!(again.listed().len(), 1);
        messages[2].content.push(Content::text("more"));
    }
}

#[test]
fn a_picture_beside_a_result_is_kept() {
    let lines = BOTH.replace(
        r#"{"type":"text","text":"and test it"}"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}"#,
    );
    let main = main(&transcript(&session(&lines), Format::ClaudeCode));
    assert_eq!(main.messages[2].content.len(), 3);
    assert!(matches!(main.messages[2].content[2], Content::Image(_)));
}

fn queued(prompt: &str, mode: &str) -> String {
    format!(
        r#"{{"parentUuid":"r1","isSidechain":false,"type":"attachment","uuid":"q1","sessionId":"s1","timestamp":"2026-02-01T10:30:00.000Z","attachment":{{"type":"queued_command","prompt":{prompt},"commandMode":"{mode}"}}}}"#
    )
}

fn with_queued(prompt: &str, mode: &str) -> String {
    session(&format!(
        r#"
        u1 < - user "start"
        a1 < u1 ai=m1 [{{"type":"tool_use","id":"c1","name":"Edit","input":{{}}}}]
        r1 < a1 user [{{"type":"tool_result","tool_use_id":"c1","content":"ok"}}]
        {}
        a2 < q1 ai=m2 [{{"type":"text","text":"tabs it is"}}]
        "#,
        queued(prompt, mode)
    ))
}

#[test]
fn words_that_were_typed_while_a_turn_ran_stand_beside_the_result() {
    for prompt in [r#""use tabs""#, r#"[{"type":"text","text":"use tabs"}]"#] {
        let transcript = read(with_queued(prompt, "prompt").as_bytes()).expect("a session");
        assert_eq!((transcript.faults.len(), transcript.listed().len()), (0, 1));
        let messages = main(&transcript).messages;
        expect![[r#"
            user: start
            assistant:
            + call c1 Edit {}
            + origin anthropic claude-x
            user:
            + result c1: ok
            + text: use tabs
            assistant: tabs it is
            + origin anthropic claude-x
        "#]]
        .assert_eq(&text(&messages));
        assert_eq!(messages[2].author, Author::Person);
        let written = transcript.write(0, &messages, "s2").expect("it is there");
        let again = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
        assert_eq!(main(&again).messages, messages);
    }
}

#[test]
fn words_that_were_queued_and_changed_stand_in_a_record_of_a_message() {
    let alone =
        with_queued(r#""use tabs""#, "prompt").replace("\"parentUuid\":\"r1\"", "\"parentUuid\":\"a9\"");
    let alone =
        alone.replace("\"a1\"", "\"a9\"").replace("tool_use\",\"id\":\"c1\"", "tool_use\",\"id\":\"c9\"");
    let transcript = read(alone.as_bytes()).expect("a session");
    let mut messages = main(&transcript).messages;
    let at = messages.iter().position(|message| message.text() == "use tabs").expect("it is there");
    messages[at].content = vec![Content::text("use blanks")];
    let written = transcript.write(0, &messages, "s2").expect("it is there");
    let again = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
    assert_eq!(text(&main(&again).messages), text(&messages));
    assert!(!String::from_utf8_lossy(&written.bytes).contains("queued_command"));
}

#[test]
fn what_was_queued_by_no_person_is_the_clients_word() {
    let file = with_queued(r#""<task-notification>done</task-notification>""#, "task-notification");
    let messages = main(&read(file.as_bytes()).expect("a session")).messages;
    assert_eq!(messages[2].author, Author::Harness);
    assert_eq!(messages[2].content.len(), 2);
    let blank = with_queued(r#"" ""#, "prompt");
    assert_eq!(main(&read(blank.as_bytes()).expect("a session")).messages[2].content.len(), 1);
}

#[test]
fn words_that_were_queued_and_never_answered_are_the_last() {
    let mut file = with_queued(r#""use tabs""#, "prompt");
    file.truncate(file.trim_end().rfind('\n').expect("several lines"));
    let messages = main(&read(file.as_bytes()).expect("a session")).messages;
    assert_eq!(messages.last().map(|message| message.text()).as_deref(), Some("use tabs"));
}

#[test]
fn echoes_of_commands_are_sent_as_the_client_sends_them() {
    check(
        r#"
        u1 < - user "start"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        {"parentUuid":"a1","isSidechain":false,"type":"system","subtype":"local_command","uuid":"s1","sessionId":"s1","content":"<command-name>/cost</command-name>"}
        {"parentUuid":"s1","isSidechain":false,"type":"system","subtype":"local_command","uuid":"s2","sessionId":"s1","content":"<local-command-stdout>$1</local-command-stdout>"}
        {"parentUuid":"s2","isSidechain":false,"type":"system","subtype":"informational","uuid":"s3","sessionId":"s1","content":"for people"}
        u2 < s3 user "second"
        "#,
        expect![[r#"
            user: start
            assistant: hello
            + origin anthropic claude-x
            harness: <command-name>/cost</command-name>
            harness: <local-command-stdout>$1</local-command-stdout>
            user: second
        "#]],
    );
}
