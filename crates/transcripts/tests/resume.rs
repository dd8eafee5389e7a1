//! A session file that was repaired: a new one, which the client can resume.

use expect_test::{Expect, expect};
use trunkline_message_tree::{Content, Message};
use trunkline_transcripts::{Format, Transcript, read_as};

use crate::show::{main, session, text, transcript};

const ID: &str = "6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11";

fn rewritten(transcript: &Transcript, messages: &[Message]) -> String {
    let written = transcript.write(0, messages, ID).expect("it is there");
    assert_eq!(written.losses, []);
    String::from_utf8(written.bytes).expect("text")
}

/// Reads a session, changes its messages, and shows the lines of the new file without what all of them say.
fn check(lines: &str, change: impl FnOnce(&mut Vec<Message>), expected: Expect) {
    let transcript = transcript(&session(lines), Format::ClaudeCode);
    let mut messages = main(&transcript).messages;
    change(&mut messages);
    let file = rewritten(&transcript, &messages);
    let shown = file
        .replace(&format!("\"sessionId\":\"{ID}\","), "")
        .replace("\"isSidechain\":false,\"cwd\":\"/p\",", "")
        .replace("\"version\":\"2.1.0\",", "");
    expected.assert_eq(&shown);
    let again = read_as(file.as_bytes(), Format::ClaudeCode).expect("a session");
    assert_eq!(text(&main(&again).messages), text(&as_read(&messages)), "what is read is what was written");
    assert_eq!(again.listed().len(), 1, "the new file has no forks");
    assert_eq!(main(&again).id, ID);
}

/// Results are user messages to the client, and those that follow each other are one.
fn as_read(messages: &[Message]) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    for message in messages {
        let mut message = message.clone();
        if message.role == trunkline_message_tree::Role::Tool {
            message.role = trunkline_message_tree::Role::User;
        }
        let results = |message: &Message| message.content.iter().all(|block| block.as_result().is_some());
        match all.last_mut() {
            Some(last) if results(last) && results(&message) => last.content.extend(message.content),
            _ => all.push(message),
        }
    }
    all
}

const SIDE_BY_SIDE: &str = r#"
    h1 < - progress {"type":"hook_progress"}
    u1 < h1 user "both, please" & {"todos":[ ]}
    a1 < u1 ai=m1 [{"type":"text","text":"\n\n"}]
    a2 < a1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{ }}]
    a3 < a2 ai=m1 [{"type":"tool_use","id":"c2","name":"Read","input":{}}]
    r1 < a2 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}] & {"toolUseResult":{"big":1}}
    a4 < r1 ai=m2 [{"type":"text","text":"done"}]
    {"type":"custom-title","customTitle":"t","sessionId":"s1"}
    {"type":"summary","summary":"t","leafUuid":"a4"}
    "#;

#[test]
fn unchanged_messages_are_chained_anew_and_say_the_same() {
    check(
        SIDE_BY_SIDE,
        |_| {},
        expect![[r#"
            {"parentUuid":null,"type":"user","message":{"role":"user","content":"both, please"},"uuid":"u1","timestamp":"2026-02-01T10:01:00.000Z","todos":[ ]}
            {"parentUuid":"u1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"\n\n"}]},"uuid":"a1","timestamp":"2026-02-01T10:02:00.000Z"}
            {"parentUuid":"a1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c1","name":"Read","input":{ }}]},"uuid":"a2","timestamp":"2026-02-01T10:03:00.000Z"}
            {"parentUuid":"a2","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c2","name":"Read","input":{}}]},"uuid":"a3","timestamp":"2026-02-01T10:04:00.000Z"}
            {"parentUuid":"a3","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"}]},"uuid":"r1","timestamp":"2026-02-01T10:05:00.000Z","toolUseResult":{"big":1}}
            {"parentUuid":"r1","type":"assistant","requestId":"r-m2","message":{"id":"m2","role":"assistant","model":"claude-x","content":[{"type":"text","text":"done"}]},"uuid":"a4","timestamp":"2026-02-01T10:06:00.000Z"}
            {"type":"custom-title","customTitle":"t","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11"}
            {"type":"summary","summary":"t","leafUuid":"a4"}
        "#]],
    );
}

#[test]
fn a_blank_block_and_a_missing_answer_are_mended_in_their_lines() {
    check(
        SIDE_BY_SIDE,
        |messages| {
            messages[1].content.remove(0);
            messages.insert(3, Message::tool_result("c2", "interrupted", true));
        },
        expect![[r#"
            {"parentUuid":null,"type":"user","message":{"role":"user","content":"both, please"},"uuid":"u1","timestamp":"2026-02-01T10:01:00.000Z","todos":[ ]}
            {"parentUuid":"u1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c1","name":"Read","input":{ }}]},"uuid":"a2","timestamp":"2026-02-01T10:03:00.000Z"}
            {"parentUuid":"a2","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c2","name":"Read","input":{}}]},"uuid":"a3","timestamp":"2026-02-01T10:04:00.000Z"}
            {"parentUuid":"a3","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"}]},"uuid":"r1","timestamp":"2026-02-01T10:05:00.000Z","toolUseResult":{"big":1}}
            {"parentUuid":"r1","isSidechain":false,"userType":"external","cwd":"/p","gitBranch":"","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"interrupted","is_error":true}]},"uuid":"d8c28623-e1f8-8232-96f6-7dd1b383b065","timestamp":"2026-02-01T10:05:00.001Z"}
            {"parentUuid":"d8c28623-e1f8-8232-96f6-7dd1b383b065","type":"assistant","requestId":"r-m2","message":{"id":"m2","role":"assistant","model":"claude-x","content":[{"type":"text","text":"done"}]},"uuid":"a4","timestamp":"2026-02-01T10:06:00.000Z"}
            {"type":"custom-title","customTitle":"t","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11"}
            {"type":"summary","summary":"t","leafUuid":"a4"}
        "#]],
    );
}

#[test]
fn a_block_that_is_new_stands_beside_its_neighbours() {
    check(
        SIDE_BY_SIDE,
        |messages| {
            let result = Message::tool_result("c2", "interrupted", true).content.remove(0);
            messages[2].content.push(result);
            messages[3].content.insert(0, Content::text("well"));
        },
        expect![[r#"
            {"parentUuid":null,"type":"user","message":{"role":"user","content":"both, please"},"uuid":"u1","timestamp":"2026-02-01T10:01:00.000Z","todos":[ ]}
            {"parentUuid":"u1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"\n\n"}]},"uuid":"a1","timestamp":"2026-02-01T10:02:00.000Z"}
            {"parentUuid":"a1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c1","name":"Read","input":{ }}]},"uuid":"a2","timestamp":"2026-02-01T10:03:00.000Z"}
            {"parentUuid":"a2","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c2","name":"Read","input":{}}]},"uuid":"a3","timestamp":"2026-02-01T10:04:00.000Z"}
            {"parentUuid":"a3","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":"interrupted","is_error":true}]},"uuid":"r1","timestamp":"2026-02-01T10:05:00.000Z"}
            {"parentUuid":"r1","type":"assistant","requestId":"r-m2","message":{"id":"m2","role":"assistant","model":"claude-x","content":[{"type":"text","text":"well"},{"type":"text","text":"done"}]},"uuid":"a4","timestamp":"2026-02-01T10:06:00.000Z"}
            {"type":"custom-title","customTitle":"t","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11"}
            {"type":"summary","summary":"t","leafUuid":"a4"}
        "#]],
    );
}

#[test]
fn what_the_users_side_says_at_once_is_one_record() {
    check(
        r#"
        u1 < - user "both"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Read","input":{ }},{"type":"tool_use","id":"c2","name":"Read","input":{}}]
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"one"}]
        r2 < r1 user [{"type":"tool_result","tool_use_id":"c2","content":"two"}]
        u2 < r2 user "well?"
        "#,
        |messages| {
            let text = messages.pop().expect("it is there").content;
            messages[2].content.extend(text);
            messages[2].author = trunkline_message_tree::Author::Person;
        },
        expect![[r#"
            {"parentUuid":null,"type":"user","message":{"role":"user","content":"both"},"uuid":"u1","timestamp":"2026-02-01T10:00:00.000Z"}
            {"parentUuid":"u1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c1","name":"Read","input":{ }},{"type":"tool_use","id":"c2","name":"Read","input":{}}]},"uuid":"a1","timestamp":"2026-02-01T10:01:00.000Z"}
            {"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":"two"},{"type":"text","text":"well?"}]},"uuid":"r1","timestamp":"2026-02-01T10:02:00.000Z"}
        "#]],
    );
}

#[test]
fn a_result_and_the_words_after_it_are_one_record() {
    let lines = r#"
        u1 < - user "run"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Run","input":{}}]
        u2 < a1 user "are you there?"
        "#;
    let transcript = transcript(&session(lines), Format::ClaudeCode);
    let mut messages = main(&transcript).messages;
    messages.insert(2, Message::tool_result("c1", "interrupted", true));
    let again = rewritten(&transcript, &messages);
    let again = read_as(again.as_bytes(), Format::ClaudeCode).expect("a session");
    expect![[r#"
        user: run
        assistant:
        + call c1 Run {}
        + origin anthropic claude-x
        user:
        + result c1!: interrupted
        + text: are you there?
    "#]]
    .assert_eq(&text(&main(&again).messages));
}

#[test]
fn a_message_that_is_split_becomes_two() {
    check(
        SIDE_BY_SIDE,
        |messages| {
            let mut rest = messages[1].clone();
            rest.content = vec![messages[1].content.remove(2)];
            messages.insert(3, rest);
            messages.insert(4, Message::tool_result("c2", "interrupted", true));
        },
        expect![[r#"
            {"parentUuid":null,"type":"user","message":{"role":"user","content":"both, please"},"uuid":"u1","timestamp":"2026-02-01T10:01:00.000Z","todos":[ ]}
            {"parentUuid":"u1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"\n\n"}]},"uuid":"a1","timestamp":"2026-02-01T10:02:00.000Z"}
            {"parentUuid":"a1","type":"assistant","requestId":"r-m1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c1","name":"Read","input":{ }}]},"uuid":"a2","timestamp":"2026-02-01T10:03:00.000Z"}
            {"parentUuid":"a2","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"}]},"uuid":"r1","timestamp":"2026-02-01T10:05:00.000Z","toolUseResult":{"big":1}}
            {"parentUuid":"r1","type":"assistant","requestId":"r-m1","message":{"id":"m1_0","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c2","name":"Read","input":{}}]},"uuid":"a3","timestamp":"2026-02-01T10:05:00.001Z"}
            {"parentUuid":"a3","isSidechain":false,"userType":"external","cwd":"/p","gitBranch":"","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"interrupted","is_error":true}]},"uuid":"f7bd4d2c-ece7-8c53-b7fb-b6c8a8946644","timestamp":"2026-02-01T10:05:00.002Z"}
            {"parentUuid":"f7bd4d2c-ece7-8c53-b7fb-b6c8a8946644","type":"assistant","requestId":"r-m2","message":{"id":"m2","role":"assistant","model":"claude-x","content":[{"type":"text","text":"done"}]},"uuid":"a4","timestamp":"2026-02-01T10:06:00.000Z"}
            {"type":"custom-title","customTitle":"t","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11"}
            {"type":"summary","summary":"t","leafUuid":"a4"}
        "#]],
    );
}

#[test]
fn a_sub_agents_conversation_can_be_resumed_as_a_session() {
    let file = session(
        r#"
        u1 < - user "delegate"
        t1 < - user "count" & {"isSidechain":true,"agentId":"g7"}
        t2 < t1 ai=m2 [{"type":"text","text":"three"}] & {"isSidechain":true,"agentId":"g7"}
        "#,
    );
    let transcript = transcript(&file, Format::ClaudeCode);
    let side = &transcript.conversation(1).expect("the sub-agent").messages;
    let written = transcript.write(1, side, ID).expect("it is there");
    let again = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
    assert_eq!(again.listed().len(), 1);
    assert_eq!(&main(&again).messages, side);
}
