//! What Converse is asked, as JSON.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, ToolChoice, ToolResult, ToolSpec};
use trunkline_providers::{Bedrock, Cache, EncodeError, OutputSchema, Request, Wire};

use crate::replies::{body, request};

pub(crate) const CLAUDE: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
pub(crate) const NOVA: &str = "us.amazon.nova-2-lite-v1:0";

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", json!({"type": "object"}))
}

/// A request of a model for a conversation in notation, with the tool `f` on offer.
pub(crate) fn asked(model: &str, conversation: &str) -> Request {
    let mut request = request(conversation);
    request.model = model.to_owned();
    request.tools = vec![tool("f")];
    request
}

/// The conversation's part of a body, one message a line.
fn messages(request: &Request) -> String {
    let body = body(&Bedrock::new(), request);
    match serde_json::from_str::<Value>(&body) {
        Ok(body) => {
            let lines = body["messages"].as_array().into_iter().flatten();
            lines
                .map(|line| format!("{} {}\n", line["role"].as_str().unwrap_or("?"), line["content"]))
                .collect()
        }
        Err(_) => format!("{body}\n"),
    }
}

fn check(model: &str, conversation: &str, expected: Expect) {
    expected.assert_eq(&messages(&asked(model, conversation)));
}

/// All of a body besides the conversation.
fn settings(request: &Request) -> String {
    let body = body(&Bedrock::new(), request);
    match serde_json::from_str::<Value>(&body) {
        Ok(mut body) => {
            body.as_object_mut().map(|body| body.remove("messages"));
            format!("{body:#}")
        }
        Err(_) => body,
    }
}

fn media(kind: &str, source: MediaSource) -> Media {
    Media { media_type: kind.to_owned(), source }
}

fn bytes() -> MediaSource {
    MediaSource::Base64("aGk=".to_owned())
}

#[test]
fn the_path_holds_the_id_of_the_model() {
    let path = |model: &str, stream: bool| {
        let mut request = Request::new(model, vec![Message::user("hi")]);
        request.stream = stream;
        Bedrock::new().encode(&request).expect("legal").path
    };
    assert_eq!(path(NOVA, false), "/model/us.amazon.nova-2-lite-v1%3A0/converse");
    assert_eq!(
        path("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama4-v1:0", true),
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.meta.llama4-v1%3A0/converse-stream"
    );
    assert_eq!(path("../ü?#", true), "/model/..%2F%C3%BC%3F%23/converse-stream");
}

#[test]
fn what_one_side_says_in_a_row_is_one_message() {
    check(
        CLAUDE,
        "user: hello
         user: are you there?
         assistant: yes
         assistant:
           + call c1 f {\"b\": 1.0,  \"a\":2}
           + call c2 f
         result c1: one
         result c2!: broken
         user: and?
         user: well?",
        expect![[r#"
            user [{"text":"hello"},{"text":"are you there?"}]
            assistant [{"text":"yes"},{"toolUse":{"input":{"a":2,"b":1.0},"name":"f","toolUseId":"c1"}},{"toolUse":{"input":{},"name":"f","toolUseId":"c2"}}]
            user [{"toolResult":{"content":[{"text":"one"}],"toolUseId":"c1"}},{"toolResult":{"content":[{"text":"broken"}],"status":"error","toolUseId":"c2"}},{"text":"and?"},{"text":"well?"}]
        "#]],
    );
}

#[test]
fn results_hold_blocks() {
    let result = |content: Vec<Part>, is_error: bool| {
        let result = ToolResult { call_id: "c1".to_owned(), content, is_error };
        let mut request = asked(NOVA, "user: hi\nassistant:\n+ call c1 f {}\nresult c1: x");
        let mut message = Message::clone(&request.messages[2]);
        message.content = vec![Content::ToolResult(result)];
        request.messages[2] = message.into();
        messages(&request).lines().last().unwrap_or_default().to_owned()
    };
    let all = [
        result(Vec::new(), false),
        result(vec![Part::text("a"), Part::text("b")], false),
        result(vec![Part::Image(media("IMAGE/JPG; q=1", bytes()))], false),
        result(vec![Part::text("a"), Part::Document(media("text/csv", bytes()))], true),
        result(vec![Part::Opaque { wire: "bedrock".into(), json: r#"{"json":{"a":1}}"#.into() }], true),
        result(vec![Part::Opaque { wire: "gemini".into(), json: "{}".into() }], false),
        result(Vec::new(), true),
        result(vec![Part::text(" \n")], false),
    ];
    expect![[r#"
        user [{"toolResult":{"content":[],"toolUseId":"c1"}}]
        user [{"toolResult":{"content":[{"text":"a"},{"text":"b"}],"toolUseId":"c1"}}]
        user [{"toolResult":{"content":[{"image":{"format":"jpeg","source":{"bytes":"aGk="}}}],"toolUseId":"c1"}}]
        user [{"toolResult":{"content":[{"text":"a"},{"document":{"format":"csv","name":"document-2-0-2","source":{"bytes":"aGk="}}}],"status":"error","toolUseId":"c1"}}]
        user [{"toolResult":{"content":[{"json":{"a":1}}],"status":"error","toolUseId":"c1"}}]
        refused: message 2: a raw block is not one of the bedrock wire
        refused: message 2: a text block is blank
        user [{"toolResult":{"content":[{"text":" \n"}],"toolUseId":"c1"}}]"#]].assert_eq(&all.join("\n"));
}

#[test]
fn pictures_and_documents_have_formats_names_and_words_beside_them() {
    let said = |blocks: Vec<Content>| {
        let mut message = Message::user("");
        message.content = blocks;
        messages(&Request::new("m", vec![Message::user("hi"), Message::assistant("hello"), message]))
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    let url = |url: &str| MediaSource::Url(url.to_owned());
    let document = |kind: &str| Content::Document(media(kind, bytes()));
    let all = [
        said(vec![Content::Image(media("image/webp", bytes()))]),
        said(vec![Content::Image(media("image/png", url("s3://bucket/a.png")))]),
        said(vec![Content::text("two"), document("application/pdf"), document("text/plain; charset=utf-8")]),
        said(vec![Content::Image(media("image/gif", bytes())), document("text/markdown")]),
        said(vec![document("application/vnd.openxmlformats-officedocument.wordprocessingml.document")]),
        said(vec![Content::Image(media("image/svg+xml", bytes()))]),
        said(vec![document("application/zip")]),
        said(vec![Content::Image(media("image/png", url("https://example.org/a.png")))]),
        said(vec![Content::Document(media("application/pdf", url("https://example.org/a.pdf")))]),
    ];
    expect![[r#"
        user [{"image":{"format":"webp","source":{"bytes":"aGk="}}}]
        user [{"image":{"format":"png","source":{"s3Location":{"uri":"s3://bucket/a.png"}}}}]
        user [{"text":"two"},{"document":{"format":"pdf","name":"document-2-1-0","source":{"bytes":"aGk="}}},{"document":{"format":"txt","name":"document-2-2-0","source":{"bytes":"aGk="}}}]
        user [{"image":{"format":"gif","source":{"bytes":"aGk="}}},{"text":"See the attached document."},{"document":{"format":"md","name":"document-2-1-0","source":{"bytes":"aGk="}}}]
        user [{"text":"See the attached document."},{"document":{"format":"docx","name":"document-2-0-0","source":{"bytes":"aGk="}}}]
        refused: message 2: the bedrock wire has no place for an image of this type here
        refused: message 2: the bedrock wire has no place for a document of this type here
        refused: message 2: the bedrock wire has no place for an image by its address here
        refused: message 2: the bedrock wire has no place for a document by its address here"#]].assert_eq(&all.join("\n"));
}

#[test]
fn reasoning_goes_back_as_its_maker_wants_it() {
    let conversation = "user: hi
         assistant:
           + thinking \"sig\": hm
           + redacted: AAA=
           + thinking: unsigned
           + text: so
         user: go on";
    check(
        NOVA,
        conversation,
        expect![[r#"
        user [{"text":"hi"}]
        assistant [{"reasoningContent":{"reasoningText":{"signature":"sig","text":"hm"}}},{"reasoningContent":{"redactedContent":"AAA="}},{"reasoningContent":{"reasoningText":{"text":"unsigned"}}},{"text":"so"}]
        user [{"text":"go on"}]
    "#]],
    );
    check(
        CLAUDE,
        conversation,
        expect![[r#"
        refused: message 1: a reasoning block has no signature
    "#]],
    );
    check(
        CLAUDE,
        &conversation.replace("+ thinking: unsigned\n", ""),
        expect![[r#"
        user [{"text":"hi"}]
        assistant [{"reasoningContent":{"reasoningText":{"signature":"sig","text":"hm"}}},{"reasoningContent":{"redactedContent":"AAA="}},{"text":"so"}]
        user [{"text":"go on"}]
    "#]],
    );
}

#[test]
fn raw_blocks_go_back_byte_for_byte() {
    let raw = r#"{"toolUse":{"z":1.0,  "a":"ü"}}"#;
    let request =
        asked(NOVA, &format!("user: hi\nassistant:\n+ opaque bedrock {raw}\n+ text: so\nuser: go on"));
    let body = Bedrock::new().encode(&request).expect("legal").body.to_vec();
    assert!(String::from_utf8_lossy(&body).contains(&format!("[{raw},{{\"text\":\"so\"}}]")));
    check(
        NOVA,
        "user: hi\nassistant:\n+ opaque anthropic {}\nuser: go on",
        expect![[r#"
            refused: message 1: a raw block is not one of the bedrock wire
        "#]],
    );
}

#[test]
fn what_the_service_would_refuse_is_refused_here() {
    let mut without_tools = asked(CLAUDE, "user: hi\nassistant:\n+ call c1 f {}\nresult c1: x");
    without_tools.tools.clear();
    let mut all = messages(&without_tools);
    for conversation in [
        "user: hi\nassistant: hello",
        "user: hi\nassistant:\n+ call c/1 f {}\nresult c/1: x",
        "user: hi\nassistant:\n+ call c1 f {}\nuser: well?",
        "user: hi\nassistant:\n+ call c1 f {\"a\nresult c1: x",
        "user:  ",
        "system: be brief",
        "user: hi\nassistant:\n+ server-call s1 {}\n+ text: so\nuser: go on",
    ] {
        all.push_str(&messages(&asked(CLAUDE, conversation)));
    }
    let long = format!("user: hi\nassistant:\n+ call {0} f\nresult {0}: x", "c".repeat(65));
    all.push_str(&messages(&asked(NOVA, &long)));
    expect![[r#"
        refused: message 1: the bedrock wire has no place for a call without tools on offer here
        refused: message 1: the conversation ends with an assistant message, there is nothing to answer
        refused: message 1: the wire refuses "c/1" as the id of a call
        refused: message 1: call c1 has no result directly after it
        refused: message 1: the arguments of call c1 are not a JSON object
        refused: message 0: the message is empty
        refused: the request has no message besides instructions
        refused: message 1: the bedrock wire has no place for a call of the provider's own tool here
        refused: message 1: the wire refuses "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc" as the id of a call
    "#]].assert_eq(&all);
}

#[test]
fn ids_may_come_again_in_a_later_turn() {
    let again = "user: hi\nassistant:\n+ call c1 f\nresult c1: x\nassistant:\n+ call c1 f\nresult c1: x";
    for model in [NOVA, CLAUDE] {
        assert!(Bedrock::new().encode(&asked(model, again)).is_ok(), "{model}");
    }
}

#[test]
fn a_list_may_begin_with_the_model_and_hold_blank_blocks_and_late_instructions() {
    let all = messages(&asked(
        CLAUDE,
        "assistant: hello\nuser: \\s\nassistant: \\n\n+ call c1 f {}\nresult c1: \\s\nsystem: be brief\nuser: go on",
    ));
    expect![[r#"
        assistant [{"text":"hello"}]
        user [{"text":" "}]
        assistant [{"text":"\n"},{"toolUse":{"input":{},"name":"f","toolUseId":"c1"}}]
        user [{"toolResult":{"content":[{"text":" "}],"toolUseId":"c1"}}]
        system [{"text":"be brief"}]
        user [{"text":"go on"}]
    "#]]
    .assert_eq(&all);
}

#[test]
fn settings_stand_in_their_objects() {
    let mut request = asked(CLAUDE, "system: be brief\nuser: hi");
    request.tools = vec![
        ToolSpec {
            strict: Some(true),
            ..ToolSpec::new("f", "does it", json!({"type": "object", "properties": {}}))
        },
        ToolSpec { strict: Some(false), ..tool("g") },
    ];
    request.provider_tools = vec![json!({"systemTool": {"name": "nova_grounding"}})];
    request.tool_choice = ToolChoice::Named("g".to_owned());
    request.max_output_tokens = Some(100);
    request.temperature = Some(0.7);
    request.top_p = Some(0.9);
    request.top_k = Some(40);
    request.stop = vec!["END".to_owned()];
    request.service_tier = Some("flex".to_owned());
    request.metadata.insert("team".to_owned(), "core: a/b".to_owned());
    request.output = Some(OutputSchema::new("answer", json!({"type": "object"})));
    request
        .extra
        .insert("guardrailConfig".to_owned(), json!({"guardrailIdentifier": "g", "guardrailVersion": "1"}));
    request.extra.insert("performanceConfig".to_owned(), json!({"latency": "optimized"}));
    request.extra.insert("inferenceConfig".to_owned(), json!({"maxTokens": 7}));
    request.extra.insert("additionalModelRequestFields".to_owned(), json!({"anthropic_beta": ["x"]}));
    expect![[r#"
        {
          "additionalModelRequestFields": {
            "anthropic_beta": [
              "x"
            ],
            "top_k": 40
          },
          "guardrailConfig": {
            "guardrailIdentifier": "g",
            "guardrailVersion": "1"
          },
          "inferenceConfig": {
            "maxTokens": 7,
            "stopSequences": [
              "END"
            ],
            "temperature": 0.7,
            "topP": 0.9
          },
          "outputConfig": {
            "textFormat": {
              "structure": {
                "jsonSchema": {
                  "name": "answer",
                  "schema": "{\"type\":\"object\"}"
                }
              },
              "type": "json_schema"
            }
          },
          "performanceConfig": {
            "latency": "optimized"
          },
          "requestMetadata": {
            "team": "core: a/b"
          },
          "serviceTier": {
            "type": "flex"
          },
          "system": [
            {
              "text": "be brief"
            }
          ],
          "toolConfig": {
            "toolChoice": {
              "tool": {
                "name": "g"
              }
            },
            "tools": [
              {
                "toolSpec": {
                  "description": "does it",
                  "inputSchema": {
                    "json": {
                      "properties": {},
                      "type": "object"
                    }
                  },
                  "name": "f",
                  "strict": true
                }
              },
              {
                "toolSpec": {
                  "inputSchema": {
                    "json": {
                      "type": "object"
                    }
                  },
                  "name": "g"
                }
              },
              {
                "systemTool": {
                  "name": "nova_grounding"
                }
              }
            ]
          }
        }"#]]
    .assert_eq(&settings(&request));
}

#[test]
fn a_plain_request_says_nothing_besides_its_messages() {
    let mut request = Request::new("m", vec![Message::system(""), Message::user("hi")]);
    request.max_output_tokens = None;
    assert_eq!(settings(&request), "{}");
    // Of the caller's own objects nothing is lost, be they objects or not.
    request.extra.insert("toolConfig".to_owned(), json!({"tools": [{"systemTool": {"name": "x"}}]}));
    request.extra.insert("inferenceConfig".to_owned(), Value::Null);
    expect![[r#"
        {
          "inferenceConfig": null,
          "toolConfig": {
            "tools": [
              {
                "systemTool": {
                  "name": "x"
                }
              }
            ]
          }
        }"#]]
    .assert_eq(&settings(&request));
}

#[test]
fn labels_keep_to_their_alphabet() {
    let refused = |name: &str, value: &str| {
        let mut request = Request::new("m", vec![Message::user("hi")]);
        request.metadata.insert(name.to_owned(), value.to_owned());
        matches!(Bedrock::new().encode(&request), Err(EncodeError::Unsupported { .. }))
    };
    assert!(!refused("a", ""));
    assert!(refused("", "a"));
    assert!(refused("a", "ü"));
    assert!(refused("a", &"x".repeat(257)));
}

#[test]
fn no_breakpoint_stands_right_behind_a_document() {
    let mut request = asked(CLAUDE, "user: read this");
    request.cache = Cache::Short;
    let mut message = Message::clone(&request.messages[0]);
    message.content.push(Content::Document(media("text/plain", bytes())));
    request.messages[0] = message.into();
    expect![[r#"
        user [{"text":"read this"},{"cachePoint":{"type":"default"}},{"document":{"format":"txt","name":"document-0-1-0","source":{"bytes":"aGk="}}}]
    "#]].assert_eq(&messages(&request));
}
