//! The OpenAI Chat wire, text in and text out.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_message_tree::{Message, ToolChoice, ToolSpec};
use trunkline_providers::{Dialect, OpenAiChat, Thinking};

use crate::replies::{body, decode, fold, report, request};

fn check_encode(conversation: &str, expected: Expect) {
    expected.assert_eq(&body(&OpenAiChat::default(), &request(conversation)));
}

fn check_decode(stream: &str, expected: Expect) {
    expected.assert_eq(&report(&OpenAiChat::default(), &framed(stream)));
}

/// One event for each line.
fn framed(stream: &str) -> String {
    let events: Vec<String> = stream
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    events.concat()
}

#[test]
fn each_result_is_a_message_of_its_own() {
    check_encode(
        "system: be brief
         user: hello
         assistant:
           + call c1 read_file {\"path\":  \"a.rs\"}
           + call c2 read_file
         result c1: 42
           ++ text: more
         result c2!: no such file
         user: and?",
        expect![[r#"
            {
              "max_tokens": 8192,
              "messages": [
                {
                  "content": "be brief",
                  "role": "system"
                },
                {
                  "content": "hello",
                  "role": "user"
                },
                {
                  "content": "",
                  "role": "assistant",
                  "tool_calls": [
                    {
                      "function": {
                        "arguments": "{\"path\":  \"a.rs\"}",
                        "name": "read_file"
                      },
                      "id": "c1",
                      "type": "function"
                    },
                    {
                      "function": {
                        "arguments": "{}",
                        "name": "read_file"
                      },
                      "id": "c2",
                      "type": "function"
                    }
                  ]
                },
                {
                  "content": "42\nmore",
                  "role": "tool",
                  "tool_call_id": "c1"
                },
                {
                  "content": "no such file",
                  "role": "tool",
                  "tool_call_id": "c2"
                },
                {
                  "content": "and?",
                  "role": "user"
                }
              ],
              "model": "m",
              "stream": true,
              "stream_options": {
                "include_usage": true
              }
            }"#]],
    );
}

#[test]
fn an_empty_root_is_left_out() {
    check_encode(
        "system:\nuser: hi",
        expect![[r#"
        {
          "max_tokens": 8192,
          "messages": [
            {
              "content": "hi",
              "role": "user"
            }
          ],
          "model": "m",
          "stream": true,
          "stream_options": {
            "include_usage": true
          }
        }"#]],
    );
}

#[test]
fn instructions_that_say_nothing_are_left_out_beside_others_and_are_never_an_empty_list() {
    let openrouter = OpenAiChat::new(Dialect::openrouter());
    let sent = |list| {
        let body: Value = serde_json::from_str(&body(&openrouter, &request(list))).expect("JSON");
        body["messages"].to_string() + "\n"
    };
    expect![[r#"
        [{"content":[{"text":"be brief","type":"text"}],"role":"system"}]
        [{"content":"","role":"system"}]
    "#]]
    .assert_eq(&(sent("system:\nsystem: be brief") + &sent("system:")));
}

#[test]
fn pictures_make_a_list_of_parts() {
    check_encode(
        "user: look
           + image image/png base64 AAAA
           + image image/png url \"https://example.com/a.png\"
           + document application/pdf base64 BBBB",
        expect![[r#"
            {
              "max_tokens": 8192,
              "messages": [
                {
                  "content": [
                    {
                      "text": "look",
                      "type": "text"
                    },
                    {
                      "image_url": {
                        "url": "data:image/png;base64,AAAA"
                      },
                      "type": "image_url"
                    },
                    {
                      "image_url": {
                        "url": "https://example.com/a.png"
                      },
                      "type": "image_url"
                    },
                    {
                      "file": {
                        "file_data": "data:application/pdf;base64,BBBB",
                        "filename": "document.pdf"
                      },
                      "type": "file"
                    }
                  ],
                  "role": "user"
                }
              ],
              "model": "m",
              "stream": true,
              "stream_options": {
                "include_usage": true
              }
            }"#]],
    );
}

#[test]
fn dialects_differ_in_fields() {
    let mut request = request(
        "user: hi
         assistant:
           + thinking: hmm
           + call c1 f {}
         result c1: ok",
    );
    request.thinking = Thinking::Budget(4096);
    request.tools = vec![ToolSpec {
        name: "f".into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        strict: None,
    }];
    request.tool_choice = ToolChoice::Named("f".into());
    let mut text = String::new();
    for host in ["localhost", "api.openai.com", "openrouter.ai", "api.deepseek.com", "api.mistral.ai"] {
        let wire = OpenAiChat::new(Dialect::for_host(host));
        let encoded: Value = serde_json::from_str(&body(&wire, &request)).expect("legal");
        let mut fields = encoded.as_object().expect("an object").clone();
        let messages = fields.remove("messages").expect("messages");
        fields.remove("tools");
        text.push_str(&format!("{host}: {}\n  {}\n", json!(fields), messages[1]));
    }
    expect![[r#"
        localhost: {"max_tokens":8192,"model":"m","reasoning_effort":"medium","stream":true,"stream_options":{"include_usage":true},"tool_choice":{"function":{"name":"f"},"type":"function"}}
          {"content":"","reasoning_content":"hmm","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c1","type":"function"}]}
        api.openai.com: {"max_completion_tokens":8192,"model":"m","reasoning_effort":"medium","stream":true,"stream_options":{"include_usage":true},"tool_choice":{"function":{"name":"f"},"type":"function"}}
          {"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c1","type":"function"}]}
        openrouter.ai: {"max_tokens":8192,"model":"m","reasoning":{"max_tokens":4096},"stream":true,"stream_options":{"include_usage":true},"tool_choice":{"function":{"name":"f"},"type":"function"}}
          {"content":"","reasoning":"hmm","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c1","type":"function"}]}
        api.deepseek.com: {"max_tokens":8192,"model":"m","reasoning_effort":"medium","stream":true,"stream_options":{"include_usage":true},"thinking":{"type":"enabled"}}
          {"content":"","reasoning_content":"hmm","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c1","type":"function"}]}
        api.mistral.ai: {"max_tokens":8192,"model":"m","reasoning_effort":"medium","stream":true,"tool_choice":{"function":{"name":"f"},"type":"function"}}
          {"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c1","type":"function"}]}
    "#]].assert_eq(&text);
}

#[test]
fn a_call_is_put_together_from_its_pieces() {
    check_decode(
        r#"
        {"id":"c1","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"reasoning_content":"m","reasoning":"m"},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"content":"Reading"},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"content":" it."},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_A","type":"function","function":{"name":"read_file","arguments":""}}]},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_B","type":"function","function":{"name":"list","arguments":"{}"}}]},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.rs\"}"}}]},"finish_reason":null}]}
        {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
        {"id":"c1","model":"m-1","choices":[],"usage":{"prompt_tokens":90,"completion_tokens":12,"total_tokens":102,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":5}}}
        [DONE]
        "#,
        expect![[r#"
            Started { model: "m-1", id: Some("c1") }
            ThinkingDelta("hm")
            ThinkingDelta("m")
            BlockDone
            TextDelta("Reading")
            TextDelta(" it.")
            BlockDone
            CallStarted { index: 0, id: "call_A", name: "read_file" }
            ArgumentsDelta { index: 0, text: "{\"path\":" }
            CallStarted { index: 1, id: "call_B", name: "list" }
            ArgumentsDelta { index: 0, text: "\"a.rs\"}" }
            Usage(Usage { input_tokens: 90, output_tokens: 12, cache_read_tokens: 64, cache_write_tokens: 0, reasoning_tokens: 5 })
            CallDone { index: 0 }
            ArgumentsDelta { index: 1, text: "{}" }
            CallDone { index: 1 }
            Stopped(ToolUse)
            --
            assistant:
            + thinking: hmm
            + text: Reading it.
            + call call_A read_file {"path":"a.rs"}
            + call call_B list {}
            + origin openai-chat m
            + stop tool_use
        "#]],
    );
}

#[test]
fn calls_are_told_apart_however_a_dialect_marks_them() {
    // No index; index 0 for all; id and name in every piece; no id; an object for arguments.
    for pieces in [
        r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":"}} {"function":{"arguments":"1}"}} {"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}} {"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}} {"index":0,"id":"a","function":{"name":"f","arguments":"1}"}} {"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        r#"{"id":"a","function":{"name":"f","arguments":{"x":1}}} {"id":"b","function":{"name":"g","arguments":{}}}"#,
        r#"{"index":0,"id":"a"} {"index":0,"function":{"arguments":"{\"x\":1}"}} {"index":0,"function":{"name":"f"}} {"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
    ] {
        let mut stream = String::new();
        for piece in serde_json::Deserializer::from_str(pieces).into_iter::<Value>() {
            let piece = piece.expect("the test's own JSON");
            stream
                .push_str(&format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [piece]}}]})));
        }
        stream.push_str("data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
        let report = report(&OpenAiChat::default(), &stream);
        let message = report.split("--\n").nth(1).unwrap_or_default();
        expect![[r#"
            assistant:
            + call a f {"x":1}
            + call b g {}
            + origin openai-chat m
            + stop tool_use
        "#]]
        .assert_eq(message);
    }
}

#[test]
fn content_may_be_a_list_of_parts() {
    check_decode(
        r#"
        {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hmm"}]}]}}]}
        {"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"hi"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}
        "#,
        expect![[r#"
            Started { model: "", id: None }
            ThinkingDelta("hmm")
            BlockDone
            TextDelta("hi")
            Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            BlockDone
            Stopped(EndTurn)
            --
            assistant:
            + thinking: hmm
            + text: hi
            + origin openai-chat m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_stream_without_a_reason_and_without_a_mark_is_cut() {
    check_decode(
        r#"
        {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"half a sen"}}]}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("c1") }
            TextDelta("half a sen")
            --
            assistant: half a sen
            + origin openai-chat m
            -- the answer was cut off before its end
        "#]],
    );
}

#[test]
fn a_count_at_the_end_stands_for_a_reason_that_never_comes() {
    check_decode(
        r#"
        {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"hi"}}]}
        {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}
        [DONE]
        "#,
        expect![[r#"
            Started { model: "m", id: Some("c1") }
            TextDelta("hi")
            Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            BlockDone
            Stopped(EndTurn)
            --
            assistant: hi
            + origin openai-chat m
            + stop end_turn
        "#]],
    );
}

#[test]
fn an_error_inside_a_stream_is_reported() {
    check_decode(
        r#"
        {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"hi"}}]}
        {"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream\nfailed"}}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("c1") }
            TextDelta("hi")
            --
            assistant: hi
            + origin openai-chat m
            -- the provider failed while answering: Provider returned error: upstream failed
        "#]],
    );
}

#[test]
fn a_whole_completion_is_read_like_a_stream() {
    expect![[r#"
        Started { model: "m", id: Some("c1") }
        ThinkingDelta("hmm")
        BlockDone
        TextDelta("hi")
        BlockDone
        CallStarted { index: 0, id: "call_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{\"b\": 1.00}" }
        CallStarted { index: 1, id: "call_B", name: "g" }
        ArgumentsDelta { index: 1, text: "{}" }
        Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        CallDone { index: 0 }
        CallDone { index: 1 }
        Wants(ReasoningInReasoning)
        Stopped(ToolUse)
        --
        assistant:
        + thinking: hmm
        + text: hi
        + call call_A f {"b": 1.00}
        + call call_B g {}
        + origin openai-chat m
        + stop tool_use
    "#]].assert_eq(&report(
        &OpenAiChat::default(),
        r#" {"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning":"hmm","tool_calls":[{"id":"call_A","type":"function","function":{"name":"f","arguments":"{\"b\": 1.00}"}},{"id":"call_B","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
    ));
}

#[test]
fn a_web_page_is_not_an_answer() {
    let report = report(&OpenAiChat::default(), "\n<!doctype html><html></html>");
    expect![[r#"
        --
        assistant:
        + origin openai-chat m
        -- an HTML page instead of an API response
    "#]]
    .assert_eq(&report);
}

#[test]
fn signed_reasoning_of_a_router_goes_back_as_one_list_whose_pieces_are_joined() {
    let stream = r#"
        {"id":"g1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"anthropic-claude-v1","index":0}]}}]}
        {"choices":[{"index":0,"delta":{"reasoning":"look","reasoning_details":[{"type":"reasoning.text","text":"look","format":"anthropic-claude-v1","index":0}]}}]}
        {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"x/y","id":"rs_1","index":1}]}}]}
        {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}
        {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
        [DONE]"#;
    check_decode(
        stream,
        expect![[r#"
        Started { model: "m", id: Some("g1") }
        ThinkingDelta("I ")
        ThinkingDelta("look")
        BlockDone
        CallStarted { index: 0, id: "c1", name: "f" }
        ArgumentsDelta { index: 0, text: "{}" }
        CallDone { index: 0 }
        Replace { blocks: 0..0, with: Opaque { wire: "openai-chat", json: "{\"reasoning_details\":[{\"format\":\"anthropic-claude-v1\",\"index\":0,\"signature\":\"c2ln\",\"text\":\"I look\",\"type\":\"reasoning.text\"},{\"data\":\"x/y\",\"id\":\"rs_1\",\"index\":1,\"type\":\"reasoning.encrypted\"}],\"type\":\"reasoning\"}" } }
        Wants(ReasoningInReasoning)
        Stopped(ToolUse)
        --
        assistant:
        + opaque openai-chat {"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"c2ln","text":"I look","type":"reasoning.text"},{"data":"x/y","id":"rs_1","index":1,"type":"reasoning.encrypted"}],"type":"reasoning"}
        + thinking: I look
        + call c1 f {}
        + origin openai-chat m
        + stop tool_use
    "#]],
    );
    let (events, _) = decode(&OpenAiChat::default(), [framed(stream).as_bytes()]);
    let answer = fold("openrouter", &events).finish();
    let mut request = request("user: hi");
    request.messages.extend([answer.into(), Message::tool_result("c1", "ok", false).into()]);
    for (dialect, goes_back) in [(Dialect::openrouter(), true), (Dialect::default(), false)] {
        let body: Value =
            serde_json::from_str(&body(&OpenAiChat::new(dialect), &request)).expect("it is JSON");
        let expected = json!([
            {"type": "reasoning.text", "text": "I look", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.encrypted", "data": "x/y", "id": "rs_1", "index": 1},
        ]);
        assert_eq!(body["messages"][1].get("reasoning_details"), goes_back.then_some(&expected));
        assert_eq!(body["messages"][1]["content"], "");
    }
}

#[test]
fn reasoning_that_stands_in_the_details_alone_is_shown_and_not_carried_without_a_signature() {
    check_decode(
        r#"
        {"id":"g1","model":"m","choices":[{"index":0,"delta":{"content":"","reasoning_details":[{"type":"reasoning.text","text":"15","index":0}]}}]}
        {"choices":[{"index":0,"delta":{"content":"so"},"finish_reason":"stop"}]}
        [DONE]"#,
        expect![[r#"
            Started { model: "m", id: Some("g1") }
            ThinkingDelta("15")
            BlockDone
            TextDelta("so")
            BlockDone
            Wants(ReasoningInDetails)
            Stopped(EndTurn)
            --
            assistant:
            + thinking: 15
            + text: so
            + origin openai-chat m
            + stop end_turn
        "#]],
    );
}

#[test]
fn documents_travel_as_each_server_takes_them() {
    let request =
        request("user: read\n+ document text/csv base64 YSxi\n+ document application/pdf base64 AAAA");
    let mut lines = String::new();
    for dialect in [Dialect::openai(), Dialect::mistral(), Dialect::deepseek()] {
        let body = body(&OpenAiChat::new(dialect), &request);
        let parts = serde_json::from_str::<Value>(&body)
            .map_or(body, |body| body["messages"][0]["content"].to_string());
        lines.push_str(&format!("{parts}\n"));
    }
    expect![[r#"
        [{"text":"read","type":"text"},{"file":{"file_data":"data:text/csv;base64,YSxi","filename":"document.csv"},"type":"file"},{"file":{"file_data":"data:application/pdf;base64,AAAA","filename":"document.pdf"},"type":"file"}]
        [{"text":"read","type":"text"},{"document_url":"data:text/csv;base64,YSxi","type":"document_url"},{"document_url":"data:application/pdf;base64,AAAA","type":"document_url"}]
        refused: message 0: the openai-chat wire has no place for a document here
    "#]].assert_eq(&lines);
}
