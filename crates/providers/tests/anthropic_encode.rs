//! Requests on the Anthropic wire, text in and text out.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_message_tree::{ToolChoice, ToolSpec};
use trunkline_providers::{Anthropic, Cache, Effort, Thinking, Wire};

use crate::replies::{body, request};

fn check_encode(conversation: &str, expected: Expect) {
    expected.assert_eq(&body(&Anthropic::new(), &request(conversation)));
}

fn read_file() -> ToolSpec {
    ToolSpec {
        name: "read_file".into(),
        description: "reads a file".into(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        strict: None,
    }
}

#[test]
fn results_and_the_words_after_them_are_one_user_message() {
    check_encode(
        "system: be brief
         user: hello
         assistant: let me look
           + call c1 read_file {\"path\":  \"a.rs\", \"path2\": 1.0}
           + call c2 read_file
         result c1: 42
         result c2!: no such file
         user: and?",
        expect![[r#"
            {
              "max_tokens": 8192,
              "messages": [
                {
                  "content": [
                    {
                      "text": "hello",
                      "type": "text"
                    }
                  ],
                  "role": "user"
                },
                {
                  "content": [
                    {
                      "text": "let me look",
                      "type": "text"
                    },
                    {
                      "id": "c1",
                      "input": {
                        "path": "a.rs",
                        "path2": 1.0
                      },
                      "name": "read_file",
                      "type": "tool_use"
                    },
                    {
                      "id": "c2",
                      "input": {},
                      "name": "read_file",
                      "type": "tool_use"
                    }
                  ],
                  "role": "assistant"
                },
                {
                  "content": [
                    {
                      "content": "42",
                      "tool_use_id": "c1",
                      "type": "tool_result"
                    },
                    {
                      "content": "no such file",
                      "is_error": true,
                      "tool_use_id": "c2",
                      "type": "tool_result"
                    },
                    {
                      "text": "and?",
                      "type": "text"
                    }
                  ],
                  "role": "user"
                }
              ],
              "model": "m",
              "stream": true,
              "system": [
                {
                  "text": "be brief",
                  "type": "text"
                }
              ]
            }"#]],
    );
}

#[test]
fn arguments_reach_the_wire_byte_for_byte() {
    let request = request(
        "user: hello
         assistant:
           + call c1 f {\"b\":1.00,  \"a\": \"\\\\u00e9\"}
         result c1: ok",
    );
    let encoded = Anthropic::new().encode(&request).expect("legal");
    let text = String::from_utf8(encoded.body.to_vec()).expect("JSON is UTF-8");
    assert!(text.contains(r#""input":{"b":1.00,  "a": "\u00e9"}"#), "{text}");
}

#[test]
fn breakpoints_stand_on_tools_instructions_and_the_two_newest_user_messages() {
    let mut request = request(
        "system: be brief
         user: one
         assistant: a
         user: two
         assistant:
           + call c1 read_file {}
         result c1: 42",
    );
    request.cache = Cache::Short;
    request.tools = vec![read_file()];
    request.tool_choice = ToolChoice::Any;
    request.stream = false;
    request.temperature = Some(0.5);
    expect![[r#"
        {
          "max_tokens": 8192,
          "messages": [
            {
              "content": [
                {
                  "text": "one",
                  "type": "text"
                }
              ],
              "role": "user"
            },
            {
              "content": [
                {
                  "text": "a",
                  "type": "text"
                }
              ],
              "role": "assistant"
            },
            {
              "content": [
                {
                  "cache_control": {
                    "type": "ephemeral"
                  },
                  "text": "two",
                  "type": "text"
                }
              ],
              "role": "user"
            },
            {
              "content": [
                {
                  "id": "c1",
                  "input": {},
                  "name": "read_file",
                  "type": "tool_use"
                }
              ],
              "role": "assistant"
            },
            {
              "content": [
                {
                  "cache_control": {
                    "type": "ephemeral"
                  },
                  "content": "42",
                  "tool_use_id": "c1",
                  "type": "tool_result"
                }
              ],
              "role": "user"
            }
          ],
          "model": "m",
          "system": [
            {
              "cache_control": {
                "type": "ephemeral"
              },
              "text": "be brief",
              "type": "text"
            }
          ],
          "temperature": 0.5,
          "tool_choice": {
            "type": "any"
          },
          "tools": [
            {
              "cache_control": {
                "type": "ephemeral"
              },
              "description": "reads a file",
              "input_schema": {
                "properties": {
                  "path": {
                    "type": "string"
                  }
                },
                "type": "object"
              },
              "name": "read_file"
            }
          ]
        }"#]]
    .assert_eq(&body(&Anthropic::new(), &request));
}

#[test]
fn reasoning_goes_back_in_place_with_its_signature() {
    let mut request = request(
        "user: hello
         assistant:
           + thinking s1g: hmm
           + redacted: b64
           + text: hi
           + server-call srv1 {\"type\":\"server_tool_use\",\"id\":\"srv1\",\"name\":\"web_search\",\"input\":{}}
           + server-result srv1 {\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv1\",\"content\":[]}
           + opaque anthropic {\"type\":\"compaction\",\"content\":\"short\"}
         user: more",
    );
    request.thinking = Thinking::Budget(2048);
    expect![[r#"
        {
          "max_tokens": 8192,
          "messages": [
            {
              "content": [
                {
                  "text": "hello",
                  "type": "text"
                }
              ],
              "role": "user"
            },
            {
              "content": [
                {
                  "signature": "s1g",
                  "thinking": "hmm",
                  "type": "thinking"
                },
                {
                  "data": "b64",
                  "type": "redacted_thinking"
                },
                {
                  "text": "hi",
                  "type": "text"
                },
                {
                  "id": "srv1",
                  "input": {},
                  "name": "web_search",
                  "type": "server_tool_use"
                },
                {
                  "content": [],
                  "tool_use_id": "srv1",
                  "type": "web_search_tool_result"
                },
                {
                  "content": "short",
                  "type": "compaction"
                }
              ],
              "role": "assistant"
            },
            {
              "content": [
                {
                  "text": "more",
                  "type": "text"
                }
              ],
              "role": "user"
            }
          ],
          "model": "m",
          "stream": true,
          "thinking": {
            "budget_tokens": 2048,
            "type": "enabled"
          }
        }"#]]
    .assert_eq(&body(&Anthropic::new(), &request));
}

#[test]
fn a_field_of_the_caller_replaces_ours() {
    let mut request = request("user: hi");
    request.extra.insert("max_tokens".into(), json!(7));
    request.extra.insert("metadata".into(), json!({"user_id": "u"}));
    let encoded = Anthropic::new().encode(&request).expect("legal");
    expect![[r#"{"max_tokens":7,"metadata":{"user_id":"u"},"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#]].assert_eq(&String::from_utf8(encoded.body.to_vec()).expect("JSON is UTF-8"));
}

#[test]
fn pictures_travel_in_messages_and_in_results() {
    check_encode(
        "user: look
           + image image/png base64 AAAA
           + document application/pdf url \"https://example.com/a.pdf\"
         assistant:
           + call c1 shot {}
         result c1: here
           ++ image image/png base64 BBBB",
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
                      "source": {
                        "data": "AAAA",
                        "media_type": "image/png",
                        "type": "base64"
                      },
                      "type": "image"
                    },
                    {
                      "source": {
                        "type": "url",
                        "url": "https://example.com/a.pdf"
                      },
                      "type": "document"
                    }
                  ],
                  "role": "user"
                },
                {
                  "content": [
                    {
                      "id": "c1",
                      "input": {},
                      "name": "shot",
                      "type": "tool_use"
                    }
                  ],
                  "role": "assistant"
                },
                {
                  "content": [
                    {
                      "content": [
                        {
                          "text": "here",
                          "type": "text"
                        },
                        {
                          "source": {
                            "data": "BBBB",
                            "media_type": "image/png",
                            "type": "base64"
                          },
                          "type": "image"
                        }
                      ],
                      "tool_use_id": "c1",
                      "type": "tool_result"
                    }
                  ],
                  "role": "user"
                }
              ],
              "model": "m",
              "stream": true
            }"#]],
    );
}

#[test]
fn documents_of_text_travel_as_text() {
    check_encode(
        "user: read this\n+ document text/markdown base64 \"IyBncsO8w59l\"\n+ document application/pdf base64 AAAA\n+ image image/jpg base64 AAAA",
        expect![[r##"
            {
              "max_tokens": 8192,
              "messages": [
                {
                  "content": [
                    {
                      "text": "read this",
                      "type": "text"
                    },
                    {
                      "source": {
                        "data": "# grüße",
                        "media_type": "text/plain",
                        "type": "text"
                      },
                      "type": "document"
                    },
                    {
                      "source": {
                        "data": "AAAA",
                        "media_type": "application/pdf",
                        "type": "base64"
                      },
                      "type": "document"
                    },
                    {
                      "source": {
                        "data": "AAAA",
                        "media_type": "image/jpeg",
                        "type": "base64"
                      },
                      "type": "image"
                    }
                  ],
                  "role": "user"
                }
              ],
              "model": "m",
              "stream": true
            }"##]],
    );
}

#[test]
fn what_the_service_refuses_beside_reasoning_is_refused_here() {
    let refused = |change: fn(&mut trunkline_providers::Request)| {
        let mut request = request("user: hi");
        request.thinking = Thinking::Budget(2048);
        change(&mut request);
        match Anthropic::new().encode(&request) {
            Ok(_) => "accepted\n".to_owned(),
            Err(error) => format!("{error}\n"),
        }
    };
    let answers = [
        refused(|_| {}),
        refused(|request| request.thinking = Thinking::Budget(512)),
        refused(|request| request.temperature = Some(0.2)),
        refused(|request| request.temperature = Some(1.0)),
        refused(|request| request.top_k = Some(5)),
        refused(|request| request.top_p = Some(0.5)),
        refused(|request| request.stop = vec![" ".to_owned()]),
        refused(|request| request.temperature = Some(f32::NAN)),
    ];
    expect![[r#"
        accepted
        the anthropic wire does not do a reasoning budget below 1024 tokens
        the anthropic wire does not do a temperature or top-k beside reasoning
        accepted
        the anthropic wire does not do a temperature or top-k beside reasoning
        the anthropic wire does not do a top-p below 0.95 beside reasoning
        the anthropic wire does not do a stop sequence of white space
        the anthropic wire does not do a number that is not finite
    "#]]
    .assert_eq(&answers.concat());
}

#[test]
fn reasoning_is_asked_for_as_the_model_knows_it() {
    let mut lines = String::new();
    for model in
        ["claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-5-5", "some-model"]
    {
        for thinking in [Thinking::Budget(4096), Thinking::Effort(Effort::High)] {
            let mut request = request("user: hi");
            (request.model, request.thinking) = (model.to_owned(), thinking);
            let encoded = Anthropic::new().encode(&request).expect("it is legal");
            let body: serde_json::Value =
                serde_json::from_slice(&encoded.body.to_vec()).expect("the body is JSON");
            lines
                .push_str(&format!("{model} {thinking:?}: {} {}\n", body["thinking"], body["output_config"]));
        }
    }
    expect![[r#"
        claude-sonnet-4-5 Budget(4096): {"budget_tokens":4096,"type":"enabled"} null
        claude-sonnet-4-5 Effort(High): {"budget_tokens":7168,"type":"enabled"} null
        claude-opus-4-6 Budget(4096): {"budget_tokens":4096,"type":"enabled"} null
        claude-opus-4-6 Effort(High): {"type":"adaptive"} {"effort":"high"}
        claude-opus-4-7 Budget(4096): {"type":"adaptive"} {"effort":"medium"}
        claude-opus-4-7 Effort(High): {"type":"adaptive"} {"effort":"high"}
        claude-sonnet-5-5 Budget(4096): {"type":"adaptive"} {"effort":"medium"}
        claude-sonnet-5-5 Effort(High): {"type":"adaptive"} {"effort":"high"}
        some-model Budget(4096): {"budget_tokens":4096,"type":"enabled"} null
        some-model Effort(High): {"type":"adaptive"} {"effort":"high"}
    "#]]
    .assert_eq(&lines);
}
