//! Fields that the vocabulary has no word for: they are told of, stay with their message, and can be left out.

use expect_test::{Expect, expect};
use trunkline_message_tree::Message;
use trunkline_transcripts::{FieldHolder, Format, MessageField, Transcript, read, read_as};

const CHAT: &str = r#"[{"role":"developer","content":"be brief"},
{"role":"user","name":"Ann","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"file","file":{"file_id":"f"}}]},
{"role":"assistant","content":null,"refusal":"no","audio":null,"reasoning":"hm","reasoning_details":[{"x":1}]},
{"role":"assistant","content":"ok","annotations":[],"tool_calls":[{"id":"c1","index":0,"type":"function","function":{"name":"a b","arguments":"{}","parsed_arguments":{}}}]},
{"role":"tool","tool_call_id":"c1","name":"a b","content":"1"},
{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
{"role":"function","name":"f","content":"2"}]"#;

fn told(fields: &[MessageField]) -> String {
    let line = |field: &MessageField| {
        let holder = match &field.holder {
            FieldHolder::Message => "message".to_owned(),
            FieldHolder::Part(kind) => format!("part {kind}"),
            FieldHolder::Call => "call".to_owned(),
            FieldHolder::Function => "function".to_owned(),
            _ => "?".to_owned(),
        };
        let says = if field.says_something { "" } else { " (nothing)" };
        format!("{} {holder}: {}{says}\n", field.node, field.name)
    };
    fields.iter().map(line).collect()
}

fn chat(text: &str) -> Transcript {
    read(text.as_bytes()).expect("a list")
}

fn messages_of(transcript: &Transcript) -> Vec<Message> {
    transcript.conversation(0).expect("a list has one").messages
}

/// Writes the list without some fields, its messages as they are.
fn check(text: &str, goes: impl Fn(&MessageField) -> bool, expected: Expect) {
    let transcript = chat(text);
    let fields: Vec<MessageField> =
        transcript.message_fields().into_iter().filter(|field| goes(field)).collect();
    let messages = &messages_of(&transcript);
    let written = transcript.write_without(0, messages, "", &fields).expect("it is there");
    assert_eq!(written.losses, []);
    let text = String::from_utf8(written.bytes).expect("text");
    expected.assert_eq(&text);
    let again = chat(&text);
    let said = |transcript: &Transcript| {
        let messages = messages_of(transcript).into_iter();
        messages.map(|message| (message.role, message.content)).collect::<Vec<_>>()
    };
    assert_eq!(said(&again), said(&transcript), "what is said stays");
    let left = again.message_fields().iter().filter(|field| goes(field)).count();
    assert_eq!(left, 0, "they are gone");
}

#[test]
fn every_field_is_told_of_where_it_stands() {
    expect![[r#"
        n0 message: role developer
        n1 message: name
        n1 part text: cache_control
        n2 message: refusal (nothing)
        n2 message: audio (nothing)
        n2 message: reasoning_details
        n3 message: annotations (nothing)
        n3 call: index
        n3 function: parsed_arguments (nothing)
        n4 message: name
        n5 message: function_call
        n6 message: role function
        n6 message: name
    "#]]
    .assert_eq(&told(&chat(CHAT).message_fields()));
}

#[test]
fn what_a_field_said_is_said_where_everybody_reads_it() {
    check(
        CHAT,
        |_| true,
        expect![[r#"
        [{"role":"system","content":"be brief"},
        {"role":"user","content":[{"type":"text","text":"a"},{"type":"file","file":{"file_id":"f"}}]},
        {"role":"assistant","content":"no","reasoning":"hm"},
        {"role":"assistant","content":"ok","tool_calls":[{"id":"c1","type":"function","function":{"name":"a b","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"1"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"f","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","content":"2","tool_call_id":"f"}]"#]],
    );
}

#[test]
fn only_those_go_that_were_named() {
    check(
        CHAT,
        |field| field.holder == FieldHolder::Call,
        expect![[r#"
        [{"role":"developer","content":"be brief"},
        {"role":"user","name":"Ann","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"file","file":{"file_id":"f"}}]},
        {"role":"assistant","content":null,"refusal":"no","audio":null,"reasoning":"hm","reasoning_details":[{"x":1}]},
        {"role":"assistant","content":"ok","annotations":[],"tool_calls":[{"id":"c1","type":"function","function":{"name":"a b","arguments":"{}","parsed_arguments":{}}}]},
        {"role":"tool","tool_call_id":"c1","name":"a b","content":"1"},
        {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
        {"role":"function","name":"f","content":"2"}]"#]],
    );
}

#[test]
fn a_refusal_in_parts_becomes_words() {
    check(
        r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]"#,
        |_| true,
        expect![[
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"no"}]}]"#
        ]],
    );
}

#[test]
fn of_anthropic_only_the_message_is_asked() {
    let list = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","x":1}]},{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"b"}]}]}"#;
    let transcript = read_as(list.as_bytes(), Format::Anthropic).expect("a list");
    expect![[r#"
        n1 message: id
        n1 message: type
        n1 message: model
    "#]]
    .assert_eq(&told(&transcript.message_fields()));
    let (fields, messages) = (transcript.message_fields(), &messages_of(&transcript));
    let written = transcript.write_without(0, messages, "", &fields).expect("it is there");
    let kept = list.replace(r#""id":"msg_1","type":"message","#, "").replace(r#""model":"m","#, "");
    assert_eq!(String::from_utf8(written.bytes).expect("text"), kept);
}

#[test]
fn a_result_bears_the_name_that_its_call_was_given() {
    let transcript = chat(CHAT);
    let mut messages = messages_of(&transcript);
    for message in &mut messages {
        for content in &mut message.content {
            if let trunkline_message_tree::Content::ToolCall(call) = content
                && call.name == "a b"
            {
                call.name = "a_b".to_owned();
            }
        }
    }
    let written = transcript.write(0, &messages, "").expect("it is there");
    let text = String::from_utf8(written.bytes).expect("text");
    assert!(text.contains(r#""tool_call_id":"c1","name":"a_b""#), "{text}");
    assert!(text.contains(r#""role":"function","name":"f""#), "{text}");
}

#[test]
fn a_session_has_none() {
    let line = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"a","x":1}}"#;
    assert_eq!(chat(line).message_fields(), []);
}
