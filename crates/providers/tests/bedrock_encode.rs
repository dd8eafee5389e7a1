//! What Converse is asked, as JSON.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, ToolChoice, ToolResult, ToolSpec};
use trunkline_providers::{Bedrock, Cache, Effort, EncodeError, OutputSchema, Request, Thinking, Wire};

use crate::replies::{body, request};

const CLAUDE: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
const NOVA: &str = "us.amazon.nova-2-lite-v1:0";

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", json!({"type": "object"}))
}

/// A request of a model for a conversation in notation, with the tool `f` on offer.
fn asked(model: &str, conversation: &str) -> Request {
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
        refused: message 2: a text block is blank"#]].assert_eq(&all.join("\n"));
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
        "assistant: hi\nuser: hello",
        "user: hi\nassistant: hello",
        "user: hi\nassistant:\n+ call c/1 f {}\nresult c/1: x",
        "user: hi\nassistant:\n+ call c1 f {}\nuser: well?",
        "user: hi\nassistant:\n+ call c1 f {\"a\nresult c1: x",
        "user: hi\nassistant: hello\nsystem: be brief\nuser: go on",
        "user:  ",
        "system: be brief",
        "user: hi\nassistant:\n+ call c1 f\nresult c1: x\nassistant:\n+ call c1 f\nresult c1: x",
        "user: hi\nassistant:\n+ server-call s1 {}\n+ text: so\nuser: go on",
    ] {
        all.push_str(&messages(&asked(CLAUDE, conversation)));
    }
    let long = format!("user: hi\nassistant:\n+ call {0} f\nresult {0}: x", "c".repeat(65));
    all.push_str(&messages(&asked(NOVA, &long)));
    expect![[r#"
        refused: message 1: the bedrock wire has no place for a call without tools on offer here
        refused: message 0: the conversation does not begin with a user message
        refused: message 1: the conversation ends with an assistant message, there is nothing to answer
        refused: message 1: the wire refuses "c/1" as the id of a call
        refused: message 1: call c1 has no result directly after it
        refused: message 1: the arguments of call c1 are not a JSON object
        refused: message 2: a system message does not lead the conversation
        refused: message 0: the message is empty
        refused: the request has no message besides instructions
        refused: message 3: the id of call c1 is already taken
        refused: message 1: the bedrock wire has no place for a call of the provider's own tool here
        refused: message 1: the wire refuses "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc" as the id of a call
    "#]].assert_eq(&all);
}

#[test]
fn ids_may_come_again_where_the_model_is_not_claude() {
    let again = "user: hi\nassistant:\n+ call c1 f\nresult c1: x\nassistant:\n+ call c1 f\nresult c1: x";
    assert!(Bedrock::new().encode(&asked(NOVA, again)).is_ok());
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
fn choices_are_forced_where_the_model_can_be_forced() {
    let choice = |model: &str, choice: ToolChoice, thinking: Thinking, conversation: &str| {
        let mut request = asked(model, conversation);
        request.tool_choice = choice;
        request.thinking = thinking;
        let body = |request: &Request| match Bedrock::new().encode(request) {
            Ok(http) => {
                let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
                let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned();
                format!(
                    "{:?} choice {} fields {} system {} last {}",
                    http.softened,
                    body["toolConfig"]["toolChoice"],
                    body["additionalModelRequestFields"],
                    body["system"],
                    last.unwrap_or_default()["content"]
                )
            }
            Err(error) => error.to_string(),
        };
        let soft = body(&request);
        request.soft_choice = false;
        let strict = body(&request);
        let strict = if strict == soft { "the same".to_owned() } else { strict };
        format!("{soft}\n  strictly: {strict}\n")
    };
    let f = || ToolChoice::Named("f".to_owned());
    let none = ToolChoice::None;
    let answered = "user: hi\nassistant:\n+ call c1 f {}\nresult c1: x";
    let all = [
        choice(NOVA, f(), Thinking::Effort(Effort::Low), "user: hi"),
        choice(NOVA, none.clone(), Thinking::Unsaid, "user: hi"),
        choice(NOVA, none.clone(), Thinking::Unsaid, answered),
        choice(CLAUDE, none, Thinking::Unsaid, answered),
        choice(CLAUDE, ToolChoice::Any, Thinking::Off, answered),
        choice(CLAUDE, ToolChoice::Any, Thinking::Budget(2000), answered),
        choice(CLAUDE, f(), Thinking::Effort(Effort::High), "user: hi"),
        choice("anthropic.claude-opus-4-6-v1", f(), Thinking::Effort(Effort::High), "user: hi"),
    ];
    expect![[r#"
        [] choice {"tool":{"name":"f"}} fields {"reasoningConfig":{"maxReasoningEffort":"low","type":"enabled"}} system null last [{"text":"hi"}]
          strictly: the same
        [ChoiceNone] choice null fields null system null last [{"text":"hi"},{"text":"Answer in words; do not call a tool."}]
          strictly: the bedrock wire does not do tool choice: none
        [ChoiceNone] choice null fields null system [{"text":"Answer in words; do not call a tool."}] last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}}]
          strictly: the bedrock wire does not do tool choice: none
        [] choice null fields {"tool_choice":{"type":"none"}} system null last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}}]
          strictly: the bedrock wire does not do tool choice: none
        [] choice {"any":{}} fields {"thinking":{"type":"disabled"}} system null last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}}]
          strictly: the same
        [ChoiceAny] choice null fields {"thinking":{"budget_tokens":2000,"type":"enabled"}} system null last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}},{"text":"Answer with a call of one of the tools, not in words."}]
          strictly: the bedrock wire does not do reasoning together with a forced tool choice
        [ChoiceNamed] choice null fields {"thinking":{"budget_tokens":7168,"type":"enabled"}} system null last [{"text":"hi"},{"text":"Answer with a call of the tool f, not in words."}]
          strictly: the bedrock wire does not do reasoning together with a forced tool choice
        [] choice {"tool":{"name":"f"}} fields {"output_config":{"effort":"high"},"thinking":{"type":"adaptive"}} system null last [{"text":"hi"}]
          strictly: the same
    "#]].assert_eq(&all.concat());
}

#[test]
fn reasoning_is_asked_for_in_the_words_of_the_maker() {
    let fields = |model: &str, thinking: Thinking| {
        let mut request = Request::new(model, vec![Message::user("hi")]);
        request.thinking = thinking;
        request.cache = Cache::Off;
        match Bedrock::new().encode(&request) {
            Ok(http) => {
                let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
                body["additionalModelRequestFields"].to_string()
            }
            Err(error) => error.to_string(),
        }
    };
    let models = [
        "anthropic.claude-3-7-sonnet-20250219-v1:0",
        "us.anthropic.claude-opus-4-20250514-v1:0",
        "anthropic.claude-opus-4-6-v1",
        "global.anthropic.claude-opus-4-7",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5",
        NOVA,
        "amazon.nova-lite-v1:0",
        "qwen.qwen3-32b-v1:0",
        "deepseek.v3.2",
        "zai.glm-4.7",
        "zai.glm-5.3",
        "openai.gpt-oss-120b-1:0",
        "openai.gpt-6-sol",
        "xai.grok-4-7",
        "meta.llama4-maverick-17b-instruct-v1:0",
    ];
    let mut all = String::new();
    for model in models {
        all.push_str(&format!("{model}\n"));
        for thinking in [
            Thinking::Off,
            Thinking::Budget(4000),
            Thinking::Effort(Effort::Minimal),
            Thinking::Effort(Effort::Max),
        ] {
            all.push_str(&format!("  {thinking:?}: {}\n", fields(model, thinking)));
        }
    }
    expect![[r#"
        anthropic.claude-3-7-sonnet-20250219-v1:0
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"thinking":{"budget_tokens":4000,"type":"enabled"}}
          Effort(Minimal): {"thinking":{"budget_tokens":1024,"type":"enabled"}}
          Effort(Max): {"thinking":{"budget_tokens":7168,"type":"enabled"}}
        us.anthropic.claude-opus-4-20250514-v1:0
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"thinking":{"budget_tokens":4000,"type":"enabled"}}
          Effort(Minimal): {"thinking":{"budget_tokens":1024,"type":"enabled"}}
          Effort(Max): {"thinking":{"budget_tokens":7168,"type":"enabled"}}
        anthropic.claude-opus-4-6-v1
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"thinking":{"budget_tokens":4000,"type":"enabled"}}
          Effort(Minimal): {"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}
          Effort(Max): {"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}
        global.anthropic.claude-opus-4-7
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"output_config":{"effort":"medium"},"thinking":{"type":"adaptive"}}
          Effort(Minimal): {"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}
          Effort(Max): {"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}
        arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"output_config":{"effort":"medium"},"thinking":{"type":"adaptive"}}
          Effort(Minimal): {"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}
          Effort(Max): {"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}
        us.amazon.nova-2-lite-v1:0
          Off: {"reasoningConfig":{"type":"disabled"}}
          Budget(4000): {"reasoningConfig":{"maxReasoningEffort":"medium","type":"enabled"}}
          Effort(Minimal): {"reasoningConfig":{"maxReasoningEffort":"low","type":"enabled"}}
          Effort(Max): {"reasoningConfig":{"maxReasoningEffort":"high","type":"enabled"}}
        amazon.nova-lite-v1:0
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): the bedrock wire does not do a choice of how much this model reasons
          Effort(Minimal): the bedrock wire does not do a choice of how much this model reasons
          Effort(Max): the bedrock wire does not do a choice of how much this model reasons
        qwen.qwen3-32b-v1:0
          Off: {"reasoning_config":"none"}
          Budget(4000): {"reasoning_config":"medium"}
          Effort(Minimal): {"reasoning_config":"low"}
          Effort(Max): {"reasoning_config":"high"}
        deepseek.v3.2
          Off: {"reasoning_effort":"none"}
          Budget(4000): {"reasoning_effort":"high"}
          Effort(Minimal): {"reasoning_effort":"high"}
          Effort(Max): {"reasoning_effort":"high"}
        zai.glm-4.7
          Off: {"reasoning_effort":"none"}
          Budget(4000): {"reasoning_effort":"high"}
          Effort(Minimal): {"reasoning_effort":"high"}
          Effort(Max): {"reasoning_effort":"high"}
        zai.glm-5.3
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): {"reasoning_effort":"medium"}
          Effort(Minimal): {"reasoning_effort":"low"}
          Effort(Max): {"reasoning_effort":"max"}
        openai.gpt-oss-120b-1:0
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): {"reasoning_effort":"medium"}
          Effort(Minimal): {"reasoning_effort":"low"}
          Effort(Max): {"reasoning_effort":"high"}
        openai.gpt-6-sol
          Off: {"reasoning":{"effort":"none"}}
          Budget(4000): {"reasoning":{"effort":"medium"}}
          Effort(Minimal): {"reasoning":{"effort":"low"}}
          Effort(Max): {"reasoning":{"effort":"xhigh"}}
        xai.grok-4-7
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): {"reasoning":{"effort":"medium"}}
          Effort(Minimal): {"reasoning":{"effort":"low"}}
          Effort(Max): {"reasoning":{"effort":"xhigh"}}
        meta.llama4-maverick-17b-instruct-v1:0
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): the bedrock wire does not do a choice of how much this model reasons
          Effort(Minimal): the bedrock wire does not do a choice of how much this model reasons
          Effort(Max): the bedrock wire does not do a choice of how much this model reasons
    "#]]
    .assert_eq(&all);
}

#[test]
fn reasoning_leaves_something_of_the_answer() {
    let budget = |thinking: Thinking, max_output_tokens: u32| {
        let mut request = Request::new("anthropic.claude-haiku-4-5", vec![Message::user("hi")]);
        request.thinking = thinking;
        request.max_output_tokens = Some(max_output_tokens);
        Bedrock::new().encode(&request).map(|http| {
            let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
            body["additionalModelRequestFields"]["thinking"]["budget_tokens"].as_u64()
        })
    };
    assert_eq!(budget(Thinking::Effort(Effort::High), 8192), Ok(Some(7168)));
    assert_eq!(budget(Thinking::Effort(Effort::High), 1100), Ok(Some(1024)));
    let refused = |budget, max_output_tokens| Err(EncodeError::ThinkingBudget { budget, max_output_tokens });
    assert_eq!(budget(Thinking::Effort(Effort::Low), 1024), refused(1024, 1024));
    assert_eq!(budget(Thinking::Budget(8192), 8192), refused(8192, 8192));
}

#[test]
fn the_model_behind_a_name_can_be_told() {
    let mut request = Request::new(
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
        vec![Message::user("hi")],
    );
    request.top_k = Some(5);
    let unknown = Bedrock::new().encode(&request).expect_err("nobody knows whose it is");
    assert_eq!(unknown.to_string(), "the bedrock wire does not do top-k with this model");
    let told = Bedrock::behind("anthropic.claude-haiku-4-5").encode(&request).expect("it was told");
    assert!(told.path.contains("abc"), "{}", told.path);
}

/// Where the breakpoints are.
fn marks(model: &str, cache: Cache, conversation: &str) -> String {
    let mut request = asked(model, conversation);
    request.cache = cache;
    body(&Bedrock::new(), &request)
        .parse::<Value>()
        .map(|body| {
            let tools = &body["toolConfig"]["tools"];
            let messages = &body["messages"];
            format!("system {}\ntools {tools}\n{messages}\n", body["system"])
        })
        .unwrap_or_default()
}

#[test]
fn breakpoints_stand_behind_what_they_mark() {
    let conversation = "system: be brief
         user: one
         assistant: two
         user: three
         assistant:
           + call c1 f {}
         result c1: four";
    let claude = marks(CLAUDE, Cache::Short, conversation);
    expect![[r#"
        system [{"text":"be brief"},{"cachePoint":{"type":"default"}}]
        tools [{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":"f"}},{"cachePoint":{"type":"default"}}]
        [{"content":[{"text":"one"}],"role":"user"},{"content":[{"text":"two"}],"role":"assistant"},{"content":[{"text":"three"},{"cachePoint":{"type":"default"}}],"role":"user"},{"content":[{"toolUse":{"input":{},"name":"f","toolUseId":"c1"}}],"role":"assistant"},{"content":[{"toolResult":{"content":[{"text":"four"}],"toolUseId":"c1"}},{"cachePoint":{"type":"default"}}],"role":"user"}]
    "#]].assert_eq(&claude);
    assert_eq!(
        marks(CLAUDE, Cache::Long, conversation),
        claude.replace("{\"type\":\"default", "{\"ttl\":\"1h\",\"type\":\"default")
    );
    let older = "anthropic.claude-3-7-sonnet-20250219-v1:0";
    assert_eq!(marks(older, Cache::Long, conversation), claude);
    expect![[r#"
        system [{"text":"be brief"},{"cachePoint":{"type":"default"}}]
        tools [{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":"f"}}]
        [{"content":[{"text":"one"}],"role":"user"},{"content":[{"text":"two"}],"role":"assistant"},{"content":[{"text":"three"},{"cachePoint":{"type":"default"}}],"role":"user"},{"content":[{"toolUse":{"input":{},"name":"f","toolUseId":"c1"}}],"role":"assistant"},{"content":[{"toolResult":{"content":[{"text":"four"}],"toolUseId":"c1"}},{"cachePoint":{"type":"default"}}],"role":"user"}]
    "#]].assert_eq(&marks(NOVA, Cache::Long, conversation));
    assert_eq!(marks(CLAUDE, Cache::Off, conversation).matches("cachePoint").count(), 0);
    assert_eq!(marks("meta.llama4", Cache::Short, conversation).matches("cachePoint").count(), 0);
}

#[test]
fn breakpoints_that_raw_blocks_bring_along_count() {
    let point = "opaque bedrock {\"cachePoint\":{\"type\":\"default\"}}";
    let conversation = format!(
        "system: be brief
         user: one
           + {point}
           + text: two
           + {point}
         assistant: three
         user: four"
    );
    expect![[r#"
        system [{"text":"be brief"},{"cachePoint":{"type":"default"}}]
        tools [{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":"f"}}]
        [{"content":[{"text":"one"},{"cachePoint":{"type":"default"}},{"text":"two"},{"cachePoint":{"type":"default"}}],"role":"user"},{"content":[{"text":"three"}],"role":"assistant"},{"content":[{"text":"four"},{"cachePoint":{"type":"default"}}],"role":"user"}]
    "#]].assert_eq(&marks(CLAUDE, Cache::Short, &conversation));
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
