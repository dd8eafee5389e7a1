//! A conversation in another format: what has no place is said.

use expect_test::{Expect, expect};
use trunkline_message_tree::{Timestamp, notation};
use trunkline_transcripts::{Format, Heading, export, read_as};

use crate::show::{main, text};

const TALK: &str = r#"
    system: be brief
    user: see
      + image image/png base64 AA==
    assistant:
      + thinking SIG: hm
      + text: I look
      + call c1 Read {"b": 1, "a": []}
      + call c2 Read {}
      + origin anthropic claude-x
      + stop tool_use
    result c1: one
    result c2!:
      ++ text: two
      ++ image image/png base64 AA==
    harness: go on
    assistant: done
    "#;

fn check(format: Format, expected: Expect) {
    let messages = notation::parse(TALK).expect("well written");
    let heading = Heading {
        id: "6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11".to_owned(),
        cwd: "/p".to_owned(),
        title: "primes".to_owned(),
        started: Timestamp(951_782_400_123),
    };
    let written = export(&messages, format, &heading);
    let mut out = String::from_utf8(written.bytes.clone()).expect("text");
    for loss in &written.losses {
        out.push_str(&format!("\n-- {} {}", loss.message, loss.what));
    }
    out.push('\n');
    let again = read_as(&written.bytes, format).expect("of that format");
    out.push_str(&text(&main(&again).messages));
    expected.assert_eq(&out);
}

#[test]
fn for_anthropic_everything_has_a_place() {
    check(
        Format::Anthropic,
        expect![[r#"
            {"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"SIG"},{"type":"text","text":"I look"},{"type":"tool_use","id":"c1","name":"Read","input":{"b": 1, "a": []}},{"type":"tool_use","id":"c2","name":"Read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}],"is_error":true},{"type":"text","text":"go on"}]},{"role":"assistant","content":[{"type":"text","text":"done"}]}]}
            system: be brief
            user: see
            + image image/png base64 "AA=="
            assistant:
            + thinking SIG: hm
            + text: I look
            + call c1 Read {"b": 1, "a": []}
            + call c2 Read {}
            user:
            + result c1: one
            + result c2!: two
            ++ image image/png base64 "AA=="
            + text: go on
            assistant: done
        "#]],
    );
}

#[test]
fn for_openai_signed_reasoning_and_pictures_in_results_have_none() {
    check(
        Format::OpenAiChat,
        expect![[r#"
            {"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},{"role":"assistant","content":"I look","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"b\": 1, \"a\": []}"}},{"id":"c2","type":"function","function":{"name":"Read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":"two"},{"role":"user","content":"go on"},{"role":"assistant","content":"done"}]}
            -- 2 reasoning that is signed for another wire
            -- 4 the image in the result of call "c2"
            system: be brief
            user: see
            + image image/png base64 "AA=="
            assistant: I look
            + call c1 Read {"b": 1, "a": []}
            + call c2 Read {}
            result c1: one
            result c2: two
            user: go on
            assistant: done
        "#]],
    );
}

#[test]
fn for_claude_code_instructions_have_none() {
    check(
        Format::ClaudeCode,
        expect![[r#"
            {"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/p","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","version":"2.1.42","gitBranch":"","type":"user","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},"uuid":"d8c28623-e1f8-8232-96f6-7dd1b383b065","timestamp":"2000-02-29T00:00:00.123Z"}
            {"parentUuid":"d8c28623-e1f8-8232-96f6-7dd1b383b065","isSidechain":false,"userType":"external","cwd":"/p","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","version":"2.1.42","gitBranch":"","type":"assistant","message":{"id":"msg_9accf811cc198df094ec0be3c96244a7","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"SIG"},{"type":"text","text":"I look"},{"type":"tool_use","id":"c1","name":"Read","input":{"b": 1, "a": []}},{"type":"tool_use","id":"c2","name":"Read","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"f7bd4d2c-ece7-8c53-b7fb-b6c8a8946644","timestamp":"2000-02-29T00:00:00.124Z"}
            {"parentUuid":"f7bd4d2c-ece7-8c53-b7fb-b6c8a8946644","isSidechain":false,"userType":"external","cwd":"/p","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","version":"2.1.42","gitBranch":"","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}],"is_error":true},{"type":"text","text":"go on"}]},"uuid":"9accf811-cc19-8df0-94ec-0be3c96244a7","timestamp":"2000-02-29T00:00:00.125Z","isMeta":true}
            {"parentUuid":"9accf811-cc19-8df0-94ec-0be3c96244a7","isSidechain":false,"userType":"external","cwd":"/p","sessionId":"6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11","version":"2.1.42","gitBranch":"","type":"assistant","message":{"id":"msg_54ada2480db58ab69b0b61ad87c687e1","type":"message","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"done"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"b9c7bf1a-d708-8811-b5f1-44dabe72fa86","timestamp":"2000-02-29T00:00:00.126Z"}

            -- 0 instructions: the client writes its own into every request
            user: see
            + image image/png base64 "AA=="
            assistant:
            + thinking SIG: hm
            + text: I look
            + call c1 Read {"b": 1, "a": []}
            + call c2 Read {}
            + origin anthropic claude-x
            + stop tool_use
            harness:
            + result c1: one
            + result c2!: two
            ++ image image/png base64 "AA=="
            + text: go on
            assistant: done
        "#]],
    );
}
