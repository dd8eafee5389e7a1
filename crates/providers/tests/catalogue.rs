//! Known failures that only an encoder can cause or prevent, named by their rows in the catalogue of failures.
//!
//! The rows that a history carries in itself are tests of the crate that repairs histories.

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_message_tree::{Content, Message, ToolChoice, ToolSpec};
use trunkline_providers::{
    Anthropic, Cache, Dialect, EncodeError, Feature, OpenAiChat, OpenAiResponses, Request, Thinking, Wire,
};

use crate::replies::request;

fn encoded(wire: &dyn Wire, request: &Request) -> Value {
    serde_json::from_slice(&wire.encode(request).expect("legal").body.to_vec()).expect("the body is JSON")
}

fn refused(wire: &dyn Wire, conversation: &str) -> String {
    wire.encode(&request(conversation)).expect_err("not legal").to_string()
}

/// Calls `visit` with the value and everything inside it.
fn walk(value: &Value, visit: &mut impl FnMut(&Value)) {
    visit(value);
    match value {
        Value::Array(list) => list.iter().for_each(|value| walk(value, visit)),
        Value::Object(fields) => fields.values().for_each(|value| walk(value, visit)),
        _ => {}
    }
}

fn marks(value: &Value) -> usize {
    let mut marks = 0;
    walk(value, &mut |value| marks += usize::from(value.get("cache_control").is_some()));
    marks
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: "f".into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        strict: None,
    }
}

const WITH_TOOLS: &str = "
    system: be brief
    user: hi
    assistant:
      + call c1 f {}
      + call c2 f {}
    result c1: 42
    result c2:
    user: and?";

const REASONING: &str = r#"{"id":"rs_A","type":"reasoning", "summary":[],"encrypted_content":"gAAA=="}"#;

#[test]
fn a16_a_call_without_its_output_is_refused() {
    expect!["message 1: call c1 has no result directly after it"].assert_eq(&refused(
        &OpenAiResponses::new(),
        "user: hi\nassistant:\n+ call c1 f {}\nuser: never mind",
    ));
    // Text beside a call does not come between it and its output.
    let request = request("user: hi\nassistant:\n+ call c1 f {}\n+ text: wait\nresult c1: 42");
    assert!(OpenAiResponses::new().encode(&request).is_ok());
}

#[test]
fn a17_an_output_without_its_call_is_refused() {
    expect!["message 1: result c1 answers no call of the message before it"]
        .assert_eq(&refused(&OpenAiResponses::new(), "user: hi\nresult c1: 42"));
}

#[test]
fn a18_an_id_that_is_empty_or_too_long_is_refused() {
    expect![[r#"message 1: the wire refuses "" as the id of a call"#]].assert_eq(&refused(
        &OpenAiResponses::new(),
        "user: hi\nassistant:\n+ call \"\" f {}\nresult \"\": 42",
    ));
    for (length, taken) in [(64, true), (65, false)] {
        let id = "x".repeat(length);
        let request = request(&format!("user: hi\nassistant:\n+ call {id} f {{}}\nresult {id}: 42"));
        assert_eq!(OpenAiResponses::new().encode(&request).is_ok(), taken);
    }
}

#[test]
fn b10_each_wire_has_results_in_its_own_shape() {
    let request = request(WITH_TOOLS);

    let body = encoded(&OpenAiResponses::new(), &request);
    walk(&body, &mut |value| assert_ne!(value["role"], "tool"));
    let kinds: Vec<&str> =
        body["input"].as_array().expect("a list").iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["function_call", "function_call", "function_call_output", "function_call_output"]);

    let body = encoded(&OpenAiChat::default(), &request);
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);

    walk(&encoded(&Anthropic::new(), &request), &mut |value| assert_ne!(value["role"], "tool"));
}

#[test]
fn c4_no_breakpoint_stands_on_a_blank_text() {
    for conversation in [
        "system:\n+ text:\nuser: hi",
        "system: be brief\nuser: hi",
        "user: hi\nassistant: \\n\n+ call c1 f {}\nresult c1:",
        "user: hi\nassistant: \\n\n+ call c1 f {}\nresult c1:\nuser: go on",
    ] {
        let mut request = request(conversation);
        request.cache = Cache::Short;
        request.tools = vec![tool()];
        let body = encoded(&Anthropic::new(), &request);
        assert!(marks(&body) > 0);
        walk(&body, &mut |value| {
            if value.get("cache_control").is_some() && value["type"] == "text" {
                assert_ne!(value["text"].as_str().map(str::trim), Some(""));
            }
        });
    }
    // A blank text that would be marked is refused with its place, before any mark is set.
    expect!["message 0: a text block is blank"].assert_eq(&refused(&Anthropic::new(), "user: hi\n+ text:"));
}

#[test]
fn c5_at_most_four_breakpoints_are_set() {
    let carried = r#"{"type":"new_block","cache_control":{"type":"ephemeral"}}"#;
    for (carried_marks, all) in [(0, 4), (1, 4), (3, 4), (4, 4)] {
        let mut request =
            request("system: be brief\nuser: one\nassistant: a\nuser: two\nassistant: b\nuser: three");
        for _ in 0..carried_marks {
            let block = Content::Opaque { wire: "anthropic".into(), json: carried.into() };
            std::sync::Arc::make_mut(&mut request.messages[2]).content.push(block);
        }
        request.cache = Cache::Short;
        request.tools = vec![tool()];
        let body = encoded(&Anthropic::new(), &request);
        assert_eq!(marks(&body), all, "{carried_marks} carried");
        // The deepest is the last to go.
        let last = &body["messages"][4]["content"][0];
        assert_eq!(last.get("cache_control").is_some(), carried_marks < 4);
    }
}

#[test]
fn c8_no_content_is_null() {
    let request = request(WITH_TOOLS);
    let wires: [&dyn Wire; 4] = [
        &Anthropic::new(),
        &OpenAiChat::default(),
        &OpenAiChat::new(Dialect::for_host("api.deepseek.com")),
        &OpenAiResponses::new(),
    ];
    for wire in wires {
        walk(&encoded(wire, &request), &mut |value| assert!(!value.is_null()));
    }
    let body = encoded(&OpenAiChat::default(), &request);
    assert_eq!(body["messages"][2]["content"], "");
    assert_eq!(body["messages"][4]["content"], "");
}

#[test]
fn c9_null_for_arguments_goes_back_on_chat_where_models_write_it() {
    let body =
        encoded(&OpenAiChat::default(), &request("user: hi\nassistant:\n+ call c1 f null\nresult c1: ok"));
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["arguments"], "null");
    expect!["message 1: the arguments of call c1 are not a JSON object"]
        .assert_eq(&refused(&Anthropic::new(), "user: hi\nassistant:\n+ call c1 f null\nresult c1: ok"));
}

#[test]
fn c15_a_picture_stands_in_a_tool_message_only_where_the_dialect_has_a_place_for_it() {
    let list = "user: hi\nassistant:\n+ call c1 f {}\nresult c1: see\n++ image image/png base64 AAAA";
    let mut dialect = Dialect::default();
    expect!["message 2: the openai-chat wire has no place for an image in a result here"]
        .assert_eq(&refused(&OpenAiChat::new(dialect.clone()), list));
    dialect.images_in_results = true;
    let body = encoded(&OpenAiChat::new(dialect), &request(list));
    let content = &body["messages"][2]["content"];
    assert_eq!(content[0], json!({"type": "text", "text": "see"}));
    assert_eq!(content[1]["image_url"]["url"], "data:image/png;base64,AAAA");
}

#[test]
fn a17_calls_of_one_turn_may_stand_in_several_messages_of_the_model() {
    let list = "user: hi\nassistant:\n+ call a f {}\nassistant:\n+ call b f {}\nresult a: 1\nresult b: 2";
    let body = encoded(&OpenAiResponses::new(), &request(list));
    let kinds: Vec<&str> =
        body["input"].as_array().expect("a list").iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(
        kinds,
        ["function_call", "function_call", "function_call_output", "function_call_output"],
        "{body}"
    );
}

#[test]
fn d5_reasoning_is_not_sent_without_what_it_led_to() {
    let wire = OpenAiResponses::new();
    let said =
        refused(&wire, &format!("user: hi\nassistant:\n+ opaque openai-responses {REASONING}\nuser: go on"));
    expect!["message 1: a reasoning item has nothing after it that the model wrote"].assert_eq(&said);
    let said = refused(&wire, &format!("user: hi\nassistant: a\n+ opaque openai-responses {REASONING}"));
    expect!["message 1: a reasoning item has nothing after it that the model wrote"].assert_eq(&said);
    // The list is flat: what follows may be in another message of the model.
    let split =
        format!("user: hi\nassistant:\n+ opaque openai-responses {REASONING}\nassistant: hello\nuser: go on");
    assert!(wire.encode(&request(&split)).is_ok());
}

#[test]
fn d6_what_follows_reasoning_has_no_id_of_its_own() {
    let conversation = format!(
        "user: hi
         assistant:
           + opaque openai-responses {REASONING}
           + text: let me look
           + call c1 f {{}}
         result c1: 42"
    );
    let body = encoded(&OpenAiResponses::new(), &request(&conversation));
    let ids: Vec<&str> =
        body["input"].as_array().expect("a list").iter().filter_map(|item| item["id"].as_str()).collect();
    assert_eq!(ids, ["rs_A"]);
}

#[test]
fn d7_reasoning_goes_back_byte_for_byte_and_no_id_is_made_up() {
    let conversation = format!(
        "user: hi
         assistant:
           + opaque openai-responses {REASONING}
           + call c1 f {{}}
         result c1: 42"
    );
    let request = request(&conversation);
    let http = OpenAiResponses::new().encode(&request).expect("legal");
    let body = String::from_utf8(http.body.to_vec()).expect("JSON is UTF-8");
    assert!(body.contains(REASONING));
    assert!(!body.contains("\"fc_"));

    // No other wire takes it, and none drops it in silence.
    let other: Vec<Option<EncodeError>> = [&Anthropic::new() as &dyn Wire, &OpenAiChat::default()]
        .map(|wire| wire.encode(&request).err())
        .into();
    assert!(other.iter().all(Option::is_some));
}

#[test]
fn d9_deepseek_gets_reasoning_beside_each_call() {
    let wire = OpenAiChat::new(Dialect::for_host("api.deepseek.com"));
    let request = request(
        "user: hi
         assistant:
           + thinking: hmm
           + call c1 f {}
         result c1: 42
         assistant:
           + call c2 f {}
         result c2: 43
         assistant: done
         user: go on",
    );
    let body = encoded(&wire, &request);
    let echoed: Vec<Value> = body["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message.get("reasoning_content").cloned().unwrap_or(Value::Null))
        .collect();
    assert_eq!(echoed, [json!("hmm"), json!(""), Value::Null]);

    // A service that nobody knows gets back what it gave, and OpenAI nothing.
    let elsewhere = encoded(&OpenAiChat::default(), &request);
    let given = |body: &Value| body.to_string().matches("reasoning_content").count();
    assert_eq!(given(&elsewhere), 1);
    let elsewhere = encoded(&OpenAiChat::new(Dialect::openai()), &request);
    walk(&elsewhere, &mut |value| assert!(value.get("reasoning_content").is_none()));
}

#[test]
fn d10_a_forced_choice_while_thinking_is_refused_where_the_service_refuses_it() {
    let mut request = Request::new("m", vec![Message::user("hi")]);
    request.tools = vec![tool()];
    request.thinking = Thinking::Budget(1024);
    request.soft_choice = false;
    for choice in [ToolChoice::Any, ToolChoice::Named("f".into())] {
        request.tool_choice = choice;
        expect!["the anthropic wire does not do reasoning together with a forced tool choice"]
            .assert_eq(&Anthropic::new().encode(&request).expect_err("not legal").to_string());
        assert!(OpenAiResponses::new().encode(&request).is_ok());
    }
    // What to do about it is the caller's decision; all three ways out are legal.
    request.soft_choice = true;
    let asked = Anthropic::new().encode(&request).expect("the model is asked in words");
    assert_eq!(asked.softened, [Feature::ChoiceNamed]);
    let body: Value = serde_json::from_slice(&asked.body.to_vec()).expect("the body is JSON");
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(body["messages"][0]["content"][1]["text"], "Answer with a call of the tool f, not in words.");
    request.tool_choice = ToolChoice::Auto;
    assert!(Anthropic::new().encode(&request).is_ok());
    request.tool_choice = ToolChoice::Any;
    request.thinking = Thinking::Unsaid;
    assert!(Anthropic::new().encode(&request).is_ok());
}
