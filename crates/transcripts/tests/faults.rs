//! What is wrong with a file is counted and passed.

use expect_test::expect;
use trunkline_transcripts::{Format, read, read_as};

use crate::claude_code::check;
use crate::show::{session, show, shown};

#[test]
fn a_bad_line_does_not_cut_the_conversation_off() {
    check(
        r#"
        u1 < - user "hi"
        {"type":"assistant","uuid":"a1","mess
        u2 < a1 user "still here"
        a2 < u2 ai=m2 [{"type":"text","text":"yes"}]
        {"type":"assistant","uu
        "#,
        expect![[r#"
            user: hi
            user: still here
            assistant: yes
            + origin anthropic claude-x
            -- line 2: not JSON, left out: EOF while parsing a string at column 37
            -- line 3: parent "a1" is not in this file
            -- line 5: not JSON, left out: EOF while parsing a string at column 23
        "#]],
    );
}

#[test]
fn half_an_emoji_does_not_cost_the_line() {
    check(
        r#"
        u1 < - user "cut \ud83d here, whole 😀 and \ud83d\ude00 there, and the words \\ud83d"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Write","input":{"text":"\udc00 \ud83d"}}]
        "#,
        expect![[r#"
            user: cut � here, whole 😀 and 😀 there, and the words \\ud83d
            assistant:
            + call c1 Write {"text":"\\ufffd \\ufffd"}
            + origin anthropic claude-x
            -- line 1: halves of surrogate pairs replaced by U+FFFD: 1
            -- line 2: halves of surrogate pairs replaced by U+FFFD: 2
        "#]],
    );
}

#[test]
fn new_records_are_news_and_no_damage() {
    let file = session(
        r#"
        u1 < - user "hi"
        {"type":"bridge-session","sessionId":"s1"}
        {"type":"bridge-session","sessionId":"s1"}
        n1 < u1 hologram {}
        a1 < n1 ai=m1 [{"type":"hologram","x":1},{"type":"text","text":"hello"}]
        "#,
    );
    let transcript = read(file.as_bytes()).expect("a session");
    assert!(transcript.faults.iter().all(|fault| !fault.kind.is_damage()));
    expect![[r#"
        user: hi
        assistant:
        + opaque anthropic {"type":"hologram","x":1}
        + text: hello
        + origin anthropic claude-x
        -- line 2: records of unknown type "bridge-session": 2
        -- line 4: records of unknown type "hologram": 1
    "#]]
    .assert_eq(&show(&transcript));
}

#[test]
fn records_that_should_be_messages_and_are_none_are_named() {
    check(
        r#"
        u1 < - user "hi"
        {"type":"user","uuid":"x1","parentUuid":"u1","sessionId":"s1","message":"error"}
        {"type":"user","uuid":"x2","parentUuid":"u1","sessionId":"s1","message":{"role":"user"}}
        u2 < u1 user 42
        u3 < u1 user ["bare words", 7]
        42
        u3 < u1 user "again the same id"
        "#,
        expect![[r#"
            user: hi
            user: again the same id
            == branch s1
            user: hi
            user: bare words
            -- line 2: not a message, left out: it has no message
            -- line 3: not a message, left out: its message has no content
            -- line 4: not a message, left out: its content is neither a string nor blocks
            -- line 6: not JSON, left out: invalid type: integer `42`, expected an object at column 2
            -- line 7: record "u3" has the id of another one above it; each is read where it stands
        "#]],
    );
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let mut file = session(r#"u1 < - user "hi X""#).into_bytes();
    let at = file.iter().position(|byte| *byte == b'X').expect("it is there");
    file[at] = 0xff;
    expect![[r#"
        user: hi �
        -- line 1: not UTF-8; the bytes were replaced by U+FFFD
    "#]]
    .assert_eq(&show(&read(&file).expect("a session")));
}

#[test]
fn what_is_not_known_is_said() {
    const KNOWN: &str = "known are claude-code, codex, pi, opencode, gemini-cli, anthropic and openai-chat";
    let seen = |bytes: &[u8]| read(bytes).map(|_| ()).expect_err("none of ours").to_string();
    let unknown = |what: &str| format!("not a format that is known: {what}; {KNOWN}");
    assert_eq!(seen(b"SQLite format 3\0\x10"), unknown("a SQLite database"));
    assert_eq!(seen(b""), unknown("nothing"));
    assert_eq!(seen(br#"{"mapping":{}}"#), unknown("an object without `messages`"));
    let chatgpt = br#"{"mapping":{},"current_node":"x"}"#;
    assert_eq!(seen(chatgpt), format!("a session of ChatGPT, which is not read; {KNOWN}"));
    let not = |bytes: &[u8], format| read_as(bytes, format).map(|_| ()).expect_err("not that").to_string();
    expect!["not openai-chat: EOF while parsing a string at line 1 column 29"]
        .assert_eq(&not(br#"[{"role":"user","content":"hi"#, Format::OpenAiChat));
    expect!["not claude-code: there is no record of a session in it"]
        .assert_eq(&not(br#"{"role":"user"}"#, Format::ClaudeCode));
}

#[test]
fn an_element_that_is_no_message_is_left_out_of_a_list() {
    expect![[r#"
        user: hi
        assistant: hello �
        -- line 2: not a message, left out: its role is "narrator"
        -- line 3: halves of surrogate pairs replaced by U+FFFD: 1
    "#]]
    .assert_eq(&shown(
        r#"[{"role":"user","content":"hi"},
            {"role":"narrator","content":"meanwhile"},
            {"role":"assistant","content":"hello \ud800"}]"#,
    ));
}
