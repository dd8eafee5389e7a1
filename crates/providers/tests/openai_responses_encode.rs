//! The OpenAI Responses wire, text in.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_message_tree::{ToolChoice, ToolSpec};
use trunkline_providers::{OpenAiResponses, Thinking, Wire};

use crate::replies::{body, request};

fn check_encode(conversation: &str, expected: Expect) {
    expected.assert_eq(&body(&OpenAiResponses::new(), &request(conversation)));
}

/// The input alone, one item a line.
fn check_input(conversation: &str, expected: Expect) {
    expected.assert_eq(&input(conversation));
}

fn input(conversation: &str) -> String {
    let encoded = OpenAiResponses::new().encode(&request(conversation)).expect("legal");
    let body: serde_json::Value = serde_json::from_slice(&encoded.body.to_vec()).expect("the body is JSON");
    let items = body["input"].as_array().expect("a list");
    items.iter().map(|item| format!("{item}\n")).collect()
}

#[test]
fn messages_become_items() {
    check_encode(
        "system: be brief
         user: hello
         assistant: let me look
           + call c1 read_file {\"path\":  \"a.rs\"}
           + call c2 read_file
         result c1: 42
           ++ text: more
         result c2!: no such file
         user: and?",
        expect![[r#"
            {
              "include": [
                "reasoning.encrypted_content"
              ],
              "input": [
                {
                  "content": "be brief",
                  "role": "system"
                },
                {
                  "content": "hello",
                  "role": "user"
                },
                {
                  "content": "let me look",
                  "role": "assistant",
                  "type": "message"
                },
                {
                  "arguments": "{\"path\":  \"a.rs\"}",
                  "call_id": "c1",
                  "name": "read_file",
                  "type": "function_call"
                },
                {
                  "arguments": "{}",
                  "call_id": "c2",
                  "name": "read_file",
                  "type": "function_call"
                },
                {
                  "call_id": "c1",
                  "output": "42\nmore",
                  "type": "function_call_output"
                },
                {
                  "call_id": "c2",
                  "output": "no such file",
                  "type": "function_call_output"
                },
                {
                  "content": "and?",
                  "role": "user"
                }
              ],
              "max_output_tokens": 8192,
              "model": "m",
              "store": false,
              "stream": true
            }"#]],
    );
}

#[test]
fn an_empty_root_is_left_out() {
    check_input(
        "system:\nuser: hi",
        expect![[r#"
        {"content":"hi","role":"user"}
    "#]],
    );
}

#[test]
fn pictures_and_documents_travel_in_messages_and_in_results() {
    check_input(
        "user: look
           + image image/png base64 AAAA
           + image image/png url \"https://example.com/a.png\"
           + document application/pdf base64 BBBB
           + document application/pdf url \"https://example.com/a.pdf\"
         assistant:
           + call c1 shot {}
         result c1: here
           ++ image image/png base64 CCCC",
        expect![[r#"
            {"content":[{"text":"look","type":"input_text"},{"image_url":"data:image/png;base64,AAAA","type":"input_image"},{"image_url":"https://example.com/a.png","type":"input_image"},{"file_data":"data:application/pdf;base64,BBBB","filename":"document.pdf","type":"input_file"},{"file_url":"https://example.com/a.pdf","type":"input_file"}],"role":"user"}
            {"arguments":"{}","call_id":"c1","name":"shot","type":"function_call"}
            {"call_id":"c1","output":[{"text":"here","type":"input_text"},{"image_url":"data:image/png;base64,CCCC","type":"input_image"}],"type":"function_call_output"}
        "#]],
    );
}

#[test]
fn results_in_a_user_message_are_items_before_its_words() {
    check_input(
        "user: hi
         assistant:
           + call c1 f {}
         user:
           + result c1: 42
           + text: here
           + text: there",
        expect![[r#"
            {"content":"hi","role":"user"}
            {"arguments":"{}","call_id":"c1","name":"f","type":"function_call"}
            {"call_id":"c1","output":"42","type":"function_call_output"}
            {"content":[{"text":"here","type":"input_text"},{"text":"there","type":"input_text"}],"role":"user"}
        "#]],
    );
}

#[test]
fn raw_items_and_raw_parts_are_told_apart() {
    check_input(
        "user: hi
           + opaque openai-responses {\"type\":\"input_audio\",\"data\":\"AAAA\"}
           + opaque openai-responses {\"type\":\"mcp_approval_response\",\"approve\":true}
           + text: go on",
        expect![[r#"
            {"content":[{"text":"hi","type":"input_text"},{"data":"AAAA","type":"input_audio"}],"role":"user"}
            {"approve":true,"type":"mcp_approval_response"}
            {"content":"go on","role":"user"}
        "#]],
    );
}

#[test]
fn reasoning_of_other_wires_is_left_out() {
    check_input(
        "user: hi
         assistant:
           + thinking sig: hmm
           + text: hello
         user: go on
         assistant:
           + thinking: only this
         user: well?",
        expect![[r#"
            {"content":"hi","role":"user"}
            {"content":"hello","role":"assistant","type":"message"}
            {"content":"go on","role":"user"}
            {"content":"well?","role":"user"}
        "#]],
    );
}

#[test]
fn what_is_asked_for_has_its_fields() {
    let mut request = request("user: hi");
    request.thinking = Thinking::Budget(4096);
    request.temperature = Some(0.5);
    request.stream = false;
    request.tools = vec![ToolSpec {
        name: "f".into(),
        description: "does it".into(),
        input_schema: json!({"type": "object"}),
        strict: None,
    }];
    request.tool_choice = ToolChoice::Named("f".into());
    request.extra.insert("store".into(), json!(true));
    let encoded = OpenAiResponses::new().encode(&request).expect("legal");
    assert_eq!((encoded.method, encoded.path.as_str()), ("POST", "/v1/responses"));
    expect![[r#"{"include":["reasoning.encrypted_content"],"max_output_tokens":8192,"model":"m","reasoning":{"effort":"medium"},"store":true,"temperature":0.5,"tool_choice":{"type":"function","name":"f"},"tools":[{"type":"function","name":"f","description":"does it","parameters":{"type":"object"},"strict":false}],"input":[{"role":"user","content":"hi"}]}"#]].assert_eq(&String::from_utf8(encoded.body.to_vec()).expect("JSON is UTF-8"));

    request.tool_choice = ToolChoice::Any;
    let encoded = OpenAiResponses::without_reasoning().encode(&request).expect("legal");
    expect![[r#"{"max_output_tokens":8192,"model":"m","reasoning":{"effort":"medium"},"store":true,"temperature":0.5,"tool_choice":"required","tools":[{"type":"function","name":"f","description":"does it","parameters":{"type":"object"},"strict":false}],"input":[{"role":"user","content":"hi"}]}"#]].assert_eq(&String::from_utf8(encoded.body.to_vec()).expect("JSON is UTF-8"));
}
