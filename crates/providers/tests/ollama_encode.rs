//! Ollama's chat: what is sent.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_message_tree::{Content, Media, MediaSource, Message, ToolChoice, ToolSpec};
use trunkline_providers::{
    Effort, EncodeError, Feature, Ollama, OutputSchema, Request, Secret, Thinking, Wire,
};

use crate::replies::{body, decode, fold, request};

fn check(request: &Request, expected: Expect) {
    expected.assert_eq(&body(&Ollama::new(), request));
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "reads", json!({"type": "object", "properties": {}}))
}

#[test]
fn settings_go_to_options() {
    let mut request = request("system: be brief\nuser: hi");
    request.max_output_tokens = Some(24);
    request.temperature = Some(0.1);
    request.top_p = Some(0.9);
    request.top_k = Some(40);
    request.seed = Some(7);
    request.stop = vec!["END".to_owned()];
    request.frequency_penalty = Some(0.5);
    request.presence_penalty = Some(0.25);
    request.output = Some(OutputSchema::new("answer", json!({"type": "object"})));
    request.tools = vec![tool("read")];
    request.stream = false;
    check(
        &request,
        expect![[r#"
        {
          "format": {
            "type": "object"
          },
          "messages": [
            {
              "content": "be brief",
              "role": "system"
            },
            {
              "content": "hi",
              "role": "user"
            }
          ],
          "model": "m",
          "options": {
            "frequency_penalty": 0.5,
            "num_predict": 24,
            "presence_penalty": 0.25,
            "seed": 7,
            "stop": [
              "END"
            ],
            "temperature": 0.1,
            "top_k": 40,
            "top_p": 0.9
          },
          "stream": false,
          "tools": [
            {
              "function": {
                "description": "reads",
                "name": "read",
                "parameters": {
                  "properties": {},
                  "type": "object"
                }
              },
              "type": "function"
            }
          ]
        }"#]],
    );
}

#[test]
fn fields_of_the_callers_own_win_those_of_options_one_by_one() {
    let mut request = request("user: hi");
    request.temperature = Some(0.25);
    request.seed = Some(7);
    request.extra = json!({"keep_alive": "10m", "stream": false, "options": {"num_ctx": 8192, "seed": 8}})
        .as_object()
        .expect("an object")
        .clone();
    check(
        &request,
        expect![[r#"
            {
              "keep_alive": "10m",
              "messages": [
                {
                  "content": "hi",
                  "role": "user"
                }
              ],
              "model": "m",
              "options": {
                "num_ctx": 8192,
                "num_predict": 8192,
                "seed": 8,
                "temperature": 0.25
              },
              "stream": false
            }"#]],
    );
}

#[test]
fn reasoning_is_a_switch_or_a_level() {
    let think = |thinking| {
        let mut request = request("user: hi");
        request.thinking = thinking;
        let http = Ollama::new().encode(&request).expect("legal");
        let body: serde_json::Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
        body.get("think").cloned()
    };
    assert_eq!(think(Thinking::Unsaid), None);
    assert_eq!(think(Thinking::Off), Some(json!(false)));
    assert_eq!(think(Thinking::Budget(4000)), Some(json!(true)));
    assert_eq!(think(Thinking::Effort(Effort::Minimal)), Some(json!("low")));
    assert_eq!(think(Thinking::Effort(Effort::Medium)), Some(json!("medium")));
    assert_eq!(think(Thinking::Effort(Effort::Max)), Some(json!("high")));
}

#[test]
fn calls_go_back_as_they_came_and_results_in_their_order() {
    check(
        &request(
            "user: read both
             assistant:
             + thinking: both are needed
             + text: I look.
             + call call_0 read {\"b\": 1.0,  \"a\":2}
             + call call_1 list {}
             + call call_x7k2m9qa read
             result call_x7k2m9qa: third
             result call_1: second
             result call_0: first
             user: thanks",
        ),
        expect![[r#"
            {
              "messages": [
                {
                  "content": "read both",
                  "role": "user"
                },
                {
                  "content": "I look.",
                  "role": "assistant",
                  "thinking": "both are needed",
                  "tool_calls": [
                    {
                      "function": {
                        "arguments": {
                          "a": 2,
                          "b": 1.0
                        },
                        "name": "read"
                      }
                    },
                    {
                      "function": {
                        "arguments": {},
                        "name": "list"
                      }
                    },
                    {
                      "function": {
                        "arguments": {},
                        "name": "read"
                      },
                      "id": "call_x7k2m9qa"
                    }
                  ]
                },
                {
                  "content": "first",
                  "role": "tool",
                  "tool_name": "read"
                },
                {
                  "content": "second",
                  "role": "tool",
                  "tool_name": "list"
                },
                {
                  "content": "third",
                  "role": "tool",
                  "tool_call_id": "call_x7k2m9qa",
                  "tool_name": "read"
                },
                {
                  "content": "thanks",
                  "role": "user"
                }
              ],
              "model": "m",
              "options": {
                "num_predict": 8192
              },
              "stream": true
            }"#]],
    );
}

#[test]
fn arguments_keep_their_bytes() {
    let request = request("user: go\nassistant:\n+ call c f {\"b\": 1.0,  \"a\":[2 ]}\nresult c: ok");
    let sent =
        String::from_utf8(Ollama::new().encode(&request).expect("legal").body.to_vec()).expect("UTF-8");
    assert!(sent.contains("\"arguments\":{\"b\": 1.0,  \"a\":[2 ]}"), "{sent}");
}

#[test]
fn reasoning_that_another_provider_signed_is_left_out() {
    check(
        &request("user: hi\nassistant:\n+ thinking sig: theirs\n+ text: hello\nuser: and?"),
        expect![[r#"
            {
              "messages": [
                {
                  "content": "hi",
                  "role": "user"
                },
                {
                  "content": "hello",
                  "role": "assistant"
                },
                {
                  "content": "and?",
                  "role": "user"
                }
              ],
              "model": "m",
              "options": {
                "num_predict": 8192
              },
              "stream": true
            }"#]],
    );
}

#[test]
fn pictures_stand_beside_the_words() {
    let mut message = Message::user("what are they?");
    for data in ["aGk=", "aG8="] {
        let source = MediaSource::Base64(data.to_owned());
        message.content.push(Content::Image(Media { media_type: "image/png".to_owned(), source }));
    }
    message.content.push(Content::text("tell me"));
    check(
        &Request::new("m", [message]),
        expect![[r#"
        {
          "messages": [
            {
              "content": "what are they?\ntell me",
              "images": [
                "aGk=",
                "aG8="
              ],
              "role": "user"
            }
          ],
          "model": "m",
          "options": {
            "num_predict": 8192
          },
          "stream": true
        }"#]],
    );
}

#[test]
fn pictures_of_an_answer_go_back_as_they_came() {
    let body = "{\"message\":{\"content\":\"see\",\"images\":[\"aGk=\" ]},\"done\":true}";
    let (events, _) = decode(&Ollama::new(), [body.as_bytes()]);
    let answer = fold("ollama", &events).finish();
    let request = Request::new("m", [Message::user("draw"), answer, Message::user("again")]);
    let http = Ollama::new().encode(&request).expect("legal");
    let sent = String::from_utf8(http.body.to_vec()).expect("UTF-8");
    let message = "{\"role\":\"assistant\",\"content\":\"see\",\"images\":[\"aGk=\" ]}";
    assert!(sent.contains(message), "{sent}");
}

#[test]
fn a_choice_that_cannot_be_forced_is_asked_for_in_words() {
    let mut request = request("user: \"read\" it\n");
    request.tools = vec![tool("read"), tool("list")];
    request.tool_choice = ToolChoice::Named("read".to_owned());
    check(
        &request,
        expect![[r#"
        {
          "messages": [
            {
              "content": "\"read\" it\n\nAnswer with a call of the tool read, not in words.",
              "role": "user"
            }
          ],
          "model": "m",
          "options": {
            "num_predict": 8192
          },
          "stream": true,
          "tools": [
            {
              "function": {
                "description": "reads",
                "name": "read",
                "parameters": {
                  "properties": {},
                  "type": "object"
                }
              },
              "type": "function"
            },
            {
              "function": {
                "description": "reads",
                "name": "list",
                "parameters": {
                  "properties": {},
                  "type": "object"
                }
              },
              "type": "function"
            }
          ]
        }"#]],
    );
    let http = Ollama::new().encode(&request).expect("legal");
    assert_eq!(http.softened, [Feature::ChoiceNamed]);

    request.soft_choice = false;
    let refused = Ollama::new().encode(&request).expect_err("words will not do");
    assert_eq!(refused.to_string(), "the ollama wire does not do tool choice: by name");
}

#[test]
fn after_results_the_words_are_a_message_of_their_own() {
    let mut request = request("user: go\nassistant:\n+ call c read {}\nresult c: ok");
    request.tools = vec![tool("read")];
    request.tool_choice = ToolChoice::Any;
    check(
        &request,
        expect![[r#"
        {
          "messages": [
            {
              "content": "go",
              "role": "user"
            },
            {
              "content": "",
              "role": "assistant",
              "tool_calls": [
                {
                  "function": {
                    "arguments": {},
                    "name": "read"
                  },
                  "id": "c"
                }
              ]
            },
            {
              "content": "ok",
              "role": "tool",
              "tool_call_id": "c",
              "tool_name": "read"
            },
            {
              "content": "Answer with a call of one of the tools, not in words.",
              "role": "user"
            }
          ],
          "model": "m",
          "options": {
            "num_predict": 8192
          },
          "stream": true,
          "tools": [
            {
              "function": {
                "description": "reads",
                "name": "read",
                "parameters": {
                  "properties": {},
                  "type": "object"
                }
              },
              "type": "function"
            }
          ]
        }"#]],
    );
}

#[test]
fn tools_that_must_not_be_called_are_not_sent() {
    let mut request = request("user: hi");
    request.tools = vec![tool("read")];
    request.tool_choice = ToolChoice::None;
    request.soft_choice = false;
    check(
        &request,
        expect![[r#"
        {
          "messages": [
            {
              "content": "hi",
              "role": "user"
            }
          ],
          "model": "m",
          "options": {
            "num_predict": 8192
          },
          "stream": true
        }"#]],
    );
}

#[test]
fn what_has_no_place_is_refused() {
    let refusal = |message: Message| {
        let error = Ollama::new().encode(&Request::new("m", [message])).expect_err("it has no place");
        format!("{error}\n")
    };
    let picture = |source| Content::Image(Media { media_type: "image/png".to_owned(), source });
    let with = |content| {
        let mut message = Message::user("see");
        message.content.push(content);
        message
    };
    let document = Content::Document(Media {
        media_type: "application/pdf".to_owned(),
        source: MediaSource::Base64("aGk=".into()),
    });
    let all = [
        refusal(with(picture(MediaSource::Url("https://example.org/a.png".to_owned())))),
        refusal(with(document)),
        refusal(with(Content::Opaque { wire: "anthropic".to_owned(), json: "{}".to_owned() })),
        refusal(with(Content::Opaque { wire: "ollama".to_owned(), json: "{\"content\":\"no\"}".to_owned() })),
    ];
    expect![[r#"
        message 0: the ollama wire has no place for a picture by its address here
        message 0: the ollama wire has no place for a document here
        message 0: a raw block is not one of the ollama wire
        message 0: a raw block is not one of the ollama wire
    "#]]
    .assert_eq(&all.concat());
    let nothing = Ollama::new().encode(&Request::new("m", Vec::<Arc<Message>>::new()));
    assert_eq!(nothing, Err(EncodeError::NoMessages));
}

#[test]
fn the_cloud_takes_a_bearer_key() {
    let header = Ollama::new().key_header(&Secret::new("k"));
    assert_eq!(header, ("authorization".to_owned(), "Bearer k".to_owned()));
    let http = Ollama::new().encode(&request("user: hi")).expect("legal");
    assert_eq!((http.method, http.path.as_str()), ("POST", "/api/chat"));
    assert_eq!(http.headers, [("content-type".to_owned(), "application/json".to_owned())]);
}
