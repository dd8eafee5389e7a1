//! The way back: what is unchanged, what is changed, and what comes from elsewhere.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Origin, Part, Role, StopReason, Timestamp, ToolCall,
    ToolResult, Usage, notation,
};
use trunkline_transcripts::{Format, Heading, export};

use super::{NEWEST, round_trip, transcript_of};
use crate::show::{main, text, transcript};

#[test]
fn what_is_unchanged_keeps_its_bytes() {
    let read = transcript(NEWEST, Format::Codex);
    let written = read.write(0, &main(&read).messages, "new").expect("there");
    expect![[r#"
        {"timestamp":"2026-11-29T16:00:00.100Z","type":"session_meta","payload":{"session_id":"new","id":"new","timestamp":"2026-11-29T16:00:00.000Z","cwd":"/p","originator":"codex_exec","cli_version":"0.171.0","source":"exec","thread_source":"user","model_provider":"mock","context_window":{"window_id":"w1"}}}
        {"timestamp":"2026-11-29T16:00:02.000Z","type":"response_item","payload":{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>ask</permissions instructions>"}]}}
        {"timestamp":"2026-11-29T16:00:03.000Z","type":"response_item","payload":{"type":"message","id":"msg_2","role":"user","content":[{"type":"input_text","text":"<environment_context>here</environment_context>"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t1","content_item_kinds":["environments.environment_context"],"content_item_metadata":[{"provenance":{"type":"harness","hook":false}}]}}}
        {"timestamp":"2026-11-29T16:00:06.000Z","type":"response_item","payload":{"type":"message","id":"msg_3","role":"user","content":[{"type":"input_text","text":"look around"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t1","content_item_kinds":["user.text"]}},"metadata":{"history_sequence":3}}
        {"timestamp":"2026-11-29T16:00:06.001Z","type":"event_msg","payload":{"type":"user_message","message":"look around","images":[],"local_images":[],"text_elements":[]}}
        {"timestamp":"2026-11-29T16:00:06.002Z","type":"turn_context","payload":{"turn_id":"t1","cwd":"/p","approval_policy":"never","model":"gpt-x","summary":"none","sandbox_policy":{"type":"read-only"}}}
        {"timestamp":"2026-11-29T16:00:08.000Z","type":"response_item","payload":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Look**"},{"type":"summary_text","text":"twice"}],"content":null,"encrypted_content":"ENC"}}
        {"timestamp":"2026-11-29T16:00:09.000Z","type":"response_item","payload":{"type":"message","id":"msg_4","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look","annotations":[]}]}}
        {"timestamp":"2026-11-29T16:00:10.000Z","type":"response_item","payload":{"type":"function_call","id":"fc_1","name":"exec_command","arguments":"{\"cmd\": \"ls\"}","call_id":"c1"}}
        {"timestamp":"2026-11-29T16:00:11.000Z","type":"response_item","payload":{"type":"custom_tool_call","id":"ct_1","name":"apply_patch","input":"*** Begin Patch","call_id":"c2","status":"completed"}}
        {"timestamp":"2026-11-29T16:00:12.000Z","type":"token_usage_record","payload":{"thread_id":"new","turn_id":"t1","session_id":"new","root_turn_id":"t1","response_id":"resp_0","usage":{"input_tokens":100,"cached_input_tokens":10,"cache_write_input_tokens":3,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120},"turn_token_usage":{},"thread_token_usage":{}}}
        {"timestamp":"2026-11-29T16:00:12.001Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"**Look**\n\ntwice"}}
        {"timestamp":"2026-11-29T16:00:12.002Z","type":"event_msg","payload":{"type":"agent_message","message":"I look"}}
        {"timestamp":"2026-11-29T16:00:13.000Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"done"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}
        {"timestamp":"2026-11-29T16:00:14.000Z","type":"response_item","payload":{"type":"function_call_output","id":"fco_1","call_id":"c1","output":"a.rs"}}
        {"timestamp":"2026-11-29T16:00:16.000Z","type":"response_item","payload":{"type":"message","id":"msg_5","role":"assistant","content":[{"type":"output_text","text":"one file"}]}}
        {"timestamp":"2026-11-29T16:00:17.000Z","type":"token_usage_record","payload":{"thread_id":"new","response_id":"resp_1","usage":{"input_tokens":130,"output_tokens":4},"session_id":"new"}}
        {"timestamp":"2026-11-29T16:00:17.001Z","type":"event_msg","payload":{"type":"agent_message","message":"one file"}}
        {"timestamp":"2026-11-29T16:00:17.002Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_id":"new","thread_name":"Files"}}
    "#]].assert_eq(&String::from_utf8(written.bytes).expect("text"));
    let left = read.left_out(0);
    assert_eq!((left.covered, left.elsewhere, left.of_other_kinds), (0, 0, 5));
}

const TALK: &str = r#"
    system: be brief
    user: see
      + image image/png base64 AA==
    assistant:
      + thinking SIG: hm
      + text: I look
      + call c1 Read {"b": 1, "a": []}
      + call c2 Read not json
      + origin anthropic claude-x
      + stop tool_use
    result c1: one
    result c2!:
      ++ text: two
      ++ image image/png base64 AA==
    harness: go on
    user: <environment_context> is what I type
    assistant: done
      + origin openai-responses gpt-x
    assistant: again
      + origin openai-responses gpt-x
      + stop cancelled
    assistant:
      + origin openai-responses gpt-x
    user:
    "#;

#[test]
fn a_conversation_from_elsewhere_becomes_a_session() {
    let messages = notation::parse(TALK).expect("well written");
    let heading = Heading {
        id: "01a2281c-a84b-7cc3-8d15-a086bde9bbbb".to_owned(),
        cwd: "/p".to_owned(),
        title: "primes".to_owned(),
        started: Timestamp(951_782_400_123),
    };
    let written = export(&messages, Format::Codex, &heading);
    let mut out = String::from_utf8(written.bytes.clone()).expect("text");
    for loss in &written.losses {
        out.push_str(&format!("-- {} {}\n", loss.message, loss.what));
    }
    let again = transcript_of(&written.bytes);
    assert_eq!(again.faults, []);
    out.push_str(&text(&main(&again).messages));
    expect![[r#"
        {"timestamp":"2000-02-29T00:00:00.123Z","type":"session_meta","payload":{"id":"01a2281c-a84b-7cc3-8d15-a086bde9bbbb","timestamp":"2000-02-29T00:00:00.123Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.171.0","source":"cli"}}
        {"timestamp":"2000-02-29T00:00:00.124Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"be brief"}]}}
        {"timestamp":"2000-02-29T00:00:00.125Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}
        {"timestamp":"2000-02-29T00:00:00.126Z","type":"event_msg","payload":{"type":"user_message","message":"see","images":[],"local_images":[],"text_elements":[]}}
        {"timestamp":"2000-02-29T00:00:00.127Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look"}]}}
        {"timestamp":"2000-02-29T00:00:00.128Z","type":"response_item","payload":{"type":"function_call","name":"Read","arguments":"{\"b\": 1, \"a\": []}","call_id":"c1"}}
        {"timestamp":"2000-02-29T00:00:00.129Z","type":"response_item","payload":{"type":"function_call","name":"Read","arguments":"not json","call_id":"c2"}}
        {"timestamp":"2000-02-29T00:00:00.130Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"hm"}}
        {"timestamp":"2000-02-29T00:00:00.131Z","type":"event_msg","payload":{"type":"agent_message","message":"I look"}}
        {"timestamp":"2000-02-29T00:00:00.132Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"one"}}
        {"timestamp":"2000-02-29T00:00:00.133Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}
        {"timestamp":"2000-02-29T00:00:00.134Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["unknown"],"content_item_metadata":[{"provenance":{"type":"harness","hook":false}}]}}}
        {"timestamp":"2000-02-29T00:00:00.135Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context> is what I type"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["user.text"],"content_item_metadata":[{"provenance":{"type":"user"}}]}}}
        {"timestamp":"2000-02-29T00:00:00.136Z","type":"event_msg","payload":{"type":"user_message","message":"<environment_context> is what I type","images":[],"local_images":[],"text_elements":[]}}
        {"timestamp":"2000-02-29T00:00:00.137Z","type":"turn_context","payload":{"cwd":"/p","approval_policy":"on-request","sandbox_policy":{"type":"read-only"},"model":"gpt-x","summary":"auto"}}
        {"timestamp":"2000-02-29T00:00:00.138Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}
        {"timestamp":"2000-02-29T00:00:00.139Z","type":"event_msg","payload":{"type":"agent_message","message":"done"}}
        {"timestamp":"2000-02-29T00:00:00.140Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"01a2281c-a84b-7cc3-8d15-a086bde9bbbb-0"}}
        {"timestamp":"2000-02-29T00:00:00.141Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"again"}]}}
        {"timestamp":"2000-02-29T00:00:00.142Z","type":"event_msg","payload":{"type":"agent_message","message":"again"}}
        {"timestamp":"2000-02-29T00:00:00.143Z","type":"event_msg","payload":{"type":"turn_aborted","turn_id":"01a2281c-a84b-7cc3-8d15-a086bde9bbbb-1","reason":"interrupted"}}
        {"timestamp":"2000-02-29T00:00:00.144Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}
        {"timestamp":"2000-02-29T00:00:00.145Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}
        {"timestamp":"2000-02-29T00:00:00.146Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_id":"01a2281c-a84b-7cc3-8d15-a086bde9bbbb","thread_name":"primes"}}
        -- 2 that claude-x of anthropic wrote it, here and below
        -- 2 reasoning that is signed for another wire
        -- 4 that the result of call "c2" is a failure
        system: be brief
        user: see
        + image image/png base64 "AA=="
        assistant: I look
        + call c1 Read {"b": 1, "a": []}
        + call c2 Read not json
        result c1: one
        result c2: two
        ++ image image/png base64 "AA=="
        harness: go on
        user: <environment_context> is what I type
        assistant: done
        + origin openai-responses gpt-x
        assistant: again
        + origin openai-responses gpt-x
        + stop cancelled
        assistant:
        + origin openai-responses gpt-x
        user:
    "#]].assert_eq(&out);
    round_trip(&again);
    assert_eq!(export(&messages, Format::Codex, &heading), written, "no clock and no chance");
}

#[test]
fn a_changed_message_keeps_the_rest() {
    let read = transcript(NEWEST, Format::Codex);
    let mut messages = main(&read).messages;
    // The custom call is gone, so its result would stand alone; the other result changes its words.
    for message in &mut messages {
        message.content.retain(|block| block.as_call().is_none_or(|call| call.id != "c2"));
        for block in &mut message.content {
            if let Content::ToolResult(result) = block
                && result.call_id == "c1"
            {
                result.content = vec![Part::text("b.rs")];
            }
        }
    }
    let written = read.write(0, &messages, "new").expect("there");
    assert_eq!(written.losses, []);
    let text = String::from_utf8(written.bytes.clone()).expect("text");
    for kept in [
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Look**"},{"type":"summary_text","text":"twice"}],"content":null,"encrypted_content":"ENC"}"#,
        r#"{"type":"output_text","text":"I look","annotations":[]}"#,
        r#""type":"function_call_output","call_id":"c1","output":"b.rs""#,
    ] {
        assert!(text.contains(kept), "{kept}\n{text}");
    }
    let again = main(&transcript_of(&written.bytes)).messages;
    assert_eq!(strip(&again), strip(&messages));
}

fn strip(messages: &[Message]) -> Vec<Message> {
    let mut messages = messages.to_vec();
    messages.iter_mut().for_each(|message| message.node = None);
    messages
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("hi".to_owned()),
        Just(String::new()),
        Just("<environment_context> or not".to_owned()),
        Just("Another language model started to solve this problem and produced a summary: x".to_owned()),
        "\\PC{0,8}",
        Just("two\nlines \"and\" \u{2028} signs \u{fffd}".to_owned()),
    ]
}

fn image() -> Media {
    Media { media_type: "image/png".to_owned(), source: MediaSource::Base64("AA==".to_owned()) }
}

fn opaque(json: &str) -> Content {
    Content::Opaque { wire: "openai-responses".to_owned(), json: json.to_owned() }
}

fn said() -> impl Strategy<Value = Vec<Content>> {
    let block = prop_oneof![
        4 => words().prop_map(Content::text),
        1 => Just(Content::Image(image())),
    ];
    prop::collection::vec(block, 0..3)
}

fn by_model() -> impl Strategy<Value = Message> {
    let id = prop_oneof![Just("c1".to_owned()), Just("c2".to_owned()), words()];
    let call = (id, words(), words());
    let call = call.prop_map(|(id, name, arguments)| {
        Content::ToolCall(ToolCall { id, name, arguments, signature: None })
    });
    let block = prop_oneof![
        words().prop_map(Content::text),
        call,
        Just(opaque(r#"{"type":"reasoning","summary":[],"encrypted_content":"E"}"#)),
        Just(opaque(r#"{"type":"web_search_call","status":"completed"}"#)),
        Just(opaque(r#"{"type":"function_dream"}"#)),
        Just(Content::Thinking { text: "hm".to_owned(), signature: None }),
    ];
    let model = prop_oneof![Just(None), Just(Some("m1")), Just(Some("m2")), Just(Some(""))];
    let usage = prop::option::of(0..3_u64);
    (prop::collection::vec(block, 0..4), model, usage, any::<bool>()).prop_map(
        |(content, model, usage, cut)| {
            let mut message = Message::new(Role::Assistant, Author::Model, content);
            message.origin = model.map(|model| Origin::new("openai-responses", model));
            message.usage = usage.map(|tokens| Usage { input_tokens: tokens, ..Usage::default() });
            message.stop = cut.then_some(StopReason::Cancelled);
            message
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let part = prop_oneof![words().prop_map(Part::text), Just(Part::Image(image()))];
    let id = prop_oneof![Just("c1".to_owned()), Just("c2".to_owned())];
    let result = (id, prop::collection::vec(part, 0..3), any::<bool>());
    prop_oneof![
        said().prop_map(|content| Message::new(Role::User, Author::Person, content)),
        said().prop_map(|content| Message::new(Role::User, Author::Harness, content)),
        said().prop_map(|content| Message::new(Role::System, Author::Harness, content)),
        by_model(),
        by_model(),
        result.prop_map(|(call_id, content, is_error)| {
            let result = ToolResult { call_id, content, is_error };
            Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)])
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_or_a_loss_says_so(
        messages in prop::collection::vec(message(), 0..8),
        kept in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let heading = Heading { id: "01a2281c-a84b-7cc3-8d15-a086bde9bbbb".to_owned(), ..Heading::default() };
        let written = export(&messages, Format::Codex, &heading);
        let first = transcript_of(&written.bytes);
        prop_assert_eq!(&first.faults, &[]);
        let read = main(&first).messages;
        if written.losses.is_empty() {
            prop_assert_eq!(strip(&read), strip(&messages));
        }
        // The same once more in another order, with some left out and some twice.
        let chosen: Vec<Message> = kept.iter().filter(|_| !read.is_empty()).map(|at| at.get(&read).clone()).collect();
        let written = first.write(0, &chosen, "new").expect("it is there");
        let again = transcript_of(&written.bytes);
        prop_assert_eq!(&again.faults, &[]);
        if written.losses.is_empty() {
            prop_assert_eq!(strip(&main(&again).messages), strip(&chosen));
        }
    }
}
